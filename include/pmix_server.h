/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of a PMIx server, which a resource manager embeds, and the upcalls that it answers (chapter 17).
 *
 * The library serves the processes of this node. For everything that reaches beyond it calls its host: the module
 * below.
 */
#ifndef PMIX_SERVER_H
#define PMIX_SERVER_H

#include <pmix.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ==================================================================================================================
 * Upcalls
 *
 * Made on the library's own thread, one at a time. What an upcall gets as arguments is the library's and stays until
 * it is answered, except the data of a fence, which are the host's.
 *
 * An upcall returns PMIX_SUCCESS when it will call its cbfunc, once, with the cbdata it got: now, later, from any
 * thread; PMIX_OPERATION_SUCCEEDED when it is done and will not; or an error, and will not either. It must not wait:
 * the library serves nobody meanwhile. It may call any function here, except one that waits for a peer.
 *
 * A NULL entry means that the host cannot do it: the request ends with PMIX_ERR_NOT_SUPPORTED. For client_connected,
 * client_finalized, register_events, deregister_events and notify_event it means that the host need not know.
 * ================================================================================================================== */

/*
 * A client has connected. Older form of the next but many: see client_connected2. The library does not wait for @p
 * cbfunc, which may be NULL.
 */
typedef pmix_status_t (*pmix_server_client_connected_fn_t)(const pmix_proc_t *proc, void *server_object,
                                                           pmix_op_cbfunc_t cbfunc, void *cbdata);

/* A client has called finalize, and waits there for the answer. */
typedef pmix_status_t (*pmix_server_client_finalized_fn_t)(const pmix_proc_t *proc, void *server_object,
                                                           pmix_op_cbfunc_t cbfunc, void *cbdata);

/* A client asks to end @p procs (NULL with 0: all of its namespace) with @p status and @p msg. */
typedef pmix_status_t (*pmix_server_abort_fn_t)(const pmix_proc_t *proc, void *server_object, int status,
                                                const char msg[], pmix_proc_t procs[], size_t nprocs,
                                                pmix_op_cbfunc_t cbfunc, void *cbdata);

/*
 * All local members of a fence have come. @p data is what they contribute, to be concatenated with that of the other
 * nodes in any order and given to @p cbfunc. @p data is the host's, which frees it with free(). @p info has
 * PMIX_COLLECT_DATA, PMIX_TIMEOUT and, when a local member failed, PMIX_LOCAL_COLLECTIVE_STATUS.
 */
typedef pmix_status_t (*pmix_server_fencenb_fn_t)(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                                                  size_t ninfo, char *data, size_t ndata, pmix_modex_cbfunc_t cbfunc,
                                                  void *cbdata);

/*
 * Data of @p proc, which runs elsewhere, are wanted: the host there calls PMIx_server_dmodex_request. @p info may name
 * the key that is waited for (PMIX_REQUIRED_KEY).
 */
typedef pmix_status_t (*pmix_server_dmodex_req_fn_t)(const pmix_proc_t *proc, const pmix_info_t info[], size_t ninfo,
                                                     pmix_modex_cbfunc_t cbfunc, void *cbdata);

/* Data and directives to publish. The host keeps a copy, with @p proc as publisher. */
typedef pmix_status_t (*pmix_server_publish_fn_t)(const pmix_proc_t *proc, const pmix_info_t info[], size_t ninfo,
                                                  pmix_op_cbfunc_t cbfunc, void *cbdata);

/* The NULL-terminated array @p keys is looked up for @p proc; @p cbfunc gets what was found. */
typedef pmix_status_t (*pmix_server_lookup_fn_t)(const pmix_proc_t *proc, char **keys, const pmix_info_t info[],
                                                 size_t ninfo, pmix_lookup_cbfunc_t cbfunc, void *cbdata);

/* What @p proc has published under @p keys (NULL: everything) is to be removed. */
typedef pmix_status_t (*pmix_server_unpublish_fn_t)(const pmix_proc_t *proc, char **keys, const pmix_info_t info[],
                                                    size_t ninfo, pmix_op_cbfunc_t cbfunc, void *cbdata);

/* A job is to be started for @p proc. @p cbfunc gets its name. */
typedef pmix_status_t (*pmix_server_spawn_fn_t)(const pmix_proc_t *proc, const pmix_info_t job_info[], size_t ninfo,
                                                const pmix_app_t apps[], size_t napps, pmix_spawn_cbfunc_t cbfunc,
                                                void *cbdata);

