/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of a PMIx client; servers and tools may use them too. The rules about memory, callbacks and threads
 * that hold for all of them are at the top of pmix_common.h. Any thread may call them at any time, unless told
 * otherwise. No call is a cancellation point: a thread that is cancelled in one returns from it first, with its result.
 * A callback must return; it may not end its thread.
 *
 * A call needs what the local server or its host can do: PMIX_ERR_NOT_SUPPORTED says that they cannot.
 * PMIX_ERR_BAD_PARAM, PMIX_ERR_INIT, PMIX_ERR_NOMEM, PMIX_ERR_UNREACH and PMIX_ERR_LOST_CONNECTION may come from every
 * call and are told only where they mean more than their name.
 */
#ifndef PMIX_H
#define PMIX_H

#include <pmix_common.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ==================================================================================================================
 * Init, finalize, abort, progress (chapters 4, 12)
 * ================================================================================================================== */

/*
 * Connects to the local server and makes the process a client. Calls are counted: each needs its PMIx_Finalize.
 *
 * @p proc receives the namespace and rank of the caller; it may be NULL. @p info holds directives, all optional. When
 * it returns, all job data that the host registered can be read with PMIx_Get without any message.
 *
 * A soft limit of open files (RLIMIT_NOFILE) of less than 32 is raised to that, as far as the hard one allows.
 * Descriptors 0, 1 and 2 stay the program's, also where it has closed them.
 *
 * Blocks until the server has answered. PMIX_ERR_UNREACH: there is no server; @p proc then holds a made-up identity of
 * a single process and the library stays initialised for local use. A connection that is refused or does not answer in
 * time gives an error and leaves nothing behind.
 */
PMIX_EXPORT pmix_status_t PMIx_Init(pmix_proc_t *proc, pmix_info_t info[], size_t ninfo);

/*
 * Ends one PMIx_Init. The last one tells the server, ends every request that still waits, and frees all memory.
 *
 * Blocks until the host has acknowledged. With PMIX_EMBED_BARRIER true no process of the job leaves before all have
 * come. PMIX_ERR_INIT without a matching init. With PMIX_ERR_BAD_PARAM nothing has ended.
 */
PMIX_EXPORT pmix_status_t PMIx_Finalize(const pmix_info_t info[], size_t ninfo);

/*
 * Tells, at any time and from any thread, whether the library is initialised in any role: 1 or 0. A forked child is
 * not.
 */
PMIX_EXPORT int PMIx_Initialized(void);

/* The library's name and version, static text. Can be called at any time. */
PMIX_EXPORT const char *PMIx_Get_version(void);

/*
 * Asks the host to end processes with exit status @p status and the message @p msg, which may be NULL.
 *
 * @p procs names @p nprocs processes; NULL and 0 mean all processes of the caller's namespace. Blocks until the host
 * has answered. The caller may live on: it then ends itself. PMIX_ERR_NOT_SUPPORTED: the host cannot do it.
 */
PMIX_EXPORT pmix_status_t PMIx_Abort(int status, const char msg[], pmix_proc_t procs[], size_t nprocs);

/*
 * Progresses the library once, for a process that drives it itself (PMIX_EXTERNAL_PROGRESS); otherwise does nothing.
 * Does not wait.
 */
PMIX_EXPORT void PMIx_Progress(void);

/*
 * Ends the library's progress thread and waits until it has ended; from then on the process drives the library itself,
 * with PMIx_Progress or by calls that wait. What is queued is run first, unless PMIX_PROGRESS_THREAD_FLUSH in @p info is
 * false. PMIX_PROGRESS_THREAD_NAME names the thread meant ("wireup"). Does nothing where there is no such thread, and on
 * that thread itself, and where @p info is in error, as there is no status. A call that waits in another thread
 * meanwhile goes on waiting until somebody drives the library.
 */
PMIX_EXPORT void PMIx_Progress_thread_stop(const pmix_info_t *info, size_t ninfo);

/* ==================================================================================================================
 * Put, commit, get (chapters 5, 6)
 *
 * What a process says of itself, and what is known of processes, nodes and jobs.
 * ================================================================================================================== */

/*
 * Stages a value under @p key for the processes in @p scope; nobody sees it before PMIx_Commit.
 *
 * The value is copied: the caller keeps @p val. A second put of the key replaces the first; nothing can be taken back.
 * Does not block and sends nothing. PMIX_ERR_BAD_PARAM: no key, one of more than PMIX_MAX_KEYLEN bytes, no value.
 * PMIX_ERR_NOT_SUPPORTED: no such scope.
 */
PMIX_EXPORT pmix_status_t PMIx_Put(pmix_scope_t scope, const char key[], pmix_value_t *val);

/* Makes everything that was put available to the others. Does not wait until they can see it. */
PMIX_EXPORT pmix_status_t PMIx_Commit(void);

/*
 * Keeps a value of any process under @p key for this process alone. It is copied. Does not block and sends nothing.
 */
PMIX_EXPORT pmix_status_t PMIx_Store_internal(const pmix_proc_t *proc, const char key[], pmix_value_t *val);

