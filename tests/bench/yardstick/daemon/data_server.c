/* SPDX-License-Identifier: BSD-3-Clause */
#include "control.h"
#include "daemon.h"
#include "mesh.h"
#include "operations.h"
#include "values.h"

static item_t* ds_item(int type, const pmix_proc_t* p, void (*fn)(void), void* cbd) {
    item_t* it = item_new(type, fn, cbd);
    b_str(&it->b, p->nspace);
    b_u32(&it->b, p->rank);
    return it;
}
static bool reserved_key(const char* k) {
    return strncmp(k, "pmix", 4) == 0;
}

pmix_status_t up_publish(const pmix_proc_t* p, const pmix_info_t info[], size_t n, pmix_op_cbfunc_t cb, void* cbd) {
    item_t* it = ds_item(Q_PUB, p, (void (*)(void))cb, cbd);
    uint32_t c = 0;
    for (size_t i = 0; i < n; i++) c += !reserved_key(info[i].key);
    b_u32(&it->b, c);
    for (size_t i = 0; i < n; i++)
        if (!reserved_key(info[i].key)) {
            b_str(&it->b, info[i].key);
            b_value(&it->b, &info[i].value);
        }
    post(it);
    return PMIX_SUCCESS;
}
static void b_keys(buf_t* b, char** keys) {
    uint32_t c = 0;
    while (keys && keys[c]) c++;
    b_u32(b, c);
    for (uint32_t i = 0; i < c; i++) b_str(b, keys[i]);
}
pmix_status_t up_lookup(const pmix_proc_t* p, char** keys, const pmix_info_t info[], size_t n, pmix_lookup_cbfunc_t cb,
                        void* cbd) {
    item_t* it = ds_item(Q_LOOKUP, p, (void (*)(void))cb, cbd);
    uint32_t wait = 0;
    for (size_t i = 0; i < n; i++)
        if (strcmp(info[i].key, PMIX_WAIT) == 0) wait = 1;
    b_u32(&it->b, wait);
    b_keys(&it->b, keys);
    post(it);
    return PMIX_SUCCESS;
}
pmix_status_t up_unpublish(const pmix_proc_t* p, char** keys, const pmix_info_t info[], size_t n, pmix_op_cbfunc_t cb,
                           void* cbd) {
    (void)info;
    (void)n;
    item_t* it = ds_item(Q_UNPUB, p, (void (*)(void))cb, cbd);
    b_keys(&it->b, keys);
    post(it);
    return PMIX_SUCCESS;
}
typedef struct pub {
    struct pub* next;
    char *nspace, *key;
    uint32_t rank;
    buf_t val;
} pub_t;
typedef struct pend {
    struct pend* next;
    int node;
    uint64_t id;
    buf_t req;
} pend_t;
static pub_t* pubs;
static pend_t* pends;

static void deliver(int node, uint64_t id, bool pdata, pmix_status_t st, buf_t* b);

