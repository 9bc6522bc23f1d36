/* SPDX-License-Identifier: BSD-3-Clause */
/* groups: construct, destruct, leave, fences and queries over real processes, and members that die.
 * usage: groups
 * construct|endpoints|fence|optional|timeout|leave|spellings|leave_late|disagree|adding|query|arguments|before|in|after|
 * told [survives]|leader|node_lost
 * (the last six with --continuous: the last rank dies) */
#include "group_check.h"

/* Context ids, order and Get by the group's own ranks; twice, because a name may be used again. rows: R1 R3 R4 R12 */
static void construct(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    size_t ids[2] = {0, 0};
    pmix_proc_t* order = calloc(job_size, sizeof *order);
    for (uint32_t i = 0; i < job_size; i++) order[i] = rank_of_job(job_size - 1 - i);
    for (int pass = 0; pass < 2; pass++) {
        pmix_info_t* infos = NULL;
        size_t ninfos = 0;
        pmix_info_t assign = flag(PMIX_GROUP_ASSIGN_CONTEXT_ID);
        CHECK_OK(PMIx_Group_construct(name, order, job_size, &assign, 1, &infos, &ninfos));
        const pmix_value_t* id = result(infos, ninfos, PMIX_GROUP_CONTEXT_ID);
        CHECK(id && id->type == PMIX_SIZE);
        ids[pass] = id->data.size;
        CHECK(members_in(infos, ninfos) == job_size);
        for (uint32_t i = 0; i < job_size; i++) CHECK(member_of(infos, ninfos, i)->rank == job_size - 1 - i);
        PMIX_INFO_FREE(infos, ninfos);
        /* All have the same number. */
        char key[32];
        uint32_t theirs = 0;
        snprintf(key, sizeof key, "cid.%d", pass);
        CHECK_OK(put_u32(PMIX_GLOBAL, key, (uint32_t)ids[pass]));
        CHECK_OK(PMIx_Commit());
        fence(true);
        for (uint32_t rank = 0; rank < job_size; rank++) {
            pmix_proc_t peer = rank_of_job(rank);
            CHECK_OK(get_u32(&peer, key, 60, &theirs));
            CHECK(theirs == (uint32_t)ids[pass]);
        }
        CHECK_STATUS(PMIx_Group_construct(name, order, job_size, NULL, 0, NULL, NULL), PMIX_ERR_EXISTS);
        CHECK_OK(PMIx_Group_destruct(name, NULL, 0));
        CHECK_STATUS(PMIx_Group_destruct(name, NULL, 0), PMIX_ERR_NOT_FOUND);
        /* What it stood for is a namespace that nobody knows again. */
        pmix_proc_t gone;
        pmix_value_t* nothing = NULL;
        PMIX_LOAD_PROCID(&gone, name, 0);
        CHECK_STATUS(get_u32(&gone, key, 10, &theirs), PMIX_ERR_NOT_FOUND);
        PMIX_LOAD_PROCID(&gone, name, PMIX_RANK_WILDCARD);
        CHECK_STATUS(PMIx_Get(&gone, PMIX_GROUP_CONTEXT_ID, NULL, 0, &nothing), PMIX_ERR_NOT_FOUND);
    }
    CHECK(ids[0] != ids[1]);
    free(order);
    finish();
}

