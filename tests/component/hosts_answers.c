/* SPDX-License-Identifier: BSD-3-Clause */
/* hosts_answers.c: how hosts answer upcalls, which locks they hold meanwhile, and what their modules look like. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "zoo.h"

static void run_with(enum way connected, enum way publishes, const char* mode) {
    pmix_server_module_t module = module_that(connected, publishes);
    usual_run(&module, mode);
    join_answers();
}

static void answers_before_the_upcall_returns(void) {
    run_with(BY_CALLBACK, BY_CALLBACK, "publish");
    CHECK(upcalls() == 3 * RANKS); /* connected, publish, finalized */
}

static void answers_by_its_return_value(void) {
    run_with(BY_RETURN, BY_RETURN, "publish");
    CHECK(upcalls() == 3 * RANKS);
}

static void answers_from_a_thread(void) {
    run_with(BY_THREAD, BY_THREAD, "publish");
    CHECK(upcalls() == 3 * RANKS);
}

static void answers_twice(void) {
    run_with(TWICE, TWICE, "publish-twice");
}

static void answers_by_callback_and_return_value(void) {
    run_with(BOTH, BOTH, "publish-twice");
}

/* The client has a limit of time, and finalize does not wait for the host either. */
static void never_answers(void) {
    run_with(BY_CALLBACK, NEVER, "publish-in-vain");
}

static void refuses_requests(void) {
    run_with(BY_CALLBACK, REFUSES, "publish-refused");
}

static void returns_no_status(void) {
    run_with(BY_CALLBACK, POSITIVE, "publish-error");
}

static void refuses_clients(void) {
    run_with(REFUSES, BY_CALLBACK, "refused");
}

/* --- modules --- */

static void no_module(void) {
    usual_run(NULL, "publish-unsupported");
}

static void module_of_nulls(void) {
    pmix_server_module_t module;
    memset(&module, 0, sizeof module);
    usual_run(&module, "publish-unsupported");
}

/* Built with headers whose module ends with client_connected2: what is behind it is not the host's to give. */
static void module_of_28_entries(void) {
    enum { ENTRIES = 28 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = ENTRIES * sizeof(void*);
    char* pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED && mprotect(pages + page, page, PROT_NONE) == 0);
    pmix_server_module_t whole = module_that(BY_CALLBACK, BY_CALLBACK);
    char* start = pages + page - size;
    memcpy(start, &whole, size);
    usual_run((pmix_server_module_t*)(void*)start, "publish");
    CHECK(munmap(pages, 2 * page) == 0);
}

static void begin_with_a_module_on_the_stack(void) {
    pmix_server_module_t module = module_that(BY_CALLBACK, BY_CALLBACK);
    CHECK_OK(PMIx_server_init(&module, NULL, 0));
    memset(&module, 0x5a, sizeof module);
}

static void module_goes_after_init(void) {
    begin_with_a_module_on_the_stack();
    register_job("job", RANKS, NULL, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) register_rank("job", rank, NULL, NULL);
    run_job("job", RANKS, "publish");
    deregister_job("job");
    CHECK_OK(PMIx_server_finalize());
}

static int old_connected;
static pmix_status_t client_connected(const pmix_proc_t* proc, void* object, pmix_op_cbfunc_t done, void* cbdata) {
    (void)proc, (void)object, (void)cbdata;
    __atomic_fetch_add(&old_connected, done == NULL, __ATOMIC_SEQ_CST);
    return PMIX_SUCCESS;
}

/* As up to 3.x: it answers by its return value alone. */
static void the_old_client_connected(void) {
    pmix_server_module_t module;
    memset(&module, 0, sizeof module);
    module.client_connected = client_connected;
    usual_run(&module, "usual");
    CHECK(old_connected == RANKS);
}

/* --- a lock of the host's own --- */

static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
static int locked_upcalls;

static pmix_status_t publish_locked(const pmix_proc_t* proc, const pmix_info_t info[], size_t ninfo,
                                    pmix_op_cbfunc_t done, void* cbdata) {
    (void)proc, (void)info, (void)ninfo;
    pthread_mutex_lock(&own_lock);
    locked_upcalls++;
    done(PMIX_SUCCESS, cbdata);
    pthread_mutex_unlock(&own_lock);
    return PMIX_SUCCESS;
}

static pmix_status_t connected_locked(const pmix_proc_t* proc, void* object, pmix_info_t info[], size_t ninfo,
                                      pmix_op_cbfunc_t done, void* cbdata) {
    (void)object;
    return publish_locked(proc, info, ninfo, done, cbdata);
}

