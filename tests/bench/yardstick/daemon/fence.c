/* SPDX-License-Identifier: BSD-3-Clause */
#include "control.h"
#include "daemon.h"
#include "mesh.h"
#include "operations.h"

typedef struct fence {
    struct fence* next;
    buf_t sig;
    uint64_t seq, t;
    bool *part, *have, local;
    buf_t* blob;
    void (*fn)(void);
    void* cbdata;
} fence_t;
typedef struct sigcount {
    struct sigcount* next;
    buf_t sig;
    uint64_t seq;
} sigcount_t;
static fence_t* fences;
static sigcount_t* sigcounts;
static double* fence_us;
static size_t nfence, capfence;

static fence_t* fence_find(const buf_t* sig, uint64_t seq) {
    fence_t* f;
    for (f = fences; f; f = f->next)
        if (f->seq == seq && b_same(&f->sig, sig)) return f;
    f = xcalloc(1, sizeof *f);
    b_put(&f->sig, sig->p, sig->n);
    f->seq = seq;
    f->have = xcalloc(job.nodes, sizeof(bool));
    f->blob = xcalloc(job.nodes, sizeof(buf_t));
    f->next = fences;
    fences = f;
    return f;
}
static void fence_check(fence_t* f) {
    if (!f->local) return;
    size_t tot = 0;
    for (int n = 0; n < job.nodes; n++) {
        if (f->part[n] && !f->have[n]) return;
        tot += f->blob[n].n;
    }
    char* all = NULL;
    if (tot) {
        size_t o = 0;
        all = xcalloc(tot, 1);
        for (int n = 0; n < job.nodes; n++) {
            if (f->blob[n].n) memcpy(all + o, f->blob[n].p, f->blob[n].n);
            o += f->blob[n].n;
        }
    }
    for (fence_t** pp = &fences; *pp; pp = &(*pp)->next)
        if (*pp == f) {
            *pp = f->next;
            break;
        }
    if (nfence == capfence) {
        capfence = capfence ? capfence * 2 : 1024;
        fence_us = realloc(fence_us, capfence * sizeof *fence_us);
    }
    fence_us[nfence++] = (double)(now_ns() - f->t) / 1e3;
    ((pmix_modex_cbfunc_t)f->fn)(PMIX_SUCCESS, all, tot, f->cbdata, free, all);
    for (int n = 0; n < job.nodes; n++) b_free(&f->blob[n]);
    b_free(&f->sig);
    free(f->part);
    free(f->have);
    free(f->blob);
    free(f);
}
static int cmp_proc(const void* a, const void* b) {
    const pmix_proc_t *x = a, *y = b;
    int c = strcmp(x->nspace, y->nspace);
    return c ? c : (x->rank > y->rank) - (x->rank < y->rank);
}
pmix_status_t up_fence(const pmix_proc_t procs[], size_t np, const pmix_info_t info[], size_t ni, char* data, size_t nd,
                       pmix_modex_cbfunc_t cb, void* cbd) {
    (void)info;
    (void)ni;
    uint64_t t = now_ns();
    item_t* it = item_new(Q_FENCE, (void (*)(void))cb, cbd);
    it->t = t;
    it->part = xcalloc(job.nodes, sizeof(bool));
    pmix_proc_t* s = xcalloc(np, sizeof *s);
    for (size_t i = 0; i < np; i++) {
        snprintf(s[i].nspace, sizeof s[i].nspace, "%s", procs[i].nspace);
        s[i].rank = procs[i].rank;
        if (procs[i].rank <= (pmix_rank_t)job.procs - 1)
            it->part[node_of((int)procs[i].rank)] = true;
        else
            for (int n = 0; n < job.nodes; n++) it->part[n] = true;
    }
    qsort(s, np, sizeof *s, cmp_proc);
    for (size_t i = 0; i < np; i++) {
        b_str(&it->sig, s[i].nspace);
        b_u32(&it->sig, s[i].rank);
    }
    free(s);
    b_put(&it->b, data, nd);
    post(it);
    return PMIX_SUCCESS;
}
void fence_local(item_t* it) {
    sigcount_t* s;
    for (s = sigcounts; s; s = s->next)
        if (b_same(&s->sig, &it->sig)) break;
    if (!s) {
        s = xcalloc(1, sizeof *s);
        b_put(&s->sig, it->sig.p, it->sig.n);
        s->next = sigcounts;
        sigcounts = s;
    }
    fence_t* f = fence_find(&it->sig, s->seq++);
    f->local = true;
    f->part = it->part;
    f->fn = it->fn;
    f->cbdata = it->cbdata;
    f->t = it->t;
    f->have[me] = true;
    for (int n = 0; n < job.nodes; n++)
        if (n != me && f->part[n]) msend(n, M_FENCE, 0, 0, f->seq, &it->sig, it->b.p, it->b.n);
    f->blob[me] = it->b;
    memset(&it->b, 0, sizeof it->b);
    fence_check(f);
}
void fence_remote(int from, const buf_t* sig, uint64_t seq, const void* data, size_t n) {
    fence_t* f = fence_find(sig, seq);
    f->have[from] = true;
    b_put(&f->blob[from], data, n);
    fence_check(f);
}
void fence_report(void) {
    if (nfence) to_parent(C_STAT, 0, 0, median_(fence_us, nfence), "host_fence_us us");
}