/* All local members of a connect have come. */
typedef pmix_status_t (*pmix_server_connect_fn_t)(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                                                  size_t ninfo, pmix_op_cbfunc_t cbfunc, void *cbdata);

/* All local members of a disconnect have come. */
typedef pmix_status_t (*pmix_server_disconnect_fn_t)(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                                                     size_t ninfo, pmix_op_cbfunc_t cbfunc, void *cbdata);

/*
 * Clients wait for these events of the system (NULL: all): the host shall pass them to PMIx_Notify_event from now on.
 */
typedef pmix_status_t (*pmix_server_register_events_fn_t)(pmix_status_t *codes, size_t ncodes, const pmix_info_t info[],
                                                          size_t ninfo, pmix_op_cbfunc_t cbfunc, void *cbdata);

/* Nobody waits for these events any more. */
typedef pmix_status_t (*pmix_server_deregister_events_fn_t)(pmix_status_t *codes, size_t ncodes,
                                                            pmix_op_cbfunc_t cbfunc, void *cbdata);

/* A local process raises an event: the host brings it to the servers of the processes in @p range. */
typedef pmix_status_t (*pmix_server_notify_event_fn_t)(pmix_status_t code, const pmix_proc_t *source,
                                                       pmix_data_range_t range, pmix_info_t info[], size_t ninfo,
                                                       pmix_op_cbfunc_t cbfunc, void *cbdata);

/* Host to library: a connection was accepted on the socket that the host listens on. */
typedef void (*pmix_connection_cbfunc_t)(int incoming_sd, void *cbdata);

/* The host may listen for tools on this socket itself. */
typedef pmix_status_t (*pmix_server_listener_fn_t)(int listening_sd, pmix_connection_cbfunc_t cbfunc, void *cbdata);

/*
 * @p proct asks what the library does not know. PMIX_ERR_PARTIAL_SUCCESS and PMIX_ERR_NOT_FOUND travel back as they
 * are.
 */
typedef pmix_status_t (*pmix_server_query_fn_t)(pmix_proc_t *proct, pmix_query_t *queries, size_t nqueries,
                                                pmix_info_cbfunc_t cbfunc, void *cbdata);

/* Host to library: the tool may connect, as @p proc, or @p status says why not. */
typedef void (*pmix_tool_connection_cbfunc_t)(pmix_status_t status, pmix_proc_t *proc, void *cbdata);

/* A tool wants to connect; @p info describes it. The host answers with its identity. */
typedef void (*pmix_server_tool_connection_fn_t)(pmix_info_t *info, size_t ninfo, pmix_tool_connection_cbfunc_t cbfunc,
                                                 void *cbdata);

/* Data to be logged for @p client on the channels that only the host has. */
typedef void (*pmix_server_log_fn_t)(const pmix_proc_t *client, const pmix_info_t data[], size_t ndata,
                                     const pmix_info_t directives[], size_t ndirs, pmix_op_cbfunc_t cbfunc,
                                     void *cbdata);

/* An allocation request of @p client. */
typedef pmix_status_t (*pmix_server_alloc_fn_t)(const pmix_proc_t *client, pmix_alloc_directive_t directive,
                                                const pmix_info_t data[], size_t ndata, pmix_info_cbfunc_t cbfunc,
                                                void *cbdata);

/* @p requestor wants @p targets (NULL with 0: all of its job) to be controlled. */
typedef pmix_status_t (*pmix_server_job_control_fn_t)(const pmix_proc_t *requestor, const pmix_proc_t targets[],
                                                      size_t ntargets, const pmix_info_t directives[], size_t ndirs,
                                                      pmix_info_cbfunc_t cbfunc, void *cbdata);

/* @p requestor wants to be watched: @p monitor says what, @p error which event to raise. */
typedef pmix_status_t (*pmix_server_monitor_fn_t)(const pmix_proc_t *requestor, const pmix_info_t *monitor,
                                                  pmix_status_t error, const pmix_info_t directives[], size_t ndirs,
                                                  pmix_info_cbfunc_t cbfunc, void *cbdata);

/* @p proc asks for a credential. */
typedef pmix_status_t (*pmix_server_get_cred_fn_t)(const pmix_proc_t *proc, const pmix_info_t directives[],
                                                   size_t ndirs, pmix_credential_cbfunc_t cbfunc, void *cbdata);

