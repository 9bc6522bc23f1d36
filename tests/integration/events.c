/* SPDX-License-Identifier: BSD-3-Clause */
/* events: what handlers are promised while many events come, what an event carries, process sets, the states of a job.
 * usage: events flood|attributes|sets|lifecycle|child STATUS */
#include <time.h>

#include "check.h"

enum { CODE = PMIX_EXTERNAL_ERR_BASE - 30, LAST_CODE = PMIX_EXTERNAL_ERR_BASE - 31 };

/* --- flood: two ranks on different nodes raise 1,000 events while everybody registers handlers ---------------------
 */

enum { PER_SOURCE = 500, SLOTS = 8, MOST_RANKS = 8 };

struct slot { /* one handler: what it must hear next from each source */
    uint32_t next[MOST_RANKS];
    int heard;
};
static struct slot slots[SLOTS];
static bool near_me[MOST_RANKS];
static struct signal_box heard = SIGNAL_BOX, over = SIGNAL_BOX;

static pmix_data_range_t range_of(uint32_t index) {
    static const pmix_data_range_t ranges[] = {PMIX_RANGE_NAMESPACE, PMIX_RANGE_LOCAL,  PMIX_RANGE_GLOBAL,
                                               PMIX_RANGE_SESSION,   PMIX_RANGE_CUSTOM, PMIX_RANGE_RM};
    return ranges[index % 6];
}

/* The custom range is the first and the last rank. */
static bool reaches_me(uint32_t source, uint32_t index) {
    switch (range_of(index)) {
        case PMIX_RANGE_LOCAL:
            return near_me[source];
        case PMIX_RANGE_CUSTOM:
            return me.rank == 0 || me.rank == job_size - 1;
        case PMIX_RANGE_RM:
            return false;
        default:
            return true;
    }
}

static int expected_from(uint32_t source) {
    int count = 0;
    for (uint32_t i = 0; i < PER_SOURCE; i++) count += reaches_me(source, i);
    return count;
}

static void take(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                 pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)id, (void)status, (void)results, (void)nresults;
    struct slot* slot = NULL;
    uint32_t index = PER_SOURCE;
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], "index")) index = info[i].value.data.uint32;
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_RETURN_OBJECT)) slot = info[i].value.data.ptr;
    }
    CHECK(slot && index < PER_SOURCE && source->rank < job_size);
    uint32_t* next = &slot->next[source->rank];
    while (*next < PER_SOURCE && !reaches_me(source->rank, *next)) ++*next;
    CHECK(*next == index); /* none missed, none twice, in their order */
    ++*next;
    slot->heard++;
    box_signal(&heard, status);
    done(PMIX_EVENT_NO_ACTION_TAKEN, NULL, 0, NULL, NULL, cbdata);
}

static void note_over(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                      pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)id, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    box_signal(&over, status);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void listen_with(struct slot* slot) {
    pmix_status_t code = CODE;
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_EVENT_RETURN_OBJECT, slot, PMIX_POINTER);
    CHECK(PMIx_Register_event_handler(&code, 1, &info, 1, take, NULL, NULL) >= 0);
}

static void raise_one(uint32_t index) {
    pmix_info_t info[2];
    pmix_proc_t ends[2] = {rank_of_job(0), rank_of_job(job_size - 1)};
    pmix_data_array_t array = {.type = PMIX_PROC, .size = 2, .array = ends};
    PMIX_INFO_LOAD(&info[0], "index", &index, PMIX_UINT32);
    PMIX_INFO_LOAD(&info[1], PMIX_EVENT_CUSTOM_RANGE, &array, PMIX_DATA_ARRAY);
    size_t count = range_of(index) == PMIX_RANGE_CUSTOM ? 2 : 1;
    CHECK_DONE(PMIx_Notify_event(CODE, &me, range_of(index), info, count, NULL, NULL));
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
}

static void* raise_all(void* unused) {
    (void)unused;
    for (uint32_t i = 0; i < PER_SOURCE; i++) raise_one(i);
    CHECK_DONE(PMIx_Notify_event(LAST_CODE, &me, PMIX_RANGE_NAMESPACE, NULL, 0, NULL, NULL));
    return NULL;
}

/* Each handler, whenever it comes, gets every event in its range once and in the order of its source. With servers that
 * keep all events. rows: E7 E8 E10 E13 E14 */
static void flood(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_status_t last = LAST_CODE;
    pthread_t raiser;
    start();
    CHECK(job_size <= MOST_RANKS);
    for (uint32_t rank = 0; rank < job_size; rank++) near_me[rank] = same_node(rank, me.rank);
    CHECK(PMIx_Register_event_handler(&last, 1, NULL, 0, note_over, NULL, NULL) >= 0);
    listen_with(&slots[0]);
    int each = expected_from(0) + expected_from(job_size - 1);
    bool raises = me.rank == 0 || me.rank == job_size - 1;
    fence(false);
    if (raises) CHECK(pthread_create(&raiser, NULL, raise_all, NULL) == 0);
    for (int i = 1; i < SLOTS; i++) {
        CHECK(box_wait(&heard, i * each / (2 * SLOTS), 60)); /* spread over the time in which they come */
        listen_with(&slots[i]);
    }
    if (raises) CHECK(pthread_join(raiser, NULL) == 0);
    CHECK(box_wait(&over, 2, 60) && box_wait(&heard, SLOTS * each, 60));
    fence(false);
    CHECK(box_count(&heard) == SLOTS * each && box_count(&over) == 2);
    for (int i = 0; i < SLOTS; i++) CHECK(slots[i].heard == each);
    finish();
}

