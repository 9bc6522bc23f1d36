/* SPDX-License-Identifier: BSD-3-Clause */
/* notify: events between processes of one node and of several.
 * usage: notify job|local|custom|self|once|types|failure */
#include <signal.h>

#include "check.h"

enum { CODE = PMIX_EXTERNAL_ERR_BASE - 20, OTHER_CODE = PMIX_EXTERNAL_ERR_BASE - 21 };

static struct signal_box received = SIGNAL_BOX;
static struct signal_box end = SIGNAL_BOX;
static pmix_proc_t last_source, last_affected;
static pmix_info_t last_info; /* the only one of the last event of CODE */
static size_t last_ninfo;

static void note(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                 pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)id, (void)results, (void)nresults;
    last_source = *source;
    if (status == CODE) {
        last_ninfo = ninfo;
        if (last_info.value.type != PMIX_UNDEF) PMIX_INFO_DESTRUCT(&last_info);
        memset(&last_info, 0, sizeof last_info);
        if (ninfo == 1) PMIX_INFO_XFER(&last_info, &info[0]);
    }
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC) && info[i].value.type == PMIX_PROC) {
            last_affected = *info[i].value.data.proc;
        }
    }
    box_signal(status == OTHER_CODE ? &end : &received, status);
    if (done) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void listen_to(pmix_status_t* codes, size_t count) {
    CHECK(PMIx_Register_event_handler(codes, count, NULL, 0, note, NULL, NULL) >= 0);
}

static void listen_all(void) {
    pmix_status_t codes[2] = {CODE, OTHER_CODE};
    start();
    listen_to(codes, 2);
    fence(false);
}

/* OTHER_CODE follows to everybody: events of one source keep their order, so when it is here, the first has been. */
static void close_round(void) {
    if (me.rank == 0) CHECK_DONE(PMIx_Notify_event(OTHER_CODE, &me, PMIX_RANGE_NAMESPACE, NULL, 0, NULL, NULL));
    CHECK(box_wait(&end, 1, 60));
    fence(false);
}

/* Each rank tells all; each hears each once. rows: E1 E2 E12 E13 E14 */
static void job(int argc, char** argv) {
    (void)argc, (void)argv;
    listen_all();
    CHECK_DONE(PMIx_Notify_event(CODE, &me, PMIX_RANGE_NAMESPACE, NULL, 0, NULL, NULL));
    CHECK(box_wait(&received, (int)job_size, 60));
    fence(false);
    close_round();
    CHECK(box_count(&received) == (int)job_size); /* and no echo */
    finish();
}

/* Only this node. rows: E13 */
static void local(int argc, char** argv) {
    (void)argc, (void)argv;
    listen_all();
    if (me.rank == 0) CHECK_DONE(PMIx_Notify_event(CODE, &me, PMIX_RANGE_LOCAL, NULL, 0, NULL, NULL));
    if (same_node(0, me.rank)) CHECK(box_wait(&received, 1, 60) && last_source.rank == 0);
    close_round();
    CHECK(box_count(&received) == (same_node(0, me.rank) ? 1 : 0));
    finish();
}

/* Only those in the list: the last rank. rows: E11 E13 */
/* proves: PMIx_Notify_event PMIX_EVENT_CUSTOM_RANGE */
static void custom(int argc, char** argv) {
    (void)argc, (void)argv;
    listen_all();
    if (me.rank == 0) {
        pmix_info_t info;
        pmix_proc_t* chosen = NULL;
        PMIX_PROC_CREATE(chosen, 1);
        chosen[0] = rank_of_job(job_size - 1);
        pmix_data_array_t array = {.type = PMIX_PROC, .size = 1, .array = chosen};
        PMIX_INFO_LOAD(&info, PMIX_EVENT_CUSTOM_RANGE, &array, PMIX_DATA_ARRAY);
        CHECK_DONE(PMIx_Notify_event(CODE, &me, PMIX_RANGE_CUSTOM, &info, 1, NULL, NULL));
        PMIX_INFO_DESTRUCT(&info);
        PMIX_PROC_FREE(chosen, 1);
    }
    if (me.rank == job_size - 1) CHECK(box_wait(&received, 1, 60));
    close_round();
    CHECK(box_count(&received) == (me.rank == job_size - 1 ? 1 : 0));
    finish();
}

/* Nobody but the sender. rows: E13 */
static void self(int argc, char** argv) {
    (void)argc, (void)argv;
    listen_all();
    CHECK_DONE(PMIx_Notify_event(CODE, &me, PMIX_RANGE_PROC_LOCAL, NULL, 0, NULL, NULL));
    CHECK(box_wait(&received, 1, 60) && last_source.rank == me.rank);
    fence(false);
    close_round();
    CHECK(box_count(&received) == 1);
    finish();
}

