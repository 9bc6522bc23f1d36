// SPDX-License-Identifier: BSD-3-Clause
/* hosts.h: which nodes an application may use: the lists and files of hosts that a spawn names.
 *
 * What this owns: nothing. Which thread calls it: any, once the mesh runs.
 * What can go wrong: a host that is no node of this pmixrun, a file that cannot be read: PMIX_ERR_JOB_ALLOC_FAILED, as
 * there is nowhere to get more nodes from. */
#ifndef PMIXRUN_HOSTS_H
#define PMIXRUN_HOSTS_H

#include "job.h"

/* Reads PMIX_HOST or PMIX_HOSTFILE of the application, else of the job, into app->places; without any of them all nodes
 * are left to it. PMIX_ADD_HOST and PMIX_ADD_HOSTFILE may name only nodes that are there anyway. `ppr`, processes on
 * each node, sets a limit on all of them; 0: none. */
pmix_status_t hosts_of_app(struct app* app, uint32_t ppr, const pmix_info_t* app_info, size_t napp_info,
                           const pmix_info_t* job_info, size_t njob_info);

#endif
