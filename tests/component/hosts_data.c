/* SPDX-License-Identifier: BSD-3-Clause */
/* hosts_data.c: hosts whose clients ask for data and services, attribute by attribute: what such a request answers end
 * to end, and what the host sees of it. The clients' half, by the same names: client_data.c. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zoo.h"

/* --- the job: two ranks of this node, and one of another that nobody starts
 * ------------------------------------------- */

static void load_array(pmix_info_t* info, const char* key, pmix_info_t* elements, size_t count) {
    pmix_data_array_t array = {.type = PMIX_INFO, .size = count, .array = elements};
    PMIX_INFO_LOAD(info, key, &array, PMIX_DATA_ARRAY); /* a copy */
    for (size_t i = 0; i < count; i++) PMIX_INFO_DESTRUCT(&elements[i]);
}

/* A number of a session, application, node or process, and which one it is of. */
static void load_level(pmix_info_t* info, const char* array, const char* which, uint32_t number, pmix_data_type_t type,
                       const char* key, uint32_t value) {
    pmix_info_t elements[2];
    PMIX_INFO_LOAD(&elements[0], which, &number, type);
    PMIX_INFO_LOAD(&elements[1], key, &value, PMIX_UINT32);
    load_array(info, array, elements, 2);
}

static void load_node(pmix_info_t* info, const char* name, uint32_t id, uint32_t max_procs) {
    pmix_info_t elements[3];
    PMIX_INFO_LOAD(&elements[0], PMIX_HOSTNAME, name, PMIX_STRING);
    PMIX_INFO_LOAD(&elements[1], PMIX_NODEID, &id, PMIX_UINT32);
    PMIX_INFO_LOAD(&elements[2], PMIX_MAX_PROCS, &max_procs, PMIX_UINT32);
    load_array(info, PMIX_NODE_INFO_ARRAY, elements, 3);
}

/* The same key has another number at each level. */
static void register_spread_job(const char* name) {
    enum { INFOS = 16 };
    pmix_info_t info[INFOS];
    size_t n = 0;
    char host[256] = "", nodes[300];
    uint32_t size = 3, num_nodes = 10, session = 77, max_procs = 1000;
    CHECK(gethostname(host, sizeof host - 1) == 0);
    snprintf(nodes, sizeof nodes, "%s,far", host);
    PMIX_INFO_LOAD(&info[n++], PMIX_NODE_MAP, nodes, PMIX_STRING);
    PMIX_INFO_LOAD(&info[n++], PMIX_PROC_MAP, "0,1;2", PMIX_STRING);
    PMIX_INFO_LOAD(&info[n++], PMIX_JOB_SIZE, &size, PMIX_UINT32);
    PMIX_INFO_LOAD(&info[n++], PMIX_NUM_NODES, &num_nodes, PMIX_UINT32);
    PMIX_INFO_LOAD(&info[n++], PMIX_MAX_PROCS, &max_procs, PMIX_UINT32);
    PMIX_INFO_LOAD(&info[n++], PMIX_SESSION_ID, &session, PMIX_UINT32);
    load_level(&info[n++], PMIX_SESSION_INFO_ARRAY, PMIX_SESSION_ID, 77, PMIX_UINT32, PMIX_NUM_NODES, 40);
    load_level(&info[n++], PMIX_SESSION_INFO_ARRAY, PMIX_SESSION_ID, 78, PMIX_UINT32, PMIX_NUM_NODES, 50);
    load_level(&info[n++], PMIX_APP_INFO_ARRAY, PMIX_APPNUM, 0, PMIX_UINT32, PMIX_NUM_NODES, 20);
    load_level(&info[n++], PMIX_APP_INFO_ARRAY, PMIX_APPNUM, 1, PMIX_UINT32, PMIX_NUM_NODES, 21);
    load_node(&info[n++], host, 8, 11);
    load_node(&info[n++], "far", 9, 12);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        load_level(&info[n++], PMIX_PROC_INFO_ARRAY, PMIX_RANK, rank, PMIX_PROC_RANK, PMIX_MAX_PROCS, 5);
    CHECK(n <= INFOS);
    pmix_nspace_t nspace;
    PMIX_LOAD_NSPACE(nspace, name);
    CHECK_OK(PMIx_server_register_nspace(nspace, RANKS, info, n, NULL, NULL));
    for (size_t i = 0; i < n; i++) PMIX_INFO_DESTRUCT(&info[i]);
    for (uint32_t rank = 0; rank < RANKS; rank++) register_rank(name, rank, NULL, NULL);
}

static void run_spread_job(pmix_server_module_t* module, const char* mode) {
    CHECK_OK(PMIx_server_init(module, NULL, 0));
    register_spread_job("job");
    run_job("job", RANKS, mode);
    deregister_job("job");
    CHECK_OK(PMIx_server_finalize());
}