static pmix_status_t fabric_locked(const pmix_proc_t* requestor, pmix_fabric_operation_t operation,
                                   const pmix_info_t directives[], size_t ndirs, pmix_info_cbfunc_t done,
                                   void* cbdata) {
    (void)requestor, (void)operation, (void)directives, (void)ndirs, (void)done, (void)cbdata;
    pthread_mutex_lock(&own_lock);
    pthread_mutex_unlock(&own_lock);
    return PMIX_ERR_NOT_SUPPORTED;
}

static pmix_status_t query_locked(pmix_proc_t* requester, pmix_query_t* queries, size_t n, pmix_info_cbfunc_t done,
                                  void* cbdata) {
    (void)requester, (void)queries, (void)n;
    return fabric_locked(NULL, PMIX_FABRIC_REQUEST_INFO, NULL, 0, done, cbdata);
}

static pmix_server_module_t locked_module(void) {
    pmix_server_module_t module;
    memset(&module, 0, sizeof module);
    module.client_connected2 = connected_locked;
    module.publish = publish_locked;
    module.fabric = fabric_locked;
    module.query = query_locked;
    return module;
}

/* All registrations are asked for under the lock that its upcalls take. */
static void registers_under_its_lock(void) {
    struct box box = BOX;
    pmix_server_module_t module = locked_module();
    CHECK_OK(PMIx_server_init(&module, NULL, 0));
    pthread_mutex_lock(&own_lock);
    register_job("job", RANKS, box_done, &box);
    for (uint32_t rank = 0; rank < RANKS; rank++) register_rank("job", rank, box_done, &box);
    pthread_mutex_unlock(&own_lock);
    box_wait(&box, 1 + RANKS);
    pid_t pids[RANKS];
    pthread_mutex_lock(&own_lock);
    for (uint32_t rank = 0; rank < RANKS; rank++) pids[rank] = start_client("job", rank, "publish");
    pthread_mutex_unlock(&own_lock);
    for (uint32_t rank = 0; rank < RANKS; rank++) await_client(pids[rank], 0);
    CHECK(locked_upcalls == 2 * RANKS);
    deregister_job("job");
    CHECK_OK(PMIx_server_finalize());
}

/* What it asks its own library for, under the lock that its upcalls take, is no upcall. */
static void asks_under_its_lock(void) {
    pmix_server_module_t module = locked_module();
    pmix_fabric_t fabric;
    pmix_query_t query;
    pmix_info_t* results = NULL;
    pmix_info_t offer;
    size_t count = 0;
    CHECK_OK(PMIx_server_init(&module, NULL, 0));
    register_job("job", RANKS, NULL, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) register_rank("job", rank, NULL, NULL);
    pthread_mutex_lock(&own_lock);
    memset(&fabric, 0, sizeof fabric);
    if (PMIx_Fabric_register(&fabric, NULL, 0) == PMIX_SUCCESS) CHECK_OK(PMIx_Fabric_deregister(&fabric));
    PMIX_QUERY_CONSTRUCT(&query);
    CHECK_OK(PMIx_Argv_append_nosize(&query.keys, "host.only"));
    CHECK(PMIx_Query_info(&query, 1, &results, &count) != PMIX_SUCCESS);
    PMIX_QUERY_DESTRUCT(&query);
    PMIX_INFO_LOAD(&offer, "zoo.offer", "something", PMIX_STRING);
    CHECK_STATUS(PMIx_Publish(&offer, 1), PMIX_ERR_NOT_SUPPORTED);
    PMIX_INFO_DESTRUCT(&offer);
    pthread_mutex_unlock(&own_lock);
    run_job("job", RANKS, "publish");
    deregister_job("job");
    CHECK_OK(PMIx_server_finalize());
}

/* --- calls from upcalls --- */

static pmix_status_t registers_another_job(const pmix_proc_t* proc, void* object, pmix_info_t info[], size_t ninfo,
                                           pmix_op_cbfunc_t done, void* cbdata) {
    (void)object, (void)info, (void)ninfo, (void)done, (void)cbdata;
    if (proc->rank == 0) {
        register_job("another", RANKS, NULL, NULL);
        for (uint32_t rank = 0; rank < RANKS; rank++) register_rank("another", rank, NULL, NULL);
    }
    return PMIX_OPERATION_SUCCEEDED;
}

static void registers_in_an_upcall(void) {
    pmix_server_module_t module;
    memset(&module, 0, sizeof module);
    module.client_connected2 = registers_another_job;
    CHECK_OK(PMIx_server_init(&module, NULL, 0));
    register_job("job", RANKS, NULL, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) register_rank("job", rank, NULL, NULL);
    run_job("job", RANKS, "usual");
    module.client_connected2 = NULL;
    run_job("another", 1, "bare");
    deregister_job("job");
    deregister_job("another");
    CHECK_OK(PMIx_server_finalize());
}

