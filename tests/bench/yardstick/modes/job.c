/* SPDX-License-Identifier: BSD-3-Clause */
#include "client.h"

static long nodeid_missing;
void check_job(void) {
    pmix_proc_t w, p;
    pmix_value_t* v;
    char want[64];

    proc_of(&w, 0);
    w.rank = PMIX_RANK_WILDCARD;
    v = get(&w, PMIX_JOB_SIZE);
    if (v && (v->type != PMIX_UINT32 || v->data.uint32 != (uint32_t)job.procs))
        bad("PMIX_JOB_SIZE is wrong (type %d, %u)", v->type, v->data.uint32);
    release(v);
    v = get(&w, PMIX_LOCAL_PEERS);
    if (v) {
        char buf[BENCH_MAXRANKS * 6], *q = buf;
        for (int l = 0; l < job.ppn; l++) q += sprintf(q, "%s%d", l ? "," : "", rank_at(node_of(rank_), l));
        if (v->type != PMIX_STRING || strcmp(v->data.string, buf) != 0) bad("PMIX_LOCAL_PEERS is wrong");
    }
    release(v);
    for (int r = 0; r < job.procs; r++) {
        proc_of(&p, r);
        v = get(&p, PMIX_HOSTNAME);
        snprintf(want, sizeof want, "bnode%d", node_of(r));
        if (v && (v->type != PMIX_STRING || strcmp(v->data.string, want) != 0)) bad("PMIX_HOSTNAME of %d is wrong", r);
        release(v);
        /* some libraries have the node id of remote processes only under PMIX_NODE_INFO:
         * count what is missing apart from what is wrong */
        v = NULL;
        if (PMIx_Get(&p, PMIX_NODEID, NULL, 0, &v) != PMIX_SUCCESS)
            nodeid_missing++;
        else if (v->type != PMIX_UINT32 || v->data.uint32 != (uint32_t)node_of(r))
            bad("PMIX_NODEID of %d is wrong (type %d, %u)", r, v->type, v->data.uint32);
        release(v);
        v = get(&p, PMIX_LOCAL_RANK);
        if (v && (v->type != PMIX_UINT16 || v->data.uint16 != (uint16_t)lrank_of(r)))
            bad("PMIX_LOCAL_RANK of %d is wrong (type %d)", r, v->type);
        release(v);
    }
}
static void job_key(const char* name, const char* key, const pmix_proc_t* p, int n) {
    enum { B = 100, MAXB = 64 };
    pmix_value_t* v[B];
    double d[MAXB], r[MAXB];
    uint64_t t0, first, cpu = 0, c0;
    int nb = 0;

    t0 = now_ns();
    v[0] = get(p, key);
    first = now_ns() - t0;
    release(v[0]);
    while (nb * B < n && nb < MAXB) {
        c0 = cpu_mine();
        t0 = now_ns();
        for (int i = 0; i < B; i++) v[i] = get(p, key);
        d[nb] = (double)(now_ns() - t0) / B;
        cpu += cpu_mine() - c0;
        t0 = now_ns();
        for (int i = 0; i < B; i++) release(v[i]);
        r[nb++] = (double)(now_ns() - t0) / B;
    }
    metric("med", "ns", (double)first, "job_%s_first_ns", name);
    metric("med", "ns", median_(d, (size_t)nb), "job_%s_ns", name);
    metric("med", "ns", (double)cpu / nb / B, "job_%s_cpu_ns", name);
    if (strcmp(name, "size") == 0) metric("med", "ns", median_(r, (size_t)nb), "job_%s_release_ns", name);
}
void mode_job(void) {
    pmix_proc_t w, p;
    proc_of(&w, 0);
    w.rank = PMIX_RANK_WILDCARD;
    solo_begin();
    if (sampler()) {
        proc_of(&p, (rank_ + 1) % job.procs);
        job_key("size", PMIX_JOB_SIZE, &w, 2000);
        job_key("peers", PMIX_LOCAL_PEERS, &w, 2000);
        job_key("lrank", PMIX_LOCAL_RANK, &p, 2000);
        job_key("hostname", PMIX_HOSTNAME, &p, 2000);
    }
    solo_end();
    solo_begin();
    check_job();
    solo_end();
    metric("sum", "count", (double)nodeid_missing, "job_nodeid_missing");
}