/* What was put is there without a fence, also what a member gives the group alone. rows: R5 R6 R18 */
/* proves: PMIx_Group_construct PMIX_GROUP_INFO PMIX_GROUP_LOCAL_CID server */
static void endpoints(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    pmix_proc_t all = all_of_job(), peer;
    uint32_t number = 0;
    size_t mine = me.rank + 40;
    pmix_info_t* infos = NULL;
    size_t ninfos = 0;
    CHECK_OK(put_u32(PMIX_GLOBAL, "endpoint", me.rank + 7));
    CHECK_OK(PMIx_Commit());
    pmix_info_t cid, directives[2] = {flag(PMIX_GROUP_ASSIGN_CONTEXT_ID)};
    PMIX_INFO_LOAD(&cid, PMIX_GROUP_LOCAL_CID, &mine, PMIX_SIZE);
    pmix_data_array_t array = {.type = PMIX_INFO, .size = 1, .array = &cid};
    PMIX_INFO_LOAD(&directives[1], PMIX_GROUP_INFO, &array, PMIX_DATA_ARRAY);
    CHECK_OK(PMIx_Group_construct(name, &all, 1, directives, 2, &infos, &ninfos));
    PMIX_INFO_DESTRUCT(&directives[1]);
    pmix_info_t which, at_once = flag(PMIX_OPTIONAL);
    PMIX_INFO_LOAD(&which, PMIX_GROUP_CONTEXT_ID, &result(infos, ninfos, PMIX_GROUP_CONTEXT_ID)->data.size, PMIX_SIZE);
    for (uint32_t rank = 0; rank < job_size; rank++) {
        pmix_value_t* value = NULL;
        PMIX_LOAD_PROCID(&peer, name, rank); /* its rank in the group */
        CHECK_OK(PMIx_Get(&peer, "endpoint", &at_once, 1, &value));
        CHECK(value->type == PMIX_UINT32 && value->data.uint32 == rank + 7);
        PMIX_VALUE_RELEASE(value);
        peer = rank_of_job(rank);
        CHECK_OK(PMIx_Get(&peer, PMIX_GROUP_LOCAL_CID, &which, 1, &value));
        CHECK(value->type == PMIX_SIZE && value->data.size == rank + 40);
        PMIX_VALUE_RELEASE(value);
    }
    PMIX_LOAD_PROCID(&peer, name, job_size);
    CHECK_STATUS(get_u32(&peer, "endpoint", 0, &number), PMIX_ERR_NOT_FOUND);
    pmix_value_t* names = NULL;
    CHECK_OK(PMIx_Get(&me, PMIX_GROUP_NAMES, NULL, 0, &names));
    CHECK(names->type == PMIX_DATA_ARRAY && names->data.darray->size == 1);
    CHECK(strcmp(((char**)names->data.darray->array)[0], name) == 0);
    PMIX_VALUE_RELEASE(names);
    PMIX_INFO_FREE(infos, ninfos);
    CHECK_OK(PMIx_Group_destruct(name, NULL, 0));
    for (uint32_t rank = 0; rank < job_size; rank++) { /* what members shared is there for good */
        pmix_value_t* value = NULL;
        peer = rank_of_job(rank);
        CHECK_OK(PMIx_Get(&peer, PMIX_GROUP_LOCAL_CID, &which, 1, &value));
        CHECK(value->type == PMIX_SIZE && value->data.size == rank + 40);
        PMIX_VALUE_RELEASE(value);
        PMIX_LOAD_PROCID(&peer, name, rank); /* but the group is not */
        CHECK(PMIx_Get(&peer, "endpoint", &at_once, 1, &value) != PMIX_SUCCESS);
    }
    finish();
}

/* Fences over the group's name, by wildcard and by its ranks, beside a fence of the job. rows: R6 R7 */
static void fences(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    pmix_proc_t whole, some[2] = {rank_of_job(0), rank_of_job(job_size - 1)};
    bool in = me.rank == 0 || me.rank == job_size - 1;
    uint32_t number = 0;
    if (in) {
        CHECK_OK(PMIx_Group_construct(name, some, 2, NULL, 0, NULL, NULL));
        PMIX_LOAD_PROCID(&whole, name, PMIX_RANK_WILDCARD);
        CHECK_OK(put_u32(PMIX_GLOBAL, "two", me.rank));
        CHECK_OK(PMIx_Commit());
        CHECK_OK(fence_of(&whole, 1, true, 60));
        PMIX_LOAD_PROCID(&whole, name, 1);
        CHECK_OK(get_u32(&whole, "two", 60, &number));
        CHECK(number == job_size - 1);
        pmix_proc_t ranks[2];
        PMIX_LOAD_PROCID(&ranks[0], name, 0);
        PMIX_LOAD_PROCID(&ranks[1], name, 1);
        CHECK_OK(fence_of(ranks, 2, false, 60));
    }
    fence(false);
    if (in) CHECK_OK(PMIx_Group_destruct(name, NULL, 0));
    finish();
}

/* The last rank stays silent. rows: R10 R11 */
/* proves: PMIx_Group_construct PMIX_GROUP_OPTIONAL server */
static void optional(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    pmix_proc_t all = all_of_job();
    /* All but the silent one are to be there in time: so they come together, and have longer than any of them takes. */
    pmix_info_t directives[2] = {limit(12), flag(PMIX_GROUP_OPTIONAL)};
    pmix_info_t* infos = NULL;
    size_t ninfos = 0;
    fence(false);
    if (me.rank + 1 < job_size) {
        CHECK_STATUS(PMIx_Group_construct(name, &all, 1, directives, 2, &infos, &ninfos), PMIX_ERR_PARTIAL_SUCCESS);
        CHECK(members_in(infos, ninfos) == job_size - 1);
        PMIX_INFO_FREE(infos, ninfos);
        CHECK_OK(PMIx_Group_destruct(name, NULL, 0));
    }
    fence(false);
    finish();
}

