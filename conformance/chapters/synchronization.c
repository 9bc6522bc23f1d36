/* SPDX-License-Identifier: BSD-3-Clause */
/* Synchronization: PMIx_Fence and PMIx_Fence_nb, and the upcall that they make. */
#include "check.h"
#include "host.h"

#define FENCE "Synchronization / PMIx_Fence"
#define FENCE_NB "Synchronization / PMIx_Fence_nb"
#define UPCALL "Server-Specific Interfaces / pmix_server_fencenb_fn_t"

ROW(fence_null, FENCE, "No processes: the whole namespace of the caller", .ranks = 3) {
    EXPECT_OK(PMIx_Fence(NULL, 0, NULL, 0));
}
ROW(fence_wildcard, FENCE, "PMIX_RANK_WILDCARD stands for all processes of a namespace", .ranks = 3) {
    pmix_proc_t all = proc_of(me.nspace, PMIX_RANK_WILDCARD);
    EXPECT_OK(PMIx_Fence(&all, 1, NULL, 0));
}
ROW(fence_listed, FENCE, "The processes may be listed one by one", .ranks = 3) {
    pmix_proc_t procs[3];
    for (pmix_rank_t i = 0; i < 3; ++i) procs[i] = proc_of(me.nspace, i);
    EXPECT_OK(PMIx_Fence(procs, 3, NULL, 0));
}
ROW(fence_order, FENCE, "The order of the entries has no meaning", .ranks = 3) {
    pmix_proc_t procs[3];
    for (int i = 0; i < 3; ++i) procs[i] = proc_of(me.nspace, (pmix_rank_t)((i + my_rank) % 3));
    EXPECT_OK(PMIx_Fence(procs, 3, NULL, 0));
}
ROW(fence_alone, FENCE, "A fence of the caller alone returns", .ranks = 2) {
    EXPECT_OK(PMIx_Fence(&me, 1, NULL, 0));
    EXPECT_OK(PMIx_Fence(&me, 1, NULL, 0));
}
ROW(fence_barrier, FENCE, "Nobody leaves before the last has called", .ranks = 3) {
    if (my_rank == 2) {
        pause_ms(400);
        put_int(PMIX_GLOBAL, "called", 1);
        EXPECT_OK(PMIx_Commit());
    }
    EXPECT_OK(PMIx_Fence(NULL, 0, NULL, 0));
    pmix_proc_t last = proc_of(me.nspace, 2);
    pmix_info_t info[2] = {info_true(PMIX_IMMEDIATE), info_timeout(5)};
    EXPECT_OK(status_of_get(&last, "called", info, 2));
}
ROW(fence_subset, FENCE, "A fence of some processes does not wait for the others", .ranks = 3) {
    if (my_rank == 2) return;
    pmix_proc_t procs[2] = {proc_of(me.nspace, 0), proc_of(me.nspace, 1)};
    EXPECT_OK(PMIx_Fence(procs, 2, NULL, 0));
}
ROW(fence_overlapping, FENCE, "Fences of overlapping sets at the same time do not mix", .ranks = 3) {
    pmix_proc_t procs[2] = {proc_of(me.nspace, 0), proc_of(me.nspace, 1)};
    pmix_proc_t others[2] = {proc_of(me.nspace, 1), proc_of(me.nspace, 2)};
    for (int i = 0; i < 20; ++i) {
        if (my_rank != 2) EXPECT_OK(PMIx_Fence(procs, 2, NULL, 0));
        if (my_rank != 0) EXPECT_OK(PMIx_Fence(others, 2, NULL, 0));
    }
}
ROW(fence_many, FENCE, "Five hundred fences follow one another", .ranks = 2) {
    for (int i = 0; i < 500; ++i) EXPECT_OK(PMIx_Fence(NULL, 0, NULL, 0));
}
ROW(fence_collect, FENCE, "PMIX_COLLECT_DATA makes all committed data local", .ranks = 3) {
    put_int(PMIX_GLOBAL, "card", 100 + my_rank);
    EXPECT_OK(PMIx_Commit());
    barrier(true);
    for (pmix_rank_t rank = 0; rank < 3; ++rank) {
        pmix_proc_t peer = proc_of(me.nspace, rank);
        pmix_info_t info = info_true(PMIX_IMMEDIATE);
        pmix_value_t* value = NULL;
        EXPECT_OK(PMIx_Get(&peer, "card", &info, 1, &value));
        EXPECT_INT(100 + rank, value->data.integer);
        PMIX_VALUE_RELEASE(value);
    }
}
ROW(fence_collect_no_value, FENCE, "PMIX_COLLECT_DATA without a value is as true", .ranks = 2) {
    put_int(PMIX_GLOBAL, "card", 100 + my_rank);
    EXPECT_OK(PMIx_Commit());
    pmix_info_t info;
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_LOAD_KEY(info.key, PMIX_COLLECT_DATA);
    EXPECT_OK(PMIx_Fence(NULL, 0, &info, 1));
    pmix_proc_t peer = proc_of(me.nspace, (pmix_rank_t)(1 - my_rank));
    EXPECT_INT(101 - my_rank, get_int(&peer, "card"));
}
ROW(fence_collect_nothing, FENCE, "A fence that collects where nobody has put anything", .ranks = 3) {
    barrier(true);
}
ROW(fence_collect_again, FENCE, "A second fence that collects brings newer data", .ranks = 2) {
    pmix_proc_t peer = proc_of(me.nspace, (pmix_rank_t)(1 - my_rank));
    for (int i = 0; i < 3; ++i) {
        char key[20];
        snprintf(key, sizeof(key), "round-%d", i);
        put_int(PMIX_GLOBAL, key, 10 * i + my_rank);
        EXPECT_OK(PMIx_Commit());
        barrier(true);
        EXPECT_INT(10 * i + 1 - my_rank, get_int(&peer, key));
    }
}
ROW(fence_mixed_forms, FENCE, "Blocking and nonblocking callers take part in the same fence", .ranks = 2) {
    if (my_rank == 0) {
        EXPECT_OK(PMIx_Fence(NULL, 0, NULL, 0));
    } else {
        struct signal done = {0, 0};
        if (EXPECT_ACCEPTED(PMIx_Fence_nb(NULL, 0, NULL, 0, op_done, &done)) == PMIX_SUCCESS) {
            wait_signal(&done, 1, "the callback");
            EXPECT_OK(done.status);
        }
    }
}
ROW(fence_null_with_count, FENCE, "No processes with a count above 0 is an error, or the whole namespace", .ranks = 1) {
    EXPECT_STATUS(PMIx_Fence(NULL, 3, NULL, 0), PMIX_SUCCESS, PMIX_ERR_BAD_PARAM);
}
static void rank_zero_done(void) {
    wait_clients(1);
    tell_clients(1);
}
ROW(fence_timeout, FENCE,
    "A participant that stays away ends the fence with PMIX_ERR_TIMEOUT where timeouts are supported", .ranks = 2,
    .during = rank_zero_done) {
    pmix_info_t info = info_timeout(1);
    if (my_rank == 0) {
        EXPECT_OPTIONAL(PMIx_Fence(NULL, 0, &info, 1), PMIX_ERR_TIMEOUT);
        tell_host();
    }
    if (my_rank == 1) wait_host();
}
static void late_caller(void) {
    wait_clients(1);
    tell_clients(1);
}
ROW(fence_timeout_again, FENCE,
    "After a timeout, and one of the participant that was late, a fence of the same processes works", .ranks = 2,
    .during = late_caller) {
    const pmix_proc_t late = proc_of(me.nspace, 1);
    pmix_info_t info = info_timeout(1);
    if (my_rank == 1) wait_host();
    EXPECT_OPTIONAL(PMIx_Fence(NULL, 0, &info, 1), PMIX_ERR_TIMEOUT);
    /* The host has one token, for rank 1: the other process waits for what that one posts. */
    if (my_rank == 0) tell_host();
    if (my_rank == 1) put_int(PMIX_GLOBAL, "late", 1);
    if (my_rank == 1) EXPECT_OK(PMIx_Commit());
    if (my_rank == 0) EXPECT_INT(1, get_int(&late, "late"));
    EXPECT_OK(PMIx_Fence(NULL, 0, NULL, 0));
}
ROW(fence_lost_member, FENCE, "A participant that ends without the call does not leave the others waiting for ever",
    .ranks = 2, .raw = true) {
    EXPECT_OK(PMIx_Init(&me, NULL, 0));
    EXPECT_OK(PMIx_Fence(NULL, 0, NULL, 0));
    if (my_rank == 1) _exit(0);
    EXPECT_ERROR(PMIx_Fence(NULL, 0, NULL, 0));
    EXPECT_OK(PMIx_Finalize(NULL, 0));
}
ROW(fence_finalized_member, FENCE, "A participant that has finalized does not leave the others waiting for ever",
    .ranks = 2, .raw = true) {
    EXPECT_OK(PMIx_Init(&me, NULL, 0));
    EXPECT_OK(PMIx_Fence(NULL, 0, NULL, 0));
    if (my_rank == 0) EXPECT_ERROR(PMIx_Fence(NULL, 0, NULL, 0));
    EXPECT_OK(PMIx_Finalize(NULL, 0));
}

