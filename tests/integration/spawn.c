/* spawn: what a spawn may ask for, and what becomes of it (run under pmixrun).
 * usage: spawn apps|hosts|spread|required|environment|places|failures|limits|silent_node|nonblocking|hears|...
 * The children are this program too, in the cases below `children`: they check what they find and say so with a flag
 * named by their last argument and their rank. */
#include <signal.h>
#include <stdarg.h>

#include "check.h"

static const char* program;

/* --- asking --------------------------------------------------------------------------------------------------------
 */

/* An application that runs this program with the arguments up to NULL. */
static void app_of(pmix_app_t* app, int count, const char* first, ...) {
    va_list more;
    size_t argc = 1;
    PMIX_APP_CONSTRUCT(app);
    app->cmd = strdup(program);
    app->argv = calloc(16, sizeof *app->argv);
    app->argv[0] = strdup(program);
    va_start(more, first);
    for (const char* word = first; word && argc < 15; word = va_arg(more, const char*)) app->argv[argc++] = strdup(word);
    va_end(more);
    app->maxprocs = count;
}

static void set_env(pmix_app_t* app, const char* setting) {
    app->env = calloc(2, sizeof *app->env);
    app->env[0] = strdup(setting);
}

static void app_infos(pmix_app_t* app, size_t count) {
    app->ninfo = count;
    PMIX_INFO_CREATE(app->info, count);
}

static pmix_status_t spawn(pmix_info_t* info, size_t ninfo, pmix_app_t* apps, size_t napps, pmix_nspace_t nspace) {
    memset(nspace, 'x', sizeof(pmix_nspace_t));
    pmix_status_t status = PMIx_Spawn(info, ninfo, apps, napps, nspace);
    CHECK(status == PMIX_SUCCESS ? nspace[0] != 0 && strlen(nspace) < PMIX_MAX_NSLEN : nspace[0] == 0);
    for (size_t i = 0; i < napps; i++) PMIX_APP_DESTRUCT(&apps[i]);
    for (size_t i = 0; i < ninfo; i++) PMIX_INFO_DESTRUCT(&info[i]);
    return status;
}

static void await_children(const char* flag, uint32_t count) {
    char name[96];
    for (uint32_t rank = 0; rank < count; rank++) {
        snprintf(name, sizeof name, "%s.%u", flag, rank);
        await_flag(name);
    }
}

static void node_of(const char* nspace, pmix_rank_t rank, char* host, size_t size) {
    pmix_proc_t proc;
    pmix_value_t* value = NULL;
    PMIX_LOAD_PROCID(&proc, nspace, rank);
    CHECK_OK(PMIx_Get(&proc, PMIX_HOSTNAME, NULL, 0, &value));
    snprintf(host, size, "%s", value->data.string);
    PMIX_VALUE_RELEASE(value);
}

/* "1,3,3": the nodes of ranks 0, 1 and 2 */
static void check_nodes(const char* nspace, const char* wanted) {
    for (pmix_rank_t rank = 0; *wanted; rank++, wanted += wanted[1] ? 2 : 1) {
        char host[64];
        node_of(nspace, rank, host, sizeof host);
        CHECK(host[4] == wanted[0]);
    }
}

/* --- children ------------------------------------------------------------------------------------------------------
 */

/* The flag stays up when the child's job is over. */
static void child_done(const char* flag) {
    char name[96];
    pmix_info_t info[2];
    pmix_persistence_t session_long = PMIX_PERSIST_SESSION;
    snprintf(name, sizeof name, "%s.%u", flag, me.rank);
    PMIX_INFO_LOAD(&info[0], name, "up", PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_PERSISTENCE, &session_long, PMIX_PERSIST);
    CHECK_OK(PMIx_Publish(info, 2));
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
    finish();
}

static pmix_proc_t parent_of_job(void) {
    pmix_proc_t job = rank_of_job(PMIX_RANK_WILDCARD), parent;
    pmix_value_t* value = NULL;
    CHECK_OK(PMIx_Get(&job, PMIX_PARENT_ID, NULL, 0, &value));
    CHECK(value->type == PMIX_PROC);
    parent = *value->data.proc;
    PMIX_VALUE_RELEASE(value);
    return parent;
}

/* child FLAG: nothing to check but that it is one */
static void child(int argc, char** argv) {
    CHECK(argc == 1);
    start();
    parent_of_job();
    fence(false);
    child_done(argv[0]);
}

