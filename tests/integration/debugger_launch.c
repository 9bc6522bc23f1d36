// SPDX-License-Identifier: BSD-3-Clause
/* debugger_launch.c: a debugger that starts the launcher: a tool without a server starts a pmixrun and debugs its job,
 * and a tool debugs what it starts by itself.
 *
 *     debugger_launch CASE [PMIXRUN NODES]    the tool
 *     debugger_launch child..                 what it, or its launcher, starts */
#include <sys/wait.h>

#include "debugger_check.h"

/* --- indirect launch: this tool has no server, and starts a pmixrun
 * --------------------------------------------------- */

static char** arguments; /* pmixrun, nodes */

static void spawn_launcher(const char* environment, pmix_nspace_t launcher) {
    pmix_info_t directive;
    pmix_data_array_t directives = {.type = PMIX_INFO, .size = 1, .array = &directive};
    char* words[] = {arguments[0], "-n",       "3", "--nodes", arguments[1], (char*)(uintptr_t)program,
                     "app",        "indirect", NULL};
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    if (environment) set_env(&app, environment);
    app.cmd = strdup(words[0]);
    app.argv = calloc(9, sizeof *app.argv);
    for (int i = 0; words[i]; i++) app.argv[i] = strdup(words[i]);
    app.maxprocs = 1;
    PMIX_INFO_LOAD(&directive, PMIX_DEBUG_STOP_IN_INIT, &yes, PMIX_BOOL);
    option(PMIX_LAUNCH_DIRECTIVES, &directives, PMIX_DATA_ARRAY);
    option(PMIX_SPAWN_TOOL, &yes, PMIX_BOOL);
    option(PMIX_DEBUG_STOP_IN_INIT, &yes, PMIX_BOOL);
    CHECK_OK(spawn_with_options(&app, 1, launcher));
}

static void start_launcher(pmix_nspace_t launcher) {
    pmix_info_t alone;
    alarm(200);
    PMIX_INFO_LOAD(&alone, PMIX_TOOL_DO_NOT_CONNECT, &yes, PMIX_BOOL);
    CHECK_OK(PMIx_tool_init(&me, &alone, 1));
    spawn_launcher(NULL, launcher);
}

static struct signal_box readiness = SIGNAL_BOX;

static void on_ready(size_t handler, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t* results, size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)handler, (void)info, (void)ninfo, (void)results, (void)nresults, (void)source;
    box_signal(&readiness, status);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void connect_to(const char* launcher) {
    pmix_status_t codes[] = {PMIX_READY_FOR_DEBUG, PMIX_LAUNCH_COMPLETE, PMIX_EVENT_JOB_END};
    pmix_info_t info[2];
    pmix_proc_t server;
    int limit = 60;
    PMIX_LOAD_PROCID(&server, launcher, 0);
    PMIX_INFO_LOAD(&info[0], PMIX_WAIT_FOR_CONNECTION, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &limit, PMIX_INT);
    CHECK_OK(PMIx_tool_set_server(&server, info, 2));
    CHECK(PMIx_Register_event_handler(codes, 3, NULL, 0, note, NULL, NULL) >= 0);
}

static bool is_a_job(const char* nspace) {
    char* names = query_text(PMIX_QUERY_NAMESPACES);
    bool found = false;
    for (char* name = strtok(names, ","); name; name = strtok(NULL, ",")) found = found || strcmp(name, nspace) == 0;
    free(names);
    return found;
}

