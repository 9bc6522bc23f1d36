/* SPDX-License-Identifier: BSD-3-Clause */
/* collapse: somebody who takes part in a collective ends before it, in it, or after it. Everybody else is answered,
 * once, and may go on (run with --continuous).
 * usage: collapse fence|connect|disconnect|construct|destruct before|in|after member|daemon|job|leaves
 *   member: the last rank dies. daemon: the server of the last node dies (with --linger). job: all of a second job die,
 *   which takes part too. leaves: they finalize instead, without a word. */
#include <signal.h>

#include "check.h"

static const char* const group = "collapsing";
static struct signal_box left = SIGNAL_BOX; /* PMIX_ERR_PROC_TERM_WO_SYNC */

/* --- the operations, all without waiting, so that answers can be counted -------------------------------------------
 */

struct operation {
    const char* name;
    const char* first; /* what has been done before it; NULL: nothing */
    pmix_status_t (*run)(const pmix_proc_t* procs, size_t count, struct signal_box* box);
};

static void op_answered(pmix_status_t status, void* cbdata) {
    box_signal(cbdata, status);
}

static void info_answered(pmix_status_t status, pmix_info_t* info, size_t ninfo, void* cbdata,
                          pmix_release_cbfunc_t release, void* release_cbdata) {
    (void)info, (void)ninfo;
    box_signal(cbdata, status);
    if (release) release(release_cbdata);
}

static pmix_status_t run_fence(const pmix_proc_t* procs, size_t count, struct signal_box* box) {
    pmix_info_t collect;
    bool yes = true;
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    return PMIx_Fence_nb(procs, count, &collect, 1, op_answered, box);
}

static pmix_status_t run_connect(const pmix_proc_t* procs, size_t count, struct signal_box* box) {
    return PMIx_Connect_nb(procs, count, NULL, 0, op_answered, box);
}

static pmix_status_t run_disconnect(const pmix_proc_t* procs, size_t count, struct signal_box* box) {
    return PMIx_Disconnect_nb(procs, count, NULL, 0, op_answered, box);
}

static pmix_status_t run_construct(const pmix_proc_t* procs, size_t count, struct signal_box* box) {
    return PMIx_Group_construct_nb(group, procs, count, NULL, 0, info_answered, box);
}

static pmix_status_t run_destruct(const pmix_proc_t* procs, size_t count, struct signal_box* box) {
    (void)procs, (void)count;
    return PMIx_Group_destruct_nb(group, NULL, 0, op_answered, box);
}

static const struct operation operations[] = {
    {"fence", NULL, run_fence},
    {"connect", NULL, run_connect},
    {"disconnect", "connect", run_disconnect},
    {"construct", NULL, run_construct},
    {"destruct", "construct", run_destruct},
};

static const struct operation* operation_of(const char* name) {
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (strcmp(operations[i].name, name) == 0) return &operations[i];
    }
    printf("FAIL: no operation %s\n", name);
    exit(2);
}

static void begin(const char* name, const pmix_proc_t* procs, size_t count, struct signal_box* box) {
    pmix_status_t status = operation_of(name)->run(procs, count, box);
    if (status != PMIX_SUCCESS) box_signal(box, status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status);
}

static pmix_status_t finished(struct signal_box* box) {
    CHECK(box_wait(box, 1, 60));
    CHECK(box_count(box) == 1);
    return box->status;
}

static pmix_status_t perform(const char* name, const pmix_proc_t* procs, size_t count) {
    static struct signal_box* kept[256]; /* not freed: a second answer would come here */
    static size_t count_kept;
    struct signal_box* box = calloc(1, sizeof *box);
    CHECK(box && count_kept < sizeof kept / sizeof *kept);
    kept[count_kept++] = box;
    const struct signal_box fresh = SIGNAL_BOX;
    *box = fresh;
    begin(name, procs, count, box);
    return finished(box);
}

static void moment(long milliseconds) {
    struct timespec time = {0, milliseconds * 1000000};
    nanosleep(&time, NULL);
}

/* --- those who collapse --------------------------------------------------------------------------------------------
 */

static bool is(const char* one, const char* other) {
    return strcmp(one, other) == 0;
}

