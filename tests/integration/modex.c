/* SPDX-License-Identifier: BSD-3-Clause */
/* modex: data of a peer without a fence, from the same node and from another.
 * usage: modex late|absent|timeout|left|many|unknown|missing|strict|internal */
#include "check.h"

static void pause_for(double seconds) {
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

/* A value for the process alone, over one that was put for peers and is not committed yet. rows: K7 */
static void internal(int argc, char** argv) {
    (void)argc, (void)argv;
    uint32_t number = 0;
    start();
    pmix_proc_t next = rank_of_job((me.rank + 1) % job_size);
    pmix_value_t mine = {.type = PMIX_UINT32};
    mine.data.uint32 = 1000;
    CHECK_OK(put_u32(PMIX_GLOBAL, "both", me.rank));
    CHECK_OK(PMIx_Store_internal(&me, "both", &mine));
    CHECK_OK(put_u32(PMIX_REMOTE, "scope", me.rank));
    CHECK_OK(put_u32(PMIX_LOCAL, "scope", me.rank));
    CHECK_OK(put_u32(PMIX_INTERNAL, "scope", 1000));
    CHECK_OK(PMIx_Commit());
    fence(true);
    CHECK_OK(get_u32(&next, "both", 60, &number));
    CHECK(number == next.rank);
    CHECK_OK(get_u32(&next, "scope", 60, &number));
    CHECK(number == next.rank);
    CHECK_OK(get_u32(&me, "both", 60, &number));
    CHECK(number == 1000);
    CHECK_OK(get_u32(&me, "scope", 60, &number));
    CHECK(number == 1000);
    fence(false);
    finish();
}

/* Everybody asks rank 0 before it has put anything, and waits, said or unsaid. rows: K20 K21 V13 */
static void late(int argc, char** argv) {
    (void)argc, (void)argv;
    uint32_t number = 0;
    start();
    pmix_proc_t first = rank_of_job(0);
    fence(false);
    if (me.rank == 0) {
        pause_for(0.3);
        CHECK_OK(put_u32(PMIX_GLOBAL, "late", 77));
        CHECK_OK(PMIx_Commit());
    }
    if (me.rank % 2) {
        pmix_info_t infos[2];
        const bool yes = true;
        const int seconds = 60;
        pmix_value_t* value = NULL;
        PMIX_INFO_LOAD(&infos[0], PMIX_WAIT, &yes, PMIX_BOOL);
        PMIX_INFO_REQUIRED(&infos[0]);
        PMIX_INFO_LOAD(&infos[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
        CHECK_OK(PMIx_Get(&first, "late", infos, 2, &value));
        CHECK(value->type == PMIX_UINT32 && value->data.uint32 == 77);
        PMIX_VALUE_RELEASE(value);
    }
    CHECK_OK(get_u32(&first, "late", 60, &number));
    CHECK(number == 77);
    fence(false);
    finish();
}

/* Committed, but not that key: not found, and found when it is there. rows: K20 K21 K32 */
static void absent(int argc, char** argv) {
    (void)argc, (void)argv;
    uint32_t number = 0;
    start();
    pmix_proc_t next = rank_of_job((me.rank + 1) % job_size), nobody = rank_of_job(job_size + 5);
    CHECK_OK(put_u32(PMIX_GLOBAL, "some", 1));
    CHECK_OK(PMIx_Commit());
    fence(false);
    CHECK_OK(get_u32(&next, "some", 60, &number));
    pmix_status_t status = get_u32(&next, "other", 1, &number);
    CHECK(status == PMIX_ERR_NOT_FOUND || status == PMIX_ERR_TIMEOUT);
    status = get_u32(&nobody, "some", 1, &number);
    CHECK(status == PMIX_ERR_NOT_FOUND || status == PMIX_ERR_TIMEOUT);
    fence(false);
    CHECK_OK(put_u32(PMIX_GLOBAL, "other", 2));
    CHECK_OK(PMIx_Commit());
    fence(false);
    CHECK_OK(get_u32(&next, "other", 60, &number));
    CHECK(number == 2);
    fence(false);
    finish();
}

/* A commit of nothing is one: a process that waits for it, or asks later, hears that there is no such key. rows: K20 K21 */
static void nothing(int argc, char** argv) {
    (void)argc, (void)argv;
    uint32_t number = 0;
    start();
    pmix_proc_t first = rank_of_job(0);
    if (me.rank == 0) {
        usleep(100000);
        CHECK_OK(PMIx_Commit());
    } else {
        CHECK_STATUS(get_u32(&first, "none", 0, &number), PMIX_ERR_NOT_FOUND);
    }
    fence(false);
    if (me.rank != 0) CHECK_STATUS(get_u32(&first, "other", 0, &number), PMIX_ERR_NOT_FOUND);
    fence(true);
    CHECK_OK(put_u32(PMIX_GLOBAL, "none", me.rank));
    CHECK_OK(PMIx_Commit());
    fence(false);
    CHECK_OK(get_u32(&first, "none", 0, &number));
    CHECK(number == 0);
    fence(false);
    finish();
}

/* Nobody ever commits: the requester's timeout ends it. rows: K9 K20 G11 */
static void timeout(int argc, char** argv) {
    (void)argc, (void)argv;
    uint32_t number = 0;
    start();
    pmix_proc_t next = rank_of_job((me.rank + 1) % job_size);
    double before = seconds_now();
    CHECK_STATUS(get_u32(&next, "never", 1, &number), PMIX_ERR_TIMEOUT);
    CHECK(seconds_now() - before > 0.8 && seconds_now() - before < 60);
    fence(false);
    finish();
}

/* The last rank leaves: with a commit its data stays, without one the requesters get an error, not a wait. rows: K20 K32 */
static void left(int argc, char** argv) {
    bool commits = argc > 0 && strcmp(argv[0], "commits") == 0;
    uint32_t number = 0;
    start();
    pmix_proc_t last = rank_of_job(job_size - 1);
    fence(false);
    if (me.rank == last.rank) {
        if (commits) {
            CHECK_OK(put_u32(PMIX_GLOBAL, "legacy", 5));
            CHECK_OK(PMIx_Commit());
        }
        finish();
        return;
    }
    double before = seconds_now();
    if (me.rank % 2) pause_for(0.4); /* some ask before it has left, some after */
    pmix_status_t status = get_u32(&last, "legacy", 0, &number);
    CHECK(commits ? status == PMIX_SUCCESS && number == 5 : status != PMIX_SUCCESS);
    CHECK(seconds_now() - before < 60);
    finish();
}

static void got(pmix_status_t status, pmix_value_t* value, void* cbdata) {
    bool right = status == PMIX_SUCCESS && value && value->type == PMIX_UINT32;
    if (!right) fail_at(__LINE__, "PMIx_Get_nb's callback", status, PMIX_SUCCESS);
    box_signal(cbdata, status);
}

static void got_or_not(pmix_status_t status, pmix_value_t* value, void* cbdata) {
    if (status != PMIX_ERR_TIMEOUT) {
        got(status, value, cbdata);
        return;
    }
    box_signal(cbdata, status);
}

/* Many requests open at once, some for the same key. rows: K33 G2 G20 */
static void many(int argc, char** argv) {
    enum { COPIES = 20 };
    (void)argc, (void)argv;
    static struct signal_box box = SIGNAL_BOX;
    start();
    for (uint32_t rank = 0; rank < job_size; rank++) {
        if (rank == me.rank) continue; /* nobody waits for oneself */
        pmix_proc_t peer = rank_of_job(rank);
        for (int i = 0; i < COPIES; i++) CHECK_OK(PMIx_Get_nb(&peer, i % 2 ? "one" : "two", NULL, 0, got, &box));
    }
    CHECK_OK(put_u32(PMIX_GLOBAL, "one", 1));
    CHECK_OK(put_u32(PMIX_GLOBAL, "two", 2));
    CHECK_OK(PMIx_Commit());
    CHECK(box_wait(&box, (int)(job_size - 1) * COPIES, 60));
    fence(false);
    CHECK(box_count(&box) == (int)(job_size - 1) * COPIES); /* each exactly once */
    finish();
}

/* A namespace that nobody knows. rows: K17 K32 */
static void unknown(int argc, char** argv) {
    (void)argc, (void)argv;
    uint32_t number = 0;
    pmix_proc_t other;
    start();
    PMIX_LOAD_PROCID(&other, "no.such.job", 0);
    pmix_status_t status = get_u32(&other, "some", 2, &number);
    CHECK(status == PMIX_ERR_NOT_FOUND || status == PMIX_ERR_TIMEOUT);
    fence(false);
    finish();
}

static pmix_status_t get_with(const pmix_proc_t* proc, const char* key, const char* directive) {
    pmix_info_t info;
    pmix_value_t* value = NULL;
    PMIX_INFO_LOAD(&info, directive, NULL, PMIX_BOOL);
    pmix_status_t status = PMIx_Get(proc, key, &info, 1, &value);
    if (value != NULL) PMIX_VALUE_RELEASE(value);
    return status;
}

/* A key that its process has not put, after a commit without it: the same answers on one node and on several.
 * rows: K19 K20 K21 */
static void missing(int argc, char** argv) {
    (void)argc, (void)argv;
    uint32_t number = 0;
    start();
    pmix_proc_t next = rank_of_job((me.rank + 1) % job_size);
    CHECK_OK(put_u32(PMIX_GLOBAL, "some", 1));
    CHECK_OK(PMIx_Commit());
    fence(false);
    CHECK_STATUS(get_u32(&next, "other", 0, &number), PMIX_ERR_NOT_FOUND);
    CHECK_STATUS(get_with(&next, "other", PMIX_IMMEDIATE), PMIX_ERR_NOT_FOUND);
    CHECK_STATUS(get_with(&next, "other", PMIX_OPTIONAL), PMIX_ERR_NOT_FOUND);
    double before = seconds_now();
    CHECK_STATUS(get_u32(&next, "other", 1, &number), PMIX_ERR_TIMEOUT);
    CHECK(seconds_now() - before > 0.8);
    /* Of its own keys only another thread can put one: it is waited for where a limit was given, in both forms. */
    static struct signal_box box = SIGNAL_BOX;
    CHECK_STATUS(get_u32(&me, "own", 0, &number), PMIX_ERR_NOT_FOUND);
    before = seconds_now();
    CHECK_STATUS(get_u32(&me, "own", 1, &number), PMIX_ERR_TIMEOUT);
    CHECK(seconds_now() - before > 0.8);
    pmix_info_t limit;
    const int seconds = 60;
    PMIX_INFO_LOAD(&limit, PMIX_TIMEOUT, &seconds, PMIX_INT);
    CHECK_OK(PMIx_Get_nb(&me, "own", &limit, 1, got, &box));
    CHECK_OK(put_u32(PMIX_GLOBAL, "own", 1));
    CHECK_OK(PMIx_Commit());
    CHECK(box_wait(&box, 1, 60));
    /* Put, but not committed: found when the limit is over. Where the limit was over before the put, once more. */
    static struct signal_box tried = SIGNAL_BOX;
    tried.status = PMIX_ERR_TIMEOUT;
    const int second = 1;
    PMIX_INFO_LOAD(&limit, PMIX_TIMEOUT, &second, PMIX_INT);
    for (int i = 1; tried.status != PMIX_SUCCESS; i++) {
        char key[32];
        snprintf(key, sizeof(key), "uncommitted%d", i);
        CHECK(i < 60);
        CHECK_OK(PMIx_Get_nb(&me, key, &limit, 1, got_or_not, &tried));
        CHECK_OK(put_u32(PMIX_GLOBAL, key, 1));
        CHECK(box_wait(&tried, i, 60));
    }
    fence(false);
    finish();
}

/* In strict mode a get waits for the key itself, of a peer and of the process's own. rows: K19 K20 K21 */
static void strict(int argc, char** argv) {
    (void)argc, (void)argv;
    static struct signal_box box = SIGNAL_BOX;
    setenv("PMIX_WIREUP_STRICT", "1", 1);
    uint32_t number = 0;
    start();
    pmix_proc_t next = rank_of_job((me.rank + 1) % job_size);
    CHECK_OK(put_u32(PMIX_GLOBAL, "some", 1));
    CHECK_OK(PMIx_Commit());
    fence(false);
    CHECK_OK(PMIx_Get_nb(&next, "one", NULL, 0, got, &box));
    CHECK_OK(PMIx_Get_nb(&me, "one", NULL, 0, got, &box));
    CHECK_STATUS(get_with(&next, "one", PMIX_IMMEDIATE), PMIX_ERR_NOT_FOUND);
    CHECK_STATUS(get_with(&me, "one", PMIX_OPTIONAL), PMIX_ERR_NOT_FOUND);
    CHECK_STATUS(get_u32(&next, "never", 1, &number), PMIX_ERR_TIMEOUT);
    CHECK_STATUS(get_u32(&me, "never", 1, &number), PMIX_ERR_TIMEOUT);
    CHECK(box_count(&box) == 0);
    fence(false);
    CHECK_OK(put_u32(PMIX_GLOBAL, "one", 1));
    CHECK_OK(PMIx_Commit());
    CHECK(box_wait(&box, 2, 60));
    fence(false);
    finish();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {
        {"late", late}, {"absent", absent},   {"nothing", nothing}, {"timeout", timeout}, {"left", left},
        {"many", many}, {"unknown", unknown}, {"missing", missing}, {"strict", strict},   {"internal", internal},
    };
    RUN_CASE(cases);
    return 0;
}
