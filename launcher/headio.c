/* SPDX-License-Identifier: BSD-3-Clause */
/* headio.c: pmixrun's own standard streams.
 *
 * What this owns: output of the nodes that the terminal (or pipe, or file) has not yet taken, and input that is on
 * its way to the processes. The descriptors are shared with the process that started pmixrun, so they are never made
 * non-blocking: poll reports when PIPE_BUF bytes can be written without waiting. Which thread calls it: the loop. What
 * can go wrong: the reader of our output is gone: the job ends as by SIGPIPE. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "head.h"
#include "loop.h"
#include "progress.h"

static const int kInputFrames = 4; /* on their way to each node */

struct chunk {
    struct chunk* next;
    int node;
    struct buffer bytes;
};

struct sink {
    int fd;
    struct chunk* first;
    struct chunk** last;
    bool watched;
    bool broken;
};

static struct sink sinks[2] = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};
static void (*when_drained)(void);
static pmix_proc_t input_target;
static bool has_target[MAX_NODES];
static int input_nodes, frames_out;
static bool input_open, input_watched;

bool headio_drained(void) {
    return !sinks[0].first && !sinks[1].first;
}

void headio_start(void (*drained)(void)) {
    when_drained = drained;
    for (int i = 0; i < 2; i++) sinks[i].last = &sinks[i].first;
}

/* --- output ------------------------------------------------------------------------------------------------------- */

static void drop_first(struct sink* sink) {
    struct chunk* chunk = sink->first;
    struct buffer body = {0};
    wire_put_u64(&body, chunk->bytes.size);
    mesh_send(chunk->node, FRAME_OUTPUT_DONE, &body);
    wire_free(&body);
    sink->first = chunk->next;
    if (!sink->first) sink->last = &sink->first;
    wire_free(&chunk->bytes);
    free(chunk);
}

static void unwatch(struct sink* sink) {
    if (sink->watched) loop_unwatch(sink->fd);
    sink->watched = false;
    if (headio_drained()) when_drained();
}

static void broke(struct sink* sink) {
    sink->broken = true;
    while (sink->first) drop_first(sink);
    unwatch(sink);
    head_end_everything(128 + SIGPIPE);
}

static void sink_ready(int fd, short events, void* argument) {
    struct sink* sink = argument;
    struct buffer* bytes = &sink->first->bytes;
    (void)events; /* an error is reported by write */
    if (isatty(fd)) progress_end();
    size_t left = bytes->size - bytes->position;
    ssize_t put = write(fd, bytes->data + bytes->position, left < PIPE_BUF ? left : PIPE_BUF);
    if (put < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (put < 0) {
        broke(sink);
        return;
    }
    bytes->position += (size_t)put;
    if (bytes->position == bytes->size) drop_first(sink);
    if (!sink->first) unwatch(sink);
}

void on_output(int from, uint64_t id, struct buffer* body) {
    (void)id;
    struct sink* sink = &sinks[wire_get_u8(body) == 2];
    struct chunk* chunk = xcalloc(1, sizeof *chunk);
    chunk->node = from;
    wire_append(&chunk->bytes, body->data + body->position, body->size - body->position);
    *sink->last = chunk;
    sink->last = &chunk->next;
    if (sink->broken)
        drop_first(sink);
    else if (!sink->watched)
        loop_watch(sink->fd, POLLOUT, sink_ready, sink);
    sink->watched = !sink->broken;
}

/* --- input -------------------------------------------------------------------------------------------------------- */

static void input_ready(int fd, short events, void* argument);

static void watch_input(bool watch) {
    if (watch == input_watched) return;
    input_watched = watch;
    if (watch)
        loop_watch(STDIN_FILENO, POLLIN, input_ready, NULL);
    else
        loop_unwatch(STDIN_FILENO);
}

/* A node has passed a frame on to its processes, or has no process that still reads. */
static void input_taken(pmix_status_t status, struct buffer* body, void* argument) {
    (void)status, (void)body, (void)argument;
    frames_out--;
    watch_input(input_open && frames_out < kInputFrames * input_nodes);
}

static void send_input(const void* bytes, size_t size) {
    struct buffer body = {0};
    wire_put_procs(&body, &input_target, 1);
    wire_put_bytes(&body, bytes, size); /* none: the end */
    for (int i = 0; i < mesh_nodes(); i++) {
        if (!has_target[i]) continue;
        frames_out++;
        mesh_request(i, FRAME_INPUT, &body, 0, input_taken, NULL);
    }
    wire_free(&body);
}

static void input_ready(int fd, short events, void* argument) {
    (void)events, (void)argument;
    uint8_t bytes[16384];
    ssize_t got = read(fd, bytes, sizeof bytes);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    send_input(bytes, got > 0 ? (size_t)got : 0);
    if (got <= 0) input_open = false;
    watch_input(input_open && frames_out < kInputFrames * input_nodes);
}

/* A terminal is read only from the foreground: from the background the kernel would stop us. */
void headio_stdin_to(const struct job* job, const struct options* options) {
    bool all = options->input_to == INPUT_TO_ALL;
    if (!all && (options->input_to != INPUT_TO_RANK || options->input_rank >= job->size)) return;
    PMIX_LOAD_PROCID(&input_target, job->nspace, all ? PMIX_RANK_WILDCARD : options->input_rank);
    for (uint32_t rank = 0; rank < job->size; rank++) {
        if (!all && rank != options->input_rank) continue;
        bool* target = &has_target[job_node_of(job, rank)];
        input_nodes += !*target;
        *target = true;
    }
    input_open = !isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) == getpgrp();
    if (!input_open) send_input(NULL, 0);
    watch_input(input_open);
}
