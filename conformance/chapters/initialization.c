/* SPDX-License-Identifier: BSD-3-Clause */
/* Client Initialization and Finalization. */
#include "check.h"
#include "host.h"

#define INIT "Client Initialization and Finalization / PMIx_Init"
#define FINALIZE "Client Initialization and Finalization / PMIx_Finalize"
#define INITIALIZED "Client Initialization and Finalization / PMIx_Initialized"
#define OUTSIDE "Client Initialization and Finalization / introduction"

ROW(version_without_init, "Client Initialization and Finalization / PMIx_Get_version",
    "The version is a text before any initialization") {
    const char* version = PMIx_Get_version();
    EXPECT(version != NULL);
    EXPECT(strlen(version) > 0);
}

ROW(version_is_static, "Client Initialization and Finalization / PMIx_Get_version",
    "The version is the same static text before, during and after use", .ranks = 1, .raw = true) {
    const char* before = PMIx_Get_version();
    char copy[400];
    snprintf(copy, sizeof(copy), "%s", before);
    EXPECT_OK(PMIx_Init(NULL, NULL, 0));
    EXPECT_STRING(copy, PMIx_Get_version());
    EXPECT_OK(PMIx_Finalize(NULL, 0));
    EXPECT_STRING(copy, PMIx_Get_version());
    EXPECT_STRING(copy, before);
}

ROW(initialized_before, INITIALIZED, "0 before any initialization") {
    EXPECT_INT(0, PMIx_Initialized());
}

ROW(initialized_client, INITIALIZED, "1 between PMIx_Init and the last PMIx_Finalize, 0 afterwards", .ranks = 1,
    .raw = true) {
    EXPECT_OK(PMIx_Init(NULL, NULL, 0));
    EXPECT_INT(1, PMIx_Initialized());
    EXPECT_OK(PMIx_Finalize(NULL, 0));
    EXPECT_INT(0, PMIx_Initialized());
}

ROW(initialized_server, INITIALIZED, "1 after PMIx_server_init, 0 after PMIx_server_finalize") {
    EXPECT_OK(PMIx_server_init(NULL, NULL, 0));
    EXPECT_INT(1, PMIx_Initialized());
    EXPECT_OK(PMIx_server_finalize());
    EXPECT_INT(0, PMIx_Initialized());
}

ROW(initialized_tool, INITIALIZED, "1 after PMIx_tool_init, 0 after PMIx_tool_finalize") {
    pmix_info_t info = info_true(PMIX_TOOL_DO_NOT_CONNECT);
    EXPECT_OK(PMIx_tool_init(NULL, &info, 1));
    EXPECT_INT(1, PMIx_Initialized());
    EXPECT_OK(PMIx_tool_finalize());
    EXPECT_INT(0, PMIx_Initialized());
}

ROW(initialized_counts, INITIALIZED, "1 until the last of two PMIx_Finalize", .ranks = 1, .raw = true) {
    EXPECT_OK(PMIx_Init(NULL, NULL, 0));
    EXPECT_OK(PMIx_Init(NULL, NULL, 0));
    EXPECT_OK(PMIx_Finalize(NULL, 0));
    EXPECT_INT(1, PMIx_Initialized());
    EXPECT_OK(PMIx_Finalize(NULL, 0));
    EXPECT_INT(0, PMIx_Initialized());
}

ROW(init_identity, INIT, "The namespace and rank that the server assigned are returned", .ranks = 2, .raw = true) {
    pmix_proc_t proc = proc_of("something else", 99);
    EXPECT_OK(PMIx_Init(&proc, NULL, 0));
    EXPECT_STRING(row_nspace, proc.nspace);
    EXPECT_INT(my_rank, proc.rank);
    EXPECT_OK(PMIx_Finalize(NULL, 0));
}

ROW(init_proc_null, INIT, "No process structure is needed", .ranks = 1, .raw = true) {
    EXPECT_OK(PMIx_Init(NULL, NULL, 0));
    EXPECT_OK(PMIx_Finalize(NULL, 0));
}

ROW(init_info_empty, INIT, "An array with a length of 0 is as no array", .ranks = 1, .raw = true) {
    pmix_info_t unused = info_true("conformance.never.read");
    EXPECT_OK(PMIx_Init(NULL, &unused, 0));
    EXPECT_OK(PMIx_Finalize(&unused, 0));
}

