// SPDX-License-Identifier: BSD-3-Clause
/* keeper.h: the process between the head and its nodes, which only takes over when others are gone.
 *
 * What this owns: the daemons, as their parent. A process that a rank started becomes the keeper's child when rank and
 * daemon are gone, so that it can be ended also when the head and a daemon (or all of them) are killed at once. And
 * when the keeper is killed the daemons become the head's. Which thread calls it: each process has one. What can go
 * wrong: no more processes (false); the keeper's own end, which the head handles like that of a node.
 */
#ifndef PMIXRUN_KEEPER_H
#define PMIXRUN_KEEPER_H

#include <stdbool.h>
#include <sys/types.h>

struct keeper { /* the head's view of it */
    pid_t pid;
    int line; /* struct child_end of each child it had, as they end */
};

struct child_end {
    pid_t pid;
    int wait_status;
};

enum { KILLED_SECONDS = 5 }; /* that processes have to end once they are killed */

/* Forks the keeper, which forks `count` daemons. true: in the head, with the daemons' pids. Otherwise this is daemon
 * *number of `count`; or, with *number -1, the head of a job that cannot be started: all that ran was ended, and errno
 * is the reason, ETIMEDOUT and EINTR too (waits.h). session: the directory to be removed if the head is gone.
 * `unneeded` closes what only head and daemons use. */
bool keeper_start(struct keeper* keeper, const char* session, int count, pid_t* daemons, int* number,
                  void (*unneeded)(void), double until);

#endif
