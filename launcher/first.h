// SPDX-License-Identifier: BSD-3-Clause
/* first.h: what a node asks of the first node that is alive, which coordinates groups, and what is done when that one
 * is lost: what it had is lost with it, so each node brings it to the next.
 *
 * What this owns, on each node: the requests that have no answer yet; those that have failed, for which others may
 * still call, and shall not wait; the departures of this node's processes from groups.
 * Which thread calls it: the loop.
 * What can go wrong: the first node is lost while it answers. Then some have their answer and others call once more:
 * a failure reaches those too, a success does not, and they wait for their own limit or an end. Of more than
 * MAX_KEPT failures or departures the oldest is forgotten. */
#ifndef PMIXRUN_FIRST_H
#define PMIXRUN_FIRST_H

#include "mesh.h"

int first_node(void);

/* A reply has the status of the operation, then these flags; with the last two the members follow. */
enum { NUMBERED = 1, PARTIAL = 2, NAMED = 4 };

struct errand {
    enum frame frame;
    struct buffer body;
    size_t status_at; /* where the body has the local status of the call */
    size_t blob_at;   /* and its data, behind all else */
};

/* As mesh_request, to the first node and when that is lost to the next. It takes the errand over. about: with the end
 * of its job a failure is forgotten. */
void first_request(struct errand* errand, const pmix_proc_t* about, reply_handler done, void* argument);
/* A process of this node has left that group; or it is a member again, or its job has ended. name: NULL for all. */
void first_departed(const char* name, const pmix_proc_t* proc);
void first_is_member(const char* name, const pmix_proc_t* procs, size_t nprocs);
void first_job_ended(const char* nspace);
/* A node was lost. */
void first_check(void);

#endif
