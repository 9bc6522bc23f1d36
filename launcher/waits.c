/* SPDX-License-Identifier: BSD-3-Clause */
#include "waits.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

static const int kEnding[] = {SIGINT, SIGTERM, SIGHUP};

double waits_until(double seconds) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9 + seconds;
}

double waits_left(double until) {
    const double left = until - waits_until(0);
    return left > 0 ? left : 0;
}

/* Those of kEnding that are in the set. */
static sigset_t ending_ones(const sigset_t* of) {
    sigset_t found;
    sigemptyset(&found);
    for (size_t i = 0; i < sizeof kEnding / sizeof *kEnding; i++) {
        if (sigismember(of, kEnding[i]) == 1) sigaddset(&found, kEnding[i]);
    }
    return found;
}

int waits_signal(void) {
    sigset_t pending;
    sigpending(&pending);
    for (size_t i = 0; i < sizeof kEnding / sizeof *kEnding; i++) {
        if (sigismember(&pending, kEnding[i]) == 1) return kEnding[i];
    }
    return 0;
}

static bool readable(int fd, int signals, double until) {
    for (;;) {
        struct pollfd ready[2] = {{fd, POLLIN, 0}, {signals, POLLIN, 0}};
        const double left = waits_left(until);
        const int milliseconds = left > 3600 ? 3600000 : (int)(left * 1000 + 0.999);
        const int count = poll(ready, 2, milliseconds);
        if (count > 0 && ready[0].revents) return true;
        if (count > 0) {
            errno = EINTR;
            return false;
        }
        if (count < 0 && errno != EINTR) return false;
        if (waits_left(until) > 0) continue;
        errno = ETIMEDOUT;
        return false;
    }
}

bool waits_readable(int fd, double until) {
    sigset_t blocked, ending;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    ending = ending_ones(&blocked);
    const int signals = signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK); /* nothing is read from it */
    const bool yes = readable(fd, signals, until);
    const int error = errno;
    if (signals >= 0) close(signals);
    errno = error;
    return yes;
}

bool waits_read(int fd, void* data, size_t size, double until) {
    for (size_t got = 0; got < size;) {
        if (!waits_readable(fd, until)) return false;
        const ssize_t n = read(fd, (char*)data + got, size - got);
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = EPIPE;
        if (n <= 0) return false;
        got += (size_t)n;
    }
    return true;
}
