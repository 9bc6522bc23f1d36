/* SPDX-License-Identifier: BSD-3-Clause */
/* Reserved Keys: the data that the host registered, and its realms. */
#include "check.h"
#include "host.h"

#define RULES "Reserved Keys / Retrieval rules for reserved keys"
#define JOB "Reserved Keys / Job realm attributes"
#define APP "Reserved Keys / Application realm attributes"
#define PROC "Reserved Keys / Process realm attributes"
#define NODE "Reserved Keys / Node realm keys"
#define SESSION "Reserved Keys / Session realm attributes"

static pmix_value_t* value_of(pmix_rank_t rank, const char* key, pmix_info_t* info, size_t ninfo) {
    pmix_proc_t proc = proc_of(me.nspace, rank);
    pmix_value_t* value = NULL;
    pmix_status_t status = PMIx_Get(&proc, key, info, ninfo, &value);
    if (status != PMIX_SUCCESS) failed("PMIx_Get(%s) of rank %u: %s", key, rank, PMIx_Error_string(status));
    EXPECT(value != NULL);
    return value;
}

#define NUMBER_KEY(name, chapter, KEY, text, rank, TYPE, member, wanted) \
    ROW(name, chapter, text, .ranks = 2) {                               \
        pmix_value_t* value = value_of(rank, KEY, NULL, 0);              \
        EXPECT_INT(TYPE, value->type);                                   \
        EXPECT_INT(wanted, value->data.member);                          \
    }
NUMBER_KEY(key_job_size, JOB, PMIX_JOB_SIZE, "PMIX_JOB_SIZE is a uint32_t", PMIX_RANK_WILDCARD, PMIX_UINT32, uint32, 2)
NUMBER_KEY(key_univ_size, SESSION, PMIX_UNIV_SIZE, "PMIX_UNIV_SIZE is a uint32_t", PMIX_RANK_WILDCARD, PMIX_UINT32,
           uint32, 2)
NUMBER_KEY(key_max_procs, JOB, PMIX_MAX_PROCS, "PMIX_MAX_PROCS is a uint32_t", PMIX_RANK_WILDCARD, PMIX_UINT32, uint32,
           2)
NUMBER_KEY(key_job_apps, JOB, PMIX_JOB_NUM_APPS, "PMIX_JOB_NUM_APPS is a uint32_t", PMIX_RANK_WILDCARD, PMIX_UINT32,
           uint32, 1)
NUMBER_KEY(key_num_nodes, JOB, PMIX_NUM_NODES, "PMIX_NUM_NODES is that of the job by default", PMIX_RANK_WILDCARD,
           PMIX_UINT32, uint32, 1)
NUMBER_KEY(key_local_size, NODE, PMIX_LOCAL_SIZE, "PMIX_LOCAL_SIZE is a uint32_t", PMIX_RANK_WILDCARD, PMIX_UINT32,
           uint32, 2)
NUMBER_KEY(key_local_rank, PROC, PMIX_LOCAL_RANK, "PMIX_LOCAL_RANK is a uint16_t", me.rank, PMIX_UINT16, uint16,
           my_rank)
NUMBER_KEY(key_node_rank, PROC, PMIX_NODE_RANK, "PMIX_NODE_RANK is a uint16_t", me.rank, PMIX_UINT16, uint16, my_rank)
NUMBER_KEY(key_global_rank, PROC, PMIX_GLOBAL_RANK, "PMIX_GLOBAL_RANK is a rank", me.rank, PMIX_PROC_RANK, rank,
           my_rank)
NUMBER_KEY(key_app_rank, PROC, PMIX_APP_RANK, "PMIX_APP_RANK is a rank", me.rank, PMIX_PROC_RANK, rank, my_rank)
NUMBER_KEY(key_appnum, PROC, PMIX_APPNUM, "PMIX_APPNUM is a uint32_t", me.rank, PMIX_UINT32, uint32, 0)
NUMBER_KEY(key_nodeid, PROC, PMIX_NODEID, "PMIX_NODEID is a uint32_t", me.rank, PMIX_UINT32, uint32, 0)

