/* SPDX-License-Identifier: BSD-3-Clause */
/* publish.c: a value under a name, found by processes that do not know its publisher.
 *
 *     pmixrun -n 3 --nodes 3 publish
 *
 * Rank 0 publishes a port; the others look it up, waiting until it is there. */
#include <pmix.h>
#include <stdio.h>
#include <string.h>

static int fail(const char* what, pmix_status_t status) {
    fprintf(stderr, "%s: %s (%d)\n", what, PMIx_Error_string(status), status);
    PMIx_Abort(1, what, NULL, 0);
    return 1;
}

static pmix_status_t publish(void) {
    pmix_info_t info[2]; /* data and directives share the array */
    pmix_data_range_t range = PMIX_RANGE_NAMESPACE;
    PMIX_INFO_LOAD(&info[0], "example.port", "node1:4711", PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_RANGE, &range, PMIX_DATA_RANGE);
    pmix_status_t status = PMIx_Publish(info, 2);
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
    return status;
}

static pmix_status_t look_up(const pmix_proc_t* me) {
    pmix_pdata_t wanted;
    pmix_info_t info[2];
    int all = 0, seconds = 10;
    PMIX_PDATA_CONSTRUCT(&wanted);
    PMIX_LOAD_KEY(wanted.key, "example.port");
    PMIX_INFO_LOAD(&info[0], PMIX_WAIT, &all, PMIX_INT);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
    pmix_status_t status = PMIx_Lookup(&wanted, 1, info, 2);
    if (status == PMIX_SUCCESS) {
        printf("rank %u: rank %u offers %s\n", me->rank, wanted.proc.rank, wanted.value.data.string);
    }
    PMIX_PDATA_DESTRUCT(&wanted);
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
    return status;
}

int main(void) {
    pmix_proc_t me;
    char* keys[] = {"example.port", NULL};
    pmix_status_t status = PMIx_Init(&me, NULL, 0);
    if (status != PMIX_SUCCESS) return fail("PMIx_Init", status);
    status = me.rank == 0 ? publish() : look_up(&me);
    if (status != PMIX_SUCCESS) return fail(me.rank == 0 ? "PMIx_Publish" : "PMIx_Lookup", status);
    if ((status = PMIx_Fence(NULL, 0, NULL, 0)) != PMIX_SUCCESS) return fail("PMIx_Fence", status);
    if (me.rank == 0 && (status = PMIx_Unpublish(keys, NULL, 0)) != PMIX_SUCCESS) return fail("PMIx_Unpublish", status);
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
}
