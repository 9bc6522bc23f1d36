/* SPDX-License-Identifier: BSD-3-Clause */
/* group_invite: invitations over real processes: accepted, declined, late, and from an inviter that dies.
 * usage: group_invite invite|invite_itself|invite_far|late|early|unknown|uninvited|decline|undecided|abort|inviter
 * [taken|late] (the last one with --continuous: rank 0 dies) */
#include "group_check.h"

static void joined(pmix_status_t wanted, size_t members) {
    CHECK(box_wait(&invited, 1, 60));
    pmix_info_t* infos = NULL;
    size_t ninfos = 0;
    CHECK_STATUS(PMIx_Group_join(name, &inviter, PMIX_GROUP_ACCEPT, NULL, 0, &infos, &ninfos), wanted);
    CHECK(members_in(infos, ninfos) == members);
    if (infos) PMIX_INFO_FREE(infos, ninfos);
}

/* What a process gives with its invitation or its answer, and what every member finds of every other afterwards without
 * a fence: what was put, and what was given for this group alone. */
static void give(pmix_info_t* directive, char text[16]) {
    pmix_byte_object_t object = {.bytes = text, .size = 16};
    snprintf(text, 16, "endpoint %u", me.rank);
    PMIX_INFO_LOAD(directive, PMIX_GROUP_ENDPT_DATA, &object, PMIX_BYTE_OBJECT);
    CHECK_OK(put_u32(PMIX_GLOBAL, "endpoint", me.rank + 7)); /* the group carries it, no Commit of ours */
}

static void find_all(pmix_info_t* infos, size_t ninfos, size_t count) {
    pmix_info_t which, at_once = flag(PMIX_OPTIONAL);
    const pmix_value_t* id = result(infos, ninfos, PMIX_GROUP_CONTEXT_ID);
    CHECK(id && id->type == PMIX_SIZE);
    PMIX_INFO_LOAD(&which, PMIX_GROUP_CONTEXT_ID, &id->data.size, PMIX_SIZE);
    for (size_t i = 0; i < count; i++) {
        const pmix_proc_t* peer = member_of(infos, ninfos, i);
        pmix_value_t* value = NULL;
        char text[16];
        CHECK_OK(PMIx_Get(peer, "endpoint", &at_once, 1, &value));
        CHECK(value->type == PMIX_UINT32 && value->data.uint32 == peer->rank + 7);
        PMIX_VALUE_RELEASE(value);
        /* The same by the group's number, as the value's qualifier. */
        pmix_info_t both[2] = {which, at_once};
        PMIX_INFO_SET_QUALIFIER(&both[0]);
        CHECK_OK(PMIx_Get(peer, "endpoint", both, 2, &value));
        CHECK(value->type == PMIX_UINT32 && value->data.uint32 == peer->rank + 7);
        PMIX_VALUE_RELEASE(value);
        CHECK_OK(PMIx_Get(peer, PMIX_GROUP_ENDPT_DATA, &which, 1, &value));
        snprintf(text, sizeof text, "endpoint %u", peer->rank);
        CHECK(value->type == PMIX_BYTE_OBJECT && value->data.bo.size == 16 && strcmp(value->data.bo.bytes, text) == 0);
        PMIX_VALUE_RELEASE(value);
    }
}