/* member APP SIZE-OF-APP APPS PARENT-RANK PARENT-JOB-SIZE WDIR SETTING FLAG */
static void member(int argc, char** argv) {
    char wdir[4096];
    uint32_t number = 0;
    bool spawned = false;
    CHECK(argc == 8);
    start();
    CHECK_OK(get_u32(&me, PMIX_APPNUM, 0, &number));
    CHECK(number == (uint32_t)atoi(argv[0]));
    pmix_info_t which;
    pmix_value_t* value = NULL;
    PMIX_INFO_LOAD(&which, PMIX_APP_INFO, NULL, PMIX_BOOL);
    CHECK_OK(PMIx_Get(&me, PMIX_APP_SIZE, &which, 1, &value));
    CHECK(value->type == PMIX_UINT32 && value->data.uint32 == (uint32_t)atoi(argv[1]));
    PMIX_VALUE_RELEASE(value);
    PMIX_INFO_DESTRUCT(&which);
    CHECK(job_u32(PMIX_JOB_NUM_APPS) == (uint32_t)atoi(argv[2]));
    pmix_proc_t job = rank_of_job(PMIX_RANK_WILDCARD), parent = parent_of_job();
    CHECK_OK(PMIx_Get(&job, PMIX_SPAWNED, NULL, 0, &value));
    spawned = value->type == PMIX_BOOL && value->data.flag;
    PMIX_VALUE_RELEASE(value);
    CHECK(spawned);
    CHECK(parent.rank == (pmix_rank_t)atoi(argv[3]));
    pmix_proc_t parents = parent;
    parents.rank = PMIX_RANK_WILDCARD;
    CHECK_OK(get_u32(&parents, PMIX_JOB_SIZE, 0, &number));
    CHECK(number == (uint32_t)atoi(argv[4]));
    char host[64];
    node_of(parent.nspace, parent.rank, host, sizeof host); /* where the parent is, too */
    CHECK(strncmp(host, "node", 4) == 0);
    CHECK(getcwd(wdir, sizeof wdir) && strcmp(wdir, argv[5]) == 0);
    const char* set = getenv("SPAWN_TEST");
    CHECK(set && strcmp(set, argv[6]) == 0);
    child_done(argv[7]);
}

/* settings NAME=VALUE... FLAG; NAME alone: it is not set */
static void settings(int argc, char** argv) {
    start();
    for (int i = 0; i + 1 < argc; i++) {
        char* equals = strchr(argv[i], '=');
        if (equals) *equals = 0;
        const char* value = getenv(argv[i]);
        if (equals ? !value || strcmp(value, equals + 1) != 0 : value != NULL) {
            printf("FAIL: %s is %s\n", argv[i], value ? value : "not set");
            exit(1);
        }
    }
    child_done(argv[argc - 1]);
}

/* stays: until it is killed */
static void stays(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    for (;;) pause();
}

static const char* own_name;

/* named PREFIX FLAG: argv[0] is the prefix, a dash and the rank */
static void named(int argc, char** argv) {
    char wanted[4200];
    CHECK(argc == 2);
    start();
    snprintf(wanted, sizeof wanted, "%s-%u", argv[0], me.rank);
    CHECK(strcmp(own_name, wanted) == 0);
    child_done(argv[1]);
}

/* session FLAG: runs in the node's own directory */
static void session(int argc, char** argv) {
    char wdir[4096];
    pmix_value_t* value = NULL;
    CHECK(argc == 1);
    start();
    pmix_proc_t job = rank_of_job(PMIX_RANK_WILDCARD);
    CHECK_OK(PMIx_Get(&job, PMIX_TMPDIR, NULL, 0, &value));
    CHECK(getcwd(wdir, sizeof wdir) && strcmp(wdir, value->data.string) == 0);
    PMIX_VALUE_RELEASE(value);
    child_done(argv[0]);
}

/* dies FLAG: the last rank kills itself when the flag is up; the others leave */
static void dies(int argc, char** argv) {
    CHECK(argc == 1);
    start();
    fence(false);
    await_flag(argv[0]);
    if (me.rank == job_size - 1) raise(SIGKILL);
    finish();
}

/* --- cases ---------------------------------------------------------------------------------------------------------
 */

