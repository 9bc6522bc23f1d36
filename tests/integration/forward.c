/* SPDX-License-Identifier: BSD-3-Clause */
/* forward: output of some ranks read by others, and input pushed to them.
 * usage: forward many|ends|stalled|killed|dropping|push|lines|copy|redirect|default [BYTES [GROWTH]]
 * BYTES: what each source writes. GROWTH: MiB by which a server's memory may grow meanwhile; 0: not looked at. */
#include <errno.h>
#include <pmix_tool.h>
#include <signal.h>

#include "check.h"

static size_t bytes_each = 1 << 20;
static size_t growth_allowed;

/* --- what is written: bytes that say where they belong ------------------------------------------------------------ */

static unsigned char pattern(uint32_t rank, size_t at) {
    return (unsigned char)(at % 80 == 79 ? '\n' : ' ' + (at * 7 + at / 80 + rank * 13) % 94);
}

static void write_pattern(size_t size) {
    static unsigned char block[65536];
    for (size_t at = 0; at < size;) {
        size_t n = size - at < sizeof block ? size - at : sizeof block;
        for (size_t i = 0; i < n; i++) block[i] = pattern(me.rank, at + i);
        for (size_t done = 0; done < n;) {
            ssize_t put = write(STDOUT_FILENO, block + done, n - done);
            CHECK(put > 0 || errno == EINTR);
            if (put > 0) done += (size_t)put;
        }
        at += n;
    }
}

/* --- what is read ------------------------------------------------------------------------------------------------- */

enum { MOST = 64 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static size_t seen[MOST];
static uint64_t lost;
static int ends, wrong;
static bool gaps_allowed;

static void take(size_t id, pmix_iof_channel_t channel, pmix_proc_t* source, pmix_byte_object_t* payload,
                 pmix_info_t info[], size_t ninfo) {
    (void)id;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], "wireup.iof.lost")) lost += info[i].value.data.uint64;
    }
    if (payload->size == 0) ends++;
    if (channel == PMIX_FWD_STDOUT_CHANNEL) {
        size_t* at = &seen[source->rank % MOST];
        for (size_t i = 0; i < payload->size; i++, (*at)++) {
            if (gaps_allowed || *at >= bytes_each) continue;
            wrong += (unsigned char)payload->bytes[i] != pattern(source->rank, *at);
        }
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void await_bytes(uint32_t first, uint32_t last) {
    pthread_mutex_lock(&lock);
    for (uint32_t rank = first; rank <= last; rank++) {
        while (seen[rank % MOST] + lost < bytes_each) pthread_cond_wait(&changed, &lock); /* or the alarm */
    }
    pthread_mutex_unlock(&lock);
    CHECK(wrong == 0);
}

static size_t pull(uint32_t rank, pmix_iof_channel_t channels, const pmix_info_t* info, size_t ninfo) {
    pmix_proc_t source = rank_of_job(rank);
    pmix_status_t id = PMIx_IOF_pull(&source, 1, info, ninfo, channels, take, NULL, NULL);
    CHECK(id >= 0);
    return (size_t)id;
}

/* --- the server's memory ------------------------------------------------------------------------------------------ */

static size_t server_peak(void) { /* KiB */
    char path[64], line[256];
    size_t peak = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)getppid());
    FILE* file = fopen(path, "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file)) sscanf(line, "VmHWM: %zu", &peak);
    fclose(file);
    CHECK(peak > 0);
    return peak;
}

/* A peak may read lower later (rss_error_kib). */
static void check_growth(size_t before) {
    const size_t after = server_peak();
    if (growth_allowed == 0 || after <= before + growth_allowed * 1024 + (size_t)rss_error_kib()) return;
    fprintf(stderr, "the server's peak was %zu KiB, and is %zu KiB\n", before, after);
    CHECK(!"the server's memory stays within what it may grow by");
}

/* --- cases -------------------------------------------------------------------------------------------------------- */

/* All write at once, rank 0 reads all. rows: O1 O2 O8 U16 */
static void many(void) {
    start();
    size_t peak = server_peak(), ids[MOST];
    if (me.rank == 0) {
        for (uint32_t rank = 1; rank < job_size; rank++) ids[rank] = pull(rank, PMIX_FWD_STDOUT_CHANNEL, NULL, 0);
    }
    fence(false);
    if (me.rank != 0) write_pattern(bytes_each);
    if (me.rank == 0) {
        await_bytes(1, job_size - 1);
        for (uint32_t rank = 1; rank < job_size; rank++) CHECK_OK(PMIx_IOF_deregister(ids[rank], NULL, 0, NULL, NULL));
        CHECK_STATUS(PMIx_IOF_deregister(ids[1], NULL, 0, NULL, NULL), PMIX_ERR_BAD_PARAM);
        for (uint32_t rank = 1; rank < job_size; rank++) CHECK(seen[rank] == bytes_each && lost == 0);
    }
    check_growth(peak);
    fence(false);
    finish();
}

