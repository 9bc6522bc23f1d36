/* SPDX-License-Identifier: BSD-3-Clause */
/* hosts_order.c: in which order and from where hosts register, prepare and start. Each ends with a job that put, fenced
 * and read everybody's values. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "zoo.h"

static void begin(void) {
    CHECK_OK(PMIx_server_init(NULL, NULL, 0));
}

static void end(void) {
    deregister_job("job");
    CHECK_OK(PMIx_server_finalize());
}

static void nspace_rank_fork(void) {
    usual_run(NULL, "usual");
}

static void nspace_fork_rank(void) {
    char** env[RANKS];
    pid_t pids[RANKS];
    begin();
    register_job("job", RANKS, NULL, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) env[rank] = environment_of("job", rank);
    for (uint32_t rank = 0; rank < RANKS; rank++) register_rank("job", rank, NULL, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) pids[rank] = start_in(env[rank], "usual");
    for (uint32_t rank = 0; rank < RANKS; rank++) await_client(pids[rank], 0);
    end();
}

static void fork_nspace_rank(void) {
    char** env[RANKS];
    pid_t pids[RANKS];
    begin();
    for (uint32_t rank = 0; rank < RANKS; rank++) env[rank] = environment_of("job", rank);
    register_job("job", RANKS, NULL, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) register_rank("job", rank, NULL, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) pids[rank] = start_in(env[rank], "usual");
    for (uint32_t rank = 0; rank < RANKS; rank++) await_client(pids[rank], 0);
    end();
}

static void rank_nspace_fork(void) {
    begin();
    for (uint32_t rank = 0; rank < RANKS; rank++) register_rank("job", rank, NULL, NULL);
    register_job("job", RANKS, NULL, NULL);
    run_job("job", RANKS, "usual");
    end();
}

static void rank_fork_nspace(void) {
    char** env[RANKS];
    pid_t pids[RANKS];
    begin();
    for (uint32_t rank = 0; rank < RANKS; rank++) register_rank("job", rank, NULL, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) env[rank] = environment_of("job", rank);
    register_job("job", RANKS, NULL, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) pids[rank] = start_in(env[rank], "usual");
    for (uint32_t rank = 0; rank < RANKS; rank++) await_client(pids[rank], 0);
    end();
}

/* The processes run already, and may have connected, when their ranks are registered. */
static void started_then_registered(void) {
    pid_t pids[RANKS];
    begin();
    register_job("job", RANKS, NULL, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) pids[rank] = start_client("job", rank, "usual");
    for (uint32_t rank = 0; rank < RANKS; rank++) register_rank("job", rank, NULL, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) await_client(pids[rank], 0);
    end();
}

static void ranks_backwards(void) {
    begin();
    register_job("job", 5, NULL, NULL);
    for (uint32_t rank = 5; rank-- > 0;) register_rank("job", rank, NULL, NULL);
    run_job("job", 5, "usual");
    end();
}

/* Each rank by itself: register, prepare, start, and only then the next. */
static void one_after_the_other(void) {
    pid_t pids[RANKS];
    begin();
    register_job("job", RANKS, NULL, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        register_rank("job", rank, NULL, NULL);
        pids[rank] = start_client("job", rank, "usual");
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) await_client(pids[rank], 0);
    end();
}

static void all_by_callbacks(void) {
    struct box box = BOX;
    begin();
    register_job("job", RANKS, box_done, &box);
    for (uint32_t rank = 0; rank < RANKS; rank++) register_rank("job", rank, box_done, &box);
    box_wait(&box, 1 + RANKS);
    CHECK_OK(box.status);
    run_job("job", RANKS, "usual");
    pmix_nspace_t nspace;
    PMIX_LOAD_NSPACE(nspace, "job");
    PMIx_server_deregister_nspace(nspace, box_done, &box);
    box_wait(&box, 2 + RANKS);
    CHECK_OK(PMIx_server_finalize());
}

/* setup_fork while the callbacks of the registrations are still due. */
static void nobody_waits_for_callbacks(void) {
    struct box box = BOX;
    begin();
    register_job("job", RANKS, box_done, &box);
    for (uint32_t rank = 0; rank < RANKS; rank++) register_rank("job", rank, box_done, &box);
    run_job("job", RANKS, "usual");
    box_wait(&box, 1 + RANKS);
    end();
}

static void next_rank(pmix_status_t status, void* arg) {
    struct box* box = arg;
    CHECK_OK(status);
    if (box->count < RANKS) register_rank("job", (uint32_t)box->count, next_rank, box);
    box_signal(box, status);
}

static void registers_in_callbacks(void) {
    struct box box = BOX;
    begin();
    register_job("job", RANKS, next_rank, &box);
    box_wait(&box, 1 + RANKS);
    run_job("job", RANKS, "usual");
    end();
}

/* --- several threads --- */

static void* thread_of_a_rank(void* arg) {
    uint32_t rank = (uint32_t)(uintptr_t)arg;
    register_rank("job", rank, NULL, NULL);
    await_client(start_client("job", rank, "usual"), 0);
    return NULL;
}

static void a_thread_for_each_rank(void) {
    pthread_t threads[4];
    begin();
    register_job("job", 4, NULL, NULL);
    for (uintptr_t rank = 0; rank < 4; rank++)
        CHECK(pthread_create(&threads[rank], NULL, thread_of_a_rank, (void*)rank) == 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    end();
}

static void* thread_of_a_job(void* arg) {
    const char* name = arg;
    for (int i = 0; i < 3; i++) {
        register_job(name, RANKS, NULL, NULL);
        for (uint32_t rank = 0; rank < RANKS; rank++) register_rank(name, rank, NULL, NULL);
        run_job(name, RANKS, "usual");
        deregister_job(name);
    }
    return NULL;
}

/* The same name again and again, beside another thread that does the same. */
static void a_thread_for_each_job(void) {
    pthread_t threads[2];
    const char* names[] = {"one", "two"};
    begin();
    for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, thread_of_a_job, (void*)names[i]) == 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    CHECK_OK(PMIx_server_finalize());
}