/* Several applications, each with arguments, settings, a directory, a number and infos of its own. rows: C5 C6 U7 */
static void apps(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_nspace_t nspace;
    pmix_app_t list[3];
    pmix_info_t info;
    char size[16], rank[16];
    start();
    snprintf(size, sizeof size, "%u", job_size);
    pmix_rank_t asker = job_size - 1;
    snprintf(rank, sizeof rank, "%u", asker);
    if (me.rank == asker) {
        app_of(&list[0], 2, "member", "0", "2", "3", rank, size, "/", "one", "apps", NULL);
        list[0].cwd = strdup("/");
        set_env(&list[0], "SPAWN_TEST=one");
        app_of(&list[1], 1, "member", "1", "1", "3", rank, size, "/usr", "two", "apps", NULL);
        set_env(&list[1], "SPAWN_TEST=two");
        app_infos(&list[1], 1);
        PMIX_INFO_LOAD(&list[1].info[0], PMIX_WDIR, "/usr", PMIX_STRING); /* more than the job's */
        app_of(&list[2], 3, "member", "2", "3", "3", rank, size, "/etc", "three", "apps", NULL);
        set_env(&list[2], "SPAWN_TEST=three");
        PMIX_INFO_LOAD(&info, PMIX_WDIR, "/etc", PMIX_STRING);
        CHECK_OK(spawn(&info, 1, list, 3, nspace));
        uint32_t number = 0;
        pmix_proc_t job;
        PMIX_LOAD_PROCID(&job, nspace, PMIX_RANK_WILDCARD);
        CHECK_OK(get_u32(&job, PMIX_JOB_SIZE, 0, &number)); /* the parent has the job's data */
        CHECK(number == 6);
        CHECK_OK(get_u32(&job, PMIX_JOB_NUM_APPS, 0, &number));
        CHECK(number == 3);
        await_children("apps", 6);
    }
    fence(false);
    finish();
}

static void spawn_on(const char* key, const char* where, int count, const char* flag, const char* wanted) {
    pmix_nspace_t nspace;
    pmix_app_t app;
    pmix_info_t info;
    app_of(&app, count, "child", flag, NULL);
    PMIX_INFO_LOAD(&info, key, where, PMIX_STRING);
    info.flags = PMIX_INFO_REQD;
    CHECK_OK(spawn(&info, 1, &app, 1, nspace));
    check_nodes(nspace, wanted);
    await_children(flag, (uint32_t)count);
}

static void refused_on(const char* key, const char* where, int count, pmix_status_t wanted) {
    pmix_nspace_t nspace;
    pmix_app_t app;
    pmix_info_t info;
    app_of(&app, count, "child", "never", NULL);
    PMIX_INFO_LOAD(&info, key, where, PMIX_STRING);
    CHECK_STATUS(spawn(&info, 1, &app, 1, nspace), wanted);
}

