/* SPDX-License-Identifier: BSD-3-Clause */
/* init_finalize: init and finalize, and the contents of the job's description.
 * usage: init_finalize counted|again|described NODES APPS|embedded_barrier|program NUMBER|alone */
#include "check.h"

/* Each Init needs its own Finalize. rows: I1 I2 I3 G18 G19 */
static void counted(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_proc_t again;
    const char* version = PMIx_Get_version();
    CHECK(version && version[0]);
    CHECK(!PMIx_Initialized());
    start();
    CHECK(PMIx_Initialized());
    CHECK_OK(PMIx_Init(&again, NULL, 0));
    CHECK(strcmp(again.nspace, me.nspace) == 0 && again.rank == me.rank);
    CHECK_OK(PMIx_Init(NULL, NULL, 0));
    CHECK_OK(PMIx_Finalize(NULL, 0));
    CHECK_OK(PMIx_Finalize(NULL, 0));
    CHECK(PMIx_Initialized());
    fence(false);
    CHECK(strcmp(version, PMIx_Get_version()) == 0);
    finish();
    CHECK(!PMIx_Initialized());
    CHECK(strcmp(version, PMIx_Get_version()) == 0);
}

/* A fence fails when a member leaves while it is open: so nobody enters one before all have initialised again. */
static void all_born(int run) {
    char flag[32];
    snprintf(flag, sizeof flag, "born.%d.%u", run, me.rank);
    raise_flag(flag);
    for (uint32_t rank = 0; rank < job_size; rank++) {
        snprintf(flag, sizeof flag, "born.%d.%u", run, rank);
        await_flag(flag);
    }
}

/* A process may come back, and its peers see what it puts then. rows: I12 */
static void again(int argc, char** argv) {
    int times = argc > 0 ? atoi(argv[0]) : 5;
    for (int i = 0; i < times; i++) {
        start();
        char key[32];
        uint32_t number = 0;
        pmix_proc_t next = rank_of_job((me.rank + 1) % job_size);
        snprintf(key, sizeof key, "again.%d", i);
        all_born(i);
        CHECK_OK(put_u32(PMIX_GLOBAL, key, me.rank * 100 + (uint32_t)i));
        CHECK_OK(PMIx_Commit());
        fence(true);
        CHECK_OK(get_u32(&next, key, 60, &number));
        CHECK(number == next.rank * 100 + (uint32_t)i);
        CHECK_OK(PMIx_Finalize(NULL, 0));
    }
    printf("OK rank %u\n", me.rank);
}

/* The same without looking at each other: who is ahead waits in the next fence while others still finalize the last
 * time.
 * rows: F7 I12 */
static void out_of_step(int argc, char** argv) {
    int times = argc > 0 ? atoi(argv[0]) : 50;
    for (int i = 0; i < times; i++) {
        start();
        struct timespec pause = {0, (me.rank * 7 + (uint32_t)i * 3) % 5 * 300000};
        nanosleep(&pause, NULL);
        fence(i % 2 == 0);
        nanosleep(&pause, NULL);
        CHECK_OK(PMIx_Finalize(NULL, 0));
    }
    printf("OK rank %u\n", me.rank);
}

/* One finalizes and ends while the others wait for it: they are told. rows: F7 */
static void leaves(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    fence(false);
    if (me.rank != 1) CHECK(PMIx_Fence(NULL, 0, NULL, 0) < 0);
    CHECK_OK(PMIx_Finalize(NULL, 0));
    printf("OK rank %u\n", me.rank);
}

/* One of several programs that a script runs one after the other. The ranks are not in step: the others wait for the
 * next program of a rank, in a fence and in a Get that is given time. rows: F7 I12 */
static void program(int argc, char** argv) {
    CHECK(argc == 1);
    uint32_t number = 0, run = (uint32_t)atoi(argv[0]);
    char key[32];
    start();
    pmix_proc_t next = rank_of_job((me.rank + 1) % job_size);
    snprintf(key, sizeof key, "before.%u", run);
    CHECK_OK(put_u32(PMIX_GLOBAL, key, me.rank));
    CHECK_OK(PMIx_Commit());
    CHECK_OK(get_u32(&next, key, 200, &number));
    snprintf(key, sizeof key, "program.%u", run);
    CHECK_OK(put_u32(PMIX_GLOBAL, key, me.rank * 100 + run));
    CHECK_OK(PMIx_Commit());
    fence(true);
    CHECK_OK(get_u32(&next, key, 0, &number));
    CHECK(number == next.rank * 100 + run);
    finish();
}