/* The job of the launcher's command line stops where the tool wants it, and the tool has daemons started beside it. */
static void debug_job_of(const char* launcher) {
    char job[PMIX_MAX_NSLEN + 8];
    pmix_nspace_t debuggers;
    pmix_app_t app;
    pmix_proc_t target;
    snprintf(job, sizeof job, "%s.1", launcher);
    await(PMIX_LAUNCH_COMPLETE, job);
    const int ready = await(PMIX_READY_FOR_DEBUG, job);
    CHECK(strcmp(heard[ready].breakpoint, "pmix-init") == 0);
    PMIX_LOAD_PROCID(&target, job, PMIX_RANK_WILDCARD);
    daemons_of(&app, "by_node", PMIX_DEBUG_DAEMONS_PER_NODE, 1);
    option(PMIX_DEBUG_TARGET, &target, PMIX_PROC);
    option(PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    CHECK_OK(spawn_with_options(&app, 1, debuggers));
    await(PMIX_EVENT_JOB_END, debuggers);
    CHECK(!is_up("indirect", 0));
    release(job, PMIX_RANK_WILDCARD);
    await(PMIX_EVENT_JOB_END, job);
}

/* Connected first, and released by way of the launcher, as the Standard has it. */
static void indirect(void) {
    pmix_nspace_t launcher;
    char job[PMIX_MAX_NSLEN + 8];
    start_launcher(launcher);
    connect_to(launcher);
    snprintf(job, sizeof job, "%s.1", launcher);
    CHECK(!is_a_job(job));
    release(launcher, 0);
    debug_job_of(launcher);
    end();
}

/* Released by the tool's own server, before there is a connection. */
static void indirect_early(void) {
    pmix_nspace_t launcher;
    start_launcher(launcher);
    release(launcher, 0);
    connect_to(launcher);
    debug_job_of(launcher);
    end();
}

/* What the launcher reports as ready can be reached, with nothing to wait for. It ends with the tool. */
static void indirect_ready(void) {
    pmix_status_t code = PMIX_LAUNCHER_READY;
    pmix_info_t alone, name;
    pmix_nspace_t launcher;
    pmix_proc_t server;
    alarm(200);
    PMIX_INFO_LOAD(&alone, PMIX_TOOL_DO_NOT_CONNECT, &yes, PMIX_BOOL);
    CHECK_OK(PMIx_tool_init(&me, &alone, 1));
    CHECK(PMIx_Register_event_handler(&code, 1, NULL, 0, on_ready, NULL, NULL) >= 0);
    spawn_launcher(NULL, launcher);
    release(launcher, 0); /* by the tool's own server */
    CHECK(box_wait(&readiness, 1, 60));
    PMIX_INFO_LOAD(&name, PMIX_SERVER_NSPACE, launcher, PMIX_STRING);
    CHECK_OK(PMIx_tool_attach_to_server(NULL, &server, &name, 1));
    CHECK(PMIX_CHECK_NSPACE(server.nspace, launcher));
    PMIX_INFO_DESTRUCT(&name);
    CHECK(box_count(&readiness) == 1);
    end();
}

/* The launcher is started by another host than the tool: by the pmixrun around this one. */
static void indirect_by_host(void) {
    pmix_nspace_t launcher;
    char environment[600];
    snprintf(environment, sizeof environment, "PMIX_LAUNCHER_RNDZ_URI=%s", getenv("PMIX_SERVER_URI_WIREUP"));
    begin();
    spawn_launcher(environment, launcher);
    const int ready = await(PMIX_READY_FOR_DEBUG, launcher);
    CHECK(strcmp(heard[ready].breakpoint, "pmix-tool-init") == 0);
    connect_to(launcher);
    release(launcher, 0);
    debug_job_of(launcher);
    end();
}

/* A tool that is killed takes the launcher that it has started with it, held or not. */
static void indirect_gone(void) {
    for (int held = 0; held < 2; held++) {
        int status, line[2];
        char byte = 0;
        CHECK(pipe(line) == 0); /* open until all are gone */
        const pid_t tool = fork();
        if (tool == 0) {
            pmix_nspace_t launcher;
            char job[PMIX_MAX_NSLEN + 8];
            start_launcher(launcher);
            connect_to(launcher);
            snprintf(job, sizeof job, "%s.1", launcher);
            if (!held) release(launcher, 0);
            if (!held) await(PMIX_READY_FOR_DEBUG, job);
            CHECK(write(line[1], "r", 1) == 1);
            for (;;) pause();
        }
        close(line[1]);
        CHECK(read(line[0], &byte, 1) == 1);
        CHECK(kill(tool, SIGKILL) == 0 && waitpid(tool, &status, 0) == tool);
        alarm(150);
        CHECK(read(line[0], &byte, 1) == 0);
        close(line[0]);
    }
    printf("OK tool\n");
}

/* --- a tool that starts processes by itself --------------------------------------------------------------------------
 */

static void refuse_alone(const char* key, bool of_app) {
    pmix_app_t app;
    pmix_nspace_t job;
    app_of(&app, 1, "app", "refused", NULL);
    app_infos(&app, 1);
    PMIX_INFO_LOAD(app.info, of_app ? key : PMIX_WDIR, of_app ? (const void*)&yes : "/",
                   of_app ? PMIX_BOOL : PMIX_STRING);
    if (!of_app) option(key, &yes, PMIX_BOOL);
    CHECK_STATUS(spawn_with_options(&app, 1, job), PMIX_ERR_NOT_SUPPORTED);
}

/* It can have them stop themselves, and nothing else. */
/* rows: C9 T15 */
/* proves: PMIx_Spawn tool PMIX_DEBUG_STOP_IN_APP PMIX_DEBUG_TARGET */
static void alone(void) {
    pmix_info_t info;
    pmix_app_t app;
    pmix_nspace_t job;
    pmix_rank_t ranks[] = {0, 2};
    pmix_data_array_t array = {.type = PMIX_PROC_RANK, .size = 2, .array = ranks};
    pmix_status_t codes[] = {PMIX_READY_FOR_DEBUG, PMIX_EVENT_JOB_END};
    alarm(200);
    PMIX_INFO_LOAD(&info, PMIX_TOOL_DO_NOT_CONNECT, &yes, PMIX_BOOL);
    CHECK_OK(PMIx_tool_init(&me, &info, 1));
    CHECK(PMIx_Register_event_handler(codes, 2, NULL, 0, note, NULL, NULL) >= 0);
    for (int of_app = 0; of_app < 2; of_app++) {
        refuse_alone(PMIX_DEBUG_STOP_ON_EXEC, of_app);
        refuse_alone(PMIX_DEBUGGER_DAEMONS, of_app);
    }
    refuse_alone(PMIX_COSPAWN_APP, true);
    refuse_alone(PMIX_DEBUG_STOP_IN_INIT, true);
    refuse_alone(PMIX_DEBUG_STOP_IN_APP, true);
    app_of(&app, 3, "stopper", "unpublished", NULL);
    option(PMIX_DEBUG_STOP_IN_APP, &array, PMIX_DATA_ARRAY);
    option(PMIX_DEBUG_TARGET, &me, PMIX_PROC);
    CHECK_OK(spawn_with_options(&app, 1, job));
    CHECK(box_wait(&events, 2, 60));
    release(job, PMIX_RANK_WILDCARD);
    CHECK(box_wait(&events, 3, 60));
    for (int i = 0; i < 3; i++) CHECK(heard[i].code == (i < 2 ? PMIX_READY_FOR_DEBUG : PMIX_EVENT_JOB_END));
    CHECK(lists(PMIX_QUERY_DEBUG_SUPPORT, PMIX_DEBUG_STOP_IN_INIT));
    CHECK(lists(PMIX_QUERY_DEBUG_SUPPORT, PMIX_DEBUG_STOP_IN_APP));
    CHECK(!lists(PMIX_QUERY_DEBUG_SUPPORT, PMIX_DEBUG_STOP_ON_EXEC));
    CHECK(lists(PMIX_QUERY_SPAWN_SUPPORT, PMIX_SPAWN_TOOL) && !lists(PMIX_QUERY_SPAWN_SUPPORT, PMIX_DEBUGGER_DAEMONS));
    end();
}
int main(int argc, char** argv) {
    static const struct plain_case cases[] = {
        {"indirect", indirect},
        {"indirect_early", indirect_early},
        {"indirect_gone", indirect_gone},
        {"indirect_ready", indirect_ready},
        {"indirect_by_host", indirect_by_host},
        {"alone", alone},
    };
    if (ran_child(argc, argv)) return 0;
    arguments = argv + 2;
    RUN_PLAIN_CASE(cases);
    return 0;
}
