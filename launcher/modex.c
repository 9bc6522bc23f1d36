/* SPDX-License-Identifier: BSD-3-Clause */
/* modex.c: direct modex: one process gets the data that another has put, without a fence.
 *
 * What this owns: the requests of other nodes to PMIx_server_dmodex_request here, pending in the library until the
 * target process commits. The requesting side is one mesh request; the caller's PMIX_TIMEOUT is kept there.
 * Which thread calls it: up_* and the library's response a thread of the library; all else the loop.
 * What can go wrong: an unknown process, and one that ended without a commit (PMIX_ERR_NOT_FOUND), the timeout, the
 * loss of its node (PMIX_ERR_LOST_CONNECTION). A library that keeps the request of a process that has ended is given
 * two seconds, because the commit may still be on its way when the end is seen. */
#include <stdlib.h>
#include <string.h>

#include "loop.h"
#include "node.h"

static const double kAfterTheEnd = 2;

struct call { /* an upcall, from here until the reply */
    pmix_proc_t proc;
    double timeout;
    pmix_modex_cbfunc_t cbfunc;
    void* cbdata;
};

struct pending { /* a request of another node (or our own) in our library */
    struct pending* next;
    pmix_proc_t proc;
    int from;
    uint64_t id;
    bool answered;
};

struct response { /* the answer of the library, on its way into the loop */
    struct pending* pending;
    pmix_status_t status;
    struct buffer data;
};

static struct pending* all_pending;

/* --- requesting --------------------------------------------------------------------------------------------------- */

static void replied(pmix_status_t status, struct buffer* body, void* argument) {
    struct call* call = argument;
    char* copy = NULL;
    if (status == PMIX_SUCCESS && body->size > 0) copy = memcpy(xcalloc(body->size, 1), body->data, body->size);
    call->cbfunc(status, copy, copy ? body->size : 0, call->cbdata, copy ? free : NULL, copy);
    free(call);
}

static void ask(void* argument) {
    struct call* call = argument;
    const struct job* job = job_find(call->proc.nspace);
    bool whole = call->proc.rank == PMIX_RANK_WILDCARD; /* data of the job: any node with a process of it */
    if (!job || (!whole && call->proc.rank >= job->size)) {
        call->cbfunc(PMIX_ERR_NOT_FOUND, NULL, 0, call->cbdata, NULL, NULL);
        free(call);
        return;
    }
    struct buffer body = {0};
    wire_put_proc(&body, &call->proc);
    mesh_request((int)job_node_of(job, whole ? 0 : call->proc.rank), FRAME_MODEX, &body, call->timeout, replied, call);
    wire_free(&body);
}

pmix_status_t up_direct_modex(const pmix_proc_t* proc, const pmix_info_t info[], size_t ninfo,
                              pmix_modex_cbfunc_t cbfunc, void* cbdata) {
    struct call* call = xcalloc(1, sizeof *call);
    call->proc = *proc;
    call->timeout = (double)info_number(info, ninfo, PMIX_TIMEOUT, 0);
    call->cbfunc = cbfunc;
    call->cbdata = cbdata;
    loop_post(ask, call);
    return PMIX_SUCCESS;
}

/* --- answering ---------------------------------------------------------------------------------------------------- */

static void answer(struct pending* pending, pmix_status_t status, const struct buffer* data) {
    if (!pending->answered) mesh_reply(pending->from, pending->id, status, data);
    pending->answered = true;
}

static void forget(struct pending* pending) {
    struct pending** at = &all_pending;
    while (*at != pending) at = &(*at)->next;
    *at = pending->next;
    free(pending);
}

static void run_response(void* argument) {
    struct response* response = argument;
    answer(response->pending, response->status, &response->data);
    forget(response->pending);
    wire_free(&response->data);
    free(response);
}

static void library_responds(pmix_status_t status, char* data, size_t size, void* cbdata) {
    struct response* response = xcalloc(1, sizeof *response);
    response->pending = cbdata;
    response->status = status;
    if (data) wire_append(&response->data, data, size); /* the library frees its own after this call */
    loop_post(run_response, response);
}

void on_modex(int from, uint64_t id, struct buffer* body) {
    struct pending* pending = xcalloc(1, sizeof *pending);
    wire_get_proc(body, &pending->proc);
    pending->from = from;
    pending->id = id;
    pending->next = all_pending;
    all_pending = pending;
    pmix_status_t status = PMIx_server_dmodex_request(&pending->proc, library_responds, pending);
    if (status == PMIX_SUCCESS) {
        modex_proc_ended(&pending->proc); /* in case it already has */
    } else {
        answer(pending, status, NULL);
        forget(pending);
    }
}

static void give_up_on(void* argument) {
    pmix_proc_t* proc = argument;
    for (struct pending* pending = all_pending; pending; pending = pending->next) {
        if (proc_matches(&pending->proc, proc->nspace, proc->rank)) answer(pending, PMIX_ERR_NOT_FOUND, NULL);
    }
    free(proc);
}

void modex_proc_ended(const pmix_proc_t* proc) {
    const struct proc* target = proc_find(proc);
    const struct pending* pending = all_pending;
    if (target && target->phase != PROC_ENDED) return;
    while (pending && !proc_matches(&pending->proc, proc->nspace, proc->rank)) pending = pending->next;
    if (!pending) return;
    pmix_proc_t* copy = xcalloc(1, sizeof *copy);
    *copy = *proc;
    loop_after(kAfterTheEnd, give_up_on, copy);
}