ROW(init_unknown_attribute, INIT, "An optional attribute that nobody knows is ignored", .ranks = 1, .raw = true) {
    pmix_info_t unknown = info_true("conformance.unknown");
    EXPECT_OK(PMIx_Init(NULL, &unknown, 1));
    EXPECT_OK(PMIx_Finalize(&unknown, 1));
}

ROW(init_twice_identity, INIT, "Further calls return the same identity, and each has its PMIx_Finalize", .ranks = 1,
    .raw = true) {
    pmix_proc_t first, second, third;
    EXPECT_OK(PMIx_Init(&first, NULL, 0));
    EXPECT_OK(PMIx_Init(&second, NULL, 0));
    EXPECT_OK(PMIx_Init(&third, NULL, 0));
    EXPECT_STRING(first.nspace, second.nspace);
    EXPECT_STRING(first.nspace, third.nspace);
    EXPECT_INT(first.rank, second.rank);
    EXPECT_INT(first.rank, third.rank);
    for (int i = 0; i < 3; ++i) EXPECT_OK(PMIx_Finalize(NULL, 0));
    EXPECT_INT(0, PMIx_Initialized());
}

ROW(init_works_after_inner_finalize, INIT, "After the inner one of two PMIx_Finalize the connection is still there",
    .ranks = 1, .raw = true) {
    pmix_proc_t proc;
    EXPECT_OK(PMIx_Init(&proc, NULL, 0));
    EXPECT_OK(PMIx_Init(NULL, NULL, 0));
    EXPECT_OK(PMIx_Finalize(NULL, 0));
    put_int(PMIX_GLOBAL, "inner", 5);
    EXPECT_OK(PMIx_Commit());
    EXPECT_INT(5, get_int(&proc, "inner"));
    barrier(false);
    EXPECT_OK(PMIx_Finalize(NULL, 0));
}

ROW(init_startup_data, INIT, "What the host registered can be read right after PMIx_Init", .ranks = 2) {
    pmix_proc_t job = proc_of(me.nspace, PMIX_RANK_WILDCARD);
    pmix_value_t* value = NULL;
    EXPECT_OK(PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value));
    EXPECT(value != NULL);
    EXPECT_INT(PMIX_UINT32, value->type);
    EXPECT_INT(2, value->data.uint32);
}

ROW(init_no_server, INIT, "Without connection information an error or success as a singleton is returned at once") {
    pmix_proc_t proc;
    memset(&proc, 0, sizeof(proc));
    pmix_status_t status = PMIx_Init(&proc, NULL, 0);
    EXPECT(status == PMIX_SUCCESS || status < 0);
    if (status == PMIX_SUCCESS) {
        EXPECT(strlen(proc.nspace) > 0);
        EXPECT_INT(1, PMIx_Initialized());
    }
}

ROW(init_server_gone, INIT, "With connection information of a server that does not exist an error is returned",
    .ranks = 1, .raw = true) {
    extern char** environ;
    /* Any variable that holds an address of the server gets one at which nobody listens. */
    for (char** p = environ; *p != NULL; ++p) {
        char* equal = strchr(*p, '=');
        if (strncmp(*p, "PMIX_SERVER_URI", 15) != 0 || equal == NULL) continue;
        char* port = strrchr(equal, ':');
        if (port != NULL && strchr(port, '/') == NULL && strlen(port) > 1)
            memset(port + 1, '1', 1), port[2] = '\0';
        else
            memset(equal + 1, 'x', strlen(equal + 1));
    }
    pmix_proc_t proc;
    EXPECT_ERROR(PMIx_Init(&proc, NULL, 0));
}

ROW(init_model_twice, INIT, "Two programming models in one process may each initialize the library", .ranks = 1,
    .raw = true) {
    pmix_info_t mpi[2] = {info_of(PMIX_PROGRAMMING_MODEL, "MPI", PMIX_STRING),
                          info_of(PMIX_MODEL_LIBRARY_NAME, "conformance", PMIX_STRING)};
    pmix_info_t openmp[2] = {info_of(PMIX_PROGRAMMING_MODEL, "OpenMP", PMIX_STRING),
                             info_of(PMIX_MODEL_LIBRARY_NAME, "other", PMIX_STRING)};
    EXPECT_OK(PMIx_Init(NULL, mpi, 2));
    EXPECT_OK(PMIx_Init(NULL, openmp, 2));
    EXPECT_OK(PMIx_Finalize(NULL, 0));
    EXPECT_OK(PMIx_Finalize(NULL, 0));
}