ROW(key_peer_local_rank, PROC, "The local rank of a peer is that of the peer", .ranks = 3) {
    for (pmix_rank_t rank = 0; rank < 3; ++rank)
        EXPECT_INT(rank, value_of(rank, PMIX_LOCAL_RANK, NULL, 0)->data.uint16);
}
ROW(key_hostname, PROC, "PMIX_HOSTNAME of a process is its node", .ranks = 2) {
    char name[256] = "";
    gethostname(name, sizeof(name) - 1);
    pmix_value_t* value = value_of((pmix_rank_t)(1 - my_rank), PMIX_HOSTNAME, NULL, 0);
    EXPECT_INT(PMIX_STRING, value->type);
    EXPECT_STRING(name, value->data.string);
}
ROW(key_local_peers, NODE, "PMIX_LOCAL_PEERS lists the ranks of the job on the node, with commas", .ranks = 3) {
    pmix_value_t* value = value_of(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS, NULL, 0);
    EXPECT_INT(PMIX_STRING, value->type);
    EXPECT_STRING("0,1,2", value->data.string);
}
ROW(key_jobid, JOB, "PMIX_JOBID is a string", .ranks = 1) {
    pmix_value_t* value = value_of(PMIX_RANK_WILDCARD, PMIX_JOBID, NULL, 0);
    EXPECT_INT(PMIX_STRING, value->type);
    EXPECT_STRING(row_nspace, value->data.string);
}
ROW(key_node_list, JOB, "PMIX_NODE_LIST names the nodes of the job", .ranks = 1) {
    char name[256] = "";
    gethostname(name, sizeof(name) - 1);
    pmix_value_t* value = value_of(PMIX_RANK_WILDCARD, PMIX_NODE_LIST, NULL, 0);
    EXPECT_INT(PMIX_STRING, value->type);
    EXPECT(strstr(value->data.string, name) != NULL);
}
ROW(key_default_realm, JOB, "A job key with PMIX_JOB_INFO is the same as without", .ranks = 2) {
    pmix_info_t info = info_true(PMIX_JOB_INFO);
    EXPECT_INT(2, value_of(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, &info, 1)->data.uint32);
}
ROW(app_size, APP, "PMIX_APP_SIZE with PMIX_APP_INFO is that of the own application", .ranks = 2) {
    pmix_info_t info = info_true(PMIX_APP_INFO);
    pmix_value_t* value = value_of(me.rank, PMIX_APP_SIZE, &info, 1);
    EXPECT_INT(PMIX_UINT32, value->type);
    EXPECT_INT(2, value->data.uint32);
}
ROW(app_by_number, APP, "An application is chosen by PMIX_APPNUM", .ranks = 1) {
    uint32_t number = 0;
    pmix_info_t info[2] = {info_true(PMIX_APP_INFO), info_of(PMIX_APPNUM, &number, PMIX_UINT32)};
    EXPECT_INT(1, value_of(PMIX_RANK_WILDCARD, PMIX_APP_SIZE, info, 2)->data.uint32);
}
ROW(app_unknown, APP, "An application that the job has not is not found", .ranks = 1) {
    uint32_t number = 9;
    pmix_info_t info[3] = {info_true(PMIX_APP_INFO), info_of(PMIX_APPNUM, &number, PMIX_UINT32), info_timeout(2)};
    pmix_proc_t job = proc_of(me.nspace, PMIX_RANK_WILDCARD);
    EXPECT_ERROR(status_of_get(&job, PMIX_APP_SIZE, info, 3));
}
ROW(node_size, NODE, "PMIX_NODE_SIZE with PMIX_NODE_INFO is that of the own node", .ranks = 2) {
    pmix_info_t info = info_true(PMIX_NODE_INFO);
    pmix_value_t* value = value_of(me.rank, PMIX_NODE_SIZE, &info, 1);
    EXPECT_INT(PMIX_UINT32, value->type);
    EXPECT_INT(2, value->data.uint32);
}
static void two_far_ranks(void) {
    host_remote_ranks = 2;
}
ROW(node_by_name, NODE, "Another node is chosen by PMIX_HOSTNAME", .ranks = 1, .before = two_far_ranks) {
    pmix_info_t info[2] = {info_true(PMIX_NODE_INFO), info_of(PMIX_HOSTNAME, "faraway", PMIX_STRING)};
    EXPECT_INT(2, value_of(PMIX_RANK_WILDCARD, PMIX_NODE_SIZE, info, 2)->data.uint32);
}
ROW(node_by_id, NODE, "Another node is chosen by PMIX_NODEID", .ranks = 1, .before = two_far_ranks) {
    uint32_t node = 1;
    pmix_info_t info[2] = {info_true(PMIX_NODE_INFO), info_of(PMIX_NODEID, &node, PMIX_UINT32)};
    EXPECT_INT(2, value_of(PMIX_RANK_WILDCARD, PMIX_NODE_SIZE, info, 2)->data.uint32);
}
ROW(node_of_proc, NODE, "Without a name the node is that of the process", .ranks = 1, .before = two_far_ranks) {
    pmix_info_t info = info_true(PMIX_NODE_INFO);
    EXPECT_INT(2, value_of(1, PMIX_NODE_SIZE, &info, 1)->data.uint32);
    EXPECT_INT(1, value_of(0, PMIX_NODE_SIZE, &info, 1)->data.uint32);
}
ROW(node_unknown, NODE, "A node that nobody knows is not found", .ranks = 1) {
    pmix_info_t info[3] = {info_true(PMIX_NODE_INFO), info_of(PMIX_HOSTNAME, "conformance-no-such-node", PMIX_STRING),
                           info_timeout(2)};
    pmix_proc_t job = proc_of(me.nspace, PMIX_RANK_WILDCARD);
    EXPECT_ERROR(status_of_get(&job, PMIX_NODE_SIZE, info, 3));
}
ROW(remote_proc_data, PROC, "Data of a process of another node is there without its server", .ranks = 1,
    .before = two_far_ranks) {
    EXPECT_STRING("faraway", value_of(2, PMIX_HOSTNAME, NULL, 0)->data.string);
    EXPECT_INT(1, value_of(2, PMIX_LOCAL_RANK, NULL, 0)->data.uint16);
    EXPECT_INT(1, value_of(1, PMIX_NODEID, NULL, 0)->data.uint32);
}
static void no_modex(void) {
    EXPECT_INT(0, upcall_count("direct_modex"));
}
ROW(reserved_absent, RULES,
    "A reserved key that the host has not registered is PMIX_ERR_NOT_FOUND, without a host function", .ranks = 1,
    .after = no_modex) {
    EXPECT_STATUS(status_of_get(&me, PMIX_PACKAGE_RANK, NULL, 0), PMIX_ERR_NOT_FOUND);
    pmix_proc_t job = proc_of(me.nspace, PMIX_RANK_WILDCARD);
    EXPECT_STATUS(status_of_get(&job, PMIX_CREDENTIAL, NULL, 0), PMIX_ERR_NOT_FOUND);
}
ROW(reserved_absent_timeout, RULES, "An absent reserved key does not wait for its timeout", .ranks = 1) {
    pmix_info_t info = info_timeout(3600);
    EXPECT_STATUS(status_of_get(&me, PMIX_PACKAGE_RANK, &info, 1), PMIX_ERR_NOT_FOUND);
}
ROW(reserved_unknown, RULES, "A key that begins with pmix and has no meaning is not found at once", .ranks = 1) {
    EXPECT_STATUS(status_of_get(&me, "pmix.conformance.nothing", NULL, 0), PMIX_ERR_NOT_FOUND);
}
ROW(reserved_other_namespace, RULES, "A reserved key of an unknown namespace with PMIX_IMMEDIATE is PMIX_ERR_NOT_FOUND",
    .ranks = 1) {
    pmix_proc_t other = proc_of("conformance-nowhere", PMIX_RANK_WILDCARD);
    pmix_info_t info[2] = {info_true(PMIX_IMMEDIATE), info_timeout(3)};
    EXPECT_STATUS(status_of_get(&other, PMIX_JOB_SIZE, info, 2), PMIX_ERR_NOT_FOUND);
}
ROW(reserved_optional, RULES, "Job data is found with PMIX_OPTIONAL: it is in the client", .ranks = 1) {
    pmix_info_t info = info_true(PMIX_OPTIONAL);
    EXPECT_INT(1, value_of(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, &info, 1)->data.uint32);
}
ROW(parent_absent, "Process Management / PMIx_Spawn", "A process that was not spawned has no PMIX_PARENT_ID",
    .ranks = 1) {
    EXPECT_STATUS(status_of_get(&me, PMIX_PARENT_ID, NULL, 0), PMIX_ERR_NOT_FOUND);
}
ROW(session_id, SESSION, "PMIX_SESSION_ID is a uint32_t", .ranks = 1) {
    pmix_value_t* value = value_of(PMIX_RANK_WILDCARD, PMIX_SESSION_ID, NULL, 0);
    EXPECT_INT(PMIX_UINT32, value->type);
    EXPECT_INT(7, value->data.uint32);
}
