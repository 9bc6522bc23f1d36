/* SPDX-License-Identifier: BSD-3-Clause */
/* headio.c: pmixrun's own standard streams.
 *
 * What this owns: output of the nodes, and pmixrun's own sentences, that the terminal (or pipe, or file) has not yet
 * taken, and input that is on its way to the processes. The descriptors are shared with the process that started
 * pmixrun, so they are never made non-blocking: a pipe or terminal is opened once more. Where that is not permitted,
 * poll reports that PIPE_BUF bytes can be written without waiting, if nobody else writes meanwhile. Where stdout and
 * stderr are one terminal, pipe or file, they have one queue, so that neither's lines are cut by the other's.
 * Which thread calls it: the loop. What can go wrong: the reader of our output is gone: the job ends as by SIGPIPE. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "head.h"
#include "loop.h"
#include "progress.h"

static const int kInputFrames = 4; /* on their way to each node */

struct chunk {
    struct chunk* next;
    int node;    /* -1: a sentence of our own */
    size_t owed; /* what its node counts */
    struct buffer bytes;
};

struct sink {
    int fd;
    bool is_socket;
    struct chunk* first;
    struct chunk** last;
    bool watched;
    bool broken;
    uint64_t unended; /* the stream whose line the last chunk leaves unended; 0: none, or lines are not marked */
};

static struct sink sinks[2] = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};
static bool one_place; /* stdout and stderr are the same */
static void (*when_drained)(void);
static pmix_proc_t input_target;
static bool has_target[MAX_NODES];
static int input_nodes, frames_out;
static bool input_open, input_watched;

bool headio_drained(void) {
    return !sinks[0].first && !sinks[1].first;
}

static bool is_one_place(void) {
    struct stat out, error;
    return fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &error) == 0 && out.st_dev == error.st_dev &&
           out.st_ino == error.st_ino;
}

static struct sink* sink_of(bool error) {
    return &sinks[error && !one_place];
}

void headio_start(void (*drained)(void)) {
    when_drained = drained;
    one_place = is_one_place();
    for (int i = 0; i < 2; i++) {
        struct sink* sink = &sinks[i];
        struct stat what;
        sink->last = &sink->first;
        if (fstat(sink->fd, &what) != 0) continue;
        sink->is_socket = S_ISSOCK(what.st_mode);
        if (!S_ISFIFO(what.st_mode) && !isatty(sink->fd)) continue;
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", sink->fd);
        int own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (own >= 0) sink->fd = own;
    }
}

/* --- output ------------------------------------------------------------------------------------------------------- */

static void drop_first(struct sink* sink) {
    struct chunk* chunk = sink->first;
    if (chunk->node >= 0) {
        struct buffer body = {0};
        wire_put_u64(&body, chunk->owed);
        mesh_send(chunk->node, FRAME_OUTPUT_DONE, &body);
        wire_free(&body);
    }
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

/* A reader that is gone is no news for it; anything else (a full disk) is for the user. */
static void broke(struct sink* sink, int error) {
    sink->broken = true;
    while (sink->first) drop_first(sink);
    unwatch(sink);
    if (error != EPIPE) head_say("cannot write the output: %s", strerror(error));
    head_end_everything(error == EPIPE ? 128 + SIGPIPE : 1);
}

/* stdout and stderr may be one pipe, which has less space now than when the loop looked. */
static bool has_space(int fd) {
    struct pollfd p = {fd, POLLOUT, 0};
    return poll(&p, 1, 0) == 1;
}

/* Others may write to the same pipe. */
static ssize_t write_some(struct sink* sink) {
    struct buffer* bytes = &sink->first->bytes;
    size_t left = bytes->size - bytes->position;
    if (left > PIPE_BUF) {
        const size_t whole = jobio_whole_lines(bytes->data + bytes->position, PIPE_BUF);
        left = whole > 0 ? whole : PIPE_BUF;
    }
    if (sink->is_socket) return send(sink->fd, bytes->data + bytes->position, left, MSG_DONTWAIT | MSG_NOSIGNAL);
    errno = EAGAIN;
    return has_space(sink->fd) ? write(sink->fd, bytes->data + bytes->position, left) : -1;
}

static void sink_ready(int fd, short events, void* argument) {
    struct sink* sink = argument;
    struct buffer* bytes = &sink->first->bytes;
    (void)events; /* an error is reported by write */
    if (isatty(fd)) progress_end();
    ssize_t put = write_some(sink);
    if (put < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (put < 0) {
        broke(sink, errno);
        return;
    }
    bytes->position += (size_t)put;
    if (bytes->position == bytes->size) drop_first(sink);
    if (!sink->first) unwatch(sink);
}

/* `lead` is ours, and before the bytes. */
static void put(struct sink* sink, int from, const struct buffer* lead, const void* bytes, size_t size, size_t owed) {
    struct chunk* chunk = xcalloc(1, sizeof *chunk);
    chunk->node = from;
    chunk->owed = owed;
    wire_append(&chunk->bytes, lead->data, lead->size);
    wire_append(&chunk->bytes, bytes, size);
    *sink->last = chunk;
    sink->last = &chunk->next;
    if (sink->broken)
        drop_first(sink);
    else if (!sink->watched)
        loop_watch(sink->fd, POLLOUT, sink_ready, sink);
    sink->watched = !sink->broken;
}

/* A marked line that was left unended is ended before text of another stream, and begun once more behind it. */
void on_output(int from, uint64_t id, struct buffer* body) {
    (void)id;
    struct sink* sink = sink_of(wire_get_u8(body) == 2);
    uint64_t source = wire_get_u64(body);
    bool unended = wire_get_u8(body);
    struct buffer beginning = wire_get_view(body), lead = {0};
    if (body->bad) return;
    const uint8_t* text = body->data + body->position;
    size_t size = body->size - body->position;
    const bool other = sink->unended != source, ends_only = size > 0 && *text == '\n';
    const size_t cut = other && beginning.size > 0 && ends_only; /* that line has its end already */
    if (other && sink->unended != 0) wire_append(&lead, "\n", 1);
    if (other && !cut) wire_append(&lead, beginning.data, beginning.size);
    sink->unended = unended ? source : 0;
    put(sink, from, &lead, text + cut, size - cut, size);
    wire_free(&lead);
}

void headio_say(const char* text) {
    struct sink* sink = sink_of(true);
    struct buffer lead = {0};
    if (!when_drained) {
        fputs(text, stderr);
        return;
    }
    if (sink->unended != 0) wire_append(&lead, "\n", 1);
    sink->unended = 0;
    put(sink, -1, &lead, text, strlen(text), 0);
    wire_free(&lead);
}

/* What can be written at once of the last sentences. */
void headio_end(void) {
    for (int i = 0; i < 2; i++) {
        struct sink* sink = &sinks[i];
        while (sink->first) {
            struct buffer* bytes = &sink->first->bytes;
            ssize_t written = write_some(sink);
            if (written < 0) break;
            bytes->position += (size_t)written;
            if (bytes->position < bytes->size) continue;
            sink->first->node = -1; /* nobody is there to be told */
            drop_first(sink);
        }
    }
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
    wire_put_bytes(&body, bytes, size);
    wire_put_u8(&body, size == 0); /* the end */
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
