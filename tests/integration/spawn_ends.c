/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn_ends: how spawned jobs end, who hears of it, limits of time, and many of them (run under pmixrun).
 * usage: spawn_ends limits|silent_node|companions|time_for_all|hears|aborts|beside|refused|replaced|orphans|terminated
 *        spawn_ends many COUNT KIB
 * The children are this program too. */
#include <signal.h>

#include "spawn_check.h"

/* dies FLAG RANK: this rank kills itself when the flag is up; the others leave */
static void dies(int argc, char** argv) {
    CHECK(argc == 2);
    start();
    fence(false);
    await_flag(argv[0]);
    if (me.rank == (pmix_rank_t)atoi(argv[1])) raise(SIGKILL);
    finish();
}

/* --- events --------------------------------------------------------------------------------------------------------
 */

struct heard {
    struct signal_box box;
    pmix_proc_t affected;
    pmix_status_t term_status;
    int exit_code;
};

static void hear(size_t id, pmix_status_t code, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                 pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)id, (void)source, (void)results, (void)nresults;
    struct heard* heard = NULL;
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_RETURN_OBJECT)) heard = info[i].value.data.ptr;
    }
    CHECK(heard);
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC)) heard->affected = *info[i].value.data.proc;
        if (PMIX_CHECK_KEY(&info[i], PMIX_JOB_TERM_STATUS)) heard->term_status = info[i].value.data.status;
        if (PMIX_CHECK_KEY(&info[i], PMIX_EXIT_CODE)) heard->exit_code = info[i].value.data.integer;
    }
    box_signal(&heard->box, code);
    if (done) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void listen_for(pmix_status_t code, struct heard* heard) {
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_EVENT_RETURN_OBJECT, heard, PMIX_POINTER);
    CHECK(PMIx_Register_event_handler(&code, 1, &info, 1, hear, NULL, NULL) >= 0);
    PMIX_INFO_DESTRUCT(&info);
}

