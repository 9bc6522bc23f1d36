/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon.h"

#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "control.h"
#include "infos.h"
#include "mesh.h"
#include "operations.h"
#include "values.h"

extern char** environ;

typedef struct {
    sem_t s;
    pmix_status_t st;
} wait_t_;
static void w_done(pmix_status_t st, void* cbdata) {
    wait_t_* w = cbdata;
    w->st = st;
    sem_post(&w->s);
}
#define WAITFOR(what, call)                                                          \
    do {                                                                             \
        wait_t_ w_;                                                                  \
        sem_init(&w_.s, 0, 0);                                                       \
        pmix_status_t r_ = (call);                                                   \
        if (r_ == PMIX_SUCCESS) {                                                    \
            while (sem_wait(&w_.s) != 0)                                             \
                ;                                                                    \
            r_ = w_.st;                                                              \
        }                                                                            \
        if (r_ != PMIX_SUCCESS && r_ != PMIX_OPERATION_SUCCEEDED)                    \
            fatal("node %d: %s: %s (%d)", me, what, PMIx_Error_string(r_), (int)r_); \
        sem_destroy(&w_.s);                                                          \
    } while (0)

static char** copy_env(char** src) {
    size_t n = 0;
    while (src[n]) n++;
    char** e = xcalloc(n + 1, sizeof *e);
    for (size_t i = 0; i < n; i++) e[i] = strdup(src[i]);
    return e;
}
static void env_set(char*** env, const char* name, const char* fmt, ...) {
    char val[PATH_MAX + 64], *s;
    size_t n = 0, l = strlen(name);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(val, sizeof val, fmt, ap);
    va_end(ap);
    s = xcalloc(l + strlen(val) + 2, 1);
    sprintf(s, "%s=%s", name, val);
    for (; (*env)[n]; n++)
        if (strncmp((*env)[n], name, l) == 0 && (*env)[n][l] == '=') {
            free((*env)[n]);
            (*env)[n] = s;
            return;
        }
    *env = realloc(*env, (n + 2) * sizeof **env);
    (*env)[n] = s;
    (*env)[n + 1] = NULL;
}

static void must(pmix_status_t st, const char* what) {
    if (st != PMIX_SUCCESS) fatal("node %d: %s: %s (%d)", me, what, PMIx_Error_string(st), (int)st);
}

/* The clients of this node, by local rank. Without one: pid 0. */
static pid_t* pid;
static int *pid_fd, left;
static char*** envs;

static void start_server(void) {
    char dir[PATH_MAX + 32], host[32], sns[PMIX_MAX_NSLEN + 8];
    infos_t a = {0};

    snprintf(dir, sizeof dir, "%s/n%d", run.session, me);
    snprintf(host, sizeof host, "bnode%d", me);
    snprintf(sns, sizeof sns, "%s-srv", run.nspace);
    if (mkdir(dir, 0700) != 0) fatal("mkdir %s: %s", dir, strerror(errno));
    in_str(&a, PMIX_SERVER_TMPDIR, dir);
    in_str(&a, PMIX_SYSTEM_TMPDIR, dir);
    in_str(&a, PMIX_SERVER_NSPACE, sns);
    in_rank(&a, PMIX_SERVER_RANK, (pmix_rank_t)me);
    in_str(&a, PMIX_HOSTNAME, host);
    in_u32(&a, PMIX_NODEID, (uint32_t)me);
    in_bool(&a, PMIX_SERVER_TOOL_SUPPORT, false);
    if (run.share_topo) /* else some clients discover the machine in PMIx_Init */
        in_bool(&a, PMIX_SERVER_SHARE_TOPOLOGY, true);
    pmix_server_module_t* module = server_module();
    uint64_t t0 = now_ns();
    must(PMIx_server_init(module, a.v, a.n), "PMIx_server_init");
    stat_since(t0, 1, "server_init_us");
    i_free(a.v, a.n);
}
static void register_job(void) {
    infos_t a = {0};
    job_info(&a);
    uint64_t t0 = now_ns();
    WAITFOR("PMIx_server_register_nspace", PMIx_server_register_nspace(run.nspace, job.ppn, a.v, a.n, w_done, &w_));
    stat_since(t0, 1, "server_register_nspace_us");

    pmix_proc_t p;
    memset(&p, 0, sizeof p);
    snprintf(p.nspace, sizeof p.nspace, "%s", run.nspace);
    t0 = now_ns();
    for (int l = 0; l < job.ppn; l++) {
        p.rank = (pmix_rank_t)rank_at(me, l);
        WAITFOR("PMIx_server_register_client",
                PMIx_server_register_client(&p, geteuid(), getegid(), &pid[l], w_done, &w_));
    }
    stat_since(t0, job.ppn, "server_register_client_us");

    envs = xcalloc((size_t)job.ppn, sizeof *envs);
    const char* cl = getenv("PMIXBENCH_CLIENT_LD_LIBRARY_PATH");
    t0 = now_ns();
    for (int l = 0; l < job.ppn; l++) {
        p.rank = (pmix_rank_t)rank_at(me, l);
        envs[l] = copy_env(environ);
        must(PMIx_server_setup_fork(&p, &envs[l]), "PMIx_server_setup_fork");
        env_set(&envs[l], "PMIXBENCH_SHM", "%s/shm", run.session);
        env_set(&envs[l], "PMIXBENCH_OUT", "%s", run.results);
        env_set(&envs[l], "PMIXBENCH_RANK", "%d", (int)p.rank);
        env_set(&envs[l], "PMIXBENCH_CYCLIC", "%d", (int)job.cyclic);
        if (cl) env_set(&envs[l], "LD_LIBRARY_PATH", "%s", cl);
    }
    stat_since(t0, job.ppn, "server_setup_fork_us");
}