/* Rank 0 invites some others, and is a member if it is in its own list. rows: R5 R13 R14 R15 R16 */
static void invites(bool itself, pmix_rank_t from) {
    start();
    pmix_proc_t* asked = calloc(job_size, sizeof *asked);
    size_t count = 0;
    char text[16];
    if (itself) asked[count++] = rank_of_job(0);
    for (uint32_t rank = from; rank < job_size; rank++) asked[count++] = rank_of_job(rank);
    if (me.rank != 0) listen_to(PMIX_GROUP_INVITED, on_invited);
    listen_to(PMIX_GROUP_CONSTRUCT_COMPLETE, on_event);
    fence(false);
    bool member = me.rank == 0 ? itself : me.rank >= from;
    if (me.rank == 0) {
        pmix_info_t* infos = NULL;
        size_t ninfos = 0;
        pmix_info_t directives[2] = {flag(PMIX_GROUP_ASSIGN_CONTEXT_ID)};
        if (itself) give(&directives[1], text);
        CHECK_STATUS(PMIx_Group_invite(name, asked, 0, NULL, 0, NULL, NULL), PMIX_ERR_BAD_PARAM);
        CHECK_OK(PMIx_Group_invite(name, asked, count, directives, itself ? 2 : 1, &infos, &ninfos));
        if (itself) PMIX_INFO_DESTRUCT(&directives[1]);
        if (itself) find_all(infos, ninfos, count);
        CHECK(members_in(infos, ninfos) == count);
        for (size_t i = 0; i < count; i++) CHECK(member_of(infos, ninfos, i)->rank == asked[i].rank);
        CHECK(result(infos, ninfos, PMIX_GROUP_CONTEXT_ID) != NULL);
        PMIX_INFO_FREE(infos, ninfos);
        if (!itself) CHECK_STATUS(PMIx_Group_destruct(name, NULL, 0), PMIX_ERR_NOT_FOUND);
    } else if (member) {
        pmix_info_t mine, *infos = NULL;
        size_t ninfos = 0;
        give(&mine, text);
        CHECK(box_wait(&invited, 1, 60));
        CHECK_OK(PMIx_Group_join(name, &inviter, PMIX_GROUP_ACCEPT, &mine, 1, &infos, &ninfos));
        PMIX_INFO_DESTRUCT(&mine);
        CHECK(members_in(infos, ninfos) == count);
        find_all(infos, ninfos, count);
        PMIX_INFO_FREE(infos, ninfos);
    }
    if (member) {
        CHECK(box_wait(&seen, 1, 60));
        CHECK(seen.status == PMIX_GROUP_CONSTRUCT_COMPLETE);
        pmix_proc_t whole;
        PMIX_LOAD_PROCID(&whole, name, PMIX_RANK_WILDCARD);
        CHECK_OK(fence_of(&whole, 1, false, 60));
        CHECK_OK(PMIx_Group_destruct(name, NULL, 0));
    }
    fence(false);
    if (!member) CHECK(box_count(&seen) == 0 && box_count(&invited) == 0);
    free(asked);
    finish();
}
/* The inviter is in the group, or not; in the last case it shares no node with a member where there are several. */
static void invite(int argc, char** argv) {
    (void)argc, (void)argv;
    invites(false, 1);
}
static void invite_itself(int argc, char** argv) {
    (void)argc, (void)argv;
    invites(true, 2);
}
static void invite_far(int argc, char** argv) {
    (void)argc, (void)argv;
    invites(false, 4);
}

/* The invitation comes before anybody has registered for it. rows: R13 */
static void late(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    fence(false);
    if (me.rank == 0) {
        pmix_proc_t all = all_of_job();
        raise_flag("inviting");
        CHECK_OK(PMIx_Group_invite(name, &all, 1, NULL, 0, NULL, NULL));
    } else {
        await_flag("inviting");
        listen_to(PMIX_GROUP_INVITED, on_invited);
        joined(PMIX_SUCCESS, job_size);
    }
    CHECK_OK(PMIx_Group_destruct(name, NULL, 0));
    finish();
}

static void group_done(pmix_status_t status, pmix_info_t* info, size_t ninfo, void* cbdata,
                       pmix_release_cbfunc_t release, void* release_cbdata) {
    (void)info, (void)ninfo;
    if (release) release(release_cbdata);
    box_signal(cbdata, status);
}

/* The others join before the inviter has invited anybody, and once more under the name of the group that has been
 * destructed. rows: R13 R15 */
static void early(int argc, char** argv) {
    (void)argc, (void)argv;
    char flag[32];
    start();
    inviter = rank_of_job(0);
    for (int round = 0; round < 2; round++) {
        struct signal_box done = SIGNAL_BOX;
        for (uint32_t rank = 1; rank < job_size; rank++) {
            snprintf(flag, sizeof flag, "joining.%d.%u", round, rank);
            if (me.rank == 0) await_flag(flag);
            if (me.rank != rank) continue;
            CHECK_OK(PMIx_Group_join_nb(name, &inviter, PMIX_GROUP_ACCEPT, NULL, 0, group_done, &done));
            raise_flag(flag);
        }
        if (me.rank == 0) {
            pmix_proc_t all = all_of_job();
            usleep(50000); /* what they have sent is here, if it is not held up */
            CHECK_OK(PMIx_Group_invite(name, &all, 1, NULL, 0, NULL, NULL));
        } else {
            CHECK(box_wait(&done, 1, 60));
            CHECK_OK(done.status);
        }
        CHECK_OK(PMIx_Group_destruct(name, NULL, 0));
    }
    finish();
}

