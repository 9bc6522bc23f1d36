/* SPDX-License-Identifier: BSD-3-Clause */
#include "client.h"

static void fence_loop(const char* name, int kind, int n) {
    double* d = malloc((size_t)n * sizeof *d);
    char key[32];
    uint8_t scratch[64];

    for (int i = 0; i < 5; i++) fence(kind > 0);
    bar();
    uint64_t c0 = cpu_mine(), s0 = cpu_srv(), t0 = now_ns();
    for (int i = 0; i < n; i++) {
        uint64_t a = now_ns();
        if (kind == 2) {
            snprintf(key, sizeof key, "f.%d", i);
            put_one(key, i, 64, scratch);
            must(PMIx_Commit(), "PMIx_Commit");
        }
        fence(kind > 0);
        d[i] = (double)(now_ns() - a) / 1e3;
    }
    uint64_t t1 = now_ns();
    bar();
    uint64_t c1 = cpu_mine(), s1 = cpu_srv();
    metric("med", "us", (double)(t1 - t0) / 1e3 / n, "%s_mean_us", name);
    metric("med", "us", median_(d, (size_t)n), "%s_us", name);
    metric("sum", "us", ((double)(c1 - c0) + (double)(s1 - s0)) / 1e3 / n, "%s_cpu_us", name);
    free(d);
}
void mode_fence(void) {
    fence_loop("fence", 0, options.iters);
    fence_loop("fence_collect", 1, options.iters);
    int n = options.iters / 4 + 1; /* every round adds a key to every rank */
    fence_loop("fence_modex", 2, n);
    /* what the last loop exchanged must be right */
    pmix_proc_t p;
    proc_of(&p, (rank_ + 1) % job.procs);
    solo_begin();
    for (int i = 0; i < n; i += 7) {
        char key[32];
        snprintf(key, sizeof key, "f.%d", i);
        pmix_value_t* v = get(&p, key);
        check_val(v, (int)p.rank, i, 64, "fence");
        release(v);
    }
    solo_end();
}
