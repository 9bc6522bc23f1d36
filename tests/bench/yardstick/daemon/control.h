/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between the parent and a daemon, one per datagram of a SOCK_SEQPACKET socket. Any thread of a daemon may
 * send: a datagram is whole or not sent. A parent that is gone is noticed by the loop. */
#ifndef BENCH_CONTROL_H
#define BENCH_CONTROL_H

/* To the parent: READY (the server is up), EXIT (a rank ended, val is its wait status), DONE (all of the node have),
 * STAT (a figure: d, and "name unit" as text), ABORT (a rank called PMIx_Abort), FATAL (why the daemon ends), BYE (it
 * ends well). To a daemon: GO (start the clients), QUIT (finalize). */
enum { C_READY = 1, C_GO, C_EXIT, C_DONE, C_QUIT, C_ABORT, C_FATAL, C_STAT, C_BYE };
typedef struct {
    int type, node, rank, val;
    double d;
    char text[224];
} ctrl_t;

extern int control_fd; /* -1 in the parent */

void to_parent(int type, int rank, int val, double d, const char* fmt, ...) __attribute__((format(printf, 5, 6)));
/* Microseconds since t0, divided by count. */
void stat_since(unsigned long long t0, int count, const char* name);
/* Tells the parent, or the standard error where there is none, and ends the process with status 1. */
_Noreturn void fatal(const char* fmt, ...) __attribute__((format(printf, 1, 2)));
#endif
