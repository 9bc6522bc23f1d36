// SPDX-License-Identifier: BSD-3-Clause
/* report.h: events of the head about jobs and processes: that a job starts, runs and ends, that a process has ended.
 * Only those that the spawn of the job asked for (see job.h, enum wanted_event).
 *
 * What this owns: nothing. Each event is sent to every node, whose library gives it to the clients there.
 * Which thread calls it: the head's loop.
 * What can go wrong: nothing but memory. */
#ifndef PMIXRUN_REPORT_H
#define PMIXRUN_REPORT_H

#include "job.h"

void report_job_started(const struct job* job);     /* its first process runs */
void report_launch_complete(const struct job* job); /* its last one does */
/* Remembers the first failure of the job as well. `expected`: the end was requested. */
void report_proc_ended(struct job* job, uint32_t rank, int wait_status, bool without_finalize);
/* All that are to wait at `stop` do. */
void report_ready_for_debug(const struct job* job, enum stop stop, const char* breakpoint);
void report_job_ended(const struct job* job);
/* The jobs of an assemblage end because a process of one did: reported for each, before they are ended. */
void report_jobs_terminated(void);

#endif
