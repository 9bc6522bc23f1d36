/* SPDX-License-Identifier: BSD-3-Clause */
#include "client.h"

void mode_put(void) {
    static const int nk[] = {10, 100};
    static const size_t sz[] = {8, 64, 1024};
    uint8_t scratch[1024];
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 3; b++) {
            char(*keys)[32] = malloc((size_t)nk[a] * sizeof *keys);
            pmix_value_t v;
            for (int i = 0; i < nk[a]; i++) snprintf(keys[i], sizeof keys[i], "p.%d.%zu.%d", nk[a], sz[b], i);
            memset(scratch, 7, sizeof scratch);
            solo_begin();
            uint64_t c0 = cpu_mine(), t0 = now_ns();
            for (int i = 0; i < nk[a]; i++) {
                memset(&v, 0, sizeof v);
                if (sz[b] == 8) {
                    v.type = PMIX_UINT64;
                    v.data.uint64 = (uint64_t)i;
                } else {
                    v.type = PMIX_BYTE_OBJECT;
                    v.data.bo.bytes = (char*)scratch;
                    v.data.bo.size = sz[b];
                }
                must(PMIx_Put(PMIX_GLOBAL, keys[i], &v), "PMIx_Put");
            }
            uint64_t t1 = now_ns(), c1 = cpu_mine();
            must(PMIx_Commit(), "PMIx_Commit");
            uint64_t t2 = now_ns();
            solo_end();
            metric("med", "ns", (double)(c1 - c0) / nk[a], "put_n%d_s%zu_cpu_ns", nk[a], sz[b]);
            metric("med", "ns", (double)(t1 - t0) / nk[a], "put_n%d_s%zu_ns", nk[a], sz[b]);
            metric("med", "us", (double)(t2 - t1) / 1e3, "commit_n%d_s%zu_us", nk[a], sz[b]);
            free(keys);
        }
}
