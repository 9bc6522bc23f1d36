// SPDX-License-Identifier: BSD-3-Clause
/* debugger.c: the Standard's use cases of a debugger at pmixrun: a tool starts a job whose processes stop for it, or
 * attaches to one that runs, and has its daemons started beside them.
 *
 *     debugger CASE     the only rank, which is no process of its job but a tool
 *     debugger child..  what the tool spawns */
#include <pmix_tool.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "spawn_check.h"

static bool yes = true;

/* --- events of the tool ------------------------------------------------------------------------------------------- */

static struct {
    pmix_status_t code;
    pmix_proc_t about[8];
    size_t nabout;
    char breakpoint[64];
} heard[32];
static struct signal_box events = SIGNAL_BOX;

static void note(size_t handler, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                 pmix_info_t* results, size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)handler, (void)source, (void)results, (void)nresults;
    const int at = box_count(&events);
    CHECK(at < 32);
    heard[at].code = status;
    for (size_t i = 0; i < ninfo; i++) {
        const pmix_value_t* value = &info[i].value;
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC)) heard[at].about[heard[at].nabout++] = *value->data.proc;
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROCS)) {
            CHECK(value->data.darray->size <= 8);
            heard[at].nabout = value->data.darray->size;
            memcpy(heard[at].about, value->data.darray->array, heard[at].nabout * sizeof(pmix_proc_t));
        }
        if (PMIX_CHECK_KEY(&info[i], PMIX_BREAKPOINT))
            snprintf(heard[at].breakpoint, sizeof heard[at].breakpoint, "%s", value->data.string);
    }
    box_signal(&events, status);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

/* The number of the only event of that code about that job. */
static int await(pmix_status_t code, const char* nspace) {
    for (int i = 0;; i++) {
        CHECK(box_wait(&events, i + 1, 60));
        if (heard[i].code != code || strcmp(heard[i].about[0].nspace, nspace) != 0) continue;
        for (int j = 0; j < box_count(&events); j++)
            CHECK(i == j || heard[j].code != code || strcmp(heard[j].about[0].nspace, nspace) != 0);
        return i;
    }
}

/* --- the tool ----------------------------------------------------------------------------------------------------- */

static void begin(void) {
    pmix_status_t codes[] = {PMIX_READY_FOR_DEBUG, PMIX_LAUNCH_COMPLETE, PMIX_EVENT_JOB_END};
    pmix_info_t info;
    alarm(200);
    PMIX_INFO_LOAD(&info, PMIX_SERVER_URI, getenv("PMIX_SERVER_URI_WIREUP"), PMIX_STRING);
    /* With these it would be the rank. */
    unsetenv("PMIX_NAMESPACE");
    unsetenv("PMIX_RANK");
    unsetenv("PMIX_SERVER_URI_WIREUP");
    unsetenv("PMIX_WIREUP_TOKEN");
    CHECK_OK(PMIx_tool_init(&me, &info, 1));
    PMIX_INFO_DESTRUCT(&info);
    CHECK(PMIx_Register_event_handler(codes, 3, NULL, 0, note, NULL, NULL) >= 0);
}

static void end(void) {
    CHECK_OK(PMIx_tool_finalize());
    printf("OK tool\n");
}

static pmix_info_t options[8];
static size_t noptions;

static void option(const char* key, const void* data, pmix_data_type_t type) {
    PMIX_INFO_LOAD(&options[noptions], key, data, type);
    noptions++;
}

static pmix_status_t spawn_with_options(pmix_app_t* apps, size_t napps, pmix_nspace_t nspace) {
    const size_t count = noptions;
    noptions = 0;
    return spawn(options, count, apps, napps, nspace);
}

static void release(const char* nspace, pmix_rank_t rank) {
    pmix_proc_t to;
    pmix_info_t info[2];
    PMIX_LOAD_PROCID(&to, nspace, rank);
    PMIX_INFO_LOAD(&info[0], PMIX_EVENT_CUSTOM_RANGE, &to, PMIX_PROC);
    PMIX_INFO_LOAD(&info[1], PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
    CHECK_DONE(PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, &me, PMIX_RANGE_CUSTOM, info, 2, NULL, NULL));
    for (int i = 0; i < 2; i++) PMIX_INFO_DESTRUCT(&info[i]);
}

