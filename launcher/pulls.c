/* SPDX-License-Identifier: BSD-3-Clause */
/* pulls.c: PMIx_IOF_pull across nodes.
 *
 * What this owns: the list of readers, their nodes and the processes whose output they read, the same on every node, so
 * that each node sends its processes' output only to the nodes that read it. Received output is handed to the server of
 * this node, which has the clients; it answers when they can take more, and only then the sender gets its reply.
 * Which thread calls it: up_iof_pull and delivered a thread of the library; all else the loop.
 * What can go wrong: a job that is not ours (PMIX_ERR_NOT_FOUND); a node that was lost: its processes have no more
 * output. */
#include <stdlib.h>
#include <string.h>

#include "loop.h"
#include "node.h"

struct pull {
    struct pull* next;
    int reader; /* the node */
    pmix_iof_channel_t channels;
    bool copy;     /* the head gets it too */
    bool inherits; /* a tool's: the output of spawned jobs too */
    pmix_proc_t* procs;
    size_t nprocs;
};

static struct pull* pulls;

enum { MOST_SPAWNERS = 16 }; /* as the library looks at */

/* Does it name the process that has spawned this one's job, or the one that has spawned that, and so on? */
static bool reads_spawner(const struct pull* pull, const pmix_proc_t* proc) {
    for (int i = 0; pull->inherits && i < MOST_SPAWNERS; i++) {
        const struct job* job = job_find(proc->nspace);
        if (!job || !job->parent.nspace[0] || job->io.apart) return false;
        proc = &job->parent;
        if (procs_match(pull->procs, pull->nprocs, proc->nspace, proc->rank)) return true;
    }
    return false;
}

bool pulls_of(const pmix_proc_t* proc, pmix_iof_channel_t channel, bool readers[MAX_NODES]) {
    bool redirected = false;
    for (const struct pull* pull = pulls; pull; pull = pull->next) {
        if (!(pull->channels & channel) || !mesh_alive(pull->reader)) continue;
        const bool named = procs_match(pull->procs, pull->nprocs, proc->nspace, proc->rank);
        if (!named && !reads_spawner(pull, proc)) continue;
        readers[pull->reader] = true;
        /* What is inherited comes besides; the server there knows whether the tool is to have it. */
        redirected = redirected || (named && !pull->copy);
    }
    return redirected;
}

/* Several clients of a node may read the same: it does not matter which of them is meant if all of this is equal. */
static bool same(const struct pull* one, const struct pull* other) {
    if (one->reader != other->reader || one->channels != other->channels || one->copy != other->copy ||
        one->inherits != other->inherits || one->nprocs != other->nprocs)
        return false;
    for (size_t i = 0; i < one->nprocs; i++) {
        if (strcmp(one->procs[i].nspace, other->procs[i].nspace) != 0 || one->procs[i].rank != other->procs[i].rank)
            return false;
    }
    return true;
}

void on_pull(int from, uint64_t id, struct buffer* body) {
    bool stop = wire_get_u8(body), copy = wire_get_u8(body), inherits = wire_get_u8(body);
    pmix_iof_channel_t channels = (pmix_iof_channel_t)wire_get_u32(body);
    size_t count;
    pmix_proc_t* procs = wire_get_procs(body, &count);
    const struct pull wanted = {pulls, from, channels, copy, inherits, procs, count};
    struct pull** at = &pulls;
    while (stop && *at && !same(*at, &wanted)) at = &(*at)->next;
    if (stop) {
        struct pull* pull = *at;
        if (pull) {
            *at = pull->next;
            free(pull->procs);
            free(pull);
        }
        free(procs);
    } else {
        struct pull* pull = xcalloc(1, sizeof *pull);
        *pull = wanted;
        pulls = pull;
    }
    mesh_reply(from, id, PMIX_SUCCESS, NULL);
}

/* --- the upcall --------------------------------------------------------------------------------------------------- */

struct wanted { /* a pull on its way to all nodes */
    struct buffer body;
    bool stop;
    pmix_iof_channel_t channels;
    pmix_proc_t* procs;
    size_t nprocs;
    int outstanding;
    pmix_status_t status;
    pmix_op_cbfunc_t cbfunc;
    void* cbdata;
};