/* --- direct modex --------------------------------------------------------------------------------------------------
 */

static int asked_refused, asked_absent, asked_other;

/* What is asked for stands in PMIX_REQUIRED_KEY, and the answer is the client's. */
static pmix_status_t direct_modex(const pmix_proc_t* proc, const pmix_info_t info[], size_t ninfo,
                                  pmix_modex_cbfunc_t done, void* cbdata) {
    const char* key = NULL;
    for (size_t i = 0; i < ninfo; i++)
        if (PMIX_CHECK_KEY(&info[i], PMIX_REQUIRED_KEY)) key = info[i].value.data.string;
    CHECK(key && strcmp(proc->nspace, "job") == 0 && proc->rank == 2);
    pmix_status_t status = PMIX_ERR_NOT_FOUND;
    if (strcmp(key, "far.refused") == 0) {
        asked_refused++;
        status = PMIX_ERR_NO_PERMISSIONS;
    } else if (strcmp(key, "far.absent") == 0) {
        asked_absent++;
    } else {
        asked_other++;
    }
    done(status, NULL, 0, cbdata, NULL, NULL);
    return PMIX_SUCCESS;
}

static void has_direct_modex(void) {
    pmix_server_module_t module = module_that(BY_CALLBACK, BY_CALLBACK);
    module.direct_modex = direct_modex;
    run_spread_job(&module, "far");
    CHECK(asked_refused > 0 && asked_absent > 0);
    CHECK(asked_other == 0); /* PMIX_IMMEDIATE and PMIX_OPTIONAL ask no host */
}

static void has_no_direct_modex(void) {
    run_spread_job(NULL, "far-unreachable");
}

/* --- what else is asked for ------------------------------------------------------------------------------------------
 */

static void has_every_level(void) {
    run_spread_job(NULL, "levels");
}

static void has_what_is_asked_for(void) {
    run_spread_job(NULL, "values");
}

static void sees_reserved_keys(void) {
    run_spread_job(NULL, "reserved");
}

static void is_strict_about_reserved_keys(void) {
    run_spread_job(NULL, "reserved-strict");
}

static void has_another_job(void) {
    CHECK_OK(PMIx_server_init(NULL, NULL, 0));
    register_spread_job("job");
    register_job("other", RANKS, NULL, NULL);
    run_job("job", RANKS, "optional");
    deregister_job("job");
    deregister_job("other");
    CHECK_OK(PMIx_server_finalize());
}

/* --- services
 * ---------------------------------------------------------------------------------------------------------- */

static void offers_no_service(void) {
    run_spread_job(NULL, "no-service");
}

static void offers_no_entry(void) {
    pmix_server_module_t module;
    memset(&module, 0, sizeof module);
    run_spread_job(&module, "no-service");
}

/* --- a registration that is continued, and a namespace of other nodes
 * -------------------------------------------------- */

static int fences_with_elsewhere;

static pmix_status_t fence_upcall(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[], size_t ninfo,
                                  char* data, size_t ndata, pmix_modex_cbfunc_t done, void* cbdata) {
    bool job = false, elsewhere = false;
    (void)info, (void)ninfo;
    for (size_t i = 0; i < nprocs; i++) {
        job |= strcmp(procs[i].nspace, "job") == 0;
        elsewhere |= strcmp(procs[i].nspace, "elsewhere") == 0;
    }
    CHECK(job && elsewhere);
    fences_with_elsewhere++;
    done(PMIX_SUCCESS, data, ndata, cbdata, free, data); /* the other node has nothing to add */
    return PMIX_SUCCESS;
}

static int registrations;

/* The rank that publishes waits until this has returned. */
static pmix_status_t registers_more(const pmix_proc_t* proc, const pmix_info_t info[], size_t ninfo,
                                    pmix_op_cbfunc_t done, void* cbdata) {
    pmix_info_t more[2];
    pmix_nspace_t job;
    char text[32];
    uint32_t nodes = 11;
    (void)proc, (void)info, (void)ninfo;
    snprintf(text, sizeof text, "more %d", ++registrations);
    PMIX_INFO_LOAD(&more[0], "pmix.zoo.more", text, PMIX_STRING);
    PMIX_INFO_LOAD(&more[1], PMIX_NUM_NODES, &nodes, PMIX_UINT32);
    PMIX_LOAD_NSPACE(job, "job");
    CHECK_DONE(PMIx_server_register_nspace(job, RANKS, more, 2, NULL, NULL));
    for (int i = 0; i < 2; i++) PMIX_INFO_DESTRUCT(&more[i]);
    done(PMIX_SUCCESS, cbdata);
    return PMIX_SUCCESS;
}

