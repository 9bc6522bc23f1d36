/* SPDX-License-Identifier: BSD-3-Clause */
#include "client.h"

#define EV_CODE (PMIX_EXTERNAL_ERR_BASE - 77)
#define EV_SPACED 10
static _Atomic uint32_t ev_count, ev_acks, ev_reg;
static double ev_oneway[EV_SPACED]; /* all ranks share one clock */
static void ev_handler(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                       pmix_info_t* results, size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                       void* cbdata) {
    (void)id;
    (void)source;
    (void)results;
    (void)nresults;
    uint32_t seq = UINT32_MAX;
    uint64_t t = now_ns();
    for (size_t i = 0; i < ninfo; i++)
        if (strcmp(info[i].key, "bench.seq") == 0 && info[i].value.type == PMIX_UINT32)
            seq = info[i].value.data.uint32;
        else if (strcmp(info[i].key, "bench.t") == 0 && info[i].value.type == PMIX_UINT64)
            ev_oneway[atomic_load(&ev_count) % EV_SPACED] = (double)(t - info[i].value.data.uint64) / 1e3;
    if (status != EV_CODE || seq != atomic_load(&ev_count))
        bad("event: status %d, sequence %u where %u was due", (int)status, seq, atomic_load(&ev_count));
    atomic_fetch_add(&ev_count, 1);
    futex_wake_(&ev_count, 1);
    if (cbfunc) cbfunc(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}
static void ev_registered(pmix_status_t st, size_t ref, void* cbdata) {
    (void)ref;
    (void)cbdata;
    if (st != PMIX_SUCCESS) bad("event handler registration: %s", PMIx_Error_string(st));
    atomic_store(&ev_reg, 1);
    futex_wake_(&ev_reg, 1);
}
static void ev_ack(pmix_status_t st, void* cbdata) {
    if (st != PMIX_SUCCESS && st != PMIX_OPERATION_SUCCEEDED) bad("event: notify callback: %s", PMIx_Error_string(st));
    free(cbdata);
    atomic_fetch_add(&ev_acks, 1);
}
static void ev_send(int to, uint32_t seq) {
    struct msg {
        pmix_data_array_t arr;
        pmix_proc_t target;
        pmix_info_t info[3];
    }* m = calloc(1, sizeof *m);
    pmix_info_t* info = m->info;
    snprintf(info[0].key, sizeof info[0].key, "%s", PMIX_EVENT_CUSTOM_RANGE);
    proc_of(&m->target, to);
    m->arr = (pmix_data_array_t){.type = PMIX_PROC, .size = 1, .array = &m->target};
    info[0].value.type = PMIX_DATA_ARRAY;
    info[0].value.data.darray = &m->arr;
    snprintf(info[1].key, sizeof info[1].key, "bench.seq");
    info[1].value.type = PMIX_UINT32;
    info[1].value.data.uint32 = seq;
    snprintf(info[2].key, sizeof info[2].key, "bench.t");
    info[2].value.type = PMIX_UINT64;
    info[2].value.data.uint64 = now_ns();
    pmix_status_t st = PMIx_Notify_event(EV_CODE, &me, PMIX_RANGE_CUSTOM, info, 3, ev_ack, m);
    if (st == PMIX_OPERATION_SUCCEEDED)
        ev_ack(PMIX_SUCCESS, m);
    else if (st != PMIX_SUCCESS)
        must(st, "PMIx_Notify_event");
}
static void ev_wait(uint32_t n) {
    uint32_t c;
    while ((c = atomic_load(&ev_count)) < n) futex_wait_(&ev_count, c);
}
static void ev_pingpong(int a, int b, const char* name, int n) {
    double* d = malloc((size_t)n * sizeof *d);
    atomic_store(&ev_count, 0);
    bar();
    if (rank_ == a) {
        for (int i = 0; i < n; i++) {
            uint64_t t0 = now_ns();
            ev_send(b, (uint32_t)i);
            ev_wait((uint32_t)i + 1);
            d[i] = (double)(now_ns() - t0) / 1e3;
        }
        metric("med", "us", median_(d, (size_t)n), "event_%s_rtt_us", name);
    } else if (rank_ == b) {
        for (int i = 0; i < n; i++) {
            ev_wait((uint32_t)i + 1);
            ev_send(a, (uint32_t)i);
        }
    }
    bar();
    usleep(20000);
    uint32_t want = rank_ == a || rank_ == b ? (uint32_t)n : 0, c = atomic_load(&ev_count);
    if (c != want) bad("event: %u events were delivered, %u were due", c, want);
    bar();
    /* one way, with pauses that outlast any delayed acknowledgement of a transport */
    atomic_store(&ev_count, 0);
    bar();
    if (rank_ == a)
        for (int i = 0; i < EV_SPACED; i++) {
            usleep(60000);
            ev_send(b, (uint32_t)i);
        }
    if (rank_ == b) {
        ev_wait(EV_SPACED);
        metric("med", "us", median_(ev_oneway, EV_SPACED), "event_%s_oneway_us", name);
    }
    bar();
    free(d);
}
void mode_event(void) {
    pmix_status_t code = EV_CODE, st;
    int n = options.iters / 10 + 1;
    st = PMIx_Register_event_handler(&code, 1, NULL, 0, ev_handler, ev_registered, NULL);
    if (st < 0) must(st, "PMIx_Register_event_handler");
    while (!atomic_load(&ev_reg)) futex_wait_(&ev_reg, 0);
    fence(false);
    if (job.ppn > 1) ev_pingpong(0, rank_at(0, 1), "local", n);
    if (job.nodes > 1) ev_pingpong(0, rank_at(1, 0), "remote", n);
    for (int i = 0; i < 500 && atomic_load(&ev_acks) == 0 && rank_ == 0; i++) usleep(1000);
}
