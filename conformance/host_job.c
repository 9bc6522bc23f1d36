/* SPDX-License-Identifier: BSD-3-Clause */
/* How the small host registers a job: what a resource manager gives its processes before they start. */
#include "host.h"

static const char* node_name(int node) {
    static char here[256];
    if (host_has_two_nodes()) return node == 0 ? "nodea" : "nodeb";
    if (here[0] == '\0') gethostname(here, sizeof(here) - 1);
    return node == 0 ? here : "faraway";
}

static void add_rank(char* list, size_t size, int rank) {
    size_t used = strlen(list);
    snprintf(list + used, size - used, "%s%d", used > 0 ? "," : "", rank);
}

static pmix_info_t info_array(const char* key, pmix_info_t* infos, size_t n) {
    pmix_data_array_t array = {PMIX_INFO, n, infos};
    return info_of(key, &array, PMIX_DATA_ARRAY);
}

void host_register_job(const char* nspace, int ranks) {
    bool main_job = strcmp(nspace, row_nspace) == 0;
    int all = ranks + (main_job ? host_remote_ranks : 0);
    char on_node[2][400] = {"", ""};
    int sizes[2] = {0, 0};
    for (int rank = 0; rank < all; ++rank) {
        int node = main_job ? host_node_of((pmix_rank_t)rank) : host_my_node();
        add_rank(on_node[node], sizeof(on_node[node]), rank);
        ++sizes[node];
    }
    int first = sizes[0] > 0 ? 0 : 1;
    int nodes = sizes[0] > 0 && sizes[1] > 0 ? 2 : 1;
    char names[600], maps[900];
    if (nodes == 2) {
        snprintf(names, sizeof(names), "%s,%s", node_name(0), node_name(1));
        snprintf(maps, sizeof(maps), "%s;%s", on_node[0], on_node[1]);
    } else {
        snprintf(names, sizeof(names), "%s", node_name(first));
        snprintf(maps, sizeof(maps), "%s", on_node[first]);
    }
    char *node_regex = NULL, *proc_regex = NULL;
    EXPECT_OK(PMIx_generate_regex(names, &node_regex));
    EXPECT_OK(PMIx_generate_ppn(maps, &proc_regex));
    pmix_info_t info[80];
    size_t n = 0;
    uint32_t number = (uint32_t)all;
    uint32_t session_id = 7;
    pmix_info_t session[2] = {info_of(PMIX_SESSION_ID, &session_id, PMIX_UINT32),
                              info_of(PMIX_UNIV_SIZE, &number, PMIX_UINT32)};
    info[n++] = info_array(PMIX_SESSION_INFO_ARRAY, session, 2);
    info[n++] = info_of(PMIX_MAX_PROCS, &number, PMIX_UINT32);
    info[n++] = info_of(PMIX_JOB_SIZE, &number, PMIX_UINT32);
    info[n++] = info_of(PMIX_JOBID, nspace, PMIX_STRING);
    number = 1;
    info[n++] = info_of(PMIX_JOB_NUM_APPS, &number, PMIX_UINT32);
    number = (uint32_t)nodes;
    info[n++] = info_of(PMIX_NUM_NODES, &number, PMIX_UINT32);
    number = (uint32_t)sizes[host_my_node()];
    info[n++] = info_of(PMIX_LOCAL_SIZE, &number, PMIX_UINT32);
    info[n++] = info_of(PMIX_LOCAL_PEERS, on_node[host_my_node()], PMIX_STRING);
#ifdef PMIX_REGEX
    info[n++] = info_of(PMIX_NODE_MAP, node_regex, PMIX_REGEX);
    info[n++] = info_of(PMIX_PROC_MAP, proc_regex, PMIX_REGEX);
#else
    info[n++] = info_of(PMIX_NODE_MAP, node_regex, PMIX_STRING);
    info[n++] = info_of(PMIX_PROC_MAP, proc_regex, PMIX_STRING);
#endif
    uint16_t local[2] = {0, 0};
    for (int rank = 0; rank < all; ++rank) {
        int node = main_job ? host_node_of((pmix_rank_t)rank) : host_my_node();
        pmix_info_t proc[9];
        size_t k = 0;
        pmix_rank_t pmix_rank = (pmix_rank_t)rank;
        uint32_t nodeid = (uint32_t)node, appnum = 0;
        proc[k++] = info_of(PMIX_RANK, &pmix_rank, PMIX_PROC_RANK);
        proc[k++] = info_of(PMIX_APPNUM, &appnum, PMIX_UINT32);
        proc[k++] = info_of(PMIX_GLOBAL_RANK, &pmix_rank, PMIX_PROC_RANK);
        proc[k++] = info_of(PMIX_APP_RANK, &pmix_rank, PMIX_PROC_RANK);
        proc[k++] = info_of(PMIX_LOCAL_RANK, &local[node], PMIX_UINT16);
        proc[k++] = info_of(PMIX_NODE_RANK, &local[node], PMIX_UINT16);
        proc[k++] = info_of(PMIX_HOSTNAME, node_name(node), PMIX_STRING);
        proc[k++] = info_of(PMIX_NODEID, &nodeid, PMIX_UINT32);
        pmix_proc_t parent = proc_of(row_nspace, 0);
        if (!main_job) proc[k++] = info_of(PMIX_PARENT_ID, &parent, PMIX_PROC);
        ++local[node];
        info[n++] = info_array(PMIX_PROC_INFO_ARRAY, proc, k);
    }
    uint32_t appnum = 0, app_size = (uint32_t)all;
    pmix_info_t app[2] = {info_of(PMIX_APPNUM, &appnum, PMIX_UINT32), info_of(PMIX_APP_SIZE, &app_size, PMIX_UINT32)};
    info[n++] = info_array(PMIX_APP_INFO_ARRAY, app, 2);
    for (int node = 0; node < 2; ++node) {
        if (sizes[node] == 0) continue;
        uint32_t nodeid = (uint32_t)node, size = (uint32_t)sizes[node];
        pmix_info_t about[4] = {info_of(PMIX_HOSTNAME, node_name(node), PMIX_STRING),
                                info_of(PMIX_NODEID, &nodeid, PMIX_UINT32), info_of(PMIX_NODE_SIZE, &size, PMIX_UINT32),
                                info_of(PMIX_LOCAL_PEERS, on_node[node], PMIX_STRING)};
        info[n++] = info_array(PMIX_NODE_INFO_ARRAY, about, 4);
    }
    struct signal done = {0, 0};
    pmix_status_t status =
        EXPECT_ACCEPTED(PMIx_server_register_nspace(nspace, sizes[host_my_node()], info, n, op_done, &done));
    if (status == PMIX_SUCCESS) {
        wait_signal(&done, 1, "the callback of PMIx_server_register_nspace");
        EXPECT_OK(done.status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : done.status);
    }
    for (int rank = 0; rank < all; ++rank) {
        if (main_job && host_node_of((pmix_rank_t)rank) != host_my_node()) continue;
        pmix_proc_t proc = proc_of(nspace, (pmix_rank_t)rank);
        struct signal registered = {0, 0};
        status = EXPECT_ACCEPTED(PMIx_server_register_client(&proc, geteuid(), getegid(),
                                                             (void*)(uintptr_t)(0x1000 + rank), op_done, &registered));
        if (status == PMIX_SUCCESS) wait_signal(&registered, 1, "the callback of PMIx_server_register_client");
    }
}
