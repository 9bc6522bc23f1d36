/* SPDX-License-Identifier: BSD-3-Clause */
/* group_forms: groups over two jobs, of invitees who refuse or never answer, of leaders who do not know each other.
 * usage: group_forms
 * replace|two_jobs|two_jobs_invited|same_name|bootstrap|bootstrap_wildcard|bootstrap_fails|unanswered
 * [replaced]|bootstrap_dies (the last two with --continuous: a rank dies); second_job and second_invited are spawned by
 * two_jobs... */
#include "group_check.h"

/* --- replaced, unanswered, without waiting ------------------------------------------------------------------------ */

static pmix_proc_t substitute;

static void on_refusal(size_t reference, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[],
                       size_t ninfo, pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                       void* cbdata) {
    (void)reference, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    static pmix_info_t instead; /* the library may look at it after this has returned */
    box_signal(&seen, status);
    PMIX_INFO_DESTRUCT(&instead);
    PMIX_INFO_LOAD(&instead, PMIX_PROCID, &substitute, PMIX_PROC);
    done(PMIX_EVENT_ACTION_COMPLETE, &instead, substitute.nspace[0] ? 1 : 0, NULL, NULL, cbdata);
}

struct results {
    struct signal_box box;
    size_t members;
};

static void with_results(pmix_status_t status, pmix_info_t* info, size_t ninfo, void* cbdata,
                         pmix_release_cbfunc_t release, void* release_cbdata) {
    struct results* results = cbdata;
    results->members = members_in(info, ninfo);
    if (release) release(release_cbdata);
    box_signal(&results->box, status);
}

/* Rank 0 invites 1 and 2; rank 2 declines, or dies before it answers, and the last but one takes its place, or nobody
 * does. rows: R13 R14 R15 R16 */
static void refused(bool dies, bool replaced) {
    start();
    pmix_rank_t other = 2, instead = job_size - 2;
    CHECK(job_size == 5);
    if (me.rank != 0) listen_to(PMIX_GROUP_INVITED, on_invited);
    if (me.rank == 0) {
        listen_to(PMIX_GROUP_INVITE_DECLINED, on_refusal);
        listen_to(PMIX_GROUP_INVITE_FAILED, on_refusal);
        if (replaced) substitute = rank_of_job(instead);
    }
    fence(false);
    if (me.rank == 0) {
        static struct results mine = {.box = SIGNAL_BOX};
        pmix_proc_t asked[2] = {rank_of_job(1), rank_of_job(other)};
        CHECK_OK(PMIx_Group_invite_nb(name, asked, 2, NULL, 0, with_results, &mine));
        CHECK(box_wait(&mine.box, 1, 60));
        CHECK(mine.box.status == (replaced ? PMIX_SUCCESS : PMIX_ERR_PARTIAL_SUCCESS));
        CHECK(mine.members == (replaced ? 2u : 1u));
        CHECK(box_count(&seen) == 1);
        CHECK(seen.status == (dies ? PMIX_GROUP_INVITE_FAILED : PMIX_GROUP_INVITE_DECLINED));
        CHECK(box_count(&mine.box) == 1);
    } else if (me.rank == other) {
        CHECK(box_wait(&invited, 1, 60));
        if (dies) die();
        CHECK_OK(PMIx_Group_join(name, &inviter, PMIX_GROUP_DECLINE, NULL, 0, NULL, NULL));
    } else if (me.rank == 1 || (replaced && me.rank == instead)) {
        static struct results mine = {.box = SIGNAL_BOX};
        CHECK(box_wait(&invited, 1, 60));
        CHECK_OK(PMIx_Group_join_nb(name, &inviter, PMIX_GROUP_ACCEPT, NULL, 0, with_results, &mine));
        CHECK(box_wait(&mine.box, 1, 60));
        CHECK_OK(mine.box.status);
        CHECK(mine.members == (replaced ? 2u : 1u));
        CHECK(box_count(&mine.box) == 1);
    }
    if (me.rank == 1 || (replaced && me.rank == instead)) { /* the inviter has not listed itself */
        struct signal_box gone = SIGNAL_BOX;
        pmix_proc_t whole;
        PMIX_LOAD_PROCID(&whole, name, PMIX_RANK_WILDCARD);
        CHECK_OK(fence_of(&whole, 1, false, 60));
        CHECK_OK(PMIx_Group_destruct_nb(name, NULL, 0, op_done, &gone));
        CHECK(box_wait(&gone, 1, 60));
        CHECK_OK(gone.status);
    }
    pmix_proc_t last[2] = {rank_of_job(0), rank_of_job(4)}; /* only invited processes were asked */
    if (me.rank == 0 || me.rank == 4) CHECK_OK(fence_of(last, 2, false, 60));
    if (me.rank == 4 || (!replaced && me.rank == instead)) CHECK(box_count(&invited) == 0);
    finish();
}

