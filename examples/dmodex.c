/* SPDX-License-Identifier: BSD-3-Clause */
/* dmodex.c: data of one peer, fetched when it is needed, without a fence of all.
 *
 *     pmixrun -n 4 --nodes 2 dmodex
 *
 * A Get of a key that a peer has not committed yet waits, here or at the peer's server, for at most PMIX_TIMEOUT. */
#include <pmix.h>
#include <stdio.h>

int main(void) {
    pmix_proc_t me, next;
    pmix_value_t* value = NULL;
    pmix_info_t timeout;
    int seconds = 10;
    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS) return 1;
    PMIX_LOAD_PROCID(&next, me.nspace, PMIX_RANK_WILDCARD);
    if (PMIx_Get(&next, PMIX_JOB_SIZE, NULL, 0, &value) != PMIX_SUCCESS) return 1;
    next.rank = (me.rank + 1) % value->data.uint32;
    PMIX_VALUE_RELEASE(value);

    uint32_t number = 100 + me.rank;
    pmix_value_t mine = {.type = PMIX_UINT32, .data.uint32 = number};
    if (PMIx_Put(PMIX_GLOBAL, "example.number", &mine) != PMIX_SUCCESS || PMIx_Commit() != PMIX_SUCCESS) return 1;

    PMIX_INFO_LOAD(&timeout, PMIX_TIMEOUT, &seconds, PMIX_INT);
    pmix_status_t status = PMIx_Get(&next, "example.number", &timeout, 1, &value);
    PMIX_INFO_DESTRUCT(&timeout);
    if (status != PMIX_SUCCESS) {
        fprintf(stderr, "rank %u: %s\n", me.rank, PMIx_Error_string(status));
        return 1;
    }
    printf("rank %u: rank %u has %u\n", me.rank, next.rank, value->data.uint32);
    PMIX_VALUE_RELEASE(value);
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1; /* the server answers for ranks that have left */
}
