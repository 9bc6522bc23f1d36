// SPDX-License-Identifier: BSD-3-Clause
/* tools_servers.h: what the programs on tools share: servers, as children of the program, forked before anybody
 * initialises and told what to do by single letters; and a tool's steps. */
#ifndef WIREUP_TESTS_INTEGRATION_TOOLS_SERVERS_H
#define WIREUP_TESTS_INTEGRATION_TOOLS_SERVERS_H

#include <grp.h>
#include <pmix_server.h>
#include <pmix_tool.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "check.h"

enum support { TOOLS, SYSTEM, NO_SUPPORT, NO_ENTRY };
enum { EVENT = -3107 };

struct server {
    pid_t pid;
    int line;
    pmix_proc_t name;
    pmix_nspace_t job;
    char uri[512];
};

/* --- the servers -----------------------------------------------------------------------------------------------------
 */

static unsigned seen, refused, named, pulled, spawned, ready;

static inline void on_tool(pmix_info_t* info, size_t ninfo, pmix_tool_connection_cbfunc_t cbfunc, void* cbdata) {
    pmix_proc_t name;
    const char* nspace = NULL;
    bool has_user = false, has_pid = false;
    pmix_rank_t rank = 0;
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_TOOL_NSPACE)) nspace = info[i].value.data.string;
        if (PMIX_CHECK_KEY(&info[i], PMIX_TOOL_RANK)) rank = info[i].value.data.rank;
        if (PMIX_CHECK_KEY(&info[i], PMIX_USERID)) has_user = info[i].value.data.uint32 == geteuid();
        if (PMIX_CHECK_KEY(&info[i], PMIX_PROC_PID)) has_pid = info[i].value.data.pid == getppid();
    }
    unsigned number = __atomic_add_fetch(&seen, 1, __ATOMIC_SEQ_CST);
    char made[64];
    snprintf(made, sizeof made, "assigned.%d.%u", (int)getpid(), number);
    if (nspace) __atomic_add_fetch(&named, 1, __ATOMIC_SEQ_CST);
    PMIX_LOAD_PROCID(&name, nspace ? nspace : made, rank);
    bool good = has_user && has_pid && !(nspace && strcmp(nspace, "unwanted") == 0);
    if (!good) __atomic_add_fetch(&refused, 1, __ATOMIC_SEQ_CST);
    cbfunc(good ? PMIX_SUCCESS : PMIX_ERR_NO_PERMISSIONS, &name, cbdata);
}

static inline pmix_status_t host_spawn(const pmix_proc_t* proc, const pmix_info_t job_info[], size_t ninfo,
                                       const pmix_app_t apps[], size_t napps, pmix_spawn_cbfunc_t cbfunc,
                                       void* cbdata) {
    bool is_tool = false;
    (void)proc, (void)apps;
    for (size_t i = 0; i < ninfo; i++) is_tool = is_tool || PMIX_CHECK_KEY(&job_info[i], PMIX_REQUESTOR_IS_TOOL);
    pmix_nspace_t child = "spawned-for-a-tool";
    spawned += is_tool && napps == 1;
    cbfunc(is_tool ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM, child, cbdata);
    return PMIX_SUCCESS;
}

static inline pmix_status_t host_control(const pmix_proc_t* requestor, const pmix_proc_t targets[], size_t ntargets,
                                         const pmix_info_t directives[], size_t ndirs, pmix_info_cbfunc_t cbfunc,
                                         void* cbdata) {
    (void)requestor, (void)targets, (void)directives, (void)ndirs;
    cbfunc(ntargets == 1 ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM, NULL, 0, cbdata, NULL, NULL);
    return PMIX_SUCCESS;
}

static inline pmix_status_t host_pull(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t directives[],
                                      size_t ndirs, pmix_iof_channel_t channels, pmix_op_cbfunc_t cbfunc,
                                      void* cbdata) {
    (void)procs, (void)nprocs, (void)directives, (void)ndirs, (void)channels, (void)cbfunc, (void)cbdata;
    pulled++;
    return PMIX_OPERATION_SUCCEEDED;
}

