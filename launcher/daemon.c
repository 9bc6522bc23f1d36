/* SPDX-License-Identifier: BSD-3-Clause */
/* daemon.c: one simulated node: a process with a PMIx server in it.
 *
 * What this owns: the server, from init to finalize, and two tables: the function for each upcall and for each frame.
 * Which thread calls it: the process's first, which then is the loop.
 * What can go wrong: the server does not start: one sentence, and the head ends everything. The head is gone: the
 * processes of this node are killed, the server is finalized, the session's directory removed. Should that not be done
 * in ten seconds, an alarm ends this process. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "facts.h"
#include "first.h"
#include "keeper.h"
#include "loop.h"
#include "node.h"
#include "spawn_directives.h"
#include "sweep.h"

enum { LAST_SECONDS = 10 };

struct node node;
static bool stop;

/* An entry left NULL is an operation that this resource manager does not offer: clients get PMIX_ERR_NOT_SUPPORTED. */
static pmix_server_module_t module = {
    .client_connected2 = up_client_connected2,
    .client_finalized = up_client_finalized,
    .abort = up_abort,
    .fence_nb = up_fence_nb,
    .direct_modex = up_direct_modex,
    .publish = up_publish,
    .lookup = up_lookup,
    .unpublish = up_unpublish,
    .spawn = up_spawn,
    .connect = up_connect,
    .disconnect = up_disconnect,
    .register_events = up_register_events,
    .deregister_events = up_deregister_events,
    .notify_event = up_notify_event,
    .query = up_query,
    .monitor = up_monitor,
    .tool_connected = up_tool_connected,
    .job_control = up_job_control,
    .log = up_log,
    .group = up_group,
    .fabric = up_fabric,
    .iof_pull = up_iof_pull,
    .push_stdin = up_push_stdin,
};

static void on_quit(int from, uint64_t id, struct buffer* body) {
    (void)from, (void)id, (void)body;
    stop = true;
}

static const frame_handler handlers[FRAME_KINDS] = {
    [FRAME_JOB_DEFINE] = on_job_define,
    [FRAME_JOB_START] = on_job_start,
    [FRAME_JOB_ENDED] = on_job_ended,
    [FRAME_QUIT] = on_quit,
    [FRAME_KILL] = on_kill,
    [FRAME_EXIT] = on_exit_of_proc,
    [FRAME_OUTPUT_DONE] = on_output_done,
    [FRAME_INPUT] = on_input,
    [FRAME_PULL] = on_pull,
    [FRAME_STREAM] = on_stream,
    [FRAME_COLLECTIVE] = on_collective,
    [FRAME_COLLECTIVE_FAILED] = on_collective_failed,
    [FRAME_MODEX] = on_modex,
    [FRAME_GROUP] = on_group,
    [FRAME_BOOTSTRAP] = on_bootstrap,
    [FRAME_GROUP_LEFT] = on_group_left,
    [FRAME_PUBLISH] = on_publish,
    [FRAME_LOOKUP] = on_lookup,
    [FRAME_UNPUBLISH] = on_unpublish,
    [FRAME_PROC_LEFT] = on_proc_left,
    [FRAME_EVENT] = on_event,
    [FRAME_FACT] = on_fact,
    [FRAME_MONITOR] = on_monitor,
    [FRAME_LOG] = on_log,
};

void daemon_say(const char* format, ...) {
    if (!node.options->verbose) return;
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "pmixrun: %s: %s\n", node.hostname, text);
}

static void peer_lost(int peer) {
    if (peer == mesh_head()) {
        stop = true;
    } else {
        daemon_say("lost node%d", peer + 1);
        first_check();
        collective_proc_ended();
        groups_proc_ended();
        monitor_node_lost(peer);
        clients_node_lost((uint32_t)peer);
    }
}

/* --- signals ------------------------------------------------------------------------------------------------------ */

/* The keeper died, and the head will end everything; or the head died too. This makes sure that even a loop that is
 * stuck ends. */
static void keeper_died(int signal_number) {
    (void)signal_number;
    alarm(LAST_SECONDS);
}

static void signal_ready(int fd, short events, void* argument) {
    (void)events, (void)argument;
    struct signalfd_siginfo info;
    while (read(fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGTERM) stop = true;
    }
    launch_reap();
}

/* The library's threads inherit this mask, so that a signal finds the loop and not them. */
static int take_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_SETMASK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    struct sigaction action = {.sa_handler = keeper_died, .sa_flags = SA_RESTART};
    sigaction(SIGUSR2, &action, NULL);
    prctl(PR_SET_PDEATHSIG, SIGUSR2);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* --- the server --------------------------------------------------------------------------------------------------- */

/* The tool that has started this pmixrun is connected here, and raises this for the process of our name. */
static void tell_release(void* unused) {
    (void)unused;
    mesh_send(mesh_head(), FRAME_RELEASED, NULL);
}

static void released(size_t handler, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)handler, (void)status, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    loop_post(tell_release, NULL);
    if (done) done(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
}