static bool is_up(const char* flag, pmix_rank_t rank) {
    char name[96];
    snprintf(name, sizeof name, "%s.%u", flag, rank);
    return look_up_string(name, NULL, 0, NULL, 0, NULL) == PMIX_SUCCESS;
}

/* PMIX_QUERY_PROC_TABLE, or that of this node; the caller frees the results. */
static pmix_info_t* table_of(const char* key, const char* nspace, size_t* count, pmix_proc_info_t** rows) {
    pmix_query_t query;
    pmix_info_t* results = NULL;
    size_t nresults = 0;
    PMIX_QUERY_CONSTRUCT(&query);
    query.keys = calloc(2, sizeof *query.keys);
    query.keys[0] = strdup(key);
    query.nqual = 1;
    PMIX_INFO_CREATE(query.qualifiers, 1);
    PMIX_INFO_LOAD(query.qualifiers, PMIX_NSPACE, nspace, PMIX_STRING);
    CHECK_OK(PMIx_Query_info(&query, 1, &results, &nresults));
    PMIX_QUERY_DESTRUCT(&query);
    CHECK(nresults == 1 && results->value.type == PMIX_DATA_ARRAY);
    CHECK(results->value.data.darray->type == PMIX_PROC_INFO);
    *count = results->value.data.darray->size;
    *rows = results->value.data.darray->array;
    return results;
}

static char* query_text(const char* key) {
    pmix_query_t query;
    pmix_info_t* results = NULL;
    size_t nresults = 0;
    PMIX_QUERY_CONSTRUCT(&query);
    query.keys = calloc(2, sizeof *query.keys);
    query.keys[0] = strdup(key);
    CHECK_OK(PMIx_Query_info(&query, 1, &results, &nresults));
    PMIX_QUERY_DESTRUCT(&query);
    CHECK(nresults == 1 && results->value.type == PMIX_STRING);
    char* text = strdup(results->value.data.string);
    PMIX_INFO_FREE(results, nresults);
    return text;
}

/* Daemons of so many per node or process, of an application of their own. */
static void daemons_of(pmix_app_t* app, const char* flag, const char* key, uint16_t count) {
    app_of(app, 1, "daemon", flag, NULL);
    app_infos(app, key ? 2 : 1);
    PMIX_INFO_LOAD(&app->info[0], PMIX_DEBUGGER_DAEMONS, &yes, PMIX_BOOL);
    if (key) PMIX_INFO_LOAD(&app->info[1], key, &count, PMIX_UINT16);
}

/* --- cases -------------------------------------------------------------------------------------------------------- */

/* Direct launch: the job stops in its init, daemons are started beside it and look for their targets, and then the
 * tool lets it go. */
