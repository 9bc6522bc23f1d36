/* SPDX-License-Identifier: BSD-3-Clause */
/* iof.c: the output of the processes of this node.
 *
 * What this owns: the pipes. A stream ends at its end of file, which may be behind the end of the process: what the
 * process has started writes there too (launch.c has the limit). Output goes to the head in whole lines, so that lines
 * of different processes do not mix (a prompt, the beginning of a line that nothing follows, goes after a moment), to
 * the nodes whose clients have asked for it (pulls.c), as it is, and into files where the user wants that. With stderr
 * merged into stdout the process has one pipe for both, so that the order of what it writes is kept, unless the stream
 * is said with each line. All ways are bounded: at most kMaxInFlight bytes of this node are on their way to the head
 * unwritten, and at most kMaxOwed of one stream on their way to its readers; while there are more, the pipes fill up,
 * and the processes wait, as on any pipe. Which thread calls it: the loop. What can go wrong: no more descriptors:
 * iof_open gives NULL, with errno. A file that cannot be made or written: one sentence, and the output continues
 * without it. */
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
static const size_t kStdioBuffer = 4096;     /* written when it is full, wherever that is in a line */
static const double kPatience = 0.2;         /* seconds until the beginning of a line is taken for a prompt */

enum { OUTPUTS = 3 };

struct output {
    struct streams* owner;
    int fd; /* -1: closed */
    pmix_iof_channel_t channel;
    bool watched;
    bool in_line; /* part of a line has been sent */
    struct buffer line;
    uint64_t taken;          /* bytes, in all */
    struct timer* impatient; /* runs while the line may be a prompt */
    size_t owed;             /* by nodes that read it */
    int file;                /* -1: none */
    struct buffer unwritten; /* of a file that others write too: the part of a line */
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
    void (*over)(void* argument); /* the process has ended, and others have its streams still: when they do not */
    void* over_argument;
};

static struct streams* all_streams;
static size_t in_flight;
static bool paused; /* too much is on its way to the head */

struct waiter { /* for the head to have written */
    struct waiter* next;
    void (*task)(void* argument);
    void* argument;
};
static struct waiter *first_waiter, **last_waiter = &first_waiter;

static void output_ready(int fd, short events, void* argument);
static void show_part(void* argument);

/* Only a process that is given input asks for some. The rest of a line may be in a full pipe, or on its way through
 * buffers of the process, and what reads elements wants them whole. */
static void wait_for_rest(struct output* output) {
    const struct job_io* io = &output->owner->job->io;
    bool prompt = output->watched && output->line.size > 0 && output->taken % kStdioBuffer != 0 && !io->xml &&
                  jobio_has_stdin(io, output->owner->proc.rank);
    loop_cancel(output->impatient);
    output->impatient = prompt ? loop_after(kPatience, show_part, output) : NULL;
}

static void watch_output(struct output* output) {
    bool wanted = output->fd >= 0 && !paused && output->owed <= kMaxOwed;
    if (wanted == output->watched) return;
    output->watched = wanted;
    wait_for_rest(output);
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

/* The command has failed where output that a file was to have is lost. */
static void report_loss(void) {
    const struct buffer nothing = {0};
    mesh_send(mesh_head(), FRAME_OUTPUT_LOST, &nothing);
}

/* The folders are the user's, whose umask holds. A file of several processes has been emptied by the head: what others
 * have written meanwhile is to stay. */
static void open_file(struct output* output) {
    const struct job* job = output->owner->job;
    char* path = jobio_path(&job->io, job, output->owner->proc.rank, stream_name(output));
    output->file_asked = true;
    for (char* slash = *path ? strchr(path + 1, '/') : NULL; slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0777);
        *slash = '/';
    }
    int emptied = jobio_shares_file(&job->io) ? 0 : O_TRUNC;
    /* A pipe in its place, which nobody may read, would block this process. */
    output->file =
        open(path, O_WRONLY | O_CREAT | emptied | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0666);
    struct stat about;
    if (output->file >= 0 && (fstat(output->file, &about) != 0 || S_ISFIFO(about.st_mode))) {
        close(output->file);
        output->file = -1;
        errno = ENXIO;
    }
    if (output->file < 0) {
        fprintf(stderr, "pmixrun: %s: %s: %s\n", node.hostname, path, strerror(errno));
        report_loss();
    }
    free(path);
}

