/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn_parent: what a spawned job and its parent are to each other when one of them ends, and what no spawn gets (run
 * under pmixrun).
 * usage: spawn_parent told|told_abort|aborted|apart|allocation
 * The children are this program too. */
#include <signal.h>

#include "spawn_check.h"

static bool yes = true, no = false;

/* --- events ------------------------------------------------------------------------------------------------------- */

struct ended {
    struct signal_box box;
    pmix_proc_t about;
    pmix_status_t status[8]; /* of ranks, or of the job */
};
static struct ended jobs = {.box = SIGNAL_BOX}, procs = {.box = SIGNAL_BOX}, aborts = {.box = SIGNAL_BOX};

static void hear(size_t id, pmix_status_t code, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                 pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)id, (void)source, (void)results, (void)nresults;
    struct ended* ended = code == PMIX_EVENT_JOB_END ? &jobs : code == PMIX_EVENT_PROC_TERMINATED ? &procs : &aborts;
    for (size_t i = 0; i < ninfo; i++)
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC)) ended->about = *info[i].value.data.proc;
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_JOB_TERM_STATUS)) ended->status[0] = info[i].value.data.status;
        if (PMIX_CHECK_KEY(&info[i], PMIX_PROC_TERM_STATUS))
            ended->status[ended->about.rank] = info[i].value.data.status;
    }
    box_signal(&ended->box, code);
    if (done) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void listen(void) {
    pmix_status_t codes[] = {PMIX_EVENT_JOB_END, PMIX_EVENT_PROC_TERMINATED, PMIX_ERR_PROC_REQUESTED_ABORT};
    CHECK(PMIx_Register_event_handler(codes, 3, NULL, 0, hear, NULL, NULL) >= 0);
}

static void spawn_child(const char* what, const char* flag, const char* const* asked, size_t count,
                        pmix_nspace_t nspace) {
    pmix_app_t app;
    pmix_info_t info[4];
    app_of(&app, 3, what, flag, NULL);
    for (size_t i = 0; i < count; i++) PMIX_INFO_LOAD(&info[i], asked[i], &yes, PMIX_BOOL);
    CHECK_OK(spawn(info, count, &app, 1, nspace));
}

/* --- cases -------------------------------------------------------------------------------------------------------- */

/* A parent that has asked for the end of its job is told of its failure, and runs on; so do others of its job. */
static void told_of(const char* what, pmix_status_t term_status) {
    static const char* const keys[] = {PMIX_NOTIFY_JOB_EVENTS, PMIX_NOTIFY_COMPLETION, PMIX_NOTIFY_PROC_TERMINATION,
                                       PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION};
    start();
    listen();
    for (int i = 0; me.rank == 0 && i < 4; i++) {
        const char* const asked[] = {keys[i], PMIX_NOTIFY_COMPLETION};
        pmix_nspace_t nspace;
        spawn_child(what, "told", asked, i == 1 ? 1 : 2, nspace);
        CHECK(box_wait(&jobs.box, i + 1, 60));
        CHECK(strcmp(jobs.about.nspace, nspace) == 0);
        CHECK_STATUS(jobs.status[0], term_status);
    }
    fence(false);
    finish();
}

static void told(int argc, char** argv) {
    (void)argc, (void)argv;
    told_of("dies", PMIX_ERR_JOB_ABORTED_BY_SIG);
}

static void told_abort(int argc, char** argv) {
    (void)argc, (void)argv;
    told_of("aborter", PMIX_ERR_JOB_ABORTED);
}

static pmix_proc_state_t state_in_table(const char* nspace, pmix_rank_t rank) {
    char* keys[] = {PMIX_QUERY_PROC_TABLE, NULL};
    pmix_info_t about, *results = NULL;
    size_t nresults = 0;
    PMIX_INFO_LOAD(&about, PMIX_NSPACE, nspace, PMIX_STRING);
    pmix_query_t query = {keys, &about, 1};
    CHECK_OK(PMIx_Query_info(&query, 1, &results, &nresults));
    CHECK(nresults == 1 && results->value.data.darray->size > rank);
    const pmix_proc_info_t* rows = results->value.data.darray->array;
    const pmix_proc_state_t state = rows[rank].state;
    PMIX_INFO_FREE(results, nresults);
    PMIX_INFO_DESTRUCT(&about);
    return state;
}

/* A rank that aborts itself alone: the reports, the event for its family and the process table tell that from a
 * signal. */
static void aborted(int argc, char** argv) {
    (void)argc, (void)argv;
    static const char* const asked[] = {PMIX_JOB_RECOVERABLE, PMIX_NOTIFY_PROC_TERMINATION, PMIX_NOTIFY_COMPLETION};
    start();
    listen();
    if (me.rank == 0) {
        pmix_nspace_t nspace;
        spawn_child("aborts_alone", "aborted", asked, 3, nspace);
        CHECK(box_wait(&aborts.box, 1, 60) && box_wait(&procs.box, 1, 60));
        CHECK(strcmp(aborts.about.nspace, nspace) == 0 && aborts.about.rank == 1);
        CHECK_STATUS(procs.status[1], PMIX_ERR_PROC_REQUESTED_ABORT);
        CHECK(state_in_table(nspace, 1) == PMIX_PROC_STATE_CALLED_ABORT);
        raise_flag("aborted.seen");
        CHECK(box_wait(&procs.box, 3, 60) && box_wait(&jobs.box, 1, 60));
        CHECK_STATUS(procs.status[0], PMIX_SUCCESS);
        CHECK_STATUS(procs.status[2], PMIX_ERR_PROC_ABORTED_BY_SIG);
        CHECK_STATUS(jobs.status[0], PMIX_ERR_JOB_ABORTED);
    }
    fence(false);
    finish();
}

