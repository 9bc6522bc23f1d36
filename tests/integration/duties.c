/* SPDX-License-Identifier: BSD-3-Clause */
/* duties: what pmixrun owes its processes as their host: published data that ends with its publisher and is read once,
 * sets and limits that belong to one job and one operation, the ends of processes whose node is gone, and what a job is
 * said to be. usage: duties twice|unread|cut|set SET|limits|refused|info|lost */
#include <signal.h>

#include "../support/sanitizers.h"
#include "spawn_check.h"

static pmix_status_t publish(const char* key, pmix_persistence_t until) {
    pmix_info_t info[2];
    PMIX_INFO_LOAD(&info[0], key, "x", PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_PERSISTENCE, &until, PMIX_PERSIST);
    const pmix_status_t status = PMIx_Publish(info, 2);
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
    return status;
}

static pmix_status_t look_up(const char* key) {
    char text[8];
    return look_up_string(key, NULL, 0, text, sizeof text, NULL);
}

static void await_gone(const char* key) {
    const double deadline = seconds_now() + 60;
    pmix_status_t status;
    do status = look_up(key);
    while (status == PMIX_SUCCESS && seconds_now() < deadline);
    CHECK_STATUS(status, PMIX_ERR_NOT_FOUND);
}

/* One call does not publish a key twice, and then publishes nothing. rows: P2 */
static void twice(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    if (me.rank == 0) {
        pmix_info_t info[3];
        PMIX_INFO_LOAD(&info[0], "alone", "x", PMIX_STRING);
        PMIX_INFO_LOAD(&info[1], "pair", "x", PMIX_STRING);
        PMIX_INFO_LOAD(&info[2], "pair", "y", PMIX_STRING);
        CHECK_STATUS(PMIx_Publish(info, 3), PMIX_ERR_DUPLICATE_KEY);
        for (int i = 0; i < 3; i++) PMIX_INFO_DESTRUCT(&info[i]);
        CHECK_STATUS(look_up("pair"), PMIX_ERR_NOT_FOUND);
        CHECK_STATUS(look_up("alone"), PMIX_ERR_NOT_FOUND);
    }
    fence(false);
    finish();
}

static void ignore_lookup(pmix_status_t status, pmix_pdata_t data[], size_t ndata, void* cbdata) {
    (void)status, (void)data, (void)ndata, (void)cbdata;
}

/* What may be read once is not taken by a lookup whose process has finalized. rows: P5 P8 */
static void unread(int argc, char** argv) {
    (void)argc, (void)argv;
    char key[] = "later", *keys[] = {key, NULL};
    int all = 0;
    pmix_info_t wait;
    PMIX_INFO_LOAD(&wait, PMIX_WAIT, &all, PMIX_INT);
    start();
    if (me.rank != 0) {
        CHECK_OK(PMIx_Lookup_nb(keys, &wait, 1, ignore_lookup, NULL));
        CHECK_STATUS(look_up("nothing"), PMIX_ERR_NOT_FOUND); /* behind it: it waits at the host now */
        CHECK_OK(put_u32(PMIX_GLOBAL, "waits", 1));
        CHECK_OK(PMIx_Commit());
        CHECK_OK(PMIx_Finalize(NULL, 0));
        sleep(4); /* its end would do as well */
        printf("OK rank %u\n", me.rank);
        return;
    }
    uint32_t number = 0;
    for (uint32_t rank = 1; rank < job_size; rank++) {
        const pmix_proc_t peer = rank_of_job(rank);
        CHECK_OK(get_u32(&peer, "waits", 60, &number));
    }
    sleep(1); /* for their finalize */
    CHECK_OK(publish("later", PMIX_PERSIST_FIRST_READ));
    CHECK_OK(look_up("later"));
    CHECK_STATUS(look_up("later"), PMIX_ERR_NOT_FOUND);
    finish();
}

/* A process of a job whose start fails. */
static void publishes(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    CHECK_OK(publish("of.cut.job", PMIX_PERSIST_NSPACE));
    CHECK_OK(publish("of.cut.app", PMIX_PERSIST_APP));
    raise_flag("published");
    for (;;) pause();
}

