/* SPDX-License-Identifier: BSD-3-Clause */
/* Server-Specific Interfaces: what a host calls. The upcalls are in the chapters of the calls that make them. */
#include "check.h"
#include "host.h"

#define INIT "Server-Specific Interfaces / PMIx_server_init"
#define REGEX "Server-Specific Interfaces / PMIx_generate_regex"
#define PPN "Server-Specific Interfaces / PMIx_generate_ppn"
#define NSPACE "Server-Specific Interfaces / PMIx_server_register_nspace"
#define CLIENT "Server-Specific Interfaces / PMIx_server_register_client"
#define FORK "Server-Specific Interfaces / PMIx_server_setup_fork"
#define MODEX "Server-Specific Interfaces / PMIx_server_dmodex_request"
#define APPLICATION "Server-Specific Interfaces / PMIx_server_setup_application"
#define INVENTORY "Server-Specific Interfaces / PMIx_server_collect_inventory"
#define DELIVER "Server-Specific Interfaces / PMIx_server_IOF_deliver"

static void start(void) {
    EXPECT_OK(PMIx_server_init(NULL, NULL, 0));
}
static struct signal done;
/* A call with a callback, done. */
static void finish(pmix_status_t status) {
    static int calls;
    if (status == PMIX_OPERATION_SUCCEEDED) return;
    EXPECT_OK(status);
    wait_signal(&done, ++calls, "the callback");
    EXPECT_STATUS(done.status, PMIX_SUCCESS, PMIX_OPERATION_SUCCEEDED);
}
static pmix_info_t job_size(uint32_t size) {
    return info_of(PMIX_JOB_SIZE, &size, PMIX_UINT32);
}
static void register_job(const char* name, int local) {
    pmix_info_t info = job_size(2);
    finish(PMIx_server_register_nspace(name, local, &info, 1, op_done, &done));
}

ROW(server_no_module, INIT, "No module is allowed") {
    start();
    EXPECT_OK(PMIx_server_finalize());
}
ROW(server_empty_module, INIT, "A module without functions is allowed") {
    pmix_server_module_t module;
    memset(&module, 0, sizeof(module));
    EXPECT_OK(PMIx_server_init(&module, NULL, 0));
    EXPECT_OK(PMIx_server_finalize());
}
ROW(server_identity, INIT, "PMIX_SERVER_NSPACE and PMIX_SERVER_RANK are the identity of the server") {
    pmix_rank_t rank = 5;
    pmix_info_t info[2] = {info_of(PMIX_SERVER_NSPACE, "conformance-server", PMIX_STRING),
                           info_of(PMIX_SERVER_RANK, &rank, PMIX_PROC_RANK)};
    EXPECT_OK(PMIx_server_init(NULL, info, 2));
    pmix_status_t code = -3500;
    (void)code;
    pmix_value_t value = value_int(3), *got = NULL;
    pmix_proc_t self = proc_of("conformance-server", 5);
    EXPECT_OK(PMIx_Store_internal(&self, "own", &value));
    EXPECT_OK(PMIx_Get(NULL, "own", NULL, 0, &got));
    EXPECT_INT(3, got->data.integer);
}
ROW(server_init_again, INIT, "After PMIx_server_finalize a server may be started again") {
    for (int i = 0; i < 3; ++i) {
        start();
        register_job("conformance-a", 1);
        EXPECT_OK(PMIx_server_finalize());
    }
}
ROW(server_unknown_attribute, INIT, "An optional attribute that nobody knows is ignored") {
    pmix_info_t info = info_true("conformance.unknown");
    EXPECT_OK(PMIx_server_init(NULL, &info, 1));
}
ROW(server_finalize_without_init, "Server-Specific Interfaces / PMIx_server_finalize",
    "Without PMIx_server_init an error is returned") {
    EXPECT_ERROR(PMIx_server_finalize());
}

/* ---- regular expressions ---- */