static struct signal done;
ROW(fence_nb_callback, FENCE_NB, "One callback with the status, or PMIX_OPERATION_SUCCEEDED without", .ranks = 2) {
    pmix_status_t status = EXPECT_ACCEPTED(PMIx_Fence_nb(NULL, 0, NULL, 0, op_done, &done));
    if (status == PMIX_SUCCESS) {
        wait_signal(&done, 1, "the callback");
        EXPECT_OK(done.status);
    }
    pause_ms(50);
    EXPECT_INT(status == PMIX_SUCCESS ? 1 : 0, signal_count(&done));
}
ROW(fence_nb_collect, FENCE_NB, "Collected data is local when the callback is called", .ranks = 2) {
    put_int(PMIX_GLOBAL, "card", 100 + my_rank);
    EXPECT_OK(PMIx_Commit());
    pmix_info_t info = info_true(PMIX_COLLECT_DATA);
    if (EXPECT_ACCEPTED(PMIx_Fence_nb(NULL, 0, &info, 1, op_done, &done)) == PMIX_SUCCESS)
        wait_signal(&done, 1, "the callback");
    pmix_proc_t peer = proc_of(me.nspace, (pmix_rank_t)(1 - my_rank));
    EXPECT_INT(101 - my_rank, get_int(&peer, "card"));
}
ROW(fence_nb_returns, FENCE_NB, "The call returns while others have not called yet", .ranks = 2) {
    if (my_rank == 1) {
        pmix_proc_t peer = proc_of(me.nspace, 0);
        EXPECT_INT(1, get_int(&peer, "returned"));
    }
    pmix_status_t status = EXPECT_ACCEPTED(PMIx_Fence_nb(NULL, 0, NULL, 0, op_done, &done));
    put_int(PMIX_GLOBAL, "returned", 1);
    EXPECT_OK(PMIx_Commit());
    if (status == PMIX_SUCCESS) wait_signal(&done, 1, "the callback");
}
ROW(fence_nb_subsets, FENCE_NB, "Nonblocking fences of different sets are under way at the same time", .ranks = 3) {
    pmix_proc_t pair[2] = {proc_of(me.nspace, 0), proc_of(me.nspace, (pmix_rank_t)(my_rank == 2 ? 2 : 1))};
    int expected = 0;
    if (my_rank != 2) expected += EXPECT_ACCEPTED(PMIx_Fence_nb(pair, 2, NULL, 0, op_done, &done)) == PMIX_SUCCESS;
    pmix_proc_t other[2] = {proc_of(me.nspace, 0), proc_of(me.nspace, 2)};
    if (my_rank != 1) expected += EXPECT_ACCEPTED(PMIx_Fence_nb(other, 2, NULL, 0, op_done, &done)) == PMIX_SUCCESS;
    expected += EXPECT_ACCEPTED(PMIx_Fence_nb(NULL, 0, NULL, 0, op_done, &done)) == PMIX_SUCCESS;
    wait_signal(&done, expected, "the callbacks");
    EXPECT_OK(done.status);
}

