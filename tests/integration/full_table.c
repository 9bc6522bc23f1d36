/* SPDX-License-Identifier: BSD-3-Clause */
/* full_table: a process whose descriptor table is full when its server begins a new segment. It keeps its connection, a
 * Get that needs the segment has a status, and with a free place in the table the value is got.
 * Rank 0 replaces its value until rank 1 was sent a new segment that it could not take. */
#include <fcntl.h>
#include <sys/resource.h>

#include "check.h"

enum { BYTES = 32 << 10, MOST_ROUNDS = 10000 };

static struct rlimit usual;

/* From here on no descriptor can be opened: the limit is the lowest number that is free. */
static void fill_table(void) {
    CHECK(getrlimit(RLIMIT_NOFILE, &usual) == 0);
    int lowest = fcntl(0, F_DUPFD, 0);
    CHECK(lowest >= 0 && close(lowest) == 0);
    struct rlimit full = {.rlim_cur = (rlim_t)lowest, .rlim_max = usual.rlim_max};
    CHECK(setrlimit(RLIMIT_NOFILE, &full) == 0);
    CHECK(dup(0) < 0);
}

/* What the library has closed since then is a free place again: the segment that was replaced is given back some time
 * later. */
static unsigned taken;

static void take_free_places(void) {
    while (dup(0) >= 0) taken++;
}

static void empty_table(void) {
    CHECK(setrlimit(RLIMIT_NOFILE, &usual) == 0);
}

static void put_round(uint32_t round) {
    char* text = malloc(BYTES);
    CHECK(text);
    memset(text, 'a' + (int)(round % 26), BYTES - 1);
    text[BYTES - 1] = '\0';
    pmix_value_t value = {.type = PMIX_STRING, .data.string = text};
    CHECK_OK(PMIx_Put(PMIX_GLOBAL, "text", &value));
    CHECK_OK(put_u32(PMIX_GLOBAL, "round", round));
    free(text);
}

static struct signal_box box = SIGNAL_BOX;
static uint32_t got_later;

static void got(pmix_status_t status, pmix_value_t* value, void* cbdata) {
    (void)cbdata;
    if (status == PMIX_SUCCESS) got_later = value->data.uint32;
    box_signal(&box, status);
}

int main(void) {
    uint32_t number = 0, lost = 0;
    start();
    CHECK(job_size == 2);
    pmix_proc_t zero = rank_of_job(0), one = rank_of_job(1), job = rank_of_job(PMIX_RANK_WILDCARD);
    if (me.rank == 1) fill_table();
    uint32_t round = 0;
    for (; !lost; round++) {
        CHECK(round < MOST_ROUNDS);
        if (me.rank == 0) put_round(round);
        if (me.rank == 1) {
            /* Also what the host says is in the segment. */
            take_free_places();
            pmix_status_t status = get_u32(&job, PMIX_JOB_SIZE, 0, &number);
            if (status == PMIX_SUCCESS && round > 0) status = get_u32(&zero, "round", 0, &number);
            CHECK(status == PMIX_SUCCESS || status == PMIX_ERR_OUT_OF_RESOURCE);
            lost = status == PMIX_ERR_OUT_OF_RESOURCE;
            CHECK_OK(put_u32(PMIX_GLOBAL, "lost", lost));
        }
        CHECK_OK(PMIx_Commit());
        fence(true);
        if (me.rank == 0) CHECK_OK(get_u32(&one, "lost", 0, &lost));
        fence(false);
    }
    if (me.rank == 1) {
        pmix_value_t* value = NULL;
        /* The segment that was replaced is given back, and its descriptor with it. That place is taken too. */
        for (take_free_places(); taken == 0; take_free_places()) nanosleep(&(struct timespec){0, 1000000}, NULL);
        /* Its own value needs no segment; others do, with whatever qualifier and in both forms. */
        CHECK_OK(get_u32(&me, "lost", 0, &number));
        bool optional = true;
        pmix_info_t info;
        PMIX_INFO_LOAD(&info, PMIX_OPTIONAL, &optional, PMIX_BOOL);
        CHECK_STATUS(PMIx_Get(&zero, "round", &info, 1, &value), PMIX_ERR_OUT_OF_RESOURCE);
        CHECK_STATUS(PMIx_Get(&zero, "round", NULL, 0, &value), PMIX_ERR_OUT_OF_RESOURCE);
        CHECK_OK(PMIx_Get_nb(&zero, "round", NULL, 0, got, NULL));
        CHECK(box_wait(&box, 1, 60) && box.status == PMIX_ERR_OUT_OF_RESOURCE);
        empty_table();
        CHECK_OK(PMIx_Get_nb(&zero, "round", NULL, 0, got, NULL));
        CHECK(box_wait(&box, 2, 60) && box.status == PMIX_SUCCESS && got_later == round - 1);
        CHECK_OK(PMIx_Get(&zero, "round", &info, 1, &value));
        CHECK(value->data.uint32 == round - 1);
        PMIX_VALUE_RELEASE(value);
        PMIX_INFO_DESTRUCT(&info);
        CHECK(job_u32(PMIX_JOB_SIZE) == 2);
    }
    fence(true);
    finish();
}