static void expect_form(const char* regex) {
    EXPECT(regex != NULL);
    EXPECT(strncmp(regex, "raw:", 4) == 0 || strncmp(regex, "pmix:", 5) == 0 || strncmp(regex, "pmix[", 5) == 0 ||
           strncmp(regex, "blob:", 5) == 0);
}
ROW(regex_form, REGEX, "A compressed list begins with a name of its form") {
    start();
    char* regex = NULL;
    EXPECT_OK(PMIx_generate_regex("node001,node002,node003,node004", &regex));
    expect_form(regex);
    free(regex);
}
ROW(regex_one, REGEX, "One name is a list") {
    start();
    char* regex = NULL;
    EXPECT_OK(PMIx_generate_regex("single", &regex));
    expect_form(regex);
}
ROW(regex_null, REGEX, "No list is an error") {
    start();
    char* regex = NULL;
    EXPECT_ERROR(PMIx_generate_regex(NULL, &regex));
}
ROW(ppn_form, PPN, "Compressed ranks begin with a name of their form") {
    start();
    char* regex = NULL;
    EXPECT_OK(PMIx_generate_ppn("0-3;4-7;8,10,12;9,11", &regex));
    expect_form(regex);
}
/* A job of ten nodes with names that are hard to compress, seen by a client. */
static const char kNames[] = "n1,n2,n3,n10,n0011,n0012,login,gpu-a7,gpu-a8,n4.example.org";
static void odd_nodes(void) {
    char *nodes = NULL, *ranks = NULL;
    EXPECT_OK(PMIx_generate_regex(kNames, &nodes));
    EXPECT_OK(PMIx_generate_ppn("0;1;2;3;4;5;6;7;8;9,10", &ranks));
    uint32_t size = 11;
    pmix_info_t info[3] = {info_of(PMIX_JOB_SIZE, &size, PMIX_UINT32), info_of(PMIX_NODE_MAP, nodes, PMIX_REGEX),
                           info_of(PMIX_PROC_MAP, ranks, PMIX_REGEX)};
    finish(PMIx_server_register_nspace("conformance-odd", 0, info, 3, op_done, &done));
}
static void odd_early(void) {
    host_registered = odd_nodes;
}
ROW(regex_order, REGEX, "The names and their order are those of the list: seen by a client", .ranks = 1,
    .before = odd_early) {
    char* nodes = NULL;
    EXPECT_OK(PMIx_Resolve_nodes("conformance-odd", &nodes));
    EXPECT_STRING(kNames, nodes);
}
ROW(ppn_places, PPN, "Each rank is on the node of its place in the list: seen by a client", .ranks = 1,
    .before = odd_early) {
    pmix_proc_t* procs = NULL;
    size_t count = 0;
    EXPECT_OK(PMIx_Resolve_peers("n4.example.org", "conformance-odd", &procs, &count));
    EXPECT_INT(2, count);
    EXPECT_INT(19, procs[0].rank + procs[1].rank);
    EXPECT_OK(PMIx_Resolve_peers("n0012", "conformance-odd", &procs, &count));
    EXPECT_INT(1, count);
    EXPECT_INT(5, procs[0].rank);
}
ROW(regex_packed, REGEX, "A compressed list travels through a buffer as PMIX_REGEX") {
#ifdef PMIX_REGEX
    start();
    char *regex = NULL, *back = NULL;
    char names[4000] = "";
    for (int i = 0; i < 300; ++i)
        snprintf(names + strlen(names), sizeof(names) - strlen(names), "%snode%d", i > 0 ? "," : "", i * i);
    EXPECT_OK(PMIx_generate_regex(names, &regex));
    pmix_data_buffer_t* buffer;
    PMIX_DATA_BUFFER_CREATE(buffer);
    EXPECT_OK(PMIx_Data_pack(NULL, buffer, &regex, 1, PMIX_REGEX));
    int32_t count = 1;
    EXPECT_OK(PMIx_Data_unpack(NULL, buffer, &back, &count, PMIX_REGEX));
    expect_form(back);
    EXPECT(strcmp(regex, back) == 0);
#else
    unsupported("PMIX_REGEX");
#endif
}

/* ---- registration ---- */

