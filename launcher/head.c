/* SPDX-License-Identifier: BSD-3-Clause */
/* A job is defined on every node before a process of it starts anywhere; it is over when all its processes have ended;
 * when all jobs are over the nodes are told to quit, and when they have, and all output is written, so does the head.
 * What can go wrong is handled here: a process fails, aborts, or cannot be started; a node is lost; the time is over; a
 * signal is received. Each ends in head_end_everything(), or with --continuous has no further effect. */
#include "head.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemons.h"
#include "debug.h"
#include "loop.h"
#include "progress.h"
#include "report.h"
#include "starts.h"
#include "sweep.h"

static const double kUntilForced = 10; /* seconds that the nodes have to quit, beside what the user grants */

enum { EXIT_DAEMON = 1 };

struct late_kill { /* SIGKILL for processes that have got SIGTERM */
    pmix_proc_t* procs;
    size_t count;
};

static const struct options* options;
static pid_t keeper_pid;
static int keeper_line;
static int exit_status;
static bool ending, quitting, stop, nodes_lost;
static bool timed_out, output_given_up; /* --timeout limits the wait for the reader of our output too */

void head_say(const char* format, ...) {
    static const char lead[] = "pmixrun: ";
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int length = vsnprintf(NULL, 0, format, arguments); /* a message of PMIx_Abort is as long as it is */
    va_end(arguments);
    char* const line = xcalloc(sizeof lead + (size_t)length + 1, 1);
    memcpy(line, lead, sizeof lead);
    vsnprintf(line + sizeof lead - 1, (size_t)length + 1, format, again);
    va_end(again);
    line[sizeof lead - 1 + (size_t)length] = '\n';
    progress_hide();
    headio_say(line);
    free(line);
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
    if (quitting && daemons_all_over() && (headio_drained() || output_given_up)) stop = true;
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

void head_end_procs(const pmix_proc_t* procs, size_t count, bool launch_failed) {
    struct late_kill* late = xcalloc(1, sizeof *late);
    late->procs = memcpy(xcalloc(count, sizeof *procs), procs, count * sizeof *procs);
    late->count = count;
    send_kill(procs, count, SIGTERM, launch_failed);
    loop_after(options->kill_after, kill_late, late);
}

static void kill_procs(const pmix_proc_t* procs, size_t count) {
    head_end_procs(procs, count, false);
}

void head_expect_end_of(const pmix_proc_t* procs, size_t count, bool by_user) {
    for (struct job* job = jobs_first(); job; job = job->next) {
        for (uint32_t rank = 0; rank < job->size; rank++) {
            if (!procs_match(procs, count, job->nspace, rank)) continue;
            job->procs[rank].expected = true;
            job->procs[rank].by_user = job->procs[rank].by_user || by_user;
        }
    }
}

static void give_up(void* argument) {
    (void)argument;
    daemons_give_up();
}

static void force(void* argument) {
    (void)argument;
    daemons_kill();
    loop_after(KILLED_SECONDS, give_up, NULL);
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

bool head_is_ending(void) {
    return ending;
}

void head_end_everything(int status) {
    if (exit_status == 0) exit_status = status;
    if (ending) return;
    ending = true;
    signal_all_jobs(kill_procs);
    double granted = options->kill_after;
    if (nodes_lost && options->linger > granted) granted = options->linger;
    loop_after(granted + kUntilForced, force, NULL);
    if (!jobs_first() && !starts_in_progress()) quit(); /* nothing has been started yet */
}

static void end_job(const struct job* job) {
    pmix_proc_t all;
    PMIX_LOAD_PROCID(&all, job->nspace, PMIX_RANK_WILDCARD);
    head_expect_end_of(&all, 1, false);
    head_end_procs(&all, 1, false);
}

void head_end_children(const char* nspace) {
    for (struct job* job = jobs_first(); job; job = job->next) {
        if ((job->wanted & ENDS_WITH_PARENT) && strncmp(job->parent.nspace, nspace, PMIX_MAX_NSLEN) == 0) end_job(job);
    }
}

void head_job_over(struct job* job) {
    report_job_ended(job);
    head_end_children(job->nspace);
    struct buffer body = {0};
    wire_put_string(&body, job->nspace);
    wire_put_u8(&body, !job->cut_short);
    for (int i = 0; i < mesh_nodes(); i++) mesh_send(i, FRAME_JOB_ENDED, &body);
    wire_free(&body);
    starts_job_over(job);
    jobs_remove(job);
    if (!jobs_first() && !starts_in_progress()) quit();
}

/* The command line's own job has no parent that would decide. */
static bool tells_parent(const struct job* job) {
    return (job->wanted & TELLS_PARENT) != 0 && job->parent.nspace[0] != '\0';
}

/* --- processes ---------------------------------------------------------------------------------------------------- */

/* True: its own job ends with it, and nothing else. */
static bool report_end(const struct job* job, uint32_t rank, int wait_status, bool without_finalize) {
    int code = WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
    if (options->verbose) head_say("%s ended: wait status %#x", spell(job, rank), (unsigned)wait_status);
    if (code == 0 && without_finalize) code = 1;
    if (code != 0 && job->procs[rank].by_user && exit_status == 0) exit_status = code;
    if (code == 0 || ending || job->procs[rank].expected) return false;
    uint32_t where = job_node_of(job, rank) + 1;
    if (WIFSIGNALED(wait_status)) {
        head_say("%s on node%u was ended by signal %d (%s)", spell(job, rank), where, WTERMSIG(wait_status),
                 strsignal(WTERMSIG(wait_status)));
    } else if (wait_status == 0) {
        head_say("%s on node%u ended without PMIx_Finalize", spell(job, rank), where);
    } else {
        head_say("%s on node%u ended with status %d", spell(job, rank), where, code);
    }
    if (job->wanted & IS_RECOVERABLE) return false;
    if (exit_status == 0) exit_status = code;
    if (options->continuous) return false;
    if (tells_parent(job)) return true; /* which decides what to do about it */
    report_jobs_terminated();
    head_end_everything(code);
    return false;
}

/* The daemon of its node cannot tell the others any more. */
static void tell_end_for_lost_node(const struct job* job, uint32_t rank, int wait_status, bool without_finalize) {
    pmix_proc_t name;
    struct buffer body = {0};
    PMIX_LOAD_PROCID(&name, job->nspace, rank);
    wire_put_proc(&body, &name);
    wire_put_u32(&body, (uint32_t)wait_status);
    wire_put_u8(&body, without_finalize);
    wire_put_u8(&body, job->launch_failed);
    wire_put_u8(&body, job->procs[rank].aborted);
    for (int i = 0; i < mesh_nodes(); i++) mesh_send(i, FRAME_EXIT, &body);
    wire_free(&body);
}

static void proc_ended(struct job* job, uint32_t rank, int wait_status, bool without_finalize) {
    struct proc* proc = &job->procs[rank];
    if (proc->phase == PROC_ENDED) return;
    if (!mesh_alive((int)job_node_of(job, rank))) tell_end_for_lost_node(job, rank, wait_status, without_finalize);
    const bool alone = report_end(job, rank, wait_status, without_finalize);
    report_proc_ended(job, rank, wait_status, without_finalize);
    if (alone) end_job(job);
    proc->phase = PROC_ENDED;
    proc->wait_status = wait_status;
    proc->lost = without_finalize;
    debug_proc_ended(job);
    if (--job->alive == 0 && !job->starting) head_job_over(job);
}

static void on_exit_frame(int from, uint64_t id, struct buffer* body) {
    (void)from, (void)id;
    pmix_proc_t name;
    wire_get_proc(body, &name);
    int wait_status = (int)wire_get_u32(body);
    bool without_finalize = wire_get_u8(body);
    (void)wire_get_u8(body); /* its launch failed: the head was the first to know */
    bool aborted = wire_get_u8(body);
    struct job* job = job_find(name.nspace);
    if (body->bad || !job || name.rank >= job->size) return;
    job->procs[name.rank].aborted = aborted;
    proc_ended(job, name.rank, wait_status, without_finalize);
}

/* Whole jobs that are aborted end with the status of the abort, not with that of a process that was killed. */
static void note_abort(const pmix_proc_t* targets, size_t count, const pmix_proc_t* caller, int code) {
    for (struct job* job = jobs_first(); job; job = job->next) {
        bool own = strncmp(job->nspace, caller->nspace, PMIX_MAX_NSLEN) == 0;
        if (job->term_status != PMIX_SUCCESS || !procs_match(targets, count, job->nspace, PMIX_RANK_WILDCARD)) continue;
        job->term_status = PMIX_ERR_JOB_ABORTED;
        job->failed_rank = own ? caller->rank : PMIX_RANK_UNDEF;
        job->failed_code = code;
    }
}

static bool all_of_job(const pmix_proc_t* procs, size_t count, const struct job* job) {
    for (size_t i = 0; i < count; i++) {
        if (strncmp(procs[i].nspace, job->nspace, PMIX_MAX_NSLEN) != 0) return false;
    }
    return true;
}

static void on_abort(int from, uint64_t id, struct buffer* body) {
    (void)from, (void)id;
    pmix_proc_t caller, own_job;
    size_t count;
    wire_get_proc(body, &caller);
    int status = (int)wire_get_u32(body);
    char* message = wire_get_string(body);
    pmix_proc_t* named = wire_get_procs(body, &count);
    const struct job* job = job_find(caller.nspace);
    if (!body->bad && (job || count > 0)) { /* a tool that names nobody is all of its namespace */
        head_say("%s aborted with status %d%s%s", job ? spell(job, caller.rank) : "a tool", status,
                 message && *message ? ": " : "", message ? message : "");
        int code = status == 0 ? 0 : (status & 0xff) ? (status & 0xff) : 1;
        own_job = caller;
        own_job.rank = PMIX_RANK_WILDCARD;
        const pmix_proc_t* targets = count ? named : &own_job;
        size_t ntargets = count ? count : 1;
        const bool alone = job && all_of_job(targets, ntargets, job);
        const bool recoverable = alone && (job->wanted & IS_RECOVERABLE);
        const bool told = alone && tells_parent(job);
        head_expect_end_of(targets, ntargets, !job);
        note_abort(targets, ntargets, &caller, code);
        if (exit_status == 0 && !recoverable) exit_status = code;
        if (count > 0 || recoverable || told || options->continuous)
            kill_procs(targets, ntargets);
        else
            head_end_everything(code);
    }
    free(message);
    free(named);
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
        if (signal_number == SIGKILL || signal_number == SIGTERM) head_expect_end_of(targets, count, by_user);
        send_kill(targets, count, signal_number, false);
    }
    free(targets);
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

/* The end of a process may be known before the loss of its daemon, which then has reported it to nobody else. Nodes
 * that have the report pass over a second one. */
static void repeat_ends_on(uint32_t number) {
    for (const struct job* job = jobs_first(); job; job = job->next) {
        for (uint32_t i = 0, size = job_size_on(job, number); i < size; i++) {
            const uint32_t rank = job_rank_at(job, number, i);
            const struct proc* proc = &job->procs[rank];
            if (proc->phase == PROC_ENDED) tell_end_for_lost_node(job, rank, proc->wait_status, proc->lost);
        }
    }
}

static void node_lost(int number) {
    if (quitting) return;
    repeat_ends_on((uint32_t)number);
    head_say("node%d was lost", number + 1);
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
    const int number = daemons_number_of(pid);
    if (number < 0) {
        orphan_ended(pid, wait_status);
        return;
    }
    if (wait_status != 0 && quitting) {
        head_say("the daemon of node%d ended badly: wait status %#x", number + 1, (unsigned)wait_status);
        if (exit_status == 0) exit_status = EXIT_DAEMON;
    }
    daemons_reported(number);
}

/* The daemons are the keeper's children, so the keeper reports their end. */
static void keeper_ready(int fd, short events, void* argument) {
    (void)events, (void)argument;
    struct child_end end;
    ssize_t got;
    while ((got = read(fd, &end, sizeof end)) == (ssize_t)sizeof end) child_ended(end.pid, end.wait_status);
    if (got == 0) loop_unwatch(fd); /* it is gone, and its children are ours now: see reap() */
}

static void reap(void) {
    int wait_status;
    bool keeper_gone = false;
    for (pid_t pid; (pid = waitpid(-1, &wait_status, WNOHANG)) > 0;) {
        if (pid == keeper_pid) {
            /* The daemons end with it, by their own timers. */
            head_say("the keeper of the nodes was lost");
            head_end_everything(128 + SIGKILL);
            keeper_gone = true;
        } else {
            child_ended(pid, wait_status);
        }
    }
    if (keeper_gone) {
        keeper_ready(keeper_line, POLLIN, NULL);
        daemons_no_more_reports();
    }
    maybe_stop();
}

/* --- signals, time ------------------------------------------------------------------------------------------------ */

static void kill_now(const pmix_proc_t* procs, size_t count) {
    send_kill(procs, count, SIGKILL, false);
}

static void pass_on(int signal_number) {
    for (struct job* job = jobs_first(); job; job = job->next) {
        pmix_proc_t all;
        PMIX_LOAD_PROCID(&all, job->nspace, PMIX_RANK_WILDCARD);
        send_kill(&all, 1, signal_number, false);
    }
}

static void signal_ready(int fd, short events, void* argument) {
    (void)events, (void)argument;
    struct signalfd_siginfo info;
    while (read(fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD) continue;
        if (info.ssi_signo == SIGUSR1 || info.ssi_signo == SIGUSR2) { /* the application's own: for its processes */
            pass_on((int)info.ssi_signo);
            continue;
        }
        if (quitting && daemons_all_over()) stop = true; /* only the output is still waiting */
        if (ending)
            signal_all_jobs(kill_now);
        else
            head_say("%s: ending the job", strsignal((int)info.ssi_signo));
        head_end_everything(128 + (int)info.ssi_signo);
    }
    reap();
}

/* A signal that was ignored when we began (nohup, a background job of a script) stays ignored: one that is blocked
 * would be queued for the descriptor nevertheless. */
void head_block_signals(sigset_t* set) {
    static const int kOurs[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    for (size_t i = 0; i < sizeof kOurs / sizeof *kOurs; i++) {
        struct sigaction now;
        if (sigaction(kOurs[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN) sigaddset(set, kOurs[i]);
    }
    sigprocmask(SIG_SETMASK, set, NULL);
}

static void time_over(void* argument) {
    (void)argument;
    timed_out = true;
    head_say("the job did not end within %g seconds", options->timeout);
    head_end_everything(EXIT_TIMEOUT);
}

/* --- the tool that has started this pmixrun ----------------------------------------------------------------------- */

static void on_released(int from, uint64_t id, struct buffer* body) {
    (void)from, (void)id, (void)body;
    liaison_release(options->liaison);
}

static void on_server_up(int from, uint64_t id, struct buffer* body) {
    (void)from, (void)id, (void)body;
    liaison_server_up(options->liaison);
}

static void liaison_ready(int fd, short events, void* argument) {
    (void)events, (void)argument;
    struct tidings tidings = liaison_read(fd);
    if (!tidings.good) loop_unwatch(fd);
    if (tidings.gone && !ending) {
        head_say("the tool that has started this is gone: ending the job");
        head_end_everything(128 + SIGHUP);
    } else if (!starts_begun() && !ending && (!tidings.good || tidings.unmet)) {
        head_say("the directives of the tool that has started this cannot be had");
        head_end_everything(127);
    } else if (!starts_begun() && !ending) {
        starts_begin(&tidings);
    }
    infos_free(tidings.infos, tidings.count);
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
        [FRAME_READY_FOR_DEBUG] = on_ready_for_debug,
        [FRAME_RELEASED] = on_released,
        [FRAME_SERVER_UP] = on_server_up,
    };
    options = given;
    keeper_pid = keeper->pid;
    keeper_line = keeper->line;
    fcntl(keeper_line, F_SETFL, O_NONBLOCK);
    sigset_t set;
    head_block_signals(&set);
    signal(SIGPIPE, SIG_IGN);
    int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0 || !loop_start()) {
        head_say("cannot start");
        return 1;
    }
    struct mesh_setup setup = {options->nodes, options->nodes, sockets, handlers, node_lost};
    mesh_start(&setup);
    headio_start(maybe_stop);
    loop_watch(signals, POLLIN, signal_ready, NULL);
    loop_watch(keeper_line, POLLIN, keeper_ready, NULL);
    daemons_watch(node_daemons, options->nodes, kUntilForced, maybe_stop);
    if (options->timeout > 0) loop_after(options->timeout, time_over, NULL);
    if (options->verbose) head_say("process %d, servers %s", (int)getpid(), server_nspace);
    starts_prepare(options, server_nspace);
    if (options->liaison >= 0)
        loop_watch(options->liaison, POLLIN, liaison_ready, NULL);
    else
        starts_begin(NULL);
    loop_run(&stop);
    if (options->liaison >= 0) liaison_end(options->liaison);
    headio_end();
    if (!sweep_processes(KILLED_SECONDS) && exit_status == 0) exit_status = EXIT_DAEMON;
    return exit_status;
}
