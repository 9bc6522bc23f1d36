/* SPDX-License-Identifier: BSD-3-Clause */
/* launch.c: the processes of this node: registered, forked, killed, and reaped.
 *
 * What this owns: the processes' place in the job list (their pids), and nothing else: the kernel keeps the rest. Each
 * is the leader of a process group of its own, so that what it started ends with it, and dies with this daemon. What it
 * started and still has one of its streams (bash's >(tee FILE)) may write on for kSpared seconds: until then the rank
 * has not ended for others, and stays a zombie, so that the number of its group is still its own. Which thread calls
 * it: the loop. The library's threads run beside it, so the child of a fork calls nothing but what POSIX allows there,
 * until it is another program. What can go wrong: a program that cannot be started (PMIX_ERR_JOB_EXE_NOT_FOUND and its
 * like, with a sentence that has the reason), no more processes. Then nothing of the job is left running. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpus.h"
#include "loop.h"
#include "node.h"

extern char** environ;

struct running { /* a process of ours: which one a pid is */
    struct running* next;
    pid_t pid; /* 0: reaped, and its end on the way through the loop */
    int wait_status;
    pmix_proc_t name;
    struct streams* streams;
    bool spared;         /* it has ended, and others that have its streams have not */
    struct timer* sweep; /* of a spared one: when they are killed */
};

static const double kSpared = 2; /* seconds, in which their output is read */

static struct running* all_running;
static size_t spared_count;

static const double kMostUntilExec = 60; /* seconds */

/* --- the environment ---------------------------------------------------------------------------------------------- */

static size_t name_length(const char* setting) {
    return strcspn(setting, "=");
}

/* Sets NAME=VALUE, or unsets NAME. */
static void change_env(char*** env, const char* setting) {
    size_t length = name_length(setting), count = strings_count(*env), i = 0;
    while (i < count && (name_length((*env)[i]) != length || strncmp((*env)[i], setting, length) != 0)) i++;
    bool set = setting[length] == '=';
    if (i < count) {
        free((*env)[i]);
        (*env)[i] = set ? xstrdup(setting) : (*env)[count - 1];
        if (!set) (*env)[count - 1] = NULL;
    } else if (set) {
        *env = xrealloc(*env, (count + 2) * sizeof **env);
        (*env)[count] = xstrdup(setting);
        (*env)[count + 1] = NULL;
    }
}

/* The variables of a resource manager above this one would mislead the processes, and so would what the tool that
 * started this one has given it. */
static bool belongs_to_pmixrun(const char* setting) {
    return !strncmp(setting, "PMIX_NAMESPACE=", 15) || !strncmp(setting, "PMIX_RANK=", 10) ||
           !strncmp(setting, "PMIX_SERVER_", 12) || !strncmp(setting, "PMIX_KEEPALIVE_PIPE=", 20) ||
           !strncmp(setting, "PMIX_LAUNCHER_RNDZ_", 19);
}

struct setting {
    const char* text;
    size_t length, at; /* of the name; its place in the order */
};

static int by_name(const void* a, const void* b) {
    const struct setting *one = a, *other = b;
    const size_t both = one->length < other->length ? one->length : other->length;
    const int order = memcmp(one->text, other->text, both);
    if (order != 0) return order;
    if (one->length != other->length) return one->length < other->length ? -1 : 1;
    return one->at < other->at ? -1 : one->at > other->at;
}

static int by_place(const void* a, const void* b) {
    const struct setting *one = a, *other = b;
    return one->at < other->at ? -1 : one->at > other->at;
}

