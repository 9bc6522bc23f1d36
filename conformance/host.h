/* SPDX-License-Identifier: BSD-3-Clause */
/* The small host: a resource manager of one process that serves the clients of a row, and keeps what each upcall
 * contained. */
#ifndef CONFORMANCE_HOST_H
#define CONFORMANCE_HOST_H

#include "check.h"

int run_under_host(struct row* row, const char* program);

/* Host functions that the library called, in the order of the calls; what they contained is copied. */
struct upcall {
    char name[32];    /* of the member of pmix_server_module_t */
    pmix_proc_t proc; /* the requester, where the upcall names one */
    void* object;     /* the server object of the client */
    pmix_proc_t procs[16];
    size_t nprocs;
    pmix_info_t* info;
    size_t ninfo;
    char text[4][256]; /* keys, a message, a group, as the upcall has them */
    size_t ntext;
    bool null_text; /* the list of keys was NULL */
    long number;    /* status, scope, operation, channel, bytes */
    bool had_data;
};

/* In .during and .after of a row. */
int upcall_count(const char* name);
const struct upcall* upcall_at(const char* name, int index);                  /* the row fails where there is none */
const pmix_info_t* upcall_info(const struct upcall* upcall, const char* key); /* NULL: absent */
void expect_ids(const struct upcall* upcall); /* PMIX_USERID and PMIX_GRPID of this user */

/* What .before may change. */
extern pmix_server_module_t host_module;
extern pmix_status_t host_answer;     /* of all upcalls without a meaning of their own; PMIX_SUCCESS at first */
extern bool host_answers_at_once;     /* with PMIX_OPERATION_SUCCEEDED instead of the callback */
extern bool host_notify_callback;     /* notify_event is answered by its callback, not at once */
extern bool host_serves_tools;        /* of rows with .tool; true at first */
extern pmix_info_t host_init_info[8]; /* more attributes of PMIx_server_init */
extern size_t host_init_ninfo;
extern int host_remote_ranks;         /* ranks of the job that are registered on a second node without a server */
extern void (*host_registered)(void); /* called after the namespace and its clients are registered, before they start */

/* The module itself (host_answers.c), and what it needs of the host. */
void host_fill_module(void);
void later(void (*run)(void*), void* argument); /* in a thread of the host's own, as real hosts answer */
void host_collective(const char* kind, const pmix_proc_t* procs, size_t nprocs, char* data, size_t size,
                     void (*done)(pmix_status_t status, char* data, size_t size, void* state), void* state);
void host_ask_other_node(const pmix_proc_t* proc, pmix_modex_cbfunc_t cbfunc, void* cbdata);
int host_node_of(pmix_rank_t rank);
int host_my_node(void);
bool host_has_two_nodes(void);
pid_t host_start(const char* nspace, int rank, char** argv, char** environment);
void host_register_job(const char* nspace, int ranks);
struct upcall* host_note(const char* name, const pmix_proc_t* proc, const pmix_info_t* info, size_t ninfo);
void host_add_text(struct upcall* upcall, const char* text);
pmix_status_t host_answer_op(pmix_op_cbfunc_t cbfunc, void* cbdata);
pmix_status_t host_publish(const pmix_proc_t* proc, const pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t cbfunc,
                           void* cbdata);
pmix_status_t host_lookup(const pmix_proc_t* proc, char** keys, const pmix_info_t info[], size_t ninfo,
                          pmix_lookup_cbfunc_t cbfunc, void* cbdata);
pmix_status_t host_unpublish(const pmix_proc_t* proc, char** keys, const pmix_info_t info[], size_t ninfo,
                             pmix_op_cbfunc_t cbfunc, void* cbdata);

#endif
