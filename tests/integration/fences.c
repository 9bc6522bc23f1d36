/* SPDX-License-Identifier: BSD-3-Clause */
/* fences: sets of participants, repeated, overlapping, at the same time, and those that somebody does not come to.
 * usage: fences repeated|subsets|overlapping|spelling|timeout|self|no_data|generated|ways|unfenced|scribbled */
#include "check.h"

/* rows: F1 F4 F5 */
static void repeated(int argc, char** argv) {
    int times = argc > 0 ? atoi(argv[0]) : 300;
    start();
    for (int i = 0; i < times; i++) fence(i % 10 == 0);
    finish();
}

static size_t list_ranks(pmix_proc_t* procs, uint32_t first, uint32_t step) {
    size_t count = 0;
    for (uint32_t rank = first; rank < job_size; rank += step) procs[count++] = rank_of_job(rank);
    return count;
}

/* Even and odd ranks fence among themselves, many times, without each other. rows: F5 */
static void subsets(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    pmix_proc_t* procs = calloc(job_size, sizeof *procs);
    CHECK(procs);
    size_t count = list_ranks(procs, me.rank % 2, 2);
    for (int i = 0; i < (me.rank % 2 ? 40 : 60); i++) CHECK_OK(fence_of(procs, count, i % 2, 0));
    free(procs);
    fence(false);
    finish();
}

/* Two sets with common members, started together and in another order by every second rank. rows: F5 F10 G4 */
static void overlapping(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    CHECK(job_size >= 3);
    pmix_proc_t* sets[3] = {calloc(job_size, sizeof **sets), calloc(job_size, sizeof **sets),
                            calloc(job_size, sizeof **sets)};
    size_t counts[3];
    counts[0] = list_ranks(sets[0], 0, 1);
    counts[1] = list_ranks(sets[1], 0, 2);
    counts[2] = list_ranks(sets[2], 1, 1); /* all but rank 0 */
    for (int pass = 0; pass < 20; pass++) {
        struct signal_box boxes[3] = {SIGNAL_BOX, SIGNAL_BOX, SIGNAL_BOX};
        bool mine[3] = {true, me.rank % 2 == 0, me.rank != 0}, done[3] = {false, false, false};
        for (int i = 0; i < 3; i++) {
            int set = me.rank % 2 ? 2 - i : i;
            if (!mine[set]) continue;
            pmix_status_t status = PMIx_Fence_nb(sets[set], counts[set], NULL, 0, op_done, &boxes[set]);
            CHECK(status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED);
            done[set] = status == PMIX_OPERATION_SUCCEEDED;
        }
        for (int set = 0; set < 3; set++) {
            if (!mine[set] || done[set]) continue;
            CHECK(box_wait(&boxes[set], 1, 60));
            CHECK(boxes[set].status == PMIX_SUCCESS);
        }
    }
    for (int i = 0; i < 3; i++) free(sets[i]);
    finish();
}

/* PMIX_COLLECT_GENERATED_JOB_INFO is not supported: where it is required, all members are refused, and where it is not,
 * it changes nothing. What this library makes of a job is known on every node without a fence. rows: F3 F13 */
