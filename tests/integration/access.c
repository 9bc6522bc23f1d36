/* SPDX-License-Identifier: BSD-3-Clause */
/* access: information of a session, a job, an application, a process and a node, asked for in every way that the
 * Standard shows in "Accessing information: examples". What must come out is counted here from what is known of each
 * rank. usage: access NODES    how many nodes the session has; run with at least two applications on at least two nodes
 */
#include "check.h"

static uint32_t nodes_of_session, app_count;

/* The number that a Get gave. */
static uint32_t take(pmix_value_t** value) {
    CHECK(*value && (*value)->type == PMIX_UINT32);
    uint32_t number = (*value)->data.uint32;
    PMIX_VALUE_RELEASE(*value);
    *value = NULL;
    return number;
}
#define CHECK_U32(call, wanted)         \
    do {                                \
        CHECK_OK(call);                 \
        uint32_t wanted_ = (wanted);    \
        CHECK(take(&value) == wanted_); \
    } while (0)

static uint32_t u32_of(pmix_rank_t rank, const char* key) {
    pmix_proc_t proc = rank_of_job(rank);
    pmix_value_t* value = NULL;
    CHECK_OK(PMIx_Get(&proc, key, NULL, 0, &value));
    return take(&value);
}

/* --- counted: the ranks of an application or a node, and the nodes of an application --------------------------------
 */

static bool in_app(pmix_rank_t rank, uint32_t app) {
    return u32_of(rank, PMIX_APPNUM) == app;
}

static uint32_t size_of_app(uint32_t app) {
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < job_size; rank++) count += in_app(rank, app);
    return count;
}

/* app_count stands for all of them. */
static uint32_t nodes_of_app(uint32_t app) {
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < job_size; rank++) {
        bool counts = app == app_count || in_app(rank, app), seen = false;
        for (uint32_t other = 0; other < rank && counts; other++) {
            seen |= (app == app_count || in_app(other, app)) && same_node(rank, other);
        }
        count += counts && !seen;
    }
    return count;
}

static uint32_t size_of_node_with(pmix_rank_t rank) {
    uint32_t count = 0;
    for (uint32_t other = 0; other < job_size; other++) count += same_node(rank, other);
    return count;
}

static char* host_of(pmix_rank_t rank) {
    pmix_proc_t proc = rank_of_job(rank);
    pmix_value_t* value = NULL;
    CHECK_OK(PMIx_Get(&proc, PMIX_HOSTNAME, NULL, 0, &value));
    CHECK(value->type == PMIX_STRING);
    char* host = strdup(value->data.string);
    PMIX_VALUE_RELEASE(value);
    return host;
}

/* --- the examples
 * -----------------------------------------------------------------------------------------------------
 */

/* rows: K25 K15 */
static void session_level(void) {
    pmix_info_t info[2];
    pmix_value_t* value = NULL;
    pmix_proc_t wildcard;
    PMIX_PROC_LOAD(&wildcard, me.nspace, PMIX_RANK_WILDCARD);
    CHECK_OK(PMIx_Get(&wildcard, PMIX_UNIV_SIZE, NULL, 0, &value));
    CHECK(take(&value) >= job_size);
    /* Not an attribute of the session alone: it must be asked for the session. */
    PMIX_INFO_LOAD(&info[0], PMIX_SESSION_INFO, NULL, PMIX_BOOL);
    CHECK_U32(PMIx_Get(&wildcard, PMIX_NUM_NODES, info, 1, &value), nodes_of_session);
    /* By its number, when the process does not count. */
    CHECK_OK(PMIx_Get(&wildcard, PMIX_SESSION_ID, NULL, 0, &value));
    uint32_t sid = take(&value);
    PMIX_INFO_LOAD(&info[1], PMIX_SESSION_ID, &sid, PMIX_UINT32);
    CHECK_U32(PMIx_Get(&me, PMIX_NUM_NODES, info, 2, &value), nodes_of_session);
    sid = 12345;
    PMIX_INFO_LOAD(&info[1], PMIX_SESSION_ID, &sid, PMIX_UINT32);
    CHECK(PMIx_Get(&me, PMIX_NUM_NODES, info, 2, &value) != PMIX_SUCCESS && value == NULL);
}

/* rows: K15 */
static void job_level(void) {
    pmix_info_t info;
    pmix_value_t* value = NULL;
    pmix_proc_t wildcard;
    PMIX_PROC_LOAD(&wildcard, me.nspace, PMIX_RANK_WILDCARD);
    CHECK_U32(PMIx_Get(&wildcard, PMIX_JOB_NUM_APPS, NULL, 0, &value), app_count);
    PMIX_INFO_LOAD(&info, PMIX_JOB_INFO, NULL, PMIX_BOOL);
    CHECK_U32(PMIx_Get(&wildcard, PMIX_NUM_NODES, &info, 1, &value), nodes_of_app(app_count));
}