static void write_hosts(const char* path, const char* text) {
    FILE* file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* On which nodes: lists, files, limits; of three. rows: C5 C7 */
static void hosts(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    if (me.rank == 0) {
        char path[4200];
        const char* tmp = getenv("TMPDIR");
        snprintf(path, sizeof path, "%s/hosts.%d", tmp ? tmp : "/tmp", getpid());
        spawn_on(PMIX_HOST, "node2", 2, "one", "2,2");
        spawn_on(PMIX_HOST, "node3,node1", 3, "two", "3,3,1");
        spawn_on(PMIX_HOST, "node1:1,node2:2", 3, "three", "1,2,2");
        write_hosts(path, "# ours\nnode3 slots=1\n\nnode2\n");
        spawn_on(PMIX_HOSTFILE, path, 3, "four", "3,2,2");
        spawn_on(PMIX_ADD_HOSTFILE, path, 3, "five", "1,2,3");
        spawn_on(PMIX_ADD_HOST, "node2", 3, "six", "1,2,3");
        write_hosts(path, "elsewhere\n");
        refused_on(PMIX_HOSTFILE, path, 1, PMIX_ERR_JOB_ALLOC_FAILED);
        CHECK(unlink(path) == 0);
        refused_on(PMIX_HOSTFILE, path, 1, PMIX_ERR_JOB_ALLOC_FAILED);
        refused_on(PMIX_HOST, "node2,elsewhere", 1, PMIX_ERR_JOB_ALLOC_FAILED);
        refused_on(PMIX_HOST, "node4", 1, PMIX_ERR_JOB_ALLOC_FAILED);
        refused_on(PMIX_ADD_HOST, "node4", 1, PMIX_ERR_JOB_ALLOC_FAILED);
        refused_on(PMIX_HOST, "node1:1,node2:2", 4, PMIX_ERR_JOB_INSUFFICIENT_RESOURCES);
        /* An application's word is more than the job's. */
        pmix_nspace_t nspace;
        pmix_app_t list[2];
        pmix_info_t info;
        app_of(&list[0], 1, "child", "seven", NULL);
        app_of(&list[1], 2, "child", "seven", NULL);
        app_infos(&list[1], 1);
        PMIX_INFO_LOAD(&list[1].info[0], PMIX_HOST, "node2", PMIX_STRING);
        PMIX_INFO_LOAD(&info, PMIX_HOST, "node3", PMIX_STRING);
        CHECK_OK(spawn(&info, 1, list, 2, nspace));
        check_nodes(nspace, "3,2,2");
        await_children("seven", 3);
    }
    fence(false);
    finish();
}

/* How they are spread over three nodes. rows: C5 C7 */
static void spread(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    if (me.rank == 0) {
        spawn_on(PMIX_MAPBY, "slot", 4, "one", "1,1,2,3");
        spawn_on(PMIX_MAPBY, "node", 4, "two", "1,2,3,1");
        spawn_on(PMIX_MAPBY, "ppr:2:node", 4, "three", "1,1,2,2");
        spawn_on(PMIX_PPR, "1:node", 3, "four", "1,2,3");
        refused_on(PMIX_PPR, "1:node", 4, PMIX_ERR_JOB_INSUFFICIENT_RESOURCES);
    }
    fence(false);
    finish();
}

/* What must be honoured and is not offered is refused, for the job and for an application; what need not be is not.
 * rows: C5 G7 */
static void required(int argc, char** argv) {
    (void)argc, (void)argv;
    static const struct {
        const char *key, *value;
    } offers[] = {{"lab.unknown", "x"}, {PMIX_CPU_LIST, "0"}, {PMIX_MAPBY, "core"}, {PMIX_PPR, "2:socket"}};
    start();
    for (size_t i = 0; me.rank == 0 && i < sizeof offers / sizeof *offers; i++) {
        for (int of_app = 0; of_app < 2; of_app++) {
            for (int must = 0; must < 2; must++) {
                pmix_nspace_t nspace;
                pmix_app_t app;
                pmix_info_t info;
                char flag[64];
                snprintf(flag, sizeof flag, "required.%zu.%d", i, of_app);
                app_of(&app, 1, "child", flag, NULL);
                PMIX_INFO_LOAD(&info, offers[i].key, offers[i].value, PMIX_STRING);
                if (must) info.flags = PMIX_INFO_REQD;
                if (of_app) {
                    app_infos(&app, 1);
                    PMIX_INFO_XFER(&app.info[0], &info);
                    PMIX_INFO_DESTRUCT(&info);
                }
                CHECK_STATUS(spawn(&info, of_app ? 0 : 1, &app, 1, nspace), must ? PMIX_ERR_NOT_SUPPORTED : PMIX_SUCCESS);
                if (!must) await_children(flag, 1);
            }
        }
    }
    fence(false);
    finish();
}

static void load_envar(pmix_info_t* info, const char* key, const char* name, const char* value, char separator) {
    pmix_envar_t envar = {(char*)name, (char*)value, separator};
    PMIX_INFO_LOAD(info, key, &envar, PMIX_ENVAR);
}

/* The job's settings, then the application's, each in the order given. rows: C8 */
static void environment(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    if (me.rank == 0) {
        pmix_nspace_t nspace;
        pmix_app_t app;
        pmix_info_t info[8];
        app_of(&app, 2, "settings", "SET=two", "ADDED=first", "LATE=kept", "PATHS=/c:/a:/b:/d", "GONE", "FIRST=/z:/x:/y",
               "NEW=/only", "env", NULL);
        set_env(&app, "LATE=kept");
        load_envar(&info[0], PMIX_SET_ENVAR, "SET", "one", 0);
        load_envar(&info[1], PMIX_ADD_ENVAR, "ADDED", "first", 0);
        load_envar(&info[2], PMIX_ADD_ENVAR, "ADDED", "second", 0);
        load_envar(&info[3], PMIX_SET_ENVAR, "PATHS", "/a", 0);
        load_envar(&info[4], PMIX_APPEND_ENVAR, "PATHS", "/b", ':');
        load_envar(&info[5], PMIX_SET_ENVAR, "GONE", "x", 0);
        PMIX_INFO_LOAD(&info[6], PMIX_UNSET_ENVAR, "GONE", PMIX_STRING);
        load_envar(&info[7], PMIX_SET_ENVAR, "FIRST", "/x:/z:/y", 0);
        app_infos(&app, 6);
        load_envar(&app.info[0], PMIX_SET_ENVAR, "SET", "two", 0);
        load_envar(&app.info[1], PMIX_ADD_ENVAR, "LATE", "no", 0);
        load_envar(&app.info[2], PMIX_PREPEND_ENVAR, "PATHS", "/c", ':');
        load_envar(&app.info[3], PMIX_APPEND_ENVAR, "PATHS", "/d", ':');
        load_envar(&app.info[4], PMIX_FIRST_ENVAR, "FIRST", "/z", ':');
        load_envar(&app.info[5], PMIX_PREPEND_ENVAR, "NEW", "/only", ':');
        CHECK_OK(spawn(info, 8, &app, 1, nspace));
        await_children("env", 2);
    }
    fence(false);
    finish();
}

/* Where programs are found, what they are called, where they run. rows: C5 */
static void places(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    if (me.rank == 0) {
        pmix_nspace_t nspace;
        pmix_app_t app;
        pmix_info_t info;
        bool yes = true;
        char folder[4096], *name;
        snprintf(folder, sizeof folder, "%s", program);
        name = strrchr(folder, '/');
        CHECK(name);
        *name++ = 0;
        app_of(&app, 2, "child", "prefix", NULL);
        free(app.cmd);
        app.cmd = strdup(name);
        PMIX_INFO_LOAD(&info, PMIX_PREFIX, folder, PMIX_STRING);
        CHECK_OK(spawn(&info, 1, &app, 1, nspace));
        await_children("prefix", 2);

        app_of(&app, 3, "named", "worker", "named", NULL);
        free(app.argv[0]);
        app.argv[0] = strdup("worker");
        PMIX_INFO_LOAD(&info, PMIX_INDEX_ARGV, &yes, PMIX_BOOL);
        CHECK_OK(spawn(&info, 1, &app, 1, nspace));
        await_children("named", 3);

        app_of(&app, 3, "session", "session", NULL);
        PMIX_INFO_LOAD(&info, PMIX_SET_SESSION_CWD, &yes, PMIX_BOOL);
        CHECK_OK(spawn(&info, 1, &app, 1, nspace));
        await_children("session", 3);
    }
    fence(false);
    finish();
}

/* What cannot be started is not started, and nothing is left of what was. rows: C7 */
static void failures(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    if (me.rank == 0) {
        pmix_nspace_t nspace;
        pmix_app_t list[2];
        app_of(&list[0], 1, "child", "never", NULL);
        list[0].cwd = strdup("/no/such/folder");
        CHECK_STATUS(spawn(NULL, 0, list, 1, nspace), PMIX_ERR_JOB_WDIR_NOT_FOUND);
        app_of(&list[0], 1, "child", "never", NULL);
        free(list[0].cmd);
        list[0].cmd = strdup("/etc/passwd");
        CHECK_STATUS(spawn(NULL, 0, list, 1, nspace), PMIX_ERR_JOB_APP_NOT_EXECUTABLE);
        app_of(&list[0], 1, "child", "never", NULL);
        free(list[0].cmd);
        free(list[0].argv[0]);
        list[0].cmd = NULL;
        list[0].argv[0] = NULL;
        CHECK_STATUS(spawn(NULL, 0, list, 1, nspace), PMIX_ERR_JOB_NO_EXE_SPECIFIED);
        app_of(&list[0], 0, "child", "never", NULL);
        CHECK_STATUS(spawn(NULL, 0, list, 1, nspace), PMIX_ERR_BAD_PARAM);
        app_of(&list[0], 3, "stays", NULL); /* would keep pmixrun for ever */
        app_of(&list[1], 3, "child", "never", NULL);
        free(list[1].cmd);
        list[1].cmd = strdup("/no/such/program");
        CHECK_STATUS(spawn(NULL, 0, list, 2, nspace), PMIX_ERR_JOB_EXE_NOT_FOUND);
        CHECK_STATUS(PMIx_Spawn(NULL, 0, NULL, 0, NULL), PMIX_ERR_BAD_PARAM);
    }
    fence(false);
    finish();
}

/* --- events --------------------------------------------------------------------------------------------------------
 */

struct heard {
    struct signal_box box;
    pmix_proc_t affected;
    pmix_status_t term_status;
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
        CHECK(box_wait(&ended.box, 1, 20));
        CHECK(ended.term_status == PMIX_ERR_TIMEOUT && strcmp(ended.affected.nspace, nspace) == 0);
    }
    fence(false);
    finish();
}

