/* SPDX-License-Identifier: BSD-3-Clause */
/* hello.c: every process puts data of its own, and reads the data of all others.
 *
 *     pmixrun -n 8 --nodes 3 hello [KEYS]
 *
 * Each rank puts KEYS values (default 3) of 64 bytes and commits them; one fence collects them; then each gets all
 * values of all ranks and compares them with what they must be. Rank 0 prints the result and the times of the slowest
 * rank, which the ranks exchange in the same way as the data. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <pmix.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { VALUE_SIZE = 64, PHASES = 3 };

static const char* const kPhases[PHASES] = {"put and commit", "fence", "get all"};
static pmix_proc_t me;

static void check(pmix_status_t status, const char* what) {
    if (status == PMIX_SUCCESS) return;
    fprintf(stderr, "rank %u: %s: %s (%d)\n", me.rank, what, PMIx_Error_string(status), status);
    PMIx_Abort(1, what, NULL, 0);
    exit(1);
}

static double microseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void fill(char text[VALUE_SIZE], uint32_t rank, uint32_t key) {
    memset(text, '.', VALUE_SIZE);
    text[snprintf(text, VALUE_SIZE, "value %u of rank %u ", key, rank)] = '.';
    text[VALUE_SIZE - 1] = 0;
}

static void put_all(uint32_t keys) {
    for (uint32_t i = 0; i < keys; i++) {
        char key[PMIX_MAX_KEYLEN + 1], text[VALUE_SIZE];
        pmix_value_t value = {.type = PMIX_STRING, .data.string = text};
        snprintf(key, sizeof key, "hello.%u", i);
        fill(text, me.rank, i);
        check(PMIx_Put(PMIX_GLOBAL, key, &value), "PMIx_Put");
    }
    check(PMIx_Commit(), "PMIx_Commit");
}

static void fence(void) {
    bool yes = true;
    pmix_info_t collect;
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    check(PMIx_Fence(NULL, 0, &collect, 1), "PMIx_Fence");
    PMIX_INFO_DESTRUCT(&collect);
}

static void get_all(uint32_t ranks, uint32_t keys) {
    for (uint32_t rank = 0; rank < ranks; rank++) {
        pmix_proc_t peer = me;
        peer.rank = rank;
        for (uint32_t i = 0; i < keys; i++) {
            char key[PMIX_MAX_KEYLEN + 1], text[VALUE_SIZE];
            pmix_value_t* value = NULL;
            snprintf(key, sizeof key, "hello.%u", i);
            fill(text, rank, i);
            check(PMIx_Get(&peer, key, NULL, 0, &value), key);
            bool right = value->type == PMIX_STRING && strcmp(value->data.string, text) == 0;
            PMIX_VALUE_RELEASE(value);
            check(right ? PMIX_SUCCESS : PMIX_ERROR, "a wrong value");
        }
    }
}

static uint32_t job_number(const char* key) {
    pmix_proc_t job = me;
    job.rank = PMIX_RANK_WILDCARD;
    pmix_value_t* value = NULL;
    check(PMIx_Get(&job, key, NULL, 0, &value), key);
    uint32_t number = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    return number;
}

/* The longest time of any rank for each phase. */
static void slowest(double took[PHASES], uint32_t ranks) {
    pmix_byte_object_t figures = {(char*)took, PHASES * sizeof *took};
    pmix_value_t mine = {.type = PMIX_BYTE_OBJECT, .data.bo = figures};
    check(PMIx_Put(PMIX_GLOBAL, "hello.took", &mine), "PMIx_Put");
    check(PMIx_Commit(), "PMIx_Commit");
    fence();
    for (uint32_t rank = 0; rank < ranks && me.rank == 0; rank++) {
        pmix_proc_t peer = me;
        peer.rank = rank;
        pmix_value_t* value = NULL;
        double theirs[PHASES];
        check(PMIx_Get(&peer, "hello.took", NULL, 0, &value), "hello.took");
        memcpy(theirs, value->data.bo.bytes, sizeof theirs);
        PMIX_VALUE_RELEASE(value);
        for (int i = 0; i < PHASES; i++) took[i] = theirs[i] > took[i] ? theirs[i] : took[i];
    }
}

int main(int argc, char** argv) {
    uint32_t keys = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 3;
    double took[PHASES], start;
    check(PMIx_Init(&me, NULL, 0), "PMIx_Init");
    uint32_t ranks = job_number(PMIX_JOB_SIZE), nodes = job_number(PMIX_NUM_NODES);
    check(PMIx_Fence(NULL, 0, NULL, 0), "PMIx_Fence"); /* start together */

    start = microseconds();
    put_all(keys);
    took[0] = microseconds() - start;
    start = microseconds();
    fence();
    took[1] = microseconds() - start;
    start = microseconds();
    get_all(ranks, keys);
    took[2] = microseconds() - start;

    slowest(took, ranks);
    if (me.rank == 0) {
        printf("%u ranks on %u nodes: each found all %u values of all ranks\n", ranks, nodes, keys);
        for (int i = 0; i < PHASES; i++) printf("  %-15s %9.1f us\n", kPhases[i], took[i]);
        printf("  (the slowest rank's time; libpmix: %s)\n", PMIx_Get_version());
    }
    check(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
    return 0;
}