static void registers_more_later(void) {
    pmix_server_module_t module = module_that(BY_CALLBACK, BY_CALLBACK);
    pmix_info_t info[3];
    pmix_nspace_t elsewhere;
    uint32_t size = 2;
    module.fence_nb = fence_upcall;
    module.publish = registers_more;
    CHECK_OK(PMIx_server_init(&module, NULL, 0));
    register_job("job", RANKS, NULL, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) register_rank("job", rank, NULL, NULL);
    PMIX_INFO_LOAD(&info[0], PMIX_NODE_MAP, "far", PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_PROC_MAP, "0,1", PMIX_STRING);
    PMIX_INFO_LOAD(&info[2], PMIX_JOB_SIZE, &size, PMIX_UINT32);
    PMIX_LOAD_NSPACE(elsewhere, "elsewhere");
    CHECK_DONE(PMIx_server_register_nspace(elsewhere, 0, info, 3, NULL, NULL));
    for (int i = 0; i < 3; i++) PMIX_INFO_DESTRUCT(&info[i]);
    run_job("job", RANKS, "more");
    CHECK(registrations == 2);
    CHECK(fences_with_elsewhere == 1);
    deregister_job("job");
    deregister_job("elsewhere");
    CHECK_OK(PMIx_server_finalize());
}

/* --- a tool
 * ------------------------------------------------------------------------------------------------------------ */

static pmix_value_t offer;
static bool offered;

static void takes_tool(pmix_info_t* info, size_t ninfo, pmix_tool_connection_cbfunc_t done, void* cbdata) {
    pmix_proc_t name = proc_of("a-tool", 0);
    (void)info, (void)ninfo;
    done(PMIX_SUCCESS, &name, cbdata);
}

static pmix_status_t keeps_offer(const pmix_proc_t* proc, const pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t done,
                                 void* cbdata) {
    CHECK(strcmp(proc->nspace, "a-tool") == 0);
    for (size_t i = 0; i < ninfo; i++) {
        if (!PMIX_CHECK_KEY(&info[i], "tool.offer")) continue;
        CHECK_OK(PMIx_Value_xfer(&offer, &info[i].value));
        offered = true;
    }
    done(PMIX_SUCCESS, cbdata);
    return PMIX_SUCCESS;
}

static pmix_status_t finds_offer(const pmix_proc_t* proc, char** keys, const pmix_info_t info[], size_t ninfo,
                                 pmix_lookup_cbfunc_t done, void* cbdata) {
    pmix_pdata_t found;
    (void)info, (void)ninfo;
    if (!offered || !keys || strcmp(keys[0], "tool.offer") != 0) return PMIX_ERR_NOT_FOUND;
    memset(&found, 0, sizeof found);
    found.proc = *proc;
    PMIX_LOAD_KEY(found.key, "tool.offer");
    found.value = offer;
    done(PMIX_SUCCESS, &found, 1, cbdata);
    return PMIX_SUCCESS;
}

static pmix_status_t answers_query(pmix_proc_t* proc, pmix_query_t* queries, size_t nqueries, pmix_info_cbfunc_t done,
                                   void* cbdata) {
    pmix_info_t answer;
    CHECK(strcmp(proc->nspace, "a-tool") == 0 && nqueries == 1 && strcmp(queries[0].keys[0], "zoo.question") == 0);
    PMIX_INFO_LOAD(&answer, "zoo.question", "an answer", PMIX_STRING);
    done(PMIX_SUCCESS, &answer, 1, cbdata, NULL, NULL);
    PMIX_INFO_DESTRUCT(&answer);
    return PMIX_SUCCESS;
}

static void serves_a_tool(void) {
    pmix_server_module_t module;
    pmix_info_t info;
    const bool yes = true;
    memset(&module, 0, sizeof module);
    module.tool_connected = takes_tool;
    module.publish = keeps_offer;
    module.lookup = finds_offer;
    module.query = answers_query;
    PMIX_INFO_LOAD(&info, PMIX_SERVER_TOOL_SUPPORT, &yes, PMIX_BOOL);
    CHECK_OK(PMIx_server_init(&module, &info, 1));
    register_job("job", RANKS, NULL, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) register_rank("job", rank, NULL, NULL); /* of the tool's user */
    await_client(start_in(NULL, "tool"), 0);
    CHECK(offered);
    PMIX_VALUE_DESTRUCT(&offer);
    deregister_job("job");
    CHECK_OK(PMIx_server_finalize());
}

const struct host data_hosts[] = {
    {"has_direct_modex", has_direct_modex},
    {"has_no_direct_modex", has_no_direct_modex},
    {"has_every_level", has_every_level},
    {"has_what_is_asked_for", has_what_is_asked_for},
    {"has_another_job", has_another_job},
    {"sees_reserved_keys", sees_reserved_keys},
    {"is_strict_about_reserved_keys", is_strict_about_reserved_keys},
    {"offers_no_service", offers_no_service},
    {"offers_no_entry", offers_no_entry},
    {"registers_more_later", registers_more_later},
    {"serves_a_tool", serves_a_tool},
    {NULL, NULL},
};