static void end_as(const char* what) {
    if (is(what, "leaves")) {
        CHECK_OK(PMIx_Finalize(NULL, 0));
        exit(0);
    }
    if (is(what, "daemon")) {
        CHECK(kill(getppid(), SIGKILL) == 0);
        return;
    }
    raise(SIGKILL);
    _exit(1);
}

/* Comes to its end at the moment that the test is about. */
static void collapse(const char* name, const char* when, const char* what, const pmix_proc_t* procs, size_t count) {
    static struct signal_box box = SIGNAL_BOX;
    if (is(when, "in")) {
        begin(name, procs, count, &box);
        moment(2); /* the request may be anywhere by now: any of it is right */
    } else if (is(when, "after")) {
        CHECK_OK(perform(name, procs, count));
    }
    if (is(what, "daemon")) await_neighbours_passed();
    end_as(what);
}

/* A rank whose server has died: it is told, once, and leaves. */
static void bereaved(const char* name, const char* when, const pmix_proc_t* procs, size_t count) {
    if (is(when, "after")) CHECK_OK(perform(name, procs, count));
    say_passed();
    pmix_proc_t all = rank_of_job(PMIX_RANK_WILDCARD);
    pmix_status_t status = is(when, "after") ? perform("fence", &all, 1) : perform(name, procs, count);
    if (!is(when, "in") && status == PMIX_SUCCESS) _exit(3); /* its output is lost with the server */
    if (PMIx_Finalize(NULL, 0) != PMIX_SUCCESS) _exit(4);
    _exit(0);
}

/* --- those who go on -----------------------------------------------------------------------------------------------
 */

static void on_left(size_t id, pmix_status_t code, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                    pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)id, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    box_signal(&left, code);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

/* A process that was connected is notified of each that was lost while connected. */
static void check_told(const char* name, const char* when, uint32_t victims) {
    bool connected = (is(name, "connect") && is(when, "after")) || (is(name, "disconnect") && is(when, "before"));
    bool open = is(when, "in") && (is(name, "connect") || is(name, "disconnect"));
    if (open) return;
    if (connected) CHECK(box_wait(&left, (int)victims, 60));
    CHECK(box_count(&left) == (connected ? (int)victims : 0));
}

static void go_on(const char* name, const char* when, const pmix_proc_t* procs, size_t count,
                  const pmix_proc_t* survivors, size_t nsurvivors, uint32_t victims) {
    double before = seconds_now();
    /* Rank 0 comes when the victim is gone, so that it ends with the operation open. */
    if (me.rank == 0 && is(when, "in")) moment(300);
    pmix_status_t status = perform(name, procs, count);
    if (is(when, "after")) {
        /* It was in; what comes next is without it. */
        CHECK_OK(status);
        const char* next = is(name, "connect") ? "disconnect" : is(name, "construct") ? "destruct" : "fence";
        status = perform(next, procs, count);
    }
    if (!is(when, "in")) CHECK(status != PMIX_SUCCESS);
    CHECK(status != PMIX_ERR_TIMEOUT);
    CHECK(seconds_now() - before < 60);
    check_told(name, when, victims);
    /* Those who are left do it again, as good as ever. */
    const char* first = operation_of(name)->first;
    if (is(name, "construct") || is(name, "destruct")) {
        pmix_status_t gone = PMIx_Group_destruct("nobody's", NULL, 0);
        CHECK(gone == PMIX_ERR_NOT_FOUND);
        pmix_info_t* results = NULL;
        size_t nresults = 0;
        CHECK_OK(PMIx_Group_construct("survivors", survivors, nsurvivors, NULL, 0, &results, &nresults));
        PMIX_INFO_FREE(results, nresults);
        CHECK_OK(PMIx_Group_destruct("survivors", NULL, 0));
    } else {
        if (first) CHECK_OK(perform(first, survivors, nsurvivors));
        CHECK_OK(perform(name, survivors, nsurvivors));
        if (is(name, "connect")) CHECK_OK(perform("disconnect", survivors, nsurvivors));
    }
    check_told(name, when, victims); /* and no more than once */
    CHECK_OK(fence_of(survivors, nsurvivors, false, 60));
    finish();
}

/* --- the two jobs --------------------------------------------------------------------------------------------------
 */

static void ready(const char* name, const pmix_proc_t* procs, size_t count) {
    pmix_status_t code = PMIX_ERR_PROC_TERM_WO_SYNC;
    CHECK(PMIx_Register_event_handler(&code, 1, NULL, 0, on_left, NULL, NULL) >= 0);
    const char* first = operation_of(name)->first;
    if (first) CHECK_OK(perform(first, procs, count));
    CHECK_OK(fence_of(procs, count, false, 60));
}