/* Ranks that the job does not have are not waited for. rows: R13 */
static void unknown(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    pmix_proc_t nobody[2] = {rank_of_job(job_size), rank_of_job(0)};
    CHECK_STATUS(PMIx_Group_invite(name, nobody, 1, NULL, 0, NULL, NULL), PMIX_ERR_NOT_FOUND);
    CHECK_STATUS(PMIx_Group_invite(name, nobody, 2, NULL, 0, NULL, NULL), PMIX_ERR_NOT_FOUND);
    fence(false);
    finish();
}

/* A join of a process that ends without an invitation ends, whether it ended before or after, and on
 * whichever node it was; and a rank that the job does not have invites nobody. rows: R13 R15 */
static void uninvited(int argc, char** argv) {
    (void)argc, (void)argv;
    struct signal_box before = SIGNAL_BOX;
    start();
    inviter = rank_of_job(0);
    pmix_proc_t nobody = rank_of_job(job_size);
    CHECK_STATUS(PMIx_Group_join(name, &nobody, PMIX_GROUP_ACCEPT, NULL, 0, NULL, NULL), PMIX_ERR_NOT_FOUND);
    if (me.rank == 1) CHECK_OK(PMIx_Group_join_nb(name, &inviter, PMIX_GROUP_ACCEPT, NULL, 0, group_done, &before));
    fence(false);
    if (me.rank == 0) {
        usleep(50000); /* what was sent is here, if it is not held up */
        finish();
        return;
    }
    if (me.rank == 1) {
        CHECK(box_wait(&before, 1, 60));
        CHECK_STATUS(before.status, PMIX_GROUP_LEADER_FAILED);
        raise_flag("gone");
    }
    await_flag("gone");
    CHECK_STATUS(PMIx_Group_join("another", &inviter, PMIX_GROUP_ACCEPT, NULL, 0, NULL, NULL),
                 PMIX_GROUP_LEADER_FAILED);
    finish();
}

/* All processes that were asked are told that there is no group, and so is the inviter. */
static struct signal_box over = SIGNAL_BOX;
static pmix_proc_t ended_by;