/* --- what an event carries ------------------------------------------------------------------------------------------
 */

static struct signal_box codes_heard = SIGNAL_BOX, defaults_heard = SIGNAL_BOX, late_heard = SIGNAL_BOX;
static bool got_text, got_proxy;
static pmix_proc_t reporter;

static void read_infos(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                       pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)id, (void)results, (void)nresults;
    reporter = *source;
    got_text = got_proxy = false;
    for (size_t i = 0; i < ninfo; i++) {
        const pmix_value_t* value = &info[i].value;
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_TEXT_MESSAGE)) got_text = !strcmp(value->data.string, "it rains");
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_PROXY)) got_proxy = info[i].value.data.proc->rank == 0;
    }
    box_signal(&codes_heard, status);
    done(PMIX_EVENT_NO_ACTION_TAKEN, NULL, 0, NULL, NULL, cbdata);
}

static void count_default(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                          pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                          void* cbdata) {
    (void)id, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    if (status == CODE) box_signal(&defaults_heard, status);
    done(PMIX_EVENT_NO_ACTION_TAKEN, NULL, 0, NULL, NULL, cbdata);
}

static void count_late(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                       pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)id, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    box_signal(&late_heard, status);
    done(PMIX_EVENT_NO_ACTION_TAKEN, NULL, 0, NULL, NULL, cbdata);
}

/* Text, proxy and the named source are delivered; not for default handlers; not kept. In the name of a rank of another
 * node.
 * rows: E11 E12 */
/* proves: PMIx_Notify_event PMIX_EVENT_NON_DEFAULT PMIX_EVENT_DO_NOT_CACHE server */
/* proves: PMIx_Notify_event PMIX_EVENT_TEXT_MESSAGE PMIX_EVENT_PROXY */
static void attributes(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_status_t codes[] = {CODE, LAST_CODE}, code = CODE;
    bool yes = true;
    start();
    pmix_proc_t named = rank_of_job(job_size - 1), proxy = rank_of_job(0);
    CHECK(PMIx_Register_event_handler(codes, 2, NULL, 0, read_infos, NULL, NULL) >= 0);
    CHECK(PMIx_Register_event_handler(NULL, 0, NULL, 0, count_default, NULL, NULL) >= 0);
    fence(false);
    if (me.rank == 0) {
        pmix_info_t info[4];
        PMIX_INFO_LOAD(&info[0], PMIX_EVENT_TEXT_MESSAGE, "it rains", PMIX_STRING);
        PMIX_INFO_LOAD(&info[1], PMIX_EVENT_PROXY, &proxy, PMIX_PROC);
        PMIX_INFO_LOAD(&info[2], PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
        PMIX_INFO_LOAD(&info[3], PMIX_EVENT_DO_NOT_CACHE, &yes, PMIX_BOOL);
        CHECK_DONE(PMIx_Notify_event(CODE, &named, PMIX_RANGE_NAMESPACE, info, 4, NULL, NULL));
        for (int i = 0; i < 4; i++) PMIX_INFO_DESTRUCT(&info[i]);
    }
    CHECK(box_wait(&codes_heard, 1, 60));
    CHECK(got_text);
    CHECK(got_proxy);
    CHECK(reporter.rank == job_size - 1);
    fence(false);
    CHECK(PMIx_Register_event_handler(&code, 1, NULL, 0, count_late, NULL, NULL) >= 0);
    fence(false);
    if (me.rank == 0) CHECK_DONE(PMIx_Notify_event(CODE, &me, PMIX_RANGE_NAMESPACE, NULL, 0, NULL, NULL));
    CHECK(box_wait(&late_heard, 1, 60) && box_wait(&defaults_heard, 1, 60));
    fence(false);
    CHECK(box_count(&late_heard) == 1 && box_count(&defaults_heard) == 1);
    finish();
}

/* --- process sets: `events sets NAME...`: this application's sets --------------------------------------------------
 */

static struct signal_box defined = SIGNAL_BOX;

static void note_set(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)id, (void)source, (void)results, (void)nresults;
    bool name = false, members = false;
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_PSET_NAME)) name = info[i].value.type == PMIX_STRING;
        if (PMIX_CHECK_KEY(&info[i], PMIX_PSET_MEMBERS)) members = info[i].value.data.darray->type == PMIX_PROC;
    }
    CHECK(name && members);
    box_signal(&defined, status);
    done(PMIX_EVENT_NO_ACTION_TAKEN, NULL, 0, NULL, NULL, cbdata);
}

