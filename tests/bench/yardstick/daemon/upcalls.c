/* SPDX-License-Identifier: BSD-3-Clause */
#include "control.h"
#include "daemon.h"
#include "operations.h"
#include "values.h"

/* connected and finalized alike */
static pmix_status_t up_connected(const pmix_proc_t* p, void* obj, pmix_op_cbfunc_t cb, void* cbd) {
    (void)p;
    (void)obj;
    (void)cb;
    (void)cbd;
    return PMIX_OPERATION_SUCCEEDED;
}
static pmix_status_t up_connected2(const pmix_proc_t* p, void* obj, pmix_info_t info[], size_t n, pmix_op_cbfunc_t cb,
                                   void* cbd) {
    (void)info;
    (void)n;
    return up_connected(p, obj, cb, cbd);
}
static pmix_status_t up_abort(const pmix_proc_t* p, void* obj, int status, const char msg[], pmix_proc_t procs[],
                              size_t n, pmix_op_cbfunc_t cb, void* cbd) {
    (void)obj;
    (void)procs;
    (void)n;
    (void)cb;
    (void)cbd;
    to_parent(C_ABORT, (int)p->rank, status, 0, "%s", msg ? msg : "");
    return PMIX_OPERATION_SUCCEEDED;
}
static pmix_status_t up_regevents(pmix_status_t* codes, size_t nc, const pmix_info_t info[], size_t n,
                                  pmix_op_cbfunc_t cb, void* cbd) {
    (void)codes;
    (void)nc;
    (void)info;
    (void)n;
    (void)cb;
    (void)cbd;
    return PMIX_OPERATION_SUCCEEDED;
}
static pmix_status_t up_deregevents(pmix_status_t* codes, size_t nc, pmix_op_cbfunc_t cb, void* cbd) {
    (void)codes;
    (void)nc;
    (void)cb;
    (void)cbd;
    return PMIX_OPERATION_SUCCEEDED;
}
static pmix_status_t up_query(pmix_proc_t* p, pmix_query_t* q, size_t nq, pmix_info_cbfunc_t cb, void* cbd) {
    (void)p;
    for (size_t i = 0; i < nq; i++)
        for (char** k = q[i].keys; k && *k; k++)
            if (strcmp(*k, PMIX_QUERY_NAMESPACES) != 0) return PMIX_ERR_NOT_SUPPORTED;
    post(item_new(Q_QUERY, (void (*)(void))cb, cbd));
    return PMIX_SUCCESS;
}
static void free_infos(void* p) {
    i_free(p, 1);
}
void query_answer(const item_t* it) {
    pmix_info_t* r = xcalloc(1, sizeof *r);
    snprintf(r->key, sizeof r->key, "%s", PMIX_QUERY_NAMESPACES);
    r->value.type = PMIX_STRING;
    r->value.data.string = strdup(run.nspace);
    ((pmix_info_cbfunc_t)it->fn)(PMIX_SUCCESS, r, 1, it->cbdata, free_infos, r);
}

pmix_server_module_t* server_module(void) {
    static union {
        pmix_server_module_t m;
        void* pad[256];
    } mod;
    mod.m.client_connected = up_connected;
    mod.m.client_connected2 = up_connected2;
    mod.m.client_finalized = up_connected;
    mod.m.abort = up_abort;
    mod.m.fence_nb = up_fence;
    mod.m.direct_modex = up_dmodex;
    mod.m.publish = up_publish;
    mod.m.lookup = up_lookup;
    mod.m.unpublish = up_unpublish;
    mod.m.register_events = up_regevents;
    mod.m.deregister_events = up_deregevents;
    mod.m.notify_event = up_event;
    mod.m.query = up_query;
    return &mod.m;
}