/* The daemon of another node is silent: the spawn ends with its time, and a later one is as good as ever. rows: C5 G11 */
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
        CHECK(kill((pid_t)daemon_of_last, SIGSTOP) == 0);
        double before = seconds_now();
        app_of(&app, 3, "stays", NULL);
        PMIX_INFO_LOAD(&info, keys[i], &second, PMIX_INT);
        CHECK_STATUS(spawn(&info, 1, &app, 1, nspace), PMIX_ERR_TIMEOUT);
        CHECK(seconds_now() - before >= 0.9 && seconds_now() - before < 15);
        CHECK(kill((pid_t)daemon_of_last, SIGCONT) == 0);
        char flag[16];
        snprintf(flag, sizeof flag, "again.%d", i);
        app_of(&app, 3, "child", flag, NULL);
        CHECK_OK(spawn(NULL, 0, &app, 1, nspace));
        await_children(flag, 3);
    }
    fence(false);
    finish();
}

struct spawned {
    struct signal_box box;
    pmix_nspace_t nspace;
};

static void on_spawned(pmix_status_t status, pmix_nspace_t nspace, void* cbdata) {
    struct spawned* spawned = cbdata;
    PMIX_LOAD_NSPACE(spawned->nspace, nspace);
    box_signal(&spawned->box, status);
}