static inline void deliver_output(const char* job) {
    pmix_proc_t source;
    char text[] = "from the job\n";
    pmix_byte_object_t bytes = {text, sizeof text - 1};
    PMIX_LOAD_PROCID(&source, job, 0);
    CHECK_DONE(PMIx_server_IOF_deliver(&source, PMIX_FWD_STDOUT_CHANNEL, &bytes, NULL, 0, NULL, NULL));
}

/* A launcher that this server's host has started waits for its orders. */
static inline void launcher_ready(size_t handler, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[],
                                  size_t ninfo, pmix_info_t* results, size_t nresults,
                                  pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)handler, (void)status, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    __atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static inline void serve(enum support support, const char* nspace, const char* job, const char* file, int line) {
    static pmix_server_module_t module = {
        .tool_connected = on_tool, .spawn = host_spawn, .job_control = host_control, .iof_pull = host_pull};
    bool yes = true;
    uint32_t size = 1;
    pmix_info_t info[3];
    pmix_proc_t rank;
    size_t count = 1;
    if (support == NO_ENTRY) module.tool_connected = NULL;
    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_NSPACE, nspace, PMIX_STRING);
    if (support != NO_SUPPORT)
        PMIX_INFO_LOAD(&info[count++], support == SYSTEM ? PMIX_SERVER_SYSTEM_SUPPORT : PMIX_SERVER_TOOL_SUPPORT, &yes,
                       PMIX_BOOL);
    if (file) PMIX_INFO_LOAD(&info[count++], PMIX_LAUNCHER_RENDEZVOUS_FILE, file, PMIX_STRING);
    pmix_status_t status = PMIx_server_init(&module, info, count);
    CHECK(write(line, &status, sizeof status) == sizeof status);
    if (status != PMIX_SUCCESS) _exit(0);
    pmix_info_t directive;
    pmix_data_array_t directives = {.type = PMIX_INFO, .size = 1, .array = &directive};
    pmix_status_t code = PMIX_LAUNCHER_READY;
    CHECK(PMIx_Register_event_handler(&code, 1, NULL, 0, launcher_ready, NULL, NULL) >= 0);
    PMIX_INFO_LOAD(&directive, PMIX_DEBUG_STOP_ON_EXEC, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[0], PMIX_JOB_SIZE, &size, PMIX_UINT32);
    PMIX_INFO_LOAD(&info[1], PMIX_LAUNCH_DIRECTIVES, &directives, PMIX_DATA_ARRAY);
    CHECK_DONE(PMIx_server_register_nspace(job, 1, info, 2, NULL, NULL));
    PMIX_INFO_DESTRUCT(&info[1]);
    PMIX_LOAD_PROCID(&rank, job, 0);
    CHECK_DONE(PMIx_server_register_client(&rank, geteuid(), getegid(), NULL, NULL, NULL));
    char** env = NULL;
    CHECK_OK(PMIx_server_setup_fork(&rank, &env));
    char uri[512] = "";
    for (size_t i = 0; env[i]; i++)
        if (strncmp(env[i], "PMIX_SERVER_URI_WIREUP=", 23) == 0) snprintf(uri, sizeof uri, "%s", env[i] + 23);
    PMIX_ARGV_FREE(env);
    CHECK(write(line, uri, sizeof uri) == sizeof uri);
    for (char letter; read(line, &letter, 1) == 1;) {
        uint32_t answer = __atomic_load_n(&seen, __ATOMIC_SEQ_CST);
        if (letter == 'r') answer = __atomic_load_n(&refused, __ATOMIC_SEQ_CST);
        if (letter == 'e') CHECK_DONE(PMIx_Notify_event(EVENT, &rank, PMIX_RANGE_GLOBAL, NULL, 0, NULL, NULL));
        if (letter == 'o') deliver_output(job);
        if (letter == 'p') answer = pulled;
        if (letter == 'l') answer = __atomic_load_n(&ready, __ATOMIC_SEQ_CST);
        CHECK(write(line, &answer, sizeof answer) == sizeof answer);
        if (letter == 'q') break;
    }
    CHECK_OK(PMIx_server_finalize());
    _exit(0);
}