/* --- forks --- */

/* As Slurm's step daemon: the child asks for its own environment. */
static void setup_fork_in_the_child(void) {
    pid_t pids[RANKS];
    begin();
    register_job("job", RANKS, NULL, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) register_rank("job", rank, NULL, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        pids[rank] = fork();
        CHECK(pids[rank] >= 0);
        if (pids[rank] == 0) exec_client(environment_of("job", rank), "usual");
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) await_client(pids[rank], 0);
    end();
}

static void setup_fork_in_the_child_unregistered(void) {
    pid_t pids[RANKS];
    begin();
    register_job("job", RANKS, NULL, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        pids[rank] = fork();
        CHECK(pids[rank] >= 0);
        if (pids[rank] == 0) exec_client(environment_of("job", rank), "usual");
        register_rank("job", rank, NULL, NULL);
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) await_client(pids[rank], 0);
    end();
}

/* The daemon's own environment is what it gives to setup_fork. */
static void setup_fork_into_environ(void) {
    extern char** environ;
    begin();
    register_job("job", 1, NULL, NULL);
    register_rank("job", 0, NULL, NULL);
    pmix_proc_t proc = proc_of("job", 0);
    CHECK_OK(PMIx_server_setup_fork(&proc, &environ));
    CHECK(getenv("PMIX_NAMESPACE") && strcmp(getenv("PMIX_NAMESPACE"), "job") == 0);
    fflush(stdout);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) exec_client(NULL, "usual");
    await_client(pid, 0);
    end();
}

/* --- what is said of a job --- */

static void nothing_is_said_of_the_job(void) {
    pmix_nspace_t nspace;
    begin();
    PMIX_LOAD_NSPACE(nspace, "job");
    CHECK_OK(PMIx_server_register_nspace(nspace, 1, NULL, 0, NULL, NULL));
    register_rank("job", 0, NULL, NULL);
    run_job("job", 1, "bare");
    end();
}

static void registers_the_same_again(void) {
    begin();
    for (int i = 0; i < 3; i++) register_job("job", RANKS, NULL, NULL);
    for (int i = 0; i < 3; i++)
        for (uint32_t rank = 0; rank < RANKS; rank++) register_rank("job", rank, NULL, NULL);
    run_job("job", RANKS, "usual");
    end();
}

static void names_of_every_kind(void) {
    char longest[PMIX_MAX_NSLEN + 1];
    memset(longest, 'n', PMIX_MAX_NSLEN);
    longest[PMIX_MAX_NSLEN] = 0;
    const char* names[] = {"a job",    "a/b/../c", "100%", "semi;colon,comma", "@at", "prterun-host-1234@1",
                           "\xc3\xa4", longest};
    begin();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        register_job(names[i], RANKS, NULL, NULL);
        for (uint32_t rank = 0; rank < RANKS; rank++) register_rank(names[i], rank, NULL, NULL);
        run_job(names[i], RANKS, "usual");
        deregister_job(names[i]);
    }
    CHECK_OK(PMIx_server_finalize());
}

static void two_jobs_at_once(void) {
    pid_t pids[2][RANKS];
    const char* names[] = {"one", "two"};
    begin();
    for (int job = 0; job < 2; job++) register_job(names[job], RANKS, NULL, NULL);
    for (int job = 0; job < 2; job++)
        for (uint32_t rank = 0; rank < RANKS; rank++) register_rank(names[job], rank, NULL, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        for (int job = 0; job < 2; job++) pids[job][rank] = start_client(names[job], rank, "usual");
    for (int job = 0; job < 2; job++)
        for (uint32_t rank = 0; rank < RANKS; rank++) await_client(pids[job][rank], 0);
    for (int job = 0; job < 2; job++) deregister_job(names[job]);
    CHECK_OK(PMIx_server_finalize());
}

const struct host order_hosts[] = {
    {"nspace_rank_fork", nspace_rank_fork},
    {"nspace_fork_rank", nspace_fork_rank},
    {"fork_nspace_rank", fork_nspace_rank},
    {"rank_nspace_fork", rank_nspace_fork},
    {"rank_fork_nspace", rank_fork_nspace},
    {"started_then_registered", started_then_registered},
    {"ranks_backwards", ranks_backwards},
    {"one_after_the_other", one_after_the_other},
    {"all_by_callbacks", all_by_callbacks},
    {"nobody_waits_for_callbacks", nobody_waits_for_callbacks},
    {"registers_in_callbacks", registers_in_callbacks},
    {"a_thread_for_each_rank", a_thread_for_each_rank},
    {"a_thread_for_each_job", a_thread_for_each_job},
    {"setup_fork_in_the_child", setup_fork_in_the_child},
    {"setup_fork_in_the_child_unregistered", setup_fork_in_the_child_unregistered},
    {"setup_fork_into_environ", setup_fork_into_environ},
    {"nothing_is_said_of_the_job", nothing_is_said_of_the_job},
    {"registers_the_same_again", registers_the_same_again},
    {"names_of_every_kind", names_of_every_kind},
    {"two_jobs_at_once", two_jobs_at_once},
    {NULL, NULL},
};
