/* SPDX-License-Identifier: BSD-3-Clause */
/* hosts_restart.c: hosts that end, begin again, forget, or drive the library themselves, while their processes are
 * there.
 */
#include <event2/event.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/other_users.h"
#include "zoo.h"

static void begin(uint32_t ranks) {
    CHECK_OK(PMIx_server_init(NULL, NULL, 0));
    register_job("job", ranks, NULL, NULL);
    for (uint32_t rank = 0; rank < ranks; rank++) register_rank("job", rank, NULL, NULL);
}

/* Starts a client whose stdout is a pipe: hear() waits until it has written to it. */
static pid_t start_and_hear(uint32_t rank, const char* mode, int* line) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    char** env = environment_of("job", rank);
    fflush(stdout);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        exec_client(env, mode);
    }
    close(ends[1]);
    *line = ends[0];
    for (char** e = env; *e; e++) free(*e);
    free(env);
    return pid;
}

static void hear(int line) {
    char text[64];
    ssize_t n = read(line, text, sizeof text - 1);
    CHECK(n > 0);
    text[n] = 0;
    CHECK(strstr(text, "WAITING"));
}

/* Two clients wait in a Get that nobody answers; what the host does then ends it for them. */
static void leave_them(void (*how)(void)) {
    pid_t pids[RANKS];
    int lines[RANKS];
    begin(RANKS);
    for (uint32_t rank = 0; rank < RANKS; rank++) pids[rank] = start_and_hear(rank, "left", &lines[rank]);
    for (uint32_t rank = 0; rank < RANKS; rank++) hear(lines[rank]);
    how();
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        await_client(pids[rank], 0);
        close(lines[rank]);
    }
}

static void finalize_now(void) {
    CHECK_OK(PMIx_server_finalize());
}
static void finalizes_while_clients_wait(void) {
    leave_them(finalize_now);
}

static void deregister_the_job_now(void) {
    deregister_job("job");
}
static void deregisters_a_job_that_runs(void) {
    leave_them(deregister_the_job_now);
    CHECK_OK(PMIx_server_finalize());
}

static void deregister_ranks_now(void) {
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        pmix_proc_t proc = proc_of("job", rank);
        PMIx_server_deregister_client(&proc, NULL, NULL);
    }
}
static void deregisters_ranks_that_run(void) {
    leave_them(deregister_ranks_now);
    deregister_job("job");
    CHECK_OK(PMIx_server_finalize());
}

static void a_rank_is_killed(void) {
    pid_t pids[3];
    begin(3);
    for (uint32_t rank = 0; rank < 3; rank++) pids[rank] = start_client("job", rank, "killed");
    await_client(pids[0], 128 + SIGKILL);
    await_client(pids[1], 0);
    await_client(pids[2], 0);
    deregister_job("job");
    CHECK_OK(PMIx_server_finalize());
}

/* An upcall that it never answers is open when it ends. */
static void finalizes_with_an_open_upcall(void) {
    pmix_server_module_t module = module_that(BY_CALLBACK, NEVER);
    CHECK_OK(PMIx_server_init(&module, NULL, 0));
    register_job("job", RANKS, NULL, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) register_rank("job", rank, NULL, NULL);
    run_job("job", RANKS, "publish-in-vain");
    CHECK_OK(PMIx_server_finalize());
}

static void inits_twice(void) {
    begin(RANKS);
    CHECK_OK(PMIx_server_init(NULL, NULL, 0));
    CHECK_OK(PMIx_server_finalize());
    run_job("job", RANKS, "usual");
    deregister_job("job");
    CHECK_OK(PMIx_server_finalize());
    CHECK_STATUS(PMIx_server_finalize(), PMIX_ERR_INIT);
}

static void begins_again(void) {
    for (int i = 0; i < 5; i++) usual_run(NULL, "usual");
}

static void uses_a_name_again(void) {
    CHECK_OK(PMIx_server_init(NULL, NULL, 0));
    for (int i = 0; i < 4; i++) {
        register_job("job", RANKS, NULL, NULL);
        for (uint32_t rank = 0; rank < RANKS; rank++) register_rank("job", rank, NULL, NULL);
        run_job("job", RANKS, "usual");
        deregister_job("job");
    }
    CHECK_OK(PMIx_server_finalize());
}

/* As Slurm: nothing is ever deregistered. */
static void deregisters_nothing(void) {
    begin(RANKS);
    run_job("job", RANKS, "usual");
    CHECK_OK(PMIx_server_finalize());
}

/* It forgets each rank as soon as its process has ended, and starts the rank anew. */
static void restarts_its_ranks(void) {
    CHECK_OK(PMIx_server_init(NULL, NULL, 0));
    register_job("job", 1, NULL, NULL);
    for (int i = 0; i < 3; i++) {
        pmix_proc_t proc = proc_of("job", 0);
        register_rank("job", 0, NULL, NULL);
        run_job("job", 1, "usual");
        PMIx_server_deregister_client(&proc, NULL, NULL);
    }
    deregister_job("job");
    CHECK_OK(PMIx_server_finalize());
}

