/* SPDX-License-Identifier: BSD-3-Clause */
/* Use-Cases: whole programs as the appendix of the Standard describes them, and rows under a real launcher. */
#include "check.h"
#include "host.h"

#define CARDS "Use-Cases / Business card exchange"
#define HYBRID "Use-Cases / Hybrid programming models"
#define SESSIONS "Use-Cases / MPI Sessions"
#define FAULTS "Use-Cases / Fault tolerance"
#define DEBUGGERS "Use-Cases / Debuggers"
#define LAUNCHED "Use-Cases / Under a launcher"

/* ---- business cards ---- */

static void put_card(void) {
    char text[60];
    snprintf(text, sizeof(text), "tcp://10.0.0.%d:%d", my_rank + 1, 5000 + my_rank);
    pmix_value_t value = value_string(text);
    EXPECT_OK(PMIx_Put(PMIX_GLOBAL, "card", &value));
    EXPECT_OK(PMIx_Commit());
}
static void check_card(pmix_rank_t rank, const pmix_info_t* info, size_t ninfo) {
    char text[60];
    snprintf(text, sizeof(text), "tcp://10.0.0.%u:%u", rank + 1, 5000 + rank);
    pmix_proc_t peer = proc_of(me.nspace, rank);
    pmix_value_t* value = NULL;
    EXPECT_OK(PMIx_Get(&peer, "card", info, ninfo, &value));
    EXPECT_STRING(text, value->data.string);
    PMIX_VALUE_RELEASE(value);
}
ROW(cards_collected, CARDS, "Put, commit, a fence that collects, get of every peer", .ranks = 4) {
    put_card();
    barrier(true);
    for (pmix_rank_t rank = 0; rank < 4; ++rank) check_card(rank, NULL, 0);
}
ROW(cards_direct, CARDS, "Put, commit, get of one neighbour without a fence", .ranks = 4) {
    put_card();
    pmix_info_t info = info_timeout(10);
    check_card((pmix_rank_t)((my_rank + 1) % 4), &info, 1);
    barrier(false);
}
ROW(cards_background, CARDS, "The exchange runs in the background of other work", .ranks = 3) {
    put_card();
    struct signal done = {0, 0};
    pmix_info_t collect = info_true(PMIX_COLLECT_DATA);
    if (EXPECT_ACCEPTED(PMIx_Fence_nb(NULL, 0, &collect, 1, op_done, &done)) == PMIX_SUCCESS) {
        long work = 0;
        for (int i = 0; i < 100000; ++i) work += i;
        EXPECT(work > 0);
        wait_signal(&done, 1, "the callback");
        EXPECT_OK(done.status);
    }
    for (pmix_rank_t rank = 0; rank < 3; ++rank) check_card(rank, NULL, 0);
}
ROW(cards_two_nodes, CARDS, "The cards of two nodes, collected", .ranks = 4, .nodes = 2) {
    put_card();
    barrier(true);
    for (pmix_rank_t rank = 0; rank < 4; ++rank) check_card(rank, NULL, 0);
}
ROW(cards_two_nodes_direct, CARDS, "The cards of two nodes, on demand", .ranks = 4, .nodes = 2) {
    put_card();
    pmix_info_t info = info_timeout(10);
    for (pmix_rank_t rank = 0; rank < 4; ++rank) check_card(rank, &info, 1);
    barrier(false);
}

/* ---- hybrid programming models ---- */