static int namespaces(void) {
    char* keys[] = {PMIX_QUERY_NAMESPACES, NULL};
    pmix_query_t query = {keys, NULL, 0};
    pmix_info_t* results = NULL;
    size_t nresults = 0;
    int count = 1;
    CHECK_OK(PMIx_Query_info(&query, 1, &results, &nresults));
    for (const char* c = results->value.data.string; *c; c++) count += *c == ',';
    PMIX_INFO_FREE(results, nresults);
    return count;
}

/* A job that is not apart from its parent ends with the parent's job; else it runs on. */
static void apart(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    if (me.rank == 0) {
        const double until = seconds_now() + 60;
        pmix_nspace_t nspace;
        spawn_child("parent", "with", NULL, 0, nspace);
        while (namespaces() > 1) CHECK(seconds_now() < until);
        spawn_child("parent", "without", NULL, 0, nspace);
        await_flag("without.goes");
        while (namespaces() > 2) CHECK(seconds_now() < until);
        raise_flag("apart.seen");
        await_children("apart", 2);
    }
    fence(false);
    finish();
}

/* There is one allocation, which has no name. */
static void allocation(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    if (me.rank == 0) {
        uint64_t nodes = 1;
        pmix_alloc_directive_t new = PMIX_ALLOC_NEW;
        pmix_info_t request[2];
        PMIX_INFO_LOAD(&request[0], PMIX_ALLOC_NUM_NODES, &nodes, PMIX_UINT64);
        PMIX_INFO_LOAD(&request[1], "pmix.alloc.dir", &new, PMIX_ALLOC_DIRECTIVE);
        pmix_data_array_t array = {.type = PMIX_INFO, .size = 2, .array = request};
        const struct {
            const char* key;
            const void* data;
            pmix_data_type_t type;
        } asked[] = {{PMIX_SPAWN_ALLOC, &array, PMIX_DATA_ARRAY},
                     {PMIX_SPAWN_TARGET, "another", PMIX_STRING},
                     {PMIX_ALLOC_ID, "another", PMIX_STRING},
                     {PMIX_ALLOC_NUM_NODES, &nodes, PMIX_UINT64},
                     {PMIX_ALLOC_QUEUE, "another", PMIX_STRING}};
        for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
            pmix_app_t app;
            pmix_info_t info;
            pmix_nspace_t nspace;
            PMIX_INFO_LOAD(&info, asked[i].key, asked[i].data, asked[i].type);
            app_of(&app, 1, "child", "never", NULL);
            CHECK_STATUS(spawn(&info, 1, &app, 1, nspace), PMIX_ERR_JOB_ALLOC_FAILED);
            app_of(&app, 1, "child", "never", NULL);
            app_infos(&app, 1);
            PMIX_INFO_LOAD(app.info, asked[i].key, asked[i].data, asked[i].type);
            CHECK_STATUS(spawn(NULL, 0, &app, 1, nspace), PMIX_ERR_JOB_ALLOC_FAILED);
        }
    }
    fence(false);
    finish();
}

/* --- children ----------------------------------------------------------------------------------------------------- */

static void dies(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    if (me.rank == 1) raise(SIGKILL);
    for (;;) pause();
}

static void aborter(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    if (me.rank == 1) PMIx_Abort(6, "the child", NULL, 0);
    for (;;) pause();
}

/* aborts_alone FLAG: one aborts itself, then one is killed */
static void aborts_alone(int argc, char** argv) {
    CHECK(argc == 1);
    start();
    fence(false);
    if (me.rank == 1) PMIx_Abort(6, "this one", &me, 1);
    be_seen(argv[0]);
    if (me.rank == 2) raise(SIGKILL);
    finish();
}

/* parent with|without: has a job that ends with this one, or not */
static void parent(int argc, char** argv) {
    CHECK(argc == 1);
    start();
    const bool with = strcmp(argv[0], "with") == 0;
    if (me.rank == 0) {
        pmix_app_t app;
        pmix_info_t info;
        pmix_nspace_t nspace;
        app_of(&app, 2, with ? "stays" : "seen", "apart", NULL);
        PMIX_INFO_LOAD(&info, PMIX_SPAWN_CHILD_SEP, with ? &no : &yes, PMIX_BOOL);
        PMIX_INFO_REQUIRED(&info);
        CHECK_OK(spawn(&info, 1, &app, 1, nspace));
        if (!with) raise_flag("without.goes");
    }
    fence(false);
    finish();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {
        {"told", told},
        {"told_abort", told_abort},
        {"aborted", aborted},
        {"apart", apart},
        {"allocation", allocation},
        /* children */
        {"child", child},
        {"stays", stays},
        {"seen", seen},
        {"dies", dies},
        {"aborter", aborter},
        {"aborts_alone", aborts_alone},
        {"parent", parent},
    };
    program = argv[0];
    RUN_CASE(cases);
    return 0;
}
