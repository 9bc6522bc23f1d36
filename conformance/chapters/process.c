/* SPDX-License-Identifier: BSD-3-Clause */
/* Process Management: abort, spawn, connect and disconnect, and their upcalls. */
#include "check.h"
#include "host.h"

#define ABORT "Process Management / PMIx_Abort"
#define SPAWN "Process Management / PMIx_Spawn"
#define SPAWN_NB "Process Management / PMIx_Spawn_nb"
#define CONNECT "Process Management / PMIx_Connect"
#define CONNECT_NB "Process Management / PMIx_Connect_nb"
#define DISCONNECT "Process Management / PMIx_Disconnect"

/* ---- abort ---- */

static void abort_all_checked(void) {
    const struct upcall* upcall = upcall_at("abort", 0);
    EXPECT_INT(0, upcall->proc.rank);
    EXPECT_INT(42, upcall->number);
    EXPECT_INT(1, upcall->ntext);
    EXPECT_STRING("the reason", upcall->text[0]);
    EXPECT_INT(0x1000, (uintptr_t)upcall->object);
}
ROW(abort_upcall, ABORT, "The host has the caller, its object, the status and the message", .ranks = 1,
    .after = abort_all_checked) {
    EXPECT_OPTIONAL(PMIx_Abort(42, "the reason", NULL, 0), PMIX_SUCCESS);
}
static void abort_some_checked(void) {
    const struct upcall* upcall = upcall_at("abort", 0);
    EXPECT_INT(1, upcall->nprocs);
    EXPECT_INT(1, upcall->procs[0].rank);
    EXPECT_STRING(row_nspace, upcall->procs[0].nspace);
}
ROW(abort_some, ABORT, "The processes that are to be aborted are given to the host", .ranks = 2,
    .after = abort_some_checked) {
    pmix_proc_t target = proc_of(me.nspace, 1);
    if (my_rank == 0) EXPECT_OPTIONAL(PMIx_Abort(1, "one", &target, 1), PMIX_SUCCESS);
    barrier(false);
}
ROW(abort_null_message, ABORT, "No message is needed, and any status is allowed", .ranks = 1) {
    EXPECT_OPTIONAL(PMIx_Abort(0, NULL, NULL, 0), PMIX_SUCCESS);
}
static void no_abort(void) {
    host_module.abort = NULL;
}
ROW(abort_absent, ABORT, "Without the host function the answer is PMIX_ERR_NOT_SUPPORTED", .ranks = 1,
    .before = no_abort) {
    EXPECT_STATUS(PMIx_Abort(1, "text", NULL, 0), PMIX_ERR_NOT_SUPPORTED);
}
static void refuses_abort(void) {
    host_module.client_connected2 = NULL;
    host_module.client_finalized = NULL;
    host_answer = PMIX_ERR_PARAM_VALUE_NOT_SUPPORTED;
}
ROW(abort_refused, ABORT, "A set of processes that the host cannot abort is PMIX_ERR_PARAM_VALUE_NOT_SUPPORTED",
    .ranks = 2, .before = refuses_abort) {
    pmix_proc_t target = proc_of(me.nspace, 1);
    EXPECT_STATUS(PMIx_Abort(1, "text", &target, 1), PMIX_ERR_PARAM_VALUE_NOT_SUPPORTED);
}

/* ---- spawn: the child runs the same row, with a number of 100 and more ---- */

