/* SPDX-License-Identifier: BSD-3-Clause */
/* A job is defined on every node before a process of it starts anywhere; it is over when all its processes have ended;
 * when all jobs are over the nodes are told to quit, and when they have, and all output is written, so does the head.
 * What can go wrong is handled here: a process fails, aborts, or cannot be started; a node is lost; the time is over; a
 * signal is received. Each ends in head_end_everything(), or with --continuous has no further effect. */
#include "head.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loop.h"
#include "progress.h"
#include "report.h"
#include "sweep.h"

static const double kUntilForced = 10; /* seconds that the nodes have to quit, beside what the user grants */

enum { EXIT_DAEMON = 1, EXIT_TIMEOUT = 124, EXIT_CANNOT_START = 127 };

struct launch { /* a job that is being launched */
    struct job* job;
    int outstanding; /* nodes that have not replied yet */
    pmix_status_t status;
    int requester; /* node of the process that spawned it; -1: the user */
    uint64_t id;
    bool first_runs;
    bool answered;       /* the requester got the answer that the time was over */
    struct timer* timer; /* until when the start may take */
    uint32_t time_limit; /* seconds that it may run; 0: no limit */
};

struct late_kill { /* SIGKILL for processes that have got SIGTERM */
    pmix_proc_t* procs;
    size_t count;
};

static const struct options* options;
static const char* base_name;
static uint32_t job_count;
static uint32_t process_count; /* of all jobs so far */
static int launches;           /* in progress */
static pid_t keeper_pid, daemons[MAX_NODES];
static int daemons_alive;
static int exit_status;
static bool ending, quitting, stop, nodes_lost;
static bool timed_out, output_given_up; /* --timeout limits the wait for the reader of our output too */

static void say(const char* format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char* format, ...) {
    char text[1024], line[1040];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    progress_hide();
    snprintf(line, sizeof line, "pmixrun: %s\n", text);
    headio_say(line);
}

