/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn: what a spawn may ask for, and what becomes of it (run under pmixrun).
 * usage: spawn apps|hosts|spread|required|unusable|environment|places|failures|nonblocking
 * The children are this program too, in the cases below `children`: they check what they find and say so with a flag
 * named by their last argument and their rank. */

#include <sys/stat.h>

#include "spawn_check.h"

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

/* --- children ----------------------------------------------------------------------------------------------------- */

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
    be_seen(argv[7]);
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

/* called FLAG WORD...: argv[0] is the program's name, and all words follow */
static void called(int argc, char** argv) {
    const char* name = strrchr(program, '/');
    CHECK(argc == 3);
    CHECK(strncmp(name ? name + 1 : program, "client_spawn", 12) == 0); /* or with the release of its headers */
    start();
    CHECK(strcmp(argv[1], "-v") == 0 && strcmp(argv[2], "2") == 0);
    child_done(argv[0]);
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

/* inherited DIRECTORY FLAG: runs where its parent was */
static void inherited(int argc, char** argv) {
    char wdir[4096];
    CHECK(argc == 2);
    start();
    CHECK(getcwd(wdir, sizeof wdir) && strcmp(wdir, argv[0]) == 0);
    child_done(argv[1]);
}

/* --- cases -------------------------------------------------------------------------------------------------------- */

/* Several applications, each with arguments, settings, a directory, a number and infos of its own. rows: C5 C6 U7 */
static void apps(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_nspace_t nspace;
    pmix_app_t list[3];
    pmix_info_t info;
    char size[16], rank[16];
    start();
    snprintf(size, sizeof size, "%u", job_size);
    pmix_rank_t requester = job_size - 1;
    snprintf(rank, sizeof rank, "%u", requester);
    if (me.rank == requester) {
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
        say_seen("apps");
        await_children("apps", 6);
    }
    fence(false);
    finish();
}

static void look(const char* nspace, const char* wanted, const char* flag) {
    check_nodes(nspace, wanted);
    say_seen(flag);
}

static void spawn_on(const char* key, const char* where, int count, const char* flag, const char* wanted) {
    pmix_nspace_t nspace;
    pmix_app_t app;
    pmix_info_t info;
    app_of(&app, count, "seen", flag, NULL);
    PMIX_INFO_LOAD(&info, key, where, PMIX_STRING);
    info.flags = PMIX_INFO_REQD;
    CHECK_OK(spawn(&info, 1, &app, 1, nspace));
    look(nspace, wanted, flag);
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
        char longer[700]; /* the spaces between two words of a line may be any */
        snprintf(longer, sizeof longer, "node2%600sslots=2\nnode1\n", "");
        write_hosts(path, longer);
        spawn_on(PMIX_HOSTFILE, path, 3, "nine", "2,2,1");
        write_hosts(path, "elsewhere\n");
        refused_on(PMIX_HOSTFILE, path, 1, PMIX_ERR_JOB_ALLOC_FAILED);
        CHECK(unlink(path) == 0);
        refused_on(PMIX_HOSTFILE, path, 1, PMIX_ERR_JOB_ALLOC_FAILED);
        CHECK(mkfifo(path, 0600) == 0); /* that nobody writes to */
        refused_on(PMIX_HOSTFILE, path, 1, PMIX_ERR_JOB_ALLOC_FAILED);
        CHECK(unlink(path) == 0);
        refused_on(PMIX_HOST, "node2,elsewhere", 1, PMIX_ERR_JOB_ALLOC_FAILED);
        refused_on(PMIX_HOST, "node4", 1, PMIX_ERR_JOB_ALLOC_FAILED);
        pmix_nspace_t nspace;
        pmix_app_t halves[2];
        for (int i = 0; i < 2; i++) app_of(&halves[i], 40000, "child", "never", NULL);
        CHECK_STATUS(spawn(NULL, 0, halves, 2, nspace), PMIX_ERR_OUT_OF_RESOURCE);
        refused_on(PMIX_ADD_HOST, "node4", 1, PMIX_ERR_JOB_ALLOC_FAILED);
        refused_on(PMIX_HOST, "node1:1,node2:2", 4, PMIX_ERR_JOB_INSUFFICIENT_RESOURCES);
        /* The limits of the job's hosts hold for its applications together, those of a PPR for each. */
        for (int more = 1; more < 3; more++) {
            pmix_info_t limits;
            for (int i = 0; i < 2; i++) app_of(&halves[i], i == 0 ? more : 1, "seen", "limits", NULL);
            PMIX_INFO_LOAD(&limits, PMIX_HOST, "node2:1,node3:1", PMIX_STRING);
            CHECK_STATUS(spawn(&limits, 1, halves, 2, nspace),
                         more == 1 ? PMIX_SUCCESS : PMIX_ERR_JOB_INSUFFICIENT_RESOURCES);
            if (more > 1) continue;
            look(nspace, "2,3", "limits");
            await_children("limits", 2);
        }
        for (int i = 0; i < 2; i++) app_of(&halves[i], 3, "seen", "ppr", NULL);
        pmix_info_t ppr;
        PMIX_INFO_LOAD(&ppr, PMIX_PPR, "1:node", PMIX_STRING);
        CHECK_OK(spawn(&ppr, 1, halves, 2, nspace));
        look(nspace, "1,2,3,1,2,3", "ppr");
        await_children("ppr", 6);
        /* An application's word is more than the job's. */
        pmix_app_t list[2];
        pmix_info_t info;
        app_of(&list[0], 1, "seen", "seven", NULL);
        app_of(&list[1], 2, "seen", "seven", NULL);
        app_infos(&list[1], 1);
        PMIX_INFO_LOAD(&list[1].info[0], PMIX_HOST, "node2", PMIX_STRING);
        PMIX_INFO_LOAD(&info, PMIX_HOST, "node3", PMIX_STRING);
        CHECK_OK(spawn(&info, 1, list, 2, nspace));
        look(nspace, "3,2,2", "seven");
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
    } offers[] = {{"lab.unknown", "x"},
                  {PMIX_BINDTO, "board"},
                  {PMIX_RANKBY, "core"},
                  {PMIX_MAPBY, "core"},
                  {PMIX_PPR, "2:socket"}};
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
                CHECK_STATUS(spawn(&info, of_app ? 0 : 1, &app, 1, nspace),
                             must ? PMIX_ERR_NOT_SUPPORTED : PMIX_SUCCESS);
                if (!must) await_children(flag, 1);
            }
        }
    }
    fence(false);
    finish();
}

