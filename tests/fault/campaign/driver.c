/* SPDX-License-Identifier: BSD-3-Clause */
/* driver: the one process of a pmixrun job that starts and hurts all others: jobs of workers over all nodes, several at
 * a time, whose members it stops and kills at random moments until enough were killed; liars among them.
 *
 * usage: driver KILLS SECONDS JOBS SEED FOLDER   ends when KILLS processes were killed or SECONDS are over, whichever
 * is first FOLDER holds worker, liar and inject.so; CAMPAIGN_BOARD names the board; CAMPAIGN_FAULTS_JOBS=N: in one job
 * of N calls fail Each job has a thread of its own here. Exit status 1 and a line beginning with WRONG when a process
 * hung, crashed, found other data or a status without a reason, or when the servers do not go back to where they began.
 */
#include <dirent.h>
#include <errno.h>
#include <pmix.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "board.h"

enum { HANG_MS = 90000, MAX_DAEMONS = 16 };

static struct board* board;
static const char* folder;
static long kills_wanted;
static long long end_ms;
static long jobs_least; /* so many have run before it is enough, however slow the machine */
static unsigned long campaign_seed;
static int faults_jobs;
static atomic_long kills, stops, jobs_run, jobs_hurt, jobs_faulty, liars, calls, spawn_failures, wrongs;
static atomic_int draining;
static pmix_proc_t me;

static uint64_t next(uint64_t* state) {
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x ^= x >> 30, x *= 0xbf58476d1ce4e5b9u, x ^= x >> 27, x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static void say_wrong(int number, int rank, const char* what) {
    atomic_fetch_add(&wrongs, 1);
    struct slot* slot = rank >= 0 ? &board->jobs[number].slots[rank] : NULL;
    printf("WRONG job %d rank %d: %s; pid %d, in %s since %lld ms; hurt %d faulty %d\n", number, rank, what,
           slot ? atomic_load(&slot->pid) : 0, slot ? slot->step : "-",
           slot ? board_now_ms() - atomic_load(&slot->since_ms) : 0, atomic_load(&board->jobs[number].hurt),
           atomic_load(&board->jobs[number].faulty));
    fflush(stdout);
}

static bool alive(int pid) {
    char path[64], line[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE* file = fopen(path, "re");
    if (!file) return false;
    const char* got = fgets(line, sizeof line, file);
    fclose(file);
    const char* after = got ? strrchr(line, ')') : NULL;
    return after && after[2] != 'Z' && after[2] != 'X';
}

static void pause_us(long us) {
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

static bool enough(void) {
    if (!atomic_load(&draining) && atomic_load(&jobs_run) < jobs_least && board_now_ms() < end_ms + 60000) return false;
    return atomic_load(&draining) || atomic_load(&kills) >= kills_wanted || board_now_ms() > end_ms;
}

struct task {
    int number; /* of the job on the board */
    uint64_t random;
};

/* Starts a job of `count` processes; false if it did not come up. */
static bool start_job(struct task* task, const char* program, int count, bool faulty) {
    char command[4096], number[16], rounds[16], seed[32], preload[4200], faults[80];
    pmix_app_t app;
    pmix_info_t how;
    pmix_nspace_t nspace = "";
    snprintf(command, sizeof command, "%s/%s", folder, program);
    snprintf(number, sizeof number, "%d", task->number);
    snprintf(rounds, sizeof rounds, "%d", 5 + (int)(next(&task->random) % 40));
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)(next(&task->random) >> 1));
    PMIX_APP_CONSTRUCT(&app);
    char* argv[] = {command, number, rounds, seed, NULL};
    char board_setting[4200];
    snprintf(board_setting, sizeof board_setting, "CAMPAIGN_BOARD=%s", getenv("CAMPAIGN_BOARD"));
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s/inject.so", folder);
    snprintf(faults, sizeof faults, "CAMPAIGN_FAULTS=%s:2000:60", seed);
    char crashes[4200];
    snprintf(crashes, sizeof crashes, "CAMPAIGN_CRASHES=%s",
             getenv("CAMPAIGN_CRASHES") ? getenv("CAMPAIGN_CRASHES") : "");
    char* env[] = {board_setting, faulty ? preload : NULL, crashes, faults, NULL};
    app.cmd = command, app.argv = argv, app.env = env, app.maxprocs = count;
    PMIX_INFO_LOAD(&how, PMIX_MAPBY, next(&task->random) % 2 ? "node" : "slot", PMIX_STRING);
    const pmix_status_t status = PMIx_Spawn(&how, 1, &app, 1, nspace);
    PMIX_INFO_DESTRUCT(&how);
    if (status != PMIX_SUCCESS) atomic_fetch_add(&spawn_failures, 1);
    return status == PMIX_SUCCESS;
}

static void kill_one(struct board_job* job, int rank) {
    struct slot* slot = &job->slots[rank];
    const int pid = atomic_load(&slot->pid);
    if (pid <= 0 || atomic_load(&slot->state) != SLOT_RUNNING || atomic_load(&slot->killed)) return;
    /* The descriptor is of the process that has this number now; the slot, read again, says that it is still ours. */
    const int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0) return;
    if (atomic_load(&slot->state) == SLOT_RUNNING) {
        atomic_store(&job->hurt, 1);
        atomic_store(&slot->killed, 1);
        if (syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0) atomic_fetch_add(&kills, 1);
    }
    close(fd);
}