/* @p proc asks what a credential proves. */
typedef pmix_status_t (*pmix_server_validate_cred_fn_t)(const pmix_proc_t *proc, const pmix_byte_object_t *cred,
                                                        const pmix_info_t directives[], size_t ndirs,
                                                        pmix_validation_cbfunc_t cbfunc, void *cbdata);

/*
 * Output on @p channels of @p procs is wanted, or no longer wanted (PMIX_IOF_STOP): the host passes it to
 * PMIx_server_IOF_deliver.
 */
typedef pmix_status_t (*pmix_server_iof_fn_t)(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t directives[],
                                              size_t ndirs, pmix_iof_channel_t channels, pmix_op_cbfunc_t cbfunc,
                                              void *cbdata);

/* Input of @p source for @p targets. */
typedef pmix_status_t (*pmix_server_stdin_fn_t)(const pmix_proc_t *source, const pmix_proc_t targets[], size_t ntargets,
                                                const pmix_info_t directives[], size_t ndirs,
                                                const pmix_byte_object_t *bo, pmix_op_cbfunc_t cbfunc, void *cbdata);

/*
 * A client has connected and waits in its init until the host answers, so that the host can refuse it. Used where both
 * are given.
 */
typedef pmix_status_t (*pmix_server_client_connected2_fn_t)(const pmix_proc_t *proc, void *server_object,
                                                            pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t cbfunc,
                                                            void *cbdata);

/* All local members of a group operation have come. */
typedef pmix_status_t (*pmix_server_grp_fn_t)(pmix_group_operation_t op, char grp[], const pmix_proc_t procs[],
                                              size_t nprocs, const pmix_info_t directives[], size_t ndirs,
                                              pmix_info_cbfunc_t cbfunc, void *cbdata);

/* @p requestor asks about a fabric. */
typedef pmix_status_t (*pmix_server_fabric_fn_t)(const pmix_proc_t *requestor, pmix_fabric_operation_t op,
                                                 const pmix_info_t directives[], size_t ndirs,
                                                 pmix_info_cbfunc_t cbfunc, void *cbdata);

/* @p requestor wants a session to be controlled. */
typedef pmix_status_t (*pmix_server_session_control_fn_t)(const pmix_proc_t *requestor, uint32_t sessionID,
                                                          const pmix_info_t directives[], size_t ndirs,
                                                          pmix_info_cbfunc_t cbfunc, void *cbdata);

/* tool_connected with a status: what it returns is the answer where it does not call @p cbfunc. */
typedef pmix_status_t (*pmix_server_tool_connection2_fn_t)(pmix_info_t *info, size_t ninfo,
                                                           pmix_tool_connection_cbfunc_t cbfunc, void *cbdata);

/* log with a status. */
typedef pmix_status_t (*pmix_server_log2_fn_t)(const pmix_proc_t *client, const pmix_info_t data[], size_t ndata,
                                               const pmix_info_t directives[], size_t ndirs, pmix_op_cbfunc_t cbfunc,
                                               void *cbdata);

/* @p requestor defines or changes a block of resources. */
typedef pmix_status_t (*pmix_server_resource_block_fn_t)(const pmix_proc_t *requestor,
                                                         pmix_resource_block_directive_t directive, const char *block,
                                                         const pmix_resource_unit_t *units, size_t nunit,
                                                         const pmix_info_t *info, size_t ninfo, pmix_op_cbfunc_t cbfunc,
                                                         void *cbdata);

/* ==================================================================================================================
 * The module
 *
 * What a host can do. Entries may be NULL, and so may the module.
 *
 * The structure grew from release to release without telling its size, and its tail moved. The library therefore reads
 * the first 28 entries, to client_connected2, and nothing behind them, unless it is told how long the module is: by
 * the attribute PMIX_SERVER_MODULE_SIZE among the infos of PMIx_server_init, or of PMIx_tool_init for modules that the
 * tool sets later. The size also tells the layout:
 *
 *   224  4.2: 28 entries, to client_connected2
 *   232  5.0: and session_control
 *   240  6.0: and session_control, resource_block
 *   256  6.1: and tool_connected2, log2, session_control, resource_block, as below
 *
 * Of a module of any other size the first 28 entries are read. A host that includes this header need not do anything:
 * PMIx_server_init is also a macro that adds the attribute.
 * ================================================================================================================== */

