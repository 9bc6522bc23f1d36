/* SPDX-License-Identifier: BSD-3-Clause */
/* clones: further processes of a rank, as many as it is let have, on a node whose server may open few descriptors; then
 * a job that comes later. usage: clones hoard CLONES|later (the latter by spawn) */
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "check.h"

static const char* program;

/* A child that becomes a process of this rank, says so by a byte, and stays until the pipe to it is closed. */
static _Noreturn void clone_of(int up, int down, const pmix_proc_t* rank) {
    pmix_proc_t self;
    char byte;
    const pmix_status_t status = PMIx_Init(&self, NULL, 0);
    if (status == PMIX_SUCCESS && self.rank != rank->rank) _exit(2);
    byte = status == PMIX_SUCCESS ? 'y' : 'n';
    if (write(up, &byte, 1) != 1) _exit(3);
    while (read(down, &byte, 1) < 0 && errno == EINTR) continue;
    _exit(status == PMIX_SUCCESS && PMIx_Finalize(NULL, 0) != PMIX_SUCCESS ? 4 : 0);
}

/* rows: I8 K20 */
static void hoard(int argc, char** argv) {
    const int wanted = argc > 0 ? atoi(argv[0]) : 1;
    int up[2], down[2], in = 0, refused = 0, status;
    start();
    CHECK(pipe2(up, O_CLOEXEC) == 0 && pipe2(down, O_CLOEXEC) == 0);
    fence(false);
    for (int i = 0; i < wanted; i++) {
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            close(down[1]);
            clone_of(up[1], down[0], &me);
        }
    }
    for (int i = 0; i < wanted; i++) {
        char byte;
        CHECK(read(up[0], &byte, 1) == 1);
        byte == 'y' ? in++ : refused++;
    }
    fence(false);
    /* All have what they could get. A job of as many ranks starts, connects and fences all the same. */
    if (me.rank == 0) {
        pmix_app_t app;
        pmix_nspace_t nspace;
        pmix_proc_t child;
        char* arguments[] = {(char*)(uintptr_t)program, "later", NULL};
        PMIX_APP_CONSTRUCT(&app);
        app.cmd = arguments[0];
        app.argv = arguments;
        app.maxprocs = (int)job_size;
        CHECK_OK(PMIx_Spawn(NULL, 0, &app, 1, nspace));
        PMIX_LOAD_PROCID(&child, nspace, PMIX_RANK_WILDCARD);
        pmix_proc_t both[] = {me, child};
        CHECK_OK(PMIx_Connect(both, 2, NULL, 0));
        CHECK_OK(PMIx_Disconnect(both, 2, NULL, 0));
    }
    fence(false);
    CHECK(close(down[1]) == 0);
    for (int i = 0; i < wanted; i++) CHECK(wait(&status) > 0 && status == 0);
    CHECK(in >= 1);
    printf("rank %u: %d clones, %d refused\n", me.rank, in, refused);
    finish();
}

static void later(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    pmix_proc_t* parent = NULL;
    pmix_value_t* value = NULL;
    CHECK_OK(PMIx_Get(&me, PMIX_PARENT_ID, NULL, 0, &value));
    parent = value->data.proc;
    pmix_proc_t both[2] = {*parent};
    PMIX_LOAD_PROCID(&both[1], me.nspace, PMIX_RANK_WILDCARD);
    PMIX_VALUE_RELEASE(value);
    CHECK_OK(PMIx_Connect(both, 2, NULL, 0));
    CHECK_OK(PMIx_Disconnect(both, 2, NULL, 0));
    fence(false);
    CHECK_OK(PMIx_Finalize(NULL, 0));
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {{"hoard", hoard}, {"later", later}};
    program = argv[0];
    RUN_CASE(cases);
    return 0;
}
