/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemons.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "job.h"
#include "loop.h"

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

enum end {
    RUNS,
    ENDED, /* the kernel has told so; its wait status is on its way, perhaps */
    OVER
};

struct daemon {
    pid_t pid;
    int fd; /* of its process; -1: none, or not needed any more */
    enum end end;
};

static struct daemon daemons[MAX_NODES];
static int daemon_count;
static double patience; /* seconds that a report may take */
static bool no_more_reports;
static void (*when_changed)(void);

static void over(struct daemon* daemon) {
    if (daemon->fd >= 0) {
        loop_unwatch(daemon->fd);
        close(daemon->fd);
        daemon->fd = -1;
    }
    daemon->end = OVER;
}

static void report_is_late(void* argument) {
    struct daemon* daemon = argument;
    if (daemon->end != ENDED) return;
    over(daemon);
    when_changed();
}

static void ended(struct daemon* daemon) {
    if (daemon->end != RUNS) return;
    daemon->end = ENDED;
    if (daemon->fd >= 0) loop_unwatch(daemon->fd); /* it stays readable */
    if (no_more_reports)
        over(daemon);
    else
        loop_after(patience, report_is_late, daemon);
}

static void process_ended(int fd, short events, void* argument) {
    (void)fd, (void)events;
    ended(argument);
    when_changed();
}

void daemons_watch(const pid_t* pids, int count, double report_seconds, void (*changed)(void)) {
    daemon_count = count;
    patience = report_seconds;
    no_more_reports = false;
    when_changed = changed;
    for (int i = 0; i < count; i++) {
        int fd = (int)syscall(SYS_pidfd_open, pids[i], 0);
        daemons[i] = (struct daemon){pids[i], fd, RUNS};
        if (fd >= 0)
            loop_watch(fd, POLLIN, process_ended, &daemons[i]);
        else if (errno == ESRCH)
            ended(&daemons[i]);
    }
}

int daemons_number_of(pid_t pid) {
    int number = 0;
    while (number < daemon_count && (daemons[number].pid != pid || daemons[number].end == OVER)) number++;
    return number < daemon_count ? number : -1;
}

void daemons_reported(int number) {
    over(&daemons[number]);
    when_changed();
}

void daemons_no_more_reports(void) {
    no_more_reports = true;
    for (int i = 0; i < daemon_count; i++) {
        bool is_gone = daemons[i].fd < 0 && kill(daemons[i].pid, 0) != 0 && errno == ESRCH;
        if (daemons[i].end == ENDED || (daemons[i].end == RUNS && is_gone)) over(&daemons[i]);
    }
    when_changed();
}

bool daemons_all_over(void) {
    for (int i = 0; i < daemon_count; i++) {
        if (daemons[i].end != OVER) return false;
    }
    return true;
}

void daemons_kill(void) {
    for (int i = 0; i < daemon_count; i++) {
        if (daemons[i].end != RUNS) continue; /* the number of one that has ended may be another's */
        if (daemons[i].fd >= 0)
            syscall(SYS_pidfd_send_signal, daemons[i].fd, SIGKILL, NULL, 0);
        else
            kill(daemons[i].pid, SIGKILL);
    }
}

void daemons_give_up(void) {
    for (int i = 0; i < daemon_count; i++) over(&daemons[i]);
    when_changed();
}