static void with_timeout(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    pmix_proc_t all = all_of_job();
    pmix_info_t one = limit(1);
    if (me.rank + 1 < job_size) {
        CHECK_STATUS(PMIx_Group_construct(name, &all, 1, &one, 1, NULL, NULL), PMIX_ERR_TIMEOUT);
    }
    fence(false);
    if (me.rank + 1 == job_size) {
        CHECK_STATUS(PMIx_Group_construct(name, &all, 1, &one, 1, NULL, NULL), PMIX_ERR_TIMEOUT);
    }
    fence(false);
    CHECK_OK(PMIx_Group_construct(name, &all, 1, NULL, 0, NULL, NULL)); /* as if nothing had been */
    CHECK_OK(PMIx_Group_destruct(name, NULL, 0));
    finish();
}

/* The last rank leaves; the others hear of it and destruct what is left. rows: R17 */
static void leave(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    pmix_proc_t all = all_of_job();
    bool last = me.rank + 1 == job_size;
    CHECK_STATUS(PMIx_Group_leave(name, NULL, 0), PMIX_ERR_NOT_FOUND);
    if (!last) listen_to(PMIX_GROUP_LEFT, on_event);
    CHECK_OK(PMIx_Group_construct(name, &all, 1, NULL, 0, NULL, NULL));
    fence(false);
    if (last) {
        CHECK_OK(PMIx_Group_leave(name, NULL, 0));
        CHECK_STATUS(PMIx_Group_leave(name, NULL, 0), PMIX_ERR_NOT_FOUND);
    } else {
        CHECK(box_wait(&seen, 1, 60));
        pmix_info_t long_time = limit(60);
        CHECK_OK(PMIx_Group_destruct(name, &long_time, 1));
    }
    fence(false);
    finish();
}

/* Some name all processes one by one, others by a wildcard: it is one group. rows: R1 */
static void spellings(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    pmix_proc_t list[16], whole = rank_of_job(PMIX_RANK_WILDCARD);
    pmix_info_t *results = NULL, long_time = limit(60);
    size_t nresults = 0;
    CHECK(job_size <= 16);
    for (uint32_t rank = 0; rank < job_size; rank++) list[rank] = rank_of_job(rank);
    const bool one_by_one = me.rank % 2;
    CHECK_OK(PMIx_Group_construct("spelled", one_by_one ? list : &whole, one_by_one ? job_size : 1, &long_time, 1,
                                  &results, &nresults));
    CHECK(members_in(results, nresults) == job_size);
    PMIX_INFO_FREE(results, nresults);
    CHECK_OK(PMIx_Group_destruct("spelled", NULL, 0));
    finish();
}

/* A member leaves while the others are in the destruct already: they do not wait for it. rows: R12 R17 */
static void leave_late(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    pmix_proc_t whole = rank_of_job(PMIX_RANK_WILDCARD);
    for (int i = 0; i < 3; i++) {
        pmix_info_t* results = NULL;
        size_t nresults = 0;
        CHECK_OK(PMIx_Group_construct("left", &whole, 1, NULL, 0, &results, &nresults));
        PMIX_INFO_FREE(results, nresults);
        fence(false);
        if (me.rank == 1) {
            usleep(i * 100000);
            CHECK_OK(PMIx_Group_leave("left", NULL, 0));
        } else {
            CHECK_OK(PMIx_Group_destruct("left", NULL, 0));
        }
        fence(false);
    }
    finish();
}

/* No group has a caller that does not name the same members as the others. rows: R1 */
static void disagree(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    CHECK(job_size == 5);
    pmix_proc_t list[5];
    for (uint32_t rank = 0; rank < job_size; rank++) list[rank] = rank_of_job(rank);
    pmix_info_t *results = NULL, short_time = limit(2);
    size_t nresults = 0;
    const size_t named = me.rank == 0 ? 2 : 5;
    const pmix_status_t status = PMIx_Group_construct("of two minds", list, named, &short_time, 1, &results, &nresults);
    CHECK(status == PMIX_ERR_BAD_PARAM || status == PMIX_ERR_TIMEOUT);
    CHECK(!results);
    fence(false);
    finish();
}

