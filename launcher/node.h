// SPDX-License-Identifier: BSD-3-Clause
/* node.h: one simulated node, and what its parts offer each other.
 *
 * A node is a daemon with a PMIx server in it. The upcalls of that server (up_*) run on a thread of the library: each
 * copies what it was given, posts a task to the loop and returns. The loop does the work, here or on another node, and
 * answers by the callback of the upcall. on_* handle frames, in the loop. */
#ifndef PMIXRUN_NODE_H
#define PMIXRUN_NODE_H

#include <pmix_server.h>
#include <sys/resource.h>

#include "job.h"
#include "mesh.h"
#include "options.h"

struct node {
    const struct options* options;
    pid_t launcher;                 /* pmixrun itself, as the user sees it */
    pid_t* daemons;                 /* of all nodes, in memory that they share; 0: not known */
    const char* session;            /* private directory of this pmixrun, removed at its end */
    char directory[4096];           /* this node's part of it */
    char hostname[32];              /* node1, node2, ... */
    pmix_nspace_t server_nspace;    /* of all daemons; each node's number is its rank */
    struct rlimit descriptor_limit; /* what the user has given, for the processes of jobs */
};

extern struct node node;

/* daemon.c */
int daemon_main(const struct options* options, const char* session, const char* server_nspace, int self, int* sockets);
void daemon_say(const char* format, ...) __attribute__((format(printf, 1, 2))); /* with -v, on stderr */

/* jobinfo.c: the description of a job for the server. The caller frees it with infos_free(). */
pmix_info_t* jobinfo_make(const struct job* job, size_t* count);
char* jobinfo_command_line(const struct job* job); /* of all its programs; to be freed */

/* launch.c: the processes of this node, from fork to their end. */
void on_job_define(int from, uint64_t id, struct buffer* body);
void on_job_start(int from, uint64_t id, struct buffer* body);
void on_job_ended(int from, uint64_t id, struct buffer* body);
void on_kill(int from, uint64_t id, struct buffer* body);
void launch_reap(void);                      /* on SIGCHLD */
void launch_forget_if_over(struct job* job); /* frees it, if no more frames about it are expected */
void launch_deregister_all(void);

/* memory.c: what jobs held goes back to the system. */
void memory_start(void);           /* before the server, whose thread allocates too */
void memory_give_back_later(void); /* a job has ended */

/* iof.c: their output. */
struct streams;
enum { CHILD_FDS = 4 }; /* stdin, stdout, stderr, and where the job has them (else -1) diagnostics */
struct streams* iof_open(const struct job* job, const pmix_proc_t* proc, int child_fds[CHILD_FDS]);
void iof_close_child_ends(int child_fds[CHILD_FDS]);
/* The process has ended: takes what is left. False: another process has a stream of it; `over` is called when none has,
 * unless iof_finish() is called before. */
bool iof_ended(struct streams* streams, void (*over)(void* argument), void* argument);
bool iof_is_held_up(const struct streams* streams); /* one is not read, because its readers are slow */
void iof_finish(struct streams* streams);           /* takes what is left, closes */
bool iof_pipe(int* ours, int* childs, bool child_reads);
/* A line of this daemon's own among their output: to the user's stderr or stdout. */
void iof_say(bool error, const void* text, size_t size);
/* Runs the task now, or when the head has written enough of what this node has sent it. */
void iof_when_space(void (*task)(void* argument), void* argument);
void on_output_done(int from, uint64_t id, struct buffer* body);

/* input.c: their stdin. */
struct input;
struct input* input_open(const pmix_proc_t* proc, int* child_fd);
void input_finish(struct input* input); /* the process ended */
/* To be called when a process has ended or a job has started. */
void input_end_if_nobody_is_left(void);
void on_input(int from, uint64_t id, struct buffer* body);
pmix_status_t up_push_stdin(const pmix_proc_t* source, const pmix_proc_t targets[], size_t ntargets,
                            const pmix_info_t directives[], size_t ndirs, const pmix_byte_object_t* bo,
                            pmix_op_cbfunc_t cbfunc, void* cbdata);

