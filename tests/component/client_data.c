/* SPDX-License-Identifier: BSD-3-Clause */
/* client_data.c: what the clients of hosts_data ask for, and which answer they must get. Each function is a mode of a
 * whole client under a whole server; it runs between Init and Finalize, on every rank that the host starts. */
#include <pmix_tool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zoo.h"

static pmix_proc_t me;

static pmix_proc_t rank_of_job(uint32_t rank) {
    return proc_of("job", rank);
}

/* Of the two ranks of this node; the job's third is never started. */
static void fence_here(void) {
    const pmix_proc_t here[] = {rank_of_job(0), rank_of_job(1)};
    CHECK_OK(PMIx_Fence(here, 2, NULL, 0));
}

static void put_number(pmix_scope_t scope, const char* key, uint32_t number) {
    pmix_value_t value = {.type = PMIX_UINT32, .data.uint32 = number};
    CHECK_OK(PMIx_Put(scope, key, &value));
}

static void put_text(const char* key, const char* text) {
    pmix_value_t value = {.type = PMIX_STRING, .data.string = (char*)(uintptr_t)text};
    CHECK_OK(PMIx_Put(PMIX_GLOBAL, key, &value));
}

/* A Get with these attributes; its value, if any, is released. */
static pmix_status_t get(const pmix_proc_t* proc, const char* key, const pmix_info_t* info, size_t ninfo,
                         uint32_t* number) {
    pmix_value_t* value = NULL;
    pmix_status_t status = PMIx_Get(proc, key, info, ninfo, &value);
    CHECK((status == PMIX_SUCCESS) == (value != NULL));
    if (!value) return status;
    if (number) CHECK(value->type == PMIX_UINT32);
    if (number) *number = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    return status;
}

static pmix_info_t flag(const char* key) {
    const bool yes = true;
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, key, &yes, PMIX_BOOL);
    return info;
}

static pmix_info_t number_of(const char* key, uint32_t number) {
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, key, &number, PMIX_UINT32);
    return info;
}

static pmix_info_t seconds(int limit) {
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &limit, PMIX_INT);
    return info;
}

static uint32_t with(const pmix_proc_t* proc, const char* key, pmix_info_t info) {
    uint32_t number = 0;
    CHECK_OK(get(proc, key, &info, 1, &number));
    PMIX_INFO_DESTRUCT(&info);
    return number;
}

static void take_number(pmix_status_t status, pmix_value_t* value, void* box) {
    if (status == PMIX_SUCCESS) CHECK(value && value->type == PMIX_UINT32 && value->data.uint32 == 1);
    box_signal(box, status);
}

/* --- PMIx_Get
 * ---------------------------------------------------------------------------------------------------------- */

/* One key has another number for the process, its node, its application, the job and the session: the attributes select
 * which is meant. rows: K15 K24 K25 K26 K27 K36
 * proves: PMIx_Get PMIX_NODE_INFO PMIX_HOSTNAME PMIX_NODEID PMIX_JOB_INFO PMIX_APP_INFO PMIX_APPNUM client */