static void told(pmix_status_t status, struct buffer* body, void* argument) {
    (void)status, (void)body; /* a lost node has no output */
    struct wanted* wanted = argument;
    if (--wanted->outstanding > 0) return;
    wanted->cbfunc(wanted->status, wanted->cbdata);
    wire_free(&wanted->body);
    free(wanted->procs);
    free(wanted);
}

/* Diagnostics are there only where the spawn has asked for them. */
static bool any_diagnostics(const struct wanted* wanted) {
    for (const struct job* job = jobs_first(); job; job = job->next) {
        for (uint32_t rank = 0; rank < job->size && job->io.diagnostics; rank++) {
            if (procs_match(wanted->procs, wanted->nprocs, job->nspace, rank)) return true;
        }
    }
    return false;
}

static void run_wanted(void* argument) {
    struct wanted* wanted = argument;
    if (wanted->channels == PMIX_FWD_STDDIAG_CHANNEL && !wanted->stop && !any_diagnostics(wanted)) {
        wanted->outstanding = 1;
        wanted->status = PMIX_ERR_NOT_SUPPORTED;
        told(PMIX_SUCCESS, NULL, wanted);
        return;
    }
    wanted->outstanding = mesh_nodes();
    for (int i = 0; i < mesh_nodes(); i++) mesh_request(i, FRAME_PULL, &wanted->body, 0, told, wanted);
}

pmix_status_t up_iof_pull(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t directives[], size_t ndirs,
                          pmix_iof_channel_t channels, pmix_op_cbfunc_t cbfunc, void* cbdata) {
    struct wanted* wanted = xcalloc(1, sizeof *wanted);
    wanted->cbfunc = cbfunc;
    wanted->cbdata = cbdata;
    wanted->stop = info_true(directives, ndirs, PMIX_IOF_STOP);
    wanted->channels = channels;
    wanted->nprocs = nprocs;
    wanted->procs = memcpy(xcalloc(nprocs, sizeof *procs), procs, nprocs * sizeof *procs);
    wire_put_u8(&wanted->body, wanted->stop);
    wire_put_u8(&wanted->body, info_true(directives, ndirs, PMIX_IOF_COPY));
    wire_put_u8(&wanted->body, info_true(directives, ndirs, PMIX_REQUESTOR_IS_TOOL));
    wire_put_u32(&wanted->body, channels);
    wire_put_procs(&wanted->body, procs, nprocs);
    loop_post(run_wanted, wanted);
    return PMIX_SUCCESS;
}

/* --- received output ---------------------------------------------------------------------------------------------- */

struct delivery { /* handed to the server, which has not answered yet */
    int from;
    uint64_t id;
    pmix_status_t status;
    pmix_byte_object_t bytes;
};

static void answer(void* argument) {
    struct delivery* delivery = argument;
    mesh_reply(delivery->from, delivery->id, delivery->status, NULL);
    free(delivery->bytes.bytes);
    free(delivery);
}

static void delivered(pmix_status_t status, void* cbdata) {
    struct delivery* delivery = cbdata;
    delivery->status = status;
    loop_post(answer, delivery);
}

void on_stream(int from, uint64_t id, struct buffer* body) {
    pmix_proc_t proc;
    wire_get_proc(body, &proc);
    pmix_iof_channel_t channel = (pmix_iof_channel_t)wire_get_u32(body);
    struct buffer bytes = wire_get_view(body);
    struct delivery* delivery = xcalloc(1, sizeof *delivery);
    *delivery = (struct delivery){.from = from, .id = id, .bytes = {.size = bytes.size}};
    if (bytes.size) delivery->bytes.bytes = memcpy(xcalloc(bytes.size, 1), bytes.data, bytes.size);
    pmix_status_t status =
        body->bad ? PMIX_ERR_BAD_PARAM
                  : PMIx_server_IOF_deliver(&proc, channel, &delivery->bytes, NULL, 0, delivered, delivery);
    if (status == PMIX_SUCCESS) return;
    delivery->status = status;
    answer(delivery);
}