static void generated(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    for (uint32_t rank = 0; rank < job_size; rank++) {
        const char* keys[] = {PMIX_HOSTNAME, PMIX_LOCAL_RANK,  PMIX_NODE_RANK,
                              PMIX_APP_RANK, PMIX_GLOBAL_RANK, PMIX_NODEID};
        pmix_proc_t proc = rank_of_job(rank);
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
            pmix_value_t* value = NULL;
            CHECK_OK(PMIx_Get(&proc, keys[i], NULL, 0, &value));
            PMIX_VALUE_RELEASE(value);
        }
    }
    CHECK_OK(put_u32(PMIX_GLOBAL, "mine", me.rank + 7));
    CHECK_OK(PMIx_Commit());
    for (int i = 0; i < 8; i++) {
        const bool with_data = i & 1, flag = i & 2, required = i & 4, yes = true;
        pmix_info_t infos[2];
        PMIX_INFO_LOAD(&infos[0], PMIX_COLLECT_GENERATED_JOB_INFO, &flag, PMIX_BOOL);
        if (required) PMIX_INFO_REQUIRED(&infos[0]);
        PMIX_INFO_LOAD(&infos[1], PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
        const pmix_status_t wanted = required ? PMIX_ERR_NOT_SUPPORTED : PMIX_SUCCESS;
        CHECK_STATUS(PMIx_Fence(NULL, 0, infos, with_data ? 2 : 1), wanted);
        struct signal_box box = SIGNAL_BOX;
        pmix_status_t status = PMIx_Fence_nb(NULL, 0, infos, with_data ? 2 : 1, op_done, &box);
        if (status == PMIX_SUCCESS) {
            CHECK(box_wait(&box, 1, 120));
            status = box.status;
        }
        CHECK_STATUS(status, wanted);
        for (uint32_t rank = 0; with_data && !required && rank < job_size; rank++) {
            pmix_proc_t proc = rank_of_job(rank);
            pmix_info_t here;
            pmix_value_t* value = NULL;
            PMIX_INFO_LOAD(&here, PMIX_OPTIONAL, &yes, PMIX_BOOL);
            CHECK_OK(PMIx_Get(&proc, "mine", &here, 1, &value));
            CHECK(value->type == PMIX_UINT32 && value->data.uint32 == rank + 7);
            PMIX_VALUE_RELEASE(value);
        }
    }
    finish();
}

/* The same processes by list, in another order, and by wildcard. Without a callback the nonblocking form joins
 * no round. rows: F1 F5 F10 G5 */
static void spelling(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    pmix_proc_t *procs = calloc(job_size, sizeof *procs), all = rank_of_job(PMIX_RANK_WILDCARD);
    CHECK(procs);
    for (int pass = 0; pass < 10; pass++) {
        for (uint32_t i = 0; i < job_size; i++) procs[i] = rank_of_job(pass % 2 ? i : job_size - 1 - i);
        CHECK_OK(fence_of(procs, job_size, false, 0));
        memset(procs, 0x5a, job_size * sizeof *procs); /* a blocking call has done with its arguments */
        CHECK_OK(fence_of(&all, 1, true, 0));
        CHECK_OK(fence_of(NULL, 0, false, 0));
    }
    CHECK_STATUS(PMIx_Fence(NULL, 1, NULL, 0), PMIX_ERR_BAD_PARAM);
    if (me.rank % 2) CHECK_STATUS(PMIx_Fence_nb(NULL, 0, NULL, 0, NULL, NULL), PMIX_ERR_BAD_PARAM);
    CHECK_STATUS(PMIx_Fence_nb(&me, 1, NULL, 0, NULL, NULL), PMIX_ERR_BAD_PARAM);
    fence(false);
    free(procs);
    finish();
}

/* The last rank stays away: all others get the timeout, it gets the same when it comes, and the next fence of the same
 * processes is as good as new. rows: F8 G11 */
static void timeout(int argc, char** argv) {
    (void)argc, (void)argv;
    uint32_t number = 0;
    start();
    double before = seconds_now(); /* of the first caller */
    fence(false);
    if (me.rank != job_size - 1) {
        CHECK_STATUS(fence_of(NULL, 0, true, 1), PMIX_ERR_TIMEOUT);
        CHECK(seconds_now() - before > 0.8 && seconds_now() - before < 60);
        char flag[32];
        snprintf(flag, sizeof flag, "over.%u", me.rank);
        raise_flag(flag);
    } else {
        for (uint32_t rank = 0; rank + 1 < job_size; rank++) {
            char flag[32];
            snprintf(flag, sizeof flag, "over.%u", rank);
            await_flag(flag);
        }
        CHECK_STATUS(fence_of(NULL, 0, true, 1), PMIX_ERR_TIMEOUT);
        raise_flag("late");
    }
    await_flag("late");
    CHECK_OK(put_u32(PMIX_GLOBAL, "after", me.rank));
    CHECK_OK(PMIx_Commit());
    CHECK_OK(fence_of(NULL, 0, true, 60));
    for (uint32_t rank = 0; rank < job_size; rank++) {
        pmix_proc_t peer = rank_of_job(rank);
        CHECK_OK(get_u32(&peer, "after", 60, &number));
        CHECK(number == rank);
    }
    finish();
}