ROW(nspace_register, NSPACE, "A namespace is registered with a callback, or PMIX_OPERATION_SUCCEEDED without") {
    start();
    register_job("conformance-a", 1);
}
ROW(nspace_blocking, NSPACE, "Without a callback the call waits") {
    start();
    pmix_info_t info = job_size(1);
    EXPECT_ACCEPTED(PMIx_server_register_nspace("conformance-a", 1, &info, 1, NULL, NULL));
}
ROW(nspace_no_info, NSPACE, "A namespace without information is allowed") {
    start();
    finish(PMIx_server_register_nspace("conformance-a", 0, NULL, 0, op_done, &done));
}
ROW(nspace_readable, NSPACE, "The server reads what was registered") {
    start();
    register_job("conformance-a", 1);
    pmix_proc_t job = proc_of("conformance-a", PMIX_RANK_WILDCARD);
    pmix_value_t* value = NULL;
    pmix_info_t info = info_timeout(5);
    EXPECT_OK(PMIx_Get(&job, PMIX_JOB_SIZE, &info, 1, &value));
    EXPECT_INT(2, value->data.uint32);
}
ROW(nspace_null, NSPACE, "No name is an error") {
    start();
    EXPECT_ERROR(PMIx_server_register_nspace(NULL, 1, NULL, 0, op_done, &done));
}
static int deregistered_calls;
static void on_deregistered(pmix_status_t status, void* cbdata) {
    (void)cbdata;
    ++deregistered_calls;
    op_done(status, &done);
}
ROW(nspace_deregister, "Server-Specific Interfaces / PMIx_server_deregister_nspace",
    "After deregistration the data of the namespace is gone") {
    start();
    register_job("conformance-a", 1);
    struct signal gone = {0, 0};
    PMIx_server_deregister_nspace("conformance-a", op_done, &gone);
    wait_signal(&gone, 1, "the callback");
    pmix_proc_t job = proc_of("conformance-a", PMIX_RANK_WILDCARD);
    pmix_info_t info[2] = {info_timeout(2), info_true(PMIX_IMMEDIATE)};
    EXPECT_ERROR(status_of_get(&job, PMIX_JOB_SIZE, info, 2));
}
ROW(nspace_deregister_unknown, "Server-Specific Interfaces / PMIx_server_deregister_nspace",
    "The callback follows for a namespace that nobody knows too") {
    start();
    PMIx_server_deregister_nspace("conformance-none", on_deregistered, NULL);
    wait_signal(&done, 1, "the callback");
    EXPECT_INT(1, deregistered_calls);
}
ROW(client_register, CLIENT, "A client of a registered namespace is registered") {
    start();
    register_job("conformance-a", 1);
    pmix_proc_t proc = proc_of("conformance-a", 0);
    finish(PMIx_server_register_client(&proc, geteuid(), getegid(), NULL, op_done, &done));
}
ROW(client_deregister, "Server-Specific Interfaces / PMIx_server_deregister_client",
    "A client is deregistered, with a callback") {
    start();
    register_job("conformance-a", 1);
    pmix_proc_t proc = proc_of("conformance-a", 0);
    finish(PMIx_server_register_client(&proc, geteuid(), getegid(), NULL, op_done, &done));
    struct signal gone = {0, 0};
    PMIx_server_deregister_client(&proc, op_done, &gone);
    wait_signal(&gone, 1, "the callback");
}
ROW(fork_environment, FORK, "The variables of a client are added to the environment, which keeps its others") {
    start();
    register_job("conformance-a", 1);
    pmix_proc_t proc = proc_of("conformance-a", 0);
    finish(PMIx_server_register_client(&proc, geteuid(), getegid(), NULL, op_done, &done));
    char** env = calloc(2, sizeof(char*));
    env[0] = strdup("CONFORMANCE=kept");
    EXPECT_OK(PMIx_server_setup_fork(&proc, &env));
    int kept = 0, added = 0;
    for (char** p = env; *p != NULL; ++p) {
        if (strcmp(*p, "CONFORMANCE=kept") == 0)
            ++kept;
        else
            ++added;
    }
    EXPECT_INT(1, kept);
    EXPECT(added > 0);
}
ROW(fork_empty_environment, FORK, "The environment may be empty at first") {
    start();
    register_job("conformance-a", 1);
    pmix_proc_t proc = proc_of("conformance-a", 0);
    finish(PMIx_server_register_client(&proc, geteuid(), getegid(), NULL, op_done, &done));
    char** env = NULL;
    EXPECT_OK(PMIx_server_setup_fork(&proc, &env));
    EXPECT(env != NULL && env[0] != NULL);
}

/* ---- direct modex ---- */

static struct signal answered;
static size_t answer_size;
static void on_blob(pmix_status_t status, char* data, size_t size, void* cbdata) {
    (void)data;
    answer_size = size;
    raise_signal(cbdata, status);
}
static void request_data(void) {
    wait_clients(1);
    pmix_proc_t proc = proc_of(row_nspace, 0);
    EXPECT_OK(PMIx_server_dmodex_request(&proc, on_blob, &answered));
    wait_signal(&answered, 1, "the callback of PMIx_server_dmodex_request");
    EXPECT_OK(answered.status);
    EXPECT(answer_size > 0);
    tell_clients(1);
}
ROW(modex_request, MODEX, "The data that a client has committed is given to the host", .ranks = 1,
    .during = request_data) {
    put_int(PMIX_GLOBAL, "key", 1);
    EXPECT_OK(PMIx_Commit());
    barrier(false);
    tell_host();
    wait_host();
}
static void request_early(void) {
    pmix_proc_t proc = proc_of(row_nspace, 0);
    EXPECT_OK(PMIx_server_dmodex_request(&proc, on_blob, &answered));
    tell_clients(1);
    wait_signal(&answered, 1, "the callback of PMIx_server_dmodex_request");
    EXPECT_OK(answered.status);
}
ROW(modex_request_early, MODEX, "A request before the client has connected is held until its data is there", .ranks = 1,
    .raw = true, .during = request_early) {
    wait_host();
    EXPECT_OK(PMIx_Init(&me, NULL, 0));
    put_int(PMIX_GLOBAL, "key", 1);
    EXPECT_OK(PMIx_Commit());
    barrier(false);
    EXPECT_OK(PMIx_Finalize(NULL, 0));
}