/* proves: PMIx_Get PMIX_SESSION_INFO PMIX_SESSION_ID PMIX_NSPACE PMIX_JOBID client */
static void levels(void) {
    const pmix_proc_t job = rank_of_job(PMIX_RANK_WILDCARD), nobody = proc_of("no.such.job", 7);
    uint32_t number = 0;
    CHECK_OK(get(&me, PMIX_MAX_PROCS, NULL, 0, &number));
    CHECK(number == 5);
    CHECK(with(&me, PMIX_MAX_PROCS, flag(PMIX_JOB_INFO)) == 1000);
    CHECK_OK(get(&job, PMIX_MAX_PROCS, NULL, 0, &number));
    CHECK(number == 1000);
    CHECK(with(&me, PMIX_MAX_PROCS, flag(PMIX_NODE_INFO)) == 11);
    CHECK(with(&me, PMIX_MAX_PROCS, number_of(PMIX_NODEID, 9)) == 12);
    pmix_info_t host;
    PMIX_INFO_LOAD(&host, PMIX_HOSTNAME, "far", PMIX_STRING);
    CHECK(with(&me, PMIX_MAX_PROCS, host) == 12);
    CHECK_OK(get(&me, PMIX_NUM_NODES, NULL, 0, &number));
    CHECK(number == 10);
    CHECK(with(&me, PMIX_NUM_NODES, flag(PMIX_APP_INFO)) == 20);
    CHECK(with(&me, PMIX_NUM_NODES, number_of(PMIX_APPNUM, 1)) == 21);
    CHECK(with(&me, PMIX_NUM_NODES, flag(PMIX_SESSION_INFO)) == 40);
    CHECK(with(&me, PMIX_NUM_NODES, number_of(PMIX_SESSION_ID, 78)) == 50);
    /* The same where they are marked as qualifiers of a value that no host has qualified. */
    pmix_info_t marked[] = {number_of(PMIX_APPNUM, 1), number_of(PMIX_SESSION_ID, 78), number_of(PMIX_NODEID, 9)};
    for (int i = 0; i < 3; i++) PMIX_INFO_SET_QUALIFIER(&marked[i]);
    CHECK(with(&job, PMIX_NUM_NODES, marked[0]) == 21);
    CHECK(with(&job, PMIX_NUM_NODES, marked[1]) == 50);
    CHECK(with(&job, PMIX_MAX_PROCS, marked[2]) == 12);
    pmix_info_t by_name;
    PMIX_INFO_LOAD(&by_name, PMIX_NSPACE, "job", PMIX_STRING);
    CHECK(with(&nobody, PMIX_JOB_SIZE, by_name) == 3);
    PMIX_INFO_LOAD(&by_name, PMIX_JOBID, "job", PMIX_STRING);
    CHECK(with(&nobody, PMIX_JOB_SIZE, by_name) == 3);
    CHECK_STATUS(get(&nobody, PMIX_JOB_SIZE, NULL, 0, &number), PMIX_ERR_NOT_FOUND);
}

/* The data of another job is the server's, which PMIX_OPTIONAL does not ask; and a peer that has committed nothing is
 * not waited for with PMIX_IMMEDIATE. rows: K15 K18 K19 */
/* proves: PMIx_Get PMIX_OPTIONAL PMIX_IMMEDIATE client */
static void optional(void) {
    const pmix_proc_t other = proc_of("other", PMIX_RANK_WILDCARD), peer = rank_of_job(1 - me.rank);
    uint32_t number = 0;
    pmix_info_t infos[2] = {flag(PMIX_OPTIONAL), seconds(120)};
    CHECK_STATUS(get(&other, PMIX_JOB_SIZE, infos, 1, &number), PMIX_ERR_NOT_FOUND);
    CHECK_OK(get(&other, PMIX_JOB_SIZE, NULL, 0, &number));
    CHECK(number == RANKS);
    CHECK_OK(get(&other, PMIX_JOB_SIZE, infos, 1, &number)); /* it is here now */
    CHECK_STATUS(get(&peer, "late", infos, 2, &number), PMIX_ERR_NOT_FOUND);
    infos[0] = flag(PMIX_IMMEDIATE);
    CHECK_STATUS(get(&peer, "late", infos, 2, &number), PMIX_ERR_NOT_FOUND);
    fence_here();
    put_number(PMIX_GLOBAL, "late", 1);
    CHECK_OK(PMIx_Commit());
    CHECK_OK(get(&peer, "late", &infos[1], 1, &number));
    CHECK(number == 1);
    PMIX_INFO_REQUIRED(&infos[0]); /* it is the server's to carry out, and the client's to know */
    CHECK_OK(get(&peer, "late", infos, 1, &number));
    fence_here();
}

/* How a value is handed out, how long it is waited for, and in which scope. rows: K11 K12 K15 K29 K33
 * proves: PMIx_Get PMIX_GET_POINTER_VALUES PMIX_GET_STATIC_VALUES PMIX_TIMEOUT PMIX_WAIT PMIX_DATA_SCOPE client */
