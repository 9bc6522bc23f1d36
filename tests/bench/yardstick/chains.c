/* SPDX-License-Identifier: BSD-3-Clause */
#include "chains.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "bench.h"
#include "figures.h"

enum { ROUNDS = 2000, WARM = 100, MESSAGE = 256 };

/* Stations of an event and its answer: the one process, the server, the other's loop, the other, the one's loop. Of a
 * direct modex: the process, its server, that server's host, the other host, the other server. */
const chain_t chains[] = {
    {"limit_chain_request_us", {0, 1}, 2, {0, 1, 0}, 3},
    {"limit_chain_event_us", {0, 1, 2, 2, 0}, 5, {0, 1, 2, 3, 1, 4, 0}, 7},
    {"limit_chain_dmodex_us", {0, 1, 1, 2, 2}, 5, {0, 1, 2, 3, 4, 3, 2, 1, 0}, 9},
};
const int chain_count = sizeof chains / sizeof chains[0];

typedef struct {
    int in, out; /* the descriptors of one way into a station and on from there */
    size_t in_size, out_size;
} pass_t;
typedef struct {
    pass_t passes[CHAIN_ROUTE];
    int npasses;
} station_t;

static ssize_t pass_on(const pass_t* p) {
    char m[MESSAGE] = {1}; /* an eventfd takes a number that is not 0 */
    if (read(p->in, m, p->in_size) != (ssize_t)p->in_size) return -1;
    m[0] = 1;
    return write(p->out, m, p->out_size);
}
static void* station(void* x) {
    const station_t* s = x;
    int e = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < s->npasses; i++) {
        struct epoll_event v = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
        if (epoll_ctl(e, EPOLL_CTL_ADD, s->passes[i].in, &v)) _exit(1);
    }
    for (;;) {
        struct epoll_event v[CHAIN_ROUTE];
        int n = epoll_wait(e, v, CHAIN_ROUTE, -1);
        for (int i = 0; i < n; i++)
            if (pass_on(&s->passes[v[i].data.u32]) < 0) _exit(1);
    }
    return NULL;
}
/* The first station drives: it sends along its way out and waits for what the last way in brings. */
static void drive(const pass_t* p, double* times) {
    char m[MESSAGE] = {1};
    for (int i = -WARM; i < ROUNDS; i++) {
        uint64_t t = now_ns();
        m[0] = 1;
        if (write(p->out, m, p->out_size) < 0 || read(p->in, m, p->in_size) < 0) _exit(1);
        if (i >= 0) times[i] = (double)(now_ns() - t) / 1e3;
    }
    _exit(0);
}
static void run_process(const chain_t* c, station_t* s, int process, double* times) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int own = -1; /* the station that the process's first thread is: of process 0 the one that drives */
    for (int k = 0; k < c->stations; k++) {
        pthread_t t;
        if (c->process[k] != process) continue;
        if (own < 0)
            own = k;
        else if (pthread_create(&t, NULL, station, &s[k]))
            _exit(1);
    }
    if (own == 0) drive(&s[0].passes[0], times);
    station(&s[own]);
    _exit(1);
}
/* Makes the descriptors of the route: an eventfd between threads of one process, a socket between processes. */
static int lay(const chain_t* c, station_t* s, int* opened) {
    int n = 0;
    pass_t at = {-1, -1, 0, 0}; /* the way into the station that is reached */
    pass_t first = at;
    for (int i = 0; i + 1 < c->length; i++) {
        int from = c->route[i], to = c->route[i + 1], fd[2];
        int near = c->process[from] == c->process[to];
        if (near)
            fd[0] = fd[1] = eventfd(0, EFD_CLOEXEC);
        else if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
            fd[0] = -1;
        if (fd[0] < 0) return -n - 1;
        opened[n++] = fd[0];
        if (!near) opened[n++] = fd[1];
        at.out = fd[1];
        at.out_size = near ? sizeof(uint64_t) : MESSAGE;
        if (i == 0)
            first = at;
        else
            s[from].passes[s[from].npasses++] = at;
        at = (pass_t){.in = fd[0], .out = -1, .in_size = at.out_size};
    }
    s[0].passes[0] = (pass_t){.in = at.in, .out = first.out, .in_size = at.in_size, .out_size = first.out_size};
    return n;
}
double chain_time(const chain_t* c) {
    station_t* s = calloc(CHAIN_STATIONS, sizeof *s);
    double* times = mmap(NULL, ROUNDS * sizeof *times, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int opened[2 * CHAIN_ROUTE], status = 1;
    pid_t child[CHAIN_STATIONS] = {0};
    if (!s || times == MAP_FAILED) exit(1);
    int n = lay(c, s, opened), laid = n >= 0, processes = 0, began = 0;
    if (!laid) n = -n - 1;
    for (int k = 0; k < c->stations; k++)
        if (c->process[k] >= processes) processes = c->process[k] + 1;
    while (laid && began < processes) {
        if ((child[began] = fork()) == 0) run_process(c, s, began, times);
        if (child[began] < 0) break;
        began++;
    }
    if (began == processes && waitpid(child[0], &status, 0) != child[0]) status = 1;
    for (int i = began == processes ? 1 : 0; i < began; i++) {
        kill(child[i], SIGKILL);
        waitpid(child[i], NULL, 0);
    }
    for (int i = 0; i < n; i++) close(opened[i]);
    double median = status == 0 ? median_(times, ROUNDS) : -1;
    munmap(times, ROUNDS * sizeof *times);
    free(s);
    return median;
}
