// SPDX-License-Identifier: BSD-3-Clause
/* board.h: what the processes of a campaign tell each other without the library under test: a file that all of them
 * map.
 *
 * The driver owns a job's entry and clears it before the job starts; each worker writes its own slot only. Nothing here
 * is locked: every field that two processes touch is atomic, and texts are written before the state that announces
 * them.
 */
#ifndef WIREUP_TESTS_FAULT_CAMPAIGN_BOARD_H
#define WIREUP_TESTS_FAULT_CAMPAIGN_BOARD_H

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { BOARD_JOBS = 8, BOARD_RANKS = 16 };
enum slot_state { SLOT_EMPTY, SLOT_RUNNING, SLOT_DONE, SLOT_FAILED };

struct slot {
    atomic_int state;      /* enum slot_state */
    atomic_int pid;        /* written before the state becomes SLOT_RUNNING */
    atomic_int killed;     /* the driver has sent, or is about to send, SIGKILL */
    atomic_llong since_ms; /* when the call that `step` names began; monotonic clock */
    _Atomic(uint64_t) calls;
    char step[32];
    char failure[200];
};

struct board_job {
    atomic_int hurt;   /* a member was killed, or is about to be: failing collectives are right from here on */
    atomic_int faulty; /* calls of the library are made to fail: any status is right, wrong data is not */
    struct slot slots[BOARD_RANKS];
};

struct board {
    struct board_job jobs[BOARD_JOBS];
};

static inline long long board_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The board that CAMPAIGN_BOARD names; NULL if it cannot be mapped. */
static inline struct board* board_map(void) {
    const char* path = getenv("CAMPAIGN_BOARD");
    int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd < 0) return NULL;
    void* at = ftruncate(fd, sizeof(struct board)) == 0
                   ? mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                   : MAP_FAILED;
    close(fd);
    return at == MAP_FAILED ? NULL : at;
}

#endif