/* Deregistrations of what it never registered. */
static void deregisters_what_is_not_there(void) {
    pmix_proc_t proc = proc_of("nobody", 3);
    begin(RANKS);
    PMIx_server_deregister_client(&proc, NULL, NULL);
    deregister_job("nobody");
    run_job("job", RANKS, "usual");
    deregister_job("job");
    deregister_job("job");
    CHECK_OK(PMIx_server_finalize());
}

/* --- who drives --- */

static int stop_driving;

static void* drive(void* arg) {
    (void)arg;
    while (!__atomic_load_n(&stop_driving, __ATOMIC_SEQ_CST)) {
        PMIx_Progress();
        poll(NULL, 0, 1);
    }
    return NULL;
}

static void drives_progress_itself(void) {
    pmix_info_t info;
    pthread_t thread;
    bool yes = true;
    PMIX_INFO_LOAD(&info, PMIX_EXTERNAL_PROGRESS, &yes, PMIX_BOOL);
    CHECK_OK(PMIx_server_init(NULL, &info, 1));
    PMIX_INFO_DESTRUCT(&info);
    CHECK(pthread_create(&thread, NULL, drive, NULL) == 0);
    register_job("job", RANKS, NULL, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) register_rank("job", rank, NULL, NULL);
    run_job("job", RANKS, "usual");
    deregister_job("job");
    __atomic_store_n(&stop_driving, 1, __ATOMIC_SEQ_CST);
    pthread_join(thread, NULL);
    CHECK_OK(PMIx_server_finalize());
}

static void still_there(evutil_socket_t fd, short what, void* base) {
    (void)fd, (void)what;
    if (__atomic_load_n(&stop_driving, __ATOMIC_SEQ_CST)) event_base_loopbreak(base);
}

static void* run_base(void* base) {
    const struct timeval often = {0, 2000};
    struct event* tick = event_new(base, -1, EV_PERSIST, still_there, base);
    CHECK(tick && event_add(tick, &often) == 0);
    event_base_dispatch(base);
    event_free(tick);
    return NULL;
}

/* The library runs in the host's event base. */
static void has_an_event_base(void) {
    pmix_info_t info;
    pthread_t thread;
    struct box box = BOX;
    struct event_base* base = event_base_new();
    CHECK(base);
    PMIX_INFO_LOAD(&info, PMIX_EVENT_BASE, base, PMIX_POINTER);
    CHECK_OK(PMIx_server_init(NULL, &info, 1));
    PMIX_INFO_DESTRUCT(&info);
    CHECK(pthread_create(&thread, NULL, run_base, base) == 0);
    register_job("job", RANKS, box_done, &box);
    for (uint32_t rank = 0; rank < RANKS; rank++) register_rank("job", rank, box_done, &box);
    box_wait(&box, 1 + RANKS);
    run_job("job", RANKS, "usual");
    __atomic_store_n(&stop_driving, 1, __ATOMIC_SEQ_CST);
    pthread_join(thread, NULL);
    CHECK_OK(PMIx_server_finalize());
    event_base_free(base);
}

/* --- users --- */

enum { NOBODY = 65534 };

static pid_t start_as(uid_t user, uint32_t rank, const char* mode) {
    char** env = environment_of("job", rank);
    fflush(stdout);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        if (setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(user) != 0) _exit(126);
        exec_client(env, mode);
    }
    for (char** e = env; *e; e++) free(*e);
    free(env);
    return pid;
}

/* As root: processes of another user. */
static void processes_of_another_user(void) {
    pid_t pids[RANKS];
    if (!can_be_other_users()) {
        printf("SKIPPED: only root has processes of other users\n");
        exit(77);
    }
    CHECK_OK(PMIx_server_init(NULL, NULL, 0));
    register_job("job", RANKS, NULL, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        pmix_proc_t proc = proc_of("job", rank);
        CHECK_OK(PMIx_server_register_client(&proc, NOBODY, NOBODY, NULL, NULL, NULL));
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) pids[rank] = start_as(NOBODY, rank, "usual");
    for (uint32_t rank = 0; rank < RANKS; rank++) await_client(pids[rank], 0);
    deregister_job("job");
    CHECK_OK(PMIx_server_finalize());
}

const struct host ending_hosts[] = {
    {"finalizes_while_clients_wait", finalizes_while_clients_wait},
    {"deregisters_a_job_that_runs", deregisters_a_job_that_runs},
    {"deregisters_ranks_that_run", deregisters_ranks_that_run},
    {"a_rank_is_killed", a_rank_is_killed},
    {"finalizes_with_an_open_upcall", finalizes_with_an_open_upcall},
    {"inits_twice", inits_twice},
    {"begins_again", begins_again},
    {"uses_a_name_again", uses_a_name_again},
    {"deregisters_nothing", deregisters_nothing},
    {"restarts_its_ranks", restarts_its_ranks},
    {"deregisters_what_is_not_there", deregisters_what_is_not_there},
    {"drives_progress_itself", drives_progress_itself},
    {"has_an_event_base", has_an_event_base},
    {"processes_of_another_user", processes_of_another_user},
    {NULL, NULL},
};
