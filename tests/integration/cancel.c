/* SPDX-License-Identifier: BSD-3-Clause */
/* cancel: threads that are cancelled in a call, or that end while their requests are open. A call is no cancellation
 * point: it returns as if nothing had happened, its thread ends at the next one, and the library stays whole.
 * usage: cancel get|fence|lookup|init|leave, with at least two ranks */
#include <sched.h>

#include "check.h"

enum { THREADS = 4 };

struct call {
    pthread_t thread;
    int number;
    pmix_status_t status;
    bool entered, returned, went_on, cleaned;
    pmix_status_t (*run)(struct call* call);
    pthread_mutex_t lock;
};

static void set(struct call* call, bool* what) {
    pthread_mutex_lock(&call->lock);
    *what = true;
    pthread_mutex_unlock(&call->lock);
}

static bool is_set(struct call* call, const bool* what) {
    pthread_mutex_lock(&call->lock);
    bool value = *what;
    pthread_mutex_unlock(&call->lock);
    return value;
}

static void clean_up(void* argument) {
    struct call* call = argument;
    call->cleaned = true;
}

static void* thread_main(void* argument) {
    struct call* call = argument;
    pthread_cleanup_push(clean_up, call);
    set(call, &call->entered);
    call->status = call->run(call);
    set(call, &call->returned);
    pthread_testcancel();
    set(call, &call->went_on);
    pthread_cleanup_pop(0);
    return NULL;
}

static void begin(struct call* calls, int count, pmix_status_t (*run)(struct call* call)) {
    for (int i = 0; i < count; i++) {
        calls[i] = (struct call){.number = i, .run = run, .lock = PTHREAD_MUTEX_INITIALIZER};
        CHECK(pthread_create(&calls[i].thread, NULL, thread_main, &calls[i]) == 0);
    }
    for (int i = 0; i < count; i++) {
        while (!is_set(&calls[i], &calls[i].entered)) sched_yield();
    }
    /* Their requests are ahead of these on the same socket, or they are still on the way into the call: cancellation
     * must be right in both cases. */
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(look_up_string("no.such.name", NULL, 0, NULL, 0, NULL), PMIX_ERR_NOT_FOUND);
}

static void end(struct call* call, bool cancelled) {
    void* result = NULL;
    CHECK(pthread_join(call->thread, &result) == 0);
    CHECK(call->returned);
    CHECK(call->status == PMIX_SUCCESS);
    CHECK((result == PTHREAD_CANCELED) == cancelled);
    CHECK(call->cleaned == cancelled);
    CHECK(call->went_on == !cancelled);
}

/* The first and the third are cancelled, the others are not: the one that reads the socket for all may be any of them.
 * None has come back by then: what they wait for is given only now. */
static void cancel_some(struct call* calls, int count) {
    for (int i = 0; i < count; i += 2) CHECK(pthread_cancel(calls[i].thread) == 0);
    for (int i = 0; i < count; i++) CHECK(!is_set(&calls[i], &calls[i].returned));
}

static void end_some(struct call* calls, int count) {
    for (int i = 0; i < count; i++) end(&calls[i], i % 2 == 0);
}

/* As good as ever: from a new thread as well as from this one. */
static void everything_works(void) {
    uint32_t number = 0;
    CHECK_OK(put_u32(PMIX_GLOBAL, "afterwards", me.rank + 7));
    CHECK_OK(PMIx_Commit());
    fence(true);
    for (uint32_t rank = 0; rank < job_size; rank++) {
        pmix_proc_t proc = rank_of_job(rank);
        CHECK_OK(get_u32(&proc, "afterwards", 60, &number));
        CHECK(number == rank + 7);
    }
}

static pmix_status_t get_late(struct call* call) {
    pmix_proc_t last = rank_of_job(job_size - 1);
    char key[32];
    uint32_t number = 0;
    snprintf(key, sizeof key, "late.%d", call->number);
    pmix_status_t status = get_u32(&last, key, 40, &number);
    return status == PMIX_SUCCESS && number != (uint32_t)call->number ? PMIX_ERROR : status;
}