/* pmixrun's own environment with the settings of the application: the last one of a name counts. */
static char** make_env(const struct app* app) {
    const size_t most = strings_count(environ) + strings_count(app->env);
    struct setting* all = xcalloc(most + 1, sizeof *all);
    size_t count = 0, kept = 0;
    for (size_t i = 0; environ[i]; i++) {
        if (!belongs_to_pmixrun(environ[i]))
            all[count] = (struct setting){environ[i], name_length(environ[i]), count}, count++;
    }
    for (size_t i = 0; app->env && app->env[i]; i++)
        all[count] = (struct setting){app->env[i], name_length(app->env[i]), count}, count++;
    qsort(all, count, sizeof *all, by_name);
    for (size_t i = 0; i < count; i++) {
        const struct setting* next = i + 1 < count ? &all[i + 1] : NULL;
        const bool is_last =
            !next || next->length != all[i].length || memcmp(next->text, all[i].text, all[i].length) != 0;
        if (is_last && all[i].text[all[i].length] == '=') all[kept++] = all[i];
    }
    qsort(all, kept, sizeof *all, by_place);
    char** env = xcalloc(kept + 1, sizeof *env);
    for (size_t i = 0; i < kept; i++) env[i] = xstrdup(all[i].text);
    free(all);
    return env;
}

/* --- fork and exec ------------------------------------------------------------------------------------------------ */

struct failure { /* what the child reports when it could not become the program */
    int error;
    char what; /* 'd': its directory, 'b': its CPUs, 's': it cannot be stopped, 'x': the program; 't': it took too long
                */
};

static _Noreturn void child_fails(int report, char what) {
    struct failure failure = {errno, what};
    ssize_t ignored = write(report, &failure, sizeof failure);
    (void)ignored;
    _exit(127);
}

static _Noreturn void become(const struct app* app, char** argv, char** env, const cpu_set_t* cpus,
                             const int fds[CHILD_FDS], int report, pid_t daemon_pid, bool stops) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGUSR2, SIG_DFL);
    setpgid(0, 0);
    if (node.options->linger == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != daemon_pid) _exit(127); /* the daemon ended before the line above */
    for (int i = 0; i < 3; i++) dup2(fds[i], i);
    setrlimit(RLIMIT_NOFILE, &node.descriptor_limit);
    if (fds[3] >= 0) fcntl(fds[3], F_SETFD, 0);
    const char* wdir = app->session_wdir ? node.directory : app->wdir;
    if (wdir && chdir(wdir) != 0) child_fails(report, 'd');
    if (cpus && sched_setaffinity(0, sizeof *cpus, cpus) != 0) child_fails(report, 'b');
    const char* program = app->program ? app->program : app->argv[0];
    if (stops && ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) child_fails(report, 's');
    environ = env; /* the program is looked for in the PATH that it gets */
    execvp(program, argv);
    if (*program != '\0' && !strchr(program, '/')) {
        /* Behind the folders of PATH the working directory, as with other launchers. */
        const int error = errno;
        char path[PATH_MAX];
        if (snprintf(path, sizeof path, "./%s", program) < (int)sizeof path) execv(path, argv);
        if (errno == ENOENT) errno = error;
    }
    child_fails(report, 'x');
}

static pmix_status_t failure_status(const struct failure* failure) {
    if (failure->what == 'd') return PMIX_ERR_JOB_WDIR_NOT_FOUND;
    if (failure->what == 'b') return PMIX_ERR_JOB_ALLOC_FAILED;
    if (failure->what == 's') return PMIX_ERR_NOT_SUPPORTED;
    if (failure->what == 't') return PMIX_ERR_JOB_FAILED_TO_LAUNCH;
    return failure->error == ENOENT ? PMIX_ERR_JOB_EXE_NOT_FOUND : PMIX_ERR_JOB_APP_NOT_EXECUTABLE;
}

/* Before there is a child: descriptors, mostly. */
static void explain_errno(struct buffer* why, int error) {
    char text[200];
    snprintf(text, sizeof text, "cannot make the pipes of a process: %s", strerror(error));
    wire_append(why, text, strlen(text) + 1);
}

static void explain(struct buffer* why, const struct app* app, const struct failure* failure) {
    char text[5000];
    const char* wdir = app->session_wdir ? node.directory : app->wdir;
    const char *name = app->program ? app->program : app->argv[0], *verb = "run";
    if (failure->what == 'd') name = wdir, verb = "enter";
    if (failure->what == 's') verb = "stop at the first instruction of";
    if (failure->what == 'b') name = app->cpus ? app->cpus : "its CPUs", verb = "bind to";
    snprintf(text, sizeof text, "cannot %s %s: %s", verb, name, strerror(failure->error));
    wire_append(why, text, strlen(text) + 1);
}