static void replace(int argc, char** argv) {
    (void)argc, (void)argv;
    refused(false, true);
}
static void unanswered(int argc, char** argv) {
    refused(true, argc > 0 && strcmp(argv[0], "replaced") == 0);
}

/* --- two jobs ----------------------------------------------------------------------------------------------------- */

static const char* program;

static pmix_proc_t parent_of_job(void) {
    pmix_proc_t job = all_of_job(), parent;
    pmix_value_t* value = NULL;
    CHECK_OK(PMIx_Get(&job, PMIX_PARENT_ID, NULL, 0, &value));
    parent = *value->data.proc;
    PMIX_VALUE_RELEASE(value);
    return parent;
}

static void spawn_children(const char* mode, pmix_nspace_t nspace) {
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = strdup(program);
    app.argv = calloc(3, sizeof *app.argv);
    app.argv[0] = strdup(program);
    app.argv[1] = strdup(mode);
    app.maxprocs = 3;
    CHECK_OK(PMIx_Spawn(NULL, 0, &app, 1, nspace));
    PMIX_APP_DESTRUCT(&app);
}

/* Name of the other job for everybody. */
static void meet(const char* mode, pmix_nspace_t other) {
    pmix_proc_t first = rank_of_job(0);
    pmix_value_t *value = NULL, put = {.type = PMIX_STRING, .data.string = other};
    if (me.rank == 0) {
        spawn_children(mode, other);
        CHECK_OK(PMIx_Put(PMIX_GLOBAL, "other", &put));
        CHECK_OK(PMIx_Commit());
    }
    fence(true);
    CHECK_OK(PMIx_Get(&first, "other", NULL, 0, &value));
    PMIX_LOAD_NSPACE(other, value->data.string);
    PMIX_VALUE_RELEASE(value);
}

/* A member of a group over both jobs: their data, its name in Fence and Get, its number, an end for all. */
static void member_of_both(const pmix_proc_t procs[2], size_t others, const char* group, pmix_info_t* infos,
                           size_t ninfos) {
    uint32_t number = 0;
    size_t total = job_size + others;
    CHECK(members_in(infos, ninfos) == total);
    const pmix_value_t* id = result(infos, ninfos, PMIX_GROUP_CONTEXT_ID);
    CHECK(id && id->type == PMIX_SIZE);
    pmix_proc_t whole;
    PMIX_LOAD_PROCID(&whole, group, PMIX_RANK_WILDCARD);
    for (int i = 0; i < 2; i++) {
        pmix_proc_t job = procs[i];
        job.rank = PMIX_RANK_WILDCARD;
        CHECK_OK(get_u32(&job, PMIX_JOB_SIZE, 60, &number));
        CHECK(number == job_size || number == others);
    }
    CHECK_OK(put_u32(PMIX_GLOBAL, "number", (uint32_t)id->data.size));
    CHECK_OK(PMIx_Commit());
    CHECK_OK(fence_of(&whole, 1, true, 60));
    for (size_t rank = 0; rank < total; rank++) {
        pmix_proc_t peer;
        PMIX_LOAD_PROCID(&peer, group, (pmix_rank_t)rank);
        CHECK_OK(get_u32(&peer, "number", 60, &number));
        CHECK(number == (uint32_t)id->data.size);
        CHECK_OK(get_u32(member_of(infos, ninfos, rank), "number", 60, &number));
    }
}

