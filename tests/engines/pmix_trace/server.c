/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"

pmix_status_t PMIx_server_init(pmix_server_module_t* module, pmix_info_t info[], size_t n) {
    BEGIN(PMIx_server_init);
    p_infos(&l, info, n);
    add(&l, " module:");
    if (!module) add(&l, " NULL");
    pmix_status_t rc = fn(module ? traced_module(module, &l) : NULL, info, n);
    RC(rc);
    END();
    return rc;
}
pmix_status_t PMIx_server_finalize(void) {
    BEGIN(PMIx_server_finalize);
    pmix_status_t rc = fn();
    RC(rc);
    END();
    return rc;
}
pmix_status_t PMIx_server_register_nspace(const pmix_nspace_t ns, int nlocal, pmix_info_t info[], size_t n,
                                          pmix_op_cbfunc_t cb, void* cd) {
    BEGIN(PMIx_server_register_nspace);
    add(&l, "%s nlocal %d ", ns, nlocal);
    p_infos(&l, info, n);
    add(&l, " cb %s", cb ? "yes" : "NULL");
    pmix_status_t rc = fn(ns, nlocal, info, n, cb, cd);
    RC(rc);
    END();
    return rc;
}
void PMIx_server_deregister_nspace(const pmix_nspace_t ns, pmix_op_cbfunc_t cb, void* cd) {
    BEGIN(PMIx_server_deregister_nspace);
    add(&l, "%s cb %s", ns, cb ? "yes" : "NULL");
    fn(ns, cb, cd);
    END();
}
pmix_status_t PMIx_server_register_client(const pmix_proc_t* p, uid_t uid, gid_t gid, void* o, pmix_op_cbfunc_t cb,
                                          void* cd) {
    BEGIN(PMIx_server_register_client);
    p_proc(&l, p);
    add(&l, " uid %d gid %d obj %s cb %s", (int)uid, (int)gid, o ? "yes" : "NULL", cb ? "yes" : "NULL");
    pmix_status_t rc = fn(p, uid, gid, o, cb, cd);
    RC(rc);
    END();
    return rc;
}
void PMIx_server_deregister_client(const pmix_proc_t* p, pmix_op_cbfunc_t cb, void* cd) {
    BEGIN(PMIx_server_deregister_client);
    p_proc(&l, p);
    add(&l, " cb %s", cb ? "yes" : "NULL");
    fn(p, cb, cd);
    END();
}
pmix_status_t PMIx_server_setup_fork(const pmix_proc_t* p, char*** env) {
    BEGIN(PMIx_server_setup_fork);
    size_t before = 0;
    char** old = NULL;
    if (env && *env)
        while ((*env)[before]) before++;
    old = calloc(before + 1, sizeof *old);
    for (size_t i = 0; i < before; i++) old[i] = strdup((*env)[i]);
    pmix_status_t rc = fn(p, env);
    p_proc(&l, p);
    RC(rc);
    for (char** e = env ? *env : NULL; e && *e; e++) {
        size_t i;
        for (i = 0; i < before && strcmp(old[i], *e); i++)
            ;
        if (i == before) add(&l, " +%s", *e);
    }
    for (size_t i = 0; i < before; i++) free(old[i]);
    free(old);
    END();
    return rc;
}
typedef struct {
    pmix_dmodex_response_fn_t cb;
    void* cd;
    char what[200];
} dmx_t;
static void dmx_done(pmix_status_t st, char* data, size_t n, void* cd) {
    dmx_t* m = cd;
    line_t l = {.n = 0};
    add(&l, "DONE dmodex_request %s -> %d, %zu bytes", m->what, st, n);
    emit(&l);
    m->cb(st, data, n, m->cd);
    free(m);
}
pmix_status_t PMIx_server_dmodex_request(const pmix_proc_t* p, pmix_dmodex_response_fn_t cb, void* cd) {
    BEGIN(PMIx_server_dmodex_request);
    dmx_t* m = calloc(1, sizeof *m);
    m->cb = cb;
    m->cd = cd;
    snprintf(m->what, sizeof m->what, "%.100s:%u", p->nspace, p->rank);
    p_proc(&l, p);
    pmix_status_t rc = fn(p, dmx_done, m);
    RC(rc);
    END();
    return rc;
}
pmix_status_t PMIx_server_setup_application(const pmix_nspace_t ns, pmix_info_t info[], size_t n,
                                            pmix_setup_application_cbfunc_t cb, void* cd) {
    BEGIN(PMIx_server_setup_application);
    add(&l, "%s ", ns);
    p_infos(&l, info, n);
    pmix_status_t rc = fn(ns, info, n, cb, cd);
    RC(rc);
    END();
    return rc;
}
pmix_status_t PMIx_server_setup_local_support(const pmix_nspace_t ns, pmix_info_t info[], size_t n, pmix_op_cbfunc_t cb,
                                              void* cd) {
    BEGIN(PMIx_server_setup_local_support);
    add(&l, "%s ", ns);
    p_infos(&l, info, n);
    pmix_status_t rc = fn(ns, info, n, cb, cd);
    RC(rc);
    END();
    return rc;
}
pmix_status_t PMIx_server_IOF_deliver(const pmix_proc_t* p, pmix_iof_channel_t ch, const pmix_byte_object_t* bo,
                                      const pmix_info_t info[], size_t n, pmix_op_cbfunc_t cb, void* cd) {
    BEGIN(PMIx_server_IOF_deliver);
    p_proc(&l, p);
    add(&l, " channel %u %zu bytes ", ch, bo ? bo->size : 0);
    p_infos(&l, info, n);
    pmix_status_t rc = fn(p, ch, bo, info, n, cb, cd);
    RC(rc);
    END();
    return rc;
}