/* A copy, with the rank in the program's name where that is wanted. */
static char** make_argv(const struct app* app, uint32_t rank) {
    size_t count = strings_count(app->argv);
    char** argv = xcalloc(count + 1, sizeof *argv);
    for (size_t i = 0; i < count; i++) argv[i] = xstrdup(app->argv[i]);
    if (!app->index_argv || count == 0) return argv;
    size_t size = strlen(argv[0]) + 16;
    char* named = xcalloc(size, 1);
    snprintf(named, size, "%s-%u", argv[0], rank);
    free(argv[0]);
    argv[0] = named;
    return argv;
}

/* Until the child is the program, or reports why it is not. One that has been stopped in between would stop this node
 * with it. */
static bool has_failed(pid_t pid, int report, struct failure* failure) {
    const double until = loop_now() + kMostUntilExec;
    for (;;) {
        struct pollfd ready = {report, POLLIN, 0};
        const double left = until - loop_now();
        const int count = left > 0 ? poll(&ready, 1, (int)(left * 1000) + 1) : 0;
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        const ssize_t got = read(report, failure, sizeof *failure);
        if (got < 0 && errno == EINTR) continue;
        return got == (ssize_t)sizeof *failure;
    }
    kill(pid, SIGKILL);
    *failure = (struct failure){ETIMEDOUT, 't'};
    return true;
}

/* The kernel stops a traced child that has become its program before the first instruction. There it is left with a
 * SIGSTOP, so that any debugger can attach to it, and SIGCONT lets it run. One that was killed meanwhile is reaped as
 * any other. */
static void leave_stopped(pid_t pid) {
    siginfo_t info = {0};
    const int kinds = WSTOPPED | WEXITED | WNOWAIT;
    while (waitid(P_PID, (id_t)pid, &info, kinds) != 0 && errno == EINTR) continue;
    if (info.si_code != CLD_TRAPPED || ptrace(PTRACE_DETACH, pid, NULL, (void*)(intptr_t)SIGSTOP) != 0) return;
    /* A SIGCONT from elsewhere may have taken the stop away. */
    const double until = loop_now() + kMostUntilExec;
    for (info.si_pid = 0; info.si_pid == 0 && loop_now() < until;) {
        if (waitid(P_PID, (id_t)pid, &info, kinds | WNOHANG) != 0 && errno != EINTR) return;
        if (info.si_pid == 0) poll(NULL, 0, 1);
    }
}

static void report_binding(const struct job* job, uint32_t rank) {
    struct buffer line = {0};
    cpus_report(job, rank, &line);
    iof_say(true, line.data, line.size);
    wire_free(&line);
}

