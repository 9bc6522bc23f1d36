/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of a PMIx tool, a process that was not started by a host and looks for a server (chapter 18). Tools
 * use the functions of clients too, and those of servers when they serve others.
 */
#ifndef PMIX_TOOL_H
#define PMIX_TOOL_H

#include <pmix_server.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ==================================================================================================================
 * Init and servers
 * ================================================================================================================== */

/*
 * Makes the process a tool, connected to a server found as @p info says, or to none. Calls are counted.
 *
 * @p proc receives its identity; it may be NULL. PMIX_ERR_UNREACH: no server was found and one is needed. Blocks.
 */
PMIX_EXPORT pmix_status_t PMIx_tool_init(pmix_proc_t *proc, pmix_info_t info[], size_t ninfo);

/* Ends one PMIx_tool_init; the last one disconnects from all servers. */
PMIX_EXPORT pmix_status_t PMIx_tool_finalize(void);

/*
 * Connects to another server, found as @p info says, beside those connected. @p myproc receives the identity there, @p
 * server that of the server; both may be NULL. Blocks.
 */
PMIX_EXPORT pmix_status_t PMIx_tool_attach_to_server(pmix_proc_t *myproc, pmix_proc_t *server, pmix_info_t info[],
                                                     size_t ninfo);

/* Disconnects from one server; the others stay. */
PMIX_EXPORT pmix_status_t PMIx_tool_disconnect(const pmix_proc_t *server);

/* Lists the servers connected, the primary one first. The caller frees the array with PMIX_PROC_FREE. */
PMIX_EXPORT pmix_status_t PMIx_tool_get_servers(pmix_proc_t *servers[], size_t *nservers);

/*
 * Makes a connected server the primary one: it gets all requests that name none. Waits for it if
 * PMIX_WAIT_FOR_CONNECTION and PMIX_TIMEOUT are given.
 */
PMIX_EXPORT pmix_status_t PMIx_tool_set_server(const pmix_proc_t *server, pmix_info_t info[], size_t ninfo);

/* Gives a tool that serves others its upcalls, as a host's. The module is copied. */
PMIX_EXPORT pmix_status_t PMIx_tool_set_server_module(pmix_server_module_t *module);

/* Whether the tool has a primary server at this moment. */
PMIX_EXPORT bool PMIx_tool_is_connected(void);

/* ==================================================================================================================
 * Forwarded input and output
 * ================================================================================================================== */

/*
 * A part of the output of @p source, delivered for registration @p iofhdlr. An empty payload, or PMIX_IOF_COMPLETE, ends
 * the stream. All is the library's, gone when the callback returns.
 */
typedef void (*pmix_iof_cbfunc_t)(size_t iofhdlr, pmix_iof_channel_t channel, pmix_proc_t *source,
                                  pmix_byte_object_t *payload, pmix_info_t info[], size_t ninfo);

/*
 * Asks for the output on @p channel of the processes in @p procs. @p cbfunc gets it part by part.
 *
 * With @p regcbfunc NULL the call blocks and returns the registration's reference number, which is 0 or positive, or
 * an error; otherwise the number goes to @p regcbfunc.
 */
PMIX_EXPORT pmix_status_t PMIx_IOF_pull(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t directives[],
                                        size_t ndirs, pmix_iof_channel_t channel, pmix_iof_cbfunc_t cbfunc,
                                        pmix_hdlr_reg_cbfunc_t regcbfunc, void *regcbdata);

/* Ends the registration of this reference number when the output that is still due has come, or with PMIX_ERR_TIMEOUT
 * after PMIX_TIMEOUT. Blocks if @p cbfunc is NULL. */
PMIX_EXPORT pmix_status_t PMIx_IOF_deregister(size_t iofhdlr, const pmix_info_t directives[], size_t ndirs,
                                              pmix_op_cbfunc_t cbfunc, void *cbdata);

/*
 * Sends the bytes in @p bo to the standard input of the processes in @p targets. NULL with PMIX_IOF_PUSH_STDIN: sends
 * this process's own input from now on. Blocks if @p cbfunc is NULL.
 */
PMIX_EXPORT pmix_status_t PMIx_IOF_push(const pmix_proc_t targets[], size_t ntargets, pmix_byte_object_t *bo,
                                        const pmix_info_t directives[], size_t ndirs, pmix_op_cbfunc_t cbfunc,
                                        void *cbdata);

#ifdef __cplusplus
}
#endif

#endif /* PMIX_TOOL_H */
