/* SPDX-License-Identifier: BSD-3-Clause */
#include "control.h"
#include "daemon.h"
#include "mesh.h"
#include "operations.h"

pmix_status_t up_dmodex(const pmix_proc_t* p, const pmix_info_t info[], size_t ni, pmix_modex_cbfunc_t cb, void* cbd) {
    (void)info;
    (void)ni;
    if (strcmp(p->nspace, run.nspace) != 0 || p->rank >= (pmix_rank_t)job.procs) return PMIX_ERR_NOT_FOUND;
    item_t* it = item_new(Q_DMREQ, (void (*)(void))cb, cbd);
    it->rank = (int)p->rank;
    post(it);
    return PMIX_SUCCESS;
}
typedef struct {
    int node;
    uint64_t id;
} dmctx_t;
static void dm_response(pmix_status_t status, char* data, size_t sz, void* cbdata) {
    dmctx_t* c = cbdata;
    item_t* it = item_new(Q_DMRSP, NULL, NULL);
    it->node = c->node;
    it->id = c->id;
    it->status = status;
    if (data) b_put(&it->b, data, sz);
    free(c);
    post(it);
}
void dm_complete(uint64_t id, pmix_status_t st, const void* d, size_t n) {
    req_t r;
    if (!req_take(id, &r)) return;
    char* c = NULL;
    if (n) {
        c = xcalloc(n, 1);
        memcpy(c, d, n);
    }
    ((pmix_modex_cbfunc_t)r.fn)(st, c, n, r.cbdata, free, c);
}
static void dm_reply(int node, uint64_t id, pmix_status_t st, const void* d, size_t n) {
    if (node == me)
        dm_complete(id, st, d, n);
    else
        msend(node, M_DMREP, 0, st, id, NULL, d, n);
}
void dm_serve(int node, uint64_t id, int rank) {
    pmix_proc_t p;
    memset(&p, 0, sizeof p);
    snprintf(p.nspace, sizeof p.nspace, "%s", run.nspace);
    p.rank = (pmix_rank_t)rank;
    dmctx_t* c = xcalloc(1, sizeof *c);
    c->node = node;
    c->id = id;
    pmix_status_t st = PMIx_server_dmodex_request(&p, dm_response, c);
    if (st != PMIX_SUCCESS) {
        free(c);
        dm_reply(node, id, st, NULL, 0);
    }
}
void dm_request(item_t* it) {
    uint64_t id = req_add(it->fn, it->cbdata);
    int n = node_of(it->rank);
    if (n == me)
        dm_serve(me, id, it->rank);
    else
        msend(n, M_DMREQ, it->rank, 0, id, NULL, NULL, 0);
}
void dm_answer(const item_t* it) {
    dm_reply(it->node, it->id, it->status, it->b.p, it->b.n);
}