/* The end of a process is the end of its streams, behind all that it wrote. rows: O2 O8 */
static void stream_ends(void) {
    start();
    if (me.rank == 0) pull(1, PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL, NULL, 0);
    fence(false);
    if (me.rank == 1) {
        write_pattern(bytes_each);
        fprintf(stderr, "error\n");
    }
    if (me.rank == 0) {
        pthread_mutex_lock(&lock);
        while (ends < 2) pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
        CHECK(wrong == 0 && seen[1] >= bytes_each);
    }
    finish();
}

static pid_t pid_of(uint32_t rank) {
    pmix_proc_t proc = rank_of_job(rank);
    uint32_t pid = 0;
    CHECK_OK(get_u32(&proc, "test.pid", 60, &pid));
    return (pid_t)pid;
}

/* Rank 1 reads rank 3 and stops; rank 0 reads rank 2 meanwhile. Then rank 1 goes on, or is killed. */
static void with_stopped_reader(bool kill_it) {
    start();
    size_t peak = server_peak();
    CHECK_OK(put_u32(PMIX_GLOBAL, "test.pid", (uint32_t)getpid()));
    CHECK_OK(PMIx_Commit());
    if (me.rank < 2) pull(me.rank + 2, PMIX_FWD_STDOUT_CHANNEL, NULL, 0);
    fence(true);
    if (me.rank == 1) raise(SIGSTOP);
    if (me.rank == 0) await_stopped(pid_of(1));
    if (me.rank == 0) raise_flag("stopped");
    if (me.rank > 1) await_flag("stopped");
    if (me.rank > 1) write_pattern(bytes_each);
    if (me.rank == 0) {
        await_bytes(2, 2);
        await_stopped(pid_of(1)); /* still */
        CHECK(kill(pid_of(1), kill_it ? SIGKILL : SIGCONT) == 0);
    }
    if (me.rank == 1) {
        await_bytes(3, 3);
        CHECK(lost == 0);
    }
    check_growth(peak);
    if (kill_it && me.rank == 3) raise_flag("went on"); /* nobody reads it any more, and it got rid of everything */
    if (kill_it && me.rank == 0) await_flag("went on");
    finish();
}

/* rows: O8 */
static void stalled(void) {
    with_stopped_reader(false);
}
/* rows: O8 */
static void killed(void) {
    with_stopped_reader(true);
}

/* Two read rank 2: one stops and lets drop; the other misses nothing. rows: O1 O4 */
static void dropping(void) {
    start();
    size_t peak = server_peak();
    CHECK_OK(put_u32(PMIX_GLOBAL, "test.pid", (uint32_t)getpid()));
    CHECK_OK(PMIx_Commit());
    pmix_info_t info[2];
    uint32_t size = 100000;
    PMIX_INFO_LOAD(&info[0], PMIX_IOF_CACHE_SIZE, &size, PMIX_UINT32);
    PMIX_INFO_LOAD(&info[1], PMIX_IOF_DROP_OLDEST, NULL, PMIX_BOOL);
    gaps_allowed = me.rank == 1;
    if (me.rank < 2) pull(2, PMIX_FWD_STDOUT_CHANNEL, info, me.rank == 1 ? 2 : 0);
    fence(true);
    if (me.rank == 1) raise(SIGSTOP);
    if (me.rank == 0) await_stopped(pid_of(1));
    if (me.rank == 0) raise_flag("stopped");
    if (me.rank > 1) await_flag("stopped");
    if (me.rank == 2) write_pattern(bytes_each);
    if (me.rank == 0) {
        await_bytes(2, 2);
        CHECK(lost == 0 && seen[2] >= bytes_each);
        CHECK(kill(pid_of(1), SIGCONT) == 0);
    }
    if (me.rank == 1) {
        await_bytes(2, 2);
        CHECK(lost > 0 && seen[2] + lost >= bytes_each);
    }
    check_growth(peak);
    finish();
}

/* Rank 0 pushes to all others, part by part, and then the end, by itself or with the last part. rows: O7 U16 */
static void push(bool together) {
    start();
    fence(false);
    if (me.rank == 0) {
        pmix_proc_t targets[MOST];
        size_t count = 0;
        for (uint32_t rank = 1; rank < job_size; rank++) targets[count++] = rank_of_job(rank);
        static char block[16384];
        pmix_info_t info;
        PMIX_INFO_LOAD(&info, PMIX_IOF_COMPLETE, NULL, PMIX_BOOL);
        for (size_t at = 0; at < bytes_each;) {
            size_t n = bytes_each - at < sizeof block ? bytes_each - at : sizeof block;
            for (size_t i = 0; i < n; i++) block[i] = (char)pattern(7, at + i);
            pmix_byte_object_t bytes = {.bytes = block, .size = n};
            at += n;
            CHECK_OK(PMIx_IOF_push(targets, count, &bytes, &info, together && at == bytes_each, NULL, NULL));
        }
        if (!together) CHECK_OK(PMIx_IOF_push(targets, count, NULL, &info, 1, NULL, NULL));
        pmix_proc_t nobody = rank_of_job(0);
        PMIX_LOAD_NSPACE(nobody.nspace, "no-such-job");
        pmix_byte_object_t bytes = {.bytes = block, .size = 1};
        CHECK_STATUS(PMIx_IOF_push(&nobody, 1, &bytes, NULL, 0, NULL, NULL), PMIX_ERR_NOT_SUPPORTED);
    } else {
        size_t at = 0;
        for (int c; (c = getchar()) != EOF; at++) CHECK((unsigned char)c == pattern(7, at));
        CHECK(at == bytes_each);
    }
    fence(false);
    finish();
}

