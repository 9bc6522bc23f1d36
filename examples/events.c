/* SPDX-License-Identifier: BSD-3-Clause */
/* events.c: one process notifies all others that something happened.
 *
 *     pmixrun -n 4 --nodes 2 events */
#include <pmix.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

enum { HAPPENED = PMIX_EXTERNAL_ERR_BASE - 1 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool received;

/* Runs on a thread of the library: it notes the event, reports that it is done, and does not wait for anything. */
static void on_event(size_t handler, pmix_status_t code, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)handler, (void)info, (void)ninfo, (void)results, (void)nresults;
    printf("event %d from rank %u\n", code, source->rank);
    fflush(stdout);
    pthread_mutex_lock(&lock);
    received = true;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    if (done) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

int main(void) {
    pmix_proc_t me;
    pmix_status_t code = HAPPENED;
    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS) return 1;
    /* Without a callback the call waits, and gives the handler's number or an error. */
    if (PMIx_Register_event_handler(&code, 1, NULL, 0, on_event, NULL, NULL) < 0) return 1;
    if (PMIx_Fence(NULL, 0, NULL, 0) != PMIX_SUCCESS) return 1; /* all ranks have registered now */
    if (me.rank == 0) {
        pmix_status_t status = PMIx_Notify_event(HAPPENED, &me, PMIX_RANGE_NAMESPACE, NULL, 0, NULL, NULL);
        if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED) return 1;
    }
    pthread_mutex_lock(&lock);
    while (!received) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    if (PMIx_Fence(NULL, 0, NULL, 0) != PMIX_SUCCESS) return 1; /* no rank leaves before all have received it */
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
}
