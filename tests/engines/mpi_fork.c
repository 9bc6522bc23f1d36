/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An MPI rank that forks, forks and execs, and calls PMIx from eight threads at once between MPI's own calls.
 * Every rank prints nothing unless it fails; rank 0 prints OK at the end.
 */
#include <mpi.h>
#include <pmix.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 8
#define ROUNDS 200

static pmix_proc_t me;
static uint32_t size;

static void fail(const char* what, int rc) {
    fprintf(stderr, "FAIL rank %u: %s: %d\n", me.rank, what, rc);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static void put(const char* key, uint32_t number) {
    pmix_value_t value;
    value.type = PMIX_UINT32;
    value.data.uint32 = number;
    pmix_status_t rc = PMIx_Put(PMIX_GLOBAL, key, &value);
    if (PMIX_SUCCESS != rc) {
        fail("PMIx_Put", rc);
    }
}

static uint32_t get(pmix_rank_t rank, const char* key) {
    pmix_proc_t proc;
    pmix_value_t* value = NULL;
    uint32_t number;
    PMIX_LOAD_PROCID(&proc, me.nspace, rank);
    pmix_status_t rc = PMIx_Get(&proc, key, NULL, 0, &value);
    if (PMIX_SUCCESS != rc || PMIX_UINT32 != value->type) {
        fail(key, rc);
    }
    number = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    return number;
}

static void* work(void* which) {
    int number = (int)(size_t)which;
    char key[64];
    for (uint32_t i = 0; i < ROUNDS; i++) {
        snprintf(key, sizeof key, "fork.%d.%u", number, i);
        put(key, i);
        if (get(me.rank, key) != i) {
            fail("own value", (int)i);
        }
        if (get(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE) != size) {
            fail("job size", (int)i);
        }
    }
    return NULL;
}

static void child_ends(int exec) {
    int status = 0;
    pid_t child = fork();
    if (0 == child) {
        if (exec) {
            execl("/bin/true", "true", (char*)NULL);
            _exit(9);
        }
        /* in a forked child the library is as if it had never been started */
        _exit(PMIx_Initialized() ? 8 : 0);
    }
    if (waitpid(child, &status, 0) != child || 0 != status) {
        fail(exec ? "fork and exec" : "fork", status);
    }
}

int main(int argc, char** argv) {
    pthread_t threads[THREADS];
    int given = 0, sum = 0;
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given)) {
        return 2;
    }
    pmix_status_t rc = PMIx_Init(&me, NULL, 0);
    if (PMIX_SUCCESS != rc) {
        fail("PMIx_Init", rc);
    }
    size = get(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
    child_ends(0);
    child_ends(1);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, work, (void*)i);
    }
    child_ends(0); /* while they work */
    child_ends(1);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    rc = PMIx_Commit();
    if (PMIX_SUCCESS != rc) {
        fail("PMIx_Commit", rc);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (pmix_rank_t r = 0; r < size; r++) {
        if (get(r, "fork.7.199") != 199) {
            fail("a peer's value", (int)r);
        }
    }
    int one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if ((uint32_t)sum != size) {
        fail("sum", sum);
    }
    PMIx_Finalize(NULL, 0);
    if (0 == me.rank) {
        printf("OK fork and threads, %u ranks\n", size);
    }
    MPI_Finalize();
    return 0;
}