static void stop_one(struct board_job* job, int rank, uint64_t dice) {
    const int pid = atomic_load(&job->slots[rank].pid);
    if (pid <= 0 || atomic_load(&job->slots[rank].state) != SLOT_RUNNING) return;
    const int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0) return;
    if (atomic_load(&job->slots[rank].state) == SLOT_RUNNING &&
        syscall(SYS_pidfd_send_signal, fd, SIGSTOP, NULL, 0) == 0) {
        atomic_fetch_add(&stops, 1);
        pause_us((long)(dice % 30000));
        syscall(SYS_pidfd_send_signal, fd, SIGCONT, NULL, 0);
    }
    close(fd);
}

/* Until every process of a job that started has its slot: only then is the entry free again when all have ended. */
static void await_begin(int number, int count) {
    const long long until = board_now_ms() + HANG_MS;
    for (int rank = 0; rank < count; rank++) {
        while (atomic_load(&board->jobs[number].slots[rank].pid) == 0 && board_now_ms() < until) pause_us(1000);
        if (atomic_load(&board->jobs[number].slots[rank].pid) == 0)
            say_wrong(number, rank, "was started and does not run");
    }
}

/* Until every process of the job has ended; a call that takes longer than any may is a hang. */
static void await_end(int number, int count) {
    struct board_job* job = &board->jobs[number];
    for (int rank = 0; rank < count; rank++) {
        struct slot* slot = &job->slots[rank];
        while (atomic_load(&slot->pid) > 0 && alive(atomic_load(&slot->pid))) {
            if (board_now_ms() - atomic_load(&slot->since_ms) > HANG_MS) {
                say_wrong(number, rank, "hangs");
                for (int i = 0; i < count; i++) {
                    printf("  rank %d: pid %d, killed %d, state %d, in %s\n", i, atomic_load(&job->slots[i].pid),
                           atomic_load(&job->slots[i].killed), atomic_load(&job->slots[i].state), job->slots[i].step);
                }
                kill(atomic_load(&slot->pid), SIGABRT); /* a core, where they are kept */
                atomic_store(&slot->killed, 1);
                break;
            }
            pause_us(1000);
        }
        const int state = atomic_load(&slot->state);
        atomic_fetch_add(&calls, (long)atomic_load(&slot->calls));
        if (state == SLOT_FAILED) say_wrong(number, rank, slot->failure);
        if (state == SLOT_RUNNING && !atomic_load(&slot->killed)) say_wrong(number, rank, "crashed");
    }
}