static void values(void) {
    const pmix_proc_t peer = rank_of_job(1 - me.rank);
    const pmix_info_t pointers = flag(PMIX_GET_POINTER_VALUES), statics = flag(PMIX_GET_STATIC_VALUES);
    put_text("v.text", "text");
    put_number(PMIX_GLOBAL, "v.number", 1);
    put_number(PMIX_LOCAL, "v.both", 10);
    put_number(PMIX_REMOTE, "v.both", 20);
    CHECK_OK(PMIx_Commit());
    fence_here();
    /* The library's own copy, which stays; without the attribute each caller has one. */
    pmix_value_t *first = NULL, *again = NULL, *mine[2] = {NULL, NULL};
    CHECK_OK(PMIx_Get(&peer, "v.text", &pointers, 1, &first));
    CHECK_OK(PMIx_Get(&peer, "v.text", &pointers, 1, &again));
    CHECK(first && first == again && first->type == PMIX_STRING && strcmp(first->data.string, "text") == 0);
    for (int i = 0; i < 2; i++) CHECK_OK(PMIx_Get(&peer, "v.text", NULL, 0, &mine[i]));
    CHECK(mine[0] != mine[1] && mine[0] != first);
    for (int i = 0; i < 2; i++) PMIX_VALUE_RELEASE(mine[i]);
    /* Into the caller's memory. */
    pmix_value_t storage, *into = &storage;
    memset(&storage, 0, sizeof storage);
    CHECK_OK(PMIx_Get(&peer, "v.number", &statics, 1, &into));
    CHECK(into == &storage && storage.type == PMIX_UINT32 && storage.data.uint32 == 1);
    PMIX_VALUE_DESTRUCT(&storage);
    for (int i = 0; i < 2; i++) { /* the text too is the caller's, to write to and to free */
        CHECK_OK(PMIx_Get(&peer, "v.text", &statics, 1, &into));
        CHECK(into == &storage && storage.type == PMIX_STRING && strcmp(storage.data.string, "text") == 0);
        storage.data.string[0] = 'T';
        PMIX_VALUE_DESTRUCT(&storage);
    }
    into = NULL;
    CHECK_STATUS(PMIx_Get(&peer, "v.number", &statics, 1, &into), PMIX_ERR_BAD_PARAM);
    CHECK_STATUS(PMIx_Get_nb(&peer, "v.number", &statics, 1, take_number, NULL), PMIX_ERR_NOT_SUPPORTED);
    fence_here();
    put_text("v.text", "replaced");
    CHECK_OK(PMIx_Commit());
    fence_here();
    CHECK(strcmp(first->data.string, "text") == 0); /* what was given away does not change */
    /* A process's own key can still come from another of its threads: for so long it is waited for. */
    uint32_t number = 0;
    pmix_info_t infos[2] = {seconds(1), flag(PMIX_WAIT)};
    CHECK_STATUS(get(&me, "v.own", NULL, 0, &number), PMIX_ERR_NOT_FOUND);
    CHECK_STATUS(get(&me, "v.own", infos, 1, &number), PMIX_ERR_TIMEOUT);
    /* An attribute that is required must be known: PMIX_WAIT is. */
    infos[0] = seconds(120);
    PMIX_INFO_REQUIRED(&infos[1]);
    CHECK_OK(get(&peer, "v.number", infos, 2, &number));
    infos[1] = flag("zoo.unknown");
    PMIX_INFO_REQUIRED(&infos[1]);
    CHECK_STATUS(get(&peer, "v.number", infos, 2, &number), PMIX_ERR_NOT_SUPPORTED);
    /* Of two values of one key the one for the audience that was asked for; a peer on this node has only the local one.
     */
    pmix_scope_t scope = PMIX_LOCAL;
    PMIX_INFO_LOAD(&infos[1], PMIX_DATA_SCOPE, &scope, PMIX_SCOPE);
    CHECK_OK(get(&me, "v.both", infos, 2, &number));
    CHECK(number == 10);
    CHECK_OK(get(&peer, "v.both", infos, 2, &number));
    CHECK(number == 10);
    scope = PMIX_REMOTE;
    PMIX_INFO_LOAD(&infos[1], PMIX_DATA_SCOPE, &scope, PMIX_SCOPE);
    CHECK_OK(get(&me, "v.both", infos, 2, &number));
    CHECK(number == 20);
    CHECK_STATUS(get(&peer, "v.both", infos, 2, &number), PMIX_ERR_NOT_FOUND);
    fence_here();
}

/* A process of another node: the host is asked, by PMIX_REQUIRED_KEY, and its error is the answer. rows: K18 K19 K21 */
static void far(void) {
    const pmix_proc_t peer = rank_of_job(2);
    pmix_info_t info = flag(PMIX_IMMEDIATE);
    CHECK_STATUS(get(&peer, "far.immediate", &info, 1, NULL), PMIX_ERR_NOT_FOUND);
    info = flag(PMIX_OPTIONAL);
    CHECK_STATUS(get(&peer, "far.optional", &info, 1, NULL), PMIX_ERR_NOT_FOUND);
    info = seconds(120);
    CHECK_STATUS(get(&peer, "far.refused", &info, 1, NULL), PMIX_ERR_NO_PERMISSIONS);
    CHECK_STATUS(get(&peer, "far.absent", NULL, 0, NULL), PMIX_ERR_NOT_FOUND);
}

