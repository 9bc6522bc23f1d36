/* SPDX-License-Identifier: BSD-3-Clause */
/* iof.c: the output of the processes of this node.
 *
 * What this owns: the pipes. Output goes to the head in whole lines, so that lines of different processes do not mix,
 * to the nodes whose clients have asked for it (pulls.c), as it is, and into files where the user wants that. All ways
 * are bounded: at most kMaxInFlight bytes of this node are on their way to the head unwritten, and at most kMaxOwed of
 * one stream on their way to its readers; while there are more, the pipes fill up, and the processes wait, as on any
 * pipe. Which thread calls it: the loop. What can go wrong: no more descriptors: iof_open gives NULL. A file that
 * cannot be made or written: one sentence, and the output continues without it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop.h"
#include "node.h"

static const size_t kMaxInFlight = 1 << 20;
static const size_t kMaxOwed = 128 << 10;
static const size_t kMaxLine = 64 << 10;     /* a longer line is sent in parts */
static const size_t kMaxLeftOver = 16 << 20; /* what is still taken when the process has ended */

enum { OUTPUTS = 3 };

struct output {
    struct streams* owner;
    int fd; /* -1: closed */
    pmix_iof_channel_t channel;
    bool watched;
    bool in_line; /* part of a line has been sent */
    struct buffer line;
    size_t owed; /* by nodes that read it */
    int file;    /* -1: none */
    bool file_asked;
};

struct streams {
    struct streams* next;
    const struct job* job;
    pmix_proc_t proc;
    struct output outputs[OUTPUTS];
    struct input* input; /* NULL: /dev/null */
    int unanswered;      /* parts on their way to nodes that read them */
    bool finished;
};

static struct streams* all_streams;
static size_t in_flight;
static bool paused; /* too much is on its way to the head */

static void output_ready(int fd, short events, void* argument);

static void watch_output(struct output* output) {
    bool wanted = output->fd >= 0 && !paused && output->owed <= kMaxOwed;
    if (wanted == output->watched) return;
    output->watched = wanted;
    if (wanted)
        loop_watch(output->fd, POLLIN, output_ready, output);
    else
        loop_unwatch(output->fd);
}

static void watch_all(void) {
    for (struct streams* streams = all_streams; streams; streams = streams->next) {
        for (int i = 0; i < OUTPUTS; i++) watch_output(&streams->outputs[i]);
    }
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static const char* stream_name(const struct output* output) {
    return output->channel == PMIX_FWD_STDOUT_CHANNEL   ? "stdout"
           : output->channel == PMIX_FWD_STDERR_CHANNEL ? "stderr"
                                                        : "stddiag";
}

/* The folders are the user's, whose umask holds. */
static void open_file(struct output* output) {
    const struct job* job = output->owner->job;
    char* path = jobio_path(&job->io, job, output->owner->proc.rank, stream_name(output));
    output->file_asked = true;
    for (char* slash = *path ? strchr(path + 1, '/') : NULL; slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0777);
        *slash = '/';
    }
    output->file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0666);
    if (output->file < 0) fprintf(stderr, "pmixrun: %s: %s: %s\n", node.hostname, path, strerror(errno));
    free(path);
}

/* With both in one place, the first output's. */
static struct output* place_of(struct output* output) {
    bool merged = output->owner->job->io.merge && output->channel == PMIX_FWD_STDERR_CHANNEL;
    return merged ? &output->owner->outputs[0] : output;
}

static void write_file(struct output* output, const uint8_t* bytes, size_t size) {
    struct output* out = place_of(output);
    if (!jobio_has_files(&output->owner->job->io)) return;
    if (!out->file_asked) open_file(out);
    while (out->file >= 0 && size > 0) {
        ssize_t put = write(out->file, bytes, size);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) {
            fprintf(stderr, "pmixrun: %s: output of rank %u: %s\n", node.hostname, out->owner->proc.rank,
                    strerror(errno));
            close(out->file);
            out->file = -1;
            return;
        }
        bytes += put;
        size -= (size_t)put;
    }
}

/* --- to the head -------------------------------------------------------------------------------------------------- */

/* Sends the first `size` bytes of what is kept, each line in the form that the job asks for. `ends`: these are the
 * last. */
static void send_lines(struct output* output, size_t size, bool ends) {
    const struct job* job = output->owner->job;
    struct buffer body = {0};
    wire_put_u8(&body, place_of(output)->channel == PMIX_FWD_STDOUT_CHANNEL ? 1 : 2);
    size_t before = body.size;
    for (size_t at = 0; at < size;) {
        const uint8_t* start = output->line.data + at;
        const uint8_t* newline = memchr(start, '\n', size - at);
        size_t length = newline ? (size_t)(newline - start) : size - at;
        if (!output->in_line) jobio_begin_line(&job->io, job, output->owner->proc.rank, stream_name(output), &body);
        jobio_text(&job->io, start, length, &body);
        if (newline) jobio_end_line(&job->io, stream_name(output), &body);
        output->in_line = !newline;
        at += length + (newline != NULL);
    }
    if (ends && output->in_line && job->io.xml) jobio_end_line(&job->io, stream_name(output), &body);
    if (body.size > before) {
        mesh_send(mesh_head(), FRAME_OUTPUT, &body);
        in_flight += body.size - before;
    }
    wire_free(&body);
    wire_consume(&output->line, size);
}

void iof_say(bool error, const void* text, size_t size) {
    struct buffer body = {0};
    wire_put_u8(&body, error ? 2 : 1);
    wire_append(&body, text, size);
    mesh_send(mesh_head(), FRAME_OUTPUT, &body);
    in_flight += size;
    wire_free(&body);
}