static void construct_both(const pmix_proc_t procs[2], size_t others) {
    pmix_info_t assign = flag(PMIX_GROUP_ASSIGN_CONTEXT_ID), at_once = flag(PMIX_OPTIONAL);
    pmix_info_t* infos = NULL;
    size_t ninfos = 0;
    CHECK_OK(put_u32(PMIX_GLOBAL, "endpoint", me.rank + 100));
    CHECK_OK(PMIx_Commit());
    CHECK_OK(PMIx_Group_construct(name, procs, 2, &assign, 1, &infos, &ninfos));
    for (size_t rank = 0; rank < job_size + others; rank++) { /* there without a fence */
        const pmix_proc_t* peer = member_of(infos, ninfos, rank);
        pmix_value_t* value = NULL;
        CHECK_OK(PMIx_Get(peer, "endpoint", &at_once, 1, &value));
        CHECK(value->data.uint32 == peer->rank + 100);
        PMIX_VALUE_RELEASE(value);
    }
    member_of_both(procs, others, name, infos, ninfos);
    PMIX_INFO_FREE(infos, ninfos);
    CHECK_OK(PMIx_Group_destruct(name, NULL, 0));
}

/* rows: R1 R3 R4 R5 R6 R12 */
static void two_jobs(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_nspace_t other = "";
    start();
    meet("second_job", other);
    pmix_proc_t procs[2] = {all_of_job()};
    PMIX_LOAD_PROCID(&procs[1], other, PMIX_RANK_WILDCARD);
    construct_both(procs, 3);
    finish();
}

static void second_job(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    pmix_proc_t procs[2] = {parent_of_job(), all_of_job()};
    procs[0].rank = PMIX_RANK_WILDCARD;
    construct_both(procs, 5);
    finish();
}

/* Rank 0 invites its own job and the other one. rows: R5 R13 R15 R16 */
static void two_jobs_invited(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_nspace_t other = "";
    pmix_info_t* infos = NULL;
    size_t ninfos = 0;
    start();
    if (me.rank != 0) listen_to(PMIX_GROUP_INVITED, on_invited);
    meet("second_invited", other);
    pmix_proc_t procs[2] = {all_of_job()}, all[8];
    PMIX_LOAD_PROCID(&procs[1], other, PMIX_RANK_WILDCARD);
    for (uint32_t rank = 0; rank < 8; rank++)
        PMIX_LOAD_PROCID(&all[rank], rank < 5 ? me.nspace : other, rank < 5 ? rank : rank - 5);
    if (me.rank == 0) {
        pmix_info_t assign = flag(PMIX_GROUP_ASSIGN_CONTEXT_ID);
        CHECK_OK(PMIx_Group_invite(name, all, 8, &assign, 1, &infos, &ninfos));
    } else {
        CHECK(box_wait(&invited, 1, 60));
        CHECK_OK(PMIx_Group_join(name, &inviter, PMIX_GROUP_ACCEPT, NULL, 0, &infos, &ninfos));
    }
    member_of_both(procs, 3, name, infos, ninfos);
    PMIX_INFO_FREE(infos, ninfos);
    CHECK_OK(PMIx_Group_destruct(name, NULL, 0));
    finish();
}