/* A job that may run for a second is ended then, which is no failure; its end is told with the reason. rows: C5 */
static void limits(int argc, char** argv) {
    (void)argc, (void)argv;
    static struct heard ended = {.box = SIGNAL_BOX};
    start();
    if (me.rank == 0) {
        pmix_nspace_t nspace;
        pmix_app_t app;
        pmix_info_t info[2];
        int second = 1;
        bool yes = true;
        listen_for(PMIX_EVENT_JOB_END, &ended);
        app_of(&app, 3, "stays", NULL);
        PMIX_INFO_LOAD(&info[0], PMIX_JOB_TIMEOUT, &second, PMIX_INT);
        PMIX_INFO_LOAD(&info[1], PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
        CHECK_OK(spawn(info, 2, &app, 1, nspace));
        CHECK(box_wait(&ended.box, 1, 60));
        CHECK(ended.term_status == PMIX_ERR_TIMEOUT && strcmp(ended.affected.nspace, nspace) == 0);
    }
    fence(false);
    finish();
}

/* The daemon of another node is silent: the spawn ends with its time, and a later one is as good as ever.
 * rows: C5 G11 */
static void silent_node(int argc, char** argv) {
    (void)argc, (void)argv;
    uint32_t daemon_of_last = 0;
    start();
    CHECK_OK(put_u32(PMIX_GLOBAL, "daemon", (uint32_t)getppid()));
    CHECK_OK(PMIx_Commit());
    fence(true);
    pmix_proc_t last = rank_of_job(job_size - 1);
    CHECK_OK(get_u32(&last, "daemon", 0, &daemon_of_last));
    static const char* const keys[] = {PMIX_SPAWN_TIMEOUT, PMIX_TIMEOUT};
    for (int i = 0; me.rank == 0 && i < 2; i++) {
        pmix_nspace_t nspace;
        pmix_app_t app;
        pmix_info_t info;
        int second = 1;
        stop_process((pid_t)daemon_of_last);
        double before = seconds_now();
        app_of(&app, 3, "stays", NULL);
        PMIX_INFO_LOAD(&info, keys[i], &second, PMIX_INT);
        CHECK_STATUS(spawn(&info, 1, &app, 1, nspace), PMIX_ERR_TIMEOUT);
        CHECK(seconds_now() - before >= 0.9 && seconds_now() - before < 60);
        CHECK(kill((pid_t)daemon_of_last, SIGCONT) == 0);
        char flag[32];
        snprintf(flag, sizeof flag, "again.%d", i);
        app_of(&app, 3, "child", flag, NULL);
        CHECK_OK(spawn(NULL, 0, &app, 1, nspace));
        await_children(flag, 3);
    }
    fence(false);
    finish();
}

/* The second is a job of its own beside the first. */
static void two_jobs(pmix_app_t apps[2], const char* setting, const char* second) {
    const bool yes = true;
    app_of(&apps[0], 2, "stays", NULL);
    set_env(&apps[0], setting);
    app_of(&apps[1], 1, "stays", NULL);
    app_infos(&apps[1], 1);
    PMIX_INFO_LOAD(apps[1].info, PMIX_COSPAWN_APP, &yes, PMIX_BOOL);
    if (!second) return;
    free(apps[1].cmd);
    apps[1].cmd = strdup(second);
}

/* How many processes have the setting in their environment. */
static int count_with(const char* setting) {
    static char text[1 << 18];
    int count = 0;
    DIR* processes = opendir("/proc");
    CHECK(processes);
    for (struct dirent* process; (process = readdir(processes));) {
        char path[320];
        snprintf(path, sizeof path, "/proc/%s/environ", process->d_name);
        FILE* file = process->d_name[0] >= '0' && process->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        if (!file) continue;
        const size_t size = fread(text, 1, sizeof text - 1, file);
        fclose(file);
        text[size] = 0;
        bool found = false;
        for (const char* at = text; at < text + size; at += strlen(at) + 1) found = found || strcmp(at, setting) == 0;
        count += found;
    }
    closedir(processes);
    return count;
}

/* One of two jobs cannot be started. The answer comes when the other one has ended, whose processes ignore SIGTERM as
 * this one does. rows: C5 */
static void companions(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    if (me.rank == 0) {
        pmix_nspace_t nspace;
        pmix_app_t apps[2];
        char setting[PMIX_MAX_NSLEN + 32];
        snprintf(setting, sizeof setting, "COMPANION_OF=%s", me.nspace);
        two_jobs(apps, setting, "/nonexistent/program");
        CHECK_STATUS(spawn(NULL, 0, apps, 2, nspace), PMIX_ERR_JOB_EXE_NOT_FOUND);
        CHECK(count_with(setting) == 0);
    }
    fence(false);
    finish();
}

/* Programs are executed late: each of the two jobs would be started in the time that is for both. rows: C5 */
static void time_for_all(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    if (me.rank == 0) {
        pmix_nspace_t nspace;
        pmix_app_t apps[2];
        pmix_info_t info;
        const int seconds = 2;
        char setting[PMIX_MAX_NSLEN + 32];
        snprintf(setting, sizeof setting, "LATE_FOR=%s", me.nspace);
        two_jobs(apps, setting, NULL);
        set_env(&apps[1], setting);
        apps[0].maxprocs = 1;
        PMIX_INFO_LOAD(&info, PMIX_SPAWN_TIMEOUT, &seconds, PMIX_INT);
        CHECK_STATUS(spawn(&info, 1, apps, 2, nspace), PMIX_ERR_TIMEOUT);
        const double until = seconds_now() + 60; /* the library has this limit too: pmixrun ends them */
        while (count_with(setting) > 0) {
            CHECK(seconds_now() < until);
            nanosleep(&(struct timespec){0, 10000000}, NULL);
        }
    }
    fence(false);
    finish();
}

/* A job that may lose a process: this one is killed, of which its parent hears. */
static void lose_one(const char* flag, const char* rank, struct heard* killed, int count) {
    pmix_nspace_t nspace;
    pmix_app_t app;
    pmix_info_t info[2];
    bool yes = true;
    app_of(&app, 3, "dies", flag, rank, NULL);
    PMIX_INFO_LOAD(&info[0], PMIX_JOB_RECOVERABLE, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    CHECK_OK(spawn(info, 2, &app, 1, nspace));
    raise_flag(flag);
    CHECK(box_wait(&killed->box, count, 60));
    CHECK(strcmp(killed->affected.nspace, nspace) == 0 && killed->affected.rank == (pmix_rank_t)atoi(rank));
}

/* A process of a spawned job is killed: its parent hears, once, and nobody else of the parent's job, whichever rank it
 * was; the spawn had said that the failure is no end of anything. rows: C6 */
static void hears(int argc, char** argv) {
    (void)argc, (void)argv;
    static struct heard killed = {.box = SIGNAL_BOX}, ended = {.box = SIGNAL_BOX};
    start();
    listen_for(PMIX_ERR_PROC_ABORTED_BY_SIG, &killed);
    listen_for(PMIX_EVENT_JOB_END, &ended);
    fence(false);
    for (int round = 1; round <= 2; round++) {
        if (me.rank != 0) continue;
        lose_one(round == 1 ? "die" : "die.too", round == 1 ? "2" : "0", &killed, round);
        CHECK(box_wait(&ended.box, round, 60)); /* after it there is nothing more */
        CHECK(ended.term_status == PMIX_ERR_JOB_ABORTED_BY_SIG);
    }
    fence(false);
    CHECK(box_count(&killed.box) == (me.rank == 0 ? 2 : 0) && box_count(&ended.box) == box_count(&killed.box));
    finish();
}

/* aborter: one of its ranks aborts the job, by its name or by none */
static void aborter(int argc, char** argv) {
    CHECK(argc == 1);
    pmix_proc_t all;
    start();
    fence(false);
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    bool named = strcmp(argv[0], "named") == 0;
    if (me.rank == 1) PMIx_Abort(6, "the child", named ? &all : NULL, named);
    for (;;) pause();
}

/* A spawned job whose failures are no end of anything aborts itself: its parent goes on, and hears how it ended. */
/* rows: C2 C6 */
static void aborts(int argc, char** argv) {
    (void)argc, (void)argv;
    static struct heard ended = {.box = SIGNAL_BOX};
    start();
    listen_for(PMIX_EVENT_JOB_END, &ended);
    for (int round = 1; me.rank == 0 && round <= 2; round++) {
        pmix_nspace_t nspace;
        pmix_app_t app;
        pmix_info_t info[2];
        bool yes = true;
        app_of(&app, 3, "aborter", round == 1 ? "unnamed" : "named", NULL);
        PMIX_INFO_LOAD(&info[0], PMIX_JOB_RECOVERABLE, &yes, PMIX_BOOL);
        PMIX_INFO_LOAD(&info[1], PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
        CHECK_OK(spawn(info, 2, &app, 1, nspace));
        CHECK(box_wait(&ended.box, round, 60));
        CHECK_STATUS(ended.term_status, PMIX_ERR_JOB_ABORTED);
        CHECK(ended.exit_code == 6 && strcmp(ended.affected.nspace, nspace) == 0);
        ended.exit_code = 0;
    }
    fence(false);
    finish();
}

static pmix_status_t spawn_program(const char* path) {
    pmix_nspace_t nspace;
    pmix_app_t app;
    app_of(&app, 1, "child", "never", NULL);
    free(app.cmd);
    app.cmd = strdup(path);
    return spawn(NULL, 0, &app, 1, nspace);
}

/* A spawn that fails is answered while others never stop to spawn. rows: C7 */
static void beside(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    fence(false);
    if (me.rank == 0) {
        for (int i = 0; i < 3; i++) CHECK_STATUS(spawn_program("/no/such/program"), PMIX_ERR_JOB_EXE_NOT_FOUND);
        raise_flag("answered");
    }
    while (me.rank != 0 && look_up_string("answered", NULL, 0, NULL, 0, NULL) != PMIX_SUCCESS)
        CHECK_OK(spawn_program("/bin/true"));
    fence(false);
    finish();
}

/* A spawn is refused when half of its processes run: nobody hears of their end, as nobody has their names. rows: C6 */
static void refused(int argc, char** argv) {
    (void)argc, (void)argv;
    static struct heard killed = {.box = SIGNAL_BOX};
    start();
    listen_for(PMIX_ERR_PROC_ABORTED_BY_SIG, &killed);
    fence(false);
    for (int i = 0; me.rank == 0 && i < 5; i++) {
        pmix_nspace_t nspace;
        pmix_app_t apps[2];
        app_of(&apps[0], 2, "stays", NULL);
        app_of(&apps[1], 1, "stays", NULL);
        free(apps[1].cmd);
        apps[1].cmd = strdup("/no/such/program");
        CHECK_STATUS(spawn(NULL, 0, apps, 2, nspace), PMIX_ERR_JOB_EXE_NOT_FOUND);
    }
    if (me.rank == 0) lose_one("die", "1", &killed, 1); /* those before it have ended by then */
    fence(false);
    CHECK(box_count(&killed.box) == (me.rank == 0));
    finish();
}

static pmix_status_t spawn_with(const char* key, const char* value, int count, const char* flag) {
    pmix_nspace_t nspace;
    pmix_app_t app;
    pmix_info_t info;
    app_of(&app, count, "child", flag, NULL);
    if (key) PMIX_INFO_LOAD(&info, key, value, PMIX_STRING);
    return spawn(&info, key != NULL, &app, 1, nspace);
}

/* The last node is lost: what is spawned then runs on those that are left. Run with --continuous, a process on each of
 * three nodes. rows: C5 */
static void replaced(int argc, char** argv) {
    (void)argc, (void)argv;
    static struct heard killed = {.box = SIGNAL_BOX};
    start();
    listen_for(PMIX_ERR_PROC_ABORTED_BY_SIG, &killed);
    fence(false);
    if (me.rank == 2) {
        kill(getppid(), SIGKILL);
        for (;;) pause();
    }
    CHECK(box_wait(&killed.box, 1, 60));
    CHECK(killed.affected.rank == 2);
    if (me.rank == 0) {
        CHECK_OK(spawn_with(NULL, NULL, 5, "any"));
        await_children("any", 5);
        CHECK_OK(spawn_with(PMIX_MAPBY, "ppr:1:node", 2, "each"));
        await_children("each", 2);
        CHECK_STATUS(spawn_with(PMIX_MAPBY, "ppr:1:node", 3, "none"), PMIX_ERR_JOB_INSUFFICIENT_RESOURCES);
        CHECK_OK(spawn_with(PMIX_HOST, "node2", 2, "there"));
        await_children("there", 2);
        CHECK_STATUS(spawn_with(PMIX_HOST, "node3", 1, "none"), PMIX_ERR_JOB_ALLOC_FAILED);
        CHECK_STATUS(spawn_with(PMIX_HOST, "node1,node3", 1, "none"), PMIX_ERR_JOB_ALLOC_FAILED);
    }
    finish();
}

/* heir FLAG: hears of its parent's end */
static void heir(int argc, char** argv) {
    static struct heard killed = {.box = SIGNAL_BOX};
    CHECK(argc == 1);
    start();
    pmix_proc_t parent = parent_of_job();
    listen_for(PMIX_ERR_PROC_ABORTED_BY_SIG, &killed);
    fence(false);
    if (me.rank == 0) raise_flag(argv[0]);
    CHECK(box_wait(&killed.box, 1, 60));
    CHECK(PMIX_CHECK_PROCID(&killed.affected, &parent));
    fence(false);
    CHECK(box_count(&killed.box) == 1);
    finish();
}

/* The parent is killed: its children hear. Run with --continuous. rows: C6 */
static void orphans(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    fence(false);
    if (me.rank == 0) {
        pmix_nspace_t nspace;
        pmix_app_t app;
        app_of(&app, 3, "heir", "ready", NULL);
        CHECK_OK(spawn(NULL, 0, &app, 1, nspace));
        await_flag("ready");
        raise(SIGKILL);
    }
    finish();
}

/* Without any leave to fail, the failure of one ends both jobs, which is reported for each while they end. Run with
 * --kill-after. rows: C3 C6 */
static void terminated(int argc, char** argv) {
    (void)argc, (void)argv;
    static struct heard jobs = {.box = SIGNAL_BOX};
    signal(SIGTERM, SIG_IGN); /* --kill-after leaves it the time to get the event */
    start();
    listen_for(PMIX_ERR_JOB_TERM_WO_SYNC, &jobs);
    fence(false);
    if (me.rank == 0) {
        pmix_nspace_t nspace;
        pmix_app_t app;
        app_of(&app, 2, "dies", "die", "1", NULL);
        CHECK_OK(spawn(NULL, 0, &app, 1, nspace));
        raise_flag("die");
    }
    CHECK(box_wait(&jobs.box, 2, 60)); /* of this job, and of that */
    printf("OK rank %u\n", me.rank);
    fflush(stdout);
    _exit(0);
}

/* --- many ----------------------------------------------------------------------------------------------------------
 */

static void join_with(pmix_proc_t one, pmix_proc_t other) {
    pmix_proc_t both[2] = {one, other};
    CHECK_OK(PMIx_Connect(both, 2, NULL, 0));
    CHECK_OK(PMIx_Disconnect(both, 2, NULL, 0));
}

/* joins: with its parent, for a moment */
static void joins(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    join_with(parent_of_job(), rank_of_job(PMIX_RANK_WILDCARD));
    finish();
}

/* A number out of a file of /proc/PID; 0: there is none. */
static long number_in(long pid, const char* name, const char* key) {
    char path[64], line[512];
    long number = 0;
    snprintf(path, sizeof path, "/proc/%ld/%s", pid, name);
    FILE* file = fopen(path, "r");
    CHECK(file);
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) == 0) number = strtol(line + strlen(key), NULL, 10);
    }
    fclose(file);
    return number;
}