/*
 * Gets the value that process @p proc has under @p key.
 *
 * @p proc: NULL means the caller; PMIX_RANK_WILDCARD the job; PMIX_RANK_UNDEF a key that is unique in its namespace.
 * Keys that start with "pmix" are reserved: those of the caller's own job are answered from what is here and never
 * wait. Any other key of a peer, wherever the peer runs: the get waits until the peer has committed something. A key
 * that is missing then is PMIX_ERR_NOT_FOUND. With PMIX_TIMEOUT the get waits for the key itself until the limit is over
 * (PMIX_ERR_TIMEOUT). @p key NULL: all values of that process, as an array of infos. @p info chooses the realm
 * (PMIX_SESSION_INFO, PMIX_JOB_INFO, PMIX_APP_INFO, PMIX_NODE_INFO with their qualifiers), the scope, and how far to ask
 * (PMIX_OPTIONAL, PMIX_IMMEDIATE). Where PMIX_SESSION_ID, PMIX_HOSTNAME or PMIX_NODEID names whose information is
 * meant, the job of @p proc counts where it is known, and the caller's where it is not; of a session also where that
 * job has nothing. What a job has on a node (PMIX_LOCAL_PEERS and the like) is never another job's.
 *
 * @p val receives a new value that the caller frees with PMIX_VALUE_RELEASE. With PMIX_GET_STATIC_VALUES it points to
 * a value of the caller's, which is filled, whatever its type; PMIX_VALUE_DESTRUCT frees what it points to. With PMIX_GET_POINTER_VALUES it receives a
 * pointer into the library, which stays valid until finalize and is not to be freed. On failure *val is NULL.
 *
 * A value that is known here costs no lock and no message; otherwise the call blocks. PMIX_ERR_NOT_FOUND,
 * PMIX_ERR_TIMEOUT, PMIX_ERR_EXISTS_OUTSIDE_SCOPE (it is there, but not for the caller).
 */
PMIX_EXPORT pmix_status_t PMIx_Get(const pmix_proc_t *proc, const char key[], const pmix_info_t info[], size_t ninfo,
                                   pmix_value_t **val);

/*
 * PMIx_Get that hands its result to @p cbfunc. The value belongs to the library and is gone when the callback returns.
 * PMIX_GET_STATIC_VALUES is not possible here. PMIX_ERR_BAD_PARAM without a callback.
 */
PMIX_EXPORT pmix_status_t PMIx_Get_nb(const pmix_proc_t *proc, const char key[], const pmix_info_t info[], size_t ninfo,
                                      pmix_value_cbfunc_t cbfunc, void *cbdata);

/* ==================================================================================================================
 * Fence (chapter 8)
 * ================================================================================================================== */

/*
 * Waits until all processes in @p procs have called it.
 *
 * @p procs NULL with 0: all processes of the caller's namespace. With PMIX_COLLECT_DATA true everything the
 * participants have committed can be read here afterwards. Overlapping and repeated fences do not mix. A member that
 * dies ends it for the others with an error, as does PMIX_TIMEOUT. One that has finalized may initialise again, or be
 * a script that runs another program: the others wait for it until the process that was started for it ends. Blocks.
 */
PMIX_EXPORT pmix_status_t PMIx_Fence(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[], size_t ninfo);

/* PMIx_Fence that calls @p cbfunc at its end. PMIX_OPERATION_SUCCEEDED: already done, no callback. */
PMIX_EXPORT pmix_status_t PMIx_Fence_nb(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                                        size_t ninfo, pmix_op_cbfunc_t cbfunc, void *cbdata);

/* ==================================================================================================================
 * Publish and look up (chapter 9)
 *
 * Data found by key alone, in a store that the host keeps. The user and group of the caller are added.
 * ================================================================================================================== */

/*
 * Publishes the data in @p info for look-up by key, without naming the process.
 *
 * @p info holds the data and, among them, directives: PMIX_RANGE (default: session), PMIX_PERSISTENCE (default:
 * application), access permissions. All is copied. Blocks until the data can be looked up. PMIX_ERR_DUPLICATE_KEY: the
 * key is there in that range already.
 */
PMIX_EXPORT pmix_status_t PMIx_Publish(const pmix_info_t info[], size_t ninfo);

/* PMIx_Publish that calls @p cbfunc at its end; @p info must stay until then. */
PMIX_EXPORT pmix_status_t PMIx_Publish_nb(const pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t cbfunc,
                                          void *cbdata);

/*
 * Looks up published data.
 *
 * @p data holds @p ndata keys; those found are given their value and publisher, the others have the type PMIX_UNDEF.
 * The values are the caller's, freed with PMIX_PDATA_DESTRUCT. Does not wait for missing keys unless @p info has
 * PMIX_WAIT; that can be bound with PMIX_TIMEOUT. Blocks. PMIX_ERR_PARTIAL_SUCCESS: some of the keys were found, also
 * where PMIX_WAIT asked for no more. PMIX_ERR_NOT_FOUND: no key was found.
 * PMIX_ERR_NO_PERMISSIONS: there, but not for you.
 */
PMIX_EXPORT pmix_status_t PMIx_Lookup(pmix_pdata_t data[], size_t ndata, const pmix_info_t info[], size_t ninfo);

