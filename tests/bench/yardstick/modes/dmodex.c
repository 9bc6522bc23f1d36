/* SPDX-License-Identifier: BSD-3-Clause */
#include "client.h"

void mode_dmodex(void) {
    pmix_proc_t p;
    pmix_value_t* v;
    uint64_t tn[2] = {0, 0};
    long nf[2] = {0, 0}, nn[2] = {0, 0};
    double* d[2] = {calloc((size_t)job.procs, sizeof(double)), calloc((size_t)job.procs, sizeof(double))};

    if (!exchanged) exchange(false);
    solo_begin();
    if (lrank_of(rank_) == 0)
        for (int i = 1; i < job.procs; i++) {
            int r = (rank_ + i) % job.procs, rem = node_of(r) != node_of(rank_);
            proc_of(&p, r);
            uint64_t t0 = now_ns();
            v = get(&p, key_names[0]);
            uint64_t t1 = now_ns();
            check_val(v, r, 0, options.size, "dmodex");
            release(v);
            d[rem][nf[rem]++] = (double)(t1 - t0) / 1e3;
            for (int k = 1; k < options.keys; k++) {
                t0 = now_ns();
                v = get(&p, key_names[k]);
                t1 = now_ns();
                check_val(v, r, k, options.size, "dmodex");
                release(v);
                tn[rem] += t1 - t0;
                nn[rem]++;
            }
        }
    solo_end();
    for (int rem = 0; rem < 2; rem++) {
        const char* w = rem ? "remote" : "local";
        if (nf[rem]) metric("med", "us", median_(d[rem], (size_t)nf[rem]), "dmodex_%s_first_us", w);
        if (nn[rem]) metric("med", "ns", (double)tn[rem] / (double)nn[rem], "dmodex_%s_next_ns", w);
        free(d[rem]);
    }
}
