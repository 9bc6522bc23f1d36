/* SPDX-License-Identifier: BSD-3-Clause */
/* A node daemon: one PMIx server, the clients of one node, and the sockets to the other daemons and to the parent.
 *
 * The folder has a file for each thing that it does. Two kinds of threads run there: the daemon's only thread, which
 * runs the event loop (daemon.c), owns all state and calls every completion function; and the library's threads, which
 * run the upcalls. An upcall does nothing but copy its arguments into an item for the loop (queue.h), because the
 * Standard forbids completing an operation before its upcall has returned.
 *
 * Whatever a daemon cannot go on from ends it: the parent is told why (control.h) and kills the others. */
#ifndef BENCH_DAEMON_H
#define BENCH_DAEMON_H
#include <pmix.h>
#include <sys/types.h>

#include "../bench.h"
#include "../placement.h"

#define MAXNODES 64

/* The run. host.c fills it before the first fork; a constant afterwards. */
typedef struct {
    char session[PATH_MAX];      /* private directory of this run */
    char results[PATH_MAX + 16]; /* where the clients write */
    pmix_nspace_t nspace;
    char** client_argv;
    bool share_topo, bind_core;
} run_t;
extern run_t run;

extern int me; /* this daemon's node; -1 in the parent */

/* Never returns. Called after the fork, with control_fd (control.h) and the sockets to the other daemons (mesh.h) set.
 */
_Noreturn void daemon_main(int node);
#endif