/*
 * PMIx_Lookup of the keys in the NULL-terminated array @p keys. @p cbfunc gets what was found; that array is the
 * library's.
 */
PMIX_EXPORT pmix_status_t PMIx_Lookup_nb(char **keys, const pmix_info_t info[], size_t ninfo,
                                         pmix_lookup_cbfunc_t cbfunc, void *cbdata);

/*
 * Takes back data that this process has published: the keys in the NULL-terminated array @p keys, or all if it is
 * NULL. Blocks. A key that is not there is no error.
 */
PMIX_EXPORT pmix_status_t PMIx_Unpublish(char **keys, const pmix_info_t info[], size_t ninfo);

/* PMIx_Unpublish that calls @p cbfunc at its end; @p keys must stay until then. */
PMIX_EXPORT pmix_status_t PMIx_Unpublish_nb(char **keys, const pmix_info_t info[], size_t ninfo,
                                            pmix_op_cbfunc_t cbfunc, void *cbdata);

/* ==================================================================================================================
 * Query and resolve (chapter 7)
 * ================================================================================================================== */

/*
 * Asks for information about the system, jobs, or the library.
 *
 * Each of the @p nqueries queries has keys and qualifiers. @p results receives an array that the caller frees with
 * PMIX_INFO_FREE. PMIX_ERR_PARTIAL_SUCCESS: only the keys in the array were found. PMIX_ERR_NOT_FOUND: none. On any
 * other failure *results is NULL and *nresults is 0. Blocks; the two keys for versions of the binary interface may be
 * asked before init.
 */
PMIX_EXPORT pmix_status_t PMIx_Query_info(pmix_query_t queries[], size_t nqueries, pmix_info_t **results,
                                          size_t *nresults);

/*
 * PMIx_Query_info that hands its results to @p cbfunc; calling the release function given there frees them.
 */
PMIX_EXPORT pmix_status_t PMIx_Query_info_nb(pmix_query_t queries[], size_t nqueries, pmix_info_cbfunc_t cbfunc,
                                             void *cbdata);

/*
 * Lists the processes of @p nspace on node @p nodename.
 *
 * NULL means the local node, and all namespaces. @p procs receives an array that the caller frees with PMIX_PROC_FREE;
 * none there is success with NULL and 0. May block, for 30 seconds at most (PMIX_ERR_TIMEOUT).
 */
PMIX_EXPORT pmix_status_t PMIx_Resolve_peers(const char *nodename, const char nspace[], pmix_proc_t **procs,
                                             size_t *nprocs);

/*
 * Lists the nodes that hold processes of @p nspace (NULL: of any) as text with commas, in @p nodelist. The caller
 * frees it. May block, for 30 seconds at most (PMIX_ERR_TIMEOUT).
 */
PMIX_EXPORT pmix_status_t PMIx_Resolve_nodes(const char nspace[], char **nodelist);

/* ==================================================================================================================
 * Events (chapter 10)
 *
 * Handlers form a chain: first those for a single code, then those for several, then default ones. Each says what it
 * did; the next one is called only then, and none after PMIX_EVENT_ACTION_COMPLETE.
 * ================================================================================================================== */

/*
 * Registers @p evhdlr for the @p ncodes event codes in @p codes; NULL and 0 make it a default handler.
 *
 * @p info orders it among the others (PMIX_EVENT_HDLR_FIRST and so on) and limits what it gets (range, affected
 * processes). With @p cbfunc NULL the call blocks and returns the handler's reference number, or an error, which is
 * negative. Otherwise the number goes to @p cbfunc and the call does not block. Events that were raised before and kept
 * are delivered to the new handler. PMIX_TIMEOUT bounds the wait for the server; afterwards there is no such handler.
 */
PMIX_EXPORT pmix_status_t PMIx_Register_event_handler(pmix_status_t codes[], size_t ncodes, pmix_info_t info[],
                                                      size_t ninfo, pmix_notification_fn_t evhdlr,
                                                      pmix_hdlr_reg_cbfunc_t cbfunc, void *cbdata);

/*
 * Removes the handler of this reference number. Blocks if @p cbfunc is NULL. A handler that runs is not interrupted.
 */
PMIX_EXPORT pmix_status_t PMIx_Deregister_event_handler(size_t evhdlr_ref, pmix_op_cbfunc_t cbfunc, void *cbdata);

/*
 * Raises event @p status in the name of @p source (NULL: nobody) for the processes in @p range.
 *
 * @p info travels with it: affected processes, text, time, a custom range. It is copied. Blocks if @p cbfunc is NULL,
 * until the local server has taken the event, not until handlers have run; PMIX_TIMEOUT bounds that. The caller's own
 * handlers get it too.
 */
PMIX_EXPORT pmix_status_t PMIx_Notify_event(pmix_status_t status, const pmix_proc_t *source, pmix_data_range_t range,
                                            const pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t cbfunc,
                                            void *cbdata);

/* ==================================================================================================================
 * Spawn and connect (chapter 12)
 * ================================================================================================================== */