/* rows: K15 */
static void app_level(void) {
    pmix_info_t info, appinfo[2];
    pmix_value_t* value = NULL;
    pmix_proc_t otherproc;
    uint32_t appnum = u32_of(me.rank, PMIX_APPNUM);
    CHECK_U32(PMIx_Get(&me, PMIX_APP_SIZE, NULL, 0, &value), size_of_app(appnum));
    /* By a process in it: the first one behind the first application. */
    PMIX_PROC_LOAD(&otherproc, me.nspace, size_of_app(0));
    CHECK(in_app(otherproc.rank, 1));
    CHECK_U32(PMIx_Get(&otherproc, PMIX_APP_SIZE, NULL, 0, &value), size_of_app(1));
    PMIX_INFO_LOAD(&info, PMIX_APP_INFO, NULL, PMIX_BOOL);
    CHECK_U32(PMIx_Get(&otherproc, PMIX_NUM_NODES, &info, 1, &value), nodes_of_app(1));
    for (appnum = 0; appnum < app_count; appnum++) {
        /* By its number, for any process; also for what is an application's alone. */
        PMIX_INFO_LOAD(&appinfo[0], PMIX_APP_INFO, NULL, PMIX_BOOL);
        PMIX_INFO_LOAD(&appinfo[1], PMIX_APPNUM, &appnum, PMIX_UINT32);
        CHECK_U32(PMIx_Get(&me, PMIX_NUM_NODES, appinfo, 2, &value), nodes_of_app(appnum));
        CHECK_U32(PMIx_Get(&me, PMIX_APP_SIZE, &appinfo[1], 1, &value), size_of_app(appnum));
        /* By job and number, when the process does not count at all. */
        pmix_info_t named[2];
        pmix_proc_t nobody;
        PMIX_PROC_LOAD(&nobody, "no.such.job", 0);
        named[0] = appinfo[1];
        PMIX_INFO_LOAD(&named[1], PMIX_NSPACE, me.nspace, PMIX_STRING);
        CHECK_U32(PMIx_Get(&nobody, PMIX_APP_SIZE, named, 2, &value), size_of_app(appnum));
        PMIX_INFO_DESTRUCT(&named[1]);
    }
}

/* Without a directive it is the process's. rows: K15 */
static void process_level(void) {
    pmix_value_t* value = NULL;
    for (uint32_t rank = 0; rank < job_size; rank++) {
        pmix_proc_t proc = rank_of_job(rank);
        CHECK_OK(PMIx_Get(&proc, PMIX_GLOBAL_RANK, NULL, 0, &value));
        CHECK(value->type == PMIX_PROC_RANK && value->data.rank == rank);
        PMIX_VALUE_RELEASE(value);
    }
}

/* rows: K15 */
static void node_level(void) {
    pmix_info_t info[2];
    pmix_value_t* value = NULL;
    CHECK_U32(PMIx_Get(&me, PMIX_NODE_SIZE, NULL, 0, &value), size_of_node_with(me.rank));
    for (uint32_t rank = 0; rank < job_size; rank++) {
        uint32_t size = size_of_node_with(rank), nodeid = u32_of(rank, PMIX_NODEID);
        char* host = host_of(rank);
        pmix_proc_t there = rank_of_job(rank);
        CHECK_U32(PMIx_Get(&there, PMIX_NODE_SIZE, NULL, 0, &value), size);
        PMIX_INFO_LOAD(&info[0], PMIX_NODE_INFO, NULL, PMIX_BOOL);
        PMIX_INFO_LOAD(&info[1], PMIX_HOSTNAME, host, PMIX_STRING);
        CHECK_U32(PMIx_Get(&me, PMIX_MAX_PROCS, info, 2, &value), size);
        CHECK_U32(PMIx_Get(&me, PMIX_NODE_SIZE, &info[1], 1, &value), size);
        PMIX_INFO_DESTRUCT(&info[1]);
        PMIX_INFO_LOAD(&info[1], PMIX_NODEID, &nodeid, PMIX_UINT32);
        CHECK_U32(PMIx_Get(&me, PMIX_MAX_PROCS, info, 2, &value), size);
        CHECK_U32(PMIx_Get(&me, PMIX_NODE_SIZE, &info[1], 1, &value), size);
        free(host);
    }
    PMIX_INFO_LOAD(&info[1], PMIX_HOSTNAME, "no.such.host", PMIX_STRING);
    CHECK(PMIx_Get(&me, PMIX_MAX_PROCS, info, 2, &value) != PMIX_SUCCESS && value == NULL);
    PMIX_INFO_DESTRUCT(&info[1]);
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    nodes_of_session = (uint32_t)strtoul(argv[1], NULL, 10);
    start();
    app_count = job_u32(PMIX_JOB_NUM_APPS);
    CHECK(app_count > 1);
    session_level();
    job_level();
    app_level();
    process_level();
    node_level();
    return finish();
}
