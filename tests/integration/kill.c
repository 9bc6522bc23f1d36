/* SPDX-License-Identifier: BSD-3-Clause */
/* kill: a client dies by SIGKILL at the worst moment (run with --continuous): everybody else gets an answer.
 * usage: kill before_init|before_fence|in_fence|after_fence|wanted|in_put|in_lookup */
#include <signal.h>

#include "check.h"

static bool victim(void) {
    return me.rank == job_size - 1;
}

static void die(void) {
    raise(SIGKILL);
    _exit(1);
}

static void in_time(double before) {
    CHECK(seconds_now() - before < 60);
}

/* The survivors' next fence among themselves is as good as ever. */
static void survivors_go_on(void) {
    pmix_proc_t* others = calloc(job_size, sizeof *others);
    uint32_t number = 0;
    CHECK(others);
    for (uint32_t rank = 0; rank + 1 < job_size; rank++) others[rank] = rank_of_job(rank);
    CHECK_OK(put_u32(PMIX_GLOBAL, "alive", me.rank));
    CHECK_OK(PMIx_Commit());
    CHECK_OK(fence_of(others, job_size - 1, true, 60));
    for (uint32_t rank = 0; rank + 1 < job_size; rank++) {
        CHECK_OK(get_u32(&others[rank], "alive", 60, &number));
        CHECK(number == rank);
    }
    free(others);
    finish();
}

/* It ends before its server has seen a connection: only the host can know. rows: F7 V11 */
static void before_init(int argc, char** argv) {
    (void)argc, (void)argv;
    const char *rank = getenv("PMIX_RANK"), *size = getenv("KILL_RANKS");
    if (rank && size && atoi(rank) == atoi(size) - 1) die();
    start();
    const double before = seconds_now();
    const pmix_status_t status = fence_of(NULL, 0, true, 0);
    CHECK(status != PMIX_SUCCESS);
    CHECK(status != PMIX_ERR_TIMEOUT);
    in_time(before);
    survivors_go_on();
}

/* It never comes: an error for all, without any timeout. rows: F7 */
static void before_fence(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    fence(false);
    if (victim()) die();
    double before = seconds_now();
    pmix_status_t status = fence_of(NULL, 0, true, 0);
    CHECK(status != PMIX_SUCCESS);
    CHECK(status != PMIX_ERR_TIMEOUT);
    in_time(before);
    survivors_go_on();
}

static void ignore_op(pmix_status_t status, void* cbdata) {
    (void)status, (void)cbdata;
}

/* It has entered, or is entering, when it dies: success or an error, but an answer for everybody. rows: F7 */
static void in_fence(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    fence(false);
    if (victim()) {
        PMIx_Fence_nb(NULL, 0, NULL, 0, ignore_op, NULL);
        struct timespec moment = {0, 2000000};
        nanosleep(&moment, NULL); /* the request may be anywhere by now: any of it is right */
        die();
    }
    double before = seconds_now();
    /* Rank 0 comes when the victim is gone, so that it dies with the fence open. */
    if (me.rank == 0) {
        struct timespec moment = {0, 300000000};
        nanosleep(&moment, NULL);
    }
    fence_of(NULL, 0, true, 0);
    in_time(before);
    survivors_go_on();
}

/* What it gave before it died is there. rows: F2 V13 */
static void after_fence(int argc, char** argv) {
    (void)argc, (void)argv;
    uint32_t number = 0;
    start();
    pmix_proc_t last = rank_of_job(job_size - 1);
    CHECK_OK(put_u32(PMIX_GLOBAL, "legacy", 99));
    CHECK_OK(PMIx_Commit());
    fence(true);
    if (victim()) die();
    CHECK_OK(get_u32(&last, "legacy", 60, &number));
    CHECK(number == 99);
    survivors_go_on();
}

/* Others wait for data that it will never give. rows: K20 K32 V13 */
static void wanted(int argc, char** argv) {
    (void)argc, (void)argv;
    uint32_t number = 0;
    char flag[32];
    start();
    pmix_proc_t last = rank_of_job(job_size - 1);
    fence(false);
    if (victim()) {
        for (uint32_t rank = 0; rank + 1 < job_size; rank++) {
            snprintf(flag, sizeof flag, "asking.%u", rank);
            await_flag(flag);
        }
        die();
    }
    snprintf(flag, sizeof flag, "asking.%u", me.rank);
    raise_flag(flag);
    double before = seconds_now();
    pmix_status_t status = get_u32(&last, "legacy", 0, &number);
    CHECK(status != PMIX_SUCCESS);
    in_time(before);
    survivors_go_on();
}

/* It dies while it puts and commits as fast as it can: no half of a value is ever seen. rows: K9 */
static void* putter(void* unused) {
    (void)unused;
    static char bytes[4096];
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT, .data.bo = {bytes, sizeof bytes}};
    for (unsigned i = 0;; i++) {
        memset(bytes, (int)(i & 0xff), sizeof bytes);
        if (PMIx_Put(PMIX_GLOBAL, "torrent", &value) != PMIX_SUCCESS || PMIx_Commit() != PMIX_SUCCESS) return NULL;
    }
}

static void in_put(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    pmix_proc_t last = rank_of_job(job_size - 1);
    fence(false);
    if (victim()) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, putter, NULL) == 0);
        await_flag("seen");
        die();
    }
    double before = seconds_now();
    for (bool told = false; !told || seconds_now() - before < 1.0;) {
        pmix_value_t* value = NULL;
        pmix_status_t status = PMIx_Get(&last, "torrent", NULL, 0, &value);
        if (status != PMIX_SUCCESS) continue;
        CHECK(value->type == PMIX_BYTE_OBJECT && value->data.bo.size == 4096);
        for (size_t i = 1; i < value->data.bo.size; i++) CHECK(value->data.bo.bytes[i] == value->data.bo.bytes[0]);
        PMIX_VALUE_RELEASE(value);
        if (!told && me.rank == 0) raise_flag("seen");
        told = true;
    }
    survivors_go_on();
}

/* It dies while its own lookup waits at another node. rows: P5 */
static void in_lookup(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    fence(false);
    if (victim()) {
        alarm(1); /* the lookup waits for a key that never comes: SIGALRM ends this process in it */
        await_flag("never");
    }
    char text[16];
    CHECK_STATUS(look_up_string("never", NULL, 0, text, sizeof text, NULL), PMIX_ERR_NOT_FOUND);
    survivors_go_on();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {
        {"before_init", before_init}, {"before_fence", before_fence},
        {"in_fence", in_fence},       {"after_fence", after_fence},
        {"wanted", wanted},           {"in_put", in_put},
        {"in_lookup", in_lookup},
    };
    RUN_CASE(cases);
    return 0;
}