/*
 * Starts a job of @p napps applications.
 *
 * @p job_info is for the whole job, the infos of an application for that one. @p nspace receives the name of the new
 * job. The caller is its parent, not a member. Blocks until the host has started it or failed; the status is one of
 * PMIX_ERR_JOB_* then. PMIX_ERR_NOT_SUPPORTED: the host cannot do it.
 */
PMIX_EXPORT pmix_status_t PMIx_Spawn(const pmix_info_t job_info[], size_t ninfo, const pmix_app_t apps[], size_t napps,
                                     pmix_nspace_t nspace);

/* PMIx_Spawn that hands its result to @p cbfunc; the arrays must stay until then. */
PMIX_EXPORT pmix_status_t PMIx_Spawn_nb(const pmix_info_t job_info[], size_t ninfo, const pmix_app_t apps[],
                                        size_t napps, pmix_spawn_cbfunc_t cbfunc, void *cbdata);

/*
 * Joins the processes in @p procs: their host treats them as one, and they can read each other's job data.
 *
 * All of them must call it with the same set. Blocks until all have. PMIX_TIMEOUT bounds it; a member's death ends it.
 */
PMIX_EXPORT pmix_status_t PMIx_Connect(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                                       size_t ninfo);

/* PMIx_Connect that calls @p cbfunc at its end; the arrays must stay until then. */
PMIX_EXPORT pmix_status_t PMIx_Connect_nb(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                                          size_t ninfo, pmix_op_cbfunc_t cbfunc, void *cbdata);

/* Ends what PMIx_Connect began, with the same set of processes. Blocks until all have called it. */
PMIX_EXPORT pmix_status_t PMIx_Disconnect(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                                          size_t ninfo);

/* PMIx_Disconnect that calls @p cbfunc at its end; the arrays must stay until then. */
PMIX_EXPORT pmix_status_t PMIx_Disconnect_nb(const pmix_proc_t ranges[], size_t nprocs, const pmix_info_t info[],
                                             size_t ninfo, pmix_op_cbfunc_t cbfunc, void *cbdata);

/* ==================================================================================================================
 * Topology and locality (chapter 12)
 *
 * Nothing here needs a server, except where its topology is asked for. A cpuset or topology with no source is taken as
 * hwloc's.
 * ================================================================================================================== */

/*
 * Fills @p topo with the hardware topology of this node. Its @p source names the library that it shall be in, such as
 * "hwloc"; NULL: any, and the name is then new memory. The topology is the library's own and must not be changed; the
 * caller ends with PMIX_TOPOLOGY_DESTRUCT, which frees the name and leaves the library's topology alone. May block.
 */
PMIX_EXPORT pmix_status_t PMIx_Load_topology(pmix_topology_t *topo);

/*
 * The CPUs that the process or the calling thread, as @p ref says, is bound to. The caller frees the bitmap with
 * PMIX_CPUSET_DESTRUCT, and the source with it where it was NULL.
 */
PMIX_EXPORT pmix_status_t PMIx_Get_cpuset(pmix_cpuset_t *cpuset, pmix_bind_envelope_t ref);

/* Makes a bitmap of the text of PMIX_CPUSET. The caller frees it with PMIX_CPUSET_DESTRUCT. */
PMIX_EXPORT pmix_status_t PMIx_Parse_cpuset_string(const char *cpuset_string, pmix_cpuset_t *cpuset);

/*
 * What two processes share, from their PMIX_LOCALITY_STRING: bits of PMIX_LOCALITY_* in @p locality. Nothing to free.
 */
PMIX_EXPORT pmix_status_t PMIx_Get_relative_locality(const char *locality1, const char *locality2,
                                                     pmix_locality_t *locality);

/*
 * Distances from the CPUs in @p cpuset to devices of the kinds in @p info (PMIX_DEVICE_TYPE).
 *
 * @p distances receives an array that the caller frees with PMIX_DEVICE_DIST_FREE. NULL for @p topo or @p cpuset:
 * those of the caller. May block.
 */
PMIX_EXPORT pmix_status_t PMIx_Compute_distances(pmix_topology_t *topo, pmix_cpuset_t *cpuset, pmix_info_t info[],
                                                 size_t ninfo, pmix_device_distance_t *distances[], size_t *ndist);

/* PMIx_Compute_distances that hands its result to @p cbfunc; the release function given there frees it. */
PMIX_EXPORT pmix_status_t PMIx_Compute_distances_nb(pmix_topology_t *topo, pmix_cpuset_t *cpuset, pmix_info_t info[],
                                                    size_t ninfo, pmix_device_dist_cbfunc_t cbfunc, void *cbdata);

/* ==================================================================================================================
 * Allocations, job and session control, monitoring, log (chapter 13)
 *
 * Served by the host, as far as it can.
 * ================================================================================================================== */

/*
 * Asks the host's scheduler for resources, or gives some back.
 *
 * @p results receives what the host says, to be freed with PMIX_INFO_FREE. Blocks. PMIX_ERR_NOT_SUPPORTED: no
 * scheduler.
 */
PMIX_EXPORT pmix_status_t PMIx_Allocation_request(pmix_alloc_directive_t directive, pmix_info_t *info, size_t ninfo,
                                                  pmix_info_t **results, size_t *nresults);

