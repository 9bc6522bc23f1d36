/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_spawn_ends: a tool without a server starts what it spawns by itself. What is refused, how jobs end, what is left
 * when the tool goes, and servers that it meets later. usage: tool_spawn_ends CASE */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "tool_spawn.h"

/* A client whose rank 0 aborts its job. */
static _Noreturn void as_aborter(void) {
    start();
    if (me.rank == 0) CHECK_OK(PMIx_Abort(9, "enough", NULL, 0));
    for (;;) pause();
}

/* A client that ends in the middle. */
static _Noreturn void as_leaver(void) {
    start();
    _exit(0);
}

/* A client of a job whose server cannot be reached: alone. */
static _Noreturn void as_alone(void) {
    alarm(120);
    CHECK(getenv("PMIX_NAMESPACE") && !getenv("PMIX_SERVER_URI_WIREUP"));
    CHECK_STATUS(PMIx_Init(&me, NULL, 0), PMIX_ERR_UNREACH);
    CHECK_OK(PMIx_Finalize(NULL, 0));
    _exit(3);
}

/* --- how they end
 * ------------------------------------------------------------------------------------------------------ */

static unsigned done_count;
static pmix_status_t done_status;
static pmix_nspace_t done_nspace;
static struct signal_box spawned_box = SIGNAL_BOX;

static void when_spawned(pmix_status_t status, pmix_nspace_t nspace, void* cbdata) {
    done_status = status;
    snprintf(done_nspace, sizeof done_nspace, "%s", nspace);
    done_count += cbdata == &done_count;
    box_signal(&spawned_box, status);
}

