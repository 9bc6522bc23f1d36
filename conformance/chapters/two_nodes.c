/* SPDX-License-Identifier: BSD-3-Clause */
/* Two servers, each with half of the ranks: what crosses nodes. The hosts exchange what a resource manager would. */
#include "check.h"
#include "host.h"

#define SCOPES "Data Access and Sharing / PMIx_Put"
#define RULES "Data Access and Sharing / Retrieval rules for non-reserved keys"
#define MODEX "Server-Specific Interfaces / pmix_server_dmodex_req_fn_t"

static pmix_proc_t other_node(void) {
    return proc_of(me.nspace, (pmix_rank_t)(my_rank < 2 ? 2 : 0));
}
static pmix_proc_t same_node(void) {
    return proc_of(me.nspace, (pmix_rank_t)(my_rank ^ 1));
}

ROW(nodes_fence, "Synchronization / PMIx_Fence", "A fence spans two servers", .ranks = 4, .nodes = 2) {
    for (int i = 0; i < 20; ++i) EXPECT_OK(PMIx_Fence(NULL, 0, NULL, 0));
}
ROW(nodes_collect, "Synchronization / PMIx_Fence", "Collected data of the other node is local", .ranks = 4,
    .nodes = 2) {
    put_int(PMIX_GLOBAL, "card", 10 + my_rank);
    EXPECT_OK(PMIx_Commit());
    barrier(true);
    for (pmix_rank_t rank = 0; rank < 4; ++rank) {
        pmix_proc_t peer = proc_of(me.nspace, rank);
        pmix_info_t info[2] = {info_true(PMIX_IMMEDIATE), info_timeout(5)};
        pmix_value_t* value = NULL;
        EXPECT_OK(PMIx_Get(&peer, "card", info, 2, &value));
        EXPECT_INT(10 + rank, value->data.integer);
    }
}
ROW(nodes_remote_scope, SCOPES, "Data of PMIX_REMOTE scope reaches the other node", .ranks = 4, .nodes = 2) {
    pmix_value_t value = value_int(10 + my_rank);
    EXPECT_OPTIONAL(PMIx_Put(PMIX_REMOTE, "remote", &value), PMIX_SUCCESS);
    EXPECT_OK(PMIx_Commit());
    barrier(true);
    pmix_proc_t peer = other_node();
    EXPECT_INT(10 + peer.rank, get_int(&peer, "remote"));
}
ROW(nodes_local_scope, SCOPES, "Data of PMIX_LOCAL scope does not leave its node", .ranks = 4, .nodes = 2) {
    pmix_value_t value = value_int(10 + my_rank);
    EXPECT_OPTIONAL(PMIx_Put(PMIX_LOCAL, "local", &value), PMIX_SUCCESS);
    EXPECT_OK(PMIx_Commit());
    barrier(true);
    pmix_proc_t near = same_node(), far = other_node();
    EXPECT_INT(10 + near.rank, get_int(&near, "local"));
    pmix_info_t info[2] = {info_true(PMIX_IMMEDIATE), info_timeout(3)};
    EXPECT_ERROR(status_of_get(&far, "local", info, 2));
    barrier(false);
}
ROW(nodes_two_scopes, SCOPES, "One key with two scopes: each node sees its own value", .ranks = 4, .nodes = 2) {
    pmix_value_t near_value = value_int(100 + my_rank), far_value = value_int(200 + my_rank);
    EXPECT_OPTIONAL(PMIx_Put(PMIX_LOCAL, "both", &near_value), PMIX_SUCCESS);
    EXPECT_OPTIONAL(PMIx_Put(PMIX_REMOTE, "both", &far_value), PMIX_SUCCESS);
    EXPECT_OK(PMIx_Commit());
    barrier(true);
    pmix_proc_t near = same_node(), far = other_node();
    EXPECT_INT(100 + near.rank, get_int(&near, "both"));
    EXPECT_INT(200 + far.rank, get_int(&far, "both"));
}
ROW(nodes_direct, MODEX, "Without a collecting fence the data is fetched from the other node", .ranks = 4, .nodes = 2) {
    put_int(PMIX_GLOBAL, "direct", 10 + my_rank);
    EXPECT_OK(PMIx_Commit());
    barrier(false);
    pmix_proc_t far = other_node();
    EXPECT_INT(10 + far.rank, get_int(&far, "direct"));
    barrier(false);
}
ROW(nodes_direct_waits, MODEX, "A request from the other node is held until the key is posted", .ranks = 4,
    .nodes = 2) {
    if (my_rank == 0) {
        pmix_proc_t far = proc_of(me.nspace, 3);
        EXPECT_INT(33, get_int(&far, "late"));
    } else if (my_rank == 3) {
        pause_ms(400);
        put_int(PMIX_GLOBAL, "late", 33);
        EXPECT_OK(PMIx_Commit());
    }
    barrier(false);
}
static void direct_checked(void) {
    if (host_my_node() != 0) return;
    const struct upcall* upcall = upcall_at("direct_modex", 0);
    EXPECT_STRING(row_nspace, upcall->proc.nspace);
    EXPECT_INT(2, upcall->proc.rank);
    const pmix_info_t* key = upcall_info(upcall, PMIX_REQUIRED_KEY);
    EXPECT(key != NULL);
    EXPECT_STRING("wanted", key->value.data.string);
}
ROW(nodes_required_key, MODEX, "The host has the process, and the key as PMIX_REQUIRED_KEY", .ranks = 4, .nodes = 2,
    .after = direct_checked) {
    put_int(PMIX_GLOBAL, "wanted", 10 + my_rank);
    EXPECT_OK(PMIx_Commit());
    barrier(false);
    pmix_proc_t far = proc_of(me.nspace, 2);
    if (my_rank == 0) EXPECT_INT(12, get_int(&far, "wanted"));
    barrier(false);
}
ROW(nodes_immediate, RULES, "With PMIX_IMMEDIATE the other node is not asked", .ranks = 4, .nodes = 2) {
    put_int(PMIX_GLOBAL, "direct", 10 + my_rank);
    EXPECT_OK(PMIx_Commit());
    barrier(false);
    pmix_proc_t far = other_node();
    pmix_info_t info[2] = {info_true(PMIX_IMMEDIATE), info_timeout(5)};
    EXPECT_STATUS(status_of_get(&far, "direct", info, 2), PMIX_ERR_NOT_FOUND);
    barrier(false);
}
ROW(nodes_timeout, RULES, "A key that the other node never posts is PMIX_ERR_TIMEOUT after the timeout", .ranks = 4,
    .nodes = 2) {
    pmix_proc_t far = other_node();
    pmix_info_t info = info_timeout(1);
    EXPECT_STATUS(status_of_get(&far, "never", &info, 1), PMIX_ERR_TIMEOUT);
    barrier(false);
}
static void no_modex(void) {
    host_module.direct_modex = NULL;
}
ROW(nodes_no_modex, RULES, "Without the host function a key of another node is PMIX_ERR_NOT_FOUND at once", .ranks = 4,
    .nodes = 2, .before = no_modex) {
    pmix_proc_t far = other_node();
    pmix_info_t info = info_timeout(15);
    EXPECT_STATUS(status_of_get(&far, "key", &info, 1), PMIX_ERR_NOT_FOUND);
    barrier(false);
}
ROW(nodes_refresh, RULES, "PMIX_GET_REFRESH_CACHE brings a newer value from the other node", .ranks = 4, .nodes = 2) {
    if (my_rank == 3) {
        put_int(PMIX_GLOBAL, "key", 1);
        EXPECT_OK(PMIx_Commit());
    }
    barrier(false);
    pmix_proc_t far = proc_of(me.nspace, 3);
    if (my_rank == 0) EXPECT_INT(1, get_int(&far, "key"));
    barrier(false);
    if (my_rank == 3) {
        put_int(PMIX_GLOBAL, "key", 2);
        EXPECT_OK(PMIx_Commit());
    }
    barrier(false);
    if (my_rank == 0) {
        pmix_value_t* value = NULL;
        pmix_info_t info[2] = {info_true(PMIX_GET_REFRESH_CACHE), info_timeout(8)};
        EXPECT_OK(PMIx_Get(&far, "key", info, 2, &value));
        EXPECT_INT(2, value->data.integer);
    }
    barrier(false);
}
ROW(nodes_undef, RULES, "A unique key of the other node is found with PMIX_RANK_UNDEF after a collecting fence",
    .ranks = 4, .nodes = 2) {
    char key[20];
    snprintf(key, sizeof(key), "unique-%d", my_rank);
    put_int(PMIX_GLOBAL, key, my_rank);
    EXPECT_OK(PMIx_Commit());
    barrier(true);
    pmix_proc_t anyone = proc_of(me.nspace, PMIX_RANK_UNDEF);
    EXPECT_INT(3, get_int(&anyone, "unique-3"));
    EXPECT_INT(0, get_int(&anyone, "unique-0"));
}
ROW(nodes_group, "Process Sets and Groups / PMIx_Group_construct", "A group spans two servers, with one identifier",
    .ranks = 4, .nodes = 2) {
    pmix_proc_t members[4];
    for (pmix_rank_t i = 0; i < 4; ++i) members[i] = proc_of(me.nspace, i);
    pmix_info_t info = info_true(PMIX_GROUP_ASSIGN_CONTEXT_ID), *results = NULL;
    size_t nresults = 0;
    EXPECT_OPTIONAL(PMIx_Group_construct("group", members, 4, &info, 1, &results, &nresults), PMIX_SUCCESS);
    int context = -1;
    for (size_t i = 0; i < nresults; ++i) {
        if (PMIX_CHECK_KEY(&results[i], PMIX_GROUP_CONTEXT_ID)) context = (int)(results[i].value.data.size & 0xffffff);
    }
    put_int(PMIX_GLOBAL, "context", context);
    EXPECT_OK(PMIx_Commit());
    barrier(true);
    for (int i = 0; i < 4; ++i) EXPECT_INT(context, get_int(&members[i], "context"));
}
ROW(nodes_connect, "Process Management / PMIx_Connect", "Processes of two servers connect and disconnect", .ranks = 4,
    .nodes = 2) {
    pmix_proc_t members[4];
    for (pmix_rank_t i = 0; i < 4; ++i) members[i] = proc_of(me.nspace, i);
    EXPECT_OPTIONAL(PMIx_Connect(members, 4, NULL, 0), PMIX_SUCCESS);
    EXPECT_OK(PMIx_Disconnect(members, 4, NULL, 0));
}
ROW(nodes_locality, "Reserved Keys / Node realm keys",
    "Host name, node size and local peers are those of the process that is asked about", .ranks = 4, .nodes = 2) {
    pmix_value_t* value = NULL;
    pmix_proc_t far = other_node();
    EXPECT_OK(PMIx_Get(&far, PMIX_HOSTNAME, NULL, 0, &value));
    EXPECT_STRING(my_rank < 2 ? "nodeb" : "nodea", value->data.string);
    pmix_proc_t job = proc_of(me.nspace, PMIX_RANK_WILDCARD);
    EXPECT_OK(PMIx_Get(&job, PMIX_LOCAL_PEERS, NULL, 0, &value));
    EXPECT_STRING(my_rank < 2 ? "0,1" : "2,3", value->data.string);
    EXPECT_OK(PMIx_Get(&job, PMIX_NUM_NODES, NULL, 0, &value));
    EXPECT_INT(2, value->data.uint32);
}