static void in_init(void) {
    pmix_app_t app;
    pmix_nspace_t job, debuggers;
    pmix_proc_t target;
    pmix_proc_info_t* rows;
    size_t count;
    begin();
    app_of(&app, 3, "app", "in_init", NULL);
    option(PMIX_DEBUG_STOP_IN_INIT, &yes, PMIX_BOOL);
    option(PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    CHECK_OK(spawn_with_options(&app, 1, job));
    const int ready = await(PMIX_READY_FOR_DEBUG, job);
    CHECK(strcmp(heard[ready].breakpoint, "pmix-init") == 0);
    CHECK(heard[ready].nabout == 1 && heard[ready].about[0].rank == PMIX_RANK_WILDCARD);
    pmix_info_t* table = table_of(PMIX_QUERY_PROC_TABLE, job, &count, &rows);
    CHECK(count == 3);
    for (size_t i = 0; i < count; i++) CHECK(rows[i].proc.rank == i && kill(rows[i].pid, 0) == 0);
    PMIX_INFO_FREE(table, 1);

    PMIX_LOAD_PROCID(&target, job, PMIX_RANK_WILDCARD);
    daemons_of(&app, "by_node", PMIX_DEBUG_DAEMONS_PER_NODE, 1);
    option(PMIX_DEBUG_TARGET, &target, PMIX_PROC);
    option(PMIX_DEBUG_STOP_IN_INIT, &yes, PMIX_BOOL); /* not for daemons */
    option(PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    CHECK_OK(spawn_with_options(&app, 1, debuggers));
    CHECK(strcmp(debuggers, job) != 0);
    await_flag("by_node.0");
    await(PMIX_EVENT_JOB_END, debuggers);
    for (pmix_rank_t rank = 0; rank < 3; rank++) CHECK(!is_up("in_init", rank));
    release(job, PMIX_RANK_WILDCARD);
    await_children("in_init", 3);
    await(PMIX_EVENT_JOB_END, job);
    await(PMIX_READY_FOR_DEBUG, job); /* still the only one */
    end();
}

/* Only some stop, and one is let go after the other. */
static void some_in_init(void) {
    pmix_app_t apps[2];
    pmix_nspace_t job;
    pmix_rank_t ranks[] = {0, 2}, last = 3;
    pmix_data_array_t array = {.type = PMIX_PROC_RANK, .size = 2, .array = ranks};
    begin();
    for (int i = 0; i < 2; i++) app_of(&apps[i], 2, "app", "some", NULL);
    app_infos(&apps[1], 1);
    PMIX_INFO_LOAD(apps[1].info, PMIX_DEBUG_STOP_IN_INIT, &last, PMIX_PROC_RANK); /* over what is said of all */
    option(PMIX_DEBUG_STOP_IN_INIT, &array, PMIX_DATA_ARRAY);
    option(PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    CHECK_OK(spawn_with_options(apps, 2, job));
    const int ready = await(PMIX_READY_FOR_DEBUG, job);
    CHECK(heard[ready].nabout == 2 && heard[ready].about[0].rank == 0 && heard[ready].about[1].rank == 3);
    await_flag("some.1");
    await_flag("some.2");
    release(job, 3);
    await_flag("some.3");
    CHECK(!is_up("some", 0));
    release(job, 0);
    await_flag("some.0");
    await(PMIX_EVENT_JOB_END, job);
    end();
}

/* The program itself stops, where it likes; which ranks are to is among the job's data. */
static void in_app(void) {
    pmix_app_t app;
    pmix_nspace_t job;
    pmix_rank_t ranks[] = {0, 2};
    pmix_data_array_t array = {.type = PMIX_PROC_RANK, .size = 2, .array = ranks};
    begin();
    app_of(&app, 3, "stopper", "in_app", NULL);
    option(PMIX_DEBUG_STOP_IN_APP, &array, PMIX_DATA_ARRAY);
    option(PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    CHECK_OK(spawn_with_options(&app, 1, job));
    const int ready = await(PMIX_READY_FOR_DEBUG, job);
    CHECK(strcmp(heard[ready].breakpoint, "before-the-loop") == 0);
    CHECK(heard[ready].nabout == 2 && heard[ready].about[0].rank == 0 && heard[ready].about[1].rank == 2);
    await_flag("in_app.1");
    release(job, PMIX_RANK_WILDCARD);
    await_children("in_app", 3);
    await(PMIX_EVENT_JOB_END, job);
    end();
}

static bool maps(pid_t pid, const char* library) {
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE* file = fopen(path, "r");
    CHECK(file);
    bool found = false;
    while (!found && fgets(line, sizeof line, file)) found = strstr(line, library) != NULL;
    fclose(file);
    return found;
}

/* Before the first instruction: nothing of it has run, any debugger can attach, and it can be let go. */
static void on_exec(void) {
    pmix_app_t app;
    pmix_nspace_t job;
    pmix_proc_t all;
    pmix_proc_info_t* rows;
    pmix_info_t resume;
    size_t count;
    char thread[16];
    begin();
    app_of(&app, 3, "app", "on_exec", NULL);
    option(PMIX_DEBUG_STOP_ON_EXEC, &yes, PMIX_BOOL);
    CHECK_OK(spawn_with_options(&app, 1, job));
    await(PMIX_LAUNCH_COMPLETE, job);
    pmix_info_t* table = table_of(PMIX_QUERY_PROC_TABLE, job, &count, &rows);
    CHECK(count == 3);
    for (size_t i = 0; i < count; i++) {
        snprintf(thread, sizeof thread, "%d", (int)rows[i].pid);
        CHECK(state_of_thread(rows[i].pid, thread) == 'T');
        CHECK(maps(rows[i].pid, "client_debugger") && !maps(rows[i].pid, "libpmix"));
    }
    if (ptrace(PTRACE_ATTACH, rows[1].pid, NULL, NULL) == 0) { /* where a process may trace one that is not its child */
        CHECK(waitpid(rows[1].pid, NULL, 0) == rows[1].pid);
        CHECK(ptrace(PTRACE_DETACH, rows[1].pid, NULL, NULL) == 0);
        CHECK(kill(rows[1].pid, SIGCONT) == 0);
    }
    PMIX_INFO_FREE(table, 1);
    PMIX_LOAD_PROCID(&all, job, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&resume, PMIX_JOB_CTRL_RESUME, &yes, PMIX_BOOL);
    CHECK_DONE(PMIx_Job_control(&all, 1, &resume, 1, NULL, NULL));
    await_children("on_exec", 3);
    end();
}

/* A stopped process can be ended as any other; one that cannot be started does not stop. */
static void ends_stopped(void) {
    pmix_app_t app;
    pmix_nspace_t job;
    pmix_proc_t all;
    pmix_info_t terminate;
    begin();
    app_of(&app, 2, "app", "ends_stopped", NULL);
    free(app.cmd);
    app.cmd = strdup("/nonexistent/program");
    option(PMIX_DEBUG_STOP_ON_EXEC, &yes, PMIX_BOOL);
    CHECK_STATUS(spawn_with_options(&app, 1, job), PMIX_ERR_JOB_EXE_NOT_FOUND);
    app_of(&app, 2, "app", "ends_stopped", NULL);
    option(PMIX_DEBUG_STOP_ON_EXEC, &yes, PMIX_BOOL);
    option(PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    CHECK_OK(spawn_with_options(&app, 1, job));
    PMIX_LOAD_PROCID(&all, job, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&terminate, PMIX_JOB_CTRL_TERMINATE, &yes, PMIX_BOOL);
    CHECK_DONE(PMIx_Job_control(&all, 1, &terminate, 1, NULL, NULL));
    await(PMIX_EVENT_JOB_END, job);
    end();
}

/* To a job that runs: by default one daemon for each process; also for one process of it. */
static void attach(void) {
    pmix_app_t app;
    pmix_nspace_t job, debuggers;
    pmix_proc_t target;
    begin();
    app_of(&app, 3, "app", "attach", "until_told", NULL);
    option(PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    CHECK_OK(spawn_with_options(&app, 1, job));
    await_children("attach.runs", 3);
    PMIX_LOAD_PROCID(&target, job, PMIX_RANK_WILDCARD);
    daemons_of(&app, "each", NULL, 0);
    option(PMIX_DEBUG_TARGET, &target, PMIX_PROC);
    option(PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    CHECK_OK(spawn_with_options(&app, 1, debuggers));
    await_children("each", 3);
    await(PMIX_EVENT_JOB_END, debuggers);
    target.rank = 1;
    daemons_of(&app, "one", PMIX_DEBUG_DAEMONS_PER_PROC, 2);
    option(PMIX_DEBUG_TARGET, &target, PMIX_PROC);
    option(PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    CHECK_OK(spawn_with_options(&app, 1, debuggers));
    await_children("one", 2);
    await(PMIX_EVENT_JOB_END, debuggers);
    CHECK(!is_up("one", 2));
    /* A debugger that fails ends nothing else. */
    app_of(&app, 1, "fails", NULL);
    app_infos(&app, 2);
    PMIX_INFO_LOAD(&app.info[0], PMIX_DEBUGGER_DAEMONS, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&app.info[1], PMIX_DEBUG_TARGET, &target, PMIX_PROC);
    option(PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    CHECK_OK(spawn_with_options(&app, 1, debuggers));
    await(PMIX_EVENT_JOB_END, debuggers);
    raise_flag("attach.end");
    await_children("attach", 3);
    await(PMIX_EVENT_JOB_END, job);
    end();
}

/* Both at once: two jobs, of which the application's is the answer and does not notice the other. */
static void cospawn(void) {
    pmix_app_t apps[3];
    pmix_nspace_t job, beside = "";
    begin();
    app_of(&apps[1], 2, "app", "cospawn", NULL);
    daemons_of(&apps[0], "beside", PMIX_DEBUG_DAEMONS_PER_PROC, 1);
    app_of(&apps[2], 1, "app", "apart", NULL);
    app_infos(&apps[2], 1);
    PMIX_INFO_LOAD(apps[2].info, PMIX_COSPAWN_APP, &yes, PMIX_BOOL);
    option(PMIX_DEBUG_STOP_IN_INIT, &yes, PMIX_BOOL);
    option(PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    CHECK_OK(spawn_with_options(apps, 3, job));
    await(PMIX_READY_FOR_DEBUG, job);
    await_children("beside", 2);
    release(job, PMIX_RANK_WILDCARD);
    await_children("cospawn", 2);
    await(PMIX_EVENT_JOB_END, job);
    /* The one that is apart has stopped too. */
    char* names = query_text(PMIX_QUERY_NAMESPACES);
    for (char* name = strtok(names, ","); name; name = strtok(NULL, ","))
        if (strcmp(name, job) > 0) snprintf(beside, sizeof beside, "%s", name);
    free(names);
    await(PMIX_READY_FOR_DEBUG, beside);
    release(beside, PMIX_RANK_WILDCARD);
    await_flag("apart.0");
    await(PMIX_EVENT_JOB_END, beside);
    end();
}

static void refuse_daemons(pmix_status_t wanted, const char* target, const char* first, const char* second,
                           uint16_t count) {
    pmix_app_t app;
    pmix_nspace_t job;
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, target ? target : "", PMIX_RANK_WILDCARD);
    daemons_of(&app, "refused", first, count);
    if (second) option(PMIX_DEBUG_DAEMONS_PER_PROC, &count, PMIX_UINT16);
    if (target) option(PMIX_DEBUG_TARGET, &proc, PMIX_PROC);
    CHECK_STATUS(spawn_with_options(&app, 1, job), wanted);
}

static void refuse_stop(const void* data, pmix_data_type_t type) {
    static const char* const keys[] = {PMIX_DEBUG_STOP_ON_EXEC, PMIX_DEBUG_STOP_IN_INIT, PMIX_DEBUG_STOP_IN_APP};
    for (int i = 0; i < 3; i++) {
        pmix_app_t app;
        pmix_nspace_t job;
        app_of(&app, 2, "app", "refused", NULL);
        option(keys[i], data, type);
        CHECK_STATUS(spawn_with_options(&app, 1, job), PMIX_ERR_BAD_PARAM);
    }
}

static void refused(void) {
    pmix_app_t apps[2];
    pmix_nspace_t job;
    pmix_rank_t ranks[] = {0, 2};
    pmix_data_array_t beyond = {.type = PMIX_PROC_RANK, .size = 2, .array = ranks}, none = {.type = PMIX_PROC_RANK};
    begin();
    char* before = query_text(PMIX_QUERY_NAMESPACES);
    refuse_daemons(PMIX_ERR_BAD_PARAM, NULL, NULL, NULL, 0);
    refuse_daemons(PMIX_ERR_NOT_FOUND, "no-such-job", NULL, NULL, 0);
    refuse_daemons(PMIX_ERR_BAD_PARAM, before, PMIX_DEBUG_DAEMONS_PER_NODE, NULL, 0);
    refuse_daemons(PMIX_ERR_NOT_FOUND, "no-such-job", PMIX_DEBUG_DAEMONS_PER_NODE, NULL, 1);
    refuse_stop("0", PMIX_STRING);
    refuse_stop(&ranks[1], PMIX_PROC_RANK);
    refuse_stop(&beyond, PMIX_DATA_ARRAY);
    refuse_stop(&none, PMIX_DATA_ARRAY);
    /* Nobody tells pmixrun that a tool has ended: what is to end with it is refused where that is required. */
    const bool no = false;
    app_of(&apps[0], 2, "app", "refused", NULL);
    option(PMIX_SPAWN_CHILD_SEP, &no, PMIX_BOOL);
    PMIX_INFO_REQUIRED(&options[0]);
    CHECK_STATUS(spawn_with_options(apps, 1, job), PMIX_ERR_NOT_SUPPORTED);
    /* A debugger that cannot be started takes the application with it, which the requester never had. */
    app_of(&apps[0], 2, "stays", NULL);
    daemons_of(&apps[1], "refused", NULL, 0);
    free(apps[1].cmd);
    apps[1].cmd = strdup("/nonexistent/debugger");
    CHECK_STATUS(spawn_with_options(apps, 2, job), PMIX_ERR_JOB_EXE_NOT_FOUND);
    const double until = seconds_now() + 60;
    for (bool same = false; !same;) {
        char* after = query_text(PMIX_QUERY_NAMESPACES);
        same = strcmp(before, after) == 0;
        free(after);
        CHECK(seconds_now() < until);
    }
    free(before);
    end();
}

static bool lists(const char* key, const char* attribute) {
    char* list = query_text(key);
    bool found = false;
    for (char* one = strtok(list, ","); one; one = strtok(NULL, ",")) found = found || strcmp(one, attribute) == 0;
    free(list);
    return found;
}

static void support(void) {
    static const char* const all[] = {PMIX_DEBUG_STOP_ON_EXEC, PMIX_DEBUG_STOP_IN_INIT,     PMIX_DEBUG_STOP_IN_APP,
                                      PMIX_DEBUG_TARGET,       PMIX_DEBUG_DAEMONS_PER_NODE, PMIX_DEBUG_DAEMONS_PER_PROC,
                                      PMIX_DEBUGGER_DAEMONS};
    begin();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        CHECK(lists(PMIX_QUERY_DEBUG_SUPPORT, all[i]) && lists(PMIX_QUERY_SPAWN_SUPPORT, all[i]));
    CHECK(lists(PMIX_QUERY_SPAWN_SUPPORT, PMIX_MAPBY) && !lists(PMIX_QUERY_DEBUG_SUPPORT, PMIX_MAPBY));
    end();
}

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

/* --- what is spawned ---------------------------------------------------------------------------------------------- */

/* app FLAG [until_told]: its job is what it would be without a debugger */
static void app(int argc, char** argv) {
    char name[96];
    start();
    uint32_t members = 0;
    pmix_proc_t own = rank_of_job(PMIX_RANK_WILDCARD);
    CHECK_OK(get_u32(&own, PMIX_JOB_NUM_APPS, 0, &members));
    CHECK(strcmp(argv[0], "some") == 0 ? members == 2 && job_size == 4 : members == 1);
    if (argc > 1) {
        snprintf(name, sizeof name, "%s.runs.%u", argv[0], me.rank);
        raise_flag(name);
        snprintf(name, sizeof name, "%s.end", argv[0]);
        await_flag(name);
    }
    child_done(argv[0]);
}

static struct signal_box released = SIGNAL_BOX;

static void on_release(size_t handler, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[],
                       size_t ninfo, pmix_info_t* results, size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                       void* cbdata) {
    (void)handler, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    box_signal(&released, status);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

/* stopper FLAG: a program that can stop for a debugger */
static void stopper(int argc, char** argv) {
    CHECK(argc == 1);
    start();
    pmix_proc_t job = rank_of_job(PMIX_RANK_WILDCARD);
    pmix_value_t* value = NULL;
    CHECK_OK(PMIx_Get(&job, PMIX_DEBUG_STOP_IN_APP, NULL, 0, &value));
    CHECK(value->type == PMIX_DATA_ARRAY && value->data.darray->type == PMIX_PROC_RANK);
    const pmix_rank_t* ranks = value->data.darray->array;
    bool meant = false;
    for (size_t i = 0; i < value->data.darray->size; i++) meant = meant || ranks[i] == me.rank;
    PMIX_VALUE_RELEASE(value);
    if (meant) {
        pmix_status_t code = PMIX_DEBUGGER_RELEASE;
        pmix_info_t info;
        CHECK(PMIx_Register_event_handler(&code, 1, NULL, 0, on_release, NULL, NULL) >= 0);
        PMIX_INFO_LOAD(&info, PMIX_BREAKPOINT, "before-the-loop", PMIX_STRING);
        CHECK_DONE(PMIx_Notify_event(PMIX_READY_FOR_DEBUG, &me, PMIX_RANGE_RM, &info, 1, NULL, NULL));
        PMIX_INFO_DESTRUCT(&info);
        CHECK(box_wait(&released, 1, 60));
    }
    if (strcmp(argv[0], "unpublished") == 0) { /* there is nobody to publish at */
        CHECK_OK(PMIx_Get(&job, PMIX_DEBUG_TARGET, NULL, 0, &value));
        CHECK(value->type == PMIX_PROC && value->data.proc->nspace[0]);
        PMIX_VALUE_RELEASE(value);
        finish();
        return;
    }
    child_done(argv[0]);
}

/* daemon FLAG: looks for its target, on its own node */
static void daemon_of_debugger(int argc, char** argv) {
    CHECK(argc == 1);
    start();
    pmix_proc_t job = rank_of_job(PMIX_RANK_WILDCARD), target, targets;
    pmix_value_t* value = NULL;
    pmix_proc_info_t* rows;
    size_t count;
    uint32_t size = 0, nodes = 0, own_nodes = 0;
    CHECK_OK(PMIx_Get(&job, PMIX_DEBUG_TARGET, NULL, 0, &value));
    CHECK(value->type == PMIX_PROC);
    target = *value->data.proc;
    PMIX_VALUE_RELEASE(value);
    PMIX_LOAD_PROCID(&targets, target.nspace, PMIX_RANK_WILDCARD);
    CHECK_OK(get_u32(&targets, PMIX_JOB_SIZE, 0, &size));
    CHECK_OK(get_u32(&targets, PMIX_NUM_NODES, 0, &nodes));
    CHECK_OK(get_u32(&job, PMIX_NUM_NODES, 0, &own_nodes));
    pmix_info_t* table = table_of(PMIX_QUERY_LOCAL_PROC_TABLE, target.nspace, &count, &rows);
    CHECK(count > 0);
    const uint32_t local = proc_u16(me.rank, PMIX_LOCAL_RANK);
    bool found = false;
    for (size_t i = 0; i < count; i++) found = found || rows[i].proc.rank == target.rank;
    if (strcmp(argv[0], "by_node") == 0) CHECK(local == 0 && job_size == nodes && own_nodes == nodes);
    if (strcmp(argv[0], "each") == 0) CHECK(local < count && job_size == size && own_nodes == nodes);
    if (strcmp(argv[0], "beside") == 0) CHECK(local < count && job_size == size);
    if (strcmp(argv[0], "one") == 0) CHECK(found && job_size == 2 && own_nodes == 1);
    PMIX_INFO_FREE(table, 1);
    fence(false); /* they are a job as any other */
    child_done(argv[0]);
}

static void fails(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    _exit(3);
}

int main(int argc, char** argv) {
    static const struct test_case children[] = {
        {"app", app}, {"stopper", stopper}, {"daemon", daemon_of_debugger}, {"fails", fails}, {"stays", stays}};
    static const struct plain_case cases[] = {
        {"in_init", in_init},
        {"some_in_init", some_in_init},
        {"in_app", in_app},
        {"on_exec", on_exec},
        {"attach", attach},
        {"ends_stopped", ends_stopped},
        {"cospawn", cospawn},
        {"refused", refused},
        {"support", support},
        {"indirect", indirect},
        {"indirect_early", indirect_early},
        {"indirect_gone", indirect_gone},
        {"indirect_by_host", indirect_by_host},
        {"alone", alone},
    };
    static char self[4096];
    CHECK(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    program = self;
    arguments = argv + 2;
    for (size_t i = 0; i < sizeof children / sizeof *children; i++) {
        if (argc > 1 && strcmp(argv[1], children[i].name) == 0) RUN_CASE(children);
        if (argc > 1 && strcmp(argv[1], children[i].name) == 0) return 0;
    }
    RUN_PLAIN_CASE(cases);
    return 0;
}
