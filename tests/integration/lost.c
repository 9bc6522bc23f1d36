/* SPDX-License-Identifier: BSD-3-Clause */
/* lost: the daemon of a node, and with it the PMIx server, dies by SIGKILL while clients wait (run with --continuous
 * and --linger, so that its own clients live long enough to get their answer).
 * usage: lost fence|get|lookup|calls|store [no-thread]
 *        store: the node that keeps what is published; calls of other nodes wait for it
 *        no-thread: from PMIx_Init on there is no room for a thread
 *
 * The last rank kills its daemon, which is its parent. Ranks on that node must be told of the lost server, ranks on
 * other nodes of the failed operation. The lost node's output is gone with it: its ranks speak by exit status, which
 * pmixrun prints when it is not zero. */
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>

#include "check.h"

static bool no_threads;

/* In front of the C library's. */
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
    int (*create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    *(void**)&create = dlsym(RTLD_NEXT, "pthread_create");
    return no_threads ? EAGAIN : create(thread, attributes, run, argument);
}

static bool lost(pmix_status_t status) {
    return status == PMIX_ERR_LOST_CONNECTION || status == PMIX_ERR_UNREACH;
}

static pmix_status_t fence_all(void) {
    return PMIx_Fence(NULL, 0, NULL, 0);
}

static pmix_status_t get_absent(void) {
    uint32_t number = 0;
    pmix_proc_t last = rank_of_job(job_size - 1), first = rank_of_job(0);
    return get_u32(me.rank == last.rank ? &first : &last, "never", 0, &number);
}

static pmix_status_t look_up_absent(void) {
    pmix_info_t wait;
    int all = 0;
    PMIX_INFO_LOAD(&wait, PMIX_WAIT, &all, PMIX_INT);
    pmix_status_t status = look_up_string("never", &wait, 1, NULL, 0, NULL);
    PMIX_INFO_DESTRUCT(&wait);
    return status;
}

static pmix_status_t publish_one(void) {
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, "unheard", "x", PMIX_STRING);
    pmix_status_t status = PMIx_Publish(&info, 1);
    PMIX_INFO_DESTRUCT(&info);
    return status;
}

static pmix_status_t unpublish_all(void) {
    return PMIx_Unpublish(NULL, NULL, 0);
}

static pmix_status_t connect_all(void) {
    pmix_proc_t all = rank_of_job(PMIX_RANK_WILDCARD);
    return PMIx_Connect(&all, 1, NULL, 0);
}

static pmix_status_t abort_the_first(void) {
    pmix_proc_t first = rank_of_job(0);
    return PMIx_Abort(1, "unheard", &first, 1);
}

static pmix_status_t spawn_one(void) {
    char program[] = "true";
    char* arguments[] = {program, NULL};
    pmix_app_t app;
    pmix_nspace_t child;
    memset(&app, 0, sizeof app);
    app.cmd = program;
    app.argv = arguments;
    app.maxprocs = 1;
    return PMIx_Spawn(NULL, 0, &app, 1, child);
}

/* What a process without its server still is: it keeps its data, and finalizes in order. rows: G10 */
static void live_on(void) {
    uint32_t number = 0;
    pmix_proc_t job = rank_of_job(PMIX_RANK_WILDCARD);
    CHECK_OK(get_u32(&job, PMIX_JOB_SIZE, 0, &number));
    CHECK_OK(put_u32(PMIX_GLOBAL, "unheard", 1));
    CHECK_OK(get_u32(&me, "unheard", 0, &number));
    CHECK(lost(PMIx_Commit()));
    CHECK_OK(PMIx_Finalize(NULL, 0));
}

static void kill_the_daemon(void) {
    CHECK(kill(getppid(), SIGKILL) == 0);
}

/* All calls that a server answers, each in a thread and none of them answered, because the server is stopped when it
 * dies. rows: G10 F7 K32 */
struct call {
    pmix_status_t (*run)(void);
    pthread_t thread;
    pmix_status_t status;
    int entered;
};

static void* thread_main(void* argument) {
    struct call* call = argument;
    __atomic_store_n(&call->entered, 1, __ATOMIC_SEQ_CST);
    call->status = call->run();
    return NULL;
}