/* Several at once without waiting; a callback for each, and none for what was refused; no name wanted. rows: C5 G2 G4 */
static void nonblocking(int argc, char** argv) {
    (void)argc, (void)argv;
    static struct spawned spawned[3] = {{.box = SIGNAL_BOX}, {.box = SIGNAL_BOX}, {.box = SIGNAL_BOX}};
    start();
    if (me.rank == 0) {
        pmix_app_t app;
        char flag[3][16];
        for (int i = 0; i < 3; i++) {
            snprintf(flag[i], sizeof flag[i], "nb.%d", i);
            app_of(&app, 2, "child", flag[i], NULL);
            CHECK_OK(PMIx_Spawn_nb(NULL, 0, &app, 1, on_spawned, &spawned[i]));
            PMIX_APP_DESTRUCT(&app); /* the request has been sent */
        }
        for (int i = 0; i < 3; i++) CHECK(box_wait(&spawned[i].box, 1, 30));
        for (int i = 0; i < 3; i++) {
            CHECK_OK(spawned[i].box.status);
            CHECK(spawned[i].nspace[0] && strcmp(spawned[i].nspace, spawned[(i + 1) % 3].nspace) != 0);
            await_children(flag[i], 2);
            CHECK(box_count(&spawned[i].box) == 1);
        }
        struct spawned never = {.box = SIGNAL_BOX};
        CHECK_STATUS(PMIx_Spawn_nb(NULL, 0, NULL, 0, on_spawned, &never), PMIX_ERR_BAD_PARAM);
        app_of(&app, 1, "child", "unnamed", NULL);
        CHECK_OK(PMIx_Spawn(NULL, 0, &app, 1, NULL));
        PMIX_APP_DESTRUCT(&app);
        await_children("unnamed", 1);
        CHECK(box_count(&never.box) == 0);
    }
    fence(false);
    finish();
}

/* A process of a spawned job is killed: its parent hears, once, and nobody else of the parent's job; the spawn had said
 * that the failure is no end of anything. rows: C6 */
