/* SPDX-License-Identifier: BSD-3-Clause */
/* Events without any info, as the guide's program raises one: the launcher goes on, and each rank gets each of them
 * once, though Open MPI 4.1's host hands down at once what it is given. */
#define _GNU_SOURCE
#include <pmix.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

enum { EVENTS = 20 };

static sem_t told;
static volatile int count;

static void on_event(size_t id, pmix_status_t code, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)id, (void)code, (void)source, (void)results, (void)nresults;
    if (NULL == info) printf("FAIL: a NULL list of %zu infos\n", ninfo);
    __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
    sem_post(&told);
}

static void check(pmix_status_t status, const char* what) {
    if (PMIX_SUCCESS == status) return;
    printf("FAIL: %s: %s\n", what, PMIx_Error_string(status));
    exit(1);
}

int main(void) {
    pmix_proc_t me;
    pmix_status_t code = PMIX_EXTERNAL_ERR_BASE - 1;
    alarm(100);
    sem_init(&told, 0, 0);
    check(PMIx_Init(&me, NULL, 0), "PMIx_Init");
    if (PMIx_Register_event_handler(&code, 1, NULL, 0, on_event, NULL, NULL) < 0) return 1;
    check(PMIx_Fence(NULL, 0, NULL, 0), "PMIx_Fence");
    for (int i = 0; i < EVENTS && 0 == me.rank; i++)
        check(PMIx_Notify_event(code, &me, PMIX_RANGE_NAMESPACE, NULL, 0, NULL, NULL), "PMIx_Notify_event");
    for (int i = 0; i < EVENTS; i++)
        while (0 != sem_wait(&told)) continue;
    for (int i = 0; i < 3; i++) check(PMIx_Fence(NULL, 0, NULL, 0), "PMIx_Fence");
    if (EVENTS != count) printf("FAIL: rank %u got %d events of %d\n", me.rank, count, EVENTS);
    check(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
    return EVENTS == count ? 0 : 1;
}
