/* SPDX-License-Identifier: BSD-3-Clause */
/* Process Sets and Groups. */
#include "check.h"
#include "host.h"

#define CONSTRUCT "Process Sets and Groups / PMIx_Group_construct"
#define DESTRUCT "Process Sets and Groups / PMIx_Group_destruct"
#define INVITE "Process Sets and Groups / PMIx_Group_invite"
#define LEAVE "Process Sets and Groups / PMIx_Group_leave"
#define SETS "Process Sets and Groups / Process Sets"

static pmix_proc_t members[8];
static pmix_info_t* results;
static size_t nresults;
static void everybody(void) {
    for (pmix_rank_t i = 0; i < 8; ++i) members[i] = proc_of(me.nspace, i);
}
static const pmix_info_t* result(const char* key) {
    for (size_t i = 0; i < nresults; ++i) {
        if (PMIX_CHECK_KEY(&results[i], key)) return &results[i];
    }
    return NULL;
}
static void construct(const char* name, size_t count, pmix_info_t* info, size_t ninfo) {
    everybody();
    results = NULL;
    nresults = 0;
    EXPECT_OPTIONAL(PMIx_Group_construct(name, members, count, info, ninfo, &results, &nresults), PMIX_SUCCESS);
}

ROW(group_construct, CONSTRUCT, "All members construct a group and destruct it", .ranks = 3) {
    construct("group", 3, NULL, 0);
    EXPECT_OK(PMIx_Group_destruct("group", NULL, 0));
}
ROW(group_context, CONSTRUCT, "PMIX_GROUP_ASSIGN_CONTEXT_ID: all members have the same identifier, a size_t",
    .ranks = 3) {
    pmix_info_t info = info_true(PMIX_GROUP_ASSIGN_CONTEXT_ID);
    construct("group", 3, &info, 1);
    const pmix_info_t* context = result(PMIX_GROUP_CONTEXT_ID);
    EXPECT(context != NULL);
    EXPECT_INT(PMIX_SIZE, context->value.type);
    put_int(PMIX_GLOBAL, "context", (int)context->value.data.size);
    EXPECT_OK(PMIx_Commit());
    for (int i = 0; i < 3; ++i) EXPECT_INT((int)context->value.data.size, get_int(&members[i], "context"));
    barrier(false);
    EXPECT_OK(PMIx_Group_destruct("group", NULL, 0));
}
ROW(group_context_distinct, CONSTRUCT, "Two groups have different identifiers", .ranks = 2) {
    pmix_info_t info = info_true(PMIX_GROUP_ASSIGN_CONTEXT_ID);
    size_t ids[2];
    const char* names[] = {"first", "second"};
    for (int i = 0; i < 2; ++i) {
        construct(names[i], 2, &info, 1);
        const pmix_info_t* context = result(PMIX_GROUP_CONTEXT_ID);
        EXPECT(context != NULL);
        ids[i] = context->value.data.size;
    }
    EXPECT(ids[0] != ids[1]);
}
ROW(group_membership, CONSTRUCT, "The results name the members, the same for all", .ranks = 3) {
    construct("group", 3, NULL, 0);
    const pmix_info_t* membership = result(PMIX_GROUP_MEMBERSHIP);
    EXPECT(membership != NULL);
    EXPECT_INT(PMIX_DATA_ARRAY, membership->value.type);
    EXPECT_INT(PMIX_PROC, membership->value.data.darray->type);
    EXPECT_INT(3, membership->value.data.darray->size);
}
ROW(group_subset, CONSTRUCT, "Processes that are no members need not call", .ranks = 3) {
    if (my_rank == 2) return;
    construct("pair", 2, NULL, 0);
    EXPECT_OK(PMIx_Group_destruct("pair", NULL, 0));
}
ROW(group_waits, CONSTRUCT, "Nobody leaves before the last member has called", .ranks = 2) {
    if (my_rank == 1) {
        pause_ms(300);
        put_int(PMIX_GLOBAL, "called", 1);
        EXPECT_OK(PMIx_Commit());
    }
    construct("group", 2, NULL, 0);
    pmix_info_t info[2] = {info_true(PMIX_IMMEDIATE), info_timeout(3)};
    EXPECT_OK(status_of_get(&members[1], "called", info, 2));
}
ROW(group_again, DESTRUCT, "After destruction the name may be used again", .ranks = 2) {
    for (int i = 0; i < 3; ++i) {
        construct("again", 2, NULL, 0);
        EXPECT_OK(PMIx_Group_destruct("again", NULL, 0));
    }
}
ROW(group_two, CONSTRUCT, "A process may be a member of several groups", .ranks = 3) {
    construct("all", 3, NULL, 0);
    if (my_rank < 2) construct("pair", 2, NULL, 0);
    if (my_rank < 2) EXPECT_OK(PMIx_Group_destruct("pair", NULL, 0));
    EXPECT_OK(PMIx_Group_destruct("all", NULL, 0));
}
ROW(group_null_name, CONSTRUCT, "No name is an error", .ranks = 1) {
    everybody();
    EXPECT_ERROR(PMIx_Group_construct(NULL, members, 1, NULL, 0, &results, &nresults));
}
ROW(group_destruct_unknown, DESTRUCT, "A group that does not exist is an error", .ranks = 1) {
    EXPECT_ERROR(PMIx_Group_destruct("conformance-no-such-group", NULL, 0));
}
ROW(group_destruct_null, DESTRUCT, "No name is an error", .ranks = 1) {
    EXPECT_ERROR(PMIx_Group_destruct(NULL, NULL, 0));
}
ROW(group_leave_unknown, LEAVE, "Leaving a group that does not exist is an error", .ranks = 1) {
    EXPECT_ERROR(PMIx_Group_leave("conformance-no-such-group", NULL, 0));
}
static struct signal done;
static size_t callback_results;
static void on_info(pmix_status_t status, pmix_info_t* info, size_t ninfo, void* cbdata, pmix_release_cbfunc_t release,
                    void* release_cbdata) {
    (void)info;
    callback_results = ninfo;
    if (release != NULL) release(release_cbdata);
    raise_signal(cbdata, status);
}
ROW(group_construct_nb, "Process Sets and Groups / PMIx_Group_construct_nb", "One callback with the results",
    .ranks = 2) {
    everybody();
    pmix_info_t info = info_true(PMIX_GROUP_ASSIGN_CONTEXT_ID);
    pmix_status_t status = EXPECT_OPTIONAL(PMIx_Group_construct_nb("group", members, 2, &info, 1, on_info, &done),
                                           PMIX_SUCCESS, PMIX_OPERATION_SUCCEEDED);
    if (status != PMIX_SUCCESS) return;
    wait_signal(&done, 1, "the callback");
    EXPECT_OK(done.status);
    EXPECT(callback_results > 0);
}
ROW(group_destruct_nb, "Process Sets and Groups / PMIx_Group_destruct_nb",
    "One callback, or PMIX_OPERATION_SUCCEEDED without", .ranks = 2) {
    construct("group", 2, NULL, 0);
    pmix_status_t status = EXPECT_ACCEPTED(PMIx_Group_destruct_nb("group", NULL, 0, op_done, &done));
    if (status == PMIX_SUCCESS) {
        wait_signal(&done, 1, "the callback");
        EXPECT_OK(done.status);
    }
}
ROW(group_timeout, CONSTRUCT,
    "A member that stays away ends the construction with PMIX_ERR_TIMEOUT where timeouts are supported", .ranks = 2) {
    everybody();
    if (my_rank == 1) {
        EXPECT_INT(1, get_int(&members[0], "over"));
        return;
    }
    pmix_info_t info = info_timeout(1);
    EXPECT_OPTIONAL(PMIx_Group_construct("group", members, 2, &info, 1, &results, &nresults), PMIX_ERR_TIMEOUT);
    put_int(PMIX_GLOBAL, "over", 1);
    EXPECT_OK(PMIx_Commit());
    pause_ms(300);
}
static void far_rank(void) {
    host_remote_ranks = 1;
}
static void group_checked(void) {
    int construct_calls = 0;
    for (int i = 0; i < upcall_count("group"); ++i) {
        const struct upcall* upcall = upcall_at("group", i);
        if (upcall->number != 0) continue;
        ++construct_calls;
        EXPECT_STRING("group", upcall->text[0]);
        EXPECT_INT(3, upcall->nprocs);
        EXPECT(upcall_info(upcall, "conformance.directive") != NULL);
    }
    EXPECT_INT(1, construct_calls);
}
ROW(group_upcall, "Server-Specific Interfaces / pmix_server_grp_fn_t",
    "The host has one call with the operation, the name, the members and the attributes", .ranks = 2,
    .before = far_rank, .after = group_checked) {
    pmix_info_t info = info_true("conformance.directive");
    construct("group", 3, &info, 1);
}
static void no_group(void) {
    host_module.group = NULL;
}
static void no_group_far(void) {
    no_group();
    host_remote_ranks = 1;
}
ROW(group_absent_far, CONSTRUCT,
    "Without the host function a group with members of another node is PMIX_ERR_NOT_SUPPORTED", .ranks = 2,
    .before = no_group_far) {
    everybody();
    EXPECT_STATUS(PMIx_Group_construct("group", members, 3, NULL, 0, &results, &nresults), PMIX_ERR_NOT_SUPPORTED);
}
ROW(group_absent_local, CONSTRUCT,
    "Without the host function a group of local members works, or is PMIX_ERR_NOT_SUPPORTED", .ranks = 2,
    .before = no_group) {
    construct("group", 2, NULL, 0);
}

