/* SPDX-License-Identifier: BSD-3-Clause */
/* dynamic: spawn, connect, disconnect, job control, queries: a job starts another and talks to it.
 * usage: dynamic spawn|missing|connect|control|query|child... (the last by spawn) */
#include "check.h"

static const char* program;

static pmix_status_t spawn(const char* command, const char* mode, int count, pmix_nspace_t nspace) {
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = strdup(command);
    app.argv = calloc(3, sizeof *app.argv);
    app.argv[0] = strdup(command);
    app.argv[1] = strdup(mode);
    app.env = calloc(2, sizeof *app.env);
    app.env[0] = strdup("DYNAMIC_TEST=from parent");
    app.maxprocs = count;
    pmix_status_t status = PMIx_Spawn(NULL, 0, &app, 1, nspace);
    PMIX_APP_DESTRUCT(&app);
    return status;
}

/* The child's side: knows its parent, and has the parent's environment setting. rows: C6 */
static void child(void) {
    pmix_proc_t job;
    pmix_value_t* value = NULL;
    start();
    job = rank_of_job(PMIX_RANK_WILDCARD);
    CHECK_OK(PMIx_Get(&job, PMIX_PARENT_ID, NULL, 0, &value));
    CHECK(value->type == PMIX_PROC && strcmp(value->data.proc->nspace, me.nspace) != 0);
    PMIX_VALUE_RELEASE(value);
    const char* set = getenv("DYNAMIC_TEST");
    CHECK(set && strcmp(set, "from parent") == 0);
    fence(false);
}

static void spawned(int argc, char** argv) {
    (void)argc, (void)argv;
    child();
    await_flag("child.seen"); /* what is known of this job goes with it */
    if (me.rank == 0) raise_flag("child.up");
    finish();
}

/* rows: C5 C6 U7 */
static void spawns(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_nspace_t nspace = "";
    pmix_value_t* value = NULL;
    start();
    CHECK_STATUS(PMIx_Get(&me, PMIX_PARENT_ID, NULL, 0, &value), PMIX_ERR_NOT_FOUND); /* not spawned */
    if (me.rank == 0) {
        CHECK_OK(spawn(program, "child", 3, nspace));
        CHECK(nspace[0] && strcmp(nspace, me.nspace) != 0);
        uint32_t size = 0;
        pmix_proc_t job;
        PMIX_LOAD_PROCID(&job, nspace, PMIX_RANK_WILDCARD);
        CHECK_OK(get_u32(&job, PMIX_JOB_SIZE, 60, &size));
        CHECK(size == 3);
        raise_flag("child.seen");
        await_flag("child.up");
    }
    fence(false);
    finish();
}

/* rows: C7 */
static void missing(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_nspace_t nspace = "";
    start();
    if (me.rank == 0) {
        CHECK_STATUS(spawn("/no/such/program", "x", 2, nspace), PMIX_ERR_JOB_EXE_NOT_FOUND);
        CHECK_STATUS(PMIx_Spawn(NULL, 0, NULL, 0, nspace), PMIX_ERR_BAD_PARAM);
        CHECK_STATUS(spawn(program, "child", 1 << 26, nspace),
                     PMIX_ERR_OUT_OF_RESOURCE); /* more than any machine starts */
    }
    fence(false);
    finish();
}

/* Both jobs together: connected, fenced with each other's data, disconnected. */
static void together(const char* other) {
    pmix_proc_t both[2], peer;
    uint32_t size = 0, number = 0;
    PMIX_LOAD_PROCID(&both[0], me.nspace, PMIX_RANK_WILDCARD);
    PMIX_LOAD_PROCID(&both[1], other, PMIX_RANK_WILDCARD);
    CHECK_OK(put_u32(PMIX_GLOBAL, "put before", me.rank + 50));
    CHECK_OK(PMIx_Commit());
    CHECK_OK(PMIx_Connect(both, 2, NULL, 0));
    CHECK_OK(get_u32(&both[1], PMIX_JOB_SIZE, 60, &size));
    for (uint32_t rank = 0; rank < size; rank++) { /* of each process there, on whichever node, and no fence between */
        PMIX_LOAD_PROCID(&peer, other, rank);
        pmix_value_t* host = NULL;
        CHECK_OK(PMIx_Get(&peer, PMIX_HOSTNAME, NULL, 0, &host));
        PMIX_VALUE_RELEASE(host);
        CHECK_OK(get_u32(&peer, "put before", 60, &number));
        CHECK(number == rank + 50);
    }
    CHECK_OK(put_u32(PMIX_GLOBAL, "across", me.rank + 10));
    CHECK_OK(PMIx_Commit());
    CHECK_OK(fence_of(both, 2, true, 60));
    for (uint32_t rank = 0; rank < size; rank++) {
        PMIX_LOAD_PROCID(&peer, other, rank);
        CHECK_OK(get_u32(&peer, "across", 60, &number));
        CHECK(number == rank + 10);
    }
    CHECK_OK(PMIx_Disconnect(both, 2, NULL, 0));
    CHECK_STATUS(PMIx_Disconnect(both, 2, NULL, 0), PMIX_ERR_INVALID_OPERATION);
}