/* PMIx_Allocation_request that hands its results to @p cbfunc; @p info must stay until then. */
PMIX_EXPORT pmix_status_t PMIx_Allocation_request_nb(pmix_alloc_directive_t directive, pmix_info_t *info, size_t ninfo,
                                                     pmix_info_cbfunc_t cbfunc, void *cbdata);

/* Defines, changes or deletes a named block of resources, for use in allocation requests. Blocks. */
PMIX_EXPORT pmix_status_t PMIx_Resource_block(pmix_resource_block_directive_t directive, char *block,
                                              const pmix_resource_unit_t *res, size_t nres, const pmix_info_t *info,
                                              size_t ninfo);

/* PMIx_Resource_block that calls @p cbfunc at its end; the arrays must stay until then. */
PMIX_EXPORT pmix_status_t PMIx_Resource_block_nb(pmix_resource_block_directive_t directive, char *block,
                                                 const pmix_resource_unit_t *res, size_t nres, const pmix_info_t *info,
                                                 size_t ninfo, pmix_op_cbfunc_t cbfunc, void *cbdata);

/*
 * Asks the host to act on processes: pause, resume, signal, checkpoint, kill, clean up.
 *
 * @p targets NULL with 0: the caller's job. @p results receives what the host says, to be freed with PMIX_INFO_FREE.
 * Blocks.
 */
PMIX_EXPORT pmix_status_t PMIx_Job_control(const pmix_proc_t targets[], size_t ntargets, const pmix_info_t directives[],
                                           size_t ndirs, pmix_info_t **results, size_t *nresults);

/* PMIx_Job_control that hands its results to @p cbfunc; the arrays must stay until then. */
PMIX_EXPORT pmix_status_t PMIx_Job_control_nb(const pmix_proc_t targets[], size_t ntargets,
                                              const pmix_info_t directives[], size_t ndirs, pmix_info_cbfunc_t cbfunc,
                                              void *cbdata);

/* Asks the host to act on session @p sessionID. @p cbfunc gets the result; NULL makes the call block. */
PMIX_EXPORT pmix_status_t PMIx_Session_control(uint32_t sessionID, const pmix_info_t directives[], size_t ndirs,
                                               pmix_info_cbfunc_t cbfunc, void *cbdata);

/*
 * Asks for supervision of the caller: heartbeats, a file, or resources.
 *
 * @p monitor says what to watch, @p error which event to raise when it fails, @p directives how. @p results receives
 * the server's answer, to be freed with PMIX_INFO_FREE. Blocks.
 */
PMIX_EXPORT pmix_status_t PMIx_Process_monitor(const pmix_info_t *monitor, pmix_status_t error,
                                               const pmix_info_t directives[], size_t ndirs, pmix_info_t **results,
                                               size_t *nresults);

/* PMIx_Process_monitor that hands its results to @p cbfunc; the infos must stay until then. */
PMIX_EXPORT pmix_status_t PMIx_Process_monitor_nb(const pmix_info_t *monitor, pmix_status_t error,
                                                  const pmix_info_t directives[], size_t ndirs,
                                                  pmix_info_cbfunc_t cbfunc, void *cbdata);

/* Sends one heartbeat to the local server. Does not wait. */
PMIX_EXPORT void PMIx_Heartbeat(void);

/*
 * Logs the data in @p data: each info names a channel and holds what to write there. Blocks until it is written.
 * PMIX_ERR_PARTIAL_SUCCESS: not on all channels.
 */
PMIX_EXPORT pmix_status_t PMIx_Log(const pmix_info_t data[], size_t ndata, const pmix_info_t directives[],
                                   size_t ndirs);

/* PMIx_Log that calls @p cbfunc at its end; the arrays must stay until then. */
PMIX_EXPORT pmix_status_t PMIx_Log_nb(const pmix_info_t data[], size_t ndata, const pmix_info_t directives[],
                                      size_t ndirs, pmix_op_cbfunc_t cbfunc, void *cbdata);

/* ==================================================================================================================
 * Groups (chapter 14)
 *
 * Sets of processes under a name, whose members may come from several jobs. A group forms because all members call
 * construct, or because one invites the others.
 * ================================================================================================================== */

/*
 * Forms group @p grp of the processes in @p procs, all of which must call it.
 *
 * @p results receives what the group was given (membership, context id), to be freed with PMIX_INFO_FREE. Blocks until
 * all have called. PMIX_TIMEOUT bounds it.
 */
PMIX_EXPORT pmix_status_t PMIx_Group_construct(const char grp[], const pmix_proc_t procs[], size_t nprocs,
                                               const pmix_info_t directives[], size_t ndirs, pmix_info_t **results,
                                               size_t *nresults);

/* PMIx_Group_construct that hands its results to @p cbfunc; the arrays must stay until then. */
PMIX_EXPORT pmix_status_t PMIx_Group_construct_nb(const char grp[], const pmix_proc_t procs[], size_t nprocs,
                                                  const pmix_info_t info[], size_t ninfo, pmix_info_cbfunc_t cbfunc,
                                                  void *cbdata);