static void run_workers(struct task* task) {
    struct board_job* job = &board->jobs[task->number];
    const int count = 2 + (int)(next(&task->random) % 7);
    const bool faulty = faults_jobs > 0 && next(&task->random) % (unsigned)faults_jobs == 0;
    memset(job, 0, sizeof *job);
    atomic_store(&job->faulty, faulty);
    if (faulty) atomic_fetch_add(&jobs_faulty, 1);
    const bool up = start_job(task, "worker", count, faulty);
    atomic_fetch_add(&jobs_run, 1);
    const int victims = next(&task->random) % 4 == 0 ? count : (int)(next(&task->random) % 4);
    for (int i = 0; up && i < victims; i++) {
        pause_us((long)(next(&task->random) % 15000));
        const int rank = (int)(next(&task->random) % (unsigned)count);
        if (next(&task->random) % 5 == 0) {
            stop_one(job, rank, next(&task->random));
        } else {
            kill_one(job, rank);
        }
    }
    if (atomic_load(&job->hurt)) atomic_fetch_add(&jobs_hurt, 1);
    if (up) await_begin(task->number, count);
    await_end(task->number, count);
}

static void run_liar(struct task* task) {
    struct board_job* job = &board->jobs[task->number];
    memset(job, 0, sizeof *job);
    atomic_store(&job->hurt, 1);
    if (start_job(task, "liar", 1, false)) {
        atomic_fetch_add(&liars, 1);
        await_begin(task->number, 1);
    }
    atomic_store(&job->slots[0].killed, 1); /* its server, or the host, may end it for what it sent */
    await_end(task->number, 1);
}

static void* run_jobs(void* argument) {
    struct task* task = argument;
    while (!enough()) {
        if (next(&task->random) % 10 == 0) {
            run_liar(task);
        } else {
            run_workers(task);
        }
    }
    return NULL;
}

/* --- the servers: what they hold ------------------------------------------------------------------------------------
 */

static int parent_of(int pid) {
    char path[64], line[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE* file = fopen(path, "re");
    if (!file) return 0;
    const char* got = fgets(line, sizeof line, file);
    fclose(file);
    const char* after = got ? strrchr(line, ')') : NULL;
    int parent = 0;
    return after && sscanf(after + 3, "%d", &parent) == 1 ? parent : 0;
}

static int daemons(int* found) {
    const int keeper = parent_of(getppid());
    int count = 0;
    DIR* all = opendir("/proc");
    for (struct dirent* entry; all && (entry = readdir(all)) && count < MAX_DAEMONS;) {
        const int pid = atoi(entry->d_name);
        if (pid > 0 && parent_of(pid) == keeper) found[count++] = pid;
    }
    if (all) closedir(all);
    return count;
}

struct held {
    long kib, descriptors, threads;
};

static struct held held_by(int pid) {
    struct held held = {0, 0, 0};
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE* file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        (void)(sscanf(line, "VmRSS: %ld", &held.kib) || sscanf(line, "Threads: %ld", &held.threads));
    }
    if (file) fclose(file);
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR* all = opendir(path);
    while (all && readdir(all)) held.descriptors++;
    if (all) closedir(all);
    return held;
}

/* A job that is described to every server and whose program is not there: the largest thing that they hold for a job,
 * so that a server which keeps what it needed once is seen in each run, and not only where a liar asks for such a job.
 */
static void start_large_job(void) {
    pmix_app_t app;
    pmix_nspace_t nspace = "";
    char program[] = "/nonexistent/program";
    char* argv[] = {program, NULL};
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = program, app.argv = argv, app.maxprocs = 8000;
    const pmix_status_t status = PMIx_Spawn(NULL, 0, &app, 1, nspace);
    if (status != PMIX_SUCCESS) return;
    atomic_fetch_add(&wrongs, 1);
    printf("WRONG driver: a program that is not there was started\n");
}

/* The most that a server may hold at the end; `warm` is what it held after a tenth of the campaign. */
static long bound_kib(const struct held* warm) {
    const char* slack = getenv("CAMPAIGN_SLACK_KIB"); /* more where a sanitizer keeps what is freed */
    return warm->kib + warm->kib / 5 + (slack ? atol(slack) : 2048);
}

/* A server's own, its loop's, and the one for work that may block, which starts with its first task: on a slow machine
 * that may be after the first tenth. */
enum { MOST_THREADS = 3 };

static bool is_back(const struct held* held, const struct held* warm) {
    return held->descriptors <= warm->descriptors && held->kib <= bound_kib(warm) &&
           (held->threads <= warm->threads || held->threads <= MOST_THREADS);
}

/* All jobs have ended; what the servers still do for them they get time for: the answer to a spawn is sent before the
 * servers have given back what they held for its job. */