typedef struct pmix_server_module_4_0_0_t {
    pmix_server_client_connected_fn_t client_connected;
    pmix_server_client_finalized_fn_t client_finalized;
    pmix_server_abort_fn_t abort;
    pmix_server_fencenb_fn_t fence_nb;
    pmix_server_dmodex_req_fn_t direct_modex;
    pmix_server_publish_fn_t publish;
    pmix_server_lookup_fn_t lookup;
    pmix_server_unpublish_fn_t unpublish;
    pmix_server_spawn_fn_t spawn;
    pmix_server_connect_fn_t connect;
    pmix_server_disconnect_fn_t disconnect;
    pmix_server_register_events_fn_t register_events;
    pmix_server_deregister_events_fn_t deregister_events;
    pmix_server_listener_fn_t listener;
    pmix_server_notify_event_fn_t notify_event;
    pmix_server_query_fn_t query;
    pmix_server_tool_connection_fn_t tool_connected;
    pmix_server_log_fn_t log;
    pmix_server_alloc_fn_t allocate;
    pmix_server_job_control_fn_t job_control;
    pmix_server_monitor_fn_t monitor;
    pmix_server_get_cred_fn_t get_credential;
    pmix_server_validate_cred_fn_t validate_credential;
    pmix_server_iof_fn_t iof_pull;
    pmix_server_stdin_fn_t push_stdin;
    pmix_server_grp_fn_t group;
    pmix_server_fabric_fn_t fabric;
    pmix_server_client_connected2_fn_t client_connected2;
    /* Read only with PMIX_SERVER_MODULE_SIZE. */
    pmix_server_tool_connection2_fn_t tool_connected2;
    pmix_server_log2_fn_t log2;
    pmix_server_session_control_fn_t session_control;
    pmix_server_resource_block_fn_t resource_block;
} pmix_server_module_t;

/* ==================================================================================================================
 * Callbacks of the functions below
 * ================================================================================================================== */

/* The data asked for with PMIx_server_dmodex_request; gone when the callback returns. */
typedef void (*pmix_dmodex_response_fn_t)(pmix_status_t status, char *data, size_t sz, void *cbdata);

/*
 * What PMIx_server_setup_application has prepared. @p info stays until the host calls @p cbfunc with @p cbdata; @p
 * provided_cbdata is what the host gave.
 */
typedef void (*pmix_setup_application_cbfunc_t)(pmix_status_t status, pmix_info_t info[], size_t ninfo,
                                                void *provided_cbdata, pmix_op_cbfunc_t cbfunc, void *cbdata);

/* ==================================================================================================================
 * Init and finalize
 * ================================================================================================================== */

/*
 * Makes the process a server. Calls are counted: each needs its PMIx_server_finalize.
 *
 * @p module holds the host's upcalls; entries, or the module, may be NULL. It is copied; how much of it is read is
 * told above. @p info: PMIX_SERVER_NSPACE, PMIX_SERVER_RANK, PMIX_SERVER_TMPDIR and so on. A server may use all client
 * functions too. Blocks until clients can connect.
 */
PMIX_EXPORT pmix_status_t PMIx_server_init(pmix_server_module_t *module, pmix_info_t info[], size_t ninfo);

/*
 * Ends one PMIx_server_init. The last one closes all connections and ends every request that still waits. No upcall is
 * made afterwards.
 */
PMIX_EXPORT pmix_status_t PMIx_server_finalize(void);

/*
 * PMIx_server_init with the size of this header's module among the infos. What the library marks in its copy it marks
 * in @p info. A program that defines PMIX_SERVER_INIT_PLAIN before it includes this header gets the function alone.
 */