static void lose_in_calls(void) {
    struct call calls[] = {{.run = fence_all},     {.run = get_absent},  {.run = look_up_absent},  {.run = publish_one},
                           {.run = unpublish_all}, {.run = connect_all}, {.run = abort_the_first}, {.run = spawn_one}};
    const size_t count = sizeof calls / sizeof *calls;
    stop_process(getppid());
    for (size_t i = 0; i < count; i++) CHECK(pthread_create(&calls[i].thread, NULL, thread_main, &calls[i]) == 0);
    for (size_t i = 0; i < count; i++) {
        while (!__atomic_load_n(&calls[i].entered, __ATOMIC_SEQ_CST)) sched_yield();
    }
    struct timespec moment = {0, 30000000}; /* in their call, or on the way: both must end */
    nanosleep(&moment, NULL);
    kill_the_daemon();
    for (size_t i = 0; i < count; i++) CHECK(pthread_join(calls[i].thread, NULL) == 0);
    for (size_t i = 0; i < count; i++) {
        if (!lost(calls[i].status)) _exit(10 + (int)i);
    }
    live_on();
    _exit(0);
}

/* The daemon of the store answers nothing, and dies. */
static int lose_the_store(void) {
    pmix_status_t (*const calls[])(void) = {look_up_absent, publish_one, unpublish_all};
    const bool bereaved = same_node(me.rank, 0);
    const pmix_proc_t first = rank_of_job(0);
    struct timespec moment = {0, 150000000};
    uint32_t daemon = 0;
    alarm(60);
    char loop[16]; /* the thread that serves the other nodes */
    if (me.rank == 0) {
        CHECK_OK(put_u32(PMIX_GLOBAL, "daemon", (uint32_t)getppid()));
        CHECK_OK(PMIx_Commit());
    }
    fence(true);
    CHECK_OK(get_u32(&first, "daemon", 0, &daemon));
    if (me.rank == 0) {
        await_neighbours_passed();
        stop_process(getppid());
        nanosleep(&moment, NULL); /* the others are in their call, or come to it after the loss */
        kill_the_daemon();
    } else if (bereaved) {
        say_passed();
    }
    if (bereaved) {
        if (!lost(fence_all())) _exit(3);
        live_on();
        _exit(0);
    }
    snprintf(loop, sizeof loop, "%u", daemon);
    while (!strchr("TZX", state_of_thread((long)daemon, loop))) sched_yield();
    CHECK(calls[me.rank % 3]() == PMIX_ERR_LOST_CONNECTION);
    return finish();
}

/* rows: G10 F7 K32 */
int main(int argc, char** argv) {
    CHECK(argc == 2 || (argc == 3 && strcmp(argv[2], "no-thread") == 0));
    const char* what = argv[1];
    start();
    no_threads = argc == 3;
    bool bereaved = same_node(me.rank, job_size - 1);
    fence(false);
    if (strcmp(what, "store") == 0) return lose_the_store();
    if (me.rank == job_size - 1) {
        struct timespec moment = {0, 150000000};
        await_neighbours_passed();
        /* The others are in their call by now, or come to it after the loss, which must end as well. */
        nanosleep(&moment, NULL);
        if (strcmp(what, "calls") == 0) lose_in_calls();
        kill_the_daemon();
        alarm(60);
        if (fence_all() == PMIX_SUCCESS) _exit(3); /* on the lost connection */
        live_on();
        _exit(0);
    }
    alarm(60); /* the answer comes by itself, or this ends the test */
    if (bereaved) say_passed();
    pmix_status_t status = PMIX_SUCCESS;
    bool looks_up = strcmp(what, "lookup") == 0;
    /* A lookup at the store of node 1 is none of the lost node's business: it waits until the key comes, and rank 0
     * brings it when the loss has shown in a fence with the lost rank. */
    if (looks_up && (bereaved || me.rank != 0)) {
        status = look_up_absent();
        CHECK(bereaved || status == PMIX_SUCCESS);
    } else if (looks_up) {
        pmix_proc_t both[2] = {me, rank_of_job(job_size - 1)};
        status = PMIx_Fence(both, 2, NULL, 0);
    } else if (strcmp(what, "get") == 0) {
        status = get_absent();
    } else {
        status = fence_all();
    }
    if (bereaved) {
        if (!lost(status)) _exit(4);
        live_on();
        _exit(0);
    }
    if (looks_up && me.rank == 0) raise_flag("never");
    CHECK(status != PMIX_SUCCESS || (looks_up && me.rank != 0));
    return finish();
}
