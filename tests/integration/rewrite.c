/* SPDX-License-Identifier: BSD-3-Clause */
/* rewrite: values that are put anew again and again. What was replaced is given back while others read, and what is
 * read is right: whole, of this round or the next, and never older than what was seen before. usage: rewrite ROUNDS
 * KIB: the server and each rank grow by no more than KIB after a third of the rounds. */
#include "check.h"

enum { MOST_RANKS = 16 };

static bool stop; /* with the atomic built-in functions only */

static uint32_t length_at(uint32_t round, uint32_t rank) {
    return 10 + (round * 37 + rank * 11) % 500;
}

/* "ROUND:xxxx...": its length and its letters follow from the round. */
static char* text_at(uint32_t round, uint32_t rank) {
    uint32_t length = length_at(round, rank);
    char* text = malloc(length + 1);
    CHECK(text);
    int written = snprintf(text, length, "%u:", round);
    memset(text + written, 'a' + (int)((round + rank) % 26), length - (uint32_t)written);
    text[length] = '\0';
    return text;
}

static void put_at(uint32_t round) {
    char* text = text_at(round, me.rank);
    pmix_value_t value = {.type = PMIX_STRING, .data.string = text};
    CHECK_OK(PMIx_Put(PMIX_GLOBAL, "changing", &value));
    CHECK_OK(PMIx_Commit());
    free(text);
}

/* The round of what a rank has put last, as far as it is seen here. */
static uint32_t round_of(uint32_t rank) {
    pmix_proc_t proc = rank_of_job(rank);
    pmix_value_t* value = NULL;
    CHECK_OK(PMIx_Get(&proc, "changing", NULL, 0, &value));
    CHECK(value->type == PMIX_STRING);
    uint32_t round = (uint32_t)strtoul(value->data.string, NULL, 10);
    char* right = text_at(round, rank);
    CHECK(strcmp(value->data.string, right) == 0);
    free(right);
    PMIX_VALUE_RELEASE(value);
    return round;
}

static void* read_all_the_time(void* argument) {
    uint32_t seen[MOST_RANKS] = {0};
    (void)argument;
    while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
        for (uint32_t rank = 0; rank < job_size; rank++) {
            uint32_t round = round_of(rank);
            CHECK(round >= seen[rank]);
            seen[rank] = round;
        }
        pmix_proc_t job = rank_of_job(PMIX_RANK_WILDCARD);
        uint32_t size = 0;
        CHECK_OK(get_u32(&job, PMIX_JOB_SIZE, 0, &size));
        CHECK(size == job_size);
        nanosleep(&(struct timespec){0, 200000}, NULL);
    }
    return NULL;
}

/* Pages that are there, not the sums of /proc/PID/status (rss_error_kib). */
static long kib_of(long pid) {
    char path[64], line[256];
    long sum = 0;
    snprintf(path, sizeof path, "/proc/%ld/smaps_rollup", pid);
    FILE* file = fopen(path, "r");
    CHECK(file);
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, "Rss:", 4) == 0) sum = strtol(line + 4, NULL, 10);
    }
    fclose(file);
    return sum;
}

int main(int argc, char** argv) {
    CHECK(argc == 3);
    uint32_t rounds = (uint32_t)strtoul(argv[1], NULL, 10);
    long most = strtol(argv[2], NULL, 10), before[2] = {0, 0};
    const long pids[2] = {getpid(), getppid()};
    pthread_t reader;
    start();
    CHECK(job_size <= MOST_RANKS);
    put_at(0);
    fence(true);
    CHECK(pthread_create(&reader, NULL, read_all_the_time, NULL) == 0);
    for (uint32_t round = 1; round <= rounds; round++) {
        put_at(round);
        fence(true);
        for (uint32_t rank = 0; rank < job_size; rank++) {
            uint32_t seen = round_of(rank);
            CHECK(seen == round || seen == round + 1);
        }
        for (int i = 0; i < 2 && round == rounds / 3; i++) before[i] = kib_of(pids[i]);
    }
    __atomic_store_n(&stop, true, __ATOMIC_SEQ_CST);
    pthread_join(reader, NULL);
    for (int i = 0; i < 2; i++) {
        long after = kib_of(pids[i]);
        printf("%s of rank %u: %ld to %ld KiB\n", i == 0 ? "process" : "server", me.rank, before[i], after);
        CHECK(after <= before[i] + most);
    }
    fence(false);
    finish();
}