static inline pmix_status_t pmix_server_init_sized(pmix_server_module_t *module, pmix_info_t *info, size_t ninfo) {
    size_t size = sizeof(pmix_server_module_t), i;
    pmix_info_t *all;
    pmix_status_t rc;

    if (NULL == module) {
        return PMIx_server_init(NULL, info, ninfo);
    }
    if (NULL == info && 0 != ninfo) {
        return PMIx_server_init(module, info, ninfo); /* the library refuses it */
    }
    for (i = 0; i < ninfo; ++i) {
        if (0 == strcmp(info[i].key, PMIX_SERVER_MODULE_SIZE)) {
            return PMIx_server_init(module, info, ninfo);
        }
    }
    all = (pmix_info_t *) calloc(ninfo + 1, sizeof(*all));
    if (NULL == all) {
        return PMIX_ERR_NOMEM;
    }
    if (0 < ninfo) {
        memcpy(all, info, ninfo * sizeof(*all));
    }
    rc = PMIx_Info_load(&all[ninfo], PMIX_SERVER_MODULE_SIZE, &size, PMIX_SIZE);
    if (PMIX_SUCCESS == rc) {
        rc = PMIx_server_init(module, all, ninfo + 1);
    }
    for (i = 0; i < ninfo; ++i) {
        info[i].flags = all[i].flags;
    }
    free(all); /* not PMIx_Info_free: the values are the caller's */
    return rc;
}

#ifndef PMIX_SERVER_INIT_PLAIN
#    define PMIx_server_init(module, info, ninfo) pmix_server_init_sized((module), (info), (ninfo))
#endif

/* ==================================================================================================================
 * Jobs and their processes
 *
 * A job is registered on each node that runs processes of it: namespace first, then each local process, then the
 * environment for its start.
 * ================================================================================================================== */

/*
 * Registers a job of which @p nlocalprocs processes run here, with its data.
 *
 * @p info holds job data, and arrays for session, job, applications, nodes and processes, or maps from which the
 * library computes those. All is copied. Must be complete before the first PMIx_server_setup_fork of that job. A
 * second call for the same name adds data. With @p cbfunc NULL the call blocks; otherwise it returns PMIX_SUCCESS and
 * calls it, never before it returned.
 */
PMIX_EXPORT pmix_status_t PMIx_server_register_nspace(const char nspace[], int nlocalprocs, pmix_info_t info[],
                                                      size_t ninfo, pmix_op_cbfunc_t cbfunc, void *cbdata);

/* Forgets a job, all its data and clients. Blocks if @p cbfunc is NULL. */
PMIX_EXPORT void PMIx_server_deregister_nspace(const char nspace[], pmix_op_cbfunc_t cbfunc, void *cbdata);

/*
 * Registers one local process: only a process of that user and group can connect as @p proc.
 *
 * @p server_object is the host's own and comes back in upcalls about this process. Blocks if @p cbfunc is NULL.
 */
PMIX_EXPORT pmix_status_t PMIx_server_register_client(const pmix_proc_t *proc, uid_t uid, gid_t gid,
                                                      void *server_object, pmix_op_cbfunc_t cbfunc, void *cbdata);

/* Forgets one local process and closes its connection. Blocks if @p cbfunc is NULL. */
PMIX_EXPORT void PMIx_server_deregister_client(const pmix_proc_t *proc, pmix_op_cbfunc_t cbfunc, void *cbdata);

/*
 * Adds to the environment *env what process @p proc needs to connect. *env is an array as PMIx_Setenv makes it; the
 * host frees it. May be called in a child that was forked from the host, before it executes the program.
 */
PMIX_EXPORT pmix_status_t PMIx_server_setup_fork(const pmix_proc_t *proc, char ***env);

/*
 * Asks, before a job is mapped to nodes, for what its processes will need (environment, keys for fabrics). @p cbfunc
 * gets infos that the host sends to the other nodes, where they go to PMIx_server_setup_local_support; they are the
 * library's, and freed when the host calls their release function. @p info is copied: PMIX_SETUP_APP_ENVARS,
 * PMIX_SETUP_APP_NONENVARS, PMIX_SETUP_APP_ALL, the programming model, PMIX_NODE_MAP, PMIX_ALLOC_FABRIC. A fabric is
 * answered with the devices of the inventory (PMIx_server_deliver_inventory) and a key; nothing is reserved. Does not
 * block.
 */
PMIX_EXPORT pmix_status_t PMIx_server_setup_application(const char nspace[], pmix_info_t info[], size_t ninfo,
                                                        pmix_setup_application_cbfunc_t cbfunc, void *cbdata);

/* Prepares this node for a job, with the infos of PMIx_server_setup_application. Blocks if @p cbfunc is NULL. */
PMIX_EXPORT pmix_status_t PMIx_server_setup_local_support(const char nspace[], pmix_info_t info[], size_t ninfo,
                                                          pmix_op_cbfunc_t cbfunc, void *cbdata);

