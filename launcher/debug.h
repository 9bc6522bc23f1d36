// SPDX-License-Identifier: BSD-3-Clause
/* debug.h: what a spawn asks for a debugger: where processes are to wait for it, and its daemons beside them.
 *
 * What this owns: nothing. The node of the requester reads the attributes, the head places the daemons and counts the
 * processes that wait.
 * Which thread calls it: debug_read any; all else the loop.
 * What can go wrong: a value of a wrong type, a rank that is not of the job, daemons without a target
 * (PMIX_ERR_BAD_PARAM); a target that does not run (PMIX_ERR_NOT_FOUND); more daemons than one spawn may have
 * (PMIX_ERR_OUT_OF_RESOURCE). */
#ifndef PMIXRUN_DEBUG_H
#define PMIXRUN_DEBUG_H

#include "job.h"

enum { STOPS = 3 }; /* as many as enum stop has */

struct debug_app {               /* of one application of a spawn */
    bool apart;                  /* it is a job of its own */
    bool debugger;               /* its processes are a debugger's daemons */
    uint32_t per_node, per_proc; /* so many beside the target; both 0: it is mapped as any job is */
    pmix_proc_t target;          /* empty namespace: the other applications of the spawn */
    bool all[STOPS];             /* for each of enum stop: all its processes wait there, */
    struct buffer ranks[STOPS];  /* or these of the job, as uint32_t */
};

/* The applications of a spawn and, for each, what it has of these attributes. */
pmix_status_t debug_read(struct debug_app* debugs, const pmix_app_t* apps, size_t napps, const pmix_info_t* job_info,
                         size_t ninfo);
void debug_put(struct buffer* b, const struct debug_app* debugs, uint32_t count);
struct debug_app* debug_get(struct buffer* b, uint32_t count);
void debug_free(struct debug_app* debugs, uint32_t count);

/* --- the head ----------------------------------------------------------------------------------------------------- */

/* Those of the job itself first, in order. How many that are; of a spawn that has debuggers alone, the first. */
uint32_t debug_sort(struct app* apps, struct debug_app* debugs, uint32_t count);
/* Gives daemons as many processes and places as their target has. `beside`: the first job of the spawn, or NULL. */
pmix_status_t debug_place(struct app* app, struct debug_app* debug, const struct job* beside);
/* debugs[i] is that of the job's application i. */
void debug_apply(struct job* job, const struct debug_app* debugs);
void on_ready_for_debug(int from, uint64_t id, struct buffer* body);
void debug_proc_ended(struct job* job); /* those that are left may all wait */

/* --- each node ---------------------------------------------------------------------------------------------------- */

/* The body of FRAME_READY_FOR_DEBUG, of the event that a process has raised. */
void debug_put_ready(struct buffer* b, const pmix_proc_t* proc, const pmix_info_t* info, size_t ninfo);

#endif
