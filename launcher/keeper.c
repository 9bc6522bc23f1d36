/* SPDX-License-Identifier: BSD-3-Clause */
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sweep.h"
#include "waits.h"

enum { LAST_MS = 12000 }; /* that daemons without a head have to end by themselves: they give themselves ten seconds */

/* Reaps, and tells the head. Returns how many daemons have ended. */
static int reap(int line, const pid_t* daemons, int count) {
    struct child_end end;
    int ended = 0;
    while ((end.pid = waitpid(-1, &end.wait_status, WNOHANG)) > 0) {
        ssize_t ignored = write(line, &end, sizeof end); /* no matter if the head is gone */
        (void)ignored;
        for (int i = 0; i < count; i++) ended += daemons[i] == end.pid;
    }
    return ended;
}

static int ms_since(const struct timespec* start) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int)((now.tv_sec - start->tv_sec) * 1000 + (now.tv_nsec - start->tv_nsec) / 1000000);
}

static _Noreturn void keep(int line, const char* session, const pid_t* daemons, int count) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL); /* a Ctrl-C is for the head */
    setpgid(0, 0);
    prctl(PR_SET_NAME, "job-keeper"); /* a kill by the name of pmixrun misses this one, which then ends the rest */
    sigemptyset(&all);
    sigaddset(&all, SIGCHLD);
    struct pollfd ready[2] = {{signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK), POLLIN, 0}, {line, 0, 0}};
    struct timespec lost = {0, 0};
    bool head = true;
    for (int alive = count; alive > 0 || head;) {
        int left = head ? -1 : LAST_MS - ms_since(&lost);
        if (!head && left <= 0) break;
        poll(ready, head ? 2 : 1, left);
        struct signalfd_siginfo info;
        while (read(ready[0].fd, &info, sizeof info) == (ssize_t)sizeof info) continue;
        alive -= reap(line, daemons, count);
        if (head && (ready[1].revents & (POLLERR | POLLHUP))) {
            head = false;
            clock_gettime(CLOCK_MONOTONIC, &lost);
        }
    }
    sweep_processes(KILLED_SECONDS);
    sweep_directory(session);
    _exit(0);
}

/* In the keeper. Returns in a daemon, with its number, and in the keeper with -1. */
static int fork_daemons(int count, pid_t* daemons) {
    for (int i = 0; i < count; i++) {
        daemons[i] = fork();
        if (daemons[i] == 0) return i;
        if (daemons[i] > 0) continue;
        daemons[0] = -errno; /* what the head reads instead of a pid */
        break;
    }
    return -1;
}

bool keeper_start(struct keeper* keeper, const char* session, int count, pid_t* daemons, int* number,
                  void (*unneeded)(void), double until) {
    int ends[2];
    *number = -1;
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    keeper->pid = fork();
    if (keeper->pid < 0) return false;
    if (keeper->pid == 0) {
        close(ends[0]);
        sweep_become_subreaper();
        *number = fork_daemons(count, daemons);
        if (*number >= 0) {
            close(ends[1]);
            return false;
        }
        unneeded();
        signal(SIGPIPE, SIG_IGN);
        ssize_t told = write(ends[1], daemons, (size_t)count * sizeof *daemons);
        fcntl(ends[1], F_SETFL, O_NONBLOCK); /* a head that is stopped does not stop the keeper */
        if (told < 0 || daemons[0] < 0) {
            sweep_processes(KILLED_SECONDS);
            _exit(0);
        }
        keep(ends[1], session, daemons, count);
    }
    close(ends[1]);
    if (!waits_read(ends[0], daemons, (size_t)count * sizeof *daemons, until))
        daemons[0] = errno == EPIPE ? -ECHILD : -errno; /* ECHILD: it ended before it could report anything */
    keeper->line = ends[0];
    if (daemons[0] > 0) return true;
    const int error = -daemons[0];
    sweep_processes(KILLED_SECONDS);
    errno = error;
    return false;
}
