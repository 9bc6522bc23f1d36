/* SPDX-License-Identifier: BSD-3-Clause */
/* What the modes of the client share; a mode is a function mode_NAME in a file of its own.
 *
 * One process is one rank. All of this is the main thread's, except where threads.c calls get, check_val and release
 * from its own. What a rank owns: a file for its lines, and its share of the host's page (bench.h). An error of a call
 * that the measurement needs ends the process with status 4 (must); a wrong or missing value is counted (bad), and the
 * run fails. */
#ifndef BENCH_CLIENT_H
#define BENCH_CLIENT_H
#include <pmix.h>
#include <stdbool.h>

#include "../bench.h"
#include "../figures.h"
#include "../placement.h"

/* The command line; a constant after main has read it. */
typedef struct {
    int keys, iters, reps;
    size_t size;
    bool serial, concurrent;
} options_t;
extern options_t options;

extern bench_shm_t* shm; /* NULL: started by another launcher; phases are then aligned with PMIx_Fence */
extern FILE* out;
extern pmix_proc_t me;
extern int rank_;
extern long errors;

/* phases.c: reports, and ranks that work one after the other. */
void metric(const char* agg, const char* unit, double v, const char* fmt, ...) __attribute__((format(printf, 4, 5)));
void bad(const char* fmt, ...) __attribute__((format(printf, 1, 2)));
void must(pmix_status_t st, const char* what);
void bar(void);
void solo_begin(void); /* until solo_end one rank works at a time, the others sleep */
void solo_end(void);
bool sampler(void); /* is this one of the few ranks that repeat long loops? */

/* values.c: each rank's value of key number k can be recomputed by all others. */
uint8_t pat(int rank, int k, size_t j);
void put_one(const char* key, int k, size_t size, uint8_t* scratch);
void check_val(const pmix_value_t* v, int rank, int k, size_t size, const char* what);
void proc_of(pmix_proc_t* p, int rank);
void fence(bool collect);

/* In the loops that are measured: no call more than the library's. */
static inline void release(pmix_value_t* v) {
    if (v) PMIX_VALUE_RELEASE(v);
}
static inline pmix_value_t* get(const pmix_proc_t* p, const char* key) {
    pmix_value_t* v = NULL;
    pmix_status_t st = PMIx_Get(p, key, NULL, 0, &v);
    if (st != PMIX_SUCCESS) {
        bad("PMIx_Get(%d, %s): %s", (int)p->rank, key, PMIx_Error_string(st));
        return NULL;
    }
    return v;
}

/* memory.c: memory and processor time of this process and, by the first rank of a node, of its server. */
void memory_base(bool server); /* growth is counted from now on, the server's too */
void mode_mem(void);
void find_server_clock(void);
uint64_t cpu_srv(void); /* 0 where there is none */
static inline uint64_t cpu_mine(void) {
    return cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* peer.c: every rank puts its keys (key_names) and fences, once. */
extern bool exchanged;
extern char (*key_names)[32];
void exchange(bool collect);

void check_job(void); /* job.c: the job-level keys of all ranks */
void mode_job(void);
void mode_put(void);
void mode_fence(void);
void mode_peer(void);
void mode_dmodex(void);
void mode_threads(void);
void mode_event(void);
void mode_publish(void);
#endif
