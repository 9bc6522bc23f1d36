/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>

#include "client.h"

typedef struct {
    int id, n;
    uint64_t t, began, ended, *cpu;
    long c;
    pthread_barrier_t* b;
} thr_t;
static void* thr_main(void* arg) {
    enum { B = 64 };
    thr_t* a = arg;
    pmix_value_t* v[B];
    int vr[B], vk[B], r = (rank_ + 1 + a->id) % job.procs, k = a->id % options.keys;
    pmix_proc_t p;
    proc_of(&p, 0);
    /* All threads run now, so that their creation is not counted; one looks at the process's clock. */
    if (pthread_barrier_wait(a->b) == PTHREAD_BARRIER_SERIAL_THREAD) *a->cpu = cpu_mine();
    pthread_barrier_wait(a->b);
    a->began = now_ns();
    while (a->c < a->n) {
        for (int i = 0; i < B; i++) {
            do {
                if (++r >= job.procs) {
                    r = 0;
                    k = (k + 1) % options.keys;
                }
            } while (r == rank_);
            vr[i] = r;
            vk[i] = k;
        }
        uint64_t t0 = now_ns();
        for (int i = 0; i < B; i++) {
            p.rank = (pmix_rank_t)vr[i];
            v[i] = NULL;
            if (PMIx_Get(&p, key_names[vk[i]], NULL, 0, &v[i]) != PMIX_SUCCESS) v[i] = NULL;
        }
        a->t += now_ns() - t0;
        a->c += B;
        for (int i = 0; i < B; i++) {
            check_val(v[i], vr[i], vk[i], options.size, "threads");
            release(v[i]);
        }
    }
    a->ended = now_ns();
    return NULL;
}
void mode_threads(void) {
    static const int T[] = {1, 2, 4};
    if (!exchanged) exchange(true);
    if (job.procs < 2) return;
    solo_begin();
    if (rank_ == 0) {
        pmix_proc_t p; /* first accesses are not the subject here */
        for (int r = 1; r < job.procs; r++)
            for (int k = 0; k < options.keys; k++) {
                proc_of(&p, r);
                release(get(&p, key_names[k]));
            }
        for (int x = 0; x < 3; x++) {
            thr_t a[4];
            pthread_t h[4];
            pthread_barrier_t b;
            uint64_t sum = 0, began = UINT64_MAX, ended = 0, c0 = 0;
            long c = 0;
            pthread_barrier_init(&b, NULL, (unsigned)T[x]);
            for (int i = 0; i < T[x]; i++) {
                a[i] = (thr_t){.id = i, .n = 4096, .cpu = &c0, .b = &b};
                pthread_create(&h[i], NULL, thr_main, &a[i]);
            }
            for (int i = 0; i < T[x]; i++) {
                pthread_join(h[i], NULL);
                sum += a[i].t;
                c += a[i].c;
                if (a[i].began < began) began = a[i].began;
                if (a[i].ended > ended) ended = a[i].ended;
            }
            pthread_barrier_destroy(&b);
            /* From the first thread's start to the last one's end: this thread's own clock says nothing, because
             * it may run again only when all of them are done. */
            double wall = (double)ended - (double)began;
            if (!rate_is_possible((double)c / wall * 1e9, T[x])) {
                bad("threads%d_rate_kops: %ld calls in %g ns cannot be true", T[x], c, wall);
                continue;
            }
            metric("med", "ns", (double)sum / (double)c, "threads%d_get_ns", T[x]);
            metric("med", "kops", (double)c / wall * 1e6, "threads%d_rate_kops", T[x]);
            metric("med", "ns", (double)(cpu_mine() - c0) / (double)c, "threads%d_cpu_ns", T[x]);
        }
    }
    solo_end();
}
