// SPDX-License-Identifier: BSD-3-Clause
/* binding.h: on which CPUs the processes of a node may run: --bind-to, and PMIX_CPU_LIST and PMIX_BINDTO of a spawn.
 *
 * What this owns: nothing; the caller gives it the places of the CPUs. The virtual nodes have one machine, so each of
 * them has all of its CPUs, counted as the kernel counts them. Which thread calls it: any. What can go wrong: a list or
 * a target that is none (false), a machine that has no such place, more processes than there are cores. */
#ifndef PMIXRUN_BINDING_H
#define PMIXRUN_BINDING_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum target { BIND_NONE, BIND_HWTHREAD, BIND_CORE, BIND_L1, BIND_L2, BIND_L3, BIND_NUMA, BIND_PACKAGE };
enum { BIND_TARGETS = BIND_PACKAGE + 1, CPUS_TEXT = 5 * CPU_SETSIZE };

struct binding {
    enum target target;
    bool overload; /* more processes than it has cores may share a place */
    bool required; /* else a process that cannot have it runs without */
};

/* Of each CPU the number of the core, cache, NUMA node and package that it is in; kNoPlace: it is in none. */
struct places {
    int16_t of[CPU_SETSIZE][BIND_TARGETS];
};
static const int16_t kNoPlace = -1;

void places_clear(struct places* places);
/* The locality of that CPU, as the library makes it: "hwloc:SK0:L30:L21:L11:CR1:HT1:NM0". What is unknown in it is
 * passed over. */
void places_read(struct places* places, int cpu, const char* locality);

/* "none" or the name of a target, in any case of letters, and ":overload-allowed" or ":no-overload" behind it, which is
 * left as it is without one of them. NULL is "none". False, and nothing is changed: it is none of these. */
bool binding_read(const char* text, struct binding* binding);
const char* binding_name(enum target target);

/* "0-3,7" */
bool cpus_read(const char* text, cpu_set_t* cpus);
void cpus_write(const cpu_set_t* cpus, char text[CPUS_TEXT]);

enum deal { DEALT, DEAL_NO_PLACE, DEAL_OVERLOAD };
/* Gives each of `count` processes one of the places that `from` has, in turn, and those CPUs of it that are in `from`.
 * A place takes as many processes as it has cores, a core and a hardware thread take one. */
enum deal binding_deal(const struct places* places, const cpu_set_t* from, struct binding binding, uint32_t count,
                       cpu_set_t* cpus);

#endif