/*
 * Registers data that are not of one job: of the session, of nodes, of the system. They are copied. Blocks if @p
 * cbfunc is NULL.
 */
PMIX_EXPORT pmix_status_t PMIx_server_register_resources(pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t cbfunc,
                                                         void *cbdata);

/*
 * Registers a session: what the host knows of it (nodes and other resources), for PMIX_SESSION_INFO of its jobs, those
 * that name it by PMIX_SESSION_ID. The infos are copied. A session outlives its jobs; one that is known stays as it is:
 * success. PMIX_ERR_BAD_PARAM: @p sessionID is UINT32_MAX. Blocks if @p cbfunc is NULL. (OpenPMIx 7; not in the Standard)
 */
PMIX_EXPORT pmix_status_t PMIx_server_register_session(uint32_t sessionID, pmix_info_t info[], size_t ninfo,
                                                       pmix_op_cbfunc_t cbfunc, void *cbdata);

/*
 * Forgets a session; its jobs are not touched, and one that is not known is no error. Blocks if @p cbfunc is NULL.
 */
PMIX_EXPORT void PMIx_server_deregister_session(uint32_t sessionID, pmix_op_cbfunc_t cbfunc, void *cbdata);

/*
 * Forgets such data: those whose keys are given, or that lie in the arrays given. Jobs that run do not find them any
 * more; a value that a job was registered with stays. Blocks if @p cbfunc is NULL.
 */
PMIX_EXPORT pmix_status_t PMIx_server_deregister_resources(pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t cbfunc,
                                                           void *cbdata);

/* ==================================================================================================================
 * Maps and places
 *
 * Texts for job data. No init is needed for the first four.
 * ================================================================================================================== */

/* A short form of the node names in @p input, a list with commas, for PMIX_NODE_MAP. The caller frees *regex. */
PMIX_EXPORT pmix_status_t PMIx_generate_regex(const char *input, char **regex);

/*
 * A short form of the ranks on each node in @p input (commas inside a node, semicolons between nodes), for
 * PMIX_PROC_MAP. The caller frees *ppn with free().
 */
PMIX_EXPORT pmix_status_t PMIx_generate_ppn(const char *input, char **ppn);

/*
 * The list @p input in a form that is short on the wire, for PMIX_NODE_MAP, PMIX_PROC_MAP and PMIx_parse_regex2: the
 * order of its items is kept. @p regex is overwritten; the caller frees what it holds with PMIx_Regex2_destruct. No
 * attribute is defined for @p info. PMIX_ERR_BAD_PARAM: there is no list. (OpenPMIx 7; not in the Standard)
 */
PMIX_EXPORT pmix_status_t PMIx_generate_regex2(const char *input, pmix_info_t info[], size_t ninfo,
                                               pmix_regex2_t *regex);

/*
 * The list that @p regex was made from. The caller frees *output with free(). PMIX_ERR_NOT_SUPPORTED: a form that is
 * not known, or one whose compression library is not on this machine. PMIX_ERR_UNPACK_FAILURE: damaged. (OpenPMIx 7;
 * not in the Standard)
 */
PMIX_EXPORT pmix_status_t PMIx_parse_regex2(const pmix_regex2_t *regex, pmix_info_t info[], size_t ninfo,
                                            char **output);

/*
 * Text for the places of a process bound to @p cpuset, for PMIX_LOCALITY_STRING. The caller frees it with free(). A
 * cpuset without a bitmap, or with all CPUs, is that of a process that is not bound: success, and *locality is NULL.
 */
PMIX_EXPORT pmix_status_t PMIx_server_generate_locality_string(const pmix_cpuset_t *cpuset, char **locality);

/* Text for @p cpuset, for PMIX_CPUSET. The caller frees it with free(). */
PMIX_EXPORT pmix_status_t PMIx_server_generate_cpuset_string(const pmix_cpuset_t *cpuset, char **cpuset_string);

/*
 * The bitmap of a text that PMIx_server_generate_cpuset_string made. The caller frees it with PMIX_CPUSET_DESTRUCT.
 */
PMIX_EXPORT pmix_status_t PMIx_server_generate_cpuset(const char *cpuset_string, pmix_cpuset_t *cpuset);

/* ==================================================================================================================
 * Between servers
 * ================================================================================================================== */

