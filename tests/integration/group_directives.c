/* SPDX-License-Identifier: BSD-3-Clause */
/* group_directives: what one member asks for holds for all, on every node.
 * usage: group_directives whole | lost|destruct none|tolerant|optional|notified GIVER | notified GIVER
 * (all but the first with --continuous: the last rank dies; the giver calls as the last one of those that are left) */
#include "group_check.h"

static pmix_proc_t* all;

static pmix_info_t order_info(pmix_proc_t* order) {
    pmix_info_t info;
    pmix_data_array_t array = {.type = PMIX_PROC, .size = job_size, .array = order};
    PMIX_INFO_LOAD(&info, PMIX_GROUP_FINAL_MEMBERSHIP_ORDER, &array, PMIX_DATA_ARRAY);
    return info;
}

static void begin(void) {
    start();
    all = calloc(job_size, sizeof *all);
    CHECK(all);
    for (uint32_t i = 0; i < job_size; i++) all[i] = rank_of_job(i);
}

static void construct(pmix_status_t expected, pmix_info_t* directives, size_t n, pmix_info_t** infos, size_t* ninfos) {
    CHECK_STATUS(PMIx_Group_construct(name, all, job_size, directives, n, infos, ninfos), expected);
}

/* Nobody dies: the order, and the number. rows: R1 R3 R12 */
/* proves: PMIx_Group_construct PMIX_GROUP_FINAL_MEMBERSHIP_ORDER server */
static void whole(int argc, char** argv) {
    (void)argc, (void)argv;
    begin();
    pmix_proc_t* order = calloc(job_size, sizeof *order);
    CHECK(order);
    for (uint32_t i = 0; i < job_size; i++) order[i] = all[job_size - 1 - i];
    for (uint32_t giver = 0; giver < job_size; giver++) {
        pmix_info_t directives[2] = {order_info(order), flag(PMIX_GROUP_ASSIGN_CONTEXT_ID)};
        pmix_info_t* infos = NULL;
        size_t ninfos = 0;
        /* One asks for the order, its neighbour for the number; once both for the same order. */
        const bool orders = me.rank == giver || (giver == 0 && me.rank == job_size - 1);
        const bool numbers = me.rank == (giver + 1) % job_size;
        construct(PMIX_SUCCESS, orders ? directives : directives + 1, (size_t)orders + numbers, &infos, &ninfos);
        CHECK(members_in(infos, ninfos) == job_size);
        for (uint32_t i = 0; i < job_size; i++) CHECK(member_of(infos, ninfos, i)->rank == order[i].rank);
        CHECK(result(infos, ninfos, PMIX_GROUP_CONTEXT_ID));
        PMIX_INFO_FREE(infos, ninfos);
        CHECK_OK(PMIx_Group_destruct(name, NULL, 0));
        PMIX_INFO_DESTRUCT(&directives[0]);
    }
    /* Two that ask for different orders: the first two ranks, the first and the last. */
    for (uint32_t other = 1; other < job_size; other += job_size - 2) {
        pmix_info_t differing = order_info(me.rank == 0 ? all : order);
        construct(PMIX_ERR_BAD_PARAM, &differing, me.rank == 0 || me.rank == other, NULL, NULL);
        PMIX_INFO_DESTRUCT(&differing);
        fence(false);
    }
    construct(PMIX_SUCCESS, NULL, 0, NULL, NULL);
    CHECK_OK(PMIx_Group_destruct(name, NULL, 0));
    free(order);
    finish();
}

static const char* directive_of(const char* word) {
    if (strcmp(word, "tolerant") == 0) return PMIX_GROUP_FT_COLLECTIVE;
    if (strcmp(word, "optional") == 0) return PMIX_GROUP_OPTIONAL;
    return strcmp(word, "notified") == 0 ? PMIX_GROUP_NOTIFY_TERMINATION : NULL;
}

/* The end of the last rank is known everywhere before the others go on, and the giver goes on last. */
static bool goes_on_as_giver(const char* rank) {
    fence(false);
    if (me.rank == job_size - 1) die();
    const bool gives = me.rank == (pmix_rank_t)atoi(rank);
    usleep(gives ? 800000 : 500000);
    return gives;
}

/* A member has died before the construct. rows: R8 R10 */
/* proves: PMIx_Group_construct PMIX_GROUP_FT_COLLECTIVE server */
static void lost(int argc, char** argv) {
    CHECK(argc == 2);
    begin();
    const char* key = directive_of(argv[0]);
    const bool gives = goes_on_as_giver(argv[1]);
    pmix_info_t directives[] = {limit(60), flag(key ? key : PMIX_GROUP_FT_COLLECTIVE)};
    pmix_info_t* infos = NULL;
    size_t ninfos = 0;
    construct(key ? PMIX_ERR_PARTIAL_SUCCESS : PMIX_ERR_PROC_TERM_WO_SYNC, directives, key && gives ? 2 : 1, &infos,
              &ninfos);
    if (key) {
        CHECK(members_in(infos, ninfos) == job_size - 1);
        PMIX_INFO_FREE(infos, ninfos);
        CHECK_OK(PMIx_Group_destruct(name, directives, 1));
    }
    finish();
}

/* A member has died before the destruct. rows: R12 */
static void destruct(int argc, char** argv) {
    CHECK(argc == 2);
    begin();
    const char* key = directive_of(argv[0]);
    construct(PMIX_SUCCESS, NULL, 0, NULL, NULL);
    const bool gives = goes_on_as_giver(argv[1]);
    pmix_info_t directives[] = {limit(60), flag(key ? key : PMIX_GROUP_FT_COLLECTIVE)};
    CHECK_STATUS(PMIx_Group_destruct(name, directives, key && gives ? 2 : 1),
                 key ? PMIX_SUCCESS : PMIX_ERR_PROC_TERM_WO_SYNC);
    finish();
}

/* A member dies while there is the group, and one of the others has asked to be notified: all are. */
/* proves: PMIx_Group_construct PMIX_GROUP_NOTIFY_TERMINATION server */
static void notified(int argc, char** argv) {
    CHECK(argc == 1);
    begin();
    listen_to(PMIX_GROUP_MEMBER_FAILED, on_event);
    pmix_info_t directive = flag(PMIX_GROUP_NOTIFY_TERMINATION);
    construct(PMIX_SUCCESS, &directive, me.rank == (pmix_rank_t)atoi(argv[0]), NULL, NULL);
    fence(false);
    if (me.rank == job_size - 1) die();
    CHECK(box_wait(&seen, 1, 60));
    CHECK_OK(PMIx_Group_destruct(name, NULL, 0));
    finish();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {
        {"whole", whole}, {"lost", lost}, {"destruct", destruct}, {"notified", notified}};
    RUN_CASE(cases);
    return 0;
}