static struct signal declared;
static char declared_model[200];

static void on_model(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)id;
    (void)source;
    (void)results;
    (void)nresults;
    for (size_t i = 0; i < ninfo; ++i) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_PROGRAMMING_MODEL))
            snprintf(declared_model, sizeof(declared_model), "%s", info[i].value.data.string);
    }
    raise_signal(&declared, status);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

ROW(init_model_declared, "Client Initialization and Finalization / Initialization events",
    "The model of a later PMIx_Init is an event PMIX_MODEL_DECLARED for handlers in the process", .ranks = 1,
    .raw = true) {
    EXPECT_OK(PMIx_Init(NULL, NULL, 0));
    pmix_status_t code = PMIX_MODEL_DECLARED;
    EXPECT(PMIx_Register_event_handler(&code, 1, NULL, 0, on_model, NULL, NULL) >= 0);
    pmix_info_t model = info_of(PMIX_PROGRAMMING_MODEL, "OpenMP", PMIX_STRING);
    EXPECT_OK(PMIx_Init(NULL, &model, 1));
    wait_signal(&declared, 1, "the event PMIX_MODEL_DECLARED");
    EXPECT_STRING("OpenMP", declared_model);
    EXPECT_OK(PMIx_Finalize(NULL, 0));
    EXPECT_OK(PMIx_Finalize(NULL, 0));
}

static void finalize_seen(void) {
    EXPECT_INT(1, upcall_count("client_finalized"));
    const struct upcall* upcall = upcall_at("client_finalized", 0);
    EXPECT_STRING(row_nspace, upcall->proc.nspace);
    EXPECT_INT(0, upcall->proc.rank);
}
ROW(finalize_reaches_host, FINALIZE, "The last PMIx_Finalize is reported to the host once", .ranks = 1, .raw = true,
    .after = finalize_seen) {
    EXPECT_OK(PMIx_Init(NULL, NULL, 0));
    EXPECT_OK(PMIx_Init(NULL, NULL, 0));
    EXPECT_OK(PMIx_Finalize(NULL, 0));
    EXPECT_OK(PMIx_Finalize(NULL, 0));
}

ROW(finalize_without_init, FINALIZE, "Without PMIx_Init an error is returned") {
    EXPECT_ERROR(PMIx_Finalize(NULL, 0));
}

ROW(finalize_without_init_harmless, FINALIZE, "A call too many does not change what a later PMIx_Init does", .ranks = 1,
    .raw = true) {
    (void)PMIx_Finalize(NULL, 0);
    pmix_proc_t proc;
    memset(&proc, 0, sizeof(proc));
    EXPECT_OK(PMIx_Init(&proc, NULL, 0));
    EXPECT_STRING(row_nspace, proc.nspace);
    barrier(false);
    EXPECT_OK(PMIx_Finalize(NULL, 0));
    EXPECT_INT(0, PMIx_Initialized());
}

ROW(init_again, INIT, "After the last PMIx_Finalize a process may initialize again", .ranks = 2, .raw = true) {
    for (int i = 0; i < 3; ++i) {
        pmix_proc_t proc;
        memset(&proc, 0, sizeof(proc));
        EXPECT_OK(PMIx_Init(&proc, NULL, 0));
        EXPECT_INT(my_rank, proc.rank);
        barrier(false);
        EXPECT_OK(PMIx_Finalize(NULL, 0));
    }
}

ROW(finalize_too_often, FINALIZE, "One PMIx_Finalize too many is an error", .ranks = 1, .raw = true) {
    EXPECT_OK(PMIx_Init(NULL, NULL, 0));
    EXPECT_OK(PMIx_Finalize(NULL, 0));
    EXPECT_ERROR(PMIx_Finalize(NULL, 0));
}