void on_output_done(int from, uint64_t id, struct buffer* body) {
    (void)from;
    (void)id;
    uint64_t written = wire_get_u64(body);
    in_flight -= written < in_flight ? written : in_flight;
    if (!paused || in_flight > kMaxInFlight / 2) return;
    paused = false;
    watch_all();
}

/* --- to other nodes ----------------------------------------------------------------------------------------------- */

struct part { /* on its way to one node that reads it */
    struct output* output;
    size_t size;
};

static void free_if_done(struct streams* streams) {
    if (streams->finished && streams->unanswered == 0) free(streams);
}

static void part_taken(pmix_status_t status, struct buffer* body, void* argument) {
    (void)status, (void)body; /* a node that was lost reads no more */
    struct part* part = argument;
    struct output* output = part->output;
    output->owed -= part->size;
    output->owner->unanswered--;
    free(part);
    if (output->owner->finished)
        free_if_done(output->owner);
    else
        watch_output(output);
}

/* True: the head does not get it. */
static bool send_to_readers(struct output* output, const uint8_t* bytes, size_t size) {
    bool readers[MAX_NODES] = {0};
    bool redirected = pulls_of(&output->owner->proc, output->channel, readers);
    struct buffer body = {0};
    for (int i = 0; i < mesh_nodes(); i++) {
        if (!readers[i]) continue;
        if (body.size == 0) {
            wire_put_proc(&body, &output->owner->proc);
            wire_put_u32(&body, output->channel);
            wire_put_bytes(&body, bytes, size);
        }
        struct part* part = xcalloc(1, sizeof *part);
        *part = (struct part){output, size};
        output->owed += size;
        output->owner->unanswered++;
        mesh_request(i, FRAME_STREAM, &body, 0, part_taken, part);
    }
    wire_free(&body);
    return redirected;
}

/* --- from the pipe ------------------------------------------------------------------------------------------------ */

static void close_output(struct output* output) {
    if (output->fd < 0) return;
    send_lines(output, output->line.size, true);
    send_to_readers(output, NULL, 0); /* the end */
    if (output->watched) loop_unwatch(output->fd);
    output->watched = false;
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
    write_file(output, chunk, (size_t)got);
    bool elsewhere = send_to_readers(output, chunk, (size_t)got);
    if (elsewhere || output->owner->job->io.file_only) return true;
    wire_append(&output->line, chunk, (size_t)got);
    size_t whole = output->line.size;
    while (whole > 0 && output->line.data[whole - 1] != '\n') whole--;
    bool at_once = output->owner->job->io.raw || (whole == 0 && output->line.size > kMaxLine);
    send_lines(output, at_once ? output->line.size : whole, false);
    return true;
}

static void output_ready(int fd, short events, void* argument) {
    (void)fd;
    (void)events;
    struct output* output = argument;
    read_output(output);
    if (in_flight > kMaxInFlight && !paused) {
        paused = true;
        watch_all();
    } else {
        watch_output(output);
    }
}

/* --- from fork to the end ----------------------------------------------------------------------------------------- */

bool iof_pipe(int* ours, int* childs, bool child_reads) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    *ours = ends[child_reads];
    *childs = ends[!child_reads];
    fcntl(*ours, F_SETFL, O_NONBLOCK);
    return true;
}

struct streams* iof_open(const struct job* job, const pmix_proc_t* proc, int child_fds[CHILD_FDS]) {
    static const pmix_iof_channel_t channels[OUTPUTS] = {PMIX_FWD_STDOUT_CHANNEL, PMIX_FWD_STDERR_CHANNEL,
                                                         PMIX_FWD_STDDIAG_CHANNEL};
    struct streams* streams = xcalloc(1, sizeof *streams);
    streams->job = job;
    streams->proc = *proc;
    for (int i = 0; i < CHILD_FDS; i++) child_fds[i] = -1;
    for (int i = 0; i < OUTPUTS; i++)
        streams->outputs[i] = (struct output){.owner = streams, .fd = -1, .channel = channels[i], .file = -1};
    bool fine = jobio_has_stdin(&job->io, proc->rank) ? (streams->input = input_open(proc, &child_fds[0])) != NULL
                                                      : (child_fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;
    int count = job->io.diagnostics ? OUTPUTS : OUTPUTS - 1;
    for (int i = 0; i < count && fine; i++) fine = iof_pipe(&streams->outputs[i].fd, &child_fds[i + 1], false);
    streams->next = all_streams;
    all_streams = streams;
    if (!fine) {
        iof_close_child_ends(child_fds);
        iof_finish(streams);
        return NULL;
    }
    for (int i = 0; i < OUTPUTS; i++) watch_output(&streams->outputs[i]);
    return streams;
}

void iof_close_child_ends(int child_fds[CHILD_FDS]) {
    for (int i = 0; i < CHILD_FDS; i++) {
        if (child_fds[i] >= 0) close(child_fds[i]);
        child_fds[i] = -1;
    }
}

void iof_finish(struct streams* streams) {
    for (int i = 0; i < OUTPUTS; i++) {
        struct output* output = &streams->outputs[i];
        size_t before = in_flight;
        while (output->fd >= 0 && in_flight - before < kMaxLeftOver && read_output(output)) continue;
        close_output(output);
        wire_free(&output->line);
    }
    for (int i = 0; i < OUTPUTS; i++) {
        if (streams->outputs[i].file >= 0) close(streams->outputs[i].file);
    }
    if (streams->input) input_finish(streams->input);
    for (struct streams** at = &all_streams; *at; at = &(*at)->next) {
        if (*at != streams) continue;
        *at = streams->next;
        break;
    }
    streams->finished = true;
    free_if_done(streams);
}
