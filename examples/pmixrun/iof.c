/* iof.c: the standard streams of the processes of this node.
 *
 * What this owns: the pipes. Output goes to the head in whole lines, so that lines of different processes do not mix;
 * input for rank 0 of the first job comes from the head. Both ways are paid for: at most kMaxInFlight bytes are on
 * their way to the head unwritten; while they are, the processes' pipes fill up, and the processes wait, as on any
 * pipe. Which thread calls it: the loop. What can go wrong: no more descriptors: iof_open gives NULL. A process that
 * closed its stdin: the rest is dropped. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loop.h"
#include "node.h"

static const size_t kMaxInFlight = 1 << 20;
static const size_t kMaxLine = 64 << 10;     /* a longer line is sent in parts */
static const size_t kMaxLeftOver = 16 << 20; /* what is still taken when the process has ended */

struct output {
    struct streams* owner;
    int fd;          /* -1: closed */
    uint8_t channel; /* 1 stdout, 2 stderr */
    bool in_line;    /* part of a line has been sent */
    struct buffer line;
};

struct streams {
    struct streams* next;
    char tag[48];
    struct output outputs[2];
    int input; /* -1: none, or closed */
    struct buffer pending;
    bool input_ends;
};

static struct streams* all_streams;
static struct streams* input_streams; /* those that stdin goes to */
static size_t in_flight;
static bool paused;

static void output_ready(int fd, short events, void* argument);

/* --- output --------------------------------------------------------------------------------------------------------
 */

static void send_output(const struct output* output, const struct buffer* text) {
    struct buffer body = {0};
    wire_put_u8(&body, output->channel);
    wire_append(&body, text->data, text->size);
    mesh_send(mesh_head(), FRAME_OUTPUT, &body);
    in_flight += text->size;
    wire_free(&body);
}

/* Sends the first `size` bytes of what is kept, each line with its tag. */
static void send_lines(struct output* output, size_t size) {
    struct buffer text = {0};
    const char* tag = output->owner->tag;
    for (size_t at = 0; at < size;) {
        const uint8_t* start = output->line.data + at;
        const uint8_t* newline = memchr(start, '\n', size - at);
        size_t length = newline ? (size_t)(newline - start) + 1 : size - at;
        if (!output->in_line) wire_append(&text, tag, strlen(tag));
        wire_append(&text, start, length);
        output->in_line = !newline;
        at += length;
    }
    if (text.size > 0) send_output(output, &text);
    wire_free(&text);
    wire_consume(&output->line, size);
}

static void close_output(struct output* output) {
    if (output->fd < 0) return;
    send_lines(output, output->line.size);
    loop_unwatch(output->fd);
    close(output->fd);
    output->fd = -1;
}

/* False when there is nothing to read now. */
static bool read_output(struct output* output) {
    uint8_t chunk[65536];
    ssize_t got = read(output->fd, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) return true;
    if (got < 0 && errno == EAGAIN) return false;
    if (got <= 0) {
        close_output(output);
        return false;
    }
    wire_append(&output->line, chunk, (size_t)got);
    size_t whole = output->line.size;
    while (whole > 0 && output->line.data[whole - 1] != '\n') whole--;
    if (whole == 0 && output->line.size > kMaxLine) whole = output->line.size;
    send_lines(output, whole);
    return true;
}

static void watch_outputs(bool watch) {
    paused = !watch;
    for (struct streams* streams = all_streams; streams; streams = streams->next) {
        for (int i = 0; i < 2; i++) {
            struct output* output = &streams->outputs[i];
            if (output->fd < 0) continue;
            if (watch)
                loop_watch(output->fd, POLLIN, output_ready, output);
            else
                loop_unwatch(output->fd);
        }
    }
}

static void output_ready(int fd, short events, void* argument) {
    (void)fd;
    (void)events;
    read_output(argument);
    if (in_flight > kMaxInFlight && !paused) watch_outputs(false);
}

void on_output_done(int from, uint64_t id, struct buffer* body) {
    (void)from;
    (void)id;
    uint64_t written = wire_get_u64(body);
    in_flight -= written < in_flight ? written : in_flight;
    if (paused && in_flight <= kMaxInFlight / 2) watch_outputs(true);
}

/* --- input ---------------------------------------------------------------------------------------------------------
 */