/* What a job has published that was cut short goes with it. rows: P8 */
static void cut(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    pmix_app_t apps[2];
    pmix_nspace_t child;
    app_of(&apps[0], 1, "publishes", (char*)NULL);
    app_of(&apps[1], 1, "never", (char*)NULL);
    free(apps[1].cmd);
    apps[1].cmd = strdup("/there/is/no/such/program");
    CHECK(spawn(NULL, 0, apps, 2, child) != PMIX_SUCCESS);
    await_gone("of.cut.job");
    await_gone("of.cut.app");
    CHECK_OK(publish("of.cut.job", PMIX_PERSIST_APP));
    finish();
}

static pmix_status_t members_of(const char* set) {
    pmix_query_t query;
    pmix_info_t* results = NULL;
    size_t count = 0;
    PMIX_QUERY_CONSTRUCT(&query);
    pmix_status_t appended;
    PMIX_ARGV_APPEND(appended, query.keys, PMIX_QUERY_PSET_MEMBERSHIP);
    CHECK_OK(appended);
    query.nqual = 1;
    PMIX_INFO_CREATE(query.qualifiers, 1);
    PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_PSET_NAME, set, PMIX_STRING);
    const pmix_status_t status = PMIx_Query_info(&query, 1, &results, &count);
    PMIX_QUERY_DESTRUCT(&query);
    if (results) PMIX_INFO_FREE(results, count);
    return status;
}

/* A spawn that is refused because the name of its set is taken leaves the set to its job. */
static void set(int argc, char** argv) {
    CHECK(argc == 1);
    start();
    CHECK_OK(members_of(argv[0]));
    for (int pass = 0; pass < 2 && me.rank == 0; pass++) {
        pmix_app_t app;
        pmix_nspace_t child;
        app_of(&app, 1, "publishes", (char*)NULL);
        app_infos(&app, 1);
        PMIX_INFO_LOAD(&app.info[0], PMIX_PSET_NAME, argv[0], PMIX_STRING);
        CHECK_STATUS(spawn(NULL, 0, &app, 1, child), PMIX_ERR_EXISTS);
    }
    fence(false);
    CHECK_OK(members_of(argv[0]));
    finish();
}

/* The shortest of the members' limits counts, wherever they run. rows: R7 */
static void limits(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    const pmix_proc_t all = rank_of_job(PMIX_RANK_WILDCARD);
    const int seconds = me.rank == 1 ? 1 : 60;
    if (me.rank == 1) await_flag("others.wait");
    if (me.rank == 2) {
        raise_flag("others.wait");
        await_flag("it.failed");
    }
    pmix_info_t limit;
    PMIX_INFO_LOAD(&limit, PMIX_TIMEOUT, &seconds, PMIX_INT);
    CHECK_STATUS(PMIx_Group_construct("limits", &all, 1, &limit, 1, NULL, NULL), PMIX_ERR_TIMEOUT);
    if (me.rank == 1) raise_flag("it.failed");
    fence(false);
    finish();
}

/* What a sanitizer keeps of freed memory is the daemon's as well. */
#if defined(UNDER_ASAN) || defined(UNDER_TSAN)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static long rss_of_daemon(void) {
    char path[64], line[256];
    long pages = 0, all;
    snprintf(path, sizeof path, "/proc/%ld/statm", (long)getppid());
    FILE* file = fopen(path, "r");
    CHECK(file && fgets(line, sizeof line, file) && sscanf(line, "%ld %ld", &all, &pages) == 2);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE) / 1024;
}

/* Nothing stays of what cannot be done. */
static void refused(int argc, char** argv) {
    (void)argc, (void)argv;
    enum { PROCS = 400, ROUNDS = 400, MOST_KIB = 16 << 10 };
    start();
    pmix_proc_t* procs = calloc(PROCS, sizeof *procs);
    CHECK(procs);
    long before = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < PROCS; i++) {
            PMIX_LOAD_PROCID(&procs[i], "no-such-job", 0);
            procs[i].rank = (pmix_rank_t)(round * PROCS + i);
        }
        procs[0] = me;
        CHECK_STATUS(PMIx_Connect(procs, PROCS, NULL, 0), PMIX_ERR_NOT_FOUND);
        if (round == ROUNDS / 8) before = rss_of_daemon();
    }
    CHECK(SANITIZED || rss_of_daemon() - before < MOST_KIB + rss_error_kib());
    free(procs);
    finish();
}

