/* SPDX-License-Identifier: BSD-3-Clause */
/* waiting: jobs for tools to look at. Each rank prints READY NSPACE RANK URI, then waits until it is killed.
 * usage: waiting serve    rank 0 publishes; all say when they hear event -3107
 *        waiting values   rank 0 publishes what JSON has no form for, and arrays
 *        waiting hang     rank 0 in a fence that nobody else comes to, rank 1 in a Get of what rank 0 never puts, rank
 * 2 nowhere, rank 3 not even in PMIx_Init
 *        waiting loop     the same, but rank 2 computes
 *        waiting wanted   rank 0 in a lookup that waits for what nobody publishes
 *        waiting invited  rank 0 has invited the others: rank 1 accepts, rank 2 declines, the rest says nothing */
#include <math.h>

#include "check.h"

static void on_event(size_t handler, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t* results, size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)handler, (void)status, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    printf("HEARD %u\n", me.rank);
    fflush(stdout);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void ready(void) {
    printf("READY %s %s %s\n", getenv("PMIX_NAMESPACE"), getenv("PMIX_RANK"), getenv("PMIX_SERVER_URI_WIREUP"));
    fflush(stdout);
}

static void serve(void) {
    pmix_status_t code = -3107;
    CHECK_OK(PMIx_Init(&me, NULL, 0));
    CHECK(PMIx_Register_event_handler(&code, 1, NULL, 0, on_event, NULL, NULL) >= 0);
    if (me.rank == 0) {
        pmix_info_t info;
        PMIX_INFO_LOAD(&info, "tools.test", "published", PMIX_STRING);
        CHECK_OK(PMIx_Publish(&info, 1));
    }
    CHECK_OK(PMIx_Fence(NULL, 0, NULL, 0));
    ready();
}

static void values(void) {
    double none = NAN, open[2] = {-INFINITY, 1.5};
    int32_t numbers[3] = {1, -2, 3};
    bool truths[2] = {true, false};
    pmix_data_array_t of_open = {.type = PMIX_DOUBLE, .size = 2, .array = open};
    pmix_data_array_t of_numbers = {.type = PMIX_INT32, .size = 3, .array = numbers};
    pmix_data_array_t of_truths = {.type = PMIX_BOOL, .size = 2, .array = truths};
    pmix_info_t infos[5];
    PMIX_INFO_LOAD(&infos[0], "values.none", &none, PMIX_DOUBLE);
    PMIX_INFO_LOAD(&infos[1], "values.open", &of_open, PMIX_DATA_ARRAY);
    PMIX_INFO_LOAD(&infos[2], "values.numbers", &of_numbers, PMIX_DATA_ARRAY);
    PMIX_INFO_LOAD(&infos[3], "values.truths", &of_truths, PMIX_DATA_ARRAY);
    PMIX_INFO_LOAD(&infos[4], "values.text", "caf\xe9 \xc3\xa9 \xed\xa0\x80", PMIX_STRING);
    CHECK_OK(PMIx_Init(&me, NULL, 0));
    if (me.rank == 0) CHECK_OK(PMIx_Publish(infos, 5));
    CHECK_OK(PMIx_Fence(NULL, 0, NULL, 0));
    ready();
}

static void hang(bool computes) {
    unsigned rank = (unsigned)atoi(getenv("PMIX_RANK"));
    if (rank < 3) CHECK_OK(PMIx_Init(&me, NULL, 0));
    ready();
    if (rank == 0) PMIx_Fence(NULL, 0, NULL, 0);
    for (volatile bool always = computes; rank == 2 && always;) continue;
    if (rank == 1) {
        pmix_proc_t first = rank_of_job(0);
        pmix_value_t* value;
        PMIx_Get(&first, "never.put", NULL, 0, &value);
    }
}

static void wanted(void) {
    pmix_info_t wait;
    pmix_pdata_t data;
    PMIX_INFO_LOAD(&wait, PMIX_WAIT, NULL, PMIX_BOOL);
    PMIX_PDATA_CONSTRUCT(&data);
    PMIX_LOAD_KEY(data.key, "never.published");
    CHECK_OK(PMIx_Init(&me, NULL, 0));
    ready();
    if (me.rank == 0) PMIx_Lookup(&data, 1, &wait, 1);
}

static void on_invited(size_t handler, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[],
                       size_t ninfo, pmix_info_t* results, size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                       void* cbdata) {
    (void)handler, (void)status, (void)info, (void)ninfo, (void)results, (void)nresults;
    pmix_group_opt_t answer = me.rank == 1 ? PMIX_GROUP_ACCEPT : PMIX_GROUP_DECLINE;
    if (me.rank <= 2) CHECK_OK(PMIx_Group_join_nb("few", source, answer, NULL, 0, NULL, NULL));
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void invited(void) {
    pmix_status_t code = PMIX_GROUP_INVITED;
    CHECK_OK(PMIx_Init(&me, NULL, 0));
    if (me.rank != 0) CHECK(PMIx_Register_event_handler(&code, 1, NULL, 0, on_invited, NULL, NULL) >= 0);
    CHECK_OK(PMIx_Fence(NULL, 0, NULL, 0));
    ready();
    if (me.rank != 0) return;
    pmix_info_t optional;
    PMIX_INFO_LOAD(&optional, PMIX_GROUP_OPTIONAL, NULL, PMIX_BOOL);
    pmix_proc_t others[3] = {rank_of_job(1), rank_of_job(2), rank_of_job(3)};
    PMIx_Group_invite("few", others, 3, &optional, 1, NULL, NULL);
}

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    if (strcmp(argv[1], "serve") == 0) serve();
    if (strcmp(argv[1], "values") == 0) values();
    if (strcmp(argv[1], "hang") == 0) hang(false);
    if (strcmp(argv[1], "loop") == 0) hang(true);
    if (strcmp(argv[1], "wanted") == 0) wanted();
    if (strcmp(argv[1], "invited") == 0) invited();
    for (;;) pause();
}