static void second_invited(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_info_t* infos = NULL;
    size_t ninfos = 0;
    start();
    listen_to(PMIX_GROUP_INVITED, on_invited);
    pmix_proc_t procs[2] = {parent_of_job(), all_of_job()};
    CHECK(box_wait(&invited, 1, 60));
    CHECK(PMIX_CHECK_PROCID(&inviter, &procs[0]));
    CHECK_OK(PMIx_Group_join(name, &inviter, PMIX_GROUP_ACCEPT, NULL, 0, &infos, &ninfos));
    member_of_both(procs, 5, name, infos, ninfos);
    PMIX_INFO_FREE(infos, ninfos);
    CHECK_OK(PMIx_Group_destruct(name, NULL, 0));
    finish();
}

/* --- leaders who do not know each other --------------------------------------------------------------------------- */

/* Rank 0 and the last one lead; rank 0 adds ranks 1 and 2, the last nobody if they agree on their number. Rank 3 is not
 * of it. Or rank 0 adds the whole job, itself included. */
static bool whole_job;

static pmix_status_t bootstrap_as(pmix_rank_t rank, size_t leaders, int seconds, pmix_info_t** infos, size_t* ninfos) {
    pmix_info_t directives[4] = {limit(seconds), flag(PMIX_GROUP_ASSIGN_CONTEXT_ID)};
    size_t count = 2;
    bool leads = rank == 0 || rank + 1 == job_size;
    pmix_proc_t added[2] = {whole_job ? all_of_job() : rank_of_job(1), rank_of_job(2)}, self = rank_of_job(rank);
    pmix_data_array_t array = {.type = PMIX_PROC, .size = 2, .array = added};
    bool adds = rank == 0 || (leads && leaders != 2);
    if (leads) PMIX_INFO_LOAD(&directives[count], PMIX_GROUP_BOOTSTRAP, &leaders, PMIX_SIZE);
    if (leads) directives[count++].flags = PMIX_INFO_REQD;
    if (adds) PMIX_INFO_LOAD(&directives[count], PMIX_GROUP_ADD_MEMBERS, &array, PMIX_DATA_ARRAY);
    count += adds;
    pmix_status_t status =
        PMIx_Group_construct(name, leads ? &self : NULL, leads ? 1 : 0, directives, count, infos, ninfos);
    for (size_t i = 0; i < count; i++) PMIX_INFO_DESTRUCT(&directives[i]);
    return status;
}

/* rows: R1 R3 R4 R5 R12 */
static void bootstrap(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    CHECK(job_size == 5);
    pmix_info_t *infos = NULL, at_once = flag(PMIX_OPTIONAL);
    size_t ninfos = 0;
    CHECK_OK(put_u32(PMIX_GLOBAL, "endpoint", me.rank + 7));
    CHECK_OK(PMIx_Commit());
    for (int pass = 0; me.rank != 3 && pass < 2; pass++) {
        static const pmix_rank_t order[] = {0, 1, 2, 4};
        CHECK_OK(bootstrap_as(me.rank, 2, 30, &infos, &ninfos));
        CHECK(members_in(infos, ninfos) == 4);
        CHECK(result(infos, ninfos, PMIX_GROUP_CONTEXT_ID) != NULL);
        for (size_t i = 0; i < 4; i++) {
            pmix_value_t* value = NULL;
            CHECK(member_of(infos, ninfos, i)->rank == order[i]);
            CHECK_OK(PMIx_Get(member_of(infos, ninfos, i), "endpoint", &at_once, 1, &value));
            CHECK(value->data.uint32 == order[i] + 7);
            PMIX_VALUE_RELEASE(value);
        }
        PMIX_INFO_FREE(infos, ninfos);
        pmix_proc_t whole;
        PMIX_LOAD_PROCID(&whole, name, PMIX_RANK_WILDCARD);
        CHECK_OK(fence_of(&whole, 1, false, 60));
        CHECK_OK(PMIx_Group_destruct(name, NULL, 0));
    }
    fence(false);
    finish();
}