static pmix_status_t watch_release(void) {
    pmix_status_t code = PMIX_DEBUGGER_RELEASE;
    pmix_status_t status = PMIx_Register_event_handler(&code, 1, NULL, 0, released, NULL, NULL);
    return status < 0 ? status : PMIX_SUCCESS; /* a positive one is the handler's reference */
}

/* Headers of OpenPMIx do not have it. */
#ifndef WIREUP_LAUNCHER_PID
#define WIREUP_LAUNCHER_PID "wireup.srv.launcher"
#endif

static pmix_status_t start_server(void) {
    pmix_info_t info[10];
    size_t count = 7;
    pmix_rank_t rank = (pmix_rank_t)mesh_self();
    bool yes = true;
    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_NSPACE, node.server_nspace, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_SERVER_RANK, &rank, PMIX_PROC_RANK);
    PMIX_INFO_LOAD(&info[2], PMIX_SERVER_TMPDIR, node.directory, PMIX_STRING);
    PMIX_INFO_LOAD(&info[3], PMIX_SYSTEM_TMPDIR, node.directory, PMIX_STRING);
    PMIX_INFO_LOAD(&info[4], PMIX_HOSTNAME, node.hostname, PMIX_STRING);
    PMIX_INFO_LOAD(&info[5], PMIX_SERVER_TOOL_SUPPORT, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[6], WIREUP_LAUNCHER_PID, &node.launcher, PMIX_PID);
    if (node.options->event_cache > 0) {
        PMIX_INFO_LOAD(&info[count], PMIX_SERVER_CACHE_SIZE, &node.options->event_cache, PMIX_SIZE);
        count++;
    }
    /* One server of all makes the file that the tool above waits for. */
    if (mesh_self() != 0) unsetenv("PMIX_LAUNCHER_RNDZ_FILE");
    if (mesh_self() == 0) { /* what is for the log of the whole system is written on the first node */
        PMIX_INFO_LOAD(&info[count], PMIX_SERVER_GATEWAY, &yes, PMIX_BOOL);
        count++;
    }
    if (node.options->share_topology) {
        PMIX_INFO_LOAD(&info[count], PMIX_SERVER_SHARE_TOPOLOGY, &yes, PMIX_BOOL);
        count++;
    }
    pmix_status_t status = PMIx_server_init(&module, info, count);
    if (status == PMIX_SUCCESS) {
        query_register();
        directives_register();
    }
    if (status == PMIX_SUCCESS) status = clients_watch_connections();
    if (status == PMIX_SUCCESS && node.options->liaison >= 0 && mesh_self() == 0) status = watch_release();
    for (size_t i = 0; i < count; i++) PMIX_INFO_DESTRUCT(&info[i]);
    return status;
}

static void own_streams(void) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, 0); /* the user's stdin and stdout are the head's; a sentence to stderr may come from anywhere */
    dup2(null, 1);
    if (null > 2) close(null);
}

int daemon_main(const struct options* options, const char* session, const char* server_nspace, int self, int* sockets) {
    node.options = options;
    node.session = session;
    node.daemons[self] = getpid();
    PMIX_LOAD_NSPACE(node.server_nspace, server_nspace);
    snprintf(node.hostname, sizeof node.hostname, "node%d", self + 1);
    snprintf(node.directory, sizeof node.directory, "%s/%s", session, node.hostname);
    setpgid(0, 0); /* Ctrl-C is for the head, which ends this node */
    own_streams();
    memory_start();
    sweep_become_subreaper();
    int signals = take_signals();
    struct mesh_setup setup = {self, options->nodes, sockets, handlers, peer_lost};
    if (signals < 0 || !loop_start() || mkdir(node.directory, 0700) != 0) {
        fprintf(stderr, "pmixrun: %s: cannot start: %s\n", node.hostname, strerror(errno));
        return 1;
    }
    mesh_start(&setup);
    loop_watch(signals, POLLIN, signal_ready, NULL);
    pmix_status_t status = start_server();
    if (status != PMIX_SUCCESS) {
        fprintf(stderr, "pmixrun: %s: cannot start the server: %s (%d)\n", node.hostname, PMIx_Error_string(status),
                status);
        return 1;
    }
    daemon_say("%s", PMIx_Get_version());
    daemon_say("the daemon is process %d, its server %s:%d", (int)getpid(), node.server_nspace, self);
    if (options->liaison >= 0 && self == 0) mesh_send(mesh_head(), FRAME_SERVER_UP, NULL);
    loop_run(&stop);
    alarm(LAST_SECONDS);
    bool head_alive = mesh_alive(mesh_head());
    sweep_processes(KILLED_SECONDS);
    launch_deregister_all();
    status = PMIx_server_finalize();
    if (status != PMIX_SUCCESS) daemon_say("PMIx_server_finalize: %s (%d)", PMIx_Error_string(status), status);
    if (!head_alive) sweep_directory(session);
    mesh_flush();
    return 0;
}