/* Members that the callers do not name are added only by leaders that give their number: where one caller asks for it,
 * all are refused. And the caller of a construct is one of its members. rows: R1 */
static void adding(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    pmix_proc_t whole = rank_of_job(PMIX_RANK_WILDCARD), first = rank_of_job(0);
    pmix_info_t *results = NULL, added;
    size_t nresults = 0;
    PMIX_INFO_CONSTRUCT(&added);
    PMIX_LOAD_KEY(added.key, PMIX_GROUP_ADD_MEMBERS);
    added.value.type = PMIX_DATA_ARRAY;
    CHECK_STATUS(PMIx_Group_construct("added", &whole, 1, &added, 1, &results, &nresults), PMIX_ERR_BAD_PARAM);
    pmix_data_array_t array = {.type = PMIX_PROC, .size = 1, .array = &whole};
    added.value.data.darray = &array;
    for (uint32_t giver = 0; giver < job_size; giver += job_size - 1)
        CHECK_STATUS(PMIx_Group_construct("added", &whole, 1, &added, me.rank == giver, &results, &nresults),
                     PMIX_ERR_NOT_SUPPORTED);
    if (me.rank != 0)
        CHECK_STATUS(PMIx_Group_construct("others", &first, 1, NULL, 0, &results, &nresults), PMIX_ERR_NOT_A_MEMBER);
    fence(false);
    finish();
}

static void ask(const char* key, const char* group, pmix_info_t** results, size_t* nresults, pmix_status_t wanted) {
    pmix_query_t* query = NULL;
    PMIX_QUERY_CREATE(query, 1);
    query->keys = calloc(2, sizeof *query->keys);
    query->keys[0] = strdup(key);
    if (group) {
        query->nqual = 1;
        PMIX_INFO_CREATE(query->qualifiers, 1);
        PMIX_INFO_LOAD(&query->qualifiers[0], PMIX_GROUP_ID, group, PMIX_STRING);
    }
    CHECK_STATUS(PMIx_Query_info(query, 1, results, nresults), wanted);
    PMIX_QUERY_FREE(query, 1);
}

/* rows: R18 */
/* proves: PMIx_Query_info PMIX_QUERY_NUM_GROUPS PMIX_QUERY_GROUP_NAMES server */
/* proves: PMIx_Query_info PMIX_QUERY_GROUP_MEMBERSHIP PMIX_GROUP_ID server */
static void query(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    pmix_proc_t all = all_of_job();
    pmix_info_t* results = NULL;
    size_t nresults = 0;
    CHECK_OK(PMIx_Group_construct(name, &all, 1, NULL, 0, NULL, NULL));
    ask(PMIX_QUERY_NUM_GROUPS, NULL, &results, &nresults, PMIX_SUCCESS);
    CHECK(results[0].value.type == PMIX_SIZE && results[0].value.data.size == 1);
    PMIX_INFO_FREE(results, nresults);
    ask(PMIX_QUERY_GROUP_NAMES, NULL, &results, &nresults, PMIX_SUCCESS);
    CHECK(results[0].value.type == PMIX_DATA_ARRAY && results[0].value.data.darray->size == 1);
    CHECK(strcmp(((char**)results[0].value.data.darray->array)[0], name) == 0);
    PMIX_INFO_FREE(results, nresults);
    ask(PMIX_QUERY_GROUP_MEMBERSHIP, name, &results, &nresults, PMIX_SUCCESS);
    CHECK(results[0].value.type == PMIX_DATA_ARRAY && results[0].value.data.darray->size == job_size);
    PMIX_INFO_FREE(results, nresults);
    CHECK_OK(PMIx_Group_destruct(name, NULL, 0));
    fence(false);
    ask(PMIX_QUERY_GROUP_MEMBERSHIP, name, &results, &nresults, PMIX_ERR_NOT_FOUND);
    pmix_value_t* names = NULL;
    CHECK_STATUS(PMIx_Get(&me, PMIX_GROUP_NAMES, NULL, 0, &names), PMIX_ERR_NOT_FOUND);
    fence(false);
    finish();
}