/*
 * Another node asks for the data of local process @p proc. @p cbfunc gets them, packed, when the process has
 * committed; they belong to the library and are gone when it returns. PMIX_ERR_NOT_FOUND: no such process here.
 */
PMIX_EXPORT pmix_status_t PMIx_server_dmodex_request(const pmix_proc_t *proc, pmix_dmodex_response_fn_t cbfunc,
                                                     void *cbdata);

/*
 * Appends the job data of the jobs that @p procs belong to to @p dbuf, for the servers of other nodes: for each job a
 * byte object, in it a buffer with the job's name (PMIX_STRING), then by turns a key (PMIX_STRING) and what stands under
 * it (PMIX_VALUE). Jobs that are not known here are passed over. Blocks. The caller frees the content with
 * PMIX_DATA_BUFFER_DESTRUCT. PMIX_ERR_NOT_FOUND: none is known here.
 */
PMIX_EXPORT pmix_status_t PMIx_server_collect_job_info(pmix_proc_t *procs, size_t nprocs, pmix_data_buffer_t *dbuf);

/*
 * Hands output of process @p source to the clients and tools that have asked for it. The bytes are copied. Blocks if
 * @p cbfunc is NULL.
 */
PMIX_EXPORT pmix_status_t PMIx_server_IOF_deliver(const pmix_proc_t *source, pmix_iof_channel_t channel,
                                                  const pmix_byte_object_t *bo, const pmix_info_t info[], size_t ninfo,
                                                  pmix_op_cbfunc_t cbfunc, void *cbdata);

/*
 * Stops (@p xoff) the input that process @p source forwards, or lets it go on; NULL or a wildcard is everybody. Input
 * that is on its way is held, not lost: no more of it comes to push_stdin until the call with @p xoff false. An answer
 * of PMIX_ERR_IOF_XOFF to push_stdin stops that source as well, with the data taken. @p channel must contain
 * PMIX_FWD_STDIN_CHANNEL (else PMIX_ERR_NOT_SUPPORTED). Without @p cbfunc it blocks and answers
 * PMIX_OPERATION_SUCCEEDED. (OpenPMIx 7; not in the Standard)
 */
PMIX_EXPORT pmix_status_t PMIx_server_IOF_flow_control(const pmix_proc_t *source, pmix_iof_channel_t channel, bool xoff,
                                                       const pmix_info_t directives[], size_t ndirs,
                                                       pmix_op_cbfunc_t cbfunc, void *cbdata);

/*
 * Collects what is known about the hardware of this node: memory, topology, fabric devices. @p cbfunc gets it; the
 * infos are the library's until their release function is called. Does not block.
 */
PMIX_EXPORT pmix_status_t PMIx_server_collect_inventory(pmix_info_t directives[], size_t ndirs,
                                                        pmix_info_cbfunc_t cbfunc, void *cbdata);

/*
 * Hands over what nodes have collected, for queries and for PMIx_server_setup_application. It is copied. Blocks if @p
 * cbfunc is NULL.
 */
PMIX_EXPORT pmix_status_t PMIx_server_deliver_inventory(pmix_info_t info[], size_t ninfo, pmix_info_t directives[],
                                                        size_t ndirs, pmix_op_cbfunc_t cbfunc, void *cbdata);

/* ==================================================================================================================
 * Process sets and attributes
 * ================================================================================================================== */

/*
 * Names a set of processes. All clients of this server that listen for PMIX_PROCESS_SET_DEFINE hear of it, and the
 * members find the name in PMIX_PSET_NAMES of each of them. The members are copied.
 */
PMIX_EXPORT pmix_status_t PMIx_server_define_process_set(const pmix_proc_t *members, size_t nmembers,
                                                         const char *pset_name);

/* Deletes a set; the clients learn it by the event PMIX_PROCESS_SET_DELETE. */
PMIX_EXPORT pmix_status_t PMIx_server_delete_process_set(char *pset_name);

/*
 * Tells which attributes the host supports in @p function: a NULL-terminated array of names.
 * PMIX_ERR_REPEAT_ATTR_REGISTRATION the second time. They are copied.
 */
PMIX_EXPORT pmix_status_t PMIx_Register_attributes(char *function, char *attrs[]);

#ifdef __cplusplus
}
#endif

#endif /* PMIX_SERVER_H */