static bool am_child(void) {
    return my_rank >= 100;
}
static char* program(void) {
    static char path[1000];
    ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
    EXPECT(size > 0);
    path[size] = '\0';
    return path;
}
static char* child_argv[3];
static void prepare(pmix_app_t* app, char* row) {
    memset(app, 0, sizeof(*app));
    app->cmd = program();
    child_argv[0] = app->cmd;
    child_argv[1] = row;
    app->argv = child_argv;
    app->maxprocs = 1;
}
static void spawned_checked(void) {
    const struct upcall* upcall = upcall_at("spawn", 0);
    EXPECT_INT(0, upcall->proc.rank);
    EXPECT_INT(1, upcall->number);
    expect_ids(upcall);
    const pmix_info_t* parent = upcall_info(upcall, PMIX_PARENT_ID);
    EXPECT(parent != NULL);
    EXPECT_INT(PMIX_PROC, parent->value.type);
    EXPECT_INT(0, parent->value.data.proc->rank);
    EXPECT(upcall_info(upcall, PMIX_SPAWNED) != NULL);
    EXPECT(upcall_info(upcall, "conformance.directive") != NULL);
}
ROW(spawn_upcall, SPAWN, "The host has the parent, user and group, PMIX_SPAWNED and all attributes", .ranks = 1,
    .after = spawned_checked) {
    if (am_child()) return;
    pmix_app_t app;
    prepare(&app, "spawn_upcall");
    pmix_info_t info = info_true("conformance.directive");
    pmix_nspace_t nspace;
    EXPECT_OPTIONAL(PMIx_Spawn(&info, 1, &app, 1, nspace), PMIX_SUCCESS);
}
ROW(spawn_namespace, SPAWN, "The namespace of the new job is returned", .ranks = 1) {
    if (am_child()) return;
    pmix_app_t app;
    prepare(&app, "spawn_namespace");
    pmix_nspace_t nspace = "";
    EXPECT_OPTIONAL(PMIx_Spawn(NULL, 0, &app, 1, nspace), PMIX_SUCCESS);
    EXPECT_STRING("conformance-child-1", nspace);
}
ROW(spawn_null_namespace, SPAWN, "The caller need not ask for the namespace", .ranks = 1) {
    if (am_child()) return;
    pmix_app_t app;
    prepare(&app, "spawn_null_namespace");
    EXPECT_OPTIONAL(PMIx_Spawn(NULL, 0, &app, 1, NULL), PMIX_SUCCESS);
}
ROW(spawn_parent, SPAWN, "A child finds its parent, and has a namespace of its own", .ranks = 1) {
    if (am_child()) {
        pmix_value_t* value = NULL;
        EXPECT_OK(PMIx_Get(&me, PMIX_PARENT_ID, NULL, 0, &value));
        EXPECT_INT(PMIX_PROC, value->type);
        EXPECT_INT(0, value->data.proc->rank);
        EXPECT_STRING("conformance-job", value->data.proc->nspace);
        EXPECT(strcmp(me.nspace, value->data.proc->nspace) != 0);
        put_int(PMIX_GLOBAL, "checked", 1);
        EXPECT_OK(PMIx_Commit());
        pause_ms(1000);
        return;
    }
    pmix_app_t app;
    prepare(&app, "spawn_parent");
    pmix_nspace_t nspace = "";
    EXPECT_OPTIONAL(PMIx_Spawn(NULL, 0, &app, 1, nspace), PMIX_SUCCESS);
    pmix_proc_t child = proc_of(nspace, 0);
    EXPECT_INT(1, get_int(&child, "checked"));
}
ROW(spawn_child_data, SPAWN, "The parent reads the job data of its child", .ranks = 1) {
    if (am_child()) {
        pause_ms(300);
        return;
    }
    pmix_app_t app;
    prepare(&app, "spawn_child_data");
    app.maxprocs = 2;
    pmix_nspace_t nspace = "";
    EXPECT_OPTIONAL(PMIx_Spawn(NULL, 0, &app, 1, nspace), PMIX_SUCCESS);
    pmix_proc_t job = proc_of(nspace, PMIX_RANK_WILDCARD);
    pmix_value_t* value = NULL;
    pmix_info_t info = info_timeout(5);
    EXPECT_OK(PMIx_Get(&job, PMIX_JOB_SIZE, &info, 1, &value));
    EXPECT_INT(2, value->data.uint32);
}
ROW(spawn_environment, SPAWN, "The environment of the application reaches its processes", .ranks = 1) {
    if (am_child()) {
        const char* text = getenv("MY_CHILD_VARIABLE");
        put_int(PMIX_GLOBAL, "seen", text != NULL && strcmp(text, "value") == 0);
        EXPECT_OK(PMIx_Commit());
        pause_ms(1000);
        return;
    }
    pmix_app_t app;
    prepare(&app, "spawn_environment");
    char* env[] = {"MY_CHILD_VARIABLE=value", NULL};
    app.env = env;
    pmix_nspace_t nspace = "";
    EXPECT_OPTIONAL(PMIx_Spawn(NULL, 0, &app, 1, nspace), PMIX_SUCCESS);
    pmix_proc_t child = proc_of(nspace, 0);
    EXPECT_INT(1, get_int(&child, "seen"));
}
ROW(spawn_not_executable, SPAWN, "The error of the host is that of the caller: a command that does not exist",
    .ranks = 1) {
    pmix_app_t app;
    prepare(&app, "spawn_not_executable");
    app.cmd = "/conformance/no/such/program";
    pmix_nspace_t nspace = "";
    EXPECT_ERROR(PMIx_Spawn(NULL, 0, &app, 1, nspace));
}
ROW(spawn_no_apps, SPAWN, "No applications are an error", .ranks = 1) {
    pmix_nspace_t nspace = "";
    EXPECT_ERROR(PMIx_Spawn(NULL, 0, NULL, 0, nspace));
}
static void no_spawn(void) {
    host_module.spawn = NULL;
}
ROW(spawn_absent, SPAWN, "Without the host function the answer is PMIX_ERR_NOT_SUPPORTED", .ranks = 1,
    .before = no_spawn) {
    pmix_app_t app;
    prepare(&app, "spawn_absent");
    pmix_nspace_t nspace = "";
    EXPECT_STATUS(PMIx_Spawn(NULL, 0, &app, 1, nspace), PMIX_ERR_NOT_SUPPORTED);
}
static struct signal done;
static char spawned_nspace[PMIX_MAX_NSLEN + 1];
static void on_spawn(pmix_status_t status, pmix_nspace_t nspace, void* cbdata) {
    if (nspace != NULL) snprintf(spawned_nspace, sizeof(spawned_nspace), "%s", nspace);
    raise_signal(cbdata, status);
}
ROW(spawn_nb, SPAWN_NB, "The callback has the status and the namespace", .ranks = 1) {
    if (am_child()) return;
    pmix_app_t app;
    prepare(&app, "spawn_nb");
    EXPECT_OPTIONAL(PMIx_Spawn_nb(NULL, 0, &app, 1, on_spawn, &done), PMIX_SUCCESS);
    wait_signal(&done, 1, "the callback");
    EXPECT_OK(done.status);
    EXPECT_STRING("conformance-child-1", spawned_nspace);
}
ROW(spawn_connect, CONNECT, "Parent and child connect, exchange data and disconnect", .ranks = 1) {
    pmix_proc_t procs[2] = {proc_of("conformance-job", 0), proc_of("conformance-child-1", 0)};
    if (!am_child()) {
        pmix_app_t app;
        prepare(&app, "spawn_connect");
        pmix_nspace_t nspace = "";
        EXPECT_OPTIONAL(PMIx_Spawn(NULL, 0, &app, 1, nspace), PMIX_SUCCESS);
    }
    put_int(PMIX_GLOBAL, "card", am_child() ? 2 : 1);
    EXPECT_OK(PMIx_Commit());
    EXPECT_OK(PMIx_Connect(procs, 2, NULL, 0));
    EXPECT_INT(am_child() ? 1 : 2, get_int(&procs[am_child() ? 0 : 1], "card"));
    EXPECT_OK(PMIx_Disconnect(procs, 2, NULL, 0));
}