static void settle(const int* pids, int count, struct held* held, const struct held* wanted) {
    for (int round = 0; round < 300; round++) {
        bool back = wanted != NULL;
        for (int i = 0; i < count; i++) {
            held[i] = held_by(pids[i]);
            back = back && is_back(&held[i], &wanted[i]);
        }
        if (back || (wanted == NULL && round >= 10)) return;
        pause_us(100000);
    }
}

static void run_all(pthread_t* threads, struct task* tasks, int jobs) {
    for (int i = 0; i < jobs; i++) pthread_create(&threads[i], NULL, run_jobs, &tasks[i]);
    for (int i = 0; i < jobs; i++) pthread_join(threads[i], NULL);
}

enum { WARM_JOBS = 100 };

int main(int argc, char** argv) {
    const int jobs = argc == 6 ? atoi(argv[3]) : 0;
    board = board_map();
    if (board == NULL || jobs < 1 || jobs > BOARD_JOBS) {
        fprintf(stderr, "usage: driver KILLS SECONDS JOBS SEED FOLDER\n");
        return 2;
    }
    const long wanted = atol(argv[1]);
    campaign_seed = strtoul(argv[4], NULL, 10);
    folder = argv[5];
    const char* faults = getenv("CAMPAIGN_FAULTS_JOBS");
    faults_jobs = faults ? atoi(faults) : 0;
    pmix_status_t status = PMIx_Init(&me, NULL, 0);
    if (status != PMIX_SUCCESS) {
        printf("WRONG driver: PMIx_Init: %s\n", PMIx_Error_string(status));
        return 1;
    }
    int pids[MAX_DAEMONS];
    const int count = daemons(pids);
    struct held warm[MAX_DAEMONS], after[MAX_DAEMONS];
    struct task tasks[BOARD_JOBS];
    pthread_t threads[BOARD_JOBS];
    for (int i = 0; i < jobs; i++) tasks[i] = (struct task){i, campaign_seed * 1000 + (unsigned)i};

    /* A tenth first, but WARM_JOBS jobs at least, however slow the machine: allocators and tables take the size that
     * the work asks for; then the rest, against that. Both end with the large job, whose memory the allocator gives
     * back to the system as it likes. */
    const long long began = board_now_ms(), all_ms = atoll(argv[2]) * 1000;
    kills_wanted = wanted / 10 + 1, end_ms = began + all_ms / 10 + 1000;
    /* A sanitizer keeps what is freed, and the readings are not compared. */
    jobs_least = getenv("CAMPAIGN_SLACK_KIB") ? WARM_JOBS / 10 : WARM_JOBS;
    run_all(threads, tasks, jobs);
    start_large_job();
    settle(pids, count, warm, NULL);
    kills_wanted = wanted, end_ms = board_now_ms() + all_ms - all_ms / 10;
    run_all(threads, tasks, jobs);
    start_large_job();
    settle(pids, count, after, warm);

    for (int i = 0; i < count; i++) {
        printf("server %d: resident %ld KiB after a tenth, %ld at the end; descriptors %ld, %ld; threads %ld, %ld\n",
               pids[i], warm[i].kib, after[i].kib, warm[i].descriptors, after[i].descriptors, warm[i].threads,
               after[i].threads);
        if (!is_back(&after[i], &warm[i])) {
            atomic_fetch_add(&wrongs, 1);
            printf("WRONG server %d does not go back to where it began\n", pids[i]);
        }
    }
    if (count == 0) atomic_fetch_add(&wrongs, 1), printf("WRONG no server was found to look at\n");
    printf(
        "campaign: %.1f s, jobs %ld (hurt %ld, with injected faults %ld), spawns refused %ld, liars %ld, killed %ld, "
        "stopped %ld, calls "
        "%ld, wrong %ld\n",
        (double)(board_now_ms() - began) / 1000, atomic_load(&jobs_run), atomic_load(&jobs_hurt),
        atomic_load(&jobs_faulty), atomic_load(&spawn_failures), atomic_load(&liars), atomic_load(&kills),
        atomic_load(&stops), atomic_load(&calls), atomic_load(&wrongs));
    fflush(stdout);
    PMIx_Finalize(NULL, 0);
    return atomic_load(&wrongs) ? 1 : 0;
}