/* rows: R1 R13 R16 */
static void arguments(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    pmix_proc_t all = all_of_job();
    char text[PMIX_MAX_NSLEN + 2];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    const char* const bad[] = {NULL, "", text};
    for (size_t i = 0; i < 3; i++) {
        CHECK_STATUS(PMIx_Group_construct(bad[i], &all, 1, NULL, 0, NULL, NULL), PMIX_ERR_BAD_PARAM);
        CHECK_STATUS(PMIx_Group_construct_nb(bad[i], &all, 1, NULL, 0, never, NULL), PMIX_ERR_BAD_PARAM);
        CHECK_STATUS(PMIx_Group_destruct(bad[i], NULL, 0), PMIX_ERR_BAD_PARAM);
        CHECK_STATUS(PMIx_Group_invite(bad[i], &all, 1, NULL, 0, NULL, NULL), PMIX_ERR_BAD_PARAM);
        CHECK_STATUS(PMIx_Group_join(bad[i], &me, PMIX_GROUP_ACCEPT, NULL, 0, NULL, NULL), PMIX_ERR_BAD_PARAM);
        CHECK_STATUS(PMIx_Group_leave(bad[i], NULL, 0), PMIX_ERR_BAD_PARAM);
    }
    CHECK_STATUS(PMIx_Group_construct(name, NULL, 1, NULL, 0, NULL, NULL), PMIX_ERR_BAD_PARAM);
    /* What is to be shared and is no array of infos is refused, not left out. */
    uint32_t number = 42;
    pmix_data_array_t numbers = {.type = PMIX_UINT32, .size = 1, .array = &number};
    pmix_info_t shared[3];
    PMIX_INFO_LOAD(&shared[0], PMIX_GROUP_INFO, &number, PMIX_UINT32);
    PMIX_INFO_LOAD(&shared[1], PMIX_GROUP_INFO, &numbers, PMIX_DATA_ARRAY);
    PMIX_INFO_CONSTRUCT(&shared[2]);
    PMIX_LOAD_KEY(shared[2].key, PMIX_GROUP_INFO);
    shared[2].value.type = PMIX_DATA_ARRAY;
    for (size_t i = 0; i < 3; i++) {
        CHECK_STATUS(PMIx_Group_construct(name, &all, 1, &shared[i], 1, NULL, NULL), PMIX_ERR_TYPE_MISMATCH);
        CHECK_STATUS(PMIx_Group_construct_nb(name, &all, 1, &shared[i], 1, never, NULL), PMIX_ERR_TYPE_MISMATCH);
        PMIX_INFO_DESTRUCT(&shared[i]);
    }
    CHECK_STATUS(PMIx_Group_join(name, NULL, PMIX_GROUP_ACCEPT, NULL, 0, NULL, NULL), PMIX_ERR_BAD_PARAM);
    CHECK_STATUS(PMIx_Group_destruct("no-such-group", NULL, 0), PMIX_ERR_NOT_FOUND);
    fence(false);
    finish();
}

/* --- deaths ------------------------------------------------------------------------------------------------------- */

static bool victim(void) {
    return me.rank == job_size - 1;
}

static void survivors_go_on(void) {
    pmix_proc_t* others = calloc(job_size, sizeof *others);
    for (uint32_t rank = 0; rank + 1 < job_size; rank++) others[rank] = rank_of_job(rank);
    pmix_info_t* infos = NULL;
    size_t ninfos = 0;
    CHECK_OK(PMIx_Group_construct("survivors", others, job_size - 1, NULL, 0, &infos, &ninfos));
    CHECK(members_in(infos, ninfos) == job_size - 1);
    PMIX_INFO_FREE(infos, ninfos);
    CHECK_OK(PMIx_Group_destruct("survivors", NULL, 0));
    free(others);
    finish();
}

/* It never comes. rows: R8 */
static void before(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    fence(false);
    if (victim()) die();
    pmix_proc_t all = all_of_job();
    pmix_status_t status = PMIx_Group_construct(name, &all, 1, NULL, 0, NULL, NULL);
    CHECK(status != PMIX_SUCCESS && status != PMIX_ERR_PARTIAL_SUCCESS && status != PMIX_ERR_TIMEOUT);
    survivors_go_on();
}

/* It dies while it constructs: an answer for everybody. rows: R8 */
static void in(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    fence(false);
    pmix_proc_t all = all_of_job();
    if (victim()) {
        PMIx_Group_construct_nb(name, &all, 1, NULL, 0, never, NULL);
        struct timespec moment = {0, 2000000};
        nanosleep(&moment, NULL);
        die();
    }
    PMIx_Group_construct(name, &all, 1, NULL, 0, NULL, NULL);
    survivors_go_on();
}