/* pulls.c: clients that read the output of others. */
pmix_status_t up_iof_pull(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t directives[], size_t ndirs,
                          pmix_iof_channel_t channels, pmix_op_cbfunc_t cbfunc, void* cbdata);
/* Marks the nodes that read this stream. True: one of them instead of the head. */
bool pulls_of(const pmix_proc_t* proc, pmix_iof_channel_t channel, bool readers[MAX_NODES]);
void on_pull(int from, uint64_t id, struct buffer* body);
void on_stream(int from, uint64_t id, struct buffer* body);

/* clients.c: connection and end of clients, abort, job control. */
pmix_status_t up_client_connected2(const pmix_proc_t* proc, void* server_object, pmix_info_t info[], size_t ninfo,
                                   pmix_op_cbfunc_t cbfunc, void* cbdata);
pmix_status_t up_client_finalized(const pmix_proc_t* proc, void* server_object, pmix_op_cbfunc_t cbfunc, void* cbdata);
pmix_status_t up_abort(const pmix_proc_t* proc, void* server_object, int status, const char msg[], pmix_proc_t procs[],
                       size_t nprocs, pmix_op_cbfunc_t cbfunc, void* cbdata);
pmix_status_t up_job_control(const pmix_proc_t* requestor, const pmix_proc_t targets[], size_t ntargets,
                             const pmix_info_t directives[], size_t ndirs, pmix_info_cbfunc_t cbfunc, void* cbdata);
void on_exit_of_proc(int from, uint64_t id, struct buffer* body);
/* Some processes have ended: who has had them aborted is answered. */
void clients_procs_ended(void);
void clients_node_lost(uint32_t number);
pmix_status_t clients_watch_connections(void);

/* collective.c: fence, connect, disconnect. */
pmix_status_t up_fence_nb(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[], size_t ninfo, char* data,
                          size_t ndata, pmix_modex_cbfunc_t cbfunc, void* cbdata);
pmix_status_t up_connect(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[], size_t ninfo,
                         pmix_op_cbfunc_t cbfunc, void* cbdata);
pmix_status_t up_disconnect(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[], size_t ninfo,
                            pmix_op_cbfunc_t cbfunc, void* cbdata);
void on_collective(int from, uint64_t id, struct buffer* body);
void on_collective_failed(int from, uint64_t id, struct buffer* body);
void collective_proc_ended(void); /* a process ended, or a node was lost: checks the rounds that wait */
void collective_job_ended(const char* nspace);
bool collective_anybody_left(const pmix_proc_t* procs, size_t nprocs, uint32_t on_node); /* of these, there, alive */

/* Appends the processes that PMIx_Connect has connected with a process, as pmix_proc_t. */
void collective_assemblage_of(const pmix_proc_t* proc, struct buffer* members);

/* groups.c: construct and destruct of groups. */
pmix_status_t up_group(pmix_group_operation_t what, char name[], const pmix_proc_t procs[], size_t nprocs,
                       const pmix_info_t info[], size_t ninfo, pmix_info_cbfunc_t cbfunc, void* cbdata);
void on_group(int from, uint64_t id, struct buffer* body);
/* A process of this node has left the group of that name, which may be NULL: a destruct does not wait for it. */
void group_left(const char* name, const pmix_proc_t* proc);
void on_group_left(int from, uint64_t id, struct buffer* body);
/* These are members of a group of that name again. name: NULL for all names. */
void groups_forget_departures(const char* name, const pmix_proc_t* procs, size_t nprocs);
void groups_proc_ended(void);
void groups_job_ended(const char* nspace);
/* The rest of an answer that names the members; a number is given out if one is wanted. */
void groups_put_answer(struct buffer* rest, bool numbered, const pmix_proc_t* members, size_t nmembers,
                       const struct buffer* blobs);

/* bootstrap.c: groups whose leaders do not know each other. */
void on_bootstrap(int from, uint64_t id, struct buffer* body);
void bootstrap_proc_ended(void);
void bootstrap_job_ended(const char* nspace);

