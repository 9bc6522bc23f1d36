/* SPDX-License-Identifier: BSD-3-Clause */
#include "control.h"
#include "daemon.h"
#include "mesh.h"
#include "operations.h"
#include "values.h"

pmix_status_t up_event(pmix_status_t code, const pmix_proc_t* src, pmix_data_range_t range, pmix_info_t info[],
                       size_t n, pmix_op_cbfunc_t cb, void* cbd) {
    (void)cb;
    (void)cbd;
    /* forward only what a client of this node raised: nothing can loop */
    if (job.nodes == 1 || strcmp(src->nspace, run.nspace) != 0 || src->rank >= (pmix_rank_t)job.procs ||
        node_of((int)src->rank) != me)
        return PMIX_OPERATION_SUCCEEDED;
    item_t* it = item_new(Q_EVENT, NULL, NULL);
    b_u32(&it->b, (uint32_t)code);
    b_str(&it->b, src->nspace);
    b_u32(&it->b, src->rank);
    b_u32(&it->b, range);
    b_info(&it->b, info, n);
    post(it);
    return PMIX_OPERATION_SUCCEEDED;
}
typedef struct {
    pmix_info_t* info;
    size_t n;
} evctx_t;
static void ev_done(pmix_status_t st, void* cbdata) {
    evctx_t* e = cbdata;
    (void)st;
    i_free(e->info, e->n);
    free(e);
}
void event_forward(const item_t* it) {
    for (int n = 0; n < job.nodes; n++)
        if (n != me) msend(n, M_EVENT, 0, 0, 0, NULL, it->b.p, it->b.n);
}
void event_raise(buf_t* b) {
    pmix_proc_t src;
    pmix_status_t code = (pmix_status_t)g_u32(b);
    memset(&src, 0, sizeof src);
    g_into(b, src.nspace, sizeof src.nspace);
    src.rank = g_u32(b);
    pmix_data_range_t range = (pmix_data_range_t)g_u32(b);
    evctx_t* e = xcalloc(1, sizeof *e);
    e->info = g_info(b, &e->n);
    pmix_status_t st = PMIx_Notify_event(code, &src, range, e->info, e->n, ev_done, e);
    if (st == PMIX_SUCCESS) return;
    if (st != PMIX_OPERATION_SUCCEEDED)
        fprintf(stderr, "host: node %d: PMIx_Notify_event: %s\n", me, PMIx_Error_string(st));
    ev_done(st, e);
}