/* Pages that are there: the sums of /proc/PID/status are of each processor's, and added up when the kernel likes. */
static long memory_of(long pid) {
    return number_in(pid, "smaps_rollup", "Anonymous:");
}

/* many COUNT KIB: real jobs, one after another: memory of parent, daemon and head after a third and at the end.
 * rows: C1 C4 C5 */
static void many(int argc, char** argv) {
    CHECK(argc == 2);
    unsigned count = (unsigned)strtoul(argv[0], NULL, 10);
    long most = strtol(argv[1], NULL, 10);
    start();
    long keeper = number_in(getppid(), "status", "PPid:");
    const long pids[3] = {getpid(), getppid(), number_in(keeper, "status", "PPid:")};
    long before[3] = {0, 0, 0};
    for (unsigned pass = 0; me.rank == 0 && pass < count; pass++) {
        pmix_nspace_t nspace;
        pmix_app_t app;
        pmix_proc_t child_job;
        for (int i = 0; i < 3 && pass == count / 3; i++) before[i] = memory_of(pids[i]);
        app_of(&app, 2, "joins", NULL);
        CHECK_OK(spawn(NULL, 0, &app, 1, nspace));
        PMIX_LOAD_PROCID(&child_job, nspace, PMIX_RANK_WILDCARD);
        join_with(me, child_job);
    }
    for (int i = 0; me.rank == 0 && i < 3; i++) {
        long after = memory_of(pids[i]);
        printf("%s: %ld to %ld KiB\n", i == 0 ? "parent" : i == 1 ? "daemon" : "head", before[i], after);
        CHECK(most == 0 || after <= before[i] + most);
    }
    fence(false);
    finish();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {
        {"limits", limits},
        {"companions", companions},
        {"time_for_all", time_for_all},
        {"silent_node", silent_node},
        {"hears", hears},
        {"beside", beside},
        {"refused", refused},
        {"replaced", replaced},
        {"orphans", orphans},
        {"terminated", terminated},
        {"many", many},
        /* children */
        {"child", child},
        {"stays", stays},
        {"dies", dies},
        {"aborter", aborter},
        {"aborts", aborts},
        {"heir", heir},
        {"joins", joins},
    };
    program = argv[0];
    RUN_CASE(cases);
    return 0;
}
