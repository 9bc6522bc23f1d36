// SPDX-License-Identifier: BSD-3-Clause
/* debugger.c: the Standard's use cases of a debugger at pmixrun: a tool starts a job whose processes stop for it, or
 * attaches to one that runs, and has its daemons started beside them.
 *
 *     debugger CASE     the only rank, which is no process of its job but a tool
 *     debugger child..  what the tool spawns */
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "debugger_check.h"

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
int main(int argc, char** argv) {
    static const struct plain_case cases[] = {
        {"in_init", in_init}, {"some_in_init", some_in_init}, {"in_app", in_app},   {"on_exec", on_exec},
        {"attach", attach},   {"ends_stopped", ends_stopped}, {"cospawn", cospawn}, {"refused", refused},
        {"support", support},
    };
    if (ran_child(argc, argv)) return 0;
    RUN_PLAIN_CASE(cases);
    return 0;
}