/* rows: K21 */
static void far_unreachable(void) {
    const pmix_proc_t peer = rank_of_job(2);
    const pmix_info_t limit = seconds(120);
    CHECK_STATUS(get(&peer, "far.key", &limit, 1, NULL), PMIX_ERR_NOT_FOUND);
    CHECK_STATUS(get(&peer, "far.key", NULL, 0, NULL), PMIX_ERR_NOT_FOUND);
}

/* --- reserved keys
 * ------------------------------------------------------------------------------------------------------ */

/* Whether a key is reserved decides who can provide it: of a peer that has committed nothing a reserved key is absent
 * at once, any other is waited for. rows: G14 K2 K7 K16 */
static void reserved(void) {
    static struct box box = BOX;
    const pmix_proc_t peer = rank_of_job(1 - me.rank);
    const char* reserved_keys[] = {"pmixer", "pmix", "pmix.nope"};
    const char* other_keys[] = {"xpmix", "PMIX", "Pmix.nope", "pmi.x"};
    enum { OTHERS = 4 };
    pmix_info_t limit = seconds(120);
    for (size_t i = 0; i < sizeof reserved_keys / sizeof *reserved_keys; i++)
        CHECK_STATUS(get(&peer, reserved_keys[i], &limit, 1, NULL), PMIX_ERR_NOT_FOUND);
    for (int i = 0; i < OTHERS; i++) CHECK_OK(PMIx_Get_nb(&peer, other_keys[i], &limit, 1, take_number, &box));
    fence_here();
    for (int i = 0; i < OTHERS; i++) put_number(PMIX_GLOBAL, other_keys[i], 1);
    /* Put and Store_internal take reserved keys, because Open MPI depends on it; the host's value goes first. */
    put_number(PMIX_GLOBAL, "pmix.zoo.mine", 1);
    put_number(PMIX_GLOBAL, PMIX_MAX_PROCS, 4711);
    pmix_value_t stored = {.type = PMIX_UINT32, .data.uint32 = 4712};
    CHECK_OK(PMIx_Store_internal(&peer, "pmix.zoo.stored", &stored));
    CHECK_OK(PMIx_Store_internal(&me, PMIX_MAX_PROCS, &stored));
    CHECK_OK(PMIx_Commit());
    box_wait(&box, OTHERS);
    CHECK_OK(box.status);
    fence_here();
    uint32_t number = 0;
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        const pmix_proc_t proc = rank_of_job(rank);
        CHECK_OK(get(&proc, "pmix.zoo.mine", NULL, 0, &number));
        CHECK(number == 1);
        CHECK_OK(get(&proc, PMIX_MAX_PROCS, NULL, 0, &number));
        CHECK(number == 5);
    }
    CHECK_OK(get(&peer, "pmix.zoo.stored", NULL, 0, &number));
    CHECK(number == 4712);
    CHECK_STATUS(get(&me, "pmix.zoo.stored", NULL, 0, &number),
                 PMIX_ERR_NOT_FOUND); /* my peer's store, not the server's */
    fence_here();
}

/* In strict mode they are refused, as the Standard says; and a scope that is none always. rows: G14 K1 K2 K7 */
static void reserved_strict(void) {
    pmix_value_t value = {.type = PMIX_UINT32, .data.uint32 = 1};
    const char* refused[] = {"pmixer", "pmix.zoo.mine", PMIX_HOSTNAME};
    const char* taken[] = {"xpmix", "PMIX"};
    const pmix_proc_t peer = rank_of_job(1 - me.rank);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        CHECK_STATUS(PMIx_Put(PMIX_GLOBAL, refused[i], &value), PMIX_ERR_BAD_PARAM);
        CHECK_STATUS(PMIx_Store_internal(&me, refused[i], &value), PMIX_ERR_BAD_PARAM);
    }
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        CHECK_OK(PMIx_Put(PMIX_GLOBAL, taken[i], &value));
        CHECK_OK(PMIx_Store_internal(&peer, taken[i], &value));
    }
    CHECK_STATUS(PMIx_Put(PMIX_SCOPE_UNDEF, "a.key", &value), PMIX_ERR_NOT_SUPPORTED);
    CHECK_STATUS(PMIx_Put((pmix_scope_t)77, "a.key", &value), PMIX_ERR_NOT_SUPPORTED);
    CHECK_OK(PMIx_Put(PMIX_INTERNAL, "for.me", &value));
    CHECK_OK(PMIx_Commit());
    fence_here();
    uint32_t number = 0;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) CHECK_OK(get(&peer, taken[i], NULL, 0, &number));
    CHECK_OK(get(&me, "for.me", NULL, 0, &number));
    const pmix_info_t immediate = flag(PMIX_IMMEDIATE);
    CHECK(get(&peer, "for.me", &immediate, 1, NULL) != PMIX_SUCCESS);
    fence_here();
}

