/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "trace.h"

static pmix_server_module_t host;

/* completion of the upcalls worth following */
typedef struct {
    pmix_modex_cbfunc_t cb;
    void* cd;
    char what[200];
} modex_t;
static void modex_done(pmix_status_t st, const char* data, size_t n, void* cd, pmix_release_cbfunc_t rel, void* rcd) {
    modex_t* m = cd;
    line_t l = {.n = 0};
    add(&l, "UPCALL-DONE %s -> %d, %zu bytes", m->what, st, n);
    emit(&l);
    m->cb(st, data, n, m->cd, rel, rcd);
    free(m);
}
typedef struct {
    pmix_op_cbfunc_t cb;
    void* cd;
    char what[200];
} op_t;
static void op_done(pmix_status_t st, void* cd) {
    op_t* m = cd;
    line_t l = {.n = 0};
    add(&l, "UPCALL-DONE %s -> %d", m->what, st);
    emit(&l);
    m->cb(st, m->cd);
    free(m);
}
/* A tracker of one upcall's completion, in either form; it leaks if the host never completes it. */
static void name_of(char what[200], const char* upcall, const pmix_proc_t* p) {
    if (p)
        snprintf(what, 200, "%s %.100s:%u", upcall, p->nspace, p->rank);
    else
        snprintf(what, 200, "%s", upcall);
}
static modex_t* modex_new(const char* what, const pmix_proc_t* p, pmix_modex_cbfunc_t cb, void* cd) {
    modex_t* m = calloc(1, sizeof *m);
    m->cb = cb;
    m->cd = cd;
    name_of(m->what, what, p);
    return m;
}
static op_t* op_new(const char* what, const pmix_proc_t* p, pmix_op_cbfunc_t cb, void* cd) {
    op_t* m = calloc(1, sizeof *m);
    m->cb = cb;
    m->cd = cd;
    name_of(m->what, what, p);
    return m;
}
#define OP(p, name)                             \
    op_t* m = op_new(#name, p, cb, cd);         \
    pmix_op_cbfunc_t wcb = cb ? op_done : NULL; \
    add(&l, cb ? "" : " cb NULL");              \
    emit(&l)
#define OPRC(name)                         \
    line_t e = {.n = 0};                   \
    add(&e, "UPCALL-RC " #name " %d", rc); \
    emit(&e);                              \
    return rc
#define UP(name)         \
    line_t l = {.n = 0}; \
    add(&l, "UPCALL %s ", #name)
static pmix_status_t u_client_connected(const pmix_proc_t* p, void* o, pmix_op_cbfunc_t cb, void* cd) {
    UP(client_connected);
    p_proc(&l, p);
    OP(p, client_connected);
    pmix_status_t rc = host.client_connected(p, o, wcb, m);
    OPRC(client_connected);
}
static pmix_status_t u_client_connected2(const pmix_proc_t* p, void* o, pmix_info_t i[], size_t n, pmix_op_cbfunc_t cb,
                                         void* cd) {
    UP(client_connected2);
    p_proc(&l, p);
    p_infos(&l, i, n);
    OP(p, client_connected2);
    pmix_status_t rc = host.client_connected2(p, o, i, n, wcb, m);
    OPRC(client_connected2);
}
static pmix_status_t u_client_finalized(const pmix_proc_t* p, void* o, pmix_op_cbfunc_t cb, void* cd) {
    UP(client_finalized);
    p_proc(&l, p);
    OP(p, client_finalized);
    pmix_status_t rc = host.client_finalized(p, o, wcb, m);
    OPRC(client_finalized);
}
static pmix_status_t u_abort(const pmix_proc_t* p, void* o, int st, const char msg[], pmix_proc_t ps[], size_t np,
                             pmix_op_cbfunc_t cb, void* cd) {
    UP(abort);
    p_proc(&l, p);
    add(&l, " %d \"%s\" ", st, msg ? msg : "(null)");
    p_procs(&l, ps, np);
    OP(p, abort);
    pmix_status_t rc = host.abort(p, o, st, msg, ps, np, wcb, m);
    OPRC(abort);
}
static pmix_status_t u_fence_nb(const pmix_proc_t ps[], size_t np, const pmix_info_t i[], size_t n, char* d, size_t nd,
                                pmix_modex_cbfunc_t cb, void* cd) {
    UP(fence_nb);
    p_procs(&l, ps, np);
    p_infos(&l, i, n);
    add(&l, " %zu bytes", nd);
    emit(&l);
    modex_t* m = modex_new("fence_nb", NULL, cb, cd);
    pmix_status_t rc = host.fence_nb(ps, np, i, n, d, nd, modex_done, m);
    if (rc == PMIX_SUCCESS) return rc;
    OPRC(fence_nb);
}
static pmix_status_t u_direct_modex(const pmix_proc_t* p, const pmix_info_t i[], size_t n, pmix_modex_cbfunc_t cb,
                                    void* cd) {
    UP(direct_modex);
    p_proc(&l, p);
    p_infos(&l, i, n);
    emit(&l);
    modex_t* m = modex_new("direct_modex", p, cb, cd);
    pmix_status_t rc = host.direct_modex(p, i, n, modex_done, m);
    if (rc == PMIX_SUCCESS) return rc;
    OPRC(direct_modex);
}
static pmix_status_t u_publish(const pmix_proc_t* p, const pmix_info_t i[], size_t n, pmix_op_cbfunc_t cb, void* cd) {
    UP(publish);
    p_proc(&l, p);
    p_infos(&l, i, n);
    OP(p, publish);
    pmix_status_t rc = host.publish(p, i, n, wcb, m);
    OPRC(publish);
}
static pmix_status_t u_lookup(const pmix_proc_t* p, char** k, const pmix_info_t i[], size_t n, pmix_lookup_cbfunc_t cb,
                              void* cd) {
    UP(lookup);
    p_proc(&l, p);
    p_keys(&l, k);
    p_infos(&l, i, n);
    emit(&l);
    pmix_status_t rc = host.lookup(p, k, i, n, cb, cd);
    OPRC(lookup);
}
static pmix_status_t u_unpublish(const pmix_proc_t* p, char** k, const pmix_info_t i[], size_t n, pmix_op_cbfunc_t cb,
                                 void* cd) {
    UP(unpublish);
    p_proc(&l, p);
    p_keys(&l, k);
    p_infos(&l, i, n);
    OP(p, unpublish);
    pmix_status_t rc = host.unpublish(p, k, i, n, wcb, m);
    OPRC(unpublish);
}
static pmix_status_t u_spawn(const pmix_proc_t* p, const pmix_info_t i[], size_t n, const pmix_app_t a[], size_t na,
                             pmix_spawn_cbfunc_t cb, void* cd) {
    UP(spawn);
    p_proc(&l, p);
    p_infos(&l, i, n);
    p_apps(&l, a, na);
    emit(&l);
    pmix_status_t rc = host.spawn(p, i, n, a, na, cb, cd);
    OPRC(spawn);
}
static pmix_status_t u_connect(const pmix_proc_t ps[], size_t np, const pmix_info_t i[], size_t n, pmix_op_cbfunc_t cb,
                               void* cd) {
    UP(connect);
    p_procs(&l, ps, np);
    p_infos(&l, i, n);
    OP(NULL, connect);
    pmix_status_t rc = host.connect(ps, np, i, n, wcb, m);
    OPRC(connect);
}
static pmix_status_t u_disconnect(const pmix_proc_t ps[], size_t np, const pmix_info_t i[], size_t n,
                                  pmix_op_cbfunc_t cb, void* cd) {
    UP(disconnect);
    p_procs(&l, ps, np);
    p_infos(&l, i, n);
    OP(NULL, disconnect);
    pmix_status_t rc = host.disconnect(ps, np, i, n, wcb, m);
    OPRC(disconnect);
}
static pmix_status_t u_register_events(pmix_status_t* c, size_t nc, const pmix_info_t i[], size_t n,
                                       pmix_op_cbfunc_t cb, void* cd) {
    UP(register_events);
    add(&l, "%zu codes ", nc);
    p_infos(&l, i, n);
    pmix_status_t rc = host.register_events(c, nc, i, n, cb, cd);
    RC(rc);
    emit(&l);
    return rc;
}
static pmix_status_t u_deregister_events(pmix_status_t* c, size_t nc, pmix_op_cbfunc_t cb, void* cd) {
    UP(deregister_events);
    add(&l, "%zu codes", nc);
    pmix_status_t rc = host.deregister_events(c, nc, cb, cd);
    RC(rc);
    emit(&l);
    return rc;
}
static pmix_status_t u_notify_event(pmix_status_t code, const pmix_proc_t* src, pmix_data_range_t r, pmix_info_t i[],
                                    size_t n, pmix_op_cbfunc_t cb, void* cd) {
    UP(notify_event);
    add(&l, "%d from ", code);
    p_proc(&l, src);
    add(&l, " range %u ", r);
    p_infos(&l, i, n);
    OP(src, notify_event);
    pmix_status_t rc = host.notify_event(code, src, r, i, n, wcb, m);
    OPRC(notify_event);
}
static pmix_status_t u_query(pmix_proc_t* p, pmix_query_t* q, size_t nq, pmix_info_cbfunc_t cb, void* cd) {
    UP(query);
    p_proc(&l, p);
    for (size_t k = 0; k < nq; k++) {
        p_keys(&l, q[k].keys);
        p_infos(&l, q[k].qualifiers, q[k].nqual);
    }
    emit(&l);
    return host.query(p, q, nq, cb, cd);
}
static void u_log(const pmix_proc_t* p, const pmix_info_t d[], size_t nd, const pmix_info_t i[], size_t n,
                  pmix_op_cbfunc_t cb, void* cd) {
    UP(log);
    p_proc(&l, p);
    p_infos(&l, d, nd);
    p_infos(&l, i, n);
    emit(&l);
    host.log(p, d, nd, i, n, cb, cd);
}
static pmix_status_t u_job_control(const pmix_proc_t* p, const pmix_proc_t t[], size_t nt, const pmix_info_t i[],
                                   size_t n, pmix_info_cbfunc_t cb, void* cd) {
    UP(job_control);
    p_proc(&l, p);
    p_procs(&l, t, nt);
    p_infos(&l, i, n);
    emit(&l);
    pmix_status_t rc = host.job_control(p, t, nt, i, n, cb, cd);
    OPRC(job_control);
}

pmix_server_module_t* traced_module(const pmix_server_module_t* module, line_t* out) {
    static pmix_server_module_t mine;
    /* this assumes a caller built against the same header, as Debian's are */
    host = *module;
    mine = *module;
#define HAVE(f) \
    if (host.f) add(out, " " #f)
#define WRAP(f) \
    HAVE(f);    \
    if (host.f) mine.f = u_##f
    WRAP(client_connected);
    WRAP(client_finalized);
    WRAP(abort);
    WRAP(fence_nb);
    WRAP(direct_modex);
    WRAP(publish);
    WRAP(lookup);
    WRAP(unpublish);
    WRAP(spawn);
    WRAP(connect);
    WRAP(disconnect);
    WRAP(register_events);
    WRAP(deregister_events);
    HAVE(listener);
    WRAP(notify_event);
    WRAP(query);
    HAVE(tool_connected);
    WRAP(log);
    HAVE(allocate);
    WRAP(job_control);
    HAVE(monitor);
    HAVE(get_credential);
    HAVE(validate_credential);
    HAVE(iof_pull);
    HAVE(push_stdin);
    HAVE(group);
    HAVE(fabric);
    WRAP(client_connected2);
    return &mine;
}
