/* SPDX-License-Identifier: BSD-3-Clause */
/* modex.c: direct modex: one process asks for what another has put, without a fence.
 *
 * What this owns: the requests of other nodes that PMIx_server_dmodex_request has here, parked in the library until the
 * process asked for commits. The asking side is one mesh request; the caller's PMIX_TIMEOUT is kept there.
 * Which thread calls it: up_* and the library's response a thread of the library; all else the loop.
 * What can go wrong: an unknown process, and one that ended without a commit (PMIX_ERR_NOT_FOUND), the timeout, the
 * loss of its node (PMIX_ERR_LOST_CONNECTION). A library that keeps the request of a process that has ended is given
 * two seconds, because the commit may still be on its way when the end is seen. */
#include <stdlib.h>
#include <string.h>

#include "loop.h"
#include "node.h"

static const double kAfterTheEnd = 2;

struct asking { /* an upcall, from here until the reply */
    pmix_proc_t proc;
    double timeout;
    pmix_modex_cbfunc_t cbfunc;
    void* cbdata;
};

struct parked { /* a request of another node (or our own) in our library */
    struct parked* next;
    pmix_proc_t proc;
    int from;
    uint64_t id;
    bool answered;
};

struct response { /* what the library said, on its way into the loop */
    struct parked* parked;
    pmix_status_t status;
    struct buffer data;
};

static struct parked* all_parked;

/* --- asking ------------------------------------------------------------------------------------------------------- */

static void replied(pmix_status_t status, struct buffer* body, void* argument) {
    struct asking* asking = argument;
    char* copy = NULL;
    if (status == PMIX_SUCCESS && body->size > 0) copy = memcpy(xcalloc(body->size, 1), body->data, body->size);
    asking->cbfunc(status, copy, copy ? body->size : 0, asking->cbdata, copy ? free : NULL, copy);
    free(asking);
}

static void ask(void* argument) {
    struct asking* asking = argument;
    const struct job* job = job_find(asking->proc.nspace);
    bool whole = asking->proc.rank == PMIX_RANK_WILDCARD; /* what is said of the job: any node with a process of it */
    if (!job || (!whole && asking->proc.rank >= job->size)) {
        asking->cbfunc(PMIX_ERR_NOT_FOUND, NULL, 0, asking->cbdata, NULL, NULL);
        free(asking);
        return;
    }
    struct buffer body = {0};
    wire_put_proc(&body, &asking->proc);
    mesh_request((int)job_node_of(job, whole ? 0 : asking->proc.rank), FRAME_MODEX, &body, asking->timeout, replied,
                 asking);
    wire_free(&body);
}

pmix_status_t up_direct_modex(const pmix_proc_t* proc, const pmix_info_t info[], size_t ninfo,
                              pmix_modex_cbfunc_t cbfunc, void* cbdata) {
    struct asking* asking = xcalloc(1, sizeof *asking);
    asking->proc = *proc;
    asking->timeout = (double)info_number(info, ninfo, PMIX_TIMEOUT, 0);
    asking->cbfunc = cbfunc;
    asking->cbdata = cbdata;
    loop_post(ask, asking);
    return PMIX_SUCCESS;
}

/* --- answering ---------------------------------------------------------------------------------------------------- */

static void answer(struct parked* parked, pmix_status_t status, const struct buffer* data) {
    if (!parked->answered) mesh_reply(parked->from, parked->id, status, data);
    parked->answered = true;
}

static void forget(struct parked* parked) {
    struct parked** at = &all_parked;
    while (*at != parked) at = &(*at)->next;
    *at = parked->next;
    free(parked);
}

static void run_response(void* argument) {
    struct response* response = argument;
    answer(response->parked, response->status, &response->data);
    forget(response->parked);
    wire_free(&response->data);
    free(response);
}

static void library_responds(pmix_status_t status, char* data, size_t size, void* cbdata) {
    struct response* response = xcalloc(1, sizeof *response);
    response->parked = cbdata;
    response->status = status;
    if (data) wire_append(&response->data, data, size); /* the library frees its own after this call */
    loop_post(run_response, response);
}

void on_modex(int from, uint64_t id, struct buffer* body) {
    struct parked* parked = xcalloc(1, sizeof *parked);
    wire_get_proc(body, &parked->proc);
    parked->from = from;
    parked->id = id;
    parked->next = all_parked;
    all_parked = parked;
    pmix_status_t status = PMIx_server_dmodex_request(&parked->proc, library_responds, parked);
    if (status == PMIX_SUCCESS) {
        modex_proc_ended(&parked->proc); /* in case it already has */
    } else {
        answer(parked, status, NULL);
        forget(parked);
    }
}

static void give_up_on(void* argument) {
    pmix_proc_t* proc = argument;
    for (struct parked* parked = all_parked; parked; parked = parked->next) {
        if (proc_matches(&parked->proc, proc->nspace, proc->rank)) answer(parked, PMIX_ERR_NOT_FOUND, NULL);
    }
    free(proc);
}

void modex_proc_ended(const pmix_proc_t* proc) {
    const struct proc* target = proc_find(proc);
    const struct parked* parked = all_parked;
    if (target && target->phase != PROC_ENDED) return;
    while (parked && !proc_matches(&parked->proc, proc->nspace, proc->rank)) parked = parked->next;
    if (!parked) return;
    pmix_proc_t* copy = xcalloc(1, sizeof *copy);
    *copy = *proc;
    loop_after(kAfterTheEnd, give_up_on, copy);
}