static bool one_pipe(const struct job_io* io) {
    return io->merge && !jobio_marks_lines(io);
}

/* With both in one place, the first output's. */
static struct output* place_of(struct output* output) {
    bool merged = output->owner->job->io.merge && output->channel == PMIX_FWD_STDERR_CHANNEL;
    return merged ? &output->owner->outputs[0] : output;
}

static void write_to(struct output* output, const uint8_t* bytes, size_t size) {
    while (output->file >= 0 && size > 0) {
        ssize_t put = write(output->file, bytes, size);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) {
            fprintf(stderr, "pmixrun: %s: output of rank %u: %s\n", node.hostname, output->owner->proc.rank,
                    strerror(errno));
            close(output->file);
            output->file = -1;
            report_loss();
            return;
        }
        bytes += put;
        size -= (size_t)put;
    }
}

static void write_file(struct output* output, const uint8_t* bytes, size_t size) {
    const struct job_io* io = &output->owner->job->io;
    struct output* out = place_of(output);
    if (!jobio_has_files(io)) return;
    if (!out->file_asked) open_file(out);
    if (!jobio_shares_file(io) && (!io->merge || one_pipe(io))) {
        write_to(out, bytes, size);
        return;
    }
    struct buffer* kept = &output->unwritten;
    wire_append(kept, bytes, size);
    size_t whole = jobio_whole_lines(kept->data, kept->size);
    if (whole == 0 && kept->size > kMaxLine) whole = kept->size;
    write_to(out, kept->data, whole);
    wire_consume(kept, whole);
}

/* --- to the head -------------------------------------------------------------------------------------------------- */

/* For the head, of which stream the text is: where that of another stands between two parts of a line, a newline and
 * the line's beginning once more keep them apart. 0: of none. `unended`: the text ends within a line that has such a
 * beginning. */
static void send_text(bool error, uint64_t source, bool unended, const struct buffer* beginning,
                      const struct buffer* text) {
    struct buffer body = {0};
    wire_put_u8(&body, error ? 2 : 1);
    wire_put_u64(&body, source);
    wire_put_u8(&body, unended);
    wire_put_bytes(&body, beginning->data, beginning->size);
    wire_append(&body, text->data, text->size);
    mesh_send(mesh_head(), FRAME_OUTPUT, &body);
    in_flight += text->size;
    wire_free(&body);
}

static void pause_if_full(void) {
    if (in_flight <= kMaxInFlight || paused) return;
    paused = true;
    watch_all();
}

/* Sends the first `size` bytes of what is kept, each line in the form that the job asks for. `ends`: these are the
 * last. */
static void send_lines(struct output* output, size_t size, bool ends) {
    const struct job* job = output->owner->job;
    const pmix_rank_t rank = output->owner->proc.rank;
    const char* stream = stream_name(output);
    const bool marked = jobio_marks_lines(&job->io);
    struct buffer beginning = {0}, text = {0};
    if (output->in_line && marked) jobio_begin_line(&job->io, job, rank, stream, &beginning);
    for (size_t at = 0; at < size;) {
        const uint8_t* start = output->line.data + at;
        const uint8_t* newline = memchr(start, '\n', size - at);
        size_t length = newline ? (size_t)(newline - start) : size - at;
        if (!output->in_line) jobio_begin_line(&job->io, job, rank, stream, &text);
        jobio_text(&job->io, start, length, &text);
        if (newline) jobio_end_line(&job->io, stream, &text);
        output->in_line = !newline;
        at += length + (newline != NULL);
    }
    /* An element cannot be left and entered again. */
    if (output->in_line && (job->io.xml || (ends && marked))) {
        jobio_end_line(&job->io, stream, &text);
        output->in_line = false;
    }
    const uint64_t source = (uint64_t)job->number << 34 | (uint64_t)rank << 2 | output->channel >> 2;
    if (text.size > 0)
        send_text(place_of(output)->channel != PMIX_FWD_STDOUT_CHANNEL, source, marked && output->in_line, &beginning,
                  &text);
    wire_free(&beginning);
    wire_free(&text);
    wire_consume(&output->line, size);
}

static void show_part(void* argument) {
    struct output* output = argument;
    output->impatient = NULL;
    send_lines(output, output->line.size, false);
}

void iof_say(bool error, const void* text, size_t size) {
    const struct buffer none = {0}, bytes = wire_view(text, size);
    send_text(error, 0, false, &none, &bytes);
}