static void start_clients(const int* cpus, int ncpus) {
    for (int l = 0; l < job.ppn; l++) {
        pid_t k = fork();
        if (k < 0) fatal("fork: %s", strerror(errno));
        if (k == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            signal(SIGPIPE, SIG_DFL);
            if (run.bind_core) {
                cpu_set_t s;
                CPU_ZERO(&s);
                CPU_SET(cpus[rank_at(me, l) % ncpus], &s);
                sched_setaffinity(0, sizeof s, &s);
            }
            execve(run.client_argv[0], run.client_argv, envs[l]);
            _exit(127);
        }
        pid[l] = k;
        pid_fd[l] = pidfd_open(k, 0);
        left++;
    }
}
static void client_ended(int l) {
    int ws = 0;
    if (waitpid(pid[l], &ws, 0) != pid[l]) return;
    close(pid_fd[l]);
    pid[l] = 0;
    left--;
    to_parent(C_EXIT, rank_at(me, l), ws, 0, NULL);
    if (left == 0) {
        fence_report();
        to_parent(C_DONE, 0, 0, 0, NULL);
    }
}
/* Until the parent has it finalize, or ends. */
static void event_loop(void) {
    int cpus[CPU_SETSIZE], ncpus = 0; /* --bind core: all threads of a rank on one core */
    cpu_set_t all;
    sched_getaffinity(0, sizeof all, &all);
    for (int c = 0; c < CPU_SETSIZE; c++)
        if (CPU_ISSET(c, &all)) cpus[ncpus++] = c;

    struct pollfd* pl = xcalloc((size_t)(2 + job.nodes + job.ppn), sizeof *pl);
    for (;;) {
        int np = 0;
        pl[np++] = (struct pollfd){.fd = queue_fd, .events = POLLIN};
        pl[np++] = (struct pollfd){.fd = control_fd, .events = POLLIN};
        for (int n = 0; n < job.nodes; n++) pl[np++] = mesh_poll(n);
        for (int l = 0; l < job.ppn; l++)
            pl[np++] = (struct pollfd){.fd = pid[l] > 0 ? pid_fd[l] : -1, .events = POLLIN};
        if (poll(pl, (nfds_t)np, -1) < 0) {
            if (errno == EINTR) continue;
            fatal("poll: %s", strerror(errno));
        }
        if (pl[0].revents) drain_queue();
        for (int n = 0; n < job.nodes; n++) mesh_ready(n, pl[2 + n].revents);
        for (int l = 0; l < job.ppn; l++)
            if (pl[2 + job.nodes + l].revents) client_ended(l);
        if (pl[1].revents) {
            ctrl_t c;
            ssize_t r = recv(control_fd, &c, sizeof c, MSG_DONTWAIT);
            if (r == 0) _exit(1);
            if (r != sizeof c) continue;
            if (c.type == C_QUIT) break;
            if (c.type == C_GO) start_clients(cpus, ncpus);
        }
    }
    free(pl);
}

void daemon_main(int node) {
    me = node;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    pid = xcalloc((size_t)job.ppn, sizeof *pid);
    pid_fd = xcalloc((size_t)job.ppn, sizeof *pid_fd);
    queue_open();
    start_server();
    register_job();
    to_parent(C_READY, 0, 0, 0, NULL);
    event_loop();
    uint64_t t0 = now_ns();
    WAITFOR("PMIx_server_deregister_nspace", (PMIx_server_deregister_nspace(run.nspace, w_done, &w_), PMIX_SUCCESS));
    must(PMIx_server_finalize(), "PMIx_server_finalize");
    stat_since(t0, 1, "server_finalize_us");
    to_parent(C_BYE, 0, 0, 0, NULL);
    _exit(0);
}