static bool in_set(pmix_rank_t rank, const char* name) {
    pmix_value_t* value = NULL;
    pmix_proc_t proc = rank_of_job(rank);
    CHECK_OK(PMIx_Get(&proc, PMIX_PSET_NAMES, NULL, 0, &value));
    CHECK(value->type == PMIX_DATA_ARRAY && value->data.darray->type == PMIX_STRING);
    bool same = value->data.darray->size == 1 && !strcmp(((char**)value->data.darray->array)[0], name);
    PMIX_VALUE_RELEASE(value);
    return same;
}

/* Every rank finds the sets of all; who registers late hears of both. rows: S1 S3 */
static void sets(int argc, char** argv) {
    pmix_status_t code = PMIX_PROCESS_SET_DEFINE;
    CHECK(argc == 1);
    start();
    CHECK(PMIx_Register_event_handler(&code, 1, NULL, 0, note_set, NULL, NULL) >= 0);
    CHECK(in_set(me.rank, argv[0]));
    CHECK(in_set(0, "ocean") && in_set(job_size - 1, "ice"));
    CHECK(box_wait(&defined, 2, 60));
    fence(false);
    CHECK(box_count(&defined) == 2);
    finish();
}

/* --- the states of a job
 * ----------------------------------------------------------------------------------------------
 */

static pmix_status_t states[64];
static int nstates;
static pmix_status_t job_status;
static int exit_code, procs_gone;
static pmix_proc_t culprit;
static struct signal_box ended = SIGNAL_BOX;

static void note_state(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                       pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)id, (void)results, (void)nresults;
    bool stamp = false, affected = false, non_default = false;
    CHECK(source->nspace[0] == 0 && source->rank == PMIX_RANK_UNDEF);
    for (size_t i = 0; i < ninfo; i++) {
        stamp = stamp || (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_TIMESTAMP) && info[i].value.data.time > 0);
        affected = affected || PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC);
        non_default = non_default || (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_NON_DEFAULT) && PMIX_INFO_TRUE(&info[i]));
        if (PMIX_CHECK_KEY(&info[i], PMIX_JOB_TERM_STATUS)) job_status = info[i].value.data.status;
        if (PMIX_CHECK_KEY(&info[i], PMIX_PROCID)) culprit = *info[i].value.data.proc;
        if (PMIX_CHECK_KEY(&info[i], PMIX_EXIT_CODE)) exit_code = info[i].value.data.integer;
    }
    CHECK(stamp && affected && non_default);
    if (status == PMIX_EVENT_PROC_TERMINATED)
        procs_gone++;
    else
        states[nstates++] = status;
    if (status == PMIX_EVENT_JOB_END) box_signal(&ended, status);
    done(PMIX_EVENT_NO_ACTION_TAKEN, NULL, 0, NULL, NULL, cbdata);
}

static char* program;

static void spawn_child(char* status_text) {
    char* arguments[] = {program, "child", status_text, NULL};
    bool yes = true;
    pmix_app_t app;
    pmix_info_t info[2];
    pmix_nspace_t nspace;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = program;
    app.argv = arguments;
    app.maxprocs = 2;
    PMIX_INFO_LOAD(&info[0], PMIX_NOTIFY_JOB_EVENTS, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_NOTIFY_PROC_TERMINATION, &yes, PMIX_BOOL);
    CHECK_OK(PMIx_Spawn(info, 2, &app, 1, nspace));
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
}

/* One that was spawned ends with the status it is told. */
static void child(int argc, char** argv) {
    CHECK(argc == 1);
    start();
    fence(false);
    CHECK_OK(PMIx_Finalize(NULL, 0));
    exit(me.rank == 1 ? atoi(argv[0]) : 0);
}

/* Start, launch, end of every process, end of the job, in that order, to the process that has spawned it, which is on
 * another node each time, and to no other. With --continuous. rows: E7 */
static void lifecycle(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_status_t codes[] = {PMIX_EVENT_JOB_START, PMIX_LAUNCH_COMPLETE, PMIX_EVENT_JOB_END,
                             PMIX_EVENT_PROC_TERMINATED};
    start();
    CHECK(PMIx_Register_event_handler(codes, 4, NULL, 0, note_state, NULL, NULL) >= 0);
    fence(false);
    for (int round = 0; round < 2; round++) {
        bool spawner = me.rank == (round == 0 ? 0 : job_size - 1);
        if (spawner) {
            spawn_child(round == 0 ? "0" : "5");
            CHECK(box_wait(&ended, 1, 60));
            CHECK(job_status == (round == 0 ? PMIX_SUCCESS : PMIX_ERR_JOB_NON_ZERO_TERM));
            CHECK(round == 0 || (culprit.rank == 1 && exit_code == 5));
        }
        fence(false);
        bool had = spawner || (round == 1 && me.rank == 0);
        CHECK(nstates == (had ? 3 : 0) && procs_gone == (had ? 2 : 0));
        for (int i = 0; i < nstates; i++) CHECK(states[i] == codes[i]);
        fence(false);
    }
    finish();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {
        {"flood", flood}, {"attributes", attributes}, {"sets", sets}, {"lifecycle", lifecycle}, {"child", child},
    };
    program = argv[0];
    RUN_CASE(cases);
    return 0;
}