/*
 * Invites the processes in @p procs to group @p grp, by the event PMIX_GROUP_INVITED. The caller leads it.
 *
 * Blocks until all have answered, or PMIX_TIMEOUT. @p results is to be freed with PMIX_INFO_FREE.
 */
PMIX_EXPORT pmix_status_t PMIx_Group_invite(const char grp[], const pmix_proc_t procs[], size_t nprocs,
                                            const pmix_info_t info[], size_t ninfo, pmix_info_t **results,
                                            size_t *nresult);

/* PMIx_Group_invite that hands its results to @p cbfunc; the arrays must stay until then. */
PMIX_EXPORT pmix_status_t PMIx_Group_invite_nb(const char grp[], const pmix_proc_t procs[], size_t nprocs,
                                               const pmix_info_t info[], size_t ninfo, pmix_info_cbfunc_t cbfunc,
                                               void *cbdata);

/*
 * Answers an invitation to group @p grp of process @p leader, as @p opt says. Blocks until the group has formed or
 * failed.
 */
PMIX_EXPORT pmix_status_t PMIx_Group_join(const char grp[], const pmix_proc_t *leader, pmix_group_opt_t opt,
                                          const pmix_info_t info[], size_t ninfo, pmix_info_t **results,
                                          size_t *nresult);

/* PMIx_Group_join that hands its results to @p cbfunc. The form for use in an event handler. */
PMIX_EXPORT pmix_status_t PMIx_Group_join_nb(const char grp[], const pmix_proc_t *leader, pmix_group_opt_t opt,
                                             const pmix_info_t info[], size_t ninfo, pmix_info_cbfunc_t cbfunc,
                                             void *cbdata);

/* Leaves group @p grp without waiting for the others; they get the event PMIX_GROUP_LEFT. */
PMIX_EXPORT pmix_status_t PMIx_Group_leave(const char grp[], const pmix_info_t info[], size_t ninfo);

/* PMIx_Group_leave that calls @p cbfunc at its end. */
PMIX_EXPORT pmix_status_t PMIx_Group_leave_nb(const char grp[], const pmix_info_t info[], size_t ninfo,
                                              pmix_op_cbfunc_t cbfunc, void *cbdata);

/* Ends group @p grp. All members must call it. Blocks until they have. */
PMIX_EXPORT pmix_status_t PMIx_Group_destruct(const char grp[], const pmix_info_t info[], size_t ninfo);

/* PMIx_Group_destruct that calls @p cbfunc at its end. */
PMIX_EXPORT pmix_status_t PMIx_Group_destruct_nb(const char grp[], const pmix_info_t info[], size_t ninfo,
                                                 pmix_op_cbfunc_t cbfunc, void *cbdata);

/* ==================================================================================================================
 * Fabrics (chapter 15)
 * ================================================================================================================== */

/*
 * Describes a fabric in @p fabric: the one that @p directives select (PMIX_FABRIC_VENDOR, PMIX_FABRIC_IDENTIFIER,
 * PMIX_FABRIC_PLANE, PMIX_FABRIC_INDEX), by default the one that jobs' messages go over. The description is the host's;
 * where it has none, what is known of the nodes' network devices, one fabric for each kind of device.
 *
 * The caller owns the object and its name, the library all that the other fields point to, PMIX_FABRIC_COST_MATRIX
 * included. The object must stay where it is until PMIx_Fabric_deregister, and not be read while an update is under way.
 * The library updates it by itself only for a process with a handler for PMIX_FABRIC_UPDATE_PENDING: when such handlers
 * are done, and then raises PMIX_FABRIC_UPDATED. PMIX_ERR_NOT_FOUND: no such fabric. PMIX_ERR_NOT_SUPPORTED: none at
 * all. Blocks.
 */
PMIX_EXPORT pmix_status_t PMIx_Fabric_register(pmix_fabric_t *fabric, const pmix_info_t directives[], size_t ndirs);

/* PMIx_Fabric_register that calls @p cbfunc at its end. */
PMIX_EXPORT pmix_status_t PMIx_Fabric_register_nb(pmix_fabric_t *fabric, const pmix_info_t directives[], size_t ndirs,
                                                  pmix_op_cbfunc_t cbfunc, void *cbdata);

/*
 * Brings @p fabric up to date; what has not changed and what cannot be learnt stays as it was. Blocks.
 * PMIX_ERR_BAD_PARAM: it is not registered.
 */
PMIX_EXPORT pmix_status_t PMIx_Fabric_update(pmix_fabric_t *fabric);

/* PMIx_Fabric_update that calls @p cbfunc at its end. */
PMIX_EXPORT pmix_status_t PMIx_Fabric_update_nb(pmix_fabric_t *fabric, pmix_op_cbfunc_t cbfunc, void *cbdata);

/*
 * Ends PMIx_Fabric_register: frees what @p fabric points to, save its name. PMIX_ERR_BAD_PARAM: it is not registered.
 * What is never deregistered is freed by the last finalize.
 */
PMIX_EXPORT pmix_status_t PMIx_Fabric_deregister(pmix_fabric_t *fabric);