static void cancelled_get(int argc, char** argv) {
    struct call calls[THREADS];
    char key[32];
    (void)argc, (void)argv;
    start();
    fence(false);
    if (me.rank == job_size - 1) {
        await_flag("cancelled");
        for (int i = 0; i < THREADS; i++) {
            snprintf(key, sizeof key, "late.%d", i);
            CHECK_OK(put_u32(PMIX_GLOBAL, key, (uint32_t)i));
        }
        CHECK_OK(PMIx_Commit());
    } else if (me.rank == 0) {
        begin(calls, THREADS, get_late);
        cancel_some(calls, THREADS);
        raise_flag("cancelled");
        end_some(calls, THREADS);
    }
    everything_works();
    finish();
}

static pmix_status_t fence_all(struct call* call) {
    (void)call;
    return PMIx_Fence(NULL, 0, NULL, 0);
}

static void cancelled_fence(int argc, char** argv) {
    struct call call;
    (void)argc, (void)argv;
    start();
    fence(false);
    if (me.rank == 0) {
        begin(&call, 1, fence_all);
        cancel_some(&call, 1);
        raise_flag("cancelled");
        end(&call, true);
    } else {
        await_flag("cancelled");
        fence(false);
    }
    everything_works();
    finish();
}

static pmix_status_t look_up_late(struct call* call) {
    pmix_info_t info[2];
    int all = 0, seconds = 60;
    char name[32];
    snprintf(name, sizeof name, "late.%d", call->number);
    PMIX_INFO_LOAD(&info[0], PMIX_WAIT, &all, PMIX_INT);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
    return look_up_string(name, info, 2, NULL, 0, NULL);
}

static void cancelled_lookup(int argc, char** argv) {
    struct call calls[THREADS];
    char name[32];
    (void)argc, (void)argv;
    start();
    fence(false);
    if (me.rank == 0) {
        begin(calls, THREADS, look_up_late);
        cancel_some(calls, THREADS);
        for (int i = 0; i < THREADS; i++) {
            snprintf(name, sizeof name, "late.%d", i);
            raise_flag(name);
        }
        end_some(calls, THREADS);
    }
    everything_works();
    finish();
}

/* Init and Finalize, each entered with the cancellation already pending. */
static void* comes_and_goes(void* argument) {
    struct call* call = argument;
    pthread_cleanup_push(clean_up, call);
    pthread_cancel(pthread_self());
    call->status = PMIx_Init(NULL, NULL, 0);
    call->entered = true;
    if (call->status == PMIX_SUCCESS) call->status = PMIx_Finalize(NULL, 0);
    call->returned = true;
    pthread_testcancel();
    call->went_on = true;
    pthread_cleanup_pop(0);
    return NULL;
}

static void cancelled_init(int argc, char** argv) {
    (void)argc, (void)argv;
    for (int i = 0; i < 5; i++) {
        struct call call = {.status = PMIX_ERROR};
        CHECK(pthread_create(&call.thread, NULL, comes_and_goes, &call) == 0);
        end(&call, true);
        CHECK(!PMIx_Initialized());
    }
    start();
    raise_flag(me.rank == 0 ? "here.0"
                            : "here.1"); /* nobody leaves for good before the other has initialised for the last time */
    await_flag(me.rank == 0 ? "here.1" : "here.0");
    everything_works();
    finish();
}

/* A thread ends with requests open: their answers come all the same. */
static struct signal_box answered = SIGNAL_BOX;

static void got(pmix_status_t status, pmix_value_t* value, void* cbdata) {
    (void)value;
    box_signal(cbdata, status);
}

static void* asks_and_leaves(void* unused) {
    (void)unused;
    pmix_proc_t last = rank_of_job(job_size - 1);
    CHECK_OK(PMIx_Get_nb(&last, "late.0", NULL, 0, got, &answered));
    CHECK_OK(PMIx_Fence_nb(NULL, 0, NULL, 0, op_done, &answered));
    pthread_exit(NULL);
}

static void leave(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    fence(false);
    if (me.rank == 0) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, asks_and_leaves, NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
        CHECK(box_count(&answered) == 0);
        raise_flag("left");
        CHECK(box_wait(&answered, 2, 60));
        CHECK(answered.status == PMIX_SUCCESS);
    } else {
        await_flag("left");
        CHECK_OK(put_u32(PMIX_GLOBAL, "late.0", 1));
        CHECK_OK(PMIx_Commit());
        fence(false);
    }
    everything_works();
    finish();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {
        {"get", cancelled_get},   {"fence", cancelled_fence}, {"lookup", cancelled_lookup},
        {"init", cancelled_init}, {"leave", leave},
    };
    RUN_CASE(cases);
    return 0;
}