/* Many events from one source, each once. rows: E12 E14 */
static void once(int argc, char** argv) {
    enum { EVENTS = 100 };
    (void)argc, (void)argv;
    listen_all();
    for (int i = 0; i < EVENTS && me.rank == 0; i++) {
        CHECK_DONE(PMIx_Notify_event(CODE, &me, PMIX_RANGE_GLOBAL, NULL, 0, NULL, NULL));
    }
    CHECK(box_wait(&received, EVENTS, 60));
    close_round();
    CHECK(box_count(&received) == EVENTS);
    finish();
}

/* Values of rare types, and nothing beside what the source gave. rows: E12 E14 */
static void types(int argc, char** argv) {
    uint32_t numbers[] = {3, 4};
    char name[] = "dev", command[] = "prog";
    pmix_coord_t place = {.view = PMIX_COORD_LOGICAL_VIEW, .coord = numbers, .dims = 2};
    pmix_endpoint_t endpoint = {.uuid = name, .osname = name, .endpt = {.bytes = name, .size = 3}};
    pmix_device_distance_t distance = {.uuid = name, .osname = name, .type = PMIX_DEVTYPE_GPU, .mindist = 1};
    pmix_app_t app = {.cmd = command, .maxprocs = 2};
    pmix_data_array_t apps = {.type = PMIX_APP, .size = 1, .array = &app},
                      nested = {.type = PMIX_DATA_ARRAY, .size = 1, .array = &apps};
    struct {
        const void* data;
        pmix_data_type_t type;
    } const all[] = {{&place, PMIX_COORD},
                     {&endpoint, PMIX_ENDPOINT},
                     {&distance, PMIX_DEVICE_DIST},
                     {&apps, PMIX_DATA_ARRAY},
                     {&nested, PMIX_DATA_ARRAY}};
    int count = (int)(sizeof all / sizeof *all);
    (void)argc, (void)argv;
    listen_all();
    for (int i = 0; i < count; i++) {
        pmix_info_t info;
        memset(&info, 0, sizeof info);
        PMIX_INFO_LOAD(&info, "test.rare", all[i].data, all[i].type);
        if (me.rank == 0) CHECK_DONE(PMIx_Notify_event(CODE, &me, PMIX_RANGE_NAMESPACE, &info, 1, NULL, NULL));
        CHECK(box_wait(&received, i + 1, 60));
        CHECK(last_ninfo == 1 && PMIX_CHECK_KEY(&last_info, "test.rare") && last_info.value.type == all[i].type);
        CHECK(PMIx_Value_compare(&last_info.value, &info.value) == PMIX_EQUAL);
        PMIX_INFO_DESTRUCT(&info);
        fence(false);
    }
    if (me.rank == 0) CHECK_DONE(PMIx_Notify_event(CODE, &me, PMIX_RANGE_NAMESPACE, NULL, 0, NULL, NULL));
    CHECK(box_wait(&received, count + 1, 60) && last_ninfo == 0);
    close_round();
    CHECK(box_count(&received) == count + 1);
    finish();
}

static struct signal_box connection = SIGNAL_BOX;

static void note_connection(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[],
                            size_t ninfo, pmix_info_t results[], size_t nresults,
                            pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)id, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    box_signal(&connection, status);
    if (done) done(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
}

/* With --continuous: the last rank is killed, the others are told, also those on other nodes: of its end, and once that
 * its connection was lost. rows: E17 */
static void failure(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_status_t codes[] = {PMIX_ERR_PROC_ABORTED_BY_SIG, PMIX_ERR_LOST_CONNECTION, PMIX_ERR_PROC_ABORTED};
    start();
    listen_to(codes, 3);
    CHECK(PMIx_Register_event_handler(&codes[1], 1, NULL, 0, note_connection, NULL, NULL) >= 0);
    fence(false);
    if (me.rank == job_size - 1) raise(9);
    CHECK(box_wait(&received, 1, 60));
    CHECK(last_affected.rank == job_size - 1);
    CHECK(box_wait(&connection, 1, 60));
    (void)PMIx_Fence(NULL, 0, NULL, 0); /* of the survivors */
    CHECK(box_count(&connection) == 1);
    finish();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {
        {"job", job},   {"local", local}, {"custom", custom},   {"self", self},
        {"once", once}, {"types", types}, {"failure", failure},
    };
    RUN_CASE(cases);
    return 0;
}
