// SPDX-License-Identifier: BSD-3-Clause
/* spawn_directives.h: the directives of PMIx_Spawn: which of them are honoured, in which form, and what they do to the
 * environment.
 *
 * What this owns: nothing. Which thread calls it: any. What can go wrong: a directive that must be honoured and is not
 * offered, or not at its level (PMIX_ERR_NOT_SUPPORTED); one whose value is of a wrong type, or names no variable
 * (PMIX_ERR_BAD_PARAM). What need not be honoured and cannot be used is left out. */
#ifndef PMIXRUN_SPAWN_DIRECTIVES_H
#define PMIXRUN_SPAWN_DIRECTIVES_H

#include <pmix_server.h>

enum { FOR_JOB = 1, FOR_APP = 2 }; /* whose array it is in */

/* Says to the library which of them are offered. After PMIx_server_init. */
void directives_register(void);

/* Looks at those that are required. */
pmix_status_t directives_check(const pmix_info_t* info, size_t ninfo, unsigned level);

/* Adds settings, NAME=VALUE or NAME to unset it, over what is in `env` and in this process's environment. */
void directives_apply(char*** env, const pmix_info_t* info, size_t ninfo);

#endif