/* --- services without a host
 * ------------------------------------------------------------------------------------------- */

static void no_output(size_t handler, pmix_iof_channel_t channel, pmix_proc_t* source, pmix_byte_object_t* bytes,
                      pmix_info_t info[], size_t ninfo) {
    (void)handler, (void)channel, (void)source, (void)bytes, (void)info, (void)ninfo;
}

/* What only a host can do is not supported where its entry is missing: each call says so, and none waits. rows: G9 */
static void no_service(void) {
    const pmix_proc_t all = rank_of_job(PMIX_RANK_WILDCARD), peer = rank_of_job(2);
    pmix_info_t offer, *results = NULL;
    size_t nresults = 0;
    PMIX_INFO_LOAD(&offer, "zoo.offer", "something", PMIX_STRING);
    CHECK_STATUS(PMIx_Publish(&offer, 1), PMIX_ERR_NOT_SUPPORTED);
    pmix_pdata_t wanted;
    PMIX_PDATA_CONSTRUCT(&wanted);
    PMIX_LOAD_KEY(wanted.key, "zoo.offer");
    CHECK_STATUS(PMIx_Lookup(&wanted, 1, NULL, 0), PMIX_ERR_NOT_SUPPORTED);
    char offered[] = "zoo.offer", *keys[] = {offered, NULL};
    CHECK_STATUS(PMIx_Unpublish(keys, NULL, 0), PMIX_ERR_NOT_SUPPORTED);
    CHECK_STATUS(PMIx_Unpublish(NULL, NULL, 0), PMIX_ERR_NOT_SUPPORTED);
    char program[] = "true", *arguments[] = {program, NULL};
    pmix_app_t app = {.cmd = program, .argv = arguments, .maxprocs = 1};
    pmix_nspace_t child;
    CHECK_STATUS(PMIx_Spawn(NULL, 0, &app, 1, child), PMIX_ERR_NOT_SUPPORTED);
    CHECK_STATUS(PMIx_Abort(1, "no host", (pmix_proc_t*)(uintptr_t)&peer, 1), PMIX_ERR_NOT_SUPPORTED);
    /* Of several nodes. */
    CHECK_STATUS(PMIx_Fence(&all, 1, NULL, 0), PMIX_ERR_NOT_SUPPORTED);
    CHECK_STATUS(PMIx_Connect(&all, 1, NULL, 0), PMIX_ERR_NOT_SUPPORTED);
    CHECK_STATUS(PMIx_Disconnect(&all, 1, NULL, 0), PMIX_ERR_NOT_SUPPORTED);
    CHECK_STATUS(PMIx_Group_construct("group", &all, 1, NULL, 0, &results, &nresults), PMIX_ERR_NOT_SUPPORTED);
    /* Only on the other node there is a process to be told. */
    pmix_info_t target;
    PMIX_INFO_LOAD(&target, PMIX_EVENT_CUSTOM_RANGE, &peer, PMIX_PROC);
    CHECK_STATUS(PMIx_Notify_event(PMIX_EVENT_SYS_BASE, &me, PMIX_RANGE_CUSTOM, &target, 1, NULL, NULL),
                 PMIX_ERR_NOT_SUPPORTED);
    PMIX_INFO_DESTRUCT(&target);
    /* Questions and control. */
    char question[] = "zoo.question", *questions[] = {question, NULL};
    pmix_query_t query = {questions, NULL, 0};
    CHECK_STATUS(PMIx_Query_info(&query, 1, &results, &nresults), PMIX_ERR_NOT_SUPPORTED);
    const pmix_info_t terminate = flag(PMIX_JOB_CTRL_TERMINATE);
    CHECK_STATUS(PMIx_Job_control(&peer, 1, &terminate, 1, &results, &nresults), PMIX_ERR_NOT_SUPPORTED);
    CHECK_STATUS(PMIx_Allocation_request(PMIX_ALLOC_EXTEND, NULL, 0, &results, &nresults), PMIX_ERR_NOT_SUPPORTED);
    pmix_info_t usage;
    PMIX_INFO_LOAD(&usage, "zoo.monitor", "all", PMIX_STRING);
    CHECK_STATUS(PMIx_Process_monitor(&usage, PMIX_SUCCESS, NULL, 0, &results, &nresults), PMIX_ERR_NOT_SUPPORTED);
    CHECK_STATUS(PMIx_Session_control(7, NULL, 0, NULL, NULL), PMIX_ERR_NOT_SUPPORTED);
    pmix_resource_unit_t unit = {.type = PMIX_DEVTYPE_GPU, .count = 2};
    char block[] = "block";
    CHECK_STATUS(PMIx_Resource_block(PMIX_RESOURCE_BLOCK_DEFINE, block, &unit, 1, NULL, 0), PMIX_ERR_NOT_SUPPORTED);
    pmix_info_t entry;
    PMIX_INFO_LOAD(&entry, "zoo.channel", "a line", PMIX_STRING);
    CHECK_STATUS(PMIx_Log(&entry, 1, NULL, 0), PMIX_ERR_NOT_SUPPORTED);
    pmix_info_t type;
    pmix_byte_object_t proof;
    PMIX_INFO_LOAD(&type, PMIX_CRED_TYPE, "kerberos", PMIX_STRING);
    CHECK_STATUS(PMIx_Get_credential(&type, 1, &proof), PMIX_ERR_NOT_SUPPORTED);
    /* Streams. */
    CHECK_STATUS(PMIx_IOF_pull(&peer, 1, NULL, 0, PMIX_FWD_STDOUT_CHANNEL, no_output, NULL, NULL),
                 PMIX_ERR_NOT_SUPPORTED);
    char bytes[] = "x";
    pmix_byte_object_t input = {bytes, 1};
    CHECK_STATUS(PMIx_IOF_push(&peer, 1, &input, NULL, 0, NULL, NULL), PMIX_ERR_NOT_SUPPORTED);
    PMIX_INFO_DESTRUCT(&offer);
    PMIX_INFO_DESTRUCT(&usage);
    PMIX_INFO_DESTRUCT(&entry);
    PMIX_INFO_DESTRUCT(&type);
    PMIX_PDATA_DESTRUCT(&wanted);
}

