/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>

#include "client.h"

placement_t job;
options_t options = {.keys = 10, .iters = 200, .reps = 20, .size = 64};
bench_shm_t* shm;
FILE* out;
pmix_proc_t me;
int rank_;
long errors;

void metric(const char* agg, const char* unit, double v, const char* fmt, ...) {
    char name[96];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(name, sizeof name, fmt, ap);
    va_end(ap);
    if (!figure_is_possible(name, unit, v)) {
        errors++; /* so that the run fails */
        fprintf(stderr, "client %d: %s: %.10g %s cannot be true\n", rank_, name, v, unit);
        return;
    }
    fprintf(out, "%s %.10g %s %s\n", name, v, unit, agg);
}
void bad(const char* fmt, ...) {
    va_list ap;
    if (errors++ < 5) {
        fprintf(stderr, "client %d: ", rank_);
        va_start(ap, fmt);
        vfprintf(stderr, fmt, ap);
        va_end(ap);
        fputc('\n', stderr);
    }
}
void must(pmix_status_t st, const char* what) {
    if (st != PMIX_SUCCESS) {
        fprintf(stderr, "client %d: %s: %s (%d)\n", rank_, what, PMIx_Error_string(st), (int)st);
        fflush(out);
        _exit(4);
    }
}

void bar(void) {
    if (shm)
        shm_barrier(shm);
    else
        must(PMIx_Fence(NULL, 0, NULL, 0), "PMIx_Fence");
}
/* One rank at a time: the others sleep in the kernel, so that with more ranks than cores
 * the figure is the cost of the operation and not of the queue for a core. */
void solo_begin(void) {
    bar();
    if (!shm || options.concurrent) return;
    if (rank_ == 0) {
        usleep(2000 + 50 * (useconds_t)job.procs); /* let the others fall asleep */
    } else {
        while (!atomic_load(&shm->solo[rank_].go)) futex_wait_(&shm->solo[rank_].go, 0);
        atomic_store(&shm->solo[rank_].go, 0);
    }
}
void solo_end(void) {
    if (shm && !options.concurrent && rank_ + 1 < job.procs) {
        atomic_store(&shm->solo[rank_ + 1].go, 1);
        futex_wake_(&shm->solo[rank_ + 1].go, 1);
    }
    bar();
}
/* at most four ranks repeat long loops: the first, the last and two between */
bool sampler(void) {
    return options.concurrent || job.procs <= 4 || rank_ == 0 || rank_ == job.procs / 3 || rank_ == 2 * job.procs / 3 ||
           rank_ == job.procs - 1;
}