ROW(finalize_no_barrier, FINALIZE, "No barrier by default: one process leaves while the other stays", .ranks = 2) {
    if (my_rank == 0) return;
    put_int(PMIX_GLOBAL, "stayed", 1);
    EXPECT_OK(PMIx_Commit());
    pause_ms(300);
}

static void all_finalized(void) {
    EXPECT_INT(3, upcall_count("client_finalized"));
}
ROW(finalize_barrier, FINALIZE, "PMIX_EMBED_BARRIER makes a barrier of the participants", .ranks = 3, .raw = true,
    .after = all_finalized) {
    EXPECT_OK(PMIx_Init(NULL, NULL, 0));
    pmix_info_t info = info_true(PMIX_EMBED_BARRIER);
    EXPECT_OK(PMIx_Finalize(&info, 1));
}

ROW(finalize_with_handler, FINALIZE, "A process may finalize with event handlers and unread data", .ranks = 1) {
    pmix_status_t code = PMIX_ERR_PROC_ABORTED;
    EXPECT(PMIx_Register_event_handler(&code, 1, NULL, 0, on_model, NULL, NULL) >= 0);
    put_int(PMIX_GLOBAL, "never read", 1);
}

ROW(progress_harmless, "Client Initialization and Finalization / PMIx_Progress",
    "A call in a process whose library has its own thread changes nothing", .ranks = 1) {
    PMIx_Progress();
    put_int(PMIX_LOCAL, "progress", 2);
    EXPECT_INT(2, get_int(&me, "progress"));
}

/* Each function of the client before any initialization. */
static pmix_value_t* got;
static pmix_proc_t some;
static pmix_info_t some_info;
static pmix_pdata_t some_pdata;
static pmix_query_t some_query;
static pmix_app_t some_app;
static pmix_nspace_t some_nspace;
static pmix_info_t* some_results;
static pmix_byte_object_t some_bytes;
static size_t some_size;
static void no_value(pmix_status_t status, pmix_value_t* value, void* cbdata) {
    (void)status;
    (void)value;
    (void)cbdata;
}

