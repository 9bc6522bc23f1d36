/* SPDX-License-Identifier: BSD-3-Clause */
#include "liaison.h"

#include <errno.h>
#include <fcntl.h>
#include <pmix_tool.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "waits.h"

enum { MOST_BYTES = 1 << 16 };
static const double kEnd = 5; /* seconds */

static pmix_proc_t self;
static pmix_proc_t tool;
static atomic_bool initialised, refused;
static int line;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool has_tool, server_up, told_ready; /* under the lock */

const char* liaison_name(void) {
    const char *name = getenv("PMIX_NAMESPACE"), *rank = getenv("PMIX_RANK");
    const bool by_tool = getenv("PMIX_LAUNCHER_RNDZ_URI") || getenv("PMIX_KEEPALIVE_PIPE");
    /* Jobs are named after it, and have folders of their names. */
    const bool fits = name && *name && strlen(name) < PMIX_MAX_NSLEN - 11 && !strchr(name, '/');
    return by_tool && fits && rank && strcmp(rank, "0") == 0 ? name : NULL;
}

/* --- that process ------------------------------------------------------------------------------------------------- */

static void notify(pmix_status_t code, const pmix_proc_t* to) {
    bool yes = true;
    pmix_info_t infos[2];
    PMIX_INFO_LOAD(&infos[0], PMIX_EVENT_CUSTOM_RANGE, to, PMIX_PROC);
    PMIX_INFO_LOAD(&infos[1], PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
    PMIx_Notify_event(code, &self, PMIX_RANGE_CUSTOM, infos, 2, NULL, NULL);
    for (int i = 0; i < 2; i++) PMIX_INFO_DESTRUCT(&infos[i]);
}

/* The tool may connect now. It is known, or the server is up: whichever is last. */
static void be_ready(bool* what) {
    pthread_mutex_lock(&lock);
    *what = true;
    const bool tells = has_tool && server_up && !told_ready;
    told_ready = told_ready || tells;
    pthread_mutex_unlock(&lock);
    if (tells) notify(PMIX_LAUNCHER_READY, &tool);
}

/* Beside PMIx_tool_init, which may wait: the tool releases it at its own server, or at ours, which tells this thread.
 */
static void* obey(void* unused) {
    (void)unused;
    char letter;
    struct pollfd more = {line, POLLIN, 0};
    while (read(line, &letter, 1) == 1) {
        if (letter == 'u') be_ready(&server_up); /* before any release by way of it */
        while (letter == 'r' && !initialised && !refused) {
            notify(PMIX_DEBUGGER_RELEASE, &self);
            if (poll(&more, 1, 50) != 0) break; /* the line may end meanwhile */
        }
    }
    if (initialised) PMIx_tool_finalize();
    _exit(0);
}

static void tell(char kind, const pmix_value_t* directives) {
    struct buffer body = {0};
    wire_put_u8(&body, (uint8_t)kind);
    wire_put_proc(&body, &tool);
    const bool given = directives && directives->type == PMIX_DATA_ARRAY && directives->data.darray &&
                       directives->data.darray->type == PMIX_INFO;
    if (given) {
        const size_t without = body.size;
        const bool good = wire_put_infos(&body, directives->data.darray->array, directives->data.darray->size);
        if (!good || body.size > MOST_BYTES) {
            body.size = without;
            body.data[0] = 'x'; /* the job cannot be started as the tool wants it */
        }
    }
    while (send(line, body.data, body.size, MSG_NOSIGNAL) < 0 && errno == EINTR) continue;
    wire_free(&body);
}

static void tool_gone(size_t handler, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                      pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)handler, (void)info, (void)ninfo, (void)results, (void)nresults;
    /* Another process of the tool's spawn may end. */
    const bool of_neighbour =
        status == PMIX_ERR_LOST_CONNECTION && source && PMIX_CHECK_NSPACE(source->nspace, self.nspace);
    if (!of_neighbour) tell('g', NULL);
    if (done) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void get(const char* key, pmix_value_t** value) {
    pmix_proc_t job;
    pmix_info_t optional;
    bool yes = true;
    PMIX_LOAD_PROCID(&job, self.nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&optional, PMIX_OPTIONAL, &yes, PMIX_BOOL);
    if (PMIx_Get(&job, key, &optional, 1, value) != PMIX_SUCCESS) *value = NULL;
}

static _Noreturn void be_the_process(void) {
    pthread_t thread;
    pmix_value_t *parent = NULL, *directives = NULL;
    pmix_status_t ends[] = {PMIX_EVENT_JOB_END, PMIX_ERR_LOST_CONNECTION};
    prctl(PR_SET_NAME, "pmixrun-liaison");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    PMIX_LOAD_PROCID(&self, liaison_name(), 0);
    unsetenv("PMIX_LAUNCHER_RNDZ_FILE"); /* which is to have the address of our server */
    if (pthread_create(&thread, NULL, obey, NULL) != 0) _exit(1);
    if (PMIx_tool_init(&self, NULL, 0) != PMIX_SUCCESS) {
        refused = true;
        tell('d', NULL);
        for (;;) pause();
    }
    initialised = true;
    get(PMIX_PARENT_ID, &parent);
    if (parent && parent->type == PMIX_PROC) tool = *parent->data.proc;
    get(PMIX_LAUNCH_DIRECTIVES, &directives);
    PMIx_Register_event_handler(ends, 2, NULL, 0, tool_gone, NULL, NULL);
    if (tool.nspace[0]) be_ready(&has_tool);
    tell('d', directives);
    for (;;) pause();
}

/* --- the head's side ---------------------------------------------------------------------------------------------- */

int liaison_start(void) {
    int ends[2];
    const char* pipe = getenv("PMIX_KEEPALIVE_PIPE");
    if (pipe && atoi(pipe) > 2) fcntl(atoi(pipe), F_SETFD, FD_CLOEXEC); /* no process of a job holds it open */
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return -1;
    const pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        line = ends[1];
        be_the_process();
    }
    close(ends[1]);
    if (pid > 0) return ends[0];
    close(ends[0]);
    return -1;
}

void liaison_release(int to) {
    (void)send(to, "r", 1, MSG_NOSIGNAL | MSG_DONTWAIT); /* one that has gone needs none */
}

void liaison_server_up(int to) {
    (void)send(to, "u", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void liaison_end(int to) {
    const double until = waits_until(kEnd);
    char rest[64];
    shutdown(to, SHUT_WR);
    while (waits_readable(to, until) && recv(to, rest, sizeof rest, MSG_DONTWAIT) > 0) continue;
    close(to);
}

struct tidings liaison_read(int from) {
    struct tidings tidings = {0};
    uint8_t* bytes = xcalloc(MOST_BYTES, 1);
    const ssize_t size = recv(from, bytes, MOST_BYTES, MSG_DONTWAIT);
    if (size > 0) {
        struct buffer body = wire_view(bytes, (size_t)size);
        const uint8_t kind = wire_get_u8(&body);
        tidings.gone = kind == 'g';
        tidings.unmet = kind == 'x';
        wire_get_proc(&body, &tidings.tool);
        tidings.good = !body.bad;
        if (body.position < body.size) tidings.infos = wire_get_infos(&body, &tidings.count);
    }
    free(bytes);
    return tidings;
}