/* PMIx_Fabric_deregister that calls @p cbfunc at its end. */
PMIX_EXPORT pmix_status_t PMIx_Fabric_deregister_nb(pmix_fabric_t *fabric, pmix_op_cbfunc_t cbfunc, void *cbdata);

/* ==================================================================================================================
 * Credentials (chapter 16)
 * ================================================================================================================== */

/* A credential that proves who the caller is, in @p credential. The caller frees its bytes. May block. */
PMIX_EXPORT pmix_status_t PMIx_Get_credential(const pmix_info_t info[], size_t ninfo, pmix_byte_object_t *credential);

/* PMIx_Get_credential that hands its result to @p cbfunc. */
PMIX_EXPORT pmix_status_t PMIx_Get_credential_nb(const pmix_info_t info[], size_t ninfo,
                                                 pmix_credential_cbfunc_t cbfunc, void *cbdata);

/*
 * Checks a credential of somebody else. @p results receives what it proves, to be freed with PMIX_INFO_FREE. May
 * block.
 */
PMIX_EXPORT pmix_status_t PMIx_Validate_credential(const pmix_byte_object_t *cred, const pmix_info_t info[],
                                                   size_t ninfo, pmix_info_t **results, size_t *nresults);

/* PMIx_Validate_credential that hands its results to @p cbfunc; the credential must stay until then. */
PMIX_EXPORT pmix_status_t PMIx_Validate_credential_nb(const pmix_byte_object_t *cred, const pmix_info_t info[],
                                                      size_t ninfo, pmix_validation_cbfunc_t cbfunc, void *cbdata);

/* ==================================================================================================================
 * Packed data (chapter 11)
 *
 * Values in a buffer, for a message to a process that may have another library. No server is needed.
 * ================================================================================================================== */

/*
 * Appends @p num_vals values of @p type from the array @p src to @p buffer, in the form that @p target understands
 * (NULL: the local server's). The values are copied, with all that they point to; @p src stays the caller's. The
 * content of @p buffer is new memory as it grows: the caller frees it with PMIX_DATA_BUFFER_DESTRUCT. On failure the
 * buffer is as it was. Does not block.
 */
PMIX_EXPORT pmix_status_t PMIx_Data_pack(const pmix_proc_t *target, pmix_data_buffer_t *buffer, void *src,
                                         int32_t num_vals, pmix_data_type_t type);

/*
 * Takes values of @p type from @p buffer into the array @p dest, which has room for *max_num_values; that receives
 * the number of values stored.
 *
 * @p source is the process that packed them (NULL: the local server). What the values point to is new memory, and the
 * caller's: a string goes with free(), a struct with the destruct function of its type. The bytes in @p buffer stay.
 * Where it fails, nothing in @p dest is to be freed but what *max_num_values counts. PMIX_ERR_UNPACK_INADEQUATE_SPACE:
 * there are more than fit; as many as fit were stored, and the next call starts with the first of them again.
 * PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER: none is left. PMIX_ERR_PACK_MISMATCH: the next ones are of another type.
 */
PMIX_EXPORT pmix_status_t PMIx_Data_unpack(const pmix_proc_t *source, pmix_data_buffer_t *buffer, void *dest,
                                           int32_t *max_num_values, pmix_data_type_t type);

/*
 * Appends a copy of what is left to unpack of @p src to @p dest, whose content the caller frees as after packing. @p
 * src stays as it is, and the caller's.
 */
PMIX_EXPORT pmix_status_t PMIx_Data_copy_payload(pmix_data_buffer_t *dest, pmix_data_buffer_t *src);

/*
 * Makes the bytes of @p payload the content of @p buffer; what was in it is freed. The bytes, which must be malloc
 * memory, are taken over, and @p payload is empty afterwards. NULL or no bytes: an empty buffer.
 */
PMIX_EXPORT pmix_status_t PMIx_Data_load(pmix_data_buffer_t *buffer, pmix_byte_object_t *payload);

/*
 * Moves what is left to unpack out of @p buffer into @p payload, whose bytes the caller frees with free(). The buffer
 * is empty afterwards; what @p payload held before is not freed.
 */
PMIX_EXPORT pmix_status_t PMIx_Data_unload(pmix_data_buffer_t *buffer, pmix_byte_object_t *payload);

/*
 * Makes a copy of the bytes of @p payload the content of @p buffer; what was in it is freed. @p payload stays as it
 * is.
 */
PMIX_EXPORT pmix_status_t PMIx_Data_embed(pmix_data_buffer_t *buffer, const pmix_byte_object_t *payload);

/*
 * Makes a deep copy of the value at @p src in new memory, in *dest: a string for PMIX_STRING and PMIX_REGEX (@p src
 * is then the char * itself), else one element of the type. The caller frees it: what it points to with the type's
 * destruct function, then the block with free(), or both with the type's free function and a count of 1.
 */
PMIX_EXPORT pmix_status_t PMIx_Data_copy(void **dest, void *src, pmix_data_type_t type);

/*
 * Text for the value at @p src in *output, one line with @p prefix in front (NULL: nothing). The caller frees it with
 * free(). All fields are in it, by their names; of long byte objects the number of bytes and the first ones.
 */
