/* SPDX-License-Identifier: BSD-3-Clause */
/* input.c: the stdin of the processes of this node.
 *
 * What this owns: the pipes that lead to them, and what the processes have not yet taken. Input comes from the head
 * (the user's) and from clients (PMIx_IOF_push), each part as a request that is answered when every target here has
 * taken it or has closed its stdin: the sender waits for that, so little is ever kept. The stdin of a spawned job ends
 * when nobody is left who could push: the job of its spawner has ended, and all others that run are spawned jobs left
 * in the same way, with a stdin of their own.
 *
 * Which thread calls it: up_push_stdin a thread of the library; all else the loop.
 *
 * What can go wrong: no target here has an input (PMIX_ERR_NOT_SUPPORTED), or each has had its end or has closed it
 * before it has taken all (PMIX_ERR_IOF_COMPLETE). */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loop.h"
#include "node.h"

struct waiting { /* a request, and how many inputs still have bytes of it */
    int from;
    uint64_t id;
    int left;
    bool taken; /* all of it, by one of them */
};

struct mark { /* up to here the bytes are of that request */
    struct mark* next;
    uint64_t until;
    struct waiting* request;
};

struct input {
    struct input* next;
    pmix_proc_t proc;
    int fd;                /* -1: closed */
    struct buffer pending; /* up to its position written */
    uint64_t queued, taken;
    struct mark* marks;
    bool ends;
};

static struct input* all_inputs;

static void release(struct waiting* request) {
    if (--request->left > 0) return;
    mesh_reply(request->from, request->id, request->taken ? PMIX_SUCCESS : PMIX_ERR_IOF_COMPLETE, NULL);
    free(request);
}

/* `closed`: there is no more to be taken. */
static void answer_taken(struct input* input, bool closed) {
    while (input->marks && (closed || input->marks->until <= input->taken)) {
        struct mark* mark = input->marks;
        input->marks = mark->next;
        if (mark->until <= input->taken) mark->request->taken = true;
        release(mark->request);
        free(mark);
    }
}

static void close_input(struct input* input) {
    if (input->fd >= 0) {
        loop_unwatch(input->fd);
        close(input->fd);
    }
    input->fd = -1;
    wire_free(&input->pending);
    answer_taken(input, true);
}

/* Seldom enough that all in all no byte is moved more than once. */
static void drop_written(struct buffer* pending) {
    if (pending->position < pending->size / 2) return;
    wire_consume(pending, pending->position);
    pending->position = 0;
}

static void write_input(struct input* input) {
    struct buffer* pending = &input->pending;
    while (input->fd >= 0 && pending->size > pending->position) {
        ssize_t put = write(input->fd, pending->data + pending->position, pending->size - pending->position);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0 && errno == EAGAIN) {
            loop_watch_events(input->fd, POLLOUT);
            drop_written(pending);
            return;
        }
        if (put < 0) {
            close_input(input);
            return;
        }
        pending->position += (size_t)put;
        input->taken += (uint64_t)put;
        answer_taken(input, false);
    }
    wire_free(pending);
    if (input->fd >= 0) loop_watch_events(input->fd, 0);
    if (input->ends) close_input(input);
}

static void input_ready(int fd, short events, void* argument) {
    (void)fd;
    if (events & (POLLERR | POLLHUP))
        close_input(argument); /* it has no reader any more */
    else
        write_input(argument);
}

struct input* input_open(const pmix_proc_t* proc, int* child_fd) {
    struct input* input = xcalloc(1, sizeof *input);
    input->proc = *proc;
    if (!iof_pipe(&input->fd, child_fd, true)) {
        free(input);
        return NULL;
    }
    input->next = all_inputs;
    all_inputs = input;
    loop_watch(input->fd, 0, input_ready, input);
    return input;
}

void input_finish(struct input* input) {
    close_input(input);
    for (struct input** at = &all_inputs; *at; at = &(*at)->next) {
        if (*at != input) continue;
        *at = input->next;
        break;
    }
    free(input);
}

/* Nobody can push any more to what has ended. */
static void take(struct input* input, const struct buffer* bytes, bool ends, struct waiting* request) {
    if (input->fd < 0 || input->ends) return;
    input->ends = ends;
    wire_append(&input->pending, bytes->data, bytes->size);
    input->queued += bytes->size;
    struct mark *mark = xcalloc(1, sizeof *mark), **at = &input->marks;
    while (*at) at = &(*at)->next;
    *mark = (struct mark){.until = input->queued, .request = request};
    *at = mark;
    request->left++;
}