static void hears(int argc, char** argv) {
    (void)argc, (void)argv;
    static struct heard killed = {.box = SIGNAL_BOX}, ended = {.box = SIGNAL_BOX};
    start();
    listen_for(PMIX_ERR_PROC_ABORTED_BY_SIG, &killed);
    listen_for(PMIX_EVENT_JOB_END, &ended);
    fence(false);
    if (me.rank == 0) {
        pmix_nspace_t nspace;
        pmix_app_t app;
        pmix_info_t info[2];
        bool yes = true;
        app_of(&app, 3, "dies", "die", NULL);
        PMIX_INFO_LOAD(&info[0], PMIX_JOB_RECOVERABLE, &yes, PMIX_BOOL);
        PMIX_INFO_LOAD(&info[1], PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
        CHECK_OK(spawn(info, 2, &app, 1, nspace));
        raise_flag("die");
        CHECK(box_wait(&killed.box, 1, 20));
        CHECK(strcmp(killed.affected.nspace, nspace) == 0 && killed.affected.rank == 2);
        CHECK(box_wait(&ended.box, 1, 20));
        CHECK(ended.term_status == PMIX_ERR_JOB_ABORTED_BY_SIG);
    } else {
        CHECK(box_wait(&ended.box, 1, 30)); /* of the session's interest: after it nothing more can come */
    }
    fence(false);
    CHECK(box_count(&killed.box) == (me.rank == 0));
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
    CHECK(box_wait(&killed.box, 1, 20));
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

/* Without any leave to fail, the failure of one ends both jobs, which is told of each while they end. rows: C3 C6 */
static void terminated(int argc, char** argv) {
    (void)argc, (void)argv;
    static struct heard jobs = {.box = SIGNAL_BOX};
    signal(SIGTERM, SIG_IGN); /* a second is left to it */
    start();
    listen_for(PMIX_ERR_JOB_TERM_WO_SYNC, &jobs);
    fence(false);
    if (me.rank == 0) {
        pmix_nspace_t nspace;
        pmix_app_t app;
        app_of(&app, 2, "dies", "die", NULL);
        CHECK_OK(spawn(NULL, 0, &app, 1, nspace));
        raise_flag("die");
    }
    CHECK(box_wait(&jobs.box, 2, 20)); /* of this job, and of that */
    printf("OK rank %u\n", me.rank);
    fflush(stdout);
    for (;;) pause();
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

/* A number out of /proc/PID/status; 0: there is none. */
static long status_of(long pid, const char* key) {
    char path[64], line[512];
    long number = 0;
    snprintf(path, sizeof path, "/proc/%ld/status", pid);
    FILE* file = fopen(path, "r");
    CHECK(file);
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) == 0) number = strtol(line + strlen(key), NULL, 10);
    }
    fclose(file);
    return number;
}

/* many COUNT KIB: real jobs, one after another: memory of parent, daemon and head after a third and at the end.
 * rows: C1 C4 C5 */
static void many(int argc, char** argv) {
    CHECK(argc == 2);
    unsigned count = (unsigned)strtoul(argv[0], NULL, 10);
    long most = strtol(argv[1], NULL, 10);
    start();
    alarm(110);
    long keeper = status_of(getppid(), "PPid:");
    const long pids[3] = {getpid(), getppid(), status_of(keeper, "PPid:")};
    long before[3] = {0, 0, 0};
    for (unsigned turn = 0; me.rank == 0 && turn < count; turn++) {
        pmix_nspace_t nspace;
        pmix_app_t app;
        pmix_proc_t child_job;
        for (int i = 0; i < 3 && turn == count / 3; i++) before[i] = status_of(pids[i], "RssAnon:");
        app_of(&app, 2, "joins", NULL);
        CHECK_OK(spawn(NULL, 0, &app, 1, nspace));
        PMIX_LOAD_PROCID(&child_job, nspace, PMIX_RANK_WILDCARD);
        join_with(me, child_job);
    }
    for (int i = 0; me.rank == 0 && i < 3; i++) {
        long after = status_of(pids[i], "RssAnon:");
        printf("%s: %ld to %ld KiB\n", i == 0 ? "parent" : i == 1 ? "daemon" : "head", before[i], after);
        CHECK(most == 0 || after <= before[i] + most);
    }
    fence(false);
    finish();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {
        {"apps", apps},
        {"hosts", hosts},
        {"spread", spread},
        {"required", required},
        {"environment", environment},
        {"places", places},
        {"failures", failures},
        {"limits", limits},
        {"silent_node", silent_node},
        {"nonblocking", nonblocking},
        {"hears", hears},
        {"orphans", orphans},
        {"terminated", terminated},
        {"many", many},
        /* children */
        {"child", child},
        {"member", member},
        {"settings", settings},
        {"stays", stays},
        {"named", named},
        {"session", session},
        {"dies", dies},
        {"heir", heir},
        {"joins", joins},
    };
    program = argv[0];
    own_name = argv[0];
    RUN_CASE(cases);
    return 0;
}