/* ---- connect ---- */

static void connect_checked(void) {
    EXPECT_INT(1, upcall_count("connect"));
    const struct upcall* upcall = upcall_at("connect", 0);
    EXPECT_INT(3, upcall->nprocs);
    EXPECT(upcall_info(upcall, "conformance.directive") != NULL);
    EXPECT_INT(1, upcall_count("disconnect"));
}
static void far_rank(void) {
    host_remote_ranks = 1;
}
ROW(connect_upcall, CONNECT, "The host has one call for all local participants, with the processes and attributes",
    .ranks = 2, .before = far_rank, .after = connect_checked) {
    pmix_proc_t procs[3] = {proc_of(me.nspace, 0), proc_of(me.nspace, 1), proc_of(me.nspace, 2)};
    pmix_info_t info = info_true("conformance.directive");
    EXPECT_OPTIONAL(PMIx_Connect(procs, 3, &info, 1), PMIX_SUCCESS);
    EXPECT_OK(PMIx_Disconnect(procs, 3, NULL, 0));
}
ROW(connect_none, CONNECT, "No processes are an error", .ranks = 1) {
    EXPECT_ERROR(PMIx_Connect(NULL, 0, NULL, 0));
}
ROW(connect_waits, CONNECT, "Nobody leaves before the last has called", .ranks = 2) {
    pmix_proc_t procs[2] = {proc_of(me.nspace, 0), proc_of(me.nspace, 1)};
    if (my_rank == 1) {
        pause_ms(300);
        put_int(PMIX_GLOBAL, "called", 1);
        EXPECT_OK(PMIx_Commit());
    }
    EXPECT_OPTIONAL(PMIx_Connect(procs, 2, NULL, 0), PMIX_SUCCESS);
    pmix_info_t info[2] = {info_true(PMIX_IMMEDIATE), info_timeout(3)};
    EXPECT_OK(status_of_get(&procs[1], "called", info, 2));
}
ROW(connect_nb, CONNECT_NB, "One callback with the status, or PMIX_OPERATION_SUCCEEDED without", .ranks = 2) {
    pmix_proc_t procs[2] = {proc_of(me.nspace, 0), proc_of(me.nspace, 1)};
    pmix_status_t status =
        EXPECT_OPTIONAL(PMIx_Connect_nb(procs, 2, NULL, 0, op_done, &done), PMIX_SUCCESS, PMIX_OPERATION_SUCCEEDED);
    if (status == PMIX_SUCCESS) {
        wait_signal(&done, 1, "the callback");
        EXPECT_OK(done.status);
    }
}
ROW(disconnect_unconnected, DISCONNECT, "A set that was never connected is PMIX_ERR_INVALID_OPERATION", .ranks = 2) {
    pmix_proc_t procs[2] = {proc_of(me.nspace, 0), proc_of(me.nspace, 1)};
    EXPECT_OPTIONAL(PMIx_Disconnect(procs, 2, NULL, 0), PMIX_ERR_INVALID_OPERATION);
}
ROW(disconnect_none, DISCONNECT, "No processes are an error", .ranks = 1) {
    EXPECT_ERROR(PMIx_Disconnect(NULL, 0, NULL, 0));
}
ROW(disconnect_nb, "Process Management / PMIx_Disconnect_nb",
    "One callback with the status, or PMIX_OPERATION_SUCCEEDED without", .ranks = 2) {
    pmix_proc_t procs[2] = {proc_of(me.nspace, 0), proc_of(me.nspace, 1)};
    EXPECT_OPTIONAL(PMIx_Connect(procs, 2, NULL, 0), PMIX_SUCCESS);
    pmix_status_t status = EXPECT_ACCEPTED(PMIx_Disconnect_nb(procs, 2, NULL, 0, op_done, &done));
    if (status == PMIX_SUCCESS) {
        wait_signal(&done, 1, "the callback");
        EXPECT_OK(done.status);
    }
}
static void no_connect(void) {
    host_module.connect = NULL;
    host_module.disconnect = NULL;
}
ROW(connect_absent, CONNECT,
    "Without the host function the answer is PMIX_ERR_NOT_SUPPORTED, or the library connects local processes",
    .ranks = 2, .before = no_connect) {
    pmix_proc_t procs[2] = {proc_of(me.nspace, 0), proc_of(me.nspace, 1)};
    EXPECT_STATUS(PMIx_Connect(procs, 2, NULL, 0), PMIX_ERR_NOT_SUPPORTED, PMIX_SUCCESS);
}
