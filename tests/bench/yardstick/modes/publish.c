/* SPDX-License-Identifier: BSD-3-Clause */
#include "client.h"

void mode_publish(void) {
    enum { NP = 50 };
    double d[NP];
    char bytes[64];
    int reader = job.procs - 1;

    bar();
    if (rank_ == 0) {
        for (int i = 0; i < NP; i++) {
            pmix_info_t info;
            memset(&info, 0, sizeof info);
            snprintf(info.key, sizeof info.key, "bench.pub.%d", i);
            for (size_t j = 0; j < sizeof bytes; j++) bytes[j] = (char)pat(0, i, j);
            info.value.type = PMIX_BYTE_OBJECT;
            info.value.data.bo.bytes = bytes;
            info.value.data.bo.size = sizeof bytes;
            uint64_t t0 = now_ns();
            must(PMIx_Publish(&info, 1), "PMIx_Publish");
            d[i] = (double)(now_ns() - t0) / 1e3;
        }
        metric("med", "us", median_(d, NP), "publish_us");
    }
    bar();
    if (rank_ == reader) {
        for (int i = 0; i < NP; i++) {
            pmix_pdata_t pd;
            memset(&pd, 0, sizeof pd);
            snprintf(pd.key, sizeof pd.key, "bench.pub.%d", i);
            uint64_t t0 = now_ns();
            pmix_status_t st = PMIx_Lookup(&pd, 1, NULL, 0);
            d[i] = (double)(now_ns() - t0) / 1e3;
            if (st != PMIX_SUCCESS)
                bad("PMIx_Lookup: %s", PMIx_Error_string(st));
            else {
                check_val(&pd.value, 0, i, sizeof bytes, "lookup");
                if (pd.proc.rank != 0) bad("lookup: publisher is %u", pd.proc.rank);
                PMIX_VALUE_DESTRUCT(&pd.value);
            }
        }
        metric("med", "us", median_(d, NP), "lookup_us");
    }
    bar();
    if (rank_ == 0) {
        for (int i = 0; i < NP; i++) {
            char key[32], *keys[2] = {key, NULL};
            snprintf(key, sizeof key, "bench.pub.%d", i);
            uint64_t t0 = now_ns();
            must(PMIx_Unpublish(keys, NULL, 0), "PMIx_Unpublish");
            d[i] = (double)(now_ns() - t0) / 1e3;
        }
        metric("med", "us", median_(d, NP), "unpublish_us");
    }
    bar();
    if (rank_ == reader) {
        pmix_pdata_t pd;
        memset(&pd, 0, sizeof pd);
        snprintf(pd.key, sizeof pd.key, "bench.pub.0");
        if (PMIx_Lookup(&pd, 1, NULL, 0) == PMIX_SUCCESS) bad("lookup: an unpublished key was found");
    }
    bar();
}
