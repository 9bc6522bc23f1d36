// SPDX-License-Identifier: BSD-3-Clause
/* sweeper.h: the process that makes the private directory of a pmixrun, and removes it when no process needs it any
 * more.
 *
 * What this owns: a process outside of the tree of all others, which does nothing but wait for their end. Head, keeper
 * and daemons hold one end of a line to it, and their end, by SIGKILL too, closes it. When the last one has
 * gone it removes what is left of the directory. Otherwise the head, the keeper or the daemons have removed it before.
 * Which thread calls it: the head's only one, before it becomes a subreaper and forks.
 * What can go wrong: no process, no descriptors, no directory that may be written (false, and errno is the reason); a
 * file system that does not answer, which holds the sweeper alone. */
#ifndef PMIXRUN_SWEEPER_H
#define PMIXRUN_SWEEPER_H

#include <stdbool.h>
#include <stddef.h>

/* Makes the directory and returns its name. The line stays open in this process, and in those that it forks. False with
 * ETIMEDOUT: not made until then; with EINTR: a signal has come (waits.h). The sweeper removes what it makes later. */
bool sweeper_start(char* directory, size_t size, double until);
/* The directory is not needed any more. True: the sweeper has ended, after it has removed what it could. False: it goes
 * on by itself, for the time is over or a signal has come. */
bool sweeper_end(double until);

#endif
