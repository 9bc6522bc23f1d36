/* SPDX-License-Identifier: BSD-3-Clause */
/* worker: one process of a campaign's job. It does everything that a client does, round after round, and holds each
 * answer against what must be: right data, or a status that has a reason. Members of its job are killed meanwhile.
 *
 * usage: worker JOB ROUNDS SEED    (CAMPAIGN_BOARD in the environment names the board; JOB is its entry there)
 * What is wrong goes to the board and to stdout, and ends the process with status 3. A status that is not success is
 * wrong only while nobody of the job was hurt and nothing was injected.
 */
#include <pmix.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "board.h"
#include "place.h"

static struct board_job* job;
static struct slot* slot;
static pmix_proc_t me;
static uint32_t job_size;
static uint64_t job_seed;
static atomic_int events_seen;

static uint64_t mixed(uint64_t a, uint64_t b, uint64_t c) {
    uint64_t x = a * 0x9e3779b97f4a7c15u ^ (b + 0x7f4a7c15u) * 0xbf58476d1ce4e5b9u ^ (c + 1) * 0x94d049bb133111ebu;
    x ^= x >> 31, x *= 0xd6e8feb86659fd93u, x ^= x >> 32;
    return x;
}

__attribute__((format(printf, 1, 2))) static void wrong(const char* format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(slot->failure, sizeof slot->failure, format, args);
    va_end(args);
    atomic_store(&slot->state, SLOT_FAILED);
    printf("WRONG %s rank %u: %s\n", me.nspace, me.rank, slot->failure);
    fflush(stdout);
    _exit(3);
}

static void step(const char* name) {
    strncpy(slot->step, name, sizeof slot->step - 1);
    atomic_store(&slot->since_ms, board_now_ms());
    atomic_fetch_add(&slot->calls, 1);
}

/* May this call have failed? The driver raises `hurt` before it kills, so it is set when the failure is seen. */
static bool excused(void) {
    return atomic_load(&job->hurt) || atomic_load(&job->faulty);
}

static bool good(pmix_status_t status, const char* what, int round) {
    if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return true;
    if (!excused()) wrong("%s in round %d: %s (%d)", what, round, PMIx_Error_string(status), status);
    return false;
}

static uint32_t length_of(uint32_t rank, int round) {
    uint64_t x = mixed(job_seed, rank, (uint64_t)round);
    return x % 16 == 0 ? (uint32_t)(x >> 8) % 40000 + 1 : (uint32_t)(x >> 8) % 200 + 1;
}

static void fill(char* bytes, uint32_t size, uint32_t rank, int round) {
    for (uint32_t i = 0; i < size; i++)
        bytes[i] = (char)(mixed(job_seed, rank, (uint64_t)round) >> (i % 7 * 8)) ^ (char)i;
}

static bool put_all(int round) {
    static char bytes[40004];
    char key[32];
    uint32_t size = length_of(me.rank, round);
    fill(bytes, size, me.rank, round);
    snprintf(key, sizeof key, "round.%d", round);
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT, .data.bo = {bytes, size}};
    step("put");
    bool ok = good(PMIx_Put(PMIX_GLOBAL, key, &value), "Put", round);
    value.data.bo = (pmix_byte_object_t){bytes, sizeof bytes / 4}; /* one key that is replaced in each round */
    ok &= good(PMIx_Put(PMIX_LOCAL, "replaced", &value), "Put", round);
    step("commit");
    return good(PMIx_Commit(), "Commit", round) && ok;
}