/* ---- invitation ---- */

static struct signal invited;
static char invited_group[100];
static pmix_proc_t inviter;
static void on_invited(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                       pmix_info_t res[], size_t nres, pmix_event_notification_cbfunc_fn_t completed, void* cbdata) {
    (void)id;
    (void)res;
    (void)nres;
    if (source != NULL) inviter = *source;
    for (size_t i = 0; i < ninfo; ++i) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_GROUP_ID))
            snprintf(invited_group, sizeof(invited_group), "%s", info[i].value.data.string);
    }
    completed(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
    raise_signal(&invited, status);
}
static void listen_for_invitation(void) {
    pmix_status_t code = PMIX_GROUP_INVITED;
    EXPECT(PMIx_Register_event_handler(&code, 1, NULL, 0, on_invited, NULL, NULL) >= 0);
}
ROW(group_invitation, INVITE, "An invitation is an event PMIX_GROUP_INVITED with the name of the group", .ranks = 2) {
    everybody();
    if (my_rank == 1) listen_for_invitation();
    barrier(false);
    if (my_rank == 0) {
        EXPECT_OPTIONAL(PMIx_Group_invite_nb("invited", members, 2, NULL, 0, on_info, &done), PMIX_SUCCESS,
                        PMIX_OPERATION_SUCCEEDED);
    } else {
        wait_signal(&invited, 1, "the invitation");
        EXPECT_STRING("invited", invited_group);
        (void)PMIx_Group_join_nb("invited", &members[0], PMIX_GROUP_ACCEPT, NULL, 0, on_info, &done);
    }
    barrier(false);
}
ROW(group_join, "Process Sets and Groups / PMIx_Group_join",
    "After all have accepted, inviter and invited have the group", .ranks = 2) {
    everybody();
    if (my_rank == 1) listen_for_invitation();
    barrier(false);
    if (my_rank == 0) {
        EXPECT_OPTIONAL(PMIx_Group_invite("invited", members, 2, NULL, 0, &results, &nresults), PMIX_SUCCESS);
    } else {
        wait_signal(&invited, 1, "the invitation");
        EXPECT_OPTIONAL(PMIx_Group_join("invited", &members[0], PMIX_GROUP_ACCEPT, NULL, 0, &results, &nresults),
                        PMIX_SUCCESS);
    }
    barrier(false);
}