/* modex.c: the data of one process, from the node that has it. */
pmix_status_t up_direct_modex(const pmix_proc_t* proc, const pmix_info_t info[], size_t ninfo,
                              pmix_modex_cbfunc_t cbfunc, void* cbdata);
void on_modex(int from, uint64_t id, struct buffer* body);
void modex_proc_ended(const pmix_proc_t* proc);

/* publish.c: publish, lookup, unpublish: to the store on node 0 and back. */
pmix_status_t up_publish(const pmix_proc_t* proc, const pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t cbfunc,
                         void* cbdata);
pmix_status_t up_lookup(const pmix_proc_t* proc, char** keys, const pmix_info_t info[], size_t ninfo,
                        pmix_lookup_cbfunc_t cbfunc, void* cbdata);
pmix_status_t up_unpublish(const pmix_proc_t* proc, char** keys, const pmix_info_t info[], size_t ninfo,
                           pmix_op_cbfunc_t cbfunc, void* cbdata);
void on_publish(int from, uint64_t id, struct buffer* body);
void on_lookup(int from, uint64_t id, struct buffer* body);
void on_unpublish(int from, uint64_t id, struct buffer* body);
void on_proc_left(int from, uint64_t id, struct buffer* body);
void publish_proc_left(const pmix_proc_t* proc);
void publish_proc_ended(const pmix_proc_t* proc);
void publish_app_ended(const char* nspace, uint32_t app);
void publish_nspace_ended(const char* nspace);

/* events.c */
pmix_status_t up_register_events(pmix_status_t* codes, size_t ncodes, const pmix_info_t info[], size_t ninfo,
                                 pmix_op_cbfunc_t cbfunc, void* cbdata);
pmix_status_t up_deregister_events(pmix_status_t* codes, size_t ncodes, pmix_op_cbfunc_t cbfunc, void* cbdata);
pmix_status_t up_notify_event(pmix_status_t code, const pmix_proc_t* source, pmix_data_range_t range,
                              pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t cbfunc, void* cbdata);
void on_event(int from, uint64_t id, struct buffer* body);
/* Notifies clients of a process that failed or left: those of this node, or of all nodes. */
void events_tell(pmix_status_t code, const pmix_proc_t* about, const struct buffer* to, bool all_nodes);

/* For our own library alone: the processes of that node are not there any more, whatever becomes of them. */
void events_node_lost(uint32_t number);

/* tools.c */
void up_tool_connected(pmix_info_t* info, size_t ninfo, pmix_tool_connection_cbfunc_t cbfunc, void* cbdata);

/* fabric.c */
pmix_status_t up_fabric(const pmix_proc_t* requestor, pmix_fabric_operation_t op, const pmix_info_t directives[],
                        size_t ndirs, pmix_info_cbfunc_t cbfunc, void* cbdata);

/* spawn.c */
pmix_status_t up_spawn(const pmix_proc_t* proc, const pmix_info_t job_info[], size_t ninfo, const pmix_app_t apps[],
                       size_t napps, pmix_spawn_cbfunc_t cbfunc, void* cbdata);

/* log.c */
void up_log(const pmix_proc_t* client, const pmix_info_t data[], size_t ndata, const pmix_info_t directives[],
            size_t ndirs, pmix_op_cbfunc_t cbfunc, void* cbdata);
void on_log(int from, uint64_t id, struct buffer* body);

/* monitor.c */
pmix_status_t up_monitor(const pmix_proc_t* requestor, const pmix_info_t* monitor, pmix_status_t error,
                         const pmix_info_t directives[], size_t ndirs, pmix_info_cbfunc_t cbfunc, void* cbdata);
void on_monitor(int from, uint64_t id, struct buffer* body);
void monitor_node_lost(int number);

/* query.c */
pmix_status_t up_query(pmix_proc_t* proc, pmix_query_t* queries, size_t nqueries, pmix_info_cbfunc_t cbfunc,
                       void* cbdata);
void query_register(void); /* registers the supported queries and qualifiers with the library */

#endif
