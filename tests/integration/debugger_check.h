// SPDX-License-Identifier: BSD-3-Clause
/* debugger_check.h: what the tests of debuggers share: the tool with the events that it gets, what it asks for, and the
 * programs that it has started. Used from one thread at a time, but for the handlers of events. */
#ifndef WIREUP_TESTS_INTEGRATION_DEBUGGER_CHECK_H
#define WIREUP_TESTS_INTEGRATION_DEBUGGER_CHECK_H

#include <pmix_tool.h>

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

static inline void note(size_t handler, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[],
                        size_t ninfo, pmix_info_t* results, size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                        void* cbdata) {
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
static inline int await(pmix_status_t code, const char* nspace) {
    for (int i = 0;; i++) {
        CHECK(box_wait(&events, i + 1, 60));
        if (heard[i].code != code || strcmp(heard[i].about[0].nspace, nspace) != 0) continue;
        for (int j = 0; j < box_count(&events); j++)
            CHECK(i == j || heard[j].code != code || strcmp(heard[j].about[0].nspace, nspace) != 0);
        return i;
    }
}

/* --- the tool ----------------------------------------------------------------------------------------------------- */

static inline void begin(void) {
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

static inline void end(void) {
    CHECK_OK(PMIx_tool_finalize());
    printf("OK tool\n");
}

static pmix_info_t options[8];
static size_t noptions;

static inline void option(const char* key, const void* data, pmix_data_type_t type) {
    PMIX_INFO_LOAD(&options[noptions], key, data, type);
    noptions++;
}

static inline pmix_status_t spawn_with_options(pmix_app_t* apps, size_t napps, pmix_nspace_t nspace) {
    const size_t count = noptions;
    noptions = 0;
    return spawn(options, count, apps, napps, nspace);
}

static inline void release(const char* nspace, pmix_rank_t rank) {
    pmix_proc_t to;
    pmix_info_t info[2];
    PMIX_LOAD_PROCID(&to, nspace, rank);
    PMIX_INFO_LOAD(&info[0], PMIX_EVENT_CUSTOM_RANGE, &to, PMIX_PROC);
    PMIX_INFO_LOAD(&info[1], PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
    CHECK_DONE(PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, &me, PMIX_RANGE_CUSTOM, info, 2, NULL, NULL));
    for (int i = 0; i < 2; i++) PMIX_INFO_DESTRUCT(&info[i]);
}

static inline bool is_up(const char* flag, pmix_rank_t rank) {
    char name[96];
    snprintf(name, sizeof name, "%s.%u", flag, rank);
    return look_up_string(name, NULL, 0, NULL, 0, NULL) == PMIX_SUCCESS;
}

/* PMIX_QUERY_PROC_TABLE, or that of this node; the caller frees the results. */
static inline pmix_info_t* table_of(const char* key, const char* nspace, size_t* count, pmix_proc_info_t** rows) {
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

static inline char* query_text(const char* key) {
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
static inline void daemons_of(pmix_app_t* app, const char* flag, const char* key, uint16_t count) {
    app_of(app, 1, "daemon", flag, NULL);
    app_infos(app, key ? 2 : 1);
    PMIX_INFO_LOAD(&app->info[0], PMIX_DEBUGGER_DAEMONS, &yes, PMIX_BOOL);
    if (key) PMIX_INFO_LOAD(&app->info[1], key, &count, PMIX_UINT16);
}
static inline bool lists(const char* key, const char* attribute) {
    char* list = query_text(key);
    bool found = false;
    for (char* one = strtok(list, ","); one; one = strtok(NULL, ",")) found = found || strcmp(one, attribute) == 0;
    free(list);
    return found;
}
/* --- what is spawned ---------------------------------------------------------------------------------------------- */

/* app FLAG [until_told]: its job is what it would be without a debugger */
static inline void app(int argc, char** argv) {
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

static inline void on_release(size_t handler, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[],
                              size_t ninfo, pmix_info_t* results, size_t nresults,
                              pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)handler, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    box_signal(&released, status);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

/* stopper FLAG: a program that can stop for a debugger */
static inline void stopper(int argc, char** argv) {
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
static inline void daemon_of_debugger(int argc, char** argv) {
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

static inline void fails(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    _exit(3);
}
/* The program of a debugger or of what it debugs. True: it was one of the latter, and is done. */
static inline bool ran_child(int argc, char** argv) {
    static const struct test_case children[] = {
        {"app", app}, {"stopper", stopper}, {"daemon", daemon_of_debugger}, {"fails", fails}, {"stays", stays}};
    static char self[4096];
    CHECK(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    program = self;
    for (size_t i = 0; i < sizeof children / sizeof *children; i++) {
        if (argc < 2 || strcmp(argv[1], children[i].name) != 0) continue;
        RUN_CASE(children);
        return true;
    }
    return false;
}

#endif
