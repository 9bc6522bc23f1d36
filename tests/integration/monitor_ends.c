/* SPDX-License-Identifier: BSD-3-Clause */
/* monitor_ends: samples of a process of another node, taken for a requester that ends, or whose node is lost.
 * usage: monitor_ends finalized|killed|node_lost */
#include <signal.h>

#include "check.h"

#ifndef PMIX_MONITOR_PROC_RESOURCE_USAGE /* headers before 6.1 */
#define PMIX_MONITOR_PROC_RESOURCE_USAGE "pmix.monitor.presuse"
#define PMIX_MONITOR_RESOURCE_RATE "pmix.monitor.resrate"
#define PMIX_MONITOR_TARGET_PROCS "pmix.monitor.tgtproc"
#define PMIX_MONITOR_RESUSAGE_UPDATE (-114)
#endif

enum { REQUESTER = 1, QUIET_SECONDS = 4 };

static struct signal_box sampled = SIGNAL_BOX;

static void on_sample(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                      pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)id, (void)info, (void)ninfo, (void)results, (void)nresults;
    CHECK(source->rank == REQUESTER);
    box_signal(&sampled, status);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

/* One sample of rank 0 in each second, for every process of the job. */
static void monitor_rank_0(void) {
    pmix_proc_t target = rank_of_job(0);
    pmix_data_array_t array = {.type = PMIX_PROC, .size = 1, .array = &target};
    pmix_info_t monitor, directives[3];
    const uint32_t seconds = 1;
    const pmix_data_range_t range = PMIX_RANGE_NAMESPACE;
    PMIX_INFO_CONSTRUCT(&monitor);
    PMIX_LOAD_KEY(monitor.key, PMIX_MONITOR_PROC_RESOURCE_USAGE);
    PMIX_INFO_LOAD(&directives[0], PMIX_MONITOR_TARGET_PROCS, &array, PMIX_DATA_ARRAY);
    PMIX_INFO_LOAD(&directives[1], PMIX_MONITOR_RESOURCE_RATE, &seconds, PMIX_UINT32);
    PMIX_INFO_LOAD(&directives[2], PMIX_RANGE, &range, PMIX_DATA_RANGE);
    CHECK_OK(PMIx_Process_monitor(&monitor, PMIX_MONITOR_RESUSAGE_UPDATE, directives, 3, NULL, NULL));
    PMIX_INFO_DESTRUCT(&directives[0]);
}

/* rows: J4 */
int main(int argc, char** argv) {
    const char* end = argc == 2 ? argv[1] : "";
    pmix_status_t code = PMIX_MONITOR_RESUSAGE_UPDATE;
    start();
    CHECK(PMIx_Register_event_handler(&code, 1, NULL, 0, on_sample, NULL, NULL) >= 0);
    fence(false);
    if (me.rank == REQUESTER) monitor_rank_0();
    CHECK(box_wait(&sampled, 2, 60));
    if (me.rank == REQUESTER && strcmp(end, "finalized") != 0) {
        if (strcmp(end, "node_lost") == 0) kill(getppid(), SIGKILL);
        kill(getpid(), SIGKILL);
    }
    if (me.rank != REQUESTER) { /* until there is no sample for some seconds, or the alarm */
        int before;
        do {
            before = box_count(&sampled);
            sleep(QUIET_SECONDS);
        } while (box_count(&sampled) != before);
    }
    CHECK_OK(PMIx_Finalize(NULL, 0));
    printf("OK rank %u\n", me.rank);
    return 0;
}