static pmix_status_t start_proc(struct job* job, uint32_t rank, struct buffer* why) {
    const struct app* app = &job->apps[job_app_of(job, rank)];
    pmix_proc_t name;
    PMIX_LOAD_PROCID(&name, job->nspace, rank);
    char** env = make_env(app);
    pmix_status_t status = PMIx_server_setup_fork(&name, &env);
    if (status != PMIX_SUCCESS) {
        strings_free(env);
        return status;
    }
    int fds[CHILD_FDS], report[2];
    struct failure failure = {0, 'x'};
    struct streams* streams = iof_open(job, &name, fds);
    if (!streams || pipe2(report, O_CLOEXEC) != 0) {
        explain_errno(why, errno);
        if (streams) {
            iof_close_child_ends(fds);
            iof_finish(streams);
        }
        strings_free(env);
        return PMIX_ERR_JOB_SYS_OP_FAILED;
    }
    if (fds[3] >= 0) {
        char setting[64];
        snprintf(setting, sizeof setting, JOBIO_DIAGNOSTICS "=%d", fds[3]);
        change_env(&env, setting);
    }
    char** argv = make_argv(app, rank);
    const bool stops = job->procs[rank].stops & STOP_ON_EXEC;
    pid_t daemon_pid = getpid(), pid = fork();
    if (pid == 0) become(app, argv, env, cpus_of(job, rank), fds, report[1], daemon_pid, stops);
    failure.error = errno;
    if (pid > 0) setpgid(pid, pid); /* the child does it too: one of the two is first */
    close(report[1]);
    iof_close_child_ends(fds);
    const bool failed = pid < 0 || has_failed(pid, report[0], &failure);
    close(report[0]);
    strings_free(argv);
    strings_free(env);
    if (failed) {
        iof_finish(
            streams); /* the child is reaped by the loop: the kernel may take its time with one that was killed */
        explain(why, app, &failure);
        return pid > 0 ? failure_status(&failure) : PMIX_ERR_JOB_FAILED_TO_LAUNCH;
    }
    if (stops) leave_stopped(pid);
    struct running* running = xcalloc(1, sizeof *running);
    running->pid = pid;
    running->name = name;
    running->streams = streams;
    running->next = all_running;
    all_running = running;
    job->procs[rank].phase = PROC_RUNNING;
    job->procs[rank].pid = pid;
    daemon_say("%s:%u is process %d", job->nspace, rank, (int)pid);
    if (app->reports_bindings || node.options->report_bindings) report_binding(job, rank);
    return PMIX_SUCCESS;
}

/* --- what the head asks for --------------------------------------------------------------------------------------- */

static pmix_status_t register_job(struct job* job) {
    uint32_t local = job_size_on(job, (uint32_t)mesh_self());
    size_t count;
    pmix_info_t* info = jobinfo_make(job, &count);
    pmix_status_t status = PMIx_server_register_nspace(job->nspace, (int)local, info, count, NULL, NULL);
    infos_free(info, count);
    for (uint32_t i = 0; i < local && (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED); i++) {
        pmix_proc_t name;
        uint32_t rank = job_rank_at(job, (uint32_t)mesh_self(), i);
        PMIX_LOAD_PROCID(&name, job->nspace, rank);
        status = PMIx_server_register_client(&name, geteuid(), getegid(), &job->procs[rank], NULL, NULL);
    }
    return status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status;
}

/* Applications of one name make one set. */
static struct buffer members_of(const struct job* job, const char* pset, size_t* count) {
    struct buffer members = {0};
    for (uint32_t a = 0; a < job->app_count; a++) {
        const struct app* app = &job->apps[a];
        for (uint32_t i = 0; app->pset && strcmp(app->pset, pset) == 0 && i < app->size; i++) {
            pmix_proc_t member;
            PMIX_LOAD_PROCID(&member, job->nspace, app->first + i);
            wire_append(&members, &member, sizeof member);
            ++*count;
        }
    }
    return members;
}

static pmix_status_t define_sets(struct job* job) {
    pmix_status_t status = PMIX_SUCCESS;
    for (uint32_t a = 0; a < job->app_count && status == PMIX_SUCCESS; a++) {
        uint32_t first = 0;
        if (!job->apps[a].pset) continue;
        while (!job->apps[first].pset || strcmp(job->apps[first].pset, job->apps[a].pset) != 0) first++;
        if (first < a) continue;
        size_t count = 0;
        struct buffer members = members_of(job, job->apps[a].pset, &count);
        status = PMIx_server_define_process_set((pmix_proc_t*)(void*)members.data, count, job->apps[a].pset);
        if (status == PMIX_OPERATION_SUCCEEDED) status = PMIX_SUCCESS;
        job->apps[a].pset_defined = status == PMIX_SUCCESS;
        wire_free(&members);
    }
    return status;
}

static void delete_sets(struct job* job) {
    for (uint32_t a = 0; a < job->app_count; a++) {
        /* Another job's set may have the name: then this job's start has failed. */
        if (job->apps[a].pset_defined) PMIx_server_delete_process_set(job->apps[a].pset);
        job->apps[a].pset_defined = false;
    }
}

