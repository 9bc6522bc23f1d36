/* SPDX-License-Identifier: BSD-3-Clause */
/* client.c: the smallest useful client: its identity, the size of its job, and where another rank runs.
 *
 *     pmixrun -n 4 --nodes 2 client */
#include <pmix.h>
#include <stdio.h>

int main(void) {
    pmix_proc_t me, job, peer;
    pmix_value_t* value = NULL;
    pmix_status_t status = PMIx_Init(&me, NULL, 0);
    if (status != PMIX_SUCCESS) { /* PMIX_ERR_UNREACH: started without a resource manager */
        printf("no server: %s\n", PMIx_Error_string(status));
        return 1;
    }
    /* Data of the whole job belongs to its wildcard rank. */
    PMIX_LOAD_PROCID(&job, me.nspace, PMIX_RANK_WILDCARD);
    if (PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value) != PMIX_SUCCESS) return 1;
    uint32_t size = value->data.uint32;
    PMIX_VALUE_RELEASE(value);

    /* Data that the resource manager has provided about a process is there from the start, without a request. */
    PMIX_LOAD_PROCID(&peer, me.nspace, (me.rank + 1) % size);
    if (PMIx_Get(&peer, PMIX_HOSTNAME, NULL, 0, &value) != PMIX_SUCCESS) return 1;
    printf("I am rank %u of %u in %s; rank %u runs on %s\n", me.rank, size, me.nspace, peer.rank, value->data.string);
    PMIX_VALUE_RELEASE(value);
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
}
