/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sweep.h"
#include "waits.h"

struct made { /* the report of the sweeper on the directory */
    int error;
    char path[3072];
};

static int line = -1;

/* A directory that is asked for is that one; else the first that takes it, for /tmp may be read-only. */
static void make_directory(struct made* made) {
    const char* asked = getenv("TMPDIR");
    const char* tops[] = {"/tmp", "/var/tmp", "/dev/shm"};
    size_t count = sizeof tops / sizeof tops[0];
    if (asked && *asked) {
        tops[0] = asked;
        count = 1;
    }
    for (size_t i = 0; i < count; i++) {
        snprintf(made->path, sizeof made->path, "%s/pmixrun.XXXXXX", tops[i]);
        if (mkdtemp(made->path)) return;
    }
    made->error = errno;
}

/* By the system call: not every C library has a function for it. */
static void close_all(unsigned first, unsigned last) {
    syscall(SYS_close_range, first, last, 0u);
}

/* Keeps no terminal, stream or descriptor of other processes open. */
static void let_go(int keep) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setpgid(0, 0);
    prctl(PR_SET_NAME, "job-sweeper");
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3; fd++) {
        if (fd != keep && null >= 0) dup2(null, fd);
    }
    if (keep > 3) close_all(3, (unsigned)keep - 1);
    close_all(keep < 3 ? 3 : (unsigned)keep + 1, ~0u);
}

static _Noreturn void sweeper(int fd) {
    struct made made = {0};
    let_go(fd);
    make_directory(&made);
    /* The sweeper ended before the message: the end of the line means the same. */
    if (write(fd, &made, sizeof made) < 0 && made.error == 0) made.error = 0;
    char nothing;
    while (read(fd, &nothing, 1) > 0 || errno == EINTR) errno = 0;
    if (made.error == 0) sweep_directory(made.path);
    _exit(0);
}

bool sweeper_start(char* directory, size_t size, double until) {
    int ends[2], status;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
    fflush(NULL);
    pid_t between = fork(); /* the sweeper is no child of the head: ending all below the head spares it */
    if (between < 0) return false;
    if (between == 0) {
        close(ends[0]);
        pid_t pid = fork();
        if (pid == 0) sweeper(ends[1]);
        _exit(pid < 0);
    }
    close(ends[1]);
    while (waitpid(between, &status, 0) < 0 && errno == EINTR) continue;
    struct made made;
    if (!waits_read(ends[0], &made, sizeof made, until)) {
        const int error = errno == EPIPE ? EAGAIN : errno; /* the sweeper has ended */
        close(ends[0]);
        errno = error;
        return false;
    }
    line = ends[0];
    errno = made.error ? made.error : ENAMETOOLONG;
    if (made.error || strlen(made.path) >= size) return false;
    memcpy(directory, made.path, strlen(made.path) + 1);
    return true;
}

bool sweeper_end(double until) {
    shutdown(line, SHUT_WR);
    return waits_readable(line, until);
}