/* It is in the group when it dies; a destruct cannot complete. rows: R12 */
static void after(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    pmix_proc_t all = all_of_job();
    CHECK_OK(PMIx_Group_construct(name, &all, 1, NULL, 0, NULL, NULL));
    if (victim()) die();
    pmix_status_t status = PMIx_Group_destruct(name, NULL, 0);
    CHECK(status != PMIX_SUCCESS && status != PMIX_ERR_TIMEOUT);
    survivors_go_on();
}

/* They want to be told, or the collective to survive, and go on without it: each of them is told, wherever it runs.
 * rows: R8 R10 R12 */
/* proves: PMIx_Group_construct PMIX_GROUP_NOTIFY_TERMINATION server */
static void told(int argc, char** argv) {
    bool survives = argc > 0 && strcmp(argv[0], "survives") == 0;
    start();
    listen_to(PMIX_GROUP_MEMBER_FAILED, on_event);
    fence(false);
    if (victim()) die();
    pmix_proc_t all = all_of_job();
    pmix_info_t wanted = flag(survives ? PMIX_GROUP_FT_COLLECTIVE : PMIX_GROUP_NOTIFY_TERMINATION);
    pmix_info_t* infos = NULL;
    size_t ninfos = 0;
    CHECK_STATUS(PMIx_Group_construct(name, &all, 1, &wanted, 1, &infos, &ninfos), PMIX_ERR_PARTIAL_SUCCESS);
    CHECK(members_in(infos, ninfos) == job_size - 1);
    PMIX_INFO_FREE(infos, ninfos);
    CHECK(box_wait(&seen, 1, 60));
    CHECK(seen.status == PMIX_GROUP_MEMBER_FAILED);
    CHECK_OK(PMIx_Group_destruct(name, NULL, 0));
    survivors_go_on();
}

/* The node of a member is lost, of which no server is left to report: the destruct does. Run with a process on each of
 * several nodes at least. rows: R8 R12 */
static void node_lost(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    listen_to(PMIX_GROUP_MEMBER_FAILED, on_event);
    pmix_proc_t all = all_of_job();
    pmix_info_t wanted = flag(PMIX_GROUP_NOTIFY_TERMINATION);
    CHECK_OK(PMIx_Group_construct(name, &all, 1, &wanted, 1, NULL, NULL));
    fence(false);
    if (victim()) {
        CHECK(kill(getppid(), SIGKILL) == 0);
        die();
    }
    CHECK_OK(PMIx_Group_destruct(name, NULL, 0));
    CHECK(box_wait(&seen, 1, 60));
    CHECK(seen.status == PMIX_GROUP_MEMBER_FAILED);
    survivors_go_on();
}

/* The leader has called when it dies: all are told, and the group forms as if it had died later. rows: R9 */
static void leader_dies(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    listen_to(PMIX_GROUP_LEADER_FAILED, on_event);
    fence(false);
    pmix_proc_t all = all_of_job();
    pmix_info_t leads = flag(PMIX_GROUP_LEADER);
    if (victim()) {
        CHECK_OK(PMIx_Group_construct_nb(name, &all, 1, &leads, 1, never, NULL));
        await_flag("called");
        CHECK_OK(fence_of(&me, 1, false, 60)); /* its earlier requests have reached the server */
        die();
    }
    if (me.rank == 0) raise_flag("called");
    CHECK(box_wait(&seen, 1, 60));
    CHECK(seen.status == PMIX_GROUP_LEADER_FAILED);
    pmix_status_t status = PMIx_Group_construct(name, &all, 1, NULL, 0, NULL, NULL);
    CHECK(status == PMIX_SUCCESS || status == PMIX_ERR_PROC_TERM_WO_SYNC);
    survivors_go_on();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {
        {"construct", construct},  {"endpoints", endpoints}, {"fence", fences},        {"optional", optional},
        {"timeout", with_timeout}, {"leave", leave},         {"spellings", spellings}, {"leave_late", leave_late},
        {"disagree", disagree},    {"adding", adding},       {"query", query},         {"arguments", arguments},
        {"leader", leader_dies},   {"node_lost", node_lost}, {"before", before},       {"in", in},
        {"after", after},          {"told", told},
    };
    RUN_CASE(cases);
    return 0;
}