/* rows: R1 R4 R12 */
static void bootstrap_wildcard(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    whole_job = true;
    pmix_info_t* infos = NULL;
    size_t ninfos = 0;
    CHECK_OK(bootstrap_as(me.rank, 2, 60, &infos, &ninfos));
    CHECK(members_in(infos, ninfos) == job_size);
    for (size_t i = 0; i < job_size; i++) CHECK(member_of(infos, ninfos, i)->rank == i);
    PMIX_INFO_FREE(infos, ninfos);
    pmix_proc_t whole;
    PMIX_LOAD_PROCID(&whole, name, PMIX_RANK_WILDCARD);
    CHECK_OK(fence_of(&whole, 1, false, 60));
    CHECK_OK(PMIx_Group_destruct(name, NULL, 0));
    fence(false);
    finish();
}

/* Even and odd ranks use one name at the same time, as jobs that know nothing of each other do. rows: R1 R3 R4 R12 */
static void same_name(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    for (int pass = 0; pass < 3; pass++) {
        pmix_info_t *infos = NULL, directives[2] = {limit(60), flag(PMIX_GROUP_ASSIGN_CONTEXT_ID)};
        pmix_proc_t members[5], whole;
        size_t count = 0, ninfos = 0;
        for (pmix_rank_t rank = me.rank % 2; rank < job_size; rank += 2) members[count++] = rank_of_job(rank);
        CHECK_OK(PMIx_Group_construct(name, members, count, directives, 2, &infos, &ninfos));
        CHECK(members_in(infos, ninfos) == count);
        for (size_t i = 0; i < count; i++) CHECK(member_of(infos, ninfos, i)->rank == members[i].rank);
        CHECK(result(infos, ninfos, PMIX_GROUP_CONTEXT_ID) != NULL);
        PMIX_INFO_FREE(infos, ninfos);
        PMIX_LOAD_PROCID(&whole, name, PMIX_RANK_WILDCARD);
        CHECK_OK(fence_of(&whole, 1, false, 60));
        CHECK_OK(PMIx_Group_destruct(name, directives, 1));
        for (size_t i = 0; i < 2; i++) PMIX_INFO_DESTRUCT(&directives[i]);
    }
    fence(false);
    finish();
}

/* One who was added stays silent; leaders that add the same processes do not agree on their number. rows: R1 R11 */
static void bootstrap_fails(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    if (me.rank < 2 || me.rank == 4) CHECK_STATUS(bootstrap_as(me.rank, 2, 1, NULL, NULL), PMIX_ERR_TIMEOUT);
    fence(false);
    if (me.rank == 2) CHECK_STATUS(bootstrap_as(2, 2, 20, NULL, NULL), PMIX_ERR_TIMEOUT); /* it is late */
    fence(false);
    if (me.rank == 0 || me.rank == 4)
        CHECK_STATUS(bootstrap_as(me.rank, me.rank == 0 ? 2 : 3, 20, NULL, NULL), PMIX_ERR_BAD_PARAM);
    fence(false);
    finish();
}

/* Rank 2, which was added, dies before it comes. rows: R8 */
static void bootstrap_dies(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    fence(false);
    if (me.rank == 2) die();
    if (me.rank != 3) CHECK_STATUS(bootstrap_as(me.rank, 2, 0, NULL, NULL), PMIX_ERR_PROC_TERM_WO_SYNC);
    finish();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {
        {"replace", replace},
        {"unanswered", unanswered},
        {"two_jobs", two_jobs},
        {"second_job", second_job},
        {"two_jobs_invited", two_jobs_invited},
        {"second_invited", second_invited},
        {"same_name", same_name},
        {"bootstrap", bootstrap},
        {"bootstrap_wildcard", bootstrap_wildcard},
        {"bootstrap_fails", bootstrap_fails},
        {"bootstrap_dies", bootstrap_dies},
    };
    program = argv[0];
    RUN_CASE(cases);
    return 0;
}
