/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_spawn: a tool without a server starts what it spawns by itself. Processes that are PMIx clients, what they are
 * told and what is forwarded. usage: tool_spawn CASE */
#include "tool_spawn.h"

/* --- the children: this program
 * ---------------------------------------------------------------------------------------- */

/* Two apps of two and one processes: everything that a job's processes know of themselves, and a fence with data. */
static int as_client(int app) {
    pmix_proc_t other;
    pmix_value_t* value = NULL;
    uint32_t number = 0, appnum = 7;
    start();
    CHECK(job_size == 3 && job_u32(PMIX_UNIV_SIZE) == 3 && job_u32(PMIX_JOB_NUM_APPS) == 2 &&
          job_u32(PMIX_LOCAL_SIZE) == 3);
    CHECK_OK(get_u32(&me, PMIX_APPNUM, 0, &appnum));
    CHECK(appnum == (uint32_t)app && (me.rank < 2) == (app == 0));
    CHECK_OK(PMIx_Get(&me, PMIX_LOCAL_RANK, NULL, 0, &value));
    CHECK(value->type == PMIX_UINT16 && value->data.uint16 == me.rank);
    PMIX_VALUE_RELEASE(value);
    other = rank_of_job(PMIX_RANK_WILDCARD);
    CHECK_OK(PMIx_Get(&other, PMIX_PARENT_ID, NULL, 0, &value));
    CHECK(value->type == PMIX_PROC && strcmp(value->data.proc->nspace, getenv("TEST_PARENT")) == 0);
    PMIX_VALUE_RELEASE(value);
    CHECK_OK(put_u32(PMIX_GLOBAL, "rank", me.rank + 100));
    CHECK_OK(PMIx_Commit());
    fence(true);
    for (pmix_rank_t rank = 0; rank < 3; rank++) {
        other = rank_of_job(rank);
        CHECK_OK(get_u32(&other, "rank", 0, &number));
        CHECK(number == rank + 100);
    }
    printf("well %u\n", me.rank);
    fflush(stdout);
    char line[16];
    CHECK(fgets(line, sizeof line, stdin)); /* the tool looks at us until then */
    CHECK_OK(PMIx_Finalize(NULL, 0));
    return 0;
}

/* NAME=VALUE: there, and just so; NAME: not there. */
static int as_environment(int count, char** words) {
    for (int i = 0; i < count; i++) {
        char* equals = strchr(words[i], '=');
        if (equals) *equals = '\0';
        const char* value = getenv(words[i]);
        bool right = equals ? value && strcmp(value, equals + 1) == 0 : !value;
        if (!right)
            printf("FAIL: %s is %s, not %s\n", words[i], value ? value : "nothing", equals ? equals + 1 : "nothing");
        if (!right) return 1;
    }
    return 0;
}

/* --- clients
 * ----------------------------------------------------------------------------------------------------------- */

/* rows: C5 C6 C9 */
/* proves: PMIx_Spawn tool PMIX_FWD_STDIN PMIX_FWD_STDOUT PMIX_NOTIFY_JOB_EVENTS */
static void clients(bool launcher) {
    pmix_app_t apps[2];
    pmix_nspace_t nspace;
    char setting[300];
    char name[64];
    snprintf(name, sizeof name, "parent.%d", (int)getpid());
    alone_as(name, launcher);
    listen_for_ends();
    for (int round = 0; round < 2; round++) {
        snprintf(setting, sizeof setting, "TEST_PARENT=%s", me.nspace);
        for (int i = 0; i < 2; i++) {
            PMIX_APP_CONSTRUCT(&apps[i]);
            apps[i].cmd = strdup(program);
            apps[i].argv = calloc(4, sizeof(char*));
            apps[i].argv[0] = strdup(program);
            apps[i].argv[1] = strdup("as-client");
            apps[i].argv[2] = strdup(i ? "1" : "0");
            apps[i].env = calloc(2, sizeof(char*));
            apps[i].env[0] = strdup(setting);
            apps[i].maxprocs = i ? 1 : 2;
        }
        pmix_rank_t all = PMIX_RANK_WILDCARD;
        option(PMIX_NOTIFY_JOB_EVENTS, &yes, PMIX_BOOL);
        option(PMIX_FWD_STDOUT, &yes, PMIX_BOOL);
        option(PMIX_FWD_STDIN, &all, PMIX_PROC_RANK);
        CHECK_OK(PMIx_Spawn(options, noptions, apps, 2, nspace));
        destruct_infos(options, &noptions);
        for (int i = 0; i < 2; i++) PMIX_APP_DESTRUCT(&apps[i]);
        pull(nspace);
        await_lines(out, 3);
        CHECK(strstr(out->text, "well 0\n") && strstr(out->text, "well 1\n") && strstr(out->text, "well 2\n"));
        /* The parent has the job's data too. */
        pmix_proc_t job;
        uint32_t size = 0;
        PMIX_LOAD_PROCID(&job, nspace, PMIX_RANK_WILDCARD);
        CHECK_OK(get_u32(&job, PMIX_JOB_SIZE, 0, &size));
        CHECK(size == 3 && count_notices(PMIX_EVENT_JOB_END, nspace) == 0);
        CHECK_OK(push(nspace, PMIX_RANK_WILDCARD, "on\n"));
        await_ends(out, 3);
        job_ends(nspace, PMIX_SUCCESS);
        CHECK(count_notices(PMIX_EVENT_JOB_START, nspace) == 1 && count_notices(PMIX_LAUNCH_COMPLETE, nspace) == 1);
        CHECK(count_notices(PMIX_EVENT_PROC_TERMINATED, nspace) == 0);
    }
    CHECK_OK(PMIx_tool_finalize());
    forget_streams();
}