ROW(put_before_init, OUTSIDE, "Before initialization the answer of PMIx_Put is PMIX_ERR_INIT") {
    pmix_value_t value = value_int(1);
    EXPECT_STATUS(PMIx_Put(PMIX_GLOBAL, "key", &value), PMIX_ERR_INIT);
}
ROW(store_before_init, OUTSIDE, "Before initialization the answer of PMIx_Store_internal is PMIX_ERR_INIT") {
    pmix_value_t value = value_int(1);
    some = proc_of("job", 0);
    EXPECT_STATUS(PMIx_Store_internal(&some, "key", &value), PMIX_ERR_INIT);
}
ROW(commit_before_init, OUTSIDE, "Before initialization the answer of PMIx_Commit is PMIX_ERR_INIT") {
    EXPECT_STATUS(PMIx_Commit(), PMIX_ERR_INIT);
}
ROW(get_before_init, OUTSIDE, "Before initialization the answer of PMIx_Get is PMIX_ERR_INIT") {
    some = proc_of("job", 0);
    EXPECT_STATUS(PMIx_Get(&some, "key", NULL, 0, &got), PMIX_ERR_INIT);
}
ROW(get_nb_before_init, OUTSIDE, "Before initialization the answer of PMIx_Get_nb is PMIX_ERR_INIT") {
    some = proc_of("job", 0);
    EXPECT_STATUS(PMIx_Get_nb(&some, "key", NULL, 0, no_value, NULL), PMIX_ERR_INIT);
}
ROW(fence_before_init, OUTSIDE, "Before initialization the answer of PMIx_Fence is PMIX_ERR_INIT") {
    EXPECT_STATUS(PMIx_Fence(NULL, 0, NULL, 0), PMIX_ERR_INIT);
}
ROW(fence_nb_before_init, OUTSIDE,
    "Before initialization the answer of PMIx_Fence_nb is PMIX_ERR_INIT, and no callback follows") {
    struct signal signal = {0, 0};
    EXPECT_STATUS(PMIx_Fence_nb(NULL, 0, NULL, 0, op_done, &signal), PMIX_ERR_INIT);
    pause_ms(50);
    EXPECT_INT(0, signal_count(&signal));
}
ROW(publish_before_init, OUTSIDE, "Before initialization the answer of PMIx_Publish is PMIX_ERR_INIT") {
    some_info = info_of("key", "value", PMIX_STRING);
    EXPECT_STATUS(PMIx_Publish(&some_info, 1), PMIX_ERR_INIT);
}
ROW(lookup_before_init, OUTSIDE, "Before initialization the answer of PMIx_Lookup is PMIX_ERR_INIT") {
    PMIX_LOAD_KEY(some_pdata.key, "key");
    EXPECT_STATUS(PMIx_Lookup(&some_pdata, 1, NULL, 0), PMIX_ERR_INIT);
}
ROW(unpublish_before_init, OUTSIDE, "Before initialization the answer of PMIx_Unpublish is PMIX_ERR_INIT") {
    EXPECT_STATUS(PMIx_Unpublish(NULL, NULL, 0), PMIX_ERR_INIT);
}
ROW(spawn_before_init, OUTSIDE, "Before initialization the answer of PMIx_Spawn is PMIX_ERR_INIT") {
    some_app.cmd = "true";
    some_app.maxprocs = 1;
    EXPECT_STATUS(PMIx_Spawn(NULL, 0, &some_app, 1, some_nspace), PMIX_ERR_INIT);
}
ROW(connect_before_init, OUTSIDE, "Before initialization the answer of PMIx_Connect is PMIX_ERR_INIT") {
    some = proc_of("job", 0);
    EXPECT_STATUS(PMIx_Connect(&some, 1, NULL, 0), PMIX_ERR_INIT);
}
ROW(disconnect_before_init, OUTSIDE, "Before initialization the answer of PMIx_Disconnect is PMIX_ERR_INIT") {
    some = proc_of("job", 0);
    EXPECT_STATUS(PMIx_Disconnect(&some, 1, NULL, 0), PMIX_ERR_INIT);
}
ROW(abort_before_init, OUTSIDE, "Before initialization the answer of PMIx_Abort is PMIX_ERR_INIT") {
    EXPECT_STATUS(PMIx_Abort(1, "text", NULL, 0), PMIX_ERR_INIT);
}
ROW(query_before_init, OUTSIDE,
    "Before initialization the answer of PMIx_Query_info for any other key than the ABI versions is PMIX_ERR_INIT") {
    char* keys[] = {PMIX_QUERY_NAMESPACES, NULL};
    some_query.keys = keys;
    EXPECT_STATUS(PMIx_Query_info(&some_query, 1, &some_results, &some_size), PMIX_ERR_INIT);
}
ROW(log_before_init, OUTSIDE, "Before initialization the answer of PMIx_Log is PMIX_ERR_INIT") {
    some_info = info_of(PMIX_LOG_STDERR, "text", PMIX_STRING);
    EXPECT_STATUS(PMIx_Log(&some_info, 1, NULL, 0), PMIX_ERR_INIT);
}
ROW(allocation_before_init, OUTSIDE, "Before initialization the answer of PMIx_Allocation_request is PMIX_ERR_INIT") {
    EXPECT_STATUS(PMIx_Allocation_request(PMIX_ALLOC_NEW, &some_info, 0, &some_results, &some_size), PMIX_ERR_INIT);
}
ROW(job_control_before_init, OUTSIDE, "Before initialization the answer of PMIx_Job_control is PMIX_ERR_INIT") {
    some_info = info_true(PMIX_JOB_CTRL_KILL);
    EXPECT_STATUS(PMIx_Job_control(NULL, 0, &some_info, 1, &some_results, &some_size), PMIX_ERR_INIT);
}
ROW(monitor_before_init, OUTSIDE, "Before initialization the answer of PMIx_Process_monitor is PMIX_ERR_INIT") {
    some_info = info_true(PMIX_MONITOR_HEARTBEAT);
    EXPECT_STATUS(PMIx_Process_monitor(&some_info, PMIX_MONITOR_HEARTBEAT_ALERT, NULL, 0, &some_results, &some_size),
                  PMIX_ERR_INIT);
}
ROW(credential_before_init, OUTSIDE, "Before initialization the answer of PMIx_Get_credential is PMIX_ERR_INIT") {
    EXPECT_STATUS(PMIx_Get_credential(NULL, 0, &some_bytes), PMIX_ERR_INIT);
}
ROW(notify_before_init, OUTSIDE, "Before initialization the answer of PMIx_Notify_event is PMIX_ERR_INIT") {
    some = proc_of("job", 0);
    EXPECT_STATUS(PMIx_Notify_event(PMIX_ERR_PROC_ABORTED, &some, PMIX_RANGE_LOCAL, NULL, 0, NULL, NULL),
                  PMIX_ERR_INIT);
}
ROW(register_before_init, OUTSIDE, "Before initialization PMIx_Register_event_handler returns an error") {
    EXPECT_ERROR(PMIx_Register_event_handler(NULL, 0, NULL, 0, on_model, NULL, NULL));
}
ROW(group_before_init, OUTSIDE, "Before initialization the answer of PMIx_Group_construct is PMIX_ERR_INIT") {
    some = proc_of("job", 0);
    EXPECT_STATUS(PMIx_Group_construct("group", &some, 1, NULL, 0, &some_results, &some_size), PMIX_ERR_INIT);
}
ROW(resolve_peers_before_init, OUTSIDE, "Before initialization the answer of PMIx_Resolve_peers is PMIX_ERR_INIT") {
    pmix_proc_t* procs = NULL;
    EXPECT_STATUS(PMIx_Resolve_peers(NULL, "job", &procs, &some_size), PMIX_ERR_INIT);
}
ROW(resolve_nodes_before_init, OUTSIDE, "Before initialization the answer of PMIx_Resolve_nodes is PMIX_ERR_INIT") {
    char* nodes = NULL;
    EXPECT_STATUS(PMIx_Resolve_nodes("job", &nodes), PMIX_ERR_INIT);
}
ROW(iof_pull_before_init, OUTSIDE, "Before initialization PMIx_IOF_pull returns an error") {
    some = proc_of("job", 0);
    EXPECT_ERROR(PMIx_IOF_pull(&some, 1, NULL, 0, PMIX_FWD_STDOUT_CHANNEL, NULL, NULL, NULL));
}