/* Alone, twice, with and without data. rows: F1 F6 */
static void self(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    CHECK_OK(fence_of(&me, 1, false, 60));
    CHECK_OK(fence_of(&me, 1, true, 60));
    fence(false);
    finish();
}

/* Nobody has put anything; a directive without a value is true; one that is not known is not for us. rows: F2 G6 G17 */
static void no_data(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_info_t info[2];
    int ignored = 1;
    start();
    PMIX_INFO_CONSTRUCT(&info[0]);
    PMIX_LOAD_KEY(info[0].key, PMIX_COLLECT_DATA);
    PMIX_INFO_LOAD(&info[1], "not.known.here", &ignored, PMIX_INT);
    CHECK_OK(PMIx_Fence(NULL, 0, info, 2));
    CHECK_OK(PMIx_Fence(NULL, 0, info, 0));
    finish();
}

static uint32_t dice(uint32_t* state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

/* One fence of all, in one of the ways to ask for it. */
static void fence_in_some_way(uint32_t way) {
    struct signal_box box = SIGNAL_BOX;
    pmix_proc_t all = rank_of_job(PMIX_RANK_WILDCARD);
    pmix_status_t status;
    switch (way % 8) {
        case 0:
            status = PMIx_Fence_nb(NULL, 0, NULL, 0, op_done, &box);
            if (status == PMIX_SUCCESS) {
                CHECK(box_wait(&box, 1, 120));
                status = box.status;
            }
            CHECK(status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED);
            break;
        case 1:
            CHECK_OK(fence_of(NULL, 0, way & 8, 120));
            break;
        case 2:
            CHECK_OK(fence_of(&all, 1, way & 8, 0));
            break;
        default:
            CHECK_OK(fence_of(NULL, 0, way & 8, 0));
            break;
    }
}

/* Each rank chooses anew how it asks, whether it has something new and how late it is; what a rank has put before a
 * fence is found after it. rows: F1 F2 F4 F5 */
static void ways(int argc, char** argv) {
    const uint32_t rounds = argc > 0 ? (uint32_t)atoi(argv[0]) : 200;
    const bool refresh = argc < 2; /* on one node nothing is kept that another one has replaced */
    uint32_t mine = 1;
    start();
    mine += me.rank;
    for (uint32_t round = 1; round <= rounds; round++) {
        /* Every rank knows which ranks put: by the same dice. */
        for (uint32_t rank = 0; rank < job_size; rank++) {
            uint32_t shared = round * 7919 + rank;
            const bool puts = dice(&shared) % 3 == 0 || round == 1;
            if (puts && rank == me.rank) {
                CHECK_OK(put_u32(PMIX_GLOBAL, "round", round));
                CHECK_OK(PMIx_Commit());
            }
        }
        if (dice(&mine) % 50 == 0) usleep(dice(&mine) % 2000);
        if (round % 97 == me.rank) usleep(300000); /* longer than anybody waits in memory */
        fence_in_some_way(dice(&mine));
        const uint32_t other = dice(&mine) % job_size;
        uint32_t wanted = round, found = 0;
        for (; wanted > 1; wanted--) {
            uint32_t shared = wanted * 7919 + other;
            if (dice(&shared) % 3 == 0) break;
        }
        pmix_proc_t proc = rank_of_job(other);
        pmix_info_t anew;
        pmix_value_t* value = NULL;
        const bool yes = true;
        PMIX_INFO_LOAD(&anew, PMIX_GET_REFRESH_CACHE, &yes, PMIX_BOOL);
        CHECK_OK(PMIx_Get(&proc, "round", &anew, refresh, &value));
        found = value->data.uint32;
        PMIX_VALUE_RELEASE(value);
        if (found != wanted) fprintf(stderr, "round %u: rank %u has %u, not %u\n", round, other, found, wanted);
        CHECK(found == wanted);
        fence_in_some_way(dice(&mine)); /* nobody puts the next one before all have looked */
    }
    finish();
}

/* The memory in which fences meet, as a process finds it among its own. */
static volatile uint64_t* fence_memory(size_t* words) {
    FILE* maps = fopen("/proc/self/maps", "r");
    char line[512];
    void *from = NULL, *to = NULL;
    CHECK(maps);
    while (fgets(line, sizeof line, maps))
        if (strstr(line, "wireup-fence") && sscanf(line, "%p-%p", &from, &to) == 2) break;
    fclose(maps);
    *words = (size_t)((char*)to - (char*)from) / sizeof(uint64_t);
    return from;
}

static uint32_t round_of(uint32_t rank) {
    pmix_proc_t proc = rank_of_job(rank);
    pmix_value_t* value = NULL;
    CHECK_OK(PMIx_Get(&proc, "round", NULL, 0, &value));
    const uint32_t found = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    return found;
}

/* What a rank commits anew is there for the others without a fence too, while it makes no other call, also where
 * commits
 * are left in memory for the next fence. Each round another rank does it. rows: K8 */
static void unfenced(int argc, char** argv) {
    char path[PMIX_MAX_NSLEN + 64];
    (void)argc, (void)argv;
    start();
    CHECK_OK(put_u32(PMIX_GLOBAL, "round", 0));
    CHECK_OK(PMIx_Commit());
    for (int i = 0; i < 12; i++) fence(false);
    for (uint32_t round = 1; round <= 30; round++) {
        const uint32_t writer = round % job_size;
        /* Somebody else has committed just now, so that the server expects more. */
        if (me.rank == (writer + 1) % job_size) {
            CHECK_OK(put_u32(PMIX_GLOBAL, "other", round));
            CHECK_OK(PMIx_Commit());
        }
        fence(false);
        if (me.rank == writer) {
            CHECK_OK(put_u32(PMIX_GLOBAL, "round", round));
            CHECK_OK(PMIx_Commit());
        } else {
            for (int tries = 0; round_of(writer) != round; tries++) {
                CHECK(tries < 60000);
                usleep(1000);
            }
            snprintf(path, sizeof path, "seen.%s.%u.%u", me.nspace, round, me.rank);
            FILE* seen = fopen(path, "w");
            CHECK(seen);
            fclose(seen);
        }
        for (uint32_t rank = 0; me.rank == writer && rank < job_size; rank++) {
            snprintf(path, sizeof path, "seen.%s.%u.%u", me.nspace, round, rank);
            for (int tries = 0; rank != writer && unlink(path) != 0; tries++) {
                CHECK(tries < 60000);
                usleep(1000);
            }
        }
        fence(false);
    }
    finish();
}

/* The first rank writes nonsense there while all commit and fence. No fence lasts for ever, whatever its status, and no
 * other job and no server is the worse for it. rows: F8 */
static void scribbled(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    size_t words = 0;
    for (int i = 0; i < 10; i++) fence(false);
    volatile uint64_t* memory = fence_memory(&words);
    CHECK(memory);
    uint32_t state = 1 + me.rank;
    for (int i = 0; i < 40; i++) {
        if (me.rank == 0 && i % 2) {
            /* The word itself, a mailbox, which are in the pages behind the first, or anything. */
            const size_t at = i % 6 == 1 ? 8 : i % 6 == 3 ? 512 + dice(&state) % 4 * 256 : dice(&state);
            memory[at % words] = (uint64_t)dice(&state) << 48 | (uint64_t)dice(&state) << 32 | dice(&state);
        }
        if (i % 2 == 0) {
            CHECK_OK(put_u32(PMIX_GLOBAL, "mine", (uint32_t)i));
            PMIx_Commit();
        }
        fence_of(NULL, 0, i % 3 == 0, i % 5 == 0);
    }
    PMIx_Finalize(NULL, 0);
    printf("OK rank %u\n", me.rank);
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {
        {"repeated", repeated}, {"subsets", subsets},   {"overlapping", overlapping}, {"spelling", spelling},
        {"timeout", timeout},   {"self", self},         {"no_data", no_data},         {"generated", generated},
        {"ways", ways},         {"unfenced", unfenced}, {"scribbled", scribbled},
    };
    RUN_CASE(cases);
    return 0;
}
