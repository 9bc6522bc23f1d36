/* SPDX-License-Identifier: BSD-3-Clause */
/* A fence is a barrier: nobody leaves one before the last participant has entered it. Whatever the launcher does with
 * fences that carry no data, or data of some nodes only.
 *
 * Each rank notes when it enters and leaves fences of several kinds, each time with another rank late; then all times
 * are exchanged. The nodes of the lab are namespaces of one machine, so their monotonic clocks are one.
 *
 * Rank 0 prints one "OK barrier ..." line; a fence that somebody left too early is a "FAIL ..." line and exit 1. */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { KINDS = 4, ROUNDS = 6, FENCES = KINDS * ROUNDS, LATE_US = 60000 };

static const char* const kinds[KINDS] = {"without attributes", "PMIX_COLLECT_DATA false",
                                         "PMIX_COLLECT_DATA true, nothing new",
                                         "PMIX_COLLECT_DATA true, one rank's data"};
static pmix_proc_t me;

struct times {
    long long in[FENCES], out[FENCES];
};

static void fail(const char* what, pmix_status_t rc) {
    printf("FAIL rank %u: %s: %s\n", me.rank, what, PMIx_Error_string(rc));
    fflush(stdout);
    PMIx_Abort(1, "pmix_barrier failed", NULL, 0);
    _exit(1);
}

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void commit(const char* key, void* bytes, size_t size) {
    pmix_value_t value;
    pmix_status_t rc;
    PMIX_VALUE_CONSTRUCT(&value);
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = bytes;
    value.data.bo.size = size;
    if ((rc = PMIx_Put(PMIX_GLOBAL, key, &value))) fail("PMIx_Put", rc);
    if ((rc = PMIx_Commit())) fail("PMIx_Commit", rc);
}

static void fence(int kind) {
    pmix_proc_t all;
    pmix_info_t info;
    bool collect = kind >= 2;
    pmix_status_t rc;
    PMIX_PROC_LOAD(&all, me.nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    rc = PMIx_Fence(&all, 1, kind == 0 ? NULL : &info, kind == 0 ? 0 : 1);
    if (rc) fail(kinds[kind], rc);
}

static void compare(const struct times* all, uint32_t size) {
    int bad = 0;
    for (int f = 0; f < FENCES; f++) {
        uint32_t last = 0, first = 0;
        for (uint32_t r = 1; r < size; r++) {
            if (all[r].in[f] > all[last].in[f]) last = r;
            if (all[r].out[f] < all[first].out[f]) first = r;
        }
        if (all[first].out[f] >= all[last].in[f]) continue;
        printf("FAIL fence %d (%s): rank %u left %.3f ms before rank %u entered\n", f, kinds[f % KINDS], first,
               (double)(all[last].in[f] - all[first].out[f]) / 1e6, last);
        bad++;
    }
    if (bad == 0) printf("OK barrier: %u ranks, %d fences\n", size, FENCES);
    fflush(stdout);
    if (bad != 0) exit(1);
}

int main(void) {
    pmix_status_t rc;
    pmix_proc_t all;
    pmix_value_t* value;
    struct times mine, *times;
    uint32_t size;

    alarm(120);
    if ((rc = PMIx_Init(&me, NULL, 0))) {
        fprintf(stderr, "FAIL PMIx_Init: %s\n", PMIx_Error_string(rc));
        return 1;
    }
    PMIX_PROC_LOAD(&all, me.nspace, PMIX_RANK_WILDCARD);
    if ((rc = PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value))) fail("PMIX_JOB_SIZE", rc);
    size = value->data.uint32;
    PMIX_VALUE_RELEASE(value);

    for (int f = 0; f < FENCES; f++) {
        uint32_t late = (uint32_t)f % size;
        char key[32];
        snprintf(key, sizeof key, "round-%d", f);
        if (f % KINDS == 3 && me.rank == late) commit(key, &f, sizeof f);
        if (me.rank == late) usleep(LATE_US);
        mine.in[f] = now();
        fence(f % KINDS);
        mine.out[f] = now();
    }

    commit("times", &mine, sizeof mine);
    fence(3);
    if (me.rank == 0) {
        times = calloc(size, sizeof *times);
        if (times == NULL) return 1;
        for (uint32_t r = 0; r < size; r++) {
            pmix_proc_t peer;
            PMIX_PROC_LOAD(&peer, me.nspace, r);
            if ((rc = PMIx_Get(&peer, "times", NULL, 0, &value))) fail("times of a peer", rc);
            if (value->type != PMIX_BYTE_OBJECT || value->data.bo.size != sizeof *times)
                fail("times", PMIX_ERR_TYPE_MISMATCH);
            memcpy(&times[r], value->data.bo.bytes, sizeof *times);
            PMIX_VALUE_RELEASE(value);
        }
        compare(times, size);
        free(times);
    }
    fence(0);
    if ((rc = PMIx_Finalize(NULL, 0))) fail("PMIx_Finalize", rc);
    return 0;
}
