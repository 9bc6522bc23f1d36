/* SPDX-License-Identifier: BSD-3-Clause */
/* Job Management and Reporting, Query Operations, Security: the requests that a host answers. */
#include "check.h"
#include "host.h"

#define QUERY "Query Operations / PMIx_Query_info"
#define QUERY_NB "Query Operations / PMIx_Query_info_nb"
#define PEERS "Query Operations / PMIx_Resolve_peers"
#define NODES "Query Operations / PMIx_Resolve_nodes"
#define ALLOCATION "Job Management and Reporting / PMIx_Allocation_request"
#define CONTROL "Job Management and Reporting / PMIx_Job_control"
#define MONITOR "Job Management and Reporting / PMIx_Process_monitor"
#define LOG "Job Management and Reporting / PMIx_Log"
#define CREDENTIAL "Security / PMIx_Get_credential"
#define VALIDATE "Security / PMIx_Validate_credential"

static pmix_info_t* results;
static size_t nresults;
static char* keys[4];
static pmix_query_t query_of(const char* one, const char* other) {
    pmix_query_t query;
    memset(&query, 0, sizeof(query));
    keys[0] = (char*)(uintptr_t)one;
    keys[1] = (char*)(uintptr_t)other;
    query.keys = keys;
    return query;
}
/* The value of a key, flat or within the results of its query. */
static const pmix_value_t* find(const pmix_info_t* infos, size_t n, const char* key) {
    for (size_t i = 0; i < n; ++i) {
        if (PMIX_CHECK_KEY(&infos[i], key)) return &infos[i].value;
        if (infos[i].value.type == PMIX_DATA_ARRAY && infos[i].value.data.darray != NULL &&
            infos[i].value.data.darray->type == PMIX_INFO) {
            const pmix_value_t* value = find(infos[i].value.data.darray->array, infos[i].value.data.darray->size, key);
            if (value != NULL) return value;
        }
    }
    return NULL;
}

/* ---- queries ---- */