static void on_abort(size_t reference, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[],
                     size_t ninfo, pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                     void* cbdata) {
    (void)reference, (void)source, (void)results, (void)nresults;
    const pmix_value_t *id = result(info, ninfo, PMIX_GROUP_ID), *leader = result(info, ninfo, PMIX_GROUP_LEADER);
    CHECK(id && strcmp(id->data.string, name) == 0);
    CHECK(leader && leader->type == PMIX_PROC);
    ended_by = *leader->data.proc;
    box_signal(&over, status);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void heard_of_the_abort(void) {
    pmix_proc_t first = rank_of_job(0);
    CHECK(box_wait(&over, 1, 60));
    CHECK(over.status == PMIX_GROUP_CONSTRUCT_ABORT);
    CHECK(PMIX_CHECK_PROCID(&ended_by, &first));
}

/* The last rank declines and nobody handles it: there is no group. rows: R14 R15 R16 */
static void undecided(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    if (me.rank != 0) listen_to(PMIX_GROUP_INVITED, on_invited);
    listen_to(PMIX_GROUP_CONSTRUCT_ABORT, on_abort);
    fence(false);
    pmix_proc_t all = all_of_job();
    if (me.rank == 0) {
        CHECK_STATUS(PMIx_Group_invite(name, &all, 1, NULL, 0, NULL, NULL), PMIX_GROUP_CONSTRUCT_ABORT);
    } else if (me.rank + 1 == job_size) {
        CHECK(box_wait(&invited, 1, 60));
        CHECK_OK(PMIx_Group_join(name, &inviter, PMIX_GROUP_DECLINE, NULL, 0, NULL, NULL));
    } else {
        joined(PMIX_GROUP_CONSTRUCT_ABORT, 0);
    }
    heard_of_the_abort();
    fence(false);
    if (me.rank == 0 || me.rank + 1 == job_size) CHECK(box_count(&over) == 1);
    finish();
}

/* The last rank declines: without it, or not at all, as the inviter's handler says. rows: R14 R15 R16 */
static void declined(bool aborts) {
    start();
    if (me.rank != 0) listen_to(PMIX_GROUP_INVITED, on_invited);
    if (me.rank == 0) listen_to(PMIX_GROUP_INVITE_DECLINED, on_event);
    if (aborts) verdict = PMIX_GROUP_CONSTRUCT_ABORT;
    if (aborts) listen_to(PMIX_GROUP_CONSTRUCT_ABORT, on_abort);
    fence(false);
    bool last = me.rank + 1 == job_size;
    if (me.rank == 0) {
        pmix_proc_t all = all_of_job();
        pmix_info_t* infos = NULL;
        size_t ninfos = 0;
        CHECK_STATUS(PMIx_Group_invite(name, &all, 1, NULL, 0, &infos, &ninfos),
                     aborts ? PMIX_GROUP_CONSTRUCT_ABORT : PMIX_ERR_PARTIAL_SUCCESS);
        CHECK(members_in(infos, ninfos) == (aborts ? 0 : job_size - 1));
        if (infos) PMIX_INFO_FREE(infos, ninfos);
        CHECK(seen.status == PMIX_GROUP_INVITE_DECLINED);
    } else if (last) {
        CHECK(box_wait(&invited, 1, 60));
        CHECK_OK(PMIx_Group_join(name, &inviter, PMIX_GROUP_DECLINE, NULL, 0, NULL, NULL));
    } else if (aborts) {
        joined(PMIX_GROUP_CONSTRUCT_ABORT, 0);
    } else {
        joined(PMIX_SUCCESS, job_size - 1);
    }
    if (aborts) heard_of_the_abort();
    if (!aborts && !last) CHECK_OK(PMIx_Group_destruct(name, NULL, 0));
    fence(false);
    if (aborts && (me.rank == 0 || last)) CHECK(box_count(&over) == 1);
    finish();
}
static void decline(int argc, char** argv) {
    (void)argc, (void)argv;
    declined(false);
}
static void aborted(int argc, char** argv) {
    (void)argc, (void)argv;
    declined(true);
}

/* The inviter dies while it is waited for; rank 1 takes over where it may, also where it has not answered yet. */
/* rows: R9 R16 */
static void inviter_dies(int argc, char** argv) {
    bool late = argc > 0 && strcmp(argv[0], "late") == 0, taken = late || (argc > 0 && strcmp(argv[0], "taken") == 0);
    start();
    if (me.rank != 0) {
        listen_to(PMIX_GROUP_INVITED, on_invited);
        listen_to(PMIX_GROUP_LEADER_FAILED, on_event);
        wants_to_lead = taken && me.rank == 1;
    }
    fence(false);
    if (me.rank == 0) {
        pmix_proc_t all = all_of_job();
        PMIx_Group_invite_nb(name, &all, 1, NULL, 0, never, NULL);
        for (uint32_t rank = 1; rank + 1 < job_size; rank++) {
            char text[32];
            snprintf(text, sizeof text, "invited.%u", rank);
            await_flag(text);
        }
        die();
    }
    CHECK(box_wait(&invited, 1, 60));
    char text[32];
    snprintf(text, sizeof text, "invited.%u", me.rank);
    raise_flag(text);
    /* The last one answers when the inviter has gone: nobody can have everybody's answer before. */
    if (me.rank + 1 == job_size || (late && me.rank == 1)) CHECK(box_wait(&seen, 1, 60));
    if (late && me.rank == 1) CHECK_OK(put_u32(PMIX_LOCAL, "late", 1));
    if (late && me.rank == 1) CHECK_OK(fence_of(&me, 1, true, 60)); /* its handler's answer has reached the server */
    if (taken) {
        pmix_info_t* infos = NULL;
        size_t ninfos = 0;
        pmix_status_t status = PMIx_Group_join(name, &inviter, PMIX_GROUP_ACCEPT, NULL, 0, &infos, &ninfos);
        CHECK(status == PMIX_SUCCESS || status == PMIX_ERR_PARTIAL_SUCCESS);
        CHECK(members_in(infos, ninfos) == job_size - 1);
        PMIX_INFO_FREE(infos, ninfos);
        CHECK_OK(PMIx_Group_destruct(name, NULL, 0));
    } else {
        joined(PMIX_GROUP_LEADER_FAILED, 0);
    }
    finish();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {
        {"invite", invite},         {"invite_itself", invite_itself},
        {"invite_far", invite_far}, {"late", late},
        {"early", early},           {"unknown", unknown},
        {"uninvited", uninvited},   {"decline", decline},
        {"undecided", undecided},   {"abort", aborted},
        {"inviter", inviter_dies},
    };
    RUN_CASE(cases);
    return 0;
}
