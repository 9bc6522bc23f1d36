/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <unistd.h>

#include "trace.h"

#define INIT(name)                                                        \
    pmix_status_t name(pmix_proc_t* proc, pmix_info_t info[], size_t n) { \
        BEGIN(name);                                                      \
        p_infos(&l, info, n);                                             \
        pmix_status_t rc = fn(proc, info, n);                             \
        add(&l, " me=");                                                  \
        p_proc(&l, proc);                                                 \
        RC(rc);                                                           \
        END();                                                            \
        return rc;                                                        \
    }
INIT(PMIx_Init)
INIT(PMIx_tool_init)
pmix_status_t PMIx_Finalize(const pmix_info_t info[], size_t n) {
    BEGIN(PMIx_Finalize);
    p_infos(&l, info, n);
    pmix_status_t rc = fn(info, n);
    RC(rc);
    END();
    return rc;
}
pmix_status_t PMIx_Abort(int status, const char msg[], pmix_proc_t procs[], size_t n) {
    line_t l = {.n = 0};
    REAL(PMIx_Abort);
    add(&l, "PMIx_Abort %d \"%s\" ", status, msg ? msg : "(null)");
    p_procs(&l, procs, n);
    emit(&l);
    return fn(status, msg, procs, n);
}
pmix_status_t PMIx_Get(const pmix_proc_t* proc, const char key[], const pmix_info_t info[], size_t n,
                       pmix_value_t** val) {
    BEGIN(PMIx_Get);
    p_proc(&l, proc);
    add(&l, " %s ", key ? key : "(null)");
    p_infos(&l, info, n);
    pmix_status_t rc = fn(proc, key, info, n, val);
    RC(rc);
    if (rc == PMIX_SUCCESS && val) {
        add(&l, " ");
        p_value(&l, *val);
    }
    END();
    return rc;
}
pmix_status_t PMIx_Get_nb(const pmix_proc_t* proc, const char key[], const pmix_info_t info[], size_t n,
                          pmix_value_cbfunc_t cb, void* cd) {
    BEGIN(PMIx_Get_nb);
    p_proc(&l, proc);
    add(&l, " %s ", key ? key : "(null)");
    p_infos(&l, info, n);
    pmix_status_t rc = fn(proc, key, info, n, cb, cd);
    RC(rc);
    END();
    return rc;
}
pmix_status_t PMIx_Put(pmix_scope_t scope, const char key[], pmix_value_t* val) {
    BEGIN(PMIx_Put);
    add(&l, "scope %u %s=", scope, key);
    p_value(&l, val);
    pmix_status_t rc = fn(scope, key, val);
    RC(rc);
    END();
    return rc;
}
pmix_status_t PMIx_Store_internal(const pmix_proc_t* proc, const char key[], pmix_value_t* val) {
    BEGIN(PMIx_Store_internal);
    p_proc(&l, proc);
    add(&l, " %s=", key);
    p_value(&l, val);
    pmix_status_t rc = fn(proc, key, val);
    RC(rc);
    END();
    return rc;
}
pmix_status_t PMIx_Commit(void) {
    BEGIN(PMIx_Commit);
    pmix_status_t rc = fn();
    RC(rc);
    END();
    return rc;
}
#define PROCS_AND_INFO(name)                                                                       \
    pmix_status_t name(const pmix_proc_t procs[], size_t np, const pmix_info_t info[], size_t n) { \
        BEGIN(name);                                                                               \
        p_procs(&l, procs, np);                                                                    \
        p_infos(&l, info, n);                                                                      \
        pmix_status_t rc = fn(procs, np, info, n);                                                 \
        RC(rc);                                                                                    \
        END();                                                                                     \
        return rc;                                                                                 \
    }