/* Rank 1's output goes to its reader instead of to pmixrun's own, or with PMIX_IOF_COPY to both; without a directive
 * it is redirected. What pmixrun prints, the test's command looks at. */
/* rows: O1 */
/* proves: PMIx_IOF_pull PMIX_IOF_COPY PMIX_IOF_REDIRECT client */
static void copied(const char* directive) {
    start();
    if (me.rank == 0) {
        pmix_info_t info;
        PMIX_INFO_LOAD(&info, directive ? directive : PMIX_IOF_COPY, NULL, PMIX_BOOL);
        pull(1, PMIX_FWD_STDOUT_CHANNEL, &info, directive ? 1 : 0);
        PMIX_INFO_DESTRUCT(&info);
    }
    fence(false);
    if (me.rank == 1) {
        printf("seen by its reader\n");
        fflush(stdout);
    }
    if (me.rank == 0) {
        pthread_mutex_lock(&lock);
        while (seen[1] < strlen("seen by its reader\n")) pthread_cond_wait(&changed, &lock); /* or the alarm */
        pthread_mutex_unlock(&lock);
    }
    fence(false);
    finish();
}
static void with_copy(void) {
    copied(PMIX_IOF_COPY);
}
static void redirected(void) {
    copied(PMIX_IOF_REDIRECT);
}
static void by_default(void) {
    copied(NULL);
}

/* Rank 2's output has two readers on a node, one instead of pmixrun and one beside it; when the first reads no more,
 * the second still reads beside. The end of a reader is answered before its host has heard of it: what is written
 * meanwhile goes to the readers alone. rows: O1 O6 */
static void two_readers(void) {
    size_t instead = 0;
    start();
    if (me.rank == 1) instead = pull(2, PMIX_FWD_STDOUT_CHANNEL, NULL, 0);
    fence(false);
    if (me.rank == 0) {
        pmix_info_t info;
        PMIX_INFO_LOAD(&info, PMIX_IOF_COPY, NULL, PMIX_BOOL);
        pull(2, PMIX_FWD_STDOUT_CHANNEL, &info, 1);
    }
    fence(false);
    if (me.rank == 1) CHECK_DONE(PMIx_IOF_deregister(instead, NULL, 0, NULL, NULL));
    fence(false);
    for (int i = 0; me.rank == 2 && i < 50; i++) {
        printf("seen by its reader\n");
        fflush(stdout);
        usleep(10000);
    }
    if (me.rank == 0) {
        pthread_mutex_lock(&lock);
        while (seen[2] < strlen("seen by its reader\n")) pthread_cond_wait(&changed, &lock); /* or the alarm */
        pthread_mutex_unlock(&lock);
    }
    fence(false);
    finish();
}

/* Not a PMIx process: numbered lines, for the reader of pmixrun's own output. */
static void lines(void) {
    static char line[100];
    const char* rank = getenv("PMIX_RANK");
    memset(line, 'x', sizeof line);
    for (size_t at = 0; at < bytes_each / sizeof line; at++) {
        int n = snprintf(line, sizeof line, "%s %zu ", rank ? rank : "?", at);
        line[n] = 'x';
        line[sizeof line - 1] = '\n';
        fwrite(line, 1, sizeof line, stdout);
    }
}

static void push_alone(void) {
    push(false);
}
static void push_with_the_end(void) {
    push(true);
}

int main(int argc, char** argv) {
    static const struct plain_case cases[] = {
        {"many", many},
        {"ends", stream_ends},
        {"stalled", stalled},
        {"killed", killed},
        {"dropping", dropping},
        {"push", push_alone},
        {"push_end", push_with_the_end},
        {"lines", lines},
        {"copy", with_copy},
        {"redirect", redirected},
        {"default", by_default},
        {"two_readers", two_readers},
    };
    if (argc > 2) bytes_each = strtoul(argv[2], NULL, 10);
    if (argc > 3) growth_allowed = strtoul(argv[3], NULL, 10);
    RUN_PLAIN_CASE(cases);
    return 0;
}