static void unconnected(void) {
    clients(false);
}
static void launching(void) {
    clients(true);
}

/* --- environment and folder
 * ---------------------------------------------------------------------------------------------- */

static void option_envar(const char* key, const char* name, const char* value, char separator) {
    pmix_envar_t envar = {(char*)(uintptr_t)name, (char*)(uintptr_t)value, separator};
    option(key, &envar, PMIX_ENVAR);
}

/* rows: C8 */
/* proves: PMIx_Spawn tool PMIX_SET_ENVAR PMIX_ADD_ENVAR PMIX_UNSET_ENVAR PMIX_PREPEND_ENVAR PMIX_APPEND_ENVAR */
/* proves: PMIx_Spawn tool PMIX_FIRST_ENVAR PMIX_WDIR */
static void environment(void) {
    char* own[] = {"TEST_OWN=app", "TEST_BOTH=app", NULL};
    char folder[512], pwd[600], *real;
    pmix_nspace_t nspace;
    setenv("TEST_BOTH", "tool", 1);
    setenv("TEST_TOOL", "tool", 1);
    setenv("TEST_LIST", "b:c:b", 1);
    setenv("TEST_GONE", "tool", 1);
    setenv("PMIX_NAMESPACE", "somebody", 1); /* of the tool, if of anybody */
    setenv("PMIX_RANK", "7", 1);
    alone();
    listen_for_ends();
    option(PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    option_envar(PMIX_SET_ENVAR, "TEST_SET", "job", ':');
    option_envar(PMIX_ADD_ENVAR, "TEST_TOOL", "job", ':');
    option_envar(PMIX_ADD_ENVAR, "TEST_NEW", "job", ':');
    option(PMIX_UNSET_ENVAR, "TEST_GONE", PMIX_STRING);
    option_envar(PMIX_PREPEND_ENVAR, "TEST_OWN", "first", ':');
    option_envar(PMIX_APPEND_ENVAR, "TEST_OWN", "last", ';');
    option_envar(PMIX_FIRST_ENVAR, "TEST_LIST", "b", ':');
    CHECK_OK(spawn_in(NULL, own,
                      WORDS(program, "as-environment", "TEST_OWN=first:app;last", "TEST_BOTH=app", "TEST_TOOL=tool",
                            "TEST_LIST=b:c", "TEST_GONE", "TEST_SET=job", "TEST_NEW=job", "PMIX_RANK=0"),
                      1, nspace));
    job_ends(nspace, PMIX_SUCCESS);
    CHECK(getenv("TEST_GONE") && !getenv("TEST_SET")); /* the tool's own stays as it is */

    /* A folder by the app or by the job; a program is looked for there, or in its own PATH and then there. */
    in_directory(folder, sizeof folder, "folder");
    CHECK(mkdir(folder, 0700) == 0);
    real = realpath(folder, NULL);
    snprintf(pwd, sizeof pwd, "PWD=%s", real);
    char script[600];
    snprintf(script, sizeof script, "%s/own-script", folder);
    FILE* file = fopen(script, "w");
    CHECK(file && fprintf(file, "#!/bin/sh\ntest \"$(pwd -P)\" = \"%s\" && test $TEST_N = 1\n", real) > 0 &&
          fclose(file) == 0);
    CHECK(chmod(script, 0700) == 0);
    char *one[] = {"TEST_N=1", NULL}, *path[] = {"TEST_N=1", "PATH=/nonexistent:.:/bin:/usr/bin", NULL};
    for (int way = 0; way < 4; way++) {
        option(PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
        if (way == 1) option(PMIX_WDIR, folder, PMIX_STRING);
        CHECK_OK(spawn_in(way == 1 ? NULL : folder, way == 2 ? path : one,
                          WORDS(way >= 2 ? "own-script" : "./own-script"), 2, nspace));
        job_ends(nspace, PMIX_SUCCESS);
    }
    option(PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    CHECK_OK(spawn_in(folder, NULL, WORDS(program, "as-environment", pwd), 1, nspace));
    job_ends(nspace, PMIX_SUCCESS);
    CHECK_OK(PMIx_tool_finalize());
    CHECK(unlink(script) == 0 && rmdir(folder) == 0);
    free(real);
}

/* --- output and input
 * ---------------------------------------------------------------------------------------------------- */

/* rows: O1 O2 O7 */
/* proves: PMIx_Spawn tool PMIX_FWD_STDOUT PMIX_FWD_STDERR PMIX_FWD_STDIN */
static void forwarded(void) {
    pmix_nspace_t nspace;
    pmix_rank_t second = 1;
    alone();
    listen_for_ends();
    /* Not asked for: it is the tool's own. */
    runs(SHELL("echo seen-on-stdout"), 1, PMIX_SUCCESS);

    /* All of it, for a reader that registers when the job is over; and then the end. */
    option(PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    option(PMIX_FWD_STDOUT, &yes, PMIX_BOOL);
    option(PMIX_FWD_STDERR, &yes, PMIX_BOOL);
    CHECK_OK(spawn(SHELL("echo out; echo err >&2; exit 3"), 1, nspace));
    CHECK(job_ends(nspace, PMIX_ERR_JOB_NON_ZERO_TERM).exit_code == 3);
    pull(nspace);
    await_ends(out, 1);
    await_ends(err, 1);
    CHECK(strcmp(out->text, "out\n") == 0 && strcmp(err->text, "err\n") == 0);

    /* More than fits anywhere on the way. */
    option(PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    option(PMIX_FWD_STDOUT, &yes, PMIX_BOOL);
    option(PMIX_FWD_STDIN, &second, PMIX_PROC_RANK);
    CHECK_OK(spawn(SHELL("read go; if test $PMIX_RANK = 1; then head -c 3000000 /dev/zero; fi"), 2, nspace));
    pull(nspace);
    CHECK_STATUS(push(nspace, 0, "go\n"), PMIX_ERR_NOT_FOUND); /* its input is nobody's */
    CHECK_OK(push(nspace, 1, "go\n"));
    await_ends(out, 2);
    CHECK(out->size == 3000000);
    job_ends(nspace, PMIX_SUCCESS);

    /* Input in parts, its end, and input for nobody. */
    option(PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    option(PMIX_FWD_STDOUT, &yes, PMIX_BOOL);
    option(PMIX_FWD_STDIN, &yes, PMIX_BOOL);
    CHECK_OK(spawn(WORDS("cat"), 1, nspace));
    pull(nspace);
    CHECK_OK(push(nspace, PMIX_RANK_WILDCARD, "one\n"));
    await_lines(out, 1);
    CHECK_OK(push(nspace, 0, "two\n"));
    CHECK_OK(push(nspace, 0, NULL));
    await_ends(out, 1);
    CHECK(strcmp(out->text, "one\ntwo\n") == 0);
    job_ends(nspace, PMIX_SUCCESS);
    CHECK_STATUS(push(nspace, 0, "three\n"), PMIX_ERR_NOT_SUPPORTED);
    CHECK_OK(PMIx_tool_finalize());
    forget_streams();
}

int main(int argc, char** argv) {
    static const struct plain_case cases[] = {
        {"unconnected", unconnected},
        {"launching", launching},
        {"environment", environment},
        {"forwarded", forwarded},
    };
    static char self[4096];
    CHECK(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    program = self;
    if (argc > 2 && strcmp(argv[1], "as-client") == 0) return as_client(atoi(argv[2]));
    if (argc > 1 && strcmp(argv[1], "as-environment") == 0) return as_environment(argc - 2, argv + 2);
    RUN_PLAIN_CASE(cases);
    printf("OK %s\n", argv[1]);
    return 0;
}