/* ---- applications and inventory ---- */

static size_t setup_infos;
static void on_setup(pmix_status_t status, pmix_info_t info[], size_t ninfo, void* provided, pmix_op_cbfunc_t cbfunc,
                     void* cbdata) {
    (void)info;
    setup_infos = ninfo;
    raise_signal(provided, status);
    if (cbfunc != NULL) cbfunc(PMIX_SUCCESS, cbdata);
}
ROW(setup_application, APPLICATION, "The callback follows where there is nothing to set up too") {
    start();
    register_job("conformance-a", 1);
    struct signal set_up = {0, 0};
    pmix_info_t info = info_true(PMIX_SETUP_APP_ENVARS);
    EXPECT_OPTIONAL(PMIx_server_setup_application("conformance-a", &info, 1, on_setup, &set_up), PMIX_SUCCESS);
    wait_signal(&set_up, 1, "the callback");
    EXPECT_STATUS(set_up.status, PMIX_SUCCESS, PMIX_ERR_NOT_SUPPORTED);
}
ROW(setup_local_support, "Server-Specific Interfaces / PMIx_server_setup_local_support",
    "Local support of an application without special needs is set up") {
    start();
    register_job("conformance-a", 1);
    pmix_info_t info = info_true("conformance.unknown");
    finish(PMIx_server_setup_local_support("conformance-a", &info, 1, op_done, &done));
}
static void on_inventory(pmix_status_t status, pmix_info_t* info, size_t ninfo, void* cbdata,
                         pmix_release_cbfunc_t release, void* release_cbdata) {
    (void)info;
    setup_infos = ninfo;
    if (release != NULL) release(release_cbdata);
    raise_signal(cbdata, status);
}
ROW(inventory_collect, INVENTORY, "The callback has the inventory of the node, which may be empty") {
    start();
    struct signal collected = {0, 0};
    EXPECT_OPTIONAL(PMIx_server_collect_inventory(NULL, 0, on_inventory, &collected), PMIX_SUCCESS);
    wait_signal(&collected, 1, "the callback");
    EXPECT_STATUS(collected.status, PMIX_SUCCESS, PMIX_ERR_NOT_SUPPORTED, PMIX_ERR_NOT_FOUND);
}
ROW(inventory_deliver, "Server-Specific Interfaces / PMIx_server_deliver_inventory",
    "An inventory is delivered, with a callback") {
    start();
    pmix_info_t info = info_true("conformance.inventory");
    pmix_status_t status = EXPECT_OPTIONAL(PMIx_server_deliver_inventory(&info, 1, NULL, 0, op_done, &done),
                                           PMIX_SUCCESS, PMIX_OPERATION_SUCCEEDED);
    if (status == PMIX_SUCCESS) {
        wait_signal(&done, 1, "the callback");
        EXPECT_STATUS(done.status, PMIX_SUCCESS, PMIX_ERR_NOT_SUPPORTED);
    }
}
#ifdef HAVE_PMIx_server_register_resources
ROW(resources_visible, "Server-Specific Interfaces / PMIx_server_register_resources",
    "Registered resources are accepted, with a callback") {
    start();
    pmix_info_t info = info_of(PMIX_CLUSTER_ID, "conformance-cluster", PMIX_STRING);
    finish(PMIx_server_register_resources(&info, 1, op_done, &done));
    finish(PMIx_server_deregister_resources(&info, 1, op_done, &done));
}
#endif
ROW(iof_deliver_nobody, DELIVER, "Output that nobody has asked for is accepted") {
    start();
    register_job("conformance-a", 1);
    pmix_proc_t source = proc_of("conformance-a", 0);
    pmix_byte_object_t bytes = {"a line\n", 7};
    finish(PMIx_server_IOF_deliver(&source, PMIX_FWD_STDOUT_CHANNEL, &bytes, NULL, 0, op_done, &done));
}

/* ---- the register_events upcall ---- */

static void events_checked(void) {
    EXPECT(upcall_count("register_events") >= 1);
    EXPECT_INT(PMIX_EVENT_NODE_DOWN, upcall_at("register_events", 0)->number);
}
static void ignore_event(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                         pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t completed,
                         void* cbdata) {
    (void)id;
    (void)status;
    (void)source;
    (void)info;
    (void)ninfo;
    (void)results;
    (void)nresults;
    completed(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
}
ROW(upcall_register_events, "Server-Specific Interfaces / pmix_server_register_events_fn_t",
    "A handler of a system event is made known to the host", .ranks = 1, .after = events_checked) {
    pmix_status_t code = PMIX_EVENT_NODE_DOWN;
    EXPECT(PMIx_Register_event_handler(&code, 1, NULL, 0, ignore_event, NULL, NULL) >= 0);
    barrier(false);
}