PMIX_EXPORT pmix_status_t PMIx_Data_print(char **output, char *prefix, void *src, pmix_data_type_t type);

/*
 * Compresses @p size bytes into new memory in *outbytes, which the caller frees. False if nothing would be gained.
 */
PMIX_EXPORT bool PMIx_Data_compress(const uint8_t *inbytes, size_t size, uint8_t **outbytes, size_t *nbytes);

/*
 * Restores what PMIx_Data_compress made, into new memory that the caller frees. False if the bytes are not such data.
 */
PMIX_EXPORT bool PMIx_Data_decompress(const uint8_t *inbytes, size_t size, uint8_t **outbytes, size_t *nbytes);

/* ==================================================================================================================
 * Texts (chapter 3)
 *
 * For people and logs. No server is needed.
 * ================================================================================================================== */

/* The name of a status, static text. Where two names share a value, the older one. */
PMIX_EXPORT const char *PMIx_Error_string(pmix_status_t status);

/* The status of this name, or INT32_MIN if there is none. */
PMIX_EXPORT pmix_status_t PMIx_Error_code(const char *errname);

/* Text for a data type; static, also for values unknown. */
PMIX_EXPORT const char *PMIx_Data_type_string(pmix_data_type_t type);

/* Text for a scope; static, also for values unknown. */
PMIX_EXPORT const char *PMIx_Scope_string(pmix_scope_t scope);

/* Text for a persistence; static, also for values unknown. */
PMIX_EXPORT const char *PMIx_Persistence_string(pmix_persistence_t persist);

/* Text for a range; static, also for values unknown. */
PMIX_EXPORT const char *PMIx_Data_range_string(pmix_data_range_t range);

/* Text for a process state; static, also for values unknown. */
PMIX_EXPORT const char *PMIx_Proc_state_string(pmix_proc_state_t state);

/* Text for a job state; static, also for values unknown. */
PMIX_EXPORT const char *PMIx_Job_state_string(pmix_job_state_t state);

/* Text for an allocation directive; static, also for values unknown. */
PMIX_EXPORT const char *PMIx_Alloc_directive_string(pmix_alloc_directive_t directive);

/* Text for an inheritance of allocations; static, also for values unknown. */
PMIX_EXPORT const char *PMIx_Alloc_inheritance_string(pmix_alloc_inheritance_t inheritance);

/* Text for a resource block directive; static, also for values unknown. */
PMIX_EXPORT const char *PMIx_Resource_block_directive_string(pmix_resource_block_directive_t directive);

/* Text for a set of I/O channels; static, also for values unknown. */
PMIX_EXPORT const char *PMIx_IOF_channel_string(pmix_iof_channel_t channel);

/* Text for a link state; static, also for values unknown. */
PMIX_EXPORT const char *PMIx_Link_state_string(pmix_link_state_t state);

/* Text for a device type; static, also for values unknown. */
PMIX_EXPORT const char *PMIx_Device_type_string(pmix_device_type_t type);

/* Text for a group operation; static, also for values unknown. */
PMIX_EXPORT const char *PMIx_Group_operation_string(pmix_group_operation_t op);

/* Text for the result of a comparison; static, also for values unknown. */
PMIX_EXPORT const char *PMIx_Value_comparison_string(pmix_value_cmp_t cmp);

/* The string of an attribute whose name is given: "PMIX_JOB_SIZE" gives "pmix.job.size". Static text. */
PMIX_EXPORT const char *PMIx_Get_attribute_string(const char *attribute);

/* The name of an attribute whose string is given: "pmix.job.size" gives "PMIX_JOB_SIZE". Static text. */
PMIX_EXPORT const char *PMIx_Get_attribute_name(const char *attrstring);

/* Text for the flags of an info. The caller frees it; NULL if there is no memory. */
PMIX_EXPORT char *PMIx_Info_directives_string(pmix_info_directives_t directives);

/* Text for a value. The caller frees it; NULL if there is no memory. */
PMIX_EXPORT char *PMIx_Value_string(const pmix_value_t *value);

/* Text for an info. The caller frees it; NULL if there is no memory. */
PMIX_EXPORT char *PMIx_Info_string(const pmix_info_t *info);

/* Text for a process. The caller frees it; NULL if there is no memory. */
PMIX_EXPORT char *PMIx_Proc_string(const pmix_proc_t *proc);

/* Text for an application. The caller frees it; NULL if there is no memory. */
PMIX_EXPORT char *PMIx_App_string(const pmix_app_t *app);

/* Text for a resource unit. The caller frees it; NULL if there is no memory. */
PMIX_EXPORT char *PMIx_Resource_unit_string(const pmix_resource_unit_t *unit);

/* How many bytes the value would take when packed, in @p size. */
PMIX_EXPORT pmix_status_t PMIx_Value_get_size(const pmix_value_t *val, size_t *size);

/* How many bytes the info would take when packed, in @p size. */
PMIX_EXPORT pmix_status_t PMIx_Info_get_size(const pmix_info_t *val, size_t *size);

#ifdef __cplusplus
}
#endif

#endif /* PMIX_H */
