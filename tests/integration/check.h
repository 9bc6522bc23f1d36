// SPDX-License-Identifier: BSD-3-Clause
/* check.h: what the integration tests' clients share. Each is a plain PMIx client on the public headers: it asserts,
 * and a failed assertion is one line on stdout and exit status 1, which ends the job. Used from one thread at a time.
 */
#ifndef WIREUP_TESTS_INTEGRATION_CHECK_H
#define WIREUP_TESTS_INTEGRATION_CHECK_H

#include <dirent.h>
#include <pmix.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pmix_proc_t me;
static uint32_t job_size;

#define CHECK(condition)                                       \
    do {                                                       \
        if (!(condition)) fail_at(__LINE__, #condition, 0, 0); \
    } while (0)
#define CHECK_STATUS(call, wanted)                                            \
    do {                                                                      \
        pmix_status_t status_ = (call);                                       \
        if (status_ != (wanted)) fail_at(__LINE__, #call, status_, (wanted)); \
    } while (0)
#define CHECK_OK(call) CHECK_STATUS(call, PMIX_SUCCESS)
/* A call that may be done at once. */
#define CHECK_DONE(call)                                                                                          \
    do {                                                                                                          \
        pmix_status_t status_ = (call);                                                                           \
        if (status_ != PMIX_OPERATION_SUCCEEDED && status_ != PMIX_SUCCESS) fail_at(__LINE__, #call, status_, 0); \
    } while (0)

static inline void fail_at(int line, const char* what, pmix_status_t got, pmix_status_t wanted) {
    char why[128] = "";
    if (got != wanted) snprintf(why, sizeof why, ": %s (%d), not %d", PMIx_Error_string(got), got, wanted);
    printf("FAIL rank %u line %d: %s%s\n", me.rank, line, what, why);
    fflush(stdout);
    fprintf(stderr, "FAIL rank %u line %d: %s%s\n", me.rank, line, what,
            why); /* stdout may be another rank's to read */
    _exit(1);
}

/* By how much the sizes of /proc/PID/status may be off: each processor has a count of its own, of up to so many pages,
 * and the kernel adds them up when it likes (before Linux 6.17). */
static inline long rss_error_kib(void) {
    const long processors = sysconf(_SC_NPROCESSORS_CONF), batch = processors > 16 ? 2 * processors : 32;
    return processors * batch * (sysconf(_SC_PAGESIZE) / 1024);
}

/* The macro of 4.2 uses its argument several times. */
static inline void destruct_infos(pmix_info_t infos[], size_t* n) {
    for (; *n > 0; --*n) PMIX_INFO_DESTRUCT(&infos[*n - 1]);
}

static inline double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static inline pmix_proc_t rank_of_job(pmix_rank_t rank) {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, me.nspace, rank);
    return proc;
}

/* --- values --------------------------------------------------------------------------------------------------------
 */

static inline pmix_status_t put_u32(pmix_scope_t scope, const char* key, uint32_t number) {
    pmix_value_t value = {.type = PMIX_UINT32, .data.uint32 = number};
    return PMIx_Put(scope, key, &value);
}

/* The status of a Get, and its number if it is one. `seconds` 0: no timeout given. */
static inline pmix_status_t get_u32(const pmix_proc_t* proc, const char* key, int seconds, uint32_t* number) {
    pmix_info_t timeout;
    pmix_value_t* value = NULL;
    PMIX_INFO_LOAD(&timeout, PMIX_TIMEOUT, &seconds, PMIX_INT);
    pmix_status_t status = PMIx_Get(proc, key, &timeout, seconds > 0, &value);
    PMIX_INFO_DESTRUCT(&timeout);
    if (status == PMIX_SUCCESS) {
        CHECK(value && value->type == PMIX_UINT32);
        *number = value->data.uint32;
        PMIX_VALUE_RELEASE(value);
    }
    return status;
}

static inline uint32_t job_u32(const char* key) {
    pmix_proc_t job = rank_of_job(PMIX_RANK_WILDCARD);
    uint32_t number = 0;
    CHECK_OK(get_u32(&job, key, 0, &number));
    return number;
}

static inline uint32_t proc_u16(pmix_rank_t rank, const char* key) {
    pmix_proc_t proc = rank_of_job(rank);
    pmix_value_t* value = NULL;
    CHECK_OK(PMIx_Get(&proc, key, NULL, 0, &value));
    CHECK(value->type == PMIX_UINT16);
    uint32_t number = value->data.uint16;
    PMIX_VALUE_RELEASE(value);
    return number;
}

/* Do two ranks run on one node? */
static inline bool same_node(pmix_rank_t one, pmix_rank_t other) {
    pmix_proc_t procs[2] = {rank_of_job(one), rank_of_job(other)};
    pmix_value_t* hosts[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) CHECK_OK(PMIx_Get(&procs[i], PMIX_HOSTNAME, NULL, 0, &hosts[i]));
    bool same = strcmp(hosts[0]->data.string, hosts[1]->data.string) == 0;
    for (int i = 0; i < 2; i++) PMIX_VALUE_RELEASE(hosts[i]);
    return same;
}

/* --- fences --------------------------------------------------------------------------------------------------------
 */

static inline pmix_status_t fence_of(const pmix_proc_t* procs, size_t nprocs, bool collect, int seconds) {
    pmix_info_t info[2];
    PMIX_INFO_LOAD(&info[0], PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
    pmix_status_t status = PMIx_Fence(procs, nprocs, info, seconds > 0 ? 2 : 1);
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
    return status;
}

static inline void fence(bool collect) {
    CHECK_OK(fence_of(NULL, 0, collect, 0));
}

/* --- waiting for a callback ----------------------------------------------------------------------------------------
 */

struct signal_box { /* what a callback leaves, and a thread waits for */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int count;
    pmix_status_t status;
};

#define SIGNAL_BOX \
    { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, PMIX_SUCCESS }

static inline void box_signal(struct signal_box* box, pmix_status_t status) {
    pthread_mutex_lock(&box->lock);
    box->count++;
    box->status = status;
    pthread_cond_broadcast(&box->changed);
    pthread_mutex_unlock(&box->lock);
}

/* Waits until it was signalled `count` times; false after `seconds`. */
static inline bool box_wait(struct signal_box* box, int count, double seconds) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)seconds;
    until.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    if (until.tv_nsec >= 1000000000L) until.tv_sec++, until.tv_nsec -= 1000000000L;
    pthread_mutex_lock(&box->lock);
    while (box->count < count && pthread_cond_timedwait(&box->changed, &box->lock, &until) == 0) continue;
    bool enough = box->count >= count;
    pthread_mutex_unlock(&box->lock);
    return enough;
}

static inline int box_count(struct signal_box* box) {
    pthread_mutex_lock(&box->lock);
    int count = box->count;
    pthread_mutex_unlock(&box->lock);
    return count;
}

static inline void op_done(pmix_status_t status, void* cbdata) {
    box_signal(cbdata, status);
}

/* --- order between processes without a fence: one raises a flag, others wait for it --------------------------------
 */

/* It stays up when the process that raised it has ended, and its job with it. */
static inline void raise_flag(const char* name) {
    pmix_info_t info[2];
    pmix_persistence_t session_long = PMIX_PERSIST_SESSION;
    PMIX_INFO_LOAD(&info[0], name, "up", PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_PERSISTENCE, &session_long, PMIX_PERSIST);
    CHECK_OK(PMIx_Publish(info, 2));
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
}

static inline pmix_status_t look_up_string(const char* name, const pmix_info_t* info, size_t ninfo, char* text,
                                           size_t size, pmix_proc_t* publisher) {
    pmix_pdata_t wanted;
    PMIX_PDATA_CONSTRUCT(&wanted);
    PMIX_LOAD_KEY(wanted.key, name);
    pmix_status_t status = PMIx_Lookup(&wanted, 1, info, ninfo);
    if (status == PMIX_SUCCESS) {
        CHECK(wanted.value.type == PMIX_STRING);
        if (text) snprintf(text, size, "%s", wanted.value.data.string);
        if (publisher) *publisher = wanted.proc;
    }
    PMIX_PDATA_DESTRUCT(&wanted);
    return status;
}

static inline void await_flag(const char* name) {
    pmix_info_t info[2];
    int all = 0, seconds = 60;
    PMIX_INFO_LOAD(&info[0], PMIX_WAIT, &all, PMIX_INT);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
    CHECK_OK(look_up_string(name, info, 2, NULL, 0, NULL));
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
}

/* --- before a server is killed: those whose server it is have had their answers --------------------------------------
 * An answer to one rank says nothing of its neighbours': the server may die between the two. So each of them says when
 * it has passed the point, to be called once in a process, and a program that kills looks for it first. */

/* Unheard if the server has died meanwhile: then it has been heard. */
static inline void say_passed(void) {
    put_u32(PMIX_LOCAL, "passed", 1);
    PMIx_Commit();
}

static inline void await_neighbours_passed(void) {
    uint32_t number = 0;
    for (uint32_t rank = 0; rank < job_size; rank++) {
        pmix_proc_t proc = rank_of_job(rank);
        if (rank != me.rank && same_node(rank, me.rank)) CHECK_OK(get_u32(&proc, "passed", 0, &number));
    }
}

/* --- processes that stand still ------------------------------------------------------------------------------------
 * SIGSTOP wakes one thread, which has to run to stop the others; until then they go on. */

static inline char state_of_thread(long pid, const char* thread) {
    char path[320], line[256] = "";
    snprintf(path, sizeof path, "/proc/%ld/task/%s/stat", pid, thread);
    FILE* file = fopen(path, "r");
    if (!file) return 'T'; /* it has ended */
    const char* got = fgets(line, sizeof line, file);
    fclose(file);
    const char* after = got ? strrchr(line, ')') : NULL;
    return after ? after[2] : 'T';
}

/* Waits until a process that was sent SIGSTOP does nothing any more. */
static inline void await_stopped(pid_t pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
    DIR* threads = opendir(path);
    CHECK(threads);
    for (struct dirent* thread; (thread = readdir(threads));) {
        if (thread->d_name[0] == '.') continue;
        while (state_of_thread(pid, thread->d_name) != 'T') sched_yield();
    }
    closedir(threads);
}

static inline void stop_process(pid_t pid) {
    CHECK(kill(pid, SIGSTOP) == 0);
    await_stopped(pid);
}

/* --- start and end -------------------------------------------------------------------------------------------------
 */

static inline void start(void) {
    alarm(200); /* no test waits for ever, whatever is broken, however busy the machine is */
    CHECK_OK(PMIx_Init(&me, NULL, 0));
    job_size = job_u32(PMIX_JOB_SIZE);
}

static inline int finish(void) {
    CHECK_OK(PMIx_Finalize(NULL, 0));
    printf("OK rank %u\n", me.rank);
    return 0;
}

/* A case of a program: main() runs the one that argv[1] names. */
struct test_case {
    const char* name;
    void (*run)(int argc, char** argv);
};

static inline void run_case(const struct test_case* cases, size_t count, int argc, char** argv) {
    for (size_t i = 0; i < count && argc > 1; i++) {
        if (strcmp(cases[i].name, argv[1]) != 0) continue;
        cases[i].run(argc - 2, argv + 2);
        return;
    }
    printf("FAIL: no case %s\n", argc > 1 ? argv[1] : "given");
    exit(2);
}
#define RUN_CASE(cases) run_case(cases, sizeof(cases) / sizeof *(cases), argc, argv)

/* As above, for cases without arguments. */
struct plain_case {
    const char* name;
    void (*run)(void);
};

static inline void run_plain_case(const struct plain_case* cases, size_t count, int argc, char** argv) {
    for (size_t i = 0; i < count && argc > 1; i++) {
        if (strcmp(cases[i].name, argv[1]) != 0) continue;
        cases[i].run();
        return;
    }
    printf("FAIL: no case %s\n", argc > 1 ? argv[1] : "given");
    exit(2);
}
#define RUN_PLAIN_CASE(cases) run_plain_case(cases, sizeof(cases) / sizeof *(cases), argc, argv)

#endif