static char* proc_string(pmix_rank_t rank, const char* key) {
    pmix_proc_t proc = rank_of_job(rank);
    pmix_value_t* value = NULL;
    CHECK_OK(PMIx_Get(&proc, key, NULL, 0, &value));
    CHECK(value->type == PMIX_STRING && value->data.string);
    char* text = strdup(value->data.string);
    PMIX_VALUE_RELEASE(value);
    return text;
}

/* The ranks of a job share this machine's processors, on however many simulated nodes. */
static bool oversubscribed(void) {
    pmix_proc_t job = rank_of_job(PMIX_RANK_WILDCARD);
    pmix_info_t optional;
    pmix_value_t* value = NULL;
    PMIX_INFO_LOAD(&optional, PMIX_OPTIONAL, NULL, PMIX_BOOL);
    pmix_status_t rc = PMIx_Get(&job, PMIX_NODE_OVERSUBSCRIBED, &optional, 1, &value);
    if (rc != PMIX_SUCCESS) return false;
    CHECK(value->type == PMIX_BOOL && value->data.flag);
    PMIX_VALUE_RELEASE(value);
    return true;
}

/* The topology in the job's data, where Open MPI looks for it: with --share-topology only. */
static bool has_topology(void) {
    pmix_proc_t job = rank_of_job(PMIX_RANK_WILDCARD);
    pmix_info_t immediate;
    pmix_value_t* value = NULL;
    PMIX_INFO_LOAD(&immediate, PMIX_IMMEDIATE, NULL, PMIX_BOOL);
    pmix_status_t rc = PMIx_Get(&job, PMIX_HWLOC_XML_V2, &immediate, 1, &value);
    if (rc == PMIX_ERR_NOT_FOUND) return false;
    CHECK_OK(rc);
    CHECK(value->type == PMIX_STRING && strstr(value->data.string, "<topology"));
    PMIX_VALUE_RELEASE(value);
    return true;
}

/* How many the processes of this node are that the job's description lists; each is on it. */
static uint32_t listed_here(const char* host) {
    pmix_proc_t job = rank_of_job(PMIX_RANK_WILDCARD);
    pmix_value_t* value = NULL;
    CHECK_OK(PMIx_Get(&job, PMIX_LOCAL_PROCS, NULL, 0, &value));
    CHECK(value->type == PMIX_DATA_ARRAY && value->data.darray->type == PMIX_PROC);
    const pmix_proc_t* procs = value->data.darray->array;
    uint32_t count = (uint32_t)value->data.darray->size;
    for (uint32_t i = 0; i < count; i++) {
        CHECK(PMIX_CHECK_NSPACE(procs[i].nspace, me.nspace));
        char* theirs = proc_string(procs[i].rank, PMIX_HOSTNAME);
        CHECK(strcmp(host, theirs) == 0);
        free(theirs);
    }
    PMIX_VALUE_RELEASE(value);
    return count;
}

/* All of it is there right after Init, of every rank, and fits together. rows: I5 K16 K23 K34 */
static void described(int argc, char** argv) {
    CHECK(argc == 2 || (argc == 3 && strcmp(argv[2], "topology") == 0));
    const bool shared_topology = argc == 3;
    uint32_t nodes = (uint32_t)atoi(argv[0]), apps = (uint32_t)atoi(argv[1]), local = 0, local_size, number = 0;
    start();
    pmix_proc_t job = rank_of_job(PMIX_RANK_WILDCARD);
    CHECK(job_u32(PMIX_UNIV_SIZE) >= job_size);
    CHECK(job_u32(PMIX_NUM_NODES) == nodes);
    CHECK(job_u32(PMIX_JOB_NUM_APPS) == apps);
    local_size = job_u32(PMIX_LOCAL_SIZE);
    char* mine = proc_string(me.rank, PMIX_HOSTNAME);
    for (uint32_t rank = 0; rank < job_size; rank++) {
        char* theirs = proc_string(rank, PMIX_HOSTNAME);
        pmix_proc_t peer = rank_of_job(rank);
        uint32_t local_rank = proc_u16(rank, PMIX_LOCAL_RANK), node_id = nodes, app = apps;
        CHECK_OK(get_u32(&peer, PMIX_NODEID, 0, &node_id));
        CHECK_OK(get_u32(&peer, PMIX_APPNUM, 0, &app));
        CHECK(node_id < nodes && app < apps && local_rank <= rank && proc_u16(rank, PMIX_NODE_RANK) == local_rank);
        if (strcmp(mine, theirs) == 0) {
            CHECK(local_rank < local_size);
            local++;
        }
        free(theirs);
    }
    CHECK(listed_here(mine) == local_size);
    free(mine);
    CHECK(local == local_size);
    cpu_set_t cpus;
    CHECK(sched_getaffinity(0, sizeof cpus, &cpus) == 0);
    CHECK(has_topology() == shared_topology);
    CHECK(oversubscribed() == (job_size > (uint32_t)CPU_COUNT(&cpus)));
    double before = seconds_now();
    CHECK_STATUS(get_u32(&job, "pmix.no.such.key", 100, &number), PMIX_ERR_NOT_FOUND);
    CHECK(seconds_now() - before < 60); /* a reserved key is known or not: nobody waits for it */
    finish();
}