/* So much later. Not beside a thread of the library: what this one holds when it forks, the child never gets. */
static inline void fork_server(struct server* s, enum support support, const char* name, const char* file,
                               int after_ms) {
    int lines[2];
    char nspace[64];
    CHECK(!PMIx_Initialized());
    snprintf(nspace, sizeof nspace, "tools-%s.%d", name, (int)getpid());
    snprintf(s->job, sizeof s->job, "job-%s.%d", name, (int)getpid());
    PMIX_LOAD_PROCID(&s->name, nspace, 0);
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, lines) == 0);
    s->pid = fork();
    CHECK(s->pid >= 0);
    if (s->pid == 0) {
        close(lines[0]);
        usleep(after_ms * 1000);
        serve(support, nspace, s->job, file, lines[1]);
    }
    close(lines[1]);
    s->line = lines[0];
}

static inline pmix_status_t server_status(struct server* s) {
    pmix_status_t status = PMIX_ERROR;
    CHECK(read(s->line, &status, sizeof status) == sizeof status);
    if (status == PMIX_SUCCESS) CHECK(read(s->line, s->uri, sizeof s->uri) == sizeof s->uri);
    return status;
}

static inline pmix_status_t start_server(struct server* s, enum support support, const char* name, const char* file) {
    fork_server(s, support, name, file, 0);
    return server_status(s);
}

static inline uint32_t ask(struct server* s, char letter) {
    uint32_t number = 0;
    CHECK(write(s->line, &letter, 1) == 1);
    CHECK(read(s->line, &number, sizeof number) == sizeof number);
    return number;
}