/* ---- process sets ---- */

#ifdef HAVE_PMIx_server_define_process_set
static struct signal set_event;
static char set_name[100];
static size_t set_members;
static void on_set(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                   pmix_info_t res[], size_t nres, pmix_event_notification_cbfunc_fn_t completed, void* cbdata) {
    (void)id;
    (void)source;
    (void)res;
    (void)nres;
    for (size_t i = 0; i < ninfo; ++i) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_PSET_NAME))
            snprintf(set_name, sizeof(set_name), "%s", info[i].value.data.string);
        if (PMIX_CHECK_KEY(&info[i], PMIX_PSET_MEMBERS)) set_members = info[i].value.data.darray->size;
    }
    completed(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
    raise_signal(&set_event, status);
}
static void define_set(void) {
    wait_clients(2);
    pmix_proc_t procs[2] = {proc_of(row_nspace, 0), proc_of(row_nspace, 1)};
    EXPECT_ACCEPTED(PMIx_server_define_process_set(procs, 2, "conformance-set"));
}
ROW(set_defined, SETS, "The clients are told of a set that the host defines, with its name and members", .ranks = 2,
    .during = define_set) {
    pmix_status_t code = PMIX_PROCESS_SET_DEFINE;
    EXPECT(PMIx_Register_event_handler(&code, 1, NULL, 0, on_set, NULL, NULL) >= 0);
    tell_host();
    wait_signal(&set_event, 1, "the event PMIX_PROCESS_SET_DEFINE");
    EXPECT_STRING("conformance-set", set_name);
    EXPECT_INT(2, set_members);
}
static void define_and_delete(void) {
    define_set();
    EXPECT_ACCEPTED(PMIx_server_delete_process_set("conformance-set"));
}
ROW(set_deleted, SETS, "The clients are told of a set that the host deletes", .ranks = 2, .during = define_and_delete) {
    pmix_status_t code = PMIX_PROCESS_SET_DELETE;
    EXPECT(PMIx_Register_event_handler(&code, 1, NULL, 0, on_set, NULL, NULL) >= 0);
    tell_host();
    wait_signal(&set_event, 1, "the event PMIX_PROCESS_SET_DELETE");
    EXPECT_STRING("conformance-set", set_name);
}
static void set_before_clients(void) {
    pmix_proc_t procs[2] = {proc_of(row_nspace, 0), proc_of(row_nspace, 1)};
    EXPECT_ACCEPTED(PMIx_server_define_process_set(procs, 2, "conformance-set"));
}
static void set_early(void) {
    host_registered = set_before_clients;
}
ROW(set_query, SETS, "The names and members of sets are found by queries", .ranks = 2, .before = set_early) {
    char* keys[] = {PMIX_QUERY_PSET_NAMES, NULL};
    pmix_query_t query;
    memset(&query, 0, sizeof(query));
    query.keys = keys;
    EXPECT_OPTIONAL(PMIx_Query_info(&query, 1, &results, &nresults), PMIX_SUCCESS);
    EXPECT(nresults > 0);
    char* text = NULL;
    EXPECT_OK(PMIx_Data_print(&text, NULL, &results[0], PMIX_INFO));
    EXPECT(strstr(text, "conformance-set") != NULL);
}
#endif
