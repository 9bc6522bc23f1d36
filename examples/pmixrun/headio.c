/* headio.c: pmixrun's own standard streams.
 *
 * What this owns: what the nodes sent and the terminal (or pipe, or file) has not yet taken, and what of stdin is on
 * its way to rank 0. The descriptors are shared with whoever started pmixrun, so they are never made non-blocking: poll
 * says when PIPE_BUF bytes can be written without waiting. Which thread calls it: the loop. What can go wrong: nobody
 * reads our output any more: the job ends as by SIGPIPE. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "head.h"
#include "loop.h"

static const size_t kInputWindow = 64 << 10;

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
static int input_node = -1;
static size_t input_in_flight;
static bool input_watched;

bool headio_drained(void) {
    return !sinks[0].first && !sinks[1].first;
}

void headio_start(void (*drained)(void)) {
    when_drained = drained;
    for (int i = 0; i < 2; i++) sinks[i].last = &sinks[i].first;
}

/* --- output --------------------------------------------------------------------------------------------------------
 */

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
    (void)events; /* an error shows itself in write */
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

/* --- input ---------------------------------------------------------------------------------------------------------
 */

static void input_ready(int fd, short events, void* argument);

static void watch_input(bool watch) {
    if (watch == input_watched) return;
    input_watched = watch;
    if (watch)
        loop_watch(STDIN_FILENO, POLLIN, input_ready, NULL);
    else
        loop_unwatch(STDIN_FILENO);
}

static void input_ready(int fd, short events, void* argument) {
    (void)events, (void)argument;
    uint8_t bytes[16384];
    ssize_t got = read(fd, bytes, sizeof bytes);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    struct buffer body = wire_view(bytes, got > 0 ? (size_t)got : 0);
    mesh_send(input_node, FRAME_INPUT, &body); /* empty: the end */
    input_in_flight += body.size;
    if (got <= 0) input_node = -1;
    watch_input(input_node >= 0 && input_in_flight < kInputWindow);
}

/* A terminal is read only from the foreground: from the background the kernel would stop us. */
void headio_stdin_to(int node) {
    bool background = isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) != getpgrp();
    if (background) {
        mesh_send(node, FRAME_INPUT, NULL);
        return;
    }
    input_node = node;
    watch_input(true);
}

void on_input_done(int from, uint64_t id, struct buffer* body) {
    (void)from, (void)id;
    uint64_t taken = wire_get_u64(body);
    input_in_flight -= taken < input_in_flight ? taken : input_in_flight;
    watch_input(input_node >= 0 && input_in_flight < kInputWindow);
}