/* A directive that must be honoured and cannot be, for its value or for its place, is refused. */
static void refuse(const pmix_info_t* info, bool of_app, pmix_status_t wanted) {
    pmix_nspace_t nspace;
    pmix_app_t app;
    pmix_info_t must;
    PMIX_INFO_XFER(&must, info);
    must.flags = PMIX_INFO_REQD;
    app_of(&app, 1, "child", "never", NULL);
    if (of_app) {
        app_infos(&app, 1);
        PMIX_INFO_XFER(&app.info[0], &must);
        app.info[0].flags = PMIX_INFO_REQD;
        PMIX_INFO_DESTRUCT(&must);
    }
    pmix_status_t status = spawn(&must, of_app ? 0 : 1, &app, 1, nspace);
    if (status != wanted) fprintf(stderr, "%s of the %s\n", info->key, of_app ? "application" : "job");
    CHECK_STATUS(status, wanted);
}

/* rows: C5 G7 */
static void unusable(int argc, char** argv) {
    (void)argc, (void)argv;
    static const char* const texts[] = {PMIX_WDIR,   PMIX_HOST,     PMIX_HOSTFILE, PMIX_MAPBY, PMIX_PPR,
                                        PMIX_RANKBY, PMIX_CPU_LIST, PMIX_BINDTO,   PMIX_PREFIX};
    static const char* const others[] = {PMIX_SET_ENVAR,   PMIX_ADD_ENVAR,         PMIX_PREPEND_ENVAR,
                                         PMIX_FIRST_ENVAR, PMIX_JOB_TIMEOUT,       PMIX_SPAWN_TIMEOUT,
                                         PMIX_INDEX_ARGV,  PMIX_NOTIFY_COMPLETION, PMIX_JOB_RECOVERABLE};
    static const char* const of_jobs[] = {PMIX_JOB_RECOVERABLE, PMIX_NOTIFY_COMPLETION};
    static const pmix_envar_t nameless = {"", "x", 0}, two_names = {"A=1", "2", 0};
    const int number = 1;
    const bool yes = true;
    pmix_info_t info;
    start();
    for (size_t i = 0; me.rank == 0 && i < sizeof texts / sizeof *texts; i++) {
        PMIX_INFO_LOAD(&info, texts[i], &number, PMIX_INT);
        refuse(&info, false, PMIX_ERR_BAD_PARAM);
    }
    for (size_t i = 0; me.rank == 0 && i < sizeof others / sizeof *others; i++) {
        PMIX_INFO_LOAD(&info, others[i], "x", PMIX_STRING);
        refuse(&info, false, PMIX_ERR_BAD_PARAM);
        PMIX_INFO_DESTRUCT(&info);
    }
    for (size_t i = 0; me.rank == 0 && i < sizeof of_jobs / sizeof *of_jobs; i++) {
        PMIX_INFO_LOAD(&info, of_jobs[i], &yes, PMIX_BOOL);
        refuse(&info, true, PMIX_ERR_NOT_SUPPORTED);
    }
    if (me.rank == 0) {
        PMIX_INFO_LOAD(&info, PMIX_PSET_NAME, "set", PMIX_STRING);
        refuse(&info, false, PMIX_ERR_NOT_SUPPORTED);
        PMIX_INFO_DESTRUCT(&info);
        PMIX_INFO_LOAD(&info, PMIX_SET_ENVAR, &nameless, PMIX_ENVAR);
        refuse(&info, true, PMIX_ERR_BAD_PARAM);
        PMIX_INFO_DESTRUCT(&info);
        PMIX_INFO_LOAD(&info, PMIX_SET_ENVAR, &two_names, PMIX_ENVAR);
        refuse(&info, true, PMIX_ERR_BAD_PARAM);
        PMIX_INFO_DESTRUCT(&info);
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
        pmix_info_t info[9];
        app_of(&app, 2, "settings", "SET=two", "ADDED=first", "LATE=kept", "PATHS=/c:/a:/b:/d", "GONE",
               "FIRST=/z:/x::/y:", "NEW=/only", "env", NULL);
        set_env(&app, "LATE=kept");
        load_envar(&info[0], PMIX_SET_ENVAR, "SET", "one", 0);
        load_envar(&info[1], PMIX_ADD_ENVAR, "ADDED", "first", 0);
        load_envar(&info[2], PMIX_ADD_ENVAR, "ADDED", "second", 0);
        load_envar(&info[3], PMIX_SET_ENVAR, "PATHS", "/a", 0);
        load_envar(&info[4], PMIX_APPEND_ENVAR, "PATHS", "/b", ':');
        load_envar(&info[5], PMIX_SET_ENVAR, "GONE", "x", 0);
        PMIX_INFO_LOAD(&info[6], PMIX_UNSET_ENVAR, "GONE", PMIX_STRING);
        load_envar(&info[7], PMIX_SET_ENVAR, "FIRST", "/x::/z:/y:", 0);
        PMIX_INFO_CONSTRUCT(&info[8]); /* names nothing */
        PMIX_LOAD_KEY(info[8].key, PMIX_UNSET_ENVAR);
        info[8].value.type = PMIX_STRING;
        app_infos(&app, 6);
        load_envar(&app.info[0], PMIX_SET_ENVAR, "SET", "two", 0);
        load_envar(&app.info[1], PMIX_ADD_ENVAR, "LATE", "no", 0);
        load_envar(&app.info[2], PMIX_PREPEND_ENVAR, "PATHS", "/c", ':');
        load_envar(&app.info[3], PMIX_APPEND_ENVAR, "PATHS", "/d", ':');
        load_envar(&app.info[4], PMIX_FIRST_ENVAR, "FIRST", "/z", ':');
        load_envar(&app.info[5], PMIX_PREPEND_ENVAR, "NEW", "/only", ':');
        CHECK_OK(spawn(info, 9, &app, 1, nspace));
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

        /* Arguments alone, as MPICH gives them. */
        app_of(&app, 2, "called", "called", "-v", "2", NULL);
        free(app.argv[0]);
        memmove(app.argv, app.argv + 1, 15 * sizeof *app.argv);
        CHECK_OK(spawn(NULL, 0, &app, 1, nspace));
        await_children("called", 2);

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
        list[0].cmd = NULL;
        for (char** word = list[0].argv; *word; word++) {
            free(*word);
            *word = NULL;
        }
        CHECK_STATUS(spawn(NULL, 0, list, 1, nspace), PMIX_ERR_JOB_NO_EXE_SPECIFIED);
        app_of(&list[0], 0, "child", "never", NULL);
        CHECK_STATUS(spawn(NULL, 0, list, 1, nspace), PMIX_ERR_BAD_PARAM);
        app_of(&list[0], 3, "stays", NULL); /* would keep pmixrun for ever */
        app_of(&list[1], 3, "child", "never", NULL);
        free(list[1].cmd);
        list[1].cmd = strdup("/no/such/program");
        CHECK_STATUS(spawn(NULL, 0, list, 2, nspace), PMIX_ERR_JOB_EXE_NOT_FOUND);
        /* The name of a set that a failed job was to have is free with the answer. */
        for (int round = 0; round < 3; round++) {
            app_of(&list[0], 3, "stays", NULL);
            app_of(&list[1], 1, "child", "never", NULL);
            free(list[1].cmd);
            list[1].cmd = strdup("/no/such/program");
            app_infos(&list[0], 1);
            PMIX_INFO_LOAD(&list[0].info[0], PMIX_PSET_NAME, "failed", PMIX_STRING);
            CHECK_STATUS(spawn(NULL, 0, list, 2, nspace), PMIX_ERR_JOB_EXE_NOT_FOUND);
        }
        app_of(&list[0], 1, "child", "named.well", NULL);
        app_infos(&list[0], 1);
        PMIX_INFO_LOAD(&list[0].info[0], PMIX_PSET_NAME, "failed", PMIX_STRING);
        CHECK_OK(spawn(NULL, 0, list, 1, nspace));
        await_children("named.well", 1);
        CHECK_STATUS(PMIx_Spawn(NULL, 0, NULL, 0, NULL), PMIX_ERR_BAD_PARAM);
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

/* Several at once without waiting; a callback for each, and none for what was refused; no name wanted. */
/* rows: C5 G2 G4 */
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
        for (int i = 0; i < 3; i++) CHECK(box_wait(&spawned[i].box, 1, 60));
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

/* An application without a directory starts in its caller's, where a relative path means what the caller means. */
/* rows: C5 */
static void directory(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_nspace_t nspace;
    pmix_app_t app;
    char folder[512], real[4096], self[4096];
    start();
    if (me.rank == job_size - 1) {
        const char* tmp = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%s/spawn.XXXXXX", tmp ? tmp : "/tmp");
        CHECK(mkdtemp(folder) && chdir(folder) == 0 && getcwd(real, sizeof real));
        ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
        CHECK(n > 0);
        self[n] = 0;
        CHECK(symlink(self, "program") == 0);
        app_of(&app, 2, "inherited", real, "directory", NULL);
        free(app.cmd);
        free(app.argv[0]);
        app.cmd = strdup("./program");
        app.argv[0] = strdup("program");
        CHECK_OK(spawn(NULL, 0, &app, 1, nspace));
        await_children("directory", 2);
        CHECK(unlink("program") == 0 && chdir("/") == 0 && rmdir(folder) == 0);
    }
    fence(false);
    finish();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {
        {"directory", directory},
        {"apps", apps},
        {"hosts", hosts},
        {"spread", spread},
        {"required", required},
        {"unusable", unusable},
        {"environment", environment},
        {"places", places},
        {"failures", failures},
        {"nonblocking", nonblocking},
        /* children */
        {"child", child},
        {"seen", seen},
        {"member", member},
        {"settings", settings},
        {"stays", stays},
        {"named", named},
        {"called", called},
        {"session", session},
        {"inherited", inherited},
    };
    program = argv[0];
    own_name = argv[0];
    RUN_CASE(cases);
    return 0;
}