static bool fence_all(int round, bool collect) {
    pmix_info_t info[2];
    int seconds = 600; /* in some rounds: an attribute more on the way, not a limit that is reached */
    PMIX_INFO_LOAD(&info[0], PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
    step("fence");
    return good(PMIx_Fence(NULL, 0, info, round % 3 == 0 ? 2 : 1), "Fence", round);
}

/* The value that a peer put in this round, after a fence that everybody passed. */
static void get_of(uint32_t rank, int round) {
    static char wanted[40004];
    char key[32];
    pmix_proc_t peer;
    pmix_value_t* value = NULL;
    PMIX_LOAD_PROCID(&peer, me.nspace, rank);
    snprintf(key, sizeof key, "round.%d", round);
    step("get");
    pmix_status_t status = PMIx_Get(&peer, key, NULL, 0, &value);
    if (!good(status, "Get", round)) return;
    if (value == NULL || value->type != PMIX_BYTE_OBJECT) wrong("Get in round %d: no byte object", round);
    uint32_t size = length_of(rank, round);
    fill(wanted, size, rank, round);
    if (value->data.bo.size != size || memcmp(value->data.bo.bytes, wanted, size) != 0) {
        wrong("Get of rank %u in round %d: other bytes (%zu, not %u)", rank, round, value->data.bo.size, size);
    }
    PMIX_VALUE_RELEASE(value);
}

static void heard(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                  pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)id, (void)status, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    atomic_fetch_add(&events_seen, 1);
    if (done) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void events(int round) {
    pmix_status_t code = PMIX_EXTERNAL_ERR_BASE - 10;
    if (round == 1) {
        step("register handler");
        pmix_status_t got = PMIx_Register_event_handler(&code, 1, NULL, 0, heard, NULL, NULL);
        if (got < 0) good(got, "Register_event_handler", round);
    }
    if (mixed(job_seed, me.rank, (uint64_t)round + 500) % 3 != 0) return;
    pmix_info_t info;
    bool yes = true;
    PMIX_INFO_LOAD(&info, PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
    step("notify");
    good(PMIx_Notify_event(code, &me, PMIX_RANGE_NAMESPACE, &info, 1, NULL, NULL), "Notify_event", round);
}

/* False: a member that failed here must not go on to the next collective operation, where the others are not. */
static bool group(int round) {
    char name[PMIX_MAX_NSLEN + 32];
    pmix_proc_t all;
    pmix_info_t* results = NULL;
    size_t count = 0;
    snprintf(name, sizeof name, "group.%s.%d", me.nspace, round);
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    step("group construct");
    bool made = good(PMIx_Group_construct(name, &all, 1, NULL, 0, &results, &count), "Group_construct", round);
    if (results) PMIX_INFO_FREE(results, count);
    if (!made) return false;
    step("group destruct");
    return good(PMIx_Group_destruct(name, NULL, 0), "Group_destruct", round);
}

static void publish(int round) {
    char key[PMIX_MAX_NSLEN + 32];
    pmix_info_t info;
    uint32_t number = (uint32_t)round;
    snprintf(key, sizeof key, "%s.%u", me.nspace, me.rank);
    PMIX_INFO_LOAD(&info, key, &number, PMIX_UINT32);
    step("publish");
    if (!good(PMIx_Publish(&info, 1), "Publish", round)) return;
    pmix_pdata_t wanted;
    PMIX_PDATA_CONSTRUCT(&wanted);
    PMIX_LOAD_KEY(wanted.key, key);
    step("lookup");
    if (good(PMIx_Lookup(&wanted, 1, NULL, 0), "Lookup", round) && wanted.value.data.uint32 != number) {
        wrong("Lookup in round %d: %u", round, wanted.value.data.uint32);
    }
    PMIX_PDATA_DESTRUCT(&wanted);
    char* keys[] = {key, NULL};
    step("unpublish");
    good(PMIx_Unpublish(keys, NULL, 0), "Unpublish", round);
}

/* A child job of one process that ends at once. */
static void spawn(int round) {
    pmix_app_t app;
    pmix_nspace_t nspace = "";
    char* argv[] = {(char*)"true", NULL};
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = argv[0], app.argv = argv, app.maxprocs = 1;
    step("spawn");
    good(PMIx_Spawn(NULL, 0, &app, 1, nspace), "Spawn", round);
}

/* Where calls may fail, some ranks have no place left in their table of descriptors from here on, for all code in the
 * process. */
static void fill_descriptor_table(void) {
    struct rlimit places;
    if (getrlimit(RLIMIT_NOFILE, &places) != 0) return;
    if (places.rlim_cur > 256) places.rlim_cur = 256;
    setrlimit(RLIMIT_NOFILE, &places);
    while (dup(STDOUT_FILENO) >= 0) continue;
}

static void leave(void) {
    step("finalize");
    good(PMIx_Finalize(NULL, 0), "Finalize", -1);
    atomic_store(&slot->state, SLOT_DONE);
    exit(0);
}

int main(int argc, char** argv) {
    struct board* board = board_map();
    const int number = argc > 3 ? atoi(argv[1]) : -1, rounds = argc > 3 ? atoi(argv[2]) : 0;
    if (number >= 0) slot = board_take(board, number);
    if (slot == NULL) {
        fprintf(stderr, "worker: no place on the board\n");
        return 2;
    }
    job = &board->jobs[number];
    job_seed = strtoull(argv[3], NULL, 10);

    step("init");
    pmix_status_t status = PMIx_Init(&me, NULL, 0);
    if (!good(status, "Init", 0)) {
        atomic_store(&slot->state, SLOT_DONE);
        return 0;
    }
    pmix_proc_t all;
    pmix_value_t* size = NULL;
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    step("job size");
    if (!good(PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &size), "Get of the job's size", 0)) leave();
    job_size = size->data.uint32;
    PMIX_VALUE_RELEASE(size);

    if (atomic_load(&job->faulty) && mixed(job_seed, me.rank, 901) % 4 == 0) fill_descriptor_table();

    for (int round = 1; round <= rounds; round++) {
        uint64_t dice = mixed(job_seed, 77, (uint64_t)round); /* the same for all members */
        if (!put_all(round)) break; /* the others would wait for a key that this process knows to be missing */
        bool passed = fence_all(round, dice % 2 == 0);
        if (passed) {
            for (int i = 0; i < 3; i++)
                get_of((uint32_t)(mixed(job_seed, me.rank * 4u + (unsigned)i, (uint64_t)round) % job_size), round);
        }
        if (!passed) break; /* what follows is collective */
        events(round);
        if (dice % 5 == 1 && !group(round)) break;
        if (mixed(job_seed, me.rank, (uint64_t)round + 900) % 4 == 0) publish(round);
        if (me.rank == 0 && dice % 23 == 2) spawn(round);
    }
    leave();
}
