// SPDX-License-Identifier: BSD-3-Clause
/* daemons.h: which daemons still run, as the head sees it.
 *
 * What this owns: a descriptor of each daemon's process (pidfd), from which the kernel tells its end. The keeper, whose
 * children the daemons are, reports the same with the wait status; but a report is lost when the keeper is killed
 * behind its waitpid(), or when the pipe is full. So a daemon is over when its end was reported, or when the kernel
 * tells it and no report can come any more, or none has come for a while.
 * Which thread calls it: the loop.
 * What can go wrong: a kernel without pidfds, or no descriptor: then reports alone count, and daemons_give_up(). */
#ifndef PMIXRUN_DAEMONS_H
#define PMIXRUN_DAEMONS_H

#include <stdbool.h>
#include <sys/types.h>

/* changed: called when one more may be over. */
void daemons_watch(const pid_t* pids, int count, double report_seconds, void (*changed)(void));
/* The number of a daemon that is not over; -1: no such process. */
int daemons_number_of(pid_t pid);
/* The wait status of this daemon is known. */
void daemons_reported(int number);
/* The keeper has ended, and all that it has reported was read. */
void daemons_no_more_reports(void);
bool daemons_all_over(void);
void daemons_kill(void);
/* Those that are there in spite of daemons_kill() are not waited for. */
void daemons_give_up(void);

#endif