void on_input(int from, uint64_t id, struct buffer* body) {
    size_t count;
    pmix_proc_t* targets = wire_get_procs(body, &count);
    struct buffer bytes = wire_get_view(body);
    bool ends = wire_get_u8(body) != 0;
    struct waiting* request = xcalloc(1, sizeof *request);
    *request = (struct waiting){
        .from = from, .id = id, .left = 1}; /* one for this function, so that it is not answered before its end */
    bool any = false;
    for (struct input* input = all_inputs; input && !body->bad; input = input->next) {
        if (!procs_match(targets, count, input->proc.nspace, input->proc.rank)) continue;
        any = true;
        take(input, &bytes, ends, request);
    }
    for (struct input* input = all_inputs; input && any; input = input->next) {
        if (procs_match(targets, count, input->proc.nspace, input->proc.rank)) write_input(input);
    }
    free(targets);
    if (any) {
        release(request);
        return;
    }
    mesh_reply(from, id, PMIX_ERR_NOT_SUPPORTED, NULL);
    free(request);
}

/* --- nobody is left ----------------------------------------------------------------------------------------------- */

/* The spawner may be a tool, of which nothing is known here: what it has spawned is not left. */
static bool is_left(const struct job* job) {
    const size_t length = strlen(node.server_nspace);
    const char* rest = job->parent.nspace + length;
    if (strncmp(job->parent.nspace, node.server_nspace, length) != 0 || *rest != '.') return false;
    if (rest[1] == '\0' || rest[1 + strspn(rest + 1, "0123456789")] != '\0') return false; /* no job of ours */
    const struct job* spawner = job_find(job->parent.nspace);
    return !spawner || spawner->alive == 0;
}

void input_end_if_nobody_is_left(void) {
    for (const struct job* job = jobs_first(); job; job = job->next) {
        if (job->alive > 0 && (job->io.stdin_to == PMIX_RANK_INVALID || !is_left(job))) return;
    }
    for (struct input *input = all_inputs, *next; input; input = next) {
        next = input->next;
        input->ends = true;
        write_input(input);
    }
}

/* --- PMIx_IOF_push ------------------------------------------------------------------------------------------------ */

struct push {
    struct buffer body;
    bool nodes[MAX_NODES];
    int outstanding;
    pmix_status_t status; /* good as soon as one node's is; bad as one's is that has a target */
    pmix_proc_t* targets;
    size_t ntargets;
    pmix_op_cbfunc_t cbfunc;
    void* cbdata;
};

static void pushed(pmix_status_t status, struct buffer* body, void* argument) {
    (void)body;
    struct push* push = argument;
    if (push->status != PMIX_SUCCESS && (status == PMIX_SUCCESS || status == PMIX_ERR_IOF_COMPLETE))
        push->status = status;
    if (--push->outstanding > 0) return;
    push->cbfunc(push->status, push->cbdata);
    wire_free(&push->body);
    free(push->targets);
    free(push);
}

static void run_push(void* argument) {
    struct push* push = argument;
    for (size_t i = 0; i < push->ntargets; i++) {
        const struct job* job = job_find(push->targets[i].nspace);
        for (uint32_t rank = 0; job && rank < job->size; rank++) {
            if (proc_matches(&push->targets[i], job->nspace, rank)) push->nodes[job_node_of(job, rank)] = true;
        }
    }
    push->outstanding = 1;
    for (int i = 0; i < mesh_nodes(); i++) push->outstanding += push->nodes[i];
    for (int i = 0; i < mesh_nodes(); i++) {
        if (push->nodes[i]) mesh_request(i, FRAME_INPUT, &push->body, 0, pushed, push);
    }
    pushed(PMIX_ERR_NOT_SUPPORTED, NULL, push);
}

pmix_status_t up_push_stdin(const pmix_proc_t* source, const pmix_proc_t targets[], size_t ntargets,
                            const pmix_info_t directives[], size_t ndirs, const pmix_byte_object_t* bo,
                            pmix_op_cbfunc_t cbfunc, void* cbdata) {
    (void)source;
    if (!targets || ntargets == 0) return PMIX_ERR_BAD_PARAM;
    bool ends = info_true(directives, ndirs, PMIX_IOF_COMPLETE);
    struct push* push = xcalloc(1, sizeof *push);
    push->status = PMIX_ERR_NOT_SUPPORTED;
    push->cbfunc = cbfunc;
    push->cbdata = cbdata;
    push->ntargets = ntargets;
    push->targets = memcpy(xcalloc(ntargets, sizeof *targets), targets, ntargets * sizeof *targets);
    wire_put_procs(&push->body, targets, ntargets);
    /* An empty part is the end, too. */
    bool nothing = !bo || bo->size == 0;
    wire_put_bytes(&push->body, nothing ? NULL : bo->bytes, nothing ? 0 : bo->size);
    wire_put_u8(&push->body, ends || nothing);
    loop_post(run_push, push);
    return PMIX_SUCCESS;
}