static struct signal events;
static char seen_model[100], seen_phase[100];
static pmix_status_t seen_status;
static void on_model(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)id;
    (void)source;
    (void)results;
    (void)nresults;
    seen_status = status;
    for (size_t i = 0; i < ninfo; ++i) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_PROGRAMMING_MODEL))
            snprintf(seen_model, sizeof(seen_model), "%s", info[i].value.data.string);
        if (PMIX_CHECK_KEY(&info[i], PMIX_MODEL_PHASE_NAME))
            snprintf(seen_phase, sizeof(seen_phase), "%s", info[i].value.data.string);
    }
    done(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
    raise_signal(&events, status);
}
ROW(hybrid_models, HYBRID, "The first model is told of the second with its name and threads", .ranks = 2, .raw = true) {
    pmix_info_t mpi[2] = {info_of(PMIX_PROGRAMMING_MODEL, "MPI", PMIX_STRING),
                          info_of(PMIX_MODEL_LIBRARY_NAME, "conformance-mpi", PMIX_STRING)};
    EXPECT_OK(PMIx_Init(&me, mpi, 2));
    pmix_status_t code = PMIX_MODEL_DECLARED;
    EXPECT(PMIx_Register_event_handler(&code, 1, NULL, 0, on_model, NULL, NULL) >= 0);
    uint64_t threads = 4;
    pmix_info_t openmp[3] = {info_of(PMIX_PROGRAMMING_MODEL, "OpenMP", PMIX_STRING),
                             info_of(PMIX_MODEL_LIBRARY_NAME, "conformance-omp", PMIX_STRING),
                             info_of(PMIX_MODEL_NUM_THREADS, &threads, PMIX_UINT64)};
    EXPECT_OK(PMIx_Init(NULL, openmp, 3));
    wait_signal(&events, 1, "the declaration of the second model");
    for (int i = 0; i < 40 && strcmp(seen_model, "OpenMP") != 0; ++i) pause_ms(50);
    EXPECT_STRING("OpenMP", seen_model);
    EXPECT_OK(PMIx_Finalize(NULL, 0));
    EXPECT_OK(PMIx_Finalize(NULL, 0));
}
ROW(hybrid_phase, HYBRID, "A model tells the others of the process that a parallel region begins", .ranks = 1) {
    pmix_status_t code = PMIX_OPENMP_PARALLEL_ENTERED;
    EXPECT(PMIx_Register_event_handler(&code, 1, NULL, 0, on_model, NULL, NULL) >= 0);
    pmix_info_t info = info_of(PMIX_MODEL_PHASE_NAME, "reduction", PMIX_STRING);
    EXPECT_ACCEPTED(PMIx_Notify_event(PMIX_OPENMP_PARALLEL_ENTERED, &me, PMIX_RANGE_PROC_LOCAL, &info, 1, NULL, NULL));
    wait_signal(&events, 1, "the event");
    EXPECT_STRING("reduction", seen_phase);
    EXPECT_INT(PMIX_OPENMP_PARALLEL_ENTERED, seen_status);
}

/* ---- sessions: a group for each communicator ---- */

ROW(sessions_groups, SESSIONS, "Two overlapping groups have identifiers of their own, and their members exchange cards",
    .ranks = 4) {
    pmix_proc_t low[3], high[3];
    for (pmix_rank_t i = 0; i < 3; ++i) {
        low[i] = proc_of(me.nspace, i);
        high[i] = proc_of(me.nspace, i + 1);
    }
    put_card();
    pmix_info_t info = info_true(PMIX_GROUP_ASSIGN_CONTEXT_ID), *results = NULL;
    size_t nresults = 0;
    if (my_rank < 3) EXPECT_OPTIONAL(PMIx_Group_construct("low", low, 3, &info, 1, &results, &nresults), PMIX_SUCCESS);
    if (my_rank > 0)
        EXPECT_OPTIONAL(PMIx_Group_construct("high", high, 3, &info, 1, &results, &nresults), PMIX_SUCCESS);
    pmix_info_t wait = info_timeout(10);
    for (pmix_rank_t i = 0; i < 3; ++i) {
        if (my_rank < 3) check_card(i, &wait, 1);
        if (my_rank > 0) check_card(i + 1, &wait, 1);
    }
    if (my_rank < 3) EXPECT_OK(PMIx_Group_destruct("low", NULL, 0));
    if (my_rank > 0) EXPECT_OK(PMIx_Group_destruct("high", NULL, 0));
    barrier(false);
}

/* ---- faults ---- */

