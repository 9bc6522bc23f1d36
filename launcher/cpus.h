// SPDX-License-Identifier: BSD-3-Clause
/* cpus.h: which CPUs of this machine each process of a job gets, and what is published of it.
 *
 * What this owns: where the CPUs are, looked up by the library when the first job is bound: the library's topology is
 * the one that the processes' localities are made from. Each node finds the same for all processes of a job. Which
 * thread calls it: the loop. What can go wrong: CPUs that this pmixrun may not use (PMIX_ERR_JOB_ALLOC_FAILED), places
 * that the machine has not (PMIX_ERR_NOT_SUPPORTED), more processes than places
 * (PMIX_ERR_JOB_INSUFFICIENT_RESOURCES). A library without hwloc: cores are found as the kernel shows them, and there
 * are no localities. */
#ifndef PMIXRUN_CPUS_H
#define PMIXRUN_CPUS_H

#include "job.h"

/* Sets job->cpus, or leaves it NULL: no process of the job is bound. Appends the reason of a failure. */
pmix_status_t cpus_bind(struct job* job, struct buffer* why);
/* NULL: it is not bound. */
const cpu_set_t* cpus_of(const struct job* job, uint32_t rank);
/* The place of each among the processes of the job in its package, in order; NO_PACKAGE_RANK: it is in none, or in
 * several. The caller frees it. NULL: nobody is bound. */
enum { NO_PACKAGE_RANK = UINT16_MAX };
uint16_t* cpus_package_ranks(const struct job* job);
/* "hwloc:0-3" as a bitmap, and its locality (to be freed; NULL: there is none). False, and an empty value: the library
 * has no hwloc. */
bool cpus_value(const char* text, pmix_value_t* value, char** locality);
/* For the user, a line: "pmixrun: [1,0] on node1 is bound to core 0, CPUs 0-1". */
void cpus_report(const struct job* job, uint32_t rank, struct buffer* line);

#endif