static void connected(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_proc_t job;
    pmix_value_t* value = NULL;
    child();
    job = rank_of_job(PMIX_RANK_WILDCARD);
    CHECK_OK(PMIx_Get(&job, PMIX_PARENT_ID, NULL, 0, &value));
    together(value->data.proc->nspace);
    PMIX_VALUE_RELEASE(value);
    finish();
}

/* rows: C1 C2 C3 C4 U8 */
static void connects(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_nspace_t nspace = "";
    start();
    pmix_proc_t first = rank_of_job(0);
    if (me.rank == 0) {
        CHECK_OK(spawn(program, "connected", 3, nspace));
        pmix_value_t value = {.type = PMIX_STRING, .data.string = nspace};
        CHECK_OK(PMIx_Put(PMIX_GLOBAL, "child", &value));
        CHECK_OK(PMIx_Commit());
    }
    fence(true);
    pmix_value_t* name = NULL;
    CHECK_OK(PMIx_Get(&first, "child", NULL, 0, &name));
    together(name->data.string);
    PMIX_VALUE_RELEASE(name);
    finish();
}

/* The last rank does not come in time, to a connect and then to a disconnect; later all is as if nothing had been.
 * rows: C1 C4 G11 */
static void limits(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_info_t second;
    int one = 1;
    start();
    PMIX_INFO_LOAD(&second, PMIX_TIMEOUT, &one, PMIX_INT);
    pmix_proc_t all = rank_of_job(PMIX_RANK_WILDCARD);
    bool late = me.rank == job_size - 1;
    for (int pass = 0; pass < 2; pass++) {
        double before = seconds_now(); /* of the first caller */
        fence(false);
        if (!late) {
            CHECK_STATUS(pass == 0 ? PMIx_Connect(&all, 1, &second, 1) : PMIx_Disconnect(&all, 1, &second, 1),
                         PMIX_ERR_TIMEOUT);
            CHECK(seconds_now() - before >= 0.9 && seconds_now() - before < 60);
        }
        fence(false);
        if (late) /* it is told how that one ended, and joins no later one */
            CHECK_STATUS(pass == 0 ? PMIx_Connect(&all, 1, &second, 1) : PMIx_Disconnect(&all, 1, &second, 1),
                         PMIX_ERR_TIMEOUT);
        fence(false);
        CHECK_OK(pass == 0 ? PMIx_Connect(&all, 1, NULL, 0) : PMIx_Disconnect(&all, 1, NULL, 0));
    }
    CHECK_STATUS(PMIx_Disconnect(&all, 1, NULL, 0), PMIX_ERR_INVALID_OPERATION);
    PMIX_INFO_DESTRUCT(&second);
    finish();
}

/* No fence: it would fail, and say so, where a neighbour is killed first. */
static void stays(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    for (;;) pause();
}

/* The child job waits for ever, and is killed by request: that is no failure of anybody. rows: J2 */
static void controls(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_nspace_t nspace = "";
    start();
    if (me.rank == 0) {
        CHECK_OK(spawn(program, "stays", 2, nspace));
        pmix_proc_t all;
        bool yes = true;
        pmix_info_t kill_it;
        PMIX_LOAD_PROCID(&all, nspace, PMIX_RANK_WILDCARD);
        PMIX_INFO_LOAD(&kill_it, PMIX_JOB_CTRL_KILL, &yes, PMIX_BOOL);
        pmix_info_t* results = NULL;
        size_t nresults = 0;
        CHECK_DONE(PMIx_Job_control(&all, 1, &kill_it, 1, &results, &nresults));
        PMIX_INFO_DESTRUCT(&kill_it);
    }
    fence(false);
    finish();
}

/* rows: Q8 U12 */
static void queries(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    pmix_query_t* query = NULL;
    pmix_info_t* results = NULL;
    size_t nresults = 0;
    PMIX_QUERY_CREATE(query, 1);
    query->keys = calloc(2, sizeof *query->keys);
    query->keys[0] = strdup(PMIX_QUERY_NAMESPACES);
    CHECK_OK(PMIx_Query_info(query, 1, &results, &nresults));
    CHECK(nresults == 1 && results[0].value.type == PMIX_STRING && strstr(results[0].value.data.string, me.nspace));
    PMIX_INFO_FREE(results, nresults);
    PMIX_QUERY_FREE(query, 1);
    fence(false);
    finish();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {
        {"spawn", spawns},  {"missing", missing}, {"connect", connects},    {"limits", limits}, {"control", controls},
        {"query", queries}, {"child", spawned},   {"connected", connected}, {"stays", stays},
    };
    program = argv[0];
    RUN_CASE(cases);
    return 0;
}
