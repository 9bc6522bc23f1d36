/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What PMIx_Data_pack and PMIx_Data_unpack cost with the library that this is linked to: its version in the first line,
 * then one line per sample of support/data_samples.h, "name <tab> pack ns <tab> unpack ns", the least of several
 * rounds. Built once for each library (run_pack_compare). What unpacking allocates is not freed, since releases differ
 * in how: the rounds are short.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "support/data_samples.h"

enum { ROUNDS = 15, PASSES = 400, MAX_ELEMENT = 1024, MAX_VALUES = 1000 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Longer runs of the commonest types. */
static void sample_many(void) {
    static uint32_t numbers[MAX_VALUES];
    static double reals[MAX_VALUES];
    static uint8_t bytes[MAX_VALUES];
    static char* strings[MAX_VALUES];
    static pmix_info_t infos[100];
    static pmix_proc_t procs[MAX_VALUES];
    static bool flags[MAX_VALUES];
    for (int i = 0; i < MAX_VALUES; i++) {
        numbers[i] = (uint32_t)i * 77773u;
        reals[i] = i / 3.0;
        bytes[i] = (uint8_t)i;
        strings[i] = (char*)"node0001.site.org";
        flags[i] = i % 3 == 0;
        strcpy(procs[i].nspace, "prte-node0001-12345@1");
        procs[i].rank = (pmix_rank_t)i;
    }
    for (int i = 0; i < 100; i++) {
        infos[i] = g_sample_infos[i % 2];
        infos[i].flags = 0;
    }
    sample("1000 uint32", PMIX_UINT32, numbers, MAX_VALUES);
    sample("1000 doubles", PMIX_DOUBLE, reals, MAX_VALUES);
    sample("1000 bytes", PMIX_BYTE, bytes, MAX_VALUES);
    sample("1000 bools", PMIX_BOOL, flags, MAX_VALUES);
    sample("1000 strings", PMIX_STRING, strings, MAX_VALUES);
    sample("1000 procs", PMIX_PROC, procs, MAX_VALUES);
    sample("100 infos", PMIX_INFO, infos, 100);
}

static void rewind_buffer(pmix_data_buffer_t* b) {
    b->pack_ptr = b->unpack_ptr = b->base_ptr;
    b->bytes_used = 0;
}

int main(void) {
    static char space[MAX_ELEMENT * (MAX_VALUES + 1)];
    pmix_proc_t me;
    /* OpenPMIx packs nothing before it; without a server it fails, and packs all the same. */
    (void)PMIx_Init(&me, NULL, 0);
    printf("%s\n", PMIx_Get_version());
    make_samples();
    sample_many();
    for (size_t i = 0; i < g_nsamples; i++) {
        const pmix_sample_t* s = &g_samples[i];
        pmix_data_buffer_t b;
        double pack = 1e18;
        double unpack = 1e18;
        const int passes = s->n >= 100 ? PASSES / 20 : PASSES;
        pmix_status_t rc = PMIX_SUCCESS;
        memset(&b, 0, sizeof(b));
        if (s->n == 0) {
            continue;
        }
        for (int round = 0; round < ROUNDS; round++) {
            double start = now();
            for (int pass = 0; pass < passes && rc == PMIX_SUCCESS; pass++) {
                rewind_buffer(&b);
                rc = PMIx_Data_pack(NULL, &b, (void*)s->values, s->n, s->type);
            }
            const double packed = (now() - start) / passes;
            start = now();
            for (int pass = 0; pass < passes && rc == PMIX_SUCCESS; pass++) {
                int32_t n = s->n;
                b.unpack_ptr = b.base_ptr;
                rc = PMIx_Data_unpack(NULL, &b, space, &n, s->type);
            }
            const double unpacked = (now() - start) / passes;
            pack = packed < pack ? packed : pack;
            unpack = unpacked < unpack ? unpacked : unpack;
        }
        if (rc == PMIX_SUCCESS) {
            printf("%s\t%.0f\t%.0f\n", s->name, pack, unpack);
        } else {
            printf("%s\t-\t-\n", s->name);
        }
        free(b.base_ptr);
    }
    return 0;
}