/* With PMIX_EMBED_BARRIER no process returns before all have called: rank 0 calls late. rows: I10 */
/* proves: PMIx_Finalize PMIX_EMBED_BARRIER */
static void embedded_barrier(int argc, char** argv) {
    (void)argc, (void)argv;
    bool yes = true;
    pmix_info_t barrier;
    double late = 0.3;
    start();
    double began = seconds_now(); /* for all of them before rank 0 begins to be late */
    fence(false);
    struct timespec pause = {0, (long)(late * 1e9)};
    if (me.rank == 0) nanosleep(&pause, NULL);
    PMIX_INFO_LOAD(&barrier, PMIX_EMBED_BARRIER, &yes, PMIX_BOOL);
    CHECK_OK(PMIx_Finalize(&barrier, 1));
    PMIX_INFO_DESTRUCT(&barrier);
    CHECK(seconds_now() - began > late * 0.8);
    printf("OK rank %u\n", me.rank);
}

/* Without it nobody waits: the others end, as the resource manager sees it, while rank 0 has not come to its finalize.
 * rows: I10 */
static void no_barrier(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    fence(false);
    bool ended = me.rank != 0;
    while (!ended) { /* or the alarm */
        pmix_info_t of_job, *results = NULL;
        size_t nresults = 0;
        char* keys[] = {PMIX_QUERY_PROC_TABLE, NULL};
        PMIX_INFO_LOAD(&of_job, PMIX_NSPACE, me.nspace, PMIX_STRING);
        pmix_query_t query = {keys, &of_job, 1};
        CHECK_OK(PMIx_Query_info(&query, 1, &results, &nresults));
        CHECK(nresults == 1 && results[0].value.type == PMIX_DATA_ARRAY);
        const pmix_data_array_t* table = results[0].value.data.darray;
        const pmix_proc_info_t* rows = table->array;
        CHECK(table->size == job_size);
        ended = true;
        for (size_t i = 0; i < table->size; i++)
            if (rows[i].proc.rank != 0 && rows[i].state != PMIX_PROC_STATE_TERMINATED) ended = false;
        PMIX_INFO_FREE(results, nresults);
        PMIX_INFO_DESTRUCT(&of_job);
        struct timespec pause = {0, 10000000};
        if (!ended) nanosleep(&pause, NULL);
    }
    finish();
}

/* Started by hand: no server, but an identity, and a library that works. rows: I4 I11 G8 */
static void alone(int argc, char** argv) {
    (void)argc, (void)argv;
    uint32_t number = 0;
    alarm(200);
    CHECK_STATUS(put_u32(PMIX_GLOBAL, "alone", 1), PMIX_ERR_INIT);
    CHECK_STATUS(PMIx_Commit(), PMIX_ERR_INIT);
    CHECK_STATUS(PMIx_Fence(NULL, 0, NULL, 0), PMIX_ERR_INIT);
    CHECK_STATUS(PMIx_Finalize(NULL, 0), PMIX_ERR_INIT);
    CHECK_STATUS(PMIx_Init(&me, NULL, 0), PMIX_ERR_UNREACH);
    CHECK(strncmp(me.nspace, "singleton.", 10) == 0 && me.rank == 0);
    CHECK(PMIx_Initialized());
    CHECK_OK(put_u32(PMIX_GLOBAL, "alone", 42));
    CHECK_OK(get_u32(&me, "alone", 1, &number));
    CHECK(number == 42);
    CHECK_OK(PMIx_Finalize(NULL, 0));
    CHECK(!PMIx_Initialized());
    printf("OK alone\n");
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {
        {"counted", counted},         {"again", again},
        {"described", described},     {"embedded_barrier", embedded_barrier},
        {"no_barrier", no_barrier},   {"alone", alone},
        {"out_of_step", out_of_step}, {"leaves", leaves},
        {"program", program},
    };
    RUN_CASE(cases);
    return 0;
}