static void on_fault(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    on_model(id, status, source, info, ninfo, results, nresults, done, cbdata);
}
static void host_reports_fault(void) {
    wait_clients(2);
    pmix_proc_t source = proc_of(row_nspace, 7), affected = proc_of(row_nspace, 7);
    pmix_info_t info = info_of(PMIX_EVENT_AFFECTED_PROC, &affected, PMIX_PROC);
    EXPECT_ACCEPTED(PMIx_Notify_event(PMIX_ERR_PROC_ABORTED, &source, PMIX_RANGE_NAMESPACE, &info, 1, NULL, NULL));
}
ROW(fault_reported, FAULTS, "The host reports a process that has failed, and every process of the job is told",
    .ranks = 2, .during = host_reports_fault) {
    pmix_status_t code = PMIX_ERR_PROC_ABORTED;
    EXPECT(PMIx_Register_event_handler(&code, 1, NULL, 0, on_fault, NULL, NULL) >= 0);
    tell_host();
    wait_signal(&events, 1, "the event");
    EXPECT_INT(PMIX_ERR_PROC_ABORTED, seen_status);
}
ROW(fault_survivors, FAULTS, "After one process is lost the others go on with a fence of their own", .ranks = 3,
    .raw = true) {
    EXPECT_OK(PMIx_Init(&me, NULL, 0));
    barrier(false);
    if (my_rank == 2) _exit(0);
    pmix_proc_t survivors[2] = {proc_of(me.nspace, 0), proc_of(me.nspace, 1)};
    for (int i = 0; i < 5; ++i) EXPECT_OK(PMIx_Fence(survivors, 2, NULL, 0));
    EXPECT_OK(PMIx_Finalize(NULL, 0));
}

/* ---- debuggers: a client stops in its initialization, and a tool lets it go on ---- */

#ifdef PMIX_DEBUGGER_RELEASE
static void host_releases(void) {
    wait_clients(2);
    pmix_proc_t source = proc_of("", PMIX_RANK_UNDEF);
    EXPECT_ACCEPTED(PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, &source, PMIX_RANGE_LOCAL, NULL, 0, NULL, NULL));
}
ROW(debugger_release, DEBUGGERS, "A process that waits for its debugger goes on with the event PMIX_DEBUGGER_RELEASE",
    .ranks = 2, .during = host_releases) {
    pmix_status_t code = PMIX_DEBUGGER_RELEASE;
    EXPECT(PMIx_Register_event_handler(&code, 1, NULL, 0, on_model, NULL, NULL) >= 0);
    tell_host();
    wait_signal(&events, 1, "the event PMIX_DEBUGGER_RELEASE");
    EXPECT_INT(PMIX_DEBUGGER_RELEASE, seen_status);
}
#endif
static void daemon_registered(void) {
    pmix_info_t info = info_of(PMIX_JOBID, "conformance-target", PMIX_STRING);
    uint32_t size = 2;
    pmix_info_t infos[2] = {info, info_of(PMIX_JOB_SIZE, &size, PMIX_UINT32)};
    struct signal done = {0, 0};
    if (EXPECT_ACCEPTED(PMIx_server_register_nspace("conformance-target", 0, infos, 2, op_done, &done)) == PMIX_SUCCESS)
        wait_signal(&done, 1, "the callback");
}
static void with_target(void) {
    host_registered = daemon_registered;
}
ROW(debugger_attach, DEBUGGERS, "A tool that attaches reads the job data of its target", .ranks = 1, .tool = true,
    .before = with_target) {
    pid_t host = getppid();
    pmix_info_t info = info_of(PMIX_SERVER_PIDINFO, &host, PMIX_PID);
    EXPECT_OPTIONAL(PMIx_tool_init(&me, &info, 1), PMIX_SUCCESS);
    pmix_proc_t target = proc_of("conformance-target", PMIX_RANK_WILDCARD);
    pmix_value_t* value = NULL;
    pmix_info_t wait = info_timeout(5);
    EXPECT_OK(PMIx_Get(&target, PMIX_JOB_SIZE, &wait, 1, &value));
    EXPECT_INT(2, value->data.uint32);
    EXPECT_OK(PMIx_tool_finalize());
}

/* ---- under a launcher: pmix-check --launcher ---- */