/* --- a job of which more is registered while it runs ----------------------------------------------------------------
 */

static void expect_more(const char* text) {
    const pmix_proc_t job = rank_of_job(PMIX_RANK_WILDCARD);
    pmix_value_t* value = NULL;
    CHECK_OK(PMIx_Get(&job, "pmix.zoo.more", NULL, 0, &value));
    CHECK(value->type == PMIX_STRING && strcmp(value->data.string, text) == 0);
    PMIX_VALUE_RELEASE(value);
}

/* rows: V5 */
static void more(void) {
    const pmix_proc_t job = rank_of_job(PMIX_RANK_WILDCARD);
    const pmix_proc_t both[] = {job, proc_of("elsewhere", PMIX_RANK_WILDCARD)};
    pmix_info_t offer;
    uint32_t number = 0;
    CHECK_STATUS(get(&job, "pmix.zoo.more", NULL, 0, NULL), PMIX_ERR_NOT_FOUND);
    CHECK_OK(get(&both[1], PMIX_JOB_SIZE, NULL, 0, &number)); /* known by what was registered of it */
    CHECK(number == 2);
    PMIX_INFO_LOAD(&offer, "zoo.offer", "something", PMIX_STRING);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        CHECK_OK(PMIx_Fence(NULL, 0, NULL, 0));
        if (rank == me.rank) CHECK_OK(PMIx_Publish(&offer, 1)); /* upon which the host registers more */
        CHECK_OK(PMIx_Fence(NULL, 0, NULL, 0));
        expect_more(rank == 0 ? "more 1" : "more 2");
        CHECK_OK(get(&job, PMIX_NUM_NODES, NULL, 0, &number));
        CHECK(number == 11);
        CHECK_OK(get(&job, PMIX_JOB_SIZE, NULL, 0, &number)); /* what was there stays */
        CHECK(number == RANKS);
    }
    CHECK_OK(PMIx_Fence(both, 2, NULL, 0));
    PMIX_INFO_DESTRUCT(&offer);
}