/* "rank 3", and of which job if it is not the first. */
static const char* spell(const struct job* job, uint32_t rank) {
    static char text[64];
    if (job->number == 1)
        snprintf(text, sizeof text, "rank %u", rank);
    else
        snprintf(text, sizeof text, "rank %u of job %u", rank, job->number);
    return text;
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

static void maybe_stop(void) {
    if (quitting && daemons_alive == 0 && (headio_drained() || output_given_up)) stop = true;
}

static void send_kill(const pmix_proc_t* procs, size_t count, int signal_number, bool launch_failed) {
    struct buffer body = {0};
    wire_put_procs(&body, procs, count);
    wire_put_u32(&body, (uint32_t)signal_number);
    wire_put_u8(&body, launch_failed);
    for (int i = 0; i < mesh_nodes(); i++) mesh_send(i, FRAME_KILL, &body);
    wire_free(&body);
}

static void kill_late(void* argument) {
    struct late_kill* late = argument;
    send_kill(late->procs, late->count, SIGKILL, false);
    free(late->procs);
    free(late);
}

static void end_procs(const pmix_proc_t* procs, size_t count, bool launch_failed) {
    struct late_kill* late = xcalloc(1, sizeof *late);
    late->procs = memcpy(xcalloc(count, sizeof *procs), procs, count * sizeof *procs);
    late->count = count;
    send_kill(procs, count, SIGTERM, launch_failed);
    loop_after(options->kill_after, kill_late, late);
}

static void kill_procs(const pmix_proc_t* procs, size_t count) {
    end_procs(procs, count, false);
}

static void expect_end_of(const pmix_proc_t* procs, size_t count, bool by_user) {
    for (struct job* job = jobs_first(); job; job = job->next) {
        for (uint32_t rank = 0; rank < job->size; rank++) {
            if (!procs_match(procs, count, job->nspace, rank)) continue;
            job->procs[rank].expected = true;
            job->procs[rank].by_user = job->procs[rank].by_user || by_user;
        }
    }
}

static void force(void* argument) {
    (void)argument;
    for (int i = 0; i < mesh_nodes(); i++) {
        if (daemons[i] > 0) kill(daemons[i], SIGKILL);
    }
    quitting = true;
    output_given_up = timed_out;
    maybe_stop();
}

static void quit(void) {
    if (quitting) return;
    quitting = true;
    for (int i = 0; i < mesh_nodes(); i++) mesh_send(i, FRAME_QUIT, NULL);
    loop_after(kUntilForced, force, NULL);
    maybe_stop();
}

static void signal_all_jobs(void (*how)(const pmix_proc_t* procs, size_t count)) {
    for (struct job* job = jobs_first(); job; job = job->next) {
        pmix_proc_t all;
        PMIX_LOAD_PROCID(&all, job->nspace, PMIX_RANK_WILDCARD);
        how(&all, 1);
    }
}

void head_end_everything(int status) {
    if (exit_status == 0) exit_status = status;
    if (ending) return;
    ending = true;
    signal_all_jobs(kill_procs);
    double granted = options->kill_after;
    if (nodes_lost && options->linger > granted) granted = options->linger;
    loop_after(granted + kUntilForced, force, NULL);
}

static void job_over(struct job* job) {
    report_job_ended(job);
    struct buffer body = {0};
    wire_put_string(&body, job->nspace);
    wire_put_u8(&body, !job->cut_short);
    for (int i = 0; i < mesh_nodes(); i++) mesh_send(i, FRAME_JOB_ENDED, &body);
    wire_free(&body);
    jobs_remove(job);
    if (!jobs_first() && launches == 0) quit();
}

/* --- processes ---------------------------------------------------------------------------------------------------- */

static void report_end(const struct job* job, uint32_t rank, int wait_status, bool without_finalize) {
    int code = WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
    if (options->verbose) say("%s ended: wait status %#x", spell(job, rank), (unsigned)wait_status);
    if (code == 0 && without_finalize) code = 1;
    if (code != 0 && job->procs[rank].by_user && exit_status == 0) exit_status = code;
    if (code == 0 || ending || job->procs[rank].expected) return;
    uint32_t where = job_node_of(job, rank) + 1;
    if (WIFSIGNALED(wait_status)) {
        say("%s on node%u was ended by signal %d (%s)", spell(job, rank), where, WTERMSIG(wait_status),
            strsignal(WTERMSIG(wait_status)));
    } else if (wait_status == 0) {
        say("%s on node%u ended without PMIx_Finalize", spell(job, rank), where);
    } else {
        say("%s on node%u ended with status %d", spell(job, rank), where, code);
    }
    if (job->wanted & IS_RECOVERABLE) return;
    if (exit_status == 0) exit_status = code;
    if (options->continuous) return;
    report_jobs_terminated();
    head_end_everything(code);
}

/* The daemon of its node cannot tell the others any more. */
static void tell_end_for_lost_node(const struct job* job, uint32_t rank, int wait_status) {
    pmix_proc_t name;
    struct buffer body = {0};
    PMIX_LOAD_PROCID(&name, job->nspace, rank);
    wire_put_proc(&body, &name);
    wire_put_u32(&body, (uint32_t)wait_status);
    wire_put_u8(&body, 0);
    wire_put_u8(&body, job->launch_failed);
    for (int i = 0; i < mesh_nodes(); i++) mesh_send(i, FRAME_EXIT, &body);
    wire_free(&body);
}

static void proc_ended(struct job* job, uint32_t rank, int wait_status, bool without_finalize) {
    struct proc* proc = &job->procs[rank];
    if (proc->phase == PROC_ENDED) return;
    if (!mesh_alive((int)job_node_of(job, rank))) tell_end_for_lost_node(job, rank, wait_status);
    report_end(job, rank, wait_status, without_finalize);
    report_proc_ended(job, rank, wait_status, without_finalize);
    proc->phase = PROC_ENDED;
    proc->wait_status = wait_status;
    if (--job->alive == 0 && launches == 0) job_over(job);
}

static void on_exit_frame(int from, uint64_t id, struct buffer* body) {
    (void)from, (void)id;
    pmix_proc_t name;
    wire_get_proc(body, &name);
    int wait_status = (int)wire_get_u32(body);
    bool without_finalize = wire_get_u8(body);
    struct job* job = job_find(name.nspace);
    if (!body->bad && job && name.rank < job->size) proc_ended(job, name.rank, wait_status, without_finalize);
}

static void on_abort(int from, uint64_t id, struct buffer* body) {
    (void)from, (void)id;
    pmix_proc_t caller, own_job;
    size_t count;
    wire_get_proc(body, &caller);
    int status = (int)wire_get_u32(body);
    char* message = wire_get_string(body);
    pmix_proc_t* targets = wire_get_procs(body, &count);
    const struct job* job = job_find(caller.nspace);
    if (!body->bad && (job || count > 0)) { /* a tool that names nobody is all of its namespace */
        say("%s aborted with status %d%s%s", job ? spell(job, caller.rank) : "a tool", status,
            message && *message ? ": " : "", message ? message : "");
        int code = status == 0 ? 0 : (status & 0xff) ? (status & 0xff) : 1;
        own_job = caller;
        own_job.rank = PMIX_RANK_WILDCARD;
        expect_end_of(count ? targets : &own_job, count ? count : 1, !job);
        if (exit_status == 0) exit_status = code;
        if (count > 0 || options->continuous)
            kill_procs(count ? targets : &own_job, count ? count : 1);
        else
            head_end_everything(code);
    }
    free(message);
    free(targets);
}

static void on_output_lost(int from, uint64_t id, struct buffer* body) {
    (void)from, (void)id, (void)body;
    if (exit_status == 0) exit_status = 1;
}

static void on_control(int from, uint64_t id, struct buffer* body) {
    (void)from, (void)id;
    size_t count;
    pmix_proc_t* targets = wire_get_procs(body, &count);
    int signal_number = (int)wire_get_u32(body);
    bool by_user = wire_get_u8(body);
    if (!body->bad) {
        if (signal_number == SIGKILL || signal_number == SIGTERM) expect_end_of(targets, count, by_user);
        send_kill(targets, count, signal_number, false);
    }
    free(targets);
}

/* --- launching ---------------------------------------------------------------------------------------------------- */

static void answer_requester(struct launch* launch) {
    struct buffer body = {0};
    if (launch->requester < 0 || launch->answered) return;
    launch->answered = true;
    if (launch->status == PMIX_SUCCESS) wire_put_string(&body, launch->job->nspace);
    mesh_reply(launch->requester, launch->id, launch->status, &body);
    wire_free(&body);
}

/* The requester does not wait longer; processes started meanwhile are ended when all nodes have reported theirs. */
static void start_takes_too_long(void* argument) {
    struct launch* launch = argument;
    launch->timer = NULL;
    say("job %u was not started in time", launch->job->number);
    if (launch->status == PMIX_SUCCESS) launch->status = PMIX_ERR_TIMEOUT;
    answer_requester(launch);
}

static void time_limit_over(void* argument) {
    for (struct job* job = jobs_first(); job; job = job->next) {
        pmix_proc_t all;
        if (job->number != (uint32_t)(uintptr_t)argument) continue;
        PMIX_LOAD_PROCID(&all, job->nspace, PMIX_RANK_WILDCARD);
        say("job %u did not end in the time it was given", job->number);
        if (job->term_status == PMIX_SUCCESS) job->term_status = PMIX_ERR_TIMEOUT;
        expect_end_of(&all, 1, false);
        kill_procs(&all, 1);
        return;
    }
}

static void launched(struct launch* launch) {
    struct job* job = launch->job;
    pmix_proc_t all;
    PMIX_LOAD_PROCID(&all, job->nspace, PMIX_RANK_WILDCARD);
    launches--;
    loop_cancel(launch->timer);
    if (launch->requester < 0) progress_end();
    if (launch->status == PMIX_SUCCESS) {
        report_launch_complete(job);
        if (launch->time_limit > 0) loop_after(launch->time_limit, time_limit_over, (void*)(uintptr_t)job->number);
    }
    answer_requester(launch);
    if (launch->status != PMIX_SUCCESS) {
        job->term_status = launch->status;
        job->launch_failed = true;
        job_end_unstarted(job);
        expect_end_of(&all, 1, false);
        end_procs(&all, 1, true);
        if (launch->requester < 0) head_end_everything(EXIT_CANNOT_START);
    } else if (launch->requester < 0) {
        headio_stdin_to(job, options);
    }
    free(launch);
    for (struct job *each = jobs_first(), *next; each && launches == 0; each = next) {
        next = each->next;
        if (each->alive == 0) job_over(each);
    }
}

static void started(pmix_status_t status, struct buffer* body, void* argument) {
    struct launch* launch = argument;
    struct job* job = launch->job;
    uint32_t count = body->size ? wire_get_u32(body) : 0;
    for (uint32_t i = 0; i < count && !body->bad; i++) {
        uint32_t rank = wire_get_u32(body);
        pid_t pid = (pid_t)wire_get_u32(body);
        if (rank >= job->size) continue;
        if (launch->requester < 0) progress_node((int)job_node_of(job, rank), count);
        job->procs[rank].pid = pid;
        if (job->procs[rank].phase == PROC_DEFINED) job->procs[rank].phase = PROC_RUNNING;
    }
    if (count > 0 && !launch->first_runs) report_job_started(job);
    launch->first_runs = launch->first_runs || count > 0;
    char* why = body->size ? wire_get_string(body) : NULL;
    if (status != PMIX_SUCCESS && launch->status == PMIX_SUCCESS) {
        launch->status = status;
        say("%s", why ? why : PMIx_Error_string(status));
    }
    free(why);
    if (--launch->outstanding == 0) launched(launch);
}

static void on_progress(int from, uint64_t id, struct buffer* body) {
    (void)id;
    uint32_t up = wire_get_u32(body);
    if (!body->bad) progress_node(from, up);
}

/* A node that was lost before has no part in the job. One that has, and is lost now, makes the launch fail. */
static bool takes_part(const struct job* job, int number) {
    return mesh_alive(number) || job_size_on(job, (uint32_t)number) > 0;
}

static void ask_nodes(struct launch* launch, enum frame frame, const struct buffer* body, reply_handler done) {
    launch->outstanding = 0;
    for (int i = 0; i < mesh_nodes(); i++) launch->outstanding += takes_part(launch->job, i);
    for (int i = 0; i < mesh_nodes(); i++) {
        if (takes_part(launch->job, i)) mesh_request(i, frame, body, 0, done, launch);
    }
}

static void defined(pmix_status_t status, struct buffer* body, void* argument) {
    (void)body;
    struct launch* launch = argument;
    if (status != PMIX_SUCCESS && launch->status == PMIX_SUCCESS) {
        launch->status = status;
        say("cannot register job %u: %s (%d)", launch->job->number, PMIx_Error_string(status), status);
    }
    if (--launch->outstanding > 0) return;
    if (ending && launch->status == PMIX_SUCCESS) launch->status = PMIX_ERR_JOB_CANCELED;
    if (launch->status != PMIX_SUCCESS) {
        launched(launch);
        return;
    }
    jobio_empty_shared_file(&launch->job->io, launch->job);
    struct buffer name = {0};
    wire_put_string(&name, launch->job->nspace);
    ask_nodes(launch, FRAME_JOB_START, &name, started);
    wire_free(&name);
}

static struct launch* launch_new(struct app* apps, uint32_t app_count, struct layout layout, const pmix_proc_t* parent,
                                 int requester, uint64_t id) {
    pmix_nspace_t nspace;
    snprintf(nspace, sizeof nspace, "%s.%u", base_name, job_count + 1);
    struct job* job = job_new(nspace, job_count + 1, (uint32_t)options->nodes, layout, apps, app_count, parent);
    if (!job) return NULL;
    struct launch* launch = xcalloc(1, sizeof *launch);
    job->first_global = process_count;
    process_count += job->size;
    job_count++;
    launch->job = job;
    launch->requester = requester;
    launch->id = id;
    return launch;
}

static void launch_job(struct launch* launch) {
    launches++;
    job_place_beside_others(launch->job);
    jobs_add(launch->job);
    struct buffer body = {0};
    job_put(&body, launch->job);
    ask_nodes(launch, FRAME_JOB_DEFINE, &body, defined);
    wire_free(&body);
}

static void on_spawn(int from, uint64_t id, struct buffer* body) {
    pmix_proc_t requester, parent;
    wire_get_proc(body, &requester);
    wire_get_proc(body, &parent);
    struct layout layout = layout_get(body);
    uint32_t wanted = wire_get_u32(body), start_limit = wire_get_u32(body), time_limit = wire_get_u32(body);
    struct job_io io;
    jobio_get(body, &io);
    uint32_t count = wire_get_u32(body);
    if (body->bad || count > body->size || ending) {
        jobio_destruct(&io);
        mesh_reply(from, id, ending ? PMIX_ERR_JOB_CANCELED : PMIX_ERR_BAD_PARAM, NULL);
        return;
    }
    struct app* apps = apps_get(body, count);
    bool there = apps_keep_to(apps, count, (uint32_t)mesh_nodes(), mesh_alive);
    struct launch* launch = there ? launch_new(apps, count, layout, &parent, from, id) : NULL;
    if (!launch) {
        jobio_destruct(&io);
        if (!there) apps_free(apps, count);
        mesh_reply(from, id, there ? PMIX_ERR_JOB_INSUFFICIENT_RESOURCES : PMIX_ERR_JOB_ALLOC_FAILED, NULL);
        return;
    }
    launch->job->requester = requester;
    launch->job->wanted = wanted;
    launch->job->io = io;
    launch->time_limit = time_limit;
    if (start_limit > 0) launch->timer = loop_after(start_limit, start_takes_too_long, launch);
    launch_job(launch);
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

/* The processes of a lost node are the keeper's children now; those that are not, because they ended with it, count as
 * killed. */
static void end_lost_node(void* argument) {
    int number = (int)(intptr_t)argument;
    for (struct job *job = jobs_first(), *next; job; job = next) {
        next = job->next;
        for (uint32_t i = 0, size = job_size_on(job, (uint32_t)number); i < size; i++) {
            uint32_t rank = job_rank_at(job, (uint32_t)number, i);
            if (job->procs[rank].phase == PROC_RUNNING) kill(-job->procs[rank].pid, SIGKILL);
            bool last = job->alive == 1;
            if (job->procs[rank].phase != PROC_ENDED) proc_ended(job, rank, SIGKILL, false);
            if (last) break; /* the job may be gone */
        }
    }
}

static void node_lost(int number) {
    if (quitting) return;
    say("node%d was lost", number + 1);
    nodes_lost = true;
    if (exit_status == 0) exit_status = 128 + SIGKILL;
    loop_after(options->linger + 0.1, end_lost_node, (void*)(intptr_t)number);
    if (!options->continuous) head_end_everything(128 + SIGKILL);
}

static bool orphan_ended(pid_t pid, int wait_status) {
    for (struct job* job = jobs_first(); job; job = job->next) {
        for (uint32_t rank = 0; rank < job->size; rank++) {
            if (job->procs[rank].pid != pid || job->procs[rank].phase != PROC_RUNNING) continue;
            proc_ended(job, rank, wait_status, false);
            return true;
        }
    }
    return false;
}

static void child_ended(pid_t pid, int wait_status) {
    int number = 0;
    while (number < mesh_nodes() && daemons[number] != pid) number++;
    if (number == mesh_nodes()) {
        orphan_ended(pid, wait_status);
        return;
    }
    daemons[number] = 0;
    daemons_alive--;
    if (wait_status != 0 && quitting) {
        say("the daemon of node%d ended badly: wait status %#x", number + 1, (unsigned)wait_status);
        if (exit_status == 0) exit_status = EXIT_DAEMON;
    }
    maybe_stop();
}

/* The daemons are the keeper's children, so the keeper reports their end. */
static void keeper_ready(int fd, short events, void* argument) {
    (void)events, (void)argument;
    struct child_end end;
    ssize_t got = read(fd, &end, sizeof end);
    if (got == (ssize_t)sizeof end) {
        child_ended(end.pid, end.wait_status);
    } else if (got == 0) {
        loop_unwatch(fd); /* it is gone, and its children are ours now: see reap() */
    }
}

static void reap(void) {
    int wait_status;
    for (pid_t pid; (pid = waitpid(-1, &wait_status, WNOHANG)) > 0;) {
        if (pid == keeper_pid) {
            /* The daemons end with it, by their own timers. */
            say("the keeper of the nodes was lost");
            head_end_everything(128 + SIGKILL);
        } else {
            child_ended(pid, wait_status);
        }
    }
    maybe_stop();
}

/* --- signals, time ------------------------------------------------------------------------------------------------ */

static void kill_now(const pmix_proc_t* procs, size_t count) {
    send_kill(procs, count, SIGKILL, false);
}

static void signal_ready(int fd, short events, void* argument) {
    (void)events, (void)argument;
    struct signalfd_siginfo info;
    while (read(fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD) continue;
        if (quitting && daemons_alive == 0) stop = true; /* only the output is still waiting */
        if (ending)
            signal_all_jobs(kill_now);
        else
            say("%s: ending the job", strsignal((int)info.ssi_signo));
        head_end_everything(128 + (int)info.ssi_signo);
    }
    reap();
}

/* A signal that was ignored when we began (nohup, a background job of a script) stays ignored: one that is blocked
 * would be queued for the descriptor nevertheless. */
void head_block_signals(sigset_t* set) {
    static const int kEnds[] = {SIGINT, SIGTERM, SIGHUP};
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    for (size_t i = 0; i < sizeof kEnds / sizeof *kEnds; i++) {
        struct sigaction now;
        if (sigaction(kEnds[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN) sigaddset(set, kEnds[i]);
    }
    sigprocmask(SIG_SETMASK, set, NULL);
}

static void time_over(void* argument) {
    (void)argument;
    timed_out = true;
    say("the job did not end within %g seconds", options->timeout);
    head_end_everything(EXIT_TIMEOUT);
}

int head_main(const struct options* given, const char* server_nspace, const struct keeper* keeper,
              const pid_t* node_daemons, int* sockets) {
    static const frame_handler handlers[FRAME_KINDS] = {
        [FRAME_SPAWN] = on_spawn,
        [FRAME_ABORT] = on_abort,
        [FRAME_CONTROL] = on_control,
        [FRAME_EXIT] = on_exit_frame,
        [FRAME_OUTPUT] = on_output,
        [FRAME_PROGRESS] = on_progress,
        [FRAME_OUTPUT_LOST] = on_output_lost,
    };
    options = given;
    base_name = server_nspace;
    daemons_alive = options->nodes;
    keeper_pid = keeper->pid;
    memcpy(daemons, node_daemons, (size_t)options->nodes * sizeof *daemons);
    sigset_t set;
    head_block_signals(&set);
    signal(SIGPIPE, SIG_IGN);
    int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0 || !loop_start()) {
        say("cannot start");
        return 1;
    }
    struct mesh_setup setup = {options->nodes, options->nodes, sockets, handlers, node_lost};
    mesh_start(&setup);
    headio_start(maybe_stop);
    loop_watch(signals, POLLIN, signal_ready, NULL);
    loop_watch(keeper->line, POLLIN, keeper_ready, NULL);
    if (options->timeout > 0) loop_after(options->timeout, time_over, NULL);
    struct layout layout = {options->placement, options->placement};
    struct launch* first = launch_new(options->apps, options->app_count, layout, NULL, -1, 0);
    first->job->io = options_io(options);
    progress_begin(first->job->size);
    launch_job(first);
    loop_run(&stop);
    headio_end();
    sweep_processes();
    return exit_status;
}
