// SPDX-License-Identifier: BSD-3-Clause
/* mesh.h: frames between the daemons of a job, and between them and the head (the process the user started).
 *
 * What this owns: one Unix stream socket to every other process of this pmixrun, made before the daemons were forked,
 * the bytes that wait to leave, and the requests that wait for a reply. Nodes are 0 to nodes-1, the head is `nodes`.
 * A frame to oneself takes the same way, through the loop, so that no caller has a special case for it.
 * Which thread calls it: the loop.
 * What can go wrong: a peer that ended. Frames to it are dropped, its open requests end with
 * PMIX_ERR_LOST_CONNECTION, and `lost` is called once. */
#ifndef PMIXRUN_MESH_H
#define PMIXRUN_MESH_H

#include "wire.h"

enum frame {
    FRAME_REPLY,       /* to any request: status, then the fields below */
    FRAME_JOB_DEFINE,  /* head -> node, request: the job; register it */
    FRAME_JOB_START,   /* head -> node, request: namespace; reply: the processes started */
    FRAME_JOB_ENDED,   /* head -> node: namespace, whether each process had its EXIT; forget it */
    FRAME_QUIT,        /* head -> node: finalize and exit */
    FRAME_KILL,        /* head -> node: procs, signal, whether because their launch has failed */
    FRAME_SPAWN,       /* node -> head, request: the job wanted; reply: its namespace */
    FRAME_ABORT,       /* node -> head: requester, status, message, procs (none: its job) */
    FRAME_CONTROL,     /* node -> head: procs, signal */
    FRAME_EXIT,        /* node -> all: proc, wait status, whether without PMIx_Finalize, of a failed launch, by its own
                          PMIx_Abort */
    FRAME_OUTPUT,      /* node -> head: channel, stream, unended, beginning of that line, bytes */
    FRAME_OUTPUT_LOST, /* node -> head: what a file was to have */
    FRAME_OUTPUT_DONE, /* head -> node: so many bytes have been written */
    FRAME_INPUT,       /* any -> node, request: procs, bytes for their stdin, none: the end; reply: all taken */
    FRAME_PULL,        /* node -> all, request: the output of these is wanted there, or no longer */
    FRAME_STREAM,      /* node -> node that wants it, request: proc, channel, bytes; reply: they have taken them */
    FRAME_COLLECTIVE,  /* node -> participating nodes: kind, signature, round, status, blob */
    FRAME_COLLECTIVE_FAILED, /* node -> participating nodes: kind, signature, round, status */
    FRAME_GROUP, /* node -> first node alive, request: operation, name, procs, flags, status, limit, blob; reply: the
                    group */
    FRAME_BOOTSTRAP,       /* the same, request: one caller; reply: the group */
    FRAME_GROUP_LEFT,      /* the same: name, the process that has left the group */
    FRAME_MODEX,           /* node -> owner's node, request: proc; reply: its data */
    FRAME_PUBLISH,         /* node -> node 0, request */
    FRAME_LOOKUP,          /* node -> node 0, request; reply: what was found */
    FRAME_UNPUBLISH,       /* node -> node 0, request */
    FRAME_PROC_LEFT,       /* node -> node 0: the process that is not connected to this node any more */
    FRAME_FACT,            /* node -> nodes, request: key, namespace, rank; reply: a value */
    FRAME_MONITOR,         /* node -> nodes, request: requester, code, monitor, directives; reply: infos */
    FRAME_LOG,             /* head -> first node: code, process it is about, where to log it, infos */
    FRAME_EVENT,           /* node -> nodes in range, head -> nodes: code, source, range, infos */
    FRAME_PROGRESS,        /* node -> head: how many processes of a job that is being launched it has started so far */
    FRAME_READY_FOR_DEBUG, /* node -> head: a process that waits for a debugger, and where */
    FRAME_RELEASED,        /* first node -> head: the tool that has started this pmixrun releases it */
    FRAME_SERVER_UP,       /* first node -> head of a pmixrun that a tool has started: the server can be reached */
    FRAME_KINDS
};

/* Runs in the loop for each received frame; `id` is the request's, for mesh_reply. `body` is freed afterwards. */
typedef void (*frame_handler)(int from, uint64_t id, struct buffer* body);

/* Called for the reply, or the loss of the peer, or the end of the time: exactly one of them. */
typedef void (*reply_handler)(pmix_status_t status, struct buffer* body, void* argument);

struct mesh_setup {
    int self;                      /* own number */
    int nodes;                     /* the head's number; sockets[0..nodes] */
    int* sockets;                  /* taken over; own entry unused */
    const frame_handler* handlers; /* FRAME_KINDS entries; NULL: not for us, ignored */
    void (*lost)(int peer);
};

void mesh_start(const struct mesh_setup* setup);
int mesh_self(void);
int mesh_nodes(void);
int mesh_head(void);
bool mesh_alive(int peer);

void mesh_send(int peer, enum frame kind, const struct buffer* body);
/* Calls `done` once. `seconds` 0: wait as long as the peer runs. */
void mesh_request(int peer, enum frame kind, const struct buffer* body, double seconds, reply_handler done,
                  void* argument);
void mesh_reply(int peer, uint64_t id, pmix_status_t status, const struct buffer* body);
/* Writes what is still queued, blocking, for a process that is about to exit. */
void mesh_flush(void);

#endif
