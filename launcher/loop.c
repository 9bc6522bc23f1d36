/* SPDX-License-Identifier: BSD-3-Clause */
/* Plain poll: a node has tens of descriptors, not thousands. */
#include "loop.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "wire.h"

struct task {
    struct task* next;
    void (*run)(void* argument);
    void* argument;
};

struct watch {
    int fd; /* -1: unwatched, dropped before the next poll */
    short events;
    void (*ready)(int fd, short events, void* argument);
    void* argument;
};

struct timer {
    struct timer* next;
    double due;
    void (*expired)(void* argument);
    void* argument;
};

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static struct task* queue_head;
static struct task** queue_tail = &queue_head;
static int wake_fd = -1;

static struct watch* watches;
static size_t watch_count, watch_capacity;
static struct timer* timers;

bool loop_start(void) {
    wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return wake_fd >= 0;
}

double loop_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void loop_post(void (*run)(void* argument), void* argument) {
    struct task* task = xcalloc(1, sizeof *task);
    task->run = run;
    task->argument = argument;
    pthread_mutex_lock(&queue_lock);
    *queue_tail = task;
    queue_tail = &task->next;
    pthread_mutex_unlock(&queue_lock);
    uint64_t one = 1;
    while (write(wake_fd, &one, sizeof one) < 0 && errno == EINTR) continue;
}

static void run_tasks(void) {
    uint64_t count;
    while (read(wake_fd, &count, sizeof count) < 0 && errno == EINTR) continue;
    pthread_mutex_lock(&queue_lock);
    struct task* task = queue_head;
    queue_head = NULL;
    queue_tail = &queue_head;
    pthread_mutex_unlock(&queue_lock);
    while (task) {
        struct task* next = task->next;
        task->run(task->argument);
        free(task);
        task = next;
    }
}

static struct watch* find_watch(int fd) {
    for (size_t i = 0; i < watch_count; i++) {
        if (watches[i].fd == fd) return &watches[i];
    }
    return NULL;
}

void loop_watch(int fd, short events, void (*ready)(int, short, void*), void* argument) {
    if (watch_count == watch_capacity) {
        watch_capacity = watch_capacity * 2 + 16;
        watches = xrealloc(watches, watch_capacity * sizeof *watches);
    }
    watches[watch_count++] = (struct watch){fd, events, ready, argument};
}

void loop_watch_events(int fd, short events) {
    struct watch* watch = find_watch(fd);
    if (watch) watch->events = events;
}

void loop_unwatch(int fd) {
    struct watch* watch = find_watch(fd);
    if (watch) watch->fd = -1;
}

struct timer* loop_after(double seconds, void (*expired)(void* argument), void* argument) {
    struct timer* timer = xcalloc(1, sizeof *timer);
    timer->due = loop_now() + seconds;
    timer->expired = expired;
    timer->argument = argument;
    timer->next = timers;
    timers = timer;
    return timer;
}

void loop_cancel(struct timer* timer) {
    for (struct timer** at = &timers; *at; at = &(*at)->next) {
        if (*at != timer) continue;
        *at = timer->next;
        free(timer);
        return;
    }
}

static int milliseconds_to_next_timer(void) {
    if (!timers) return -1;
    double next = timers->due;
    for (const struct timer* timer = timers; timer; timer = timer->next) next = timer->due < next ? timer->due : next;
    double left = (next - loop_now()) * 1000;
    return left <= 0 ? 0 : left > 3600000 ? 3600000 : (int)left + 1;
}

static void run_timers(void) {
    double now = loop_now();
    for (;;) {
        struct timer** at = &timers;
        while (*at && (*at)->due > now) at = &(*at)->next;
        struct timer* timer = *at;
        if (!timer) return;
        *at = timer->next;
        timer->expired(timer->argument);
        free(timer);
    }
}

/* A handler may watch and unwatch at will: it may move the table, so each step looks its watch up again, and a
 * descriptor number that was closed and used again in the same round is left for the next. */
static void run_watches(const struct pollfd* polled, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!polled[i].revents) continue;
        struct watch* watch = i < watch_count ? &watches[i] : NULL;
        if (!watch || watch->fd != polled[i].fd) continue;
        watch->ready(watch->fd, polled[i].revents, watch->argument);
    }
}

void loop_run(const bool* stop) {
    struct pollfd* polled = NULL;
    while (!*stop) {
        size_t kept = 0;
        for (size_t i = 0; i < watch_count; i++) {
            if (watches[i].fd >= 0) watches[kept++] = watches[i];
        }
        watch_count = kept;
        polled = xrealloc(polled, (watch_count + 1) * sizeof *polled);
        for (size_t i = 0; i < kept; i++) polled[i] = (struct pollfd){watches[i].fd, watches[i].events, 0};
        polled[kept] = (struct pollfd){wake_fd, POLLIN, 0};
        if (poll(polled, (nfds_t)kept + 1, milliseconds_to_next_timer()) < 0)
            memset(polled, 0, (kept + 1) * sizeof *polled);
        run_tasks();
        run_watches(polled, kept);
        run_timers();
    }
    free(polled);
}