static pmix_status_t deregisters(const pmix_proc_t* proc, void* object, pmix_op_cbfunc_t done, void* cbdata) {
    (void)object, (void)done, (void)cbdata;
    PMIx_server_deregister_client(proc, NULL, NULL);
    return PMIX_OPERATION_SUCCEEDED;
}

/* It forgets a rank in the upcall that tells of its end. */
static void deregisters_in_the_last_upcall(void) {
    pmix_server_module_t module;
    memset(&module, 0, sizeof module);
    module.client_finalized = deregisters;
    usual_run(&module, "usual");
}

static void waits_in_upcalls_for_nobody(size_t id, pmix_status_t code, const pmix_proc_t* source, pmix_info_t info[],
                                        size_t ninfo, pmix_info_t results[], size_t nresults,
                                        pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)id, (void)code, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    if (done) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static pmix_status_t notifies(const pmix_proc_t* proc, void* object, pmix_info_t info[], size_t ninfo,
                              pmix_op_cbfunc_t done, void* cbdata) {
    (void)object, (void)info, (void)ninfo;
    pmix_status_t status = PMIx_Notify_event(PMIX_EXTERNAL_ERR_BASE - 3, proc, PMIX_RANGE_LOCAL, NULL, 0, NULL, NULL);
    CHECK(status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED || status == PMIX_ERR_WOULD_BLOCK);
    done(PMIX_SUCCESS, cbdata);
    return PMIX_SUCCESS;
}

static void notifies_in_an_upcall(void) {
    pmix_server_module_t module;
    pmix_status_t code = PMIX_EXTERNAL_ERR_BASE - 3;
    memset(&module, 0, sizeof module);
    module.client_connected2 = notifies;
    CHECK_OK(PMIx_server_init(&module, NULL, 0));
    CHECK(PMIx_Register_event_handler(&code, 1, NULL, 0, waits_in_upcalls_for_nobody, NULL, NULL) >= 0);
    register_job("job", RANKS, NULL, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) register_rank("job", rank, NULL, NULL);
    run_job("job", RANKS, "usual");
    deregister_job("job");
    CHECK_OK(PMIx_server_finalize());
}

/* As PRRTE at its start. */
static void registers_attributes_in_pairs(void) {
    const char* names[] = {"PMIx_Init",
                           "PMIx_Fence",
                           "PMIx_Fence_nb",
                           "PMIx_Get",
                           "PMIx_Get_nb",
                           "PMIx_Publish",
                           "PMIx_Publish_nb",
                           "PMIx_Spawn",
                           "PMIx_Spawn_nb",
                           "PMIx_Connect",
                           "PMIx_Connect_nb",
                           "PMIx_Query_info",
                           "PMIx_Query_info_nb",
                           "PMIx_Job_control",
                           "PMIx_Job_control_nb",
                           "PMIx_Group_construct",
                           "PMIx_Group_construct_nb",
                           "PMIx_Allocate_resources"};
    char none[] = "NONE";
    char* attributes[] = {none, NULL};
    CHECK_OK(PMIx_server_init(NULL, NULL, 0));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK_OK(PMIx_Register_attributes((char*)names[i], attributes));
    register_job("job", RANKS, NULL, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) register_rank("job", rank, NULL, NULL);
    run_job("job", RANKS, "usual");
    deregister_job("job");
    CHECK_OK(PMIx_server_finalize());
}

const struct host answer_hosts[] = {
    {"answers_before_the_upcall_returns", answers_before_the_upcall_returns},
    {"answers_by_its_return_value", answers_by_its_return_value},
    {"answers_from_a_thread", answers_from_a_thread},
    {"answers_twice", answers_twice},
    {"answers_by_callback_and_return_value", answers_by_callback_and_return_value},
    {"never_answers", never_answers},
    {"refuses_requests", refuses_requests},
    {"returns_no_status", returns_no_status},
    {"refuses_clients", refuses_clients},
    {"no_module", no_module},
    {"module_of_nulls", module_of_nulls},
    {"module_of_28_entries", module_of_28_entries},
    {"module_goes_after_init", module_goes_after_init},
    {"the_old_client_connected", the_old_client_connected},
    {"registers_under_its_lock", registers_under_its_lock},
    {"asks_under_its_lock", asks_under_its_lock},
    {"registers_in_an_upcall", registers_in_an_upcall},
    {"deregisters_in_the_last_upcall", deregisters_in_the_last_upcall},
    {"notifies_in_an_upcall", notifies_in_an_upcall},
    {"registers_attributes_in_pairs", registers_attributes_in_pairs},
    {NULL, NULL},
};