static uint32_t launched_init(void) {
    EXPECT_OK(PMIx_Init(&me, NULL, 0));
    my_rank = (int)me.rank;
    pmix_proc_t job = proc_of(me.nspace, PMIX_RANK_WILDCARD);
    pmix_value_t* value = NULL;
    EXPECT_OK(PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value));
    return value->data.uint32;
}
ROW(launched_size, LAUNCHED, "The job has the size that the launcher was asked for", .launched = 4) {
    EXPECT_INT(4, launched_init());
    EXPECT(me.rank < 4);
    EXPECT_OK(PMIx_Finalize(NULL, 0));
}
ROW(launched_cards, LAUNCHED, "Business cards of all processes, collected", .launched = 4) {
    uint32_t size = launched_init();
    put_card();
    barrier(true);
    for (pmix_rank_t rank = 0; rank < size; ++rank) check_card(rank, NULL, 0);
    EXPECT_OK(PMIx_Finalize(NULL, 0));
}
ROW(launched_direct, LAUNCHED, "Business cards on demand", .launched = 4) {
    uint32_t size = launched_init();
    put_card();
    pmix_info_t info = info_timeout(15);
    for (pmix_rank_t rank = 0; rank < size; ++rank) check_card(rank, &info, 1);
    barrier(false);
    EXPECT_OK(PMIx_Finalize(NULL, 0));
}
#define LAUNCHED_KEY(name, KEY, wanted_type, rank)                                       \
    ROW(name, LAUNCHED, #KEY " is there with the type of the Standard", .launched = 2) { \
        (void)launched_init();                                                           \
        pmix_proc_t proc = proc_of(me.nspace, rank);                                     \
        pmix_value_t* value = NULL;                                                      \
        EXPECT_OK(PMIx_Get(&proc, KEY, NULL, 0, &value));                                \
        EXPECT_INT(wanted_type, value->type);                                            \
        EXPECT_OK(PMIx_Finalize(NULL, 0));                                               \
    }
LAUNCHED_KEY(launched_local_rank, PMIX_LOCAL_RANK, PMIX_UINT16, me.rank)
LAUNCHED_KEY(launched_node_rank, PMIX_NODE_RANK, PMIX_UINT16, me.rank)
LAUNCHED_KEY(launched_hostname, PMIX_HOSTNAME, PMIX_STRING, me.rank)
LAUNCHED_KEY(launched_local_size, PMIX_LOCAL_SIZE, PMIX_UINT32, PMIX_RANK_WILDCARD)
LAUNCHED_KEY(launched_local_peers, PMIX_LOCAL_PEERS, PMIX_STRING, PMIX_RANK_WILDCARD)
LAUNCHED_KEY(launched_univ_size, PMIX_UNIV_SIZE, PMIX_UINT32, PMIX_RANK_WILDCARD)
LAUNCHED_KEY(launched_num_nodes, PMIX_NUM_NODES, PMIX_UINT32, PMIX_RANK_WILDCARD)
ROW(launched_spawn, LAUNCHED, "A process spawns a program, whose namespace is returned", .launched = 1) {
    (void)launched_init();
    pmix_app_t app;
    memset(&app, 0, sizeof(app));
    char* argv[] = {"/bin/true", NULL};
    app.cmd = argv[0];
    app.argv = argv;
    app.maxprocs = 1;
    pmix_nspace_t nspace = "";
    EXPECT_OPTIONAL(PMIx_Spawn(NULL, 0, &app, 1, nspace), PMIX_SUCCESS);
    EXPECT(strlen(nspace) > 0);
    EXPECT(strcmp(nspace, me.nspace) != 0);
    EXPECT_OK(PMIx_Finalize(NULL, 0));
}
ROW(launched_spawn_fails, LAUNCHED, "A program that does not exist is an error of PMIx_Spawn", .launched = 1) {
    (void)launched_init();
    pmix_app_t app;
    memset(&app, 0, sizeof(app));
    char* argv[] = {"/conformance/no/such/program", NULL};
    app.cmd = argv[0];
    app.argv = argv;
    app.maxprocs = 1;
    pmix_nspace_t nspace = "";
    EXPECT_ERROR(PMIx_Spawn(NULL, 0, &app, 1, nspace));
    EXPECT_OK(PMIx_Finalize(NULL, 0));
}
ROW(launched_group, LAUNCHED, "The processes construct a group with an identifier", .launched = 3) {
    uint32_t size = launched_init();
    pmix_proc_t members[3];
    for (pmix_rank_t i = 0; i < 3; ++i) members[i] = proc_of(me.nspace, i);
    EXPECT_INT(3, size);
    pmix_info_t info = info_true(PMIX_GROUP_ASSIGN_CONTEXT_ID), *results = NULL;
    size_t nresults = 0;
    EXPECT_OPTIONAL(PMIx_Group_construct("group", members, 3, &info, 1, &results, &nresults), PMIX_SUCCESS);
    EXPECT(nresults > 0);
    EXPECT_OK(PMIx_Group_destruct("group", NULL, 0));
    EXPECT_OK(PMIx_Finalize(NULL, 0));
}