void iof_when_space(void (*task)(void* argument), void* argument) {
    pause_if_full();
    if (!paused) {
        task(argument);
        return;
    }
    struct waiter* waiter = xcalloc(1, sizeof *waiter);
    *waiter = (struct waiter){.task = task, .argument = argument};
    *last_waiter = waiter;
    last_waiter = &waiter->next;
}

/* One that writes much lets those behind it wait on. */
static void run_waiters(void) {
    while (first_waiter && !paused) {
        struct waiter* waiter = first_waiter;
        first_waiter = waiter->next;
        if (!first_waiter) last_waiter = &first_waiter;
        waiter->task(waiter->argument);
        free(waiter);
        pause_if_full();
    }
}

void on_output_done(int from, uint64_t id, struct buffer* body) {
    (void)from;
    (void)id;
    uint64_t written = wire_get_u64(body);
    in_flight -= written < in_flight ? written : in_flight;
    if (!paused || in_flight > kMaxInFlight / 2) return;
    paused = false;
    run_waiters();
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

static bool any_open(const struct streams* streams) {
    for (int i = 0; i < OUTPUTS; i++) {
        if (streams->outputs[i].fd >= 0) return true;
    }
    return false;
}

static void close_output(struct output* output) {
    struct streams* owner = output->owner;
    if (output->fd < 0) return;
    send_lines(output, output->line.size, true);
    wait_for_rest(output);
    write_to(place_of(output), output->unwritten.data, output->unwritten.size);
    send_to_readers(output, NULL, 0); /* the end */
    if (one_pipe(&owner->job->io) && output == &owner->outputs[0]) send_to_readers(&owner->outputs[1], NULL, 0);
    if (output->watched) loop_unwatch(output->fd);
    output->watched = false;
    close(output->fd);
    output->fd = -1;
    if (owner->over && !any_open(owner)) owner->over(owner->over_argument);
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
    output->taken += (uint64_t)got;
    write_file(output, chunk, (size_t)got);
    bool elsewhere = send_to_readers(output, chunk, (size_t)got);
    if (elsewhere || output->owner->job->io.file_only) return true;
    wire_append(&output->line, chunk, (size_t)got);
    size_t whole = jobio_whole_lines(output->line.data, output->line.size);
    bool at_once = output->owner->job->io.raw || (whole == 0 && output->line.size > kMaxLine);
    send_lines(output, at_once ? output->line.size : whole, false);
    wait_for_rest(output);
    return true;
}

static void output_ready(int fd, short events, void* argument) {
    (void)fd;
    (void)events;
    struct output* output = argument;
    read_output(output);
    pause_if_full();
    watch_output(output);
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
    for (int i = 0; i < count && fine; i++) {
        if (one_pipe(&job->io) && i == 1)
            fine = (child_fds[2] = fcntl(child_fds[1], F_DUPFD_CLOEXEC, 3)) >= 0;
        else
            fine = iof_pipe(&streams->outputs[i].fd, &child_fds[i + 1], false);
    }
    streams->next = all_streams;
    all_streams = streams;
    if (!fine) {
        int error = errno;
        iof_close_child_ends(child_fds);
        iof_finish(streams);
        errno = error;
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

static void read_left_over(struct output* output) {
    uint64_t before = output->taken; /* another process may write as fast as it is read */
    while (output->fd >= 0 && output->taken - before < kMaxLeftOver && read_output(output)) continue;
}

bool iof_ended(struct streams* streams, void (*over)(void* argument), void* argument) {
    if (streams->input) input_finish(streams->input);
    streams->input = NULL;
    for (int i = 0; i < OUTPUTS; i++) read_left_over(&streams->outputs[i]);
    if (!any_open(streams)) return true;
    streams->over = over;
    streams->over_argument = argument;
    return false;
}

bool iof_is_held_up(const struct streams* streams) {
    for (int i = 0; i < OUTPUTS; i++) {
        if (streams->outputs[i].fd >= 0 && !streams->outputs[i].watched) return true;
    }
    return false;
}

void iof_finish(struct streams* streams) {
    streams->over = NULL;
    for (int i = 0; i < OUTPUTS; i++) {
        struct output* output = &streams->outputs[i];
        read_left_over(output);
        close_output(output);
        wire_free(&output->line);
        wire_free(&output->unwritten);
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
