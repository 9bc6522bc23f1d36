/* SPDX-License-Identifier: BSD-3-Clause */
/* Which node has which rank: what host and client must agree on. Set once, before the first thread; read by all. */
#ifndef BENCH_PLACEMENT_H
#define BENCH_PLACEMENT_H
#include <stdbool.h>

typedef struct {
    int nodes, ppn, procs; /* ppn: ranks of each node; procs = nodes * ppn */
    bool cyclic;           /* rank r is on node r mod nodes, and not on node r / ppn */
} placement_t;

extern placement_t job; /* host.c, modes/phases.c */

static inline int node_of(int rank) {
    return job.cyclic ? rank % job.nodes : rank / job.ppn;
}
static inline int lrank_of(int rank) {
    return job.cyclic ? rank / job.nodes : rank % job.ppn;
}
static inline int rank_at(int node, int lrank) {
    return job.cyclic ? lrank * job.nodes + node : node * job.ppn + lrank;
}
#endif
