/* SPDX-License-Identifier: BSD-3-Clause */
#include "client.h"

bool exchanged;
char (*key_names)[32];

void exchange(bool collect) {
    uint8_t* scratch = malloc(options.size + 1);
    if (!key_names) {
        key_names = malloc((size_t)options.keys * sizeof *key_names);
        for (int k = 0; k < options.keys; k++) snprintf(key_names[k], sizeof key_names[k], "bench.key.%d", k);
    }
    bar();
    uint64_t c0 = cpu_mine(), s0 = cpu_srv(), t0 = now_ns();
    for (int k = 0; k < options.keys; k++) put_one(key_names[k], k, options.size, scratch);
    must(PMIx_Commit(), "PMIx_Commit");
    fence(collect);
    uint64_t t1 = now_ns();
    bar();
    metric("max", "us", (double)(t1 - t0) / 1e3, "exchange_us");
    metric("sum", "us", ((double)(cpu_mine() - c0) + (double)(cpu_srv() - s0)) / 1e3, "exchange_cpu_us");
    free(scratch);
    exchanged = true;
}
static void first_access(const char* tag) {
    double *f[2], *x[2];
    size_t n[2] = {0, 0};
    uint64_t tot = 0;
    pmix_value_t** v = calloc((size_t)options.keys, sizeof *v);
    pmix_proc_t p;

    for (int rem = 0; rem < 2; rem++) {
        f[rem] = calloc((size_t)job.procs, sizeof(double));
        x[rem] = calloc((size_t)job.procs, sizeof(double));
    }
    for (int i = 1; i < job.procs; i++) {
        int r = (rank_ + i) % job.procs, rem = node_of(r) != node_of(rank_);
        proc_of(&p, r);
        uint64_t t0 = now_ns();
        v[0] = get(&p, key_names[0]);
        uint64_t t1 = now_ns();
        for (int k = 1; k < options.keys; k++) v[k] = get(&p, key_names[k]);
        uint64_t t2 = now_ns();
        f[rem][n[rem]] = (double)(t1 - t0);
        x[rem][n[rem]++] = options.keys > 1 ? (double)(t2 - t1) / (options.keys - 1) : 0;
        tot += t2 - t0;
        for (int k = 0; k < options.keys; k++) {
            check_val(v[k], r, k, options.size, tag);
            release(v[k]);
        }
    }
    for (int rem = 0; rem < 2; rem++) {
        const char* w = rem ? "remote" : "local";
        if (n[rem]) {
            metric("med", "ns", median_(f[rem], n[rem]), "%s_%s_first_ns", tag, w);
            if (options.keys > 1) metric("med", "ns", median_(x[rem], n[rem]), "%s_%s_next_ns", tag, w);
        }
        free(f[rem]);
        free(x[rem]);
    }
    metric("med", "us", (double)tot / 1e3, "%s_all_us", tag);
    free(v);
}
static void repeat_access(const char* tag) {
    enum { B = 128 };
    pmix_value_t* v[B];
    int vr[B], vk[B], n;
    pmix_proc_t p;
    long budget = 6000;
    double* d = malloc((size_t)(budget / B + 2) * sizeof *d);

    for (int rem = 0; rem < 2; rem++) {
        int np = 0;
        for (int r = 0; r < job.procs; r++) np += r != rank_ && (node_of(r) != node_of(rank_)) == rem;
        if (!np) continue;
        long left = (long)np * options.keys * options.reps;
        if (left > budget) left = budget;
        int r = rank_, k = options.keys - 1;
        size_t nb = 0;
        uint64_t cpu = 0, cnt = 0;
        while (left > 0) {
            n = 0;
            while (n < B && left > 0) { /* (peer, key) pairs, key by key */
                do {
                    if (++r >= job.procs) {
                        r = 0;
                        k = (k + 1) % options.keys;
                    }
                } while (r == rank_ || (node_of(r) != node_of(rank_)) != rem);
                vr[n] = r;
                vk[n++] = k;
                left--;
            }
            proc_of(&p, 0);
            uint64_t c0 = cpu_mine(), t0 = now_ns();
            for (int i = 0; i < n; i++) {
                p.rank = (pmix_rank_t)vr[i];
                v[i] = get(&p, key_names[vk[i]]);
            }
            if (n == B || nb == 0) /* a short last batch would weigh as much as a full one */
                d[nb++] = (double)(now_ns() - t0) / n;
            cpu += cpu_mine() - c0;
            cnt += (uint64_t)n;
            for (int i = 0; i < n; i++) {
                check_val(v[i], vr[i], vk[i], options.size, tag);
                release(v[i]);
            }
        }
        metric("med", "ns", median_(d, nb), "%s_%s_repeat_ns", tag, rem ? "remote" : "local");
        metric("med", "ns", (double)cpu / (double)cnt, "%s_%s_repeat_cpu_ns", tag, rem ? "remote" : "local");
    }
    free(d);
}
void mode_peer(void) {
    const char* tag = options.concurrent ? "peerc" : "peer";
    bar();
    memory_base(true);
    if (!exchanged) exchange(true);
    uint64_t c0 = cpu_mine(), s0 = cpu_srv();
    solo_begin();
    first_access(tag);
    solo_end();
    metric("sum", "us", ((double)(cpu_mine() - c0) + (double)(cpu_srv() - s0)) / 1e3, "%s_first_cpu_us", tag);
    solo_begin();
    if (sampler()) repeat_access(tag);
    solo_end();
    /* a key nobody put must be reported as missing, not as data */
    pmix_proc_t p;
    pmix_value_t* v = NULL;
    pmix_info_t opt;
    memset(&opt, 0, sizeof opt);
    snprintf(opt.key, sizeof opt.key, "%s", PMIX_OPTIONAL);
    opt.value.type = PMIX_BOOL;
    opt.value.data.flag = true;
    proc_of(&p, (rank_ + 1) % job.procs);
    if (PMIx_Get(&p, "bench.no.such.key", &opt, 1, &v) == PMIX_SUCCESS) bad("a key that nobody put was found");
    bar();
}