void on_job_define(int from, uint64_t id, struct buffer* body) {
    struct job* job = job_get(body, (uint32_t)mesh_nodes());
    pmix_status_t status = PMIX_ERR_BAD_PARAM;
    struct buffer why = {0}, reply = {0};
    if (job) {
        jobs_add(job);
        status = cpus_bind(job, &why);
        if (status == PMIX_SUCCESS) status = register_job(job);
        if (status == PMIX_SUCCESS) status = define_sets(job);
    }
    wire_put_string(&reply, (const char*)why.data);
    mesh_reply(from, id, status, &reply);
    wire_free(&reply);
    wire_free(&why);
}

/* For the user, of a launch that takes its time: without a word from here the head would not know before its end. Of a
 * job that a process has spawned the head shows nothing. */
static void tell_progress(const struct job* job, uint32_t started, double* told_at) {
    static const double kInterval = 0.2; /* seconds */
    struct buffer body = {0};
    double now = loop_now();
    if (job->number != 1 || now - *told_at < kInterval) return;
    *told_at = now;
    wire_put_u32(&body, started);
    mesh_send(mesh_head(), FRAME_PROGRESS, &body);
    wire_free(&body);
}

void on_job_start(int from, uint64_t id, struct buffer* body) {
    char* nspace = wire_get_string(body);
    struct job* job = nspace ? job_find(nspace) : NULL;
    struct buffer why = {0}, reply = {0};
    pmix_status_t status = job ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
    uint32_t local = job ? job_size_on(job, (uint32_t)mesh_self()) : 0, started = 0;
    double told_at = loop_now();
    while (started < local && status == PMIX_SUCCESS) {
        status = start_proc(job, job_rank_at(job, (uint32_t)mesh_self(), started), &why);
        started += status == PMIX_SUCCESS;
        tell_progress(job, started, &told_at);
    }
    wire_put_u32(&reply, started);
    for (uint32_t i = 0; i < started; i++) {
        uint32_t rank = job_rank_at(job, (uint32_t)mesh_self(), i);
        wire_put_u32(&reply, rank);
        wire_put_u32(&reply, (uint32_t)job->procs[rank].pid);
    }
    wire_put_string(&reply, (const char*)why.data);
    input_end_if_nobody_is_left(); /* its spawner may have ended meanwhile */
    mesh_reply(from, id, status, &reply);
    wire_free(&reply);
    wire_free(&why);
    free(nspace);
}

void on_job_ended(int from, uint64_t id, struct buffer* body) {
    (void)from;
    (void)id;
    char* nspace = wire_get_string(body);
    bool all_exit = wire_get_u8(body);
    struct job* job = nspace ? job_find(nspace) : NULL;
    if (job) {
        job->over = true;
        for (uint32_t rank = 0; !all_exit && rank < job->size; rank++) job->procs[rank].phase = PROC_ENDED;
        launch_forget_if_over(job);
        clients_procs_ended();
    }
    free(nspace);
}

/* The head has the end of each process; the frames of their nodes about it may still be on their way to us. */
void launch_forget_if_over(struct job* job) {
    if (!job->over) return;
    for (uint32_t rank = 0; rank < job->size; rank++) {
        if (job->procs[rank].phase != PROC_ENDED && mesh_alive((int)job_node_of(job, rank))) return;
    }
    for (uint32_t rank = 0; rank < job->size; rank++) job->procs[rank].phase = PROC_ENDED;
    collective_job_ended(job->nspace);
    groups_job_ended(job->nspace);
    for (uint32_t a = 0; a < job->app_count; a++) publish_app_ended(job->nspace, a);
    publish_nspace_ended(job->nspace);
    delete_sets(job);
    PMIx_server_deregister_nspace(job->nspace, NULL, NULL);
    jobs_remove(job);
    input_end_if_nobody_is_left();
    memory_give_back_later();
}

void launch_deregister_all(void) {
    for (struct job* job = jobs_first(); job; job = job->next) {
        collective_job_ended(job->nspace);
        groups_job_ended(job->nspace);
        PMIx_server_deregister_nspace(job->nspace, NULL, NULL);
    }
}

