/* SPDX-License-Identifier: BSD-3-Clause */
/* pmixrun: a small resource manager for PMIx jobs on simulated nodes of one machine.
 *
 *     pmixrun -n 8 --nodes 3 PROGRAM ARGS
 *
 * It shows how a resource manager embeds a PMIx server, and uses nothing but the public server API. The parts:
 *
 *     main.c       this file: the sockets, the processes, the sweep at the end
 *     options.c    the command line
 *     head.c       the process the user started: supervises jobs and nodes; headio.c: its standard streams
 *     daemons.c    which daemons still run           report.c     the head's events about jobs
 *     daemon.c     a node: the PMIx server and the table of its upcalls
 *     job.c        what a job is, and where its processes run; jobinfo.c: its description for the server
 *     launch.c     fork, exec, kill, reap; iof.c: the processes' output; input.c: their stdin
 *     pulls.c      clients that read the output of others
 *     collective.c fence, connect, disconnect        modex.c     direct modex
 *     publish.c    publish, lookup, unpublish; datastore.c: their rules
 *     events.c     events between nodes              clients.c   connect, finalize, abort, job control
 *     groups.c     groups; bootstrap.c: of leaders that do not know each other; first.c: when their node is lost
 *     spawn.c      PMIx_Spawn; hosts.c: its nodes    debug.c     what a debugger asks of it
 *     query.c      PMIx_Query_info
 *     loop.c, mesh.c, wire.c   one thread, frames between processes, bytes and values in them
 *     memory.c     what jobs held goes back to the system
 *     sweep.c      leaving nothing behind; keeper.c: also when the head and its daemons are killed; sweeper.c: no file
 *     waits.c      waits outside of the loop         liaison.c   with a tool that has started this pmixrun
 *
 * The nodes are fully connected by Unix sockets made before the fork, so no process has to look for another. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "head.h"
#include "keeper.h"
#include "liaison.h"
#include "node.h"
#include "sweep.h"
#include "sweeper.h"
#include "waits.h"

static const rlim_t kDaemonDescriptors = 65536;
static const double kStart = 60; /* seconds that the private directory and the daemons may take to be there */
static const double kEnd = 30;   /* and the directory to be gone */

static struct options options;
static int sockets[MAX_NODES + 1][MAX_NODES + 1]; /* [i][j]: the end that i keeps of its line to j */

static void fail(const char* what) {
    const int error = errno, signal_number = error == EINTR ? waits_signal() : 0;
    const char* why = signal_number        ? strsignal(signal_number)
                      : error == ETIMEDOUT ? "takes too long"
                                           : strerror(error);
    fprintf(stderr, "pmixrun: %s: %s\n", what, why);
    exit(signal_number ? 128 + signal_number : error == ETIMEDOUT && options.timeout > 0 ? EXIT_TIMEOUT : 1);
}

/* Two descriptors for each pair of processes are open until the last daemon is forked. */
static void allow_descriptors(int processes, struct rlimit* before) {
    getrlimit(RLIMIT_NOFILE, before);
    struct rlimit limit = *before;
    rlim_t wanted = (rlim_t)(processes * processes + 256);
    if (limit.rlim_cur >= wanted) return;
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* A stream that is closed would be the number of the next descriptor. */
static void have_streams(void) {
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)!open("/dev/null", O_RDWR);
    }
}

static void connect_all(int processes) {
    for (int i = 0; i < processes; i++) {
        sockets[i][i] = -1;
        for (int j = 0; j < i; j++) {
            int pair[2];
            if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) fail("socketpair");
            sockets[i][j] = pair[0];
            sockets[j][i] = pair[1];
        }
    }
}

static void close_those_of_others(int processes, int self) {
    for (int i = 0; i < processes; i++) {
        for (int j = 0; j < processes; j++) {
            if (i != self && i != j) close(sockets[i][j]);
        }
    }
}

static void close_all(void) {
    for (int i = 0; i <= options.nodes; i++) {
        for (int j = 0; j <= options.nodes; j++) {
            if (i != j) close(sockets[i][j]);
        }
    }
}

int main(int argc, char** argv) {
    options_read(argc, argv, &options);
    char session[3072], name[PMIX_MAX_NSLEN + 1];
    struct rlimit limit;
    pid_t daemons[MAX_NODES];
    struct keeper keeper;
    sigset_t signals;
    int processes = options.nodes + 1, number;

    have_streams();
    head_block_signals(&signals);
    options.liaison = liaison_name() ? liaison_start() : -1;
    sweep_spare_children();
    const double until = waits_until(options.timeout > 0 && options.timeout < kStart ? options.timeout : kStart);
    if (!sweeper_start(session, sizeof session, until)) fail("a private directory");
    sweep_become_subreaper();
    // Not "pmixrun": keys that an application makes from its namespace would be reserved ones.
    node.launcher = getpid();
    node.daemons = mmap(NULL, MAX_NODES * sizeof(pid_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (node.daemons == MAP_FAILED) fail("memory");
    if (options.liaison >= 0)
        snprintf(name, sizeof name, "%s", liaison_name());
    else
        snprintf(name, sizeof name, "wireup.%d", (int)node.launcher);
    allow_descriptors(processes, &limit);
    connect_all(processes);
    if (!keeper_start(&keeper, session, options.nodes, daemons, &number, close_all, until)) {
        if (number >= 0) {
            close_those_of_others(processes, number);
            /* A process of the job takes some four of the daemon's. It gets back what we were given. */
            node.descriptor_limit = limit;
            if (limit.rlim_cur < kDaemonDescriptors)
                limit.rlim_cur = limit.rlim_max < kDaemonDescriptors ? limit.rlim_max : kDaemonDescriptors;
            setrlimit(RLIMIT_NOFILE, &limit);
            return daemon_main(&options, session, name, number, sockets[number]);
        }
        int error = errno;
        sweeper_end(waits_until(kEnd));
        errno = error;
        fail("fork");
    }
    close_those_of_others(processes, options.nodes);
    int status = head_main(&options, name, &keeper, daemons, sockets[options.nodes]);
    /* One that was killed has removed nothing. */
    if (sweeper_end(waits_until(kEnd))) sweep_directory(session);
    return status;
}