static void input_done(size_t size) {
    struct buffer body = {0};
    wire_put_u64(&body, size);
    mesh_send(mesh_head(), FRAME_INPUT_DONE, &body);
    wire_free(&body);
}

static void close_input(struct streams* streams) {
    if (streams->input < 0) return;
    loop_unwatch(streams->input);
    close(streams->input);
    streams->input = -1;
}

static void write_input(struct streams* streams) {
    struct buffer* pending = &streams->pending;
    while (streams->input >= 0 && pending->size > 0) {
        ssize_t put = write(streams->input, pending->data, pending->size);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0 && errno == EAGAIN) {
            loop_watch_events(streams->input, POLLOUT);
            return;
        }
        if (put < 0) close_input(streams);
        size_t gone = put < 0 ? pending->size : (size_t)put;
        wire_consume(pending, gone);
        input_done(gone);
    }
    if (streams->input >= 0) loop_watch_events(streams->input, 0);
    if (streams->input_ends) close_input(streams);
}

static void input_ready(int fd, short events, void* argument) {
    (void)fd;
    struct streams* streams = argument;
    if (events & (POLLERR | POLLHUP))
        close_input(streams); /* nobody reads it any more */
    else
        write_input(streams);
}

void on_input(int from, uint64_t id, struct buffer* body) {
    (void)from;
    (void)id;
    if (!input_streams || input_streams->input < 0) {
        input_done(body->size);
        return;
    }
    if (body->size == 0) input_streams->input_ends = true;
    wire_append(&input_streams->pending, body->data, body->size);
    write_input(input_streams);
}

/* --- from fork to the end ------------------------------------------------------------------------------------------
 */

static bool make_pipe(int* ours, int* childs, bool child_reads) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    *ours = ends[child_reads];
    *childs = ends[!child_reads];
    fcntl(*ours, F_SETFL, O_NONBLOCK);
    return true;
}

struct streams* iof_open(const pmix_proc_t* proc, uint32_t job_number, bool with_stdin, int child_fds[3]) {
    struct streams* streams = xcalloc(1, sizeof *streams);
    child_fds[0] = child_fds[1] = child_fds[2] = -1;
    streams->input = -1;
    for (int i = 0; i < 2; i++)
        streams->outputs[i] = (struct output){.owner = streams, .fd = -1, .channel = (uint8_t)(i + 1)};
    bool fine = with_stdin ? make_pipe(&streams->input, &child_fds[0], true)
                           : (child_fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;
    for (int i = 0; i < 2 && fine; i++) fine = make_pipe(&streams->outputs[i].fd, &child_fds[i + 1], false);
    streams->next = all_streams;
    all_streams = streams;
    if (!fine) {
        iof_close_child_ends(child_fds);
        iof_finish(streams);
        return NULL;
    }
    if (node.options->tag_output && job_number == 1) snprintf(streams->tag, sizeof streams->tag, "[%u] ", proc->rank);
    if (node.options->tag_output && job_number != 1)
        snprintf(streams->tag, sizeof streams->tag, "[%u.%u] ", job_number, proc->rank);
    if (with_stdin) {
        input_streams = streams;
        loop_watch(streams->input, 0, input_ready, streams);
    }
    for (int i = 0; i < 2 && !paused; i++)
        loop_watch(streams->outputs[i].fd, POLLIN, output_ready, &streams->outputs[i]);
    return streams;
}

void iof_close_child_ends(int child_fds[3]) {
    for (int i = 0; i < 3; i++) {
        if (child_fds[i] >= 0) close(child_fds[i]);
        child_fds[i] = -1;
    }
}

void iof_finish(struct streams* streams) {
    for (int i = 0; i < 2; i++) {
        struct output* output = &streams->outputs[i];
        size_t before = in_flight;
        while (output->fd >= 0 && in_flight - before < kMaxLeftOver && read_output(output)) continue;
        close_output(output);
        wire_free(&output->line);
    }
    close_input(streams);
    if (streams->pending.size > 0) input_done(streams->pending.size);
    wire_free(&streams->pending);
    if (input_streams == streams) input_streams = NULL;
    for (struct streams** at = &all_streams; *at; at = &(*at)->next) {
        if (*at != streams) continue;
        *at = streams->next;
        break;
    }
    free(streams);
}