void on_kill(int from, uint64_t id, struct buffer* body) {
    (void)from;
    (void)id;
    size_t count;
    pmix_proc_t* procs = wire_get_procs(body, &count);
    int signal_number = (int)wire_get_u32(body);
    bool launch_failed = wire_get_u8(body);
    for (struct job* job = jobs_first(); job && !body->bad && launch_failed; job = job->next) {
        if (procs_match(procs, count, job->nspace, 0)) job->launch_failed = true;
    }
    for (const struct running* running = all_running; running && !body->bad; running = running->next) {
        if (running->pid == 0 || !procs_match(procs, count, running->name.nspace, running->name.rank)) continue;
        kill(-running->pid, signal_number);
        if (signal_number == SIGTERM) kill(-running->pid, SIGCONT); /* a stopped one would not handle it */
    }
    free(procs);
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

/* A process finalizes, which the library's thread posts, and then exits: so its end is posted too, behind that.
 */
static void tell_exit(void* argument) {
    struct running *running = argument, **at = &all_running;
    const struct proc* proc = proc_find(&running->name);
    struct buffer body = {0};
    wire_put_proc(&body, &running->name);
    wire_put_u32(&body, (uint32_t)running->wait_status);
    wire_put_u8(&body, proc && proc->connected && !proc->finalized);
    const struct job* job = job_find(running->name.nspace);
    wire_put_u8(&body, job && job->launch_failed);
    wire_put_u8(&body, proc && proc->aborted);
    /* The server sees the end of a connection. Of a process that never had one, or had one until its finalize, we know
     * that it cannot join any more. */
    if (proc && (!proc->connected || proc->finalized)) PMIx_server_deregister_client(&running->name, NULL, NULL);
    for (int i = 0; i <= mesh_nodes(); i++) mesh_send(i, FRAME_EXIT, &body);
    wire_free(&body);
    while (*at != running) at = &(*at)->next;
    *at = running->next;
    free(running);
}

static void finish(struct running* running) {
    kill(-running->pid, SIGKILL); /* its descendants; before waitpid, so that the number is still its own */
    waitpid(running->pid, &running->wait_status, 0);
    running->pid = 0;
    iof_finish(running->streams);
    loop_post(tell_exit, running);
}

static void finish_spared(void* argument) {
    struct running* running = argument;
    running->spared = false;
    spared_count--;
    finish(running);
    launch_reap(); /* what could not be looked for beside a zombie */
}

static void streams_over(void* argument) {
    struct running* running = argument;
    loop_cancel(running->sweep);
    loop_post(finish_spared, running); /* the caller is in the middle of reading them */
}

/* Where the user's terminal is stopped nobody is killed for not having written yet. */
static void spared_long_enough(void* argument) {
    struct running* running = argument;
    if (iof_is_held_up(running->streams))
        running->sweep = loop_after(kSpared, spared_long_enough, running);
    else
        finish_spared(running);
}

static void reap(struct running* running) {
    if (iof_ended(running->streams, streams_over, running)) {
        finish(running);
        return;
    }
    running->spared = true;
    spared_count++;
    running->sweep = loop_after(kSpared, spared_long_enough, running);
}

/* Nothing is reaped. 0: none has ended. */
static pid_t ended_child(idtype_t which, pid_t pid) {
    siginfo_t info = {0};
    return waitid(which, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 ? info.si_pid : 0;
}

void launch_reap(void) {
    for (pid_t pid; spared_count == 0 && (pid = ended_child(P_ALL, 0)) != 0;) {
        struct running* running = all_running;
        while (running && running->pid != pid) running = running->next;
        if (running)
            reap(running);
        else
            waitpid(pid, NULL, 0); /* an orphan that became our child when its parent ended */
    }
    /* A zombie hides those that ended after it. */
    for (struct running* running = all_running; running && spared_count > 0; running = running->next) {
        if (running->pid != 0 && !running->spared && ended_child(P_PID, running->pid) != 0) reap(running);
    }
}