/* child OPERATION WHEN WHAT: all of them collapse */
static void child(int argc, char** argv) {
    pmix_proc_t procs[2];
    pmix_value_t* parent = NULL;
    CHECK(argc == 3);
    start();
    procs[1] = rank_of_job(PMIX_RANK_WILDCARD);
    CHECK_OK(PMIx_Get(&procs[1], PMIX_PARENT_ID, NULL, 0, &parent));
    PMIX_LOAD_PROCID(&procs[0], parent->data.proc->nspace, PMIX_RANK_WILDCARD);
    PMIX_VALUE_RELEASE(parent);
    ready(argv[0], procs, 2);
    collapse(argv[0], argv[1], argv[2], procs, 2);
}

static void spawn_children(const char* program, int argc, char** argv, uint32_t count, pmix_nspace_t nspace) {
    pmix_app_t app;
    pmix_info_t info;
    bool yes = true;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = strdup(program);
    app.argv = calloc((size_t)argc + 3, sizeof *app.argv);
    app.argv[0] = strdup(program);
    app.argv[1] = strdup("child");
    for (int i = 0; i < argc; i++) app.argv[i + 2] = strdup(argv[i]);
    app.maxprocs = (int)count;
    PMIX_INFO_LOAD(&info, PMIX_JOB_RECOVERABLE, &yes, PMIX_BOOL);
    CHECK_OK(PMIx_Spawn(&info, 1, &app, 1, nspace));
    PMIX_INFO_DESTRUCT(&info);
    PMIX_APP_DESTRUCT(&app);
}

static void with_children(const char* program, int argc, char** argv) {
    enum { CHILDREN = 3 };
    pmix_nspace_t nspace = "";
    pmix_proc_t procs[2] = {rank_of_job(PMIX_RANK_WILDCARD)}, requester = rank_of_job(0);
    pmix_value_t* name = NULL;
    if (me.rank == 0) {
        spawn_children(program, argc, argv, CHILDREN, nspace);
        pmix_value_t value = {.type = PMIX_STRING, .data.string = nspace};
        CHECK_OK(PMIx_Put(PMIX_GLOBAL, "children", &value));
        CHECK_OK(PMIx_Commit());
    }
    fence(true);
    CHECK_OK(PMIx_Get(&requester, "children", NULL, 0, &name));
    PMIX_LOAD_PROCID(&procs[1], name->data.string, PMIX_RANK_WILDCARD);
    PMIX_VALUE_RELEASE(name);
    ready(argv[0], procs, 2);
    go_on(argv[0], argv[1], procs, 2, procs, 1, CHILDREN);
}

/* rows: F7 C1 C3 C4 R8 R12 U8 G2 G10 */
static void operation(const char* program, int argc, char** argv) {
    CHECK(argc == 3);
    const char *name = argv[0], *when = argv[1], *what = argv[2];
    start();
    if (is(what, "job") || is(what, "leaves")) {
        with_children(program, argc, argv);
        return;
    }
    pmix_proc_t all = rank_of_job(PMIX_RANK_WILDCARD);
    static pmix_proc_t* survivors;
    survivors = calloc(job_size, sizeof *survivors);
    uint32_t nsurvivors = 0, last = job_size - 1;
    bool on_last_node = false;
    CHECK(survivors);
    for (uint32_t rank = 0; rank < job_size; rank++) {
        bool lost = rank == last || (is(what, "daemon") && same_node(rank, last));
        if (!lost) survivors[nsurvivors++] = rank_of_job(rank);
        if (rank == me.rank) on_last_node = lost;
    }
    ready(name, &all, 1);
    if (me.rank == last) {
        collapse(name, when, what, &all, 1);
        when = "in"; /* it has had its answer, or not */
    }
    if (me.rank == last || on_last_node) bereaved(name, when, &all, 1);
    go_on(name, when, &all, 1, survivors, nsurvivors, job_size - nsurvivors);
}

int main(int argc, char** argv) {
    if (argc > 1 && is(argv[1], "child"))
        child(argc - 2, argv + 2);
    else
        operation(argv[0], argc - 1, argv + 1);
    return 0;
}