static inline void end_server(struct server* s, int signal_number) {
    int status;
    if (signal_number) {
        CHECK(kill(s->pid, signal_number) == 0);
    } else {
        ask(s, 'q');
    }
    close(s->line);
    CHECK(waitpid(s->pid, &status, 0) == s->pid);
    CHECK(signal_number ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* --- the tool --------------------------------------------------------------------------------------------------------
 */

static inline pmix_status_t init_with(const char* key, const void* value, pmix_data_type_t type) {
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, key, value, type);
    pmix_status_t status = PMIx_tool_init(&me, &info, 1);
    PMIX_INFO_DESTRUCT(&info);
    return status;
}

static inline pmix_status_t attach_to(const char* key, const void* value, pmix_data_type_t type, bool primary,
                                      pmix_proc_t* server) {
    pmix_info_t info[2];
    bool yes = true;
    PMIX_INFO_LOAD(&info[0], key, value, type);
    PMIX_INFO_LOAD(&info[1], PMIX_PRIMARY_SERVER, &yes, PMIX_BOOL);
    pmix_status_t status = PMIx_tool_attach_to_server(NULL, server, info, primary ? 2 : 1);
    PMIX_INFO_DESTRUCT(&info[0]);
    return status;
}

static inline pmix_proc_t primary_server(void) {
    pmix_proc_t *servers = NULL, first;
    size_t count = 0;
    CHECK_OK(PMIx_tool_get_servers(&servers, &count));
    CHECK(count > 0 && PMIx_tool_is_connected());
    first = servers[0];
    PMIX_PROC_FREE(servers, count);
    return first;
}

/* Connected there by this one attribute, and gone again. */
static inline void finds(const char* key, const void* value, pmix_data_type_t type, const struct server* wanted) {
    CHECK_OK(init_with(key, value, type));
    pmix_proc_t server = primary_server();
    CHECK(PMIX_CHECK_PROCID(&server, &wanted->name));
    CHECK(strncmp(me.nspace, "assigned.", 9) == 0 && me.rank == 0);
    /* Where it listens, of which the tool may know one address only. */
    pmix_value_t* uri = NULL;
    CHECK_OK(PMIx_Get(NULL, PMIX_SERVER_URI, NULL, 0, &uri));
    CHECK(uri->type == PMIX_STRING && strncmp(uri->data.string, wanted->uri, strcspn(wanted->uri, ";") + 1) == 0);
    PMIX_VALUE_RELEASE(uri);
    CHECK_OK(PMIx_tool_finalize());
    CHECK(!PMIx_Initialized());
}

static inline void refuses(const char* key, const void* value, pmix_data_type_t type, pmix_status_t wanted) {
    CHECK_STATUS(init_with(key, value, type), wanted);
    CHECK(!PMIx_Initialized());
    CHECK_STATUS(PMIx_tool_finalize(), PMIX_ERR_INIT);
}

/* The same two by attaching, for a tool that is there already. */
static inline void finds_later(const char* key, const void* value, pmix_data_type_t type, const struct server* wanted) {
    bool yes = true;
    pmix_proc_t server;
    CHECK_OK(init_with(PMIX_TOOL_DO_NOT_CONNECT, &yes, PMIX_BOOL));
    CHECK_OK(attach_to(key, value, type, false, &server));
    CHECK(PMIX_CHECK_PROCID(&server, &wanted->name));
    server = primary_server();
    CHECK(PMIX_CHECK_PROCID(&server, &wanted->name));
    CHECK_OK(PMIx_tool_finalize());
}

static inline void refuses_later(const char* key, const void* value, pmix_data_type_t type, pmix_status_t wanted) {
    bool yes = true;
    CHECK_OK(init_with(PMIX_TOOL_DO_NOT_CONNECT, &yes, PMIX_BOOL));
    CHECK_STATUS(attach_to(key, value, type, false, NULL), wanted);
    CHECK(!PMIx_tool_is_connected());
    CHECK_OK(PMIx_tool_finalize());
}

static inline void finds_both(const char* key, const void* value, pmix_data_type_t type, const struct server* wanted) {
    finds(key, value, type, wanted);
    finds_later(key, value, type, wanted);
}

static inline void refuses_both(const char* key, const void* value, pmix_data_type_t type, pmix_status_t wanted) {
    refuses(key, value, type, wanted);
    refuses_later(key, value, type, wanted);
}

static inline pmix_status_t query_text(const char* key, char* text, size_t size) {
    pmix_query_t query;
    pmix_info_t* results = NULL;
    size_t count = 0;
    pmix_status_t status;
    PMIX_QUERY_CONSTRUCT(&query);
    PMIX_ARGV_APPEND(status, query.keys, key);
    status = PMIx_Query_info(&query, 1, &results, &count);
    text[0] = '\0';
    if (status == PMIX_SUCCESS && count > 0 && results[0].value.type == PMIX_STRING)
        snprintf(text, size, "%s", results[0].value.data.string);
    if (results) PMIX_INFO_FREE(results, count);
    PMIX_QUERY_DESTRUCT(&query);
    return status;
}

static inline void in_directory(char* path, size_t size, const char* name) {
    const char* directory = getenv("TMPDIR");
    snprintf(path, size, "%s/%s", directory ? directory : "/tmp", name);
}

/* --- its events --- */

static uint32_t heard, lost;
static pmix_proc_t lost_server;

static inline void on_event(size_t handler, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[],
                            size_t ninfo, pmix_info_t* results, size_t nresults,
                            pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)handler, (void)results, (void)nresults;
    bool non_default = false;
    for (size_t i = 0; i < ninfo; i++)
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_NON_DEFAULT)) non_default = PMIX_INFO_TRUE(&info[i]);
    if (status == PMIX_EVENT_JOB_END) CHECK(non_default); /* the library's own, when the process that started it goes */
    if (status == PMIX_ERR_LOST_CONNECTION) {
        lost_server = *source;
        __atomic_add_fetch(&lost, 1, __ATOMIC_SEQ_CST);
    } else {
        __atomic_add_fetch(&heard, 1, __ATOMIC_SEQ_CST);
    }
    done(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
}

static inline void until(const uint32_t* counter, uint32_t wanted) {
    double end = seconds_now() + 60;
    while (__atomic_load_n(counter, __ATOMIC_SEQ_CST) < wanted) {
        CHECK(seconds_now() < end);
        usleep(1000);
    }
    CHECK(__atomic_load_n(counter, __ATOMIC_SEQ_CST) == wanted);
}

#endif
