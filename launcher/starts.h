// SPDX-License-Identifier: BSD-3-Clause
/* starts.h: jobs until they run, as the head sees it: placed, defined on every node, then started on every node.
 *
 * What this owns: the starts in progress, and those that have failed until their jobs are over: only then does
 * PMIx_Spawn have its answer, so that what the job was registered with (the names of its process sets) is free again.
 * Which thread calls it: the loop of the head. What can go wrong: no place (PMIX_ERR_JOB_INSUFFICIENT_RESOURCES), a
 * node that refuses or is lost, a program that cannot be run, a time limit: what runs of the job is ended. */
#ifndef PMIXRUN_STARTS_H
#define PMIXRUN_STARTS_H

#include "job.h"
#include "liaison.h"
#include "options.h"

void starts_prepare(const struct options* options, const char* server_nspace);
/* Starts the job of the command line, as the tool that has started this pmixrun wants it; NULL: nobody has. */
void starts_begin(const struct tidings* tidings);
bool starts_begun(void);
bool starts_in_progress(void);
/* All its processes have ended, and the nodes know it. */
void starts_job_over(struct job* job);

void on_spawn(int from, uint64_t id, struct buffer* body);
void on_progress(int from, uint64_t id, struct buffer* body);

#endif