static pub_t** pub_find(const char* key) {
    pub_t** pp;
    for (pp = &pubs; *pp; pp = &(*pp)->next)
        if (strcmp((*pp)->key, key) == 0) return pp;
    return NULL;
}
static bool do_lookup(int node, uint64_t id, buf_t* req) {
    buf_t out = {0};
    uint32_t found = 0;
    req->r = 0;
    free(g_str(req));
    g_u32(req);
    uint32_t wait = g_u32(req), n = g_u32(req);
    b_u32(&out, 0);
    for (uint32_t i = 0; i < n; i++) {
        char* k = g_str(req);
        pub_t** pp = pub_find(k);
        if (pp) {
            b_str(&out, (*pp)->nspace);
            b_u32(&out, (*pp)->rank);
            b_str(&out, k);
            b_put(&out, (*pp)->val.p, (*pp)->val.n);
            found++;
        }
        free(k);
    }
    if (wait && found < n) {
        b_free(&out);
        return false;
    }
    memcpy(out.p, &found, 4);
    deliver(node, id, true, found == n ? PMIX_SUCCESS : found ? PMIX_ERR_PARTIAL_SUCCESS : PMIX_ERR_NOT_FOUND, &out);
    b_free(&out);
    return true;
}
void ds_handle(int node, uint64_t id, int mtype, buf_t* b) {
    pmix_status_t st = PMIX_SUCCESS;
    b->r = 0;
    if (mtype == M_LOOKUP) {
        if (!do_lookup(node, id, b)) {
            pend_t* p = xcalloc(1, sizeof *p);
            p->node = node;
            p->id = id;
            b_put(&p->req, b->p, b->n);
            p->next = pends;
            pends = p;
        }
        return;
    }
    char* ns = g_str(b);
    uint32_t rank = g_u32(b), n = g_u32(b);
    for (uint32_t i = 0; i < n; i++) {
        char* k = g_str(b);
        pub_t** pp = pub_find(k);
        if (mtype == M_UNPUB) {
            if (pp && (*pp)->rank == rank && strcmp((*pp)->nspace, ns) == 0) {
                pub_t* x = *pp;
                *pp = x->next;
                free(x->nspace);
                free(x->key);
                b_free(&x->val);
                free(x);
            } else {
                st = PMIX_ERR_NOT_FOUND;
            }
            free(k);
        } else {
            pmix_value_t v;
            size_t at = b->r;
            g_value(b, &v);
            v_free(&v);
            if (pp) {
                st = PMIX_ERR_DUPLICATE_KEY;
                free(k);
                continue;
            }
            pub_t* x = xcalloc(1, sizeof *x);
            x->nspace = strdup(ns);
            x->rank = rank;
            x->key = k;
            b_put(&x->val, b->p + at, b->r - at);
            x->next = pubs;
            pubs = x;
        }
    }
    free(ns);
    deliver(node, id, false, st, NULL);
    if (mtype == M_PUB)
        for (pend_t** pp = &pends; *pp;) {
            pend_t* p = *pp;
            if (do_lookup(p->node, p->id, &p->req)) {
                *pp = p->next;
                b_free(&p->req);
                free(p);
            } else {
                pp = &p->next;
            }
        }
}
void ds_complete(uint64_t id, bool pdata, pmix_status_t st, buf_t* b) {
    req_t r;
    if (!req_take(id, &r)) return;
    if (!pdata) {
        if (r.fn) ((pmix_op_cbfunc_t)r.fn)(st, r.cbdata);
        return;
    }
    uint32_t n = 0;
    pmix_pdata_t* pd = NULL;
    if (b && b->n) {
        b->r = 0;
        n = g_u32(b);
        pd = xcalloc(n + 1, sizeof *pd);
        for (uint32_t i = 0; i < n; i++) {
            g_into(b, pd[i].proc.nspace, sizeof pd[i].proc.nspace);
            pd[i].proc.rank = g_u32(b);
            g_into(b, pd[i].key, sizeof pd[i].key);
            g_value(b, &pd[i].value);
        }
    }
    ((pmix_lookup_cbfunc_t)r.fn)(st, n ? pd : NULL, n, r.cbdata);
    for (uint32_t i = 0; i < n; i++) v_free(&pd[i].value);
    free(pd);
}
static void deliver(int node, uint64_t id, bool pdata, pmix_status_t st, buf_t* b) {
    if (node == me)
        ds_complete(id, pdata, st, b);
    else
        msend(node, pdata ? M_PDATA : M_STATUS, 0, st, id, NULL, b ? b->p : NULL, b ? b->n : 0);
}
void ds_request(item_t* it) {
    int m = it->type == Q_PUB ? M_PUB : it->type == Q_LOOKUP ? M_LOOKUP : M_UNPUB;
    uint64_t id = req_add(it->fn, it->cbdata);
    if (me == 0)
        ds_handle(0, id, m, &it->b);
    else
        msend(0, (uint32_t)m, 0, 0, id, NULL, it->b.p, it->b.n);
}