ROW(query_found, QUERY, "All keys found: success, and the values", .ranks = 1) {
    pmix_query_t query = query_of("conformance.answer", NULL);
    EXPECT_OPTIONAL(PMIx_Query_info(&query, 1, &results, &nresults), PMIX_SUCCESS);
    const pmix_value_t* value = find(results, nresults, "conformance.answer");
    EXPECT(value != NULL);
    EXPECT_INT(42, value->data.integer);
}
ROW(query_partial, QUERY, "Some keys found: PMIX_ERR_PARTIAL_SUCCESS, and the values that were found", .ranks = 1) {
    pmix_query_t query = query_of("conformance.answer", "conformance.unknown");
    EXPECT_OPTIONAL(PMIx_Query_info(&query, 1, &results, &nresults), PMIX_ERR_PARTIAL_SUCCESS);
    EXPECT(find(results, nresults, "conformance.answer") != NULL);
    EXPECT(find(results, nresults, "conformance.unknown") == NULL);
}
ROW(query_none, QUERY, "No key found: PMIX_ERR_NOT_FOUND, and no results", .ranks = 1) {
    pmix_query_t query = query_of("conformance.unknown", NULL);
    results = (pmix_info_t*)1;
    nresults = 99;
    EXPECT_OPTIONAL(PMIx_Query_info(&query, 1, &results, &nresults), PMIX_ERR_NOT_FOUND);
    EXPECT(results == NULL);
    EXPECT_INT(0, nresults);
}
ROW(query_nothing, QUERY, "No queries are an error", .ranks = 1) {
    EXPECT_ERROR(PMIx_Query_info(NULL, 0, &results, &nresults));
}
ROW(query_job_data, QUERY, "Job data that the library has is returned", .ranks = 2) {
    pmix_query_t query = query_of(PMIX_JOB_SIZE, NULL);
    pmix_info_t qualifier = info_of(PMIX_NSPACE, me.nspace, PMIX_STRING);
    query.qualifiers = &qualifier;
    query.nqual = 1;
    EXPECT_OPTIONAL(PMIx_Query_info(&query, 1, &results, &nresults), PMIX_SUCCESS);
    const pmix_value_t* value = find(results, nresults, PMIX_JOB_SIZE);
    EXPECT(value != NULL);
    EXPECT_INT(2, value->data.uint32);
}
ROW(query_procid_conflict, QUERY, "PMIX_PROCID together with PMIX_NSPACE is PMIX_ERR_BAD_PARAM", .ranks = 1) {
    pmix_query_t query = query_of(PMIX_JOB_SIZE, NULL);
    pmix_info_t qualifiers[2] = {info_of(PMIX_PROCID, &me, PMIX_PROC), info_of(PMIX_NSPACE, me.nspace, PMIX_STRING)};
    query.qualifiers = qualifiers;
    query.nqual = 2;
    EXPECT_STATUS(PMIx_Query_info(&query, 1, &results, &nresults), PMIX_ERR_BAD_PARAM);
}
static void query_checked(void) {
    const struct upcall* upcall = upcall_at("query", 0);
    EXPECT_INT(0, upcall->proc.rank);
    EXPECT_STRING("conformance.answer", upcall->text[0]);
    expect_ids(upcall);
    EXPECT(upcall_info(upcall, "conformance.qualifier") != NULL);
}
ROW(query_upcall, "Server-Specific Interfaces / pmix_server_query_fn_t",
    "The host has the requester, the keys, the qualifiers, user and group", .ranks = 1, .after = query_checked) {
    pmix_query_t query = query_of("conformance.answer", NULL);
    pmix_info_t qualifier = info_true("conformance.qualifier");
    query.qualifiers = &qualifier;
    query.nqual = 1;
    EXPECT_OPTIONAL(PMIx_Query_info(&query, 1, &results, &nresults), PMIX_SUCCESS);
}
#ifdef PMIX_QUERY_STABLE_ABI_VERSION
ROW(query_abi_before_init, QUERY, "The versions of the ABI are returned before any initialization") {
    pmix_query_t query = query_of(PMIX_QUERY_STABLE_ABI_VERSION, PMIX_QUERY_PROVISIONAL_ABI_VERSION);
    EXPECT_OK(PMIx_Query_info(&query, 1, &results, &nresults));
    EXPECT(find(results, nresults, PMIX_QUERY_STABLE_ABI_VERSION) != NULL);
    const pmix_value_t* value = find(results, nresults, PMIX_QUERY_PROVISIONAL_ABI_VERSION);
    EXPECT(value != NULL);
    EXPECT_INT(PMIX_STRING, value->type);
    EXPECT(value->data.string != NULL);
}
#endif
static struct signal done;
static size_t callback_results;
static bool callback_found;
static void on_info(pmix_status_t status, pmix_info_t* info, size_t ninfo, void* cbdata, pmix_release_cbfunc_t release,
                    void* release_cbdata) {
    callback_results = ninfo;
    callback_found = find(info, ninfo, "conformance.answer") != NULL;
    if (release != NULL) release(release_cbdata);
    raise_signal(cbdata, status);
}
ROW(query_nb, QUERY_NB, "The callback has the results", .ranks = 1) {
    pmix_query_t query = query_of("conformance.answer", NULL);
    EXPECT_OPTIONAL(PMIx_Query_info_nb(&query, 1, on_info, &done), PMIX_SUCCESS);
    wait_signal(&done, 1, "the callback");
    EXPECT_OK(done.status);
    EXPECT(callback_found);
}
ROW(query_nb_none, QUERY_NB, "No key found: PMIX_ERR_NOT_FOUND in the callback", .ranks = 1) {
    pmix_query_t query = query_of("conformance.unknown", NULL);
    pmix_status_t status =
        EXPECT_OPTIONAL(PMIx_Query_info_nb(&query, 1, on_info, &done), PMIX_SUCCESS, PMIX_ERR_NOT_FOUND);
    if (status != PMIX_SUCCESS) return;
    wait_signal(&done, 1, "the callback");
    EXPECT_STATUS(done.status, PMIX_ERR_NOT_FOUND);
    EXPECT_INT(0, callback_results);
}
ROW(query_nb_nothing, QUERY_NB, "No queries are an error without a callback", .ranks = 1) {
    EXPECT_ERROR(PMIx_Query_info_nb(NULL, 0, on_info, &done));
    pause_ms(50);
    EXPECT_INT(0, signal_count(&done));
}
static void no_query(void) {
    host_module.query = NULL;
}
ROW(query_absent, QUERY, "A key that only a host could answer, without the host function, is an error", .ranks = 1,
    .before = no_query) {
    pmix_query_t query = query_of("conformance.answer", NULL);
    EXPECT_STATUS(PMIx_Query_info(&query, 1, &results, &nresults), PMIX_ERR_NOT_SUPPORTED, PMIX_ERR_NOT_FOUND);
}
#ifdef PMIX_QUERY_ATTRIBUTE_SUPPORT
ROW(query_attributes, QUERY, "The attributes of a function that the client supports are returned", .ranks = 1) {
    pmix_query_t query = query_of(PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Get");
    pmix_info_t qualifier = info_true(PMIX_CLIENT_ATTRIBUTES);
    query.qualifiers = &qualifier;
    query.nqual = 1;
    EXPECT_OPTIONAL(PMIx_Query_info(&query, 1, &results, &nresults), PMIX_SUCCESS);
    EXPECT(find(results, nresults, PMIX_CLIENT_ATTRIBUTES) != NULL || find(results, nresults, "PMIx_Get") != NULL);
}
#endif

ROW(resolve_peers, PEERS, "The processes of a namespace on the own node", .ranks = 3) {
    pmix_proc_t* procs = NULL;
    size_t count = 0;
    EXPECT_OK(PMIx_Resolve_peers(NULL, me.nspace, &procs, &count));
    EXPECT_INT(3, count);
    for (size_t i = 0; i < count; ++i) {
        EXPECT_STRING(me.nspace, procs[i].nspace);
        EXPECT(procs[i].rank < 3);
    }
    PMIX_PROC_FREE(procs, count);
}
ROW(resolve_peers_named, PEERS, "The own node may be named", .ranks = 2) {
    char name[256] = "";
    gethostname(name, sizeof(name) - 1);
    pmix_proc_t* procs = NULL;
    size_t count = 0;
    EXPECT_OK(PMIx_Resolve_peers(name, me.nspace, &procs, &count));
    EXPECT_INT(2, count);
}
ROW(resolve_peers_all, PEERS, "No namespace: the processes of all namespaces on the node", .ranks = 2) {
    pmix_proc_t* procs = NULL;
    size_t count = 0;
    EXPECT_OK(PMIx_Resolve_peers(NULL, NULL, &procs, &count));
    EXPECT_INT(2, count);
}
static void two_far_ranks(void) {
    host_remote_ranks = 2;
}
ROW(resolve_peers_far, PEERS, "The processes of another node", .ranks = 1, .before = two_far_ranks) {
    pmix_proc_t* procs = NULL;
    size_t count = 0;
    EXPECT_OK(PMIx_Resolve_peers("faraway", me.nspace, &procs, &count));
    EXPECT_INT(2, count);
    EXPECT_INT(3, procs[0].rank + procs[1].rank);
}
ROW(resolve_nodes, NODES, "The nodes of a namespace, with commas", .ranks = 1, .before = two_far_ranks) {
    char *nodes = NULL, name[256] = "";
    gethostname(name, sizeof(name) - 1);
    EXPECT_OK(PMIx_Resolve_nodes(me.nspace, &nodes));
    EXPECT(nodes != NULL);
    EXPECT(strstr(nodes, name) != NULL);
    EXPECT(strstr(nodes, "faraway") != NULL);
    EXPECT(strchr(nodes, ',') != NULL);
    free(nodes);
}

/* ---- allocation, control, monitoring, log ---- */

static void ids_of(const char* name) {
    const struct upcall* upcall = upcall_at(name, 0);
    EXPECT_INT(0, upcall->proc.rank);
    expect_ids(upcall);
    EXPECT(upcall_info(upcall, "conformance.directive") != NULL);
}
static void allocation_checked(void) {
    ids_of("allocate");
}
ROW(allocation, ALLOCATION, "The host has the request with user and group; its results are those of the caller",
    .ranks = 1, .after = allocation_checked) {
    uint64_t nodes = 2;
    pmix_info_t info[2] = {info_of(PMIX_ALLOC_NUM_NODES, &nodes, PMIX_UINT64), info_true("conformance.directive")};
    EXPECT_OPTIONAL(PMIx_Allocation_request(PMIX_ALLOC_NEW, info, 2, &results, &nresults), PMIX_SUCCESS);
    const pmix_value_t* value = find(results, nresults, PMIX_ALLOC_ID);
    EXPECT(value != NULL);
    EXPECT_STRING("conformance-allocation", value->data.string);
}
ROW(allocation_nb, ALLOCATION, "The nonblocking form has the results in its callback", .ranks = 1) {
    uint64_t nodes = 2;
    pmix_info_t info = info_of(PMIX_ALLOC_NUM_NODES, &nodes, PMIX_UINT64);
    pmix_status_t status = EXPECT_OPTIONAL(PMIx_Allocation_request_nb(PMIX_ALLOC_NEW, &info, 1, on_info, &done),
                                           PMIX_SUCCESS, PMIX_OPERATION_SUCCEEDED);
    if (status == PMIX_SUCCESS) {
        wait_signal(&done, 1, "the callback");
        EXPECT_OK(done.status);
        EXPECT(callback_results > 0);
    }
}
static void no_allocation(void) {
    host_module.allocate = NULL;
}
ROW(allocation_absent, ALLOCATION, "Without the host function the answer is PMIX_ERR_NOT_SUPPORTED", .ranks = 1,
    .before = no_allocation) {
    uint64_t nodes = 2;
    pmix_info_t info = info_of(PMIX_ALLOC_NUM_NODES, &nodes, PMIX_UINT64);
    EXPECT_STATUS(PMIx_Allocation_request(PMIX_ALLOC_NEW, &info, 1, &results, &nresults), PMIX_ERR_NOT_SUPPORTED);
}
static void control_checked(void) {
    ids_of("job_control");
    const struct upcall* upcall = upcall_at("job_control", 0);
    EXPECT_INT(1, upcall->nprocs);
    EXPECT_INT(PMIX_RANK_WILDCARD, upcall->procs[0].rank);
}
ROW(job_control, CONTROL, "The host has the targets, the directives, user and group", .ranks = 1,
    .after = control_checked) {
    pmix_proc_t job = proc_of(me.nspace, PMIX_RANK_WILDCARD);
    pmix_info_t info[2] = {info_true(PMIX_JOB_CTRL_PAUSE), info_true("conformance.directive")};
    EXPECT_OPTIONAL(PMIx_Job_control(&job, 1, info, 2, &results, &nresults), PMIX_SUCCESS);
}
ROW(job_control_nb, CONTROL, "The nonblocking form has a callback, or PMIX_OPERATION_SUCCEEDED without", .ranks = 1) {
    pmix_info_t info = info_true(PMIX_JOB_CTRL_PAUSE);
    pmix_status_t status =
        EXPECT_OPTIONAL(PMIx_Job_control_nb(NULL, 0, &info, 1, on_info, &done), PMIX_SUCCESS, PMIX_OPERATION_SUCCEEDED);
    if (status == PMIX_SUCCESS) {
        wait_signal(&done, 1, "the callback");
        EXPECT_OK(done.status);
    }
}
static void no_control(void) {
    host_module.job_control = NULL;
}
ROW(job_control_absent, CONTROL, "Without the host function the answer is PMIX_ERR_NOT_SUPPORTED", .ranks = 1,
    .before = no_control) {
    pmix_info_t info = info_true(PMIX_JOB_CTRL_PAUSE);
    EXPECT_STATUS(PMIx_Job_control(NULL, 0, &info, 1, &results, &nresults), PMIX_ERR_NOT_SUPPORTED);
}
ROW(monitor_nothing, MONITOR, "Nothing to monitor is an error", .ranks = 1) {
    EXPECT_ERROR(PMIx_Process_monitor(NULL, PMIX_MONITOR_HEARTBEAT_ALERT, NULL, 0, &results, &nresults));
}
static void monitor_checked(void) {
    ids_of("monitor");
    EXPECT_INT(-3600, upcall_at("monitor", 0)->number);
}
ROW(monitor_upcall, MONITOR, "What the server does not monitor itself goes to the host, with user and group",
    .ranks = 1, .after = monitor_checked) {
    pmix_info_t what = info_true("conformance.monitored"), directive = info_true("conformance.directive");
    EXPECT_OPTIONAL(PMIx_Process_monitor(&what, -3600, &directive, 1, &results, &nresults), PMIX_SUCCESS);
}
ROW(log_stderr, LOG, "Data for PMIX_LOG_STDERR is accepted", .ranks = 1) {
    pmix_info_t data = info_of(PMIX_LOG_STDERR, "conformance: a line for the log\n", PMIX_STRING);
    EXPECT_OPTIONAL(PMIx_Log(&data, 1, NULL, 0), PMIX_SUCCESS, PMIX_OPERATION_SUCCEEDED);
}
ROW(log_stdout, LOG, "Data for PMIX_LOG_STDOUT is accepted", .ranks = 1) {
    pmix_info_t data = info_of(PMIX_LOG_STDOUT, "conformance: a line for the log\n", PMIX_STRING);
    EXPECT_OPTIONAL(PMIx_Log(&data, 1, NULL, 0), PMIX_SUCCESS, PMIX_OPERATION_SUCCEEDED);
}
ROW(log_nothing, LOG, "No data is an error", .ranks = 1) {
    EXPECT_ERROR(PMIx_Log(NULL, 0, NULL, 0));
}
ROW(log_nb, LOG, "The nonblocking form has a callback, or PMIX_OPERATION_SUCCEEDED without", .ranks = 1) {
    pmix_info_t data = info_of(PMIX_LOG_STDERR, "conformance: a line for the log\n", PMIX_STRING);
    pmix_status_t status =
        EXPECT_OPTIONAL(PMIx_Log_nb(&data, 1, NULL, 0, op_done, &done), PMIX_SUCCESS, PMIX_OPERATION_SUCCEEDED);
    if (status == PMIX_SUCCESS) {
        wait_signal(&done, 1, "the callback");
        EXPECT_STATUS(done.status, PMIX_SUCCESS, PMIX_OPERATION_SUCCEEDED);
    }
}
static void log_checked(void) {
    EXPECT_STRING("conformance.channel", upcall_at("log", 0)->text[0]);
    ids_of("log");
}
ROW(log_upcall, "Server-Specific Interfaces / pmix_server_log_fn_t",
    "What the library does not log itself goes to the host, with the directives, user and group", .ranks = 1,
    .after = log_checked) {
    pmix_info_t data = info_of("conformance.channel", "text", PMIX_STRING),
                directive = info_true("conformance.directive");
    EXPECT_OPTIONAL(PMIx_Log(&data, 1, &directive, 1), PMIX_SUCCESS, PMIX_OPERATION_SUCCEEDED);
}

/* ---- credentials ---- */

static void credential_checked(void) {
    if (upcall_count("get_credential") > 0) expect_ids(upcall_at("get_credential", 0));
}
ROW(credential_round, CREDENTIAL, "A credential is returned, and is valid for who asks", .ranks = 1,
    .after = credential_checked) {
    pmix_byte_object_t bytes = {NULL, 0};
    EXPECT_OPTIONAL(PMIx_Get_credential(NULL, 0, &bytes), PMIX_SUCCESS);
    EXPECT(bytes.bytes != NULL);
    EXPECT(bytes.size > 0);
    EXPECT_OPTIONAL(PMIx_Validate_credential(&bytes, NULL, 0, &results, &nresults), PMIX_SUCCESS);
}
ROW(credential_bad, VALIDATE, "Bytes that are no credential are an error", .ranks = 1) {
    pmix_byte_object_t bytes = {"no credential", 13};
    EXPECT_OPTIONAL(PMIx_Validate_credential(&bytes, NULL, 0, &results, &nresults), PMIX_ERR_INVALID_CRED,
                    PMIX_ERR_NOT_FOUND, PMIX_ERR_BAD_PARAM, PMIX_ERR_NO_PERMISSIONS, PMIX_ERROR);
}
static void no_credentials(void) {
    host_module.get_credential = NULL;
    host_module.validate_credential = NULL;
}
ROW(credential_absent, CREDENTIAL, "Without the host function the library answers by itself, or PMIX_ERR_NOT_SUPPORTED",
    .ranks = 1, .before = no_credentials) {
    pmix_byte_object_t bytes = {NULL, 0};
    EXPECT_OPTIONAL(PMIx_Get_credential(NULL, 0, &bytes), PMIX_SUCCESS);
    EXPECT(bytes.size > 0);
}