/* ---- the upcall ---- */

static void far_rank(void) {
    host_remote_ranks = 1;
}
static void one_call(void) {
    EXPECT_INT(1, upcall_count("fence_nb"));
    const struct upcall* upcall = upcall_at("fence_nb", 0);
    EXPECT(upcall->nprocs >= 1);
    EXPECT_STRING(row_nspace, upcall->procs[0].nspace);
}
ROW(upcall_fence_once, UPCALL, "The host is called once for a fence, after all local participants have called",
    .ranks = 3, .before = far_rank, .after = one_call) {
    EXPECT_OK(PMIx_Fence(NULL, 0, NULL, 0));
}
static void collects(void) {
    const struct upcall* upcall = upcall_at("fence_nb", 0);
    EXPECT(upcall->had_data);
    const pmix_info_t* info = upcall_info(upcall, PMIX_COLLECT_DATA);
    EXPECT(info != NULL && PMIX_INFO_TRUE(info));
}
ROW(upcall_fence_data, UPCALL, "With PMIX_COLLECT_DATA the host has the attribute and the data", .ranks = 2,
    .before = far_rank, .after = collects) {
    put_int(PMIX_GLOBAL, "key", 1);
    EXPECT_OK(PMIx_Commit());
    barrier(true);
}
static void has_attribute(void) {
    const pmix_info_t* info = upcall_info(upcall_at("fence_nb", 0), "conformance.directive");
    EXPECT(info != NULL);
    EXPECT_STRING("for the host", info->value.data.string);
}
ROW(upcall_fence_attributes, UPCALL, "Attributes that the library does not know reach the host", .ranks = 2,
    .before = far_rank, .after = has_attribute) {
    pmix_info_t info = info_of("conformance.directive", "for the host", PMIX_STRING);
    EXPECT_OK(PMIx_Fence(NULL, 0, &info, 1));
}
static void fence_alone_fails(void) {
    host_remote_ranks = 1;
    host_module.client_connected2 = NULL;
    host_module.client_finalized = NULL;
    host_answer = PMIX_ERR_NOMEM;
}
ROW(upcall_fence_error, UPCALL, "An error of the host's is that of each participant", .ranks = 2,
    .before = fence_alone_fails) {
    EXPECT_STATUS(PMIx_Fence(NULL, 0, NULL, 0), PMIX_ERR_NOMEM);
}
static void no_fence(void) {
    host_module.fence_nb = NULL;
}
ROW(upcall_fence_absent_local, UPCALL, "Without the host function a fence of local processes still works", .ranks = 2,
    .before = no_fence) {
    EXPECT_OK(PMIx_Fence(NULL, 0, NULL, 0));
}
static void no_fence_remote(void) {
    host_module.fence_nb = NULL;
    host_remote_ranks = 1;
}
ROW(upcall_fence_absent_remote, UPCALL, "Without the host function a fence with processes of other nodes is an error",
    .ranks = 2, .before = no_fence_remote) {
    EXPECT_ERROR(PMIx_Fence(NULL, 0, NULL, 0));
}