ROW(calls_after_finalize, OUTSIDE, "After the last PMIx_Finalize the answers are PMIX_ERR_INIT again", .ranks = 1,
    .raw = true) {
    pmix_proc_t proc;
    EXPECT_OK(PMIx_Init(&proc, NULL, 0));
    EXPECT_OK(PMIx_Finalize(NULL, 0));
    pmix_value_t value = value_int(1);
    EXPECT_STATUS(PMIx_Put(PMIX_GLOBAL, "key", &value), PMIX_ERR_INIT);
    EXPECT_STATUS(PMIx_Commit(), PMIX_ERR_INIT);
    EXPECT_STATUS(PMIx_Get(&proc, "key", NULL, 0, &got), PMIX_ERR_INIT);
    EXPECT_STATUS(PMIx_Fence(NULL, 0, NULL, 0), PMIX_ERR_INIT);
    EXPECT_STATUS(PMIx_Lookup(&some_pdata, 1, NULL, 0), PMIX_ERR_INIT);
}

static void connected_checked(void) {
    EXPECT_INT(2, upcall_count("client_connected"));
    for (int i = 0; i < 2; ++i) {
        const struct upcall* upcall = upcall_at("client_connected", i);
        EXPECT_STRING(row_nspace, upcall->proc.nspace);
        EXPECT_INT(0x1000 + upcall->proc.rank, (uintptr_t)upcall->object);
    }
    EXPECT(upcall_at("client_connected", 0)->proc.rank != upcall_at("client_connected", 1)->proc.rank);
}
ROW(connected_reaches_host, "Server-Specific Interfaces / pmix_server_client_connected2_fn_t",
    "The host is told once of each client, with the server object of its registration", .ranks = 2,
    .after = connected_checked) {
    EXPECT_INT(my_rank, me.rank);
}

static void refuse(void) {
    host_answer = PMIX_ERR_NO_PERMISSIONS;
    host_answers_at_once = true;
}
ROW(connection_refused, "Server-Specific Interfaces / pmix_server_client_connected2_fn_t",
    "A client that the host refuses is not connected", .ranks = 1, .raw = true, .before = refuse) {
    EXPECT_ERROR(PMIx_Init(&me, NULL, 0));
}