static void check_text(const pmix_proc_t* proc, const char* key, const char* wanted) {
    pmix_value_t* value = NULL;
    CHECK_OK(PMIx_Get(proc, key, NULL, 0, &value));
    CHECK(value->type == PMIX_STRING && strstr(value->data.string, wanted));
    PMIX_VALUE_RELEASE(value);
}

static pmix_rank_t rank_value(const pmix_proc_t* proc, const char* key) {
    pmix_value_t* value = NULL;
    CHECK_OK(PMIx_Get(proc, key, NULL, 0, &value));
    CHECK(value->type == PMIX_PROC_RANK);
    const pmix_rank_t rank = value->data.rank;
    PMIX_VALUE_RELEASE(value);
    return rank;
}

/* Of the first job with no argument, of a job that it spawned with one. rows: V1 */
static void info(int argc, char** argv) {
    (void)argv;
    start();
    const bool spawned = argc > 0;
    const pmix_proc_t job = rank_of_job(PMIX_RANK_WILDCARD);
    const uint32_t before = spawned ? 3 : 0;
    char own[4096];
    pmix_value_t* value = NULL;
    CHECK(rank_value(&me, PMIX_GLOBAL_RANK) == before + me.rank);
    CHECK(rank_value(&job, PMIX_NPROC_OFFSET) == before);
    CHECK(job_u32(PMIX_UNIV_SIZE) == before + job_size);
    /* The numbers of a node's processes go on from the first job's, which are spread in blocks. */
    const uint32_t nodes = job_u32(PMIX_NUM_NODES);
    uint32_t node = 0;
    CHECK_OK(get_u32(&me, PMIX_NODEID, 0, &node));
    const uint32_t taken = before / nodes + (node < before % nodes);
    CHECK(proc_u16(me.rank, PMIX_NODE_RANK) == taken + proc_u16(me.rank, PMIX_LOCAL_RANK));
    CHECK(job_u32(PMIX_NODE_SIZE) == taken + job_u32(PMIX_LOCAL_SIZE));
    CHECK_OK(PMIx_Get(&job, PMIX_SPAWNED, NULL, 0, &value));
    CHECK(value->type == PMIX_BOOL && value->data.flag == spawned);
    PMIX_VALUE_RELEASE(value);
    CHECK(getcwd(own, sizeof own));
    check_text(&me, PMIX_WDIR, own);
    check_text(&me, PMIX_APP_ARGV, spawned ? " info child" : " info");
    if (!spawned && me.rank == 0) {
        pmix_app_t app;
        pmix_nspace_t child;
        app_of(&app, 2, "info", "child", (char*)NULL);
        CHECK_OK(spawn(NULL, 0, &app, 1, child));
    }
    fence(false);
    finish();
}

static struct signal_box box = SIGNAL_BOX;
static void on_end(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t infos[], size_t ninfos,
                   pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)id, (void)source, (void)infos, (void)ninfos, (void)results, (void)nresults;
    box_signal(&box, status);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

/* The last rank kills the daemon of its node: what it has published goes with it, and the others are notified of its
 * end as of one on another node. With --continuous. rows: P8 E9 */
static void lost(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    pmix_status_t code = PMIX_ERR_PROC_ABORTED_BY_SIG;
    CHECK(PMIx_Register_event_handler(&code, 1, NULL, 0, on_end, NULL, NULL) >= 0);
    const bool last = me.rank == job_size - 1;
    if (last) CHECK_OK(publish("of.lost.proc", PMIX_PERSIST_PROC));
    if (last) CHECK_OK(publish("of.session", PMIX_PERSIST_SESSION));
    fence(false);
    if (last) {
        kill(getppid(), SIGKILL);
        for (;;) pause();
    }
    CHECK(box_wait(&box, 1, 60) && box.status == code);
    await_gone("of.lost.proc");
    CHECK_OK(look_up("of.session"));
    finish();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {{"twice", twice},     {"unread", unread}, {"publishes", publishes},
                                             {"cut", cut},         {"set", set},       {"limits", limits},
                                             {"refused", refused}, {"info", info},     {"lost", lost}};
    program = argv[0];
    RUN_CASE(cases);
    return 0;
}
