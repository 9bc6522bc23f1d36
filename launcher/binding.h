// SPDX-License-Identifier: BSD-3-Clause
/* binding.h: on which CPUs a process may run: PMIX_CPU_LIST and PMIX_BINDTO of its spawn.
 *
 * What this owns: nothing. The virtual nodes have one machine, so each of them has all of its CPUs, counted as the
 * kernel counts them. Which thread calls it: any. What can go wrong: a list that is none (false), CPUs that this
 * pmixrun may not use (an empty set, which the kernel refuses). */
#ifndef PMIXRUN_BINDING_H
#define PMIXRUN_BINDING_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

enum binding { BIND_NONE, BIND_HWTHREAD, BIND_CORE };

/* "none", "hwthread" or "core"; NULL is "none". False: it is none of these. */
bool binding_read(const char* text, enum binding* binding);
/* "0-3,7" */
bool cpus_read(const char* text, cpu_set_t* cpus);
/* For the process with that number among those of its application on its node; `list` may be NULL. With more processes
 * than there are CPUs or cores, several share one. */
void binding_make(const char* list, enum binding binding, uint32_t number, cpu_set_t* cpus);

#endif
