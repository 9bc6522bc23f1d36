// SPDX-License-Identifier: BSD-3-Clause
/* sweep.h: leaving nothing behind.
 *
 * The head, the keeper and the daemons are "child subreapers": each process that they started, and each that those
 * started, becomes their child when its own parent ends. So each of them can end all that is below it, also after a
 * kill -9 of a daemon (keeper and head do it), of the head (the daemons do), or of both (the keeper does). */
#ifndef PMIXRUN_SWEEP_H
#define PMIXRUN_SWEEP_H

#include <stdbool.h>
#include <sys/types.h>

void sweep_become_subreaper(void);
/* The children that there are now are not this job's: they are left alone. */
void sweep_spare_children(void);
/* Kills every other child, and their children as they become ours, and waits for them, so many seconds at most. False:
 * one is left that the kernel does not end (in a system call of a dead file server), with what is below it. */
bool sweep_processes(double seconds);
/* Removes a directory with all that is in it; others may be removing it too. */
void sweep_directory(const char* path);

#endif
