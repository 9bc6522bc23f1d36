/* SPDX-License-Identifier: BSD-3-Clause */
/* data_sizes: more data than a frame, a queue or a file may have.
 * usage: data_sizes staged|hurried|refused */
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "check.h"

enum { VALUE = 8 << 20 };
static char* bytes;

/* The values of a rank differ from each other all along. */
static void fill(uint32_t number) {
    uint64_t state = number + 1;
    for (size_t i = 0; i < VALUE; i += sizeof state) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        memcpy(bytes + i, &state, sizeof state);
    }
}

static void put_value(const char* stem, uint32_t number) {
    char key[32];
    snprintf(key, sizeof key, "%s.%u", stem, number);
    fill(number);
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT, .data.bo = {bytes, VALUE}};
    CHECK_OK(PMIx_Put(PMIX_GLOBAL, key, &value));
}

static void check_value(const char* stem, uint32_t number) {
    char key[32];
    pmix_value_t* got = NULL;
    snprintf(key, sizeof key, "%s.%u", stem, number);
    const pmix_proc_t first = rank_of_job(0);
    CHECK_OK(PMIx_Get(&first, key, NULL, 0, &got));
    fill(number);
    CHECK(got->type == PMIX_BYTE_OBJECT && got->data.bo.size == VALUE && memcmp(got->data.bo.bytes, bytes, VALUE) == 0);
    PMIX_VALUE_RELEASE(got);
}

static void begin(void) {
    bytes = malloc(VALUE);
    CHECK(bytes);
    start();
}

/* One commit of 320 MiB: a frame has 256 at the most. rows: K5 K8 */
static void staged(int argc, char** argv) {
    enum { VALUES = 40 };
    (void)argc, (void)argv;
    begin();
    if (me.rank == 0) {
        for (uint32_t i = 0; i < VALUES; i++) put_value("staged", i);
        CHECK_OK(PMIx_Commit());
    }
    fence(false);
    if (me.rank == 1) {
        for (uint32_t i = 0; i < VALUES; i += VALUES / 2 - 1) check_value("staged", i);
        check_value("staged", VALUES - 1);
    }
    fence(false);
    free(bytes);
    finish();
}

enum { HURRIED = 80, PER_COMMIT = 8 };

/* Stops the server until the rank has made no commit for a second, which it must have begun to wait for by then. */
static _Noreturn void hold_up(pid_t server, atomic_int* commits) {
    const struct timespec tenth = {0, 100000000};
    int still = 0, seen = 0;
    if (kill(server, SIGSTOP) != 0) _exit(1);
    *commits = 0;
    while (still < 10 && seen < HURRIED / PER_COMMIT) {
        nanosleep(&tenth, NULL);
        const int now = *commits;
        still = now == seen ? still + 1 : 0;
        seen = now;
    }
    if (kill(server, SIGCONT) != 0) _exit(2);
    _exit(seen < HURRIED / PER_COMMIT ? 0 : 3);
}

/* Commits of 640 MiB, which a stopped server does not read: what may wait for it is 512. The rank waits, nobody is
 * disconnected, and nothing is lost. rows: K5 K8 */
static void hurried(int argc, char** argv) {
    (void)argc, (void)argv;
    int status;
    atomic_int* commits = mmap(NULL, sizeof *commits, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(commits != MAP_FAILED);
    *commits = -1;
    begin();
    if (me.rank == 0) {
        const pid_t server = getppid();
        const pid_t helper = fork();
        CHECK(helper >= 0);
        if (helper == 0) hold_up(server, commits);
        while (*commits < 0) usleep(1000);
        for (uint32_t i = 0; i < HURRIED; i++) {
            put_value("hurried", i);
            if (i % PER_COMMIT != PER_COMMIT - 1) continue;
            CHECK_OK(PMIx_Commit());
            ++*commits;
        }
        CHECK(waitpid(helper, &status, 0) == helper && status == 0);
    }
    fence(false);
    if (me.rank == 1) {
        for (uint32_t i = 0; i < HURRIED; i += HURRIED / 4 - 1) check_value("hurried", i);
        check_value("hurried", HURRIED - 1);
    }
    fence(false);
    free(bytes);
    finish();
}

/* Commits of 240 MiB, of which the server can keep two (its files may have 512 MiB: ulimit -f). The third is refused:
 * the
 * rank is told by a later call, and a process that waits for what was in it is answered. rows: K5 K8 */
static void refused(int argc, char** argv) {
    enum { COMMITS = 3, PER_REFUSED = 30 };
    (void)argc, (void)argv;
    pmix_value_t* got = NULL;
    begin();
    fence(false);
    if (me.rank == 0) {
        bool told = false;
        for (uint32_t i = 0; i < COMMITS * PER_REFUSED; i++) {
            put_value("refused", i);
            if (i % PER_REFUSED == PER_REFUSED - 1) told = PMIx_Commit() != PMIX_SUCCESS || told;
        }
        told = PMIx_Get(&me, "refused.nothing", NULL, 0, &got) != PMIX_ERR_NOT_FOUND || told;
        told = PMIx_Commit() != PMIX_SUCCESS || told;
        told = PMIx_Fence(NULL, 0, NULL, 0) != PMIX_SUCCESS || told;
        CHECK(told);
    } else {
        /* Without a limit of time. */
        const pmix_proc_t other = rank_of_job(0);
        CHECK(PMIx_Get(&other, "refused.89", NULL, 0, &got) != PMIX_SUCCESS);
        (void)PMIx_Fence(NULL, 0, NULL, 0);
        check_value("refused", 0);
        check_value("refused", 59);
    }
    free(bytes);
    finish();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {{"staged", staged}, {"hurried", hurried}, {"refused", refused}};
    RUN_CASE(cases);
    return 0;
}