/* rows: C5 C9 G2 */
/* proves: PMIx_Spawn tool PMIX_NOTIFY_COMPLETION PMIX_NOTIFY_PROC_TERMINATION PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION */
/* proves: PMIx_Spawn tool PMIX_EVENT_SILENT_TERMINATION PMIX_JOB_RECOVERABLE PMIX_JOB_TIMEOUT */
static void ends(void) {
    pmix_nspace_t unheard, first, second;
    int status, time_limit = 1;
    pid_t own = fork();
    if (own == 0) _exit(7);
    alone();
    listen_for_ends();
    option(PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    CHECK_OK(spawn(WORDS("true"), 3, first));
    option(PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    CHECK_OK(spawn(WORDS("true"), 1, second));
    CHECK(strcmp(first, second) != 0);
    job_ends(first, PMIX_SUCCESS);
    job_ends(second, PMIX_SUCCESS);

    struct notice end = runs(SHELL("test $PMIX_RANK = 0 || exec sleep 1000; exit 5"), 3, PMIX_ERR_JOB_NON_ZERO_TERM);
    CHECK(end.failed.rank == 0 && end.has_code && end.exit_code == 5); /* and the others with it */
    end = runs(SHELL("kill -9 $$"), 1, PMIX_ERR_JOB_ABORTED_BY_SIG);
    CHECK(end.failed.rank == 0 && end.exit_code == 137);
    runs(WORDS(program, "as-leaver"), 1, PMIX_ERR_JOB_TERM_WO_SYNC);
    end = runs(WORDS(program, "as-aborter"), 3, PMIX_ERR_JOB_ABORTED);
    CHECK(end.failed.rank == 0 && end.exit_code == 9);

    /* One by one, all or the bad ones; one that fails is no reason for the others where that was said. */
    option(PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    option(PMIX_NOTIFY_PROC_TERMINATION, &yes, PMIX_BOOL);
    option(PMIX_JOB_RECOVERABLE, &yes, PMIX_BOOL);
    CHECK_OK(spawn(SHELL("exit $PMIX_RANK"), 3, first));
    job_ends(first, PMIX_ERR_JOB_NON_ZERO_TERM);
    CHECK(count_notices(PMIX_EVENT_PROC_TERMINATED, first) == 3);
    option(PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    option(PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION, &yes, PMIX_BOOL);
    option(PMIX_JOB_RECOVERABLE, &yes, PMIX_BOOL);
    CHECK_OK(spawn(SHELL("test $PMIX_RANK = 1 && exit 4; exit 0"), 3, second));
    job_ends(second, PMIX_ERR_JOB_NON_ZERO_TERM);
    CHECK(count_notices(PMIX_EVENT_PROC_TERMINATED, second) == 1);
    end = await_notice(PMIX_EVENT_PROC_TERMINATED, second);
    CHECK(end.about.rank == 1 && end.exit_code == 4 && end.term_status == PMIX_ERR_EXIT_NONZERO_TERM);

    /* The end of the job is told unless that is not wanted. */
    CHECK_OK(spawn(WORDS("true"), 1, first));
    job_ends(first, PMIX_SUCCESS);
    CHECK(count_notices(PMIX_EVENT_JOB_START, first) == 0 && count_notices(PMIX_EVENT_PROC_TERMINATED, first) == 0);
    bool no = false;
    option(PMIX_NOTIFY_COMPLETION, &no, PMIX_BOOL);
    option(PMIX_NOTIFY_PROC_TERMINATION, &yes, PMIX_BOOL);
    CHECK_OK(spawn(WORDS("true"), 1, unheard));
    await_notice(PMIX_EVENT_PROC_TERMINATED, unheard);

    /* Not for an end that is as it should be: nothing is heard of it. */
    option(PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    option(PMIX_EVENT_SILENT_TERMINATION, &yes, PMIX_BOOL);
    option(PMIX_NOTIFY_PROC_TERMINATION, &yes, PMIX_BOOL);
    CHECK_OK(spawn(WORDS("true"), 1, second));
    await_notice(PMIX_EVENT_PROC_TERMINATED, second);
    runs(WORDS("true"), 1, PMIX_SUCCESS);

    option(PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    option(PMIX_JOB_TIMEOUT, &time_limit, PMIX_INT);
    CHECK_OK(spawn(WORDS("sleep", "1000"), 2, first));
    job_ends(first, PMIX_ERR_TIMEOUT);
    CHECK(count_notices(PMIX_EVENT_JOB_END, second) == 0 && count_notices(PMIX_EVENT_JOB_END, unheard) == 0);

    /* By callback; and with a file of its own that no child inherits. */
    pmix_app_t app;
    char* words[] = {"true", NULL};
    PMIX_APP_CONSTRUCT(&app);
    app.argv = words; /* the program is its first word */
    app.maxprocs = 1;
    CHECK_STATUS(PMIx_Spawn_nb(NULL, 0, &app, 1, NULL, NULL), PMIX_ERR_BAD_PARAM);
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    CHECK_OK(PMIx_Spawn_nb(&info, 1, &app, 1, when_spawned, &done_count));
    CHECK(box_wait(&spawned_box, 1, LONG) && done_count == 1 && done_status == PMIX_SUCCESS);
    job_ends(done_nspace, PMIX_SUCCESS);
    CHECK_OK(PMIx_tool_finalize());
    /* The application's own child is still its own. */
    CHECK(waitpid(own, &status, 0) == own && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    CHECK(waitpid(-1, &status, WNOHANG) < 0 && errno == ECHILD);
}

/* rows: C9 */
/* proves: PMIx_Job_control tool PMIX_JOB_CTRL_SIGNAL PMIX_JOB_CTRL_TERMINATE PMIX_JOB_CTRL_KILL PMIX_JOB_CTRL_PAUSE */
/* proves: PMIx_Job_control tool PMIX_JOB_CTRL_RESUME */
static void controlled(void) {
    /* In short waits: a shell that has looked for signals and is about to wait would sleep through the next one. */
    const char* const* script = SHELL(
        "trap 'echo usr1' USR1; trap 'echo term; exit 0' TERM; echo $$; "
        "while :; do sleep 0.1 & wait $!; done");
    const char* const keys[] = {PMIX_JOB_CTRL_TERMINATE, PMIX_JOB_CTRL_KILL};
    pmix_nspace_t nspace;
    int usr1 = SIGUSR1;
    alone();
    listen_for_ends();
    for (int i = 0; i < 2; i++) {
        option(PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
        option(PMIX_FWD_STDOUT, &yes, PMIX_BOOL);
        CHECK_OK(spawn(script, 1, nspace));
        pull(nspace);
        char path[64], state[512] = "";
        snprintf(path, sizeof path, "/proc/%d/stat", (int)first_number());
        CHECK_OK(control(nspace, 0, PMIX_JOB_CTRL_SIGNAL, &usr1, PMIX_INT));
        await_lines(out, 2);
        CHECK_OK(control(nspace, PMIX_RANK_WILDCARD, PMIX_JOB_CTRL_PAUSE, &yes, PMIX_BOOL));
        double end = seconds_now() + LONG;
        while (!strstr(state, ") T ")) {
            int file = open(path, O_RDONLY | O_CLOEXEC);
            CHECK(file >= 0 && seconds_now() < end);
            ssize_t got = read(file, state, sizeof state - 1);
            CHECK(got > 0);
            state[got] = '\0';
            close(file);
        }
        CHECK_OK(control(nspace, PMIX_RANK_WILDCARD, PMIX_JOB_CTRL_RESUME, &yes, PMIX_BOOL));
        CHECK_OK(control(nspace, 0, PMIX_JOB_CTRL_SIGNAL, &usr1, PMIX_INT));
        await_lines(out, 3);
        CHECK_STATUS(control(nspace, 1, PMIX_JOB_CTRL_KILL, &yes, PMIX_BOOL), PMIX_ERR_NOT_FOUND);
        CHECK_STATUS(control(nspace, 0, PMIX_JOB_CTRL_RESTART, "0", PMIX_STRING), PMIX_ERR_NOT_SUPPORTED);
        CHECK_OK(control(nspace, 0, keys[i], &yes, PMIX_BOOL));
        job_ends(nspace, i ? PMIX_ERR_JOB_KILLED_BY_CMD : PMIX_SUCCESS);
    }
    CHECK_STATUS(control(nspace, 0, PMIX_JOB_CTRL_KILL, &yes, PMIX_BOOL),
                 PMIX_ERR_NOT_SUPPORTED); /* nobody's any more */
    CHECK_OK(PMIx_tool_finalize());
    forget_streams();
}

/* A tool that progresses the library itself, and gives up one of its jobs by PMIx_Abort. */
/* rows: C9 */
static void turned(void) {
    pmix_info_t info[2];
    pmix_nspace_t nspace;
    PMIX_INFO_LOAD(&info[0], PMIX_TOOL_DO_NOT_CONNECT, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_EXTERNAL_PROGRESS, &yes, PMIX_BOOL);
    alarm(200);
    CHECK_OK(PMIx_tool_init(&me, info, 2));
    listen_for_ends();
    for (int i = 0; i < 2; i++) {
        option(PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
        option(PMIX_FWD_STDIN, &yes, PMIX_BOOL);
        CHECK_OK(spawn(WORDS("cat"), 2, nspace));
        pmix_proc_t all;
        PMIX_LOAD_PROCID(&all, nspace, PMIX_RANK_WILDCARD);
        if (i == 0) CHECK_OK(push(nspace, PMIX_RANK_WILDCARD, NULL));
        if (i == 1) CHECK_OK(PMIx_Abort(3, "not wanted any more", &all, 1));
        double end = seconds_now() + LONG;
        while (count_notices(PMIX_EVENT_JOB_END, nspace) == 0) {
            CHECK(seconds_now() < end);
            PMIx_Progress();
        }
        job_ends(nspace, i ? PMIX_ERR_JOB_KILLED_BY_CMD : PMIX_SUCCESS);
    }
    CHECK_OK(PMIx_tool_finalize());
}

/* --- what is refused
 * --------------------------------------------------------------------------------------------------- */

static pmix_status_t spawn_wishing(const char* key, const void* data, pmix_data_type_t type) {
    pmix_nspace_t nspace;
    option(key, data, type);
    options[noptions - 1].flags |= PMIX_INFO_REQD;
    return spawn(WORDS("false"), 1, nspace);
}

/* rows: C7 C9 */
/* proves: PMIx_Spawn tool PMIX_HOST */
static void not_started(void) {
    pmix_nspace_t nspace;
    char file[512], host[300] = "";
    int number = 1;
    alone();
    listen_for_ends();
    in_directory(file, sizeof file, "program");
    int fd = open(file, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && close(fd) == 0);
    CHECK_STATUS(spawn(WORDS("/nonexistent/program"), 1, nspace), PMIX_ERR_JOB_EXE_NOT_FOUND);
    CHECK_STATUS(spawn(WORDS("no-program-is-called-this"), 1, nspace), PMIX_ERR_JOB_EXE_NOT_FOUND);
    CHECK_STATUS(spawn(WORDS(file), 1, nspace), PMIX_ERR_JOB_APP_NOT_EXECUTABLE);
    CHECK_STATUS(spawn(WORDS("/tmp"), 1, nspace), PMIX_ERR_JOB_APP_NOT_EXECUTABLE);
    CHECK(chmod(file, 0700) == 0); /* now it may be run, and is no program */
    CHECK_STATUS(spawn(WORDS(file), 1, nspace), PMIX_ERR_JOB_APP_NOT_EXECUTABLE);
    CHECK(unlink(file) == 0);
    CHECK_STATUS(spawn_in("/nonexistent", NULL, WORDS("true"), 1, nspace), PMIX_ERR_JOB_WDIR_NOT_FOUND);
    CHECK_STATUS(spawn(WORDS("true"), 0, nspace), PMIX_ERR_BAD_PARAM);
    CHECK_STATUS(spawn(WORDS("true"), -1, nspace), PMIX_ERR_BAD_PARAM);
    CHECK_STATUS(spawn(WORDS("true"), 100000, nspace), PMIX_ERR_JOB_INSUFFICIENT_RESOURCES);
    CHECK_STATUS(PMIx_Spawn(NULL, 0, NULL, 0, nspace), PMIX_ERR_BAD_PARAM);
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    app.maxprocs = 1;
    CHECK_STATUS(PMIx_Spawn(NULL, 0, &app, 1, nspace), PMIX_ERR_JOB_NO_EXE_SPECIFIED);
    app.cmd = host;
    app.ninfo = 1;
    CHECK_STATUS(PMIx_Spawn(NULL, 0, &app, 1, nspace), PMIX_ERR_BAD_PARAM);
    /* The first of two could be started, and is not. */
    pmix_app_t two[2];
    for (int i = 0; i < 2; i++) {
        PMIX_APP_CONSTRUCT(&two[i]);
        two[i].cmd = i ? "/nonexistent/program" : "false";
        two[i].maxprocs = 1;
    }
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_NOTIFY_JOB_EVENTS, &yes, PMIX_BOOL);
    CHECK_STATUS(PMIx_Spawn(&info, 1, two, 2, nspace), PMIX_ERR_JOB_EXE_NOT_FOUND);
    /* What must be understood and is not, and what cannot be. */
    CHECK_STATUS(spawn_wishing(PMIX_PRELOAD_BIN, &yes, PMIX_BOOL), PMIX_ERR_NOT_SUPPORTED);
    CHECK_STATUS(spawn_wishing(PMIX_MAPBY, "node", PMIX_STRING), PMIX_ERR_NOT_SUPPORTED);
    CHECK_STATUS(spawn_wishing(PMIX_HOST, "another-host-than-this", PMIX_STRING), PMIX_ERR_JOB_ALLOC_FAILED);
    CHECK_STATUS(spawn_wishing(PMIX_WDIR, &number, PMIX_INT), PMIX_ERR_BAD_PARAM);
    CHECK_STATUS(spawn_wishing(PMIX_FWD_STDIN, "0", PMIX_STRING), PMIX_ERR_BAD_PARAM);
    CHECK_STATUS(spawn_wishing(PMIX_SET_ENVAR, &number, PMIX_INT), PMIX_ERR_BAD_PARAM);
    CHECK(nnotices == 0);
    /* After all that it works, on this host by name. */
    CHECK(gethostname(host, sizeof host - 1) == 0);
    option(PMIX_HOST, host, PMIX_STRING);
    runs(WORDS("true"), 1, PMIX_SUCCESS);
    CHECK_OK(PMIx_tool_finalize());
    int status;
    CHECK(waitpid(-1, &status, WNOHANG) < 0 && errno == ECHILD);
}

/* --- what is left
 * ------------------------------------------------------------------------------------------------------ */

/* rows: C9 T15 */
/* proves: PMIx_Spawn tool PMIX_NOHUP */
static void left(void) {
    static const char* const scripts[] = {
        "echo $$; exec sleep 1000", "trap '' TERM; echo $$; while :; do sleep 1; done", "sleep 1000 & echo $!; wait"};
    pmix_nspace_t nspace;
    pid_t pids[3], stays;
    int status;
    /* Those that run when the tool goes go with it, willing or not, and what they have started too. */
    alone();
    for (int i = 0; i < 3; i++) {
        option(PMIX_FWD_STDOUT, &yes, PMIX_BOOL);
        CHECK_OK(spawn(SHELL(scripts[i]), 1, nspace));
        pull(nspace);
        pids[i] = first_number();
        CHECK(pids[i] > 1 && kill(pids[i], 0) == 0);
    }
    CHECK_OK(PMIx_tool_finalize());
    CHECK(waitpid(-1, &status, WNOHANG) < 0 && errno == ECHILD);

    /* But for those that were told to stay: they are the application's then. */
    alone();
    option(PMIX_FWD_STDOUT, &yes, PMIX_BOOL);
    option(PMIX_NOHUP, &yes, PMIX_BOOL);
    CHECK_OK(spawn(SHELL(scripts[0]), 1, nspace));
    pull(nspace);
    stays = first_number();
    CHECK_OK(PMIx_tool_finalize());
    CHECK(kill(stays, 0) == 0 && waitpid(stays, &status, WNOHANG) == 0);
    CHECK(kill(stays, SIGKILL) == 0 && waitpid(stays, &status, 0) == stays && WIFSIGNALED(status));
    forget_streams();

    /* Again and again: nothing of it piles up. */
    int before = dup(0), after;
    close(before);
    for (int i = 0; i < 20; i++) {
        alone();
        listen_for_ends();
        option(PMIX_FWD_STDOUT, &yes, PMIX_BOOL);
        runs(WORDS("true"), 4, PMIX_SUCCESS);
        CHECK_OK(PMIx_tool_finalize());
    }
    after = dup(0);
    close(after);
    CHECK(before == after);
}

/* Where there are no sockets nobody can be served, and processes are started all the same. */
/* rows: C9 */
static void without_sockets(void) {
    struct sock_filter refuse[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof refuse / sizeof *refuse, refuse};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
        printf("skipped: no filter for system calls\n");
        return;
    }
    CHECK(socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EACCES);
    alone();
    listen_for_ends();
    runs(WORDS("true"), 3, PMIX_SUCCESS);
    struct notice end = runs(WORDS(program, "as-alone"), 1, PMIX_ERR_JOB_NON_ZERO_TERM);
    CHECK(end.exit_code == 3);
    CHECK_OK(PMIx_tool_finalize());
}

/* --- servers that it has, or gets
 * ---------------------------------------------------------------------------------------- */

static pmix_status_t own_spawn(const pmix_proc_t* proc, const pmix_info_t job_info[], size_t ninfo,
                               const pmix_app_t apps[], size_t napps, pmix_spawn_cbfunc_t cbfunc, void* cbdata) {
    (void)proc, (void)job_info, (void)ninfo;
    pmix_nspace_t nspace = "by-its-host";
    CHECK(napps == 1 && !apps[0].env); /* as it was given */
    cbfunc(PMIX_SUCCESS, nspace, cbdata);
    return PMIX_SUCCESS;
}

/* rows: C9 T15 */
static void servers(void) {
    static pmix_server_module_t module = {.spawn = own_spawn};
    struct server a;
    pmix_nspace_t nspace;
    pmix_proc_t primary;
    CHECK_OK(start_server(&a, TOOLS, "a", NULL));
    alone();
    listen_for_ends();
    runs(WORDS("true"), 1, PMIX_SUCCESS);
    CHECK(!PMIx_tool_is_connected());
    /* A server that it gets later is the one to ask; when it goes, the tool does it itself again. */
    CHECK_OK(attach_to(PMIX_SERVER_URI, a.uri, PMIX_STRING, false, &primary));
    CHECK(PMIX_CHECK_PROCID(&primary, &a.name) && PMIx_tool_is_connected());
    primary = primary_server();
    CHECK(PMIX_CHECK_PROCID(&primary, &a.name));
    CHECK_OK(spawn(WORDS("true"), 1, nspace));
    CHECK(strcmp(nspace, "spawned-for-a-tool") == 0);
    CHECK_OK(PMIx_tool_disconnect(&a.name));
    CHECK(!PMIx_tool_is_connected());
    runs(WORDS("true"), 1, PMIX_SUCCESS);
    CHECK_OK(PMIx_tool_finalize());

    /* A launcher with a host of its own asks that one. */
    alone_as(NULL, true);
    listen_for_ends();
    runs(WORDS("true"), 1, PMIX_SUCCESS);
    CHECK_OK(PMIx_tool_set_server_module(&module));
    CHECK_OK(spawn(WORDS("true"), 1, nspace));
    CHECK(strcmp(nspace, "by-its-host") == 0);
    CHECK_OK(PMIx_tool_finalize());
    end_server(&a, 0);
}

/* A launcher between the tool and its job: a tool itself, that serves. */
static _Noreturn void as_launcher(void) {
    static pmix_server_module_t module = {.tool_connected = on_tool, .spawn = host_spawn};
    pmix_status_t code = PMIX_EVENT_JOB_END;
    pmix_info_t launcher;
    pmix_proc_t job;
    pmix_value_t* directives = NULL;
    alarm(200);
    CHECK(getenv("PMIX_KEEPALIVE_PIPE"));
    PMIX_INFO_LOAD(&launcher, PMIX_LAUNCHER, &yes, PMIX_BOOL);
    CHECK_OK(PMIx_tool_init(&me, &launcher, 1)); /* stops here until it is released */
    CHECK(PMIx_tool_is_connected() && !getenv("PMIX_KEEPALIVE_PIPE"));
    PMIX_LOAD_PROCID(&job, me.nspace, PMIX_RANK_WILDCARD);
    CHECK_OK(PMIx_Get(&job, PMIX_LAUNCH_DIRECTIVES, NULL, 0, &directives));
    CHECK(directives->type == PMIX_DATA_ARRAY && directives->data.darray->size == 1);
    PMIX_VALUE_RELEASE(directives);
    CHECK(PMIx_Register_event_handler(&code, 1, NULL, 0, on_event, NULL, NULL) >= 0);
    CHECK_OK(PMIx_tool_set_server_module(&module));
    printf("launcher\n");
    fflush(stdout);
    while (__atomic_load_n(&heard, __ATOMIC_SEQ_CST) == 0) usleep(1000); /* until the tool goes */
    PMIx_tool_finalize();
    _exit(0);
}

static uint32_t waiting;
static void on_waiting(size_t handler, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[],
                       size_t ninfo, pmix_info_t* results, size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                       void* cbdata) {
    (void)handler, (void)status, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    __atomic_add_fetch(&waiting, 1, __ATOMIC_SEQ_CST);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

/* A tool that is killed tells nobody; a launcher that it has started sees it all the same, and ends. */
/* rows: C9 T13 */
/* proves: PMIx_Spawn tool PMIX_SPAWN_TOOL */
static void killed(void) {
    int open_until_all_are_gone[2], status;
    char byte = 0;
    CHECK(pipe(open_until_all_are_gone) == 0);
    pid_t tool = fork();
    CHECK(tool >= 0);
    if (tool == 0) {
        pmix_nspace_t nspace;
        pmix_info_t directive;
        pmix_data_array_t directives = {.type = PMIX_INFO, .size = 1, .array = &directive};
        PMIX_INFO_LOAD(&directive, PMIX_DEBUG_STOP_ON_EXEC, &yes, PMIX_BOOL);
        close(open_until_all_are_gone[0]);
        alone();
        option(PMIX_SPAWN_TOOL, &yes, PMIX_BOOL);
        option(PMIX_FWD_STDOUT, &yes, PMIX_BOOL);
        option(PMIX_LAUNCH_DIRECTIVES, &directives, PMIX_DATA_ARRAY);
        CHECK_OK(spawn(WORDS(program, "as-launcher"), 1, nspace));
        pull(nspace);
        await_lines(out, 1);
        CHECK(write(open_until_all_are_gone[1], out->text, 1) == 1);
        for (;;) pause();
    }
    close(open_until_all_are_gone[1]);
    CHECK(read(open_until_all_are_gone[0], &byte, 1) == 1 && byte == 'l');
    CHECK(kill(tool, SIGKILL) == 0 && waitpid(tool, &status, 0) == tool);
    alarm(120);
    CHECK(read(open_until_all_are_gone[0], &byte, 1) == 0);
    close(open_until_all_are_gone[0]);
}

/* The Standard's indirect launch: the tool starts a launcher, and has that one start the job. */
/* rows: C9 T13 T15 */
/* proves: PMIx_Spawn tool PMIX_SPAWN_TOOL PMIX_LAUNCH_DIRECTIVES PMIX_DEBUG_STOP_IN_INIT */
static void indirect(void) {
    pmix_nspace_t nspace, job;
    pmix_status_t code = PMIX_DEBUG_WAITING_FOR_NOTIFY;
    pmix_proc_t launcher, primary;
    pmix_info_t directive, infos[2];
    pmix_data_array_t directives = {.type = PMIX_INFO, .size = 1, .array = &directive};
    int limit = 60;
    alone();
    CHECK(PMIx_Register_event_handler(&code, 1, NULL, 0, on_waiting, NULL, NULL) >= 0);
    PMIX_INFO_LOAD(&directive, PMIX_DEBUG_STOP_ON_EXEC, &yes, PMIX_BOOL);
    option(PMIX_SPAWN_TOOL, &yes, PMIX_BOOL);
    option(PMIX_FWD_STDOUT, &yes, PMIX_BOOL);
    option(PMIX_DEBUG_STOP_IN_INIT, &yes, PMIX_BOOL);
    option(PMIX_LAUNCH_DIRECTIVES, &directives, PMIX_DATA_ARRAY);
    CHECK_OK(spawn(WORDS(program, "as-launcher"), 1, nspace));
    pull(nspace);
    until(&waiting, 1);
    PMIX_LOAD_PROCID(&launcher, nspace, 0);
    PMIX_INFO_LOAD(&infos[0], PMIX_EVENT_CUSTOM_RANGE, &launcher, PMIX_PROC);
    PMIX_INFO_LOAD(&infos[1], PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
    CHECK_DONE(PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, &me, PMIX_RANGE_CUSTOM, infos, 2, NULL, NULL));
    PMIX_INFO_DESTRUCT(&infos[0]);
    await_lines(out, 1);
    CHECK(strcmp(out->text, "launcher\n") == 0);
    PMIX_INFO_LOAD(&infos[0], PMIX_WAIT_FOR_CONNECTION, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&infos[1], PMIX_TIMEOUT, &limit, PMIX_INT);
    CHECK_OK(PMIx_tool_set_server(&launcher, infos, 2));
    primary = primary_server();
    CHECK(PMIX_CHECK_PROCID(&primary, &launcher));
    CHECK_OK(spawn(WORDS("true"), 1, job));
    CHECK(strcmp(job, "spawned-for-a-tool") == 0);
    CHECK_OK(PMIx_tool_finalize());
    int status;
    CHECK(waitpid(-1, &status, WNOHANG) < 0 && errno == ECHILD);
    forget_streams();
}

int main(int argc, char** argv) {
    static const struct plain_case cases[] = {
        {"ends", ends},     {"controlled", controlled}, {"refused", not_started},
        {"left", left},     {"servers", servers},       {"indirect", indirect},
        {"killed", killed}, {"turned", turned},         {"without_sockets", without_sockets},
    };
    static char self[4096];
    CHECK(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    program = self;
    if (argc > 1 && strcmp(argv[1], "as-aborter") == 0) as_aborter();
    if (argc > 1 && strcmp(argv[1], "as-leaver") == 0) as_leaver();
    if (argc > 1 && strcmp(argv[1], "as-alone") == 0) as_alone();
    if (argc > 1 && strcmp(argv[1], "as-launcher") == 0) as_launcher();
    RUN_PLAIN_CASE(cases);
    printf("OK %s\n", argv[1]);
    return 0;
}
