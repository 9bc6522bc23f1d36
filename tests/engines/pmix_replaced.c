/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process puts again is what others get after the next fence with PMIX_COLLECT_DATA: every rank, several rounds,
 * in the order of the ranks and in another one.
 *
 * Rank 0 prints one "OK replaced ..." line; an older value is a "FAIL ..." line and exit 1. */
#include <pmix.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 4 };

static pmix_proc_t me;

static void fail(const char* what, uint32_t peer, int value) {
    printf("FAIL rank %u: %s %u: %d\n", me.rank, what, peer, value);
    fflush(stdout);
    PMIx_Abort(1, "pmix_replaced failed", NULL, 0);
    _exit(1);
}

static void fence(bool collect) {
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    const pmix_status_t rc = PMIx_Fence(NULL, 0, &info, 1);
    if (rc != PMIX_SUCCESS) fail("fence", me.rank, rc);
}

int main(void) {
    alarm(120);
    pmix_status_t rc = PMIx_Init(&me, NULL, 0);
    if (rc != PMIX_SUCCESS) return 1;
    pmix_proc_t job;
    PMIX_LOAD_PROCID(&job, me.nspace, PMIX_RANK_WILDCARD);
    pmix_value_t* value = NULL;
    if ((rc = PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value)) != PMIX_SUCCESS) fail("size", me.rank, rc);
    const uint32_t size = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        pmix_value_t mine;
        mine.type = PMIX_UINT32;
        mine.data.uint32 = 1000 * round + me.rank;
        if ((rc = PMIx_Put(PMIX_GLOBAL, "lab.replaced", &mine)) != PMIX_SUCCESS) fail("put", me.rank, rc);
        if ((rc = PMIx_Commit()) != PMIX_SUCCESS) fail("commit", me.rank, rc);
        fence(true);
        for (uint32_t i = 0; i < size; i++) {
            pmix_proc_t peer;
            PMIX_LOAD_PROCID(&peer, me.nspace, round % 2 == 0 ? i : (me.rank + size - i) % size);
            if ((rc = PMIx_Get(&peer, "lab.replaced", NULL, 0, &value)) != PMIX_SUCCESS) fail("get", peer.rank, rc);
            if (value->data.uint32 != 1000 * round + peer.rank) fail("value of", peer.rank, (int)value->data.uint32);
            PMIX_VALUE_RELEASE(value);
        }
        fence(false); /* nobody puts the next before all have read this one */
    }
    if (me.rank == 0) printf("OK replaced: %u ranks, %d rounds\n", size, ROUNDS);
    fflush(stdout);
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
}