/* --- a tool
 * -------------------------------------------------------------------------------------------------------------- */

static struct box events = BOX;

static void on_event(size_t handler, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t* results, size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)handler, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    box_signal(&events, status);
    if (done) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

/* The calls of clients work in a tool. rows: G15 */
static int tool(void) {
    const pid_t server = getppid();
    pmix_info_t info;
    pmix_value_t value = {.type = PMIX_UINT32, .data.uint32 = 1};
    uint32_t number = 0;
    PMIX_INFO_LOAD(&info, PMIX_SERVER_PIDINFO, &server, PMIX_PID);
    CHECK_OK(PMIx_tool_init(&me, &info, 1));
    CHECK(strcmp(me.nspace, "a-tool") == 0);
    CHECK_OK(PMIx_Put(PMIX_GLOBAL, "tool.put", &value));
    CHECK_OK(PMIx_Commit());
    CHECK_OK(get(&me, "tool.put", NULL, 0, &number));
    const pmix_proc_t job = rank_of_job(PMIX_RANK_WILDCARD), first = rank_of_job(0);
    CHECK_OK(get(&job, PMIX_JOB_SIZE, NULL, 0, &number));
    CHECK(number == RANKS);
    CHECK_OK(PMIx_Store_internal(&first, "tool.stored", &value));
    CHECK_OK(get(&first, "tool.stored", NULL, 0, &number));
    pmix_info_t offer;
    PMIX_INFO_LOAD(&offer, "tool.offer", "of a tool", PMIX_STRING);
    CHECK_OK(PMIx_Publish(&offer, 1));
    PMIX_INFO_DESTRUCT(&offer);
    pmix_pdata_t wanted;
    PMIX_PDATA_CONSTRUCT(&wanted);
    PMIX_LOAD_KEY(wanted.key, "tool.offer");
    CHECK_OK(PMIx_Lookup(&wanted, 1, NULL, 0));
    CHECK(wanted.value.type == PMIX_STRING && strcmp(wanted.value.data.string, "of a tool") == 0);
    PMIX_PDATA_DESTRUCT(&wanted);
    char question[] = "zoo.question", *questions[] = {question, NULL};
    pmix_query_t query = {questions, NULL, 0};
    pmix_info_t* results = NULL;
    size_t nresults = 0;
    CHECK_OK(PMIx_Query_info(&query, 1, &results, &nresults));
    CHECK(nresults == 1 && strcmp(results[0].value.data.string, "an answer") == 0);
    PMIX_INFO_FREE(results, nresults);
    pmix_status_t code = PMIX_EVENT_SYS_BASE;
    const pmix_status_t handler = PMIx_Register_event_handler(&code, 1, NULL, 0, on_event, NULL, NULL);
    CHECK(handler >= 0);
    CHECK_OK(PMIx_Notify_event(code, &me, PMIX_RANGE_LOCAL, NULL, 0, NULL, NULL));
    box_wait(&events, 1);
    CHECK(events.status == code);
    CHECK_OK(PMIx_Deregister_event_handler((size_t)handler, NULL, NULL));
    CHECK_OK(PMIx_tool_finalize());
    return 0;
}

int data_client(const char* mode) {
    static const struct {
        const char* name;
        void (*run)(void);
    } modes[] = {
        {"levels", levels},
        {"optional", optional},
        {"values", values},
        {"far", far},
        {"far-unreachable", far_unreachable},
        {"reserved", reserved},
        {"reserved-strict", reserved_strict},
        {"no-service", no_service},
        {"more", more},
    };
    if (strcmp(mode, "tool") == 0) return tool();
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (strcmp(mode, modes[i].name) != 0) continue;
        if (strcmp(mode, "reserved-strict") == 0) setenv("PMIX_WIREUP_STRICT", "1", 1);
        CHECK_OK(PMIx_Init(&me, NULL, 0));
        modes[i].run();
        CHECK_OK(PMIx_Finalize(NULL, 0));
        return 0;
    }
    return -1;
}