PROCS_AND_INFO(PMIx_Fence)
PROCS_AND_INFO(PMIx_Connect)
PROCS_AND_INFO(PMIx_Disconnect)
pmix_status_t PMIx_Fence_nb(const pmix_proc_t procs[], size_t np, const pmix_info_t info[], size_t n,
                            pmix_op_cbfunc_t cb, void* cd) {
    BEGIN(PMIx_Fence_nb);
    p_procs(&l, procs, np);
    p_infos(&l, info, n);
    pmix_status_t rc = fn(procs, np, info, n, cb, cd);
    RC(rc);
    END();
    return rc;
}
pmix_status_t PMIx_Publish(const pmix_info_t info[], size_t n) {
    BEGIN(PMIx_Publish);
    p_infos(&l, info, n);
    pmix_status_t rc = fn(info, n);
    RC(rc);
    END();
    return rc;
}
pmix_status_t PMIx_Publish_nb(const pmix_info_t info[], size_t n, pmix_op_cbfunc_t cb, void* cd) {
    BEGIN(PMIx_Publish_nb);
    p_infos(&l, info, n);
    pmix_status_t rc = fn(info, n, cb, cd);
    RC(rc);
    END();
    return rc;
}
pmix_status_t PMIx_Lookup(pmix_pdata_t data[], size_t nd, const pmix_info_t info[], size_t n) {
    BEGIN(PMIx_Lookup);
    for (size_t i = 0; i < nd; i++) add(&l, "%s ", data[i].key);
    p_infos(&l, info, n);
    pmix_status_t rc = fn(data, nd, info, n);
    RC(rc);
    for (size_t i = 0; i < nd; i++) {
        add(&l, " ");
        p_proc(&l, &data[i].proc);
        add(&l, "=");
        p_value(&l, &data[i].value);
    }
    END();
    return rc;
}
pmix_status_t PMIx_Unpublish(char** keys, const pmix_info_t info[], size_t n) {
    BEGIN(PMIx_Unpublish);
    for (char** k = keys; k && *k; k++) add(&l, "%s ", *k);
    p_infos(&l, info, n);
    pmix_status_t rc = fn(keys, info, n);
    RC(rc);
    END();
    return rc;
}
pmix_status_t PMIx_Spawn(const pmix_info_t info[], size_t n, const pmix_app_t apps[], size_t na, pmix_nspace_t ns) {
    BEGIN(PMIx_Spawn);
    p_infos(&l, info, n);
    p_apps(&l, apps, na);
    pmix_status_t rc = fn(info, n, apps, na, ns);
    add(&l, " nspace=%s", rc == PMIX_SUCCESS && ns ? ns : "?");
    RC(rc);
    END();
    return rc;
}
pmix_status_t PMIx_Register_event_handler(pmix_status_t codes[], size_t nc, pmix_info_t info[], size_t n,
                                          pmix_notification_fn_t h, pmix_hdlr_reg_cbfunc_t cb, void* cd) {
    BEGIN(PMIx_Register_event_handler);
    add(&l, "codes[");
    for (size_t i = 0; i < nc; i++) add(&l, "%s%d", i ? "," : "", codes[i]);
    add(&l, "] ");
    p_infos(&l, info, n);
    add(&l, " cb %s", cb ? "yes" : "NULL");
    pmix_status_t rc = fn(codes, nc, info, n, h, cb, cd);
    RC(rc);
    END();
    return rc;
}
pmix_status_t PMIx_Deregister_event_handler(size_t id, pmix_op_cbfunc_t cb, void* cd) {
    BEGIN(PMIx_Deregister_event_handler);
    add(&l, "%zu cb %s", id, cb ? "yes" : "NULL");
    pmix_status_t rc = fn(id, cb, cd);
    RC(rc);
    END();
    return rc;
}
pmix_status_t PMIx_Notify_event(pmix_status_t status, const pmix_proc_t* src, pmix_data_range_t range,
                                const pmix_info_t info[], size_t n, pmix_op_cbfunc_t cb, void* cd) {
    BEGIN(PMIx_Notify_event);
    add(&l, "%d from ", status);
    p_proc(&l, src);
    add(&l, " range %u ", range);
    p_infos(&l, info, n);
    add(&l, " cb %s", cb ? "yes" : "NULL");
    pmix_status_t rc = fn(status, src, range, info, n, cb, cd);
    RC(rc);
    END();
    return rc;
}
pmix_status_t PMIx_Query_info_nb(pmix_query_t q[], size_t nq, pmix_info_cbfunc_t cb, void* cd) {
    BEGIN(PMIx_Query_info_nb);
    for (size_t i = 0; i < nq; i++) {
        for (char** k = q[i].keys; k && *k; k++) add(&l, "%s ", *k);
        p_infos(&l, q[i].qualifiers, q[i].nqual);
    }
    pmix_status_t rc = fn(q, nq, cb, cd);
    RC(rc);
    END();
    return rc;
}
pmix_status_t PMIx_Log_nb(const pmix_info_t data[], size_t nd, const pmix_info_t dir[], size_t n, pmix_op_cbfunc_t cb,
                          void* cd) {
    BEGIN(PMIx_Log_nb);
    p_infos(&l, data, nd);
    p_infos(&l, dir, n);
    pmix_status_t rc = fn(data, nd, dir, n, cb, cd);
    RC(rc);
    END();
    return rc;
}
pmix_status_t PMIx_Job_control_nb(const pmix_proc_t t[], size_t nt, const pmix_info_t dir[], size_t n,
                                  pmix_info_cbfunc_t cb, void* cd) {
    BEGIN(PMIx_Job_control_nb);
    p_procs(&l, t, nt);
    p_infos(&l, dir, n);
    pmix_status_t rc = fn(t, nt, dir, n, cb, cd);
    RC(rc);
    END();
    return rc;
}
pmix_status_t PMIx_Resolve_peers(const char* node, const pmix_nspace_t ns, pmix_proc_t** procs, size_t* np) {
    BEGIN(PMIx_Resolve_peers);
    add(&l, "%s %s", node ? node : "NULL", ns ? ns : "NULL");
    pmix_status_t rc = fn(node, ns, procs, np);
    RC(rc);
    if (rc == PMIX_SUCCESS) p_procs(&l, *procs, *np);
    END();
    return rc;
}
pmix_status_t PMIx_Resolve_nodes(const pmix_nspace_t ns, char** nodes) {
    BEGIN(PMIx_Resolve_nodes);
    add(&l, "%s", ns ? ns : "NULL");
    pmix_status_t rc = fn(ns, nodes);
    RC(rc);
    if (rc == PMIX_SUCCESS) add(&l, " %s", *nodes ? *nodes : "NULL");
    END();
    return rc;
}
const char* PMIx_Get_version(void) {
    BEGIN(PMIx_Get_version);
    const char* s = fn();
    add(&l, "-> \"%s\"", s);
    END();
    return s;
}
#define GENERATE(name)                                                                 \
    pmix_status_t name(const char* in, char** re) {                                    \
        BEGIN(name);                                                                   \
        pmix_status_t rc = fn(in, re);                                                 \
        add(&l, "\"%s\" -> %d \"%s\"", in, rc, rc == PMIX_SUCCESS && *re ? *re : "?"); \
        END();                                                                         \
        return rc;                                                                     \
    }
GENERATE(PMIx_generate_regex)
GENERATE(PMIx_generate_ppn)
