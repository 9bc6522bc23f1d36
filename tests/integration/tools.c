/* tools: what a tool can do with the servers of this node. The servers are children of this program, forked before
 * anybody initialises, and told what to do by single letters.
 * usage: tools CASE */
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
    char job[64];
    char uri[512];
};

/* --- the servers ----------------------------------------------------------------------------------------------------- */

static unsigned seen, refused, named, pulled, spawned;

static void tool_came(pmix_info_t* info, size_t ninfo, pmix_tool_connection_cbfunc_t cbfunc, void* cbdata) {
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

static pmix_status_t host_spawn(const pmix_proc_t* proc, const pmix_info_t job_info[], size_t ninfo,
                                const pmix_app_t apps[], size_t napps, pmix_spawn_cbfunc_t cbfunc, void* cbdata) {
    bool is_tool = false;
    (void)proc, (void)apps;
    for (size_t i = 0; i < ninfo; i++) is_tool = is_tool || PMIX_CHECK_KEY(&job_info[i], PMIX_REQUESTOR_IS_TOOL);
    pmix_nspace_t child = "spawned-for-a-tool";
    spawned += is_tool && napps == 1;
    cbfunc(is_tool ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM, child, cbdata);
    return PMIX_SUCCESS;
}

static pmix_status_t host_control(const pmix_proc_t* requestor, const pmix_proc_t targets[], size_t ntargets,
                                  const pmix_info_t directives[], size_t ndirs, pmix_info_cbfunc_t cbfunc, void* cbdata) {
    (void)requestor, (void)targets, (void)directives, (void)ndirs;
    cbfunc(ntargets == 1 ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM, NULL, 0, cbdata, NULL, NULL);
    return PMIX_SUCCESS;
}

static pmix_status_t host_pull(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t directives[], size_t ndirs,
                               pmix_iof_channel_t channels, pmix_op_cbfunc_t cbfunc, void* cbdata) {
    (void)procs, (void)nprocs, (void)directives, (void)ndirs, (void)channels, (void)cbfunc, (void)cbdata;
    pulled++;
    return PMIX_OPERATION_SUCCEEDED;
}

static void deliver_output(const char* job) {
    pmix_proc_t source;
    char text[] = "from the job\n";
    pmix_byte_object_t bytes = {text, sizeof text - 1};
    PMIX_LOAD_PROCID(&source, job, 0);
    CHECK_DONE(PMIx_server_IOF_deliver(&source, PMIX_FWD_STDOUT_CHANNEL, &bytes, NULL, 0, NULL, NULL));
}

static void serve(enum support support, const char* nspace, const char* job, const char* file, int line) {
    static pmix_server_module_t module = {.tool_connected = tool_came, .spawn = host_spawn, .job_control = host_control,
                                          .iof_pull = host_pull};
    bool yes = true;
    uint32_t size = 1;
    pmix_info_t info[3];
    pmix_proc_t rank;
    size_t count = 1;
    if (support == NO_ENTRY) module.tool_connected = NULL;
    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_NSPACE, nspace, PMIX_STRING);
    if (support != NO_SUPPORT)
        PMIX_INFO_LOAD(&info[count++], support == SYSTEM ? PMIX_SERVER_SYSTEM_SUPPORT : PMIX_SERVER_TOOL_SUPPORT, &yes, PMIX_BOOL);
    if (file) PMIX_INFO_LOAD(&info[count++], PMIX_LAUNCHER_RENDEZVOUS_FILE, file, PMIX_STRING);
    pmix_status_t status = PMIx_server_init(&module, info, count);
    CHECK(write(line, &status, sizeof status) == sizeof status);
    if (status != PMIX_SUCCESS) _exit(0);
    PMIX_INFO_LOAD(&info[0], PMIX_JOB_SIZE, &size, PMIX_UINT32);
    CHECK_DONE(PMIx_server_register_nspace(job, 1, info, 1, NULL, NULL));
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
        CHECK(write(line, &answer, sizeof answer) == sizeof answer);
        if (letter == 'q') break;
    }
    CHECK_OK(PMIx_server_finalize());
    _exit(0);
}

static pmix_status_t start_server(struct server* s, enum support support, const char* name, const char* file) {
    int lines[2];
    pmix_status_t status = PMIX_ERROR;
    char nspace[64];
    snprintf(nspace, sizeof nspace, "tools-%s.%d", name, (int)getpid());
    snprintf(s->job, sizeof s->job, "job-%s.%d", name, (int)getpid());
    PMIX_LOAD_PROCID(&s->name, nspace, 0);
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, lines) == 0);
    s->pid = fork();
    CHECK(s->pid >= 0);
    if (s->pid == 0) {
        close(lines[0]);
        serve(support, nspace, s->job, file, lines[1]);
    }
    close(lines[1]);
    s->line = lines[0];
    CHECK(read(s->line, &status, sizeof status) == sizeof status);
    if (status == PMIX_SUCCESS) CHECK(read(s->line, s->uri, sizeof s->uri) == sizeof s->uri);
    return status;
}

static uint32_t ask(struct server* s, char letter) {
    uint32_t number = 0;
    CHECK(write(s->line, &letter, 1) == 1);
    CHECK(read(s->line, &number, sizeof number) == sizeof number);
    return number;
}

static void end_server(struct server* s, int signal_number) {
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

/* --- the tool -------------------------------------------------------------------------------------------------------- */

static pmix_status_t init_with(const char* key, const void* value, pmix_data_type_t type) {
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, key, value, type);
    pmix_status_t status = PMIx_tool_init(&me, &info, 1);
    PMIX_INFO_DESTRUCT(&info);
    return status;
}

static pmix_status_t attach_to(const char* key, const void* value, pmix_data_type_t type, bool primary, pmix_proc_t* server) {
    pmix_info_t info[2];
    bool yes = true;
    PMIX_INFO_LOAD(&info[0], key, value, type);
    PMIX_INFO_LOAD(&info[1], PMIX_PRIMARY_SERVER, &yes, PMIX_BOOL);
    pmix_status_t status = PMIx_tool_attach_to_server(NULL, server, info, primary ? 2 : 1);
    PMIX_INFO_DESTRUCT(&info[0]);
    return status;
}

static pmix_proc_t primary_server(void) {
    pmix_proc_t *servers = NULL, first;
    size_t count = 0;
    CHECK_OK(PMIx_tool_get_servers(&servers, &count));
    CHECK(count > 0 && PMIx_tool_is_connected());
    first = servers[0];
    PMIX_PROC_FREE(servers, count);
    return first;
}

/* Connected there by this one attribute, and gone again. */
static void finds(const char* key, const void* value, pmix_data_type_t type, const struct server* wanted) {
    CHECK_OK(init_with(key, value, type));
    pmix_proc_t server = primary_server();
    CHECK(PMIX_CHECK_PROCID(&server, &wanted->name));
    CHECK(strncmp(me.nspace, "assigned.", 9) == 0 && me.rank == 0);
    CHECK_OK(PMIx_tool_finalize());
    CHECK(!PMIx_Initialized());
}

static void refuses(const char* key, const void* value, pmix_data_type_t type, pmix_status_t wanted) {
    CHECK_STATUS(init_with(key, value, type), wanted);
    CHECK(!PMIx_Initialized());
    CHECK_STATUS(PMIx_tool_finalize(), PMIX_ERR_INIT);
}

static pmix_status_t query_text(const char* key, char* text, size_t size) {
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

static void in_directory(char* path, size_t size, const char* name) {
    const char* directory = getenv("TMPDIR");
    snprintf(path, size, "%s/%s", directory ? directory : "/tmp", name);
}

/* rows: T1 T2 T5 T6 T12 */
static void ways(void) {
    struct server a, b;
    bool yes = true;
    pid_t nobody = 0x3fffff;
    char file[512], uri[600];
    in_directory(file, sizeof file, "rendezvous");
    CHECK_OK(start_server(&a, TOOLS, "a", file));
    CHECK_OK(start_server(&b, SYSTEM, "b", NULL));
    finds(PMIX_SERVER_URI, a.uri, PMIX_STRING, &a);
    finds(PMIX_TCP_URI, b.uri, PMIX_STRING, &b);
    finds(PMIX_SERVER_PIDINFO, &a.pid, PMIX_PID, &a);
    finds(PMIX_SERVER_PIDINFO, &b.pid, PMIX_PID, &b);
    finds(PMIX_SERVER_NSPACE, b.name.nspace, PMIX_STRING, &b);
    finds(PMIX_CONNECT_TO_SYSTEM, &yes, PMIX_BOOL, &b);
    finds(PMIX_CONNECT_SYSTEM_FIRST, &yes, PMIX_BOOL, &b);
    finds(PMIX_TOOL_ATTACHMENT_FILE, file, PMIX_STRING, &a);
    snprintf(uri, sizeof uri, "file:%s", file);
    finds(PMIX_SERVER_URI, uri, PMIX_STRING, &a);
    setenv("PMIX_SERVER_URI_WIREUP", b.uri, 1);
    finds(PMIX_TIMEOUT, &(int){20}, PMIX_INT, &b);
    finds(PMIX_SERVER_URI, a.uri, PMIX_STRING, &a); /* what is said here counts more */
    unsetenv("PMIX_SERVER_URI_WIREUP");

    pmix_info_t both[2];
    PMIX_INFO_LOAD(&both[0], PMIX_SERVER_URI, a.uri, PMIX_STRING);
    PMIX_INFO_LOAD(&both[1], PMIX_TCP_URI, b.uri, PMIX_STRING);
    CHECK_STATUS(PMIx_tool_init(&me, both, 2), PMIX_ERR_BAD_PARAM);
    PMIX_INFO_DESTRUCT(&both[0]);
    PMIX_INFO_DESTRUCT(&both[1]);
    refuses(PMIX_SERVER_PIDINFO, &nobody, PMIX_PID, PMIX_ERR_UNREACH);
    refuses(PMIX_SERVER_NSPACE, "nobody-is-called-that", PMIX_STRING, PMIX_ERR_UNREACH);
    refuses(PMIX_SERVER_URI, "tools.0;tcp4://127.0.0.1:1", PMIX_STRING, PMIX_ERR_BAD_PARAM);
    refuses(PMIX_TOOL_ATTACHMENT_FILE, "/nonexistent/file", PMIX_STRING, PMIX_ERR_NOT_FOUND);
    refuses(PMIX_TOOL_RANK, &(pmix_rank_t){1}, PMIX_PROC_RANK, PMIX_ERR_BAD_PARAM);

    /* Somewhere, when nothing is said; and not at a server that one has. */
    CHECK_OK(PMIx_tool_init(NULL, NULL, 0));
    CHECK(PMIx_tool_is_connected());
    CHECK_OK(PMIx_tool_init(&me, NULL, 0));
    CHECK_OK(PMIx_tool_finalize());
    CHECK(PMIx_tool_is_connected());
    CHECK_OK(PMIx_tool_finalize());

    end_server(&a, 0);
    CHECK(access(file, F_OK) != 0);
    end_server(&b, 0);
    refuses(PMIX_SERVER_URI, a.uri, PMIX_STRING, PMIX_ERR_UNREACH);
}

/* A rendezvous file: nobody's but its owner's; one that a killed server left is no server and is in nobody's way. */
/* rows: T2 T12 */
static void file(void) {
    struct server a, b;
    struct stat info;
    char path[512];
    in_directory(path, sizeof path, "left");
    CHECK_OK(start_server(&a, TOOLS, "a", path));
    CHECK(stat(path, &info) == 0 && (info.st_mode & 07777) == 0600 && S_ISREG(info.st_mode));
    CHECK_STATUS(start_server(&b, TOOLS, "b", path), PMIX_ERR_EXISTS);
    close(b.line);
    CHECK(waitpid(b.pid, NULL, 0) == b.pid);
    end_server(&a, SIGKILL);
    CHECK(access(path, F_OK) == 0);
    refuses(PMIX_TOOL_ATTACHMENT_FILE, path, PMIX_STRING, PMIX_ERR_UNREACH);
    CHECK_OK(start_server(&b, TOOLS, "b", path));
    finds(PMIX_TOOL_ATTACHMENT_FILE, path, PMIX_STRING, &b);
    CHECK(chmod(path, 0622) == 0);
    refuses(PMIX_TOOL_ATTACHMENT_FILE, path, PMIX_STRING, PMIX_ERR_NO_PERMISSIONS);
    end_server(&b, 0);
    CHECK(access(path, F_OK) != 0);

    /* Something else of that name is left alone. */
    FILE* other = fopen(path, "w");
    CHECK(other && fputs("something else\n", other) >= 0 && fclose(other) == 0);
    CHECK_STATUS(start_server(&a, TOOLS, "a", path), PMIX_ERR_EXISTS);
    close(a.line);
    CHECK(waitpid(a.pid, NULL, 0) == a.pid);
    refuses(PMIX_TOOL_ATTACHMENT_FILE, path, PMIX_STRING, PMIX_ERR_BAD_PARAM);
    CHECK(unlink(path) == 0);
}

/* rows: C9 T3 T4 */
static void identity(void) {
    struct server a;
    bool yes = true;
    pmix_rank_t rank = 7;
    pmix_info_t info[3];
    pmix_value_t* value = NULL;
    pmix_proc_t* servers = NULL;
    size_t count = 1;
    char text[256];
    CHECK_OK(start_server(&a, TOOLS, "a", NULL));

    /* Not connected, not named: nobody to others, and all that needs a server says so. */
    me.rank = 1;
    CHECK_OK(init_with(PMIX_TOOL_DO_NOT_CONNECT, &yes, PMIX_BOOL));
    CHECK(me.nspace[0] == '\0' && me.rank == PMIX_RANK_UNDEF);
    CHECK(!PMIx_tool_is_connected());
    CHECK_STATUS(PMIx_tool_get_servers(&servers, &count), PMIX_ERR_UNREACH);
    CHECK(!servers && count == 0);
    CHECK_STATUS(query_text(PMIX_QUERY_NAMESPACES, text, sizeof text), PMIX_ERR_UNREACH);
    CHECK_STATUS(PMIx_Publish(NULL, 0), PMIX_ERR_BAD_PARAM);
    pmix_app_t app;
    pmix_nspace_t child;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = text;
    app.maxprocs = 1;
    snprintf(text, sizeof text, "true");
    CHECK_STATUS(PMIx_Spawn(NULL, 0, &app, 1, child), PMIX_ERR_UNREACH); /* a launcher has its server do it */
    CHECK_STATUS(PMIx_tool_disconnect(&a.name), PMIX_ERR_NOT_FOUND);
    /* Later it may be connected, and stays who it was. */
    pmix_proc_t server, mine;
    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_URI, a.uri, PMIX_STRING);
    CHECK_OK(PMIx_tool_attach_to_server(&mine, &server, info, 1));
    CHECK(PMIX_CHECK_PROCID(&server, &a.name) && strncmp(mine.nspace, "tool.", 5) == 0 && mine.rank == 0);
    CHECK_OK(query_text(PMIX_QUERY_NAMESPACES, text, sizeof text));
    CHECK_OK(PMIx_tool_finalize());

    PMIX_INFO_LOAD(&info[1], PMIX_TOOL_NSPACE, "a-tool", PMIX_STRING);
    CHECK_OK(PMIx_tool_init(&me, info, 2));
    CHECK(strcmp(me.nspace, "a-tool") == 0 && me.rank == 0);
    CHECK_OK(PMIx_tool_finalize());
    PMIX_INFO_LOAD(&info[2], PMIX_TOOL_RANK, &rank, PMIX_PROC_RANK);
    CHECK_OK(PMIx_tool_init(&me, info, 3));
    CHECK(strcmp(me.nspace, "a-tool") == 0 && me.rank == 7);
    CHECK_STATUS(PMIx_Get(&me, "nothing-is-there", NULL, 0, &value), PMIX_ERR_NOT_FOUND);
    CHECK_OK(PMIx_tool_finalize());

    /* The host may say no, and a job's name is its processes'. */
    uint32_t before = ask(&a, 'r');
    PMIX_INFO_DESTRUCT(&info[1]);
    PMIX_INFO_LOAD(&info[1], PMIX_TOOL_NSPACE, "unwanted", PMIX_STRING);
    CHECK_STATUS(PMIx_tool_init(&me, info, 2), PMIX_ERR_NO_PERMISSIONS);
    CHECK(ask(&a, 'r') == before + 1);
    PMIX_INFO_DESTRUCT(&info[1]);
    PMIX_INFO_LOAD(&info[1], PMIX_TOOL_NSPACE, a.job, PMIX_STRING);
    CHECK_STATUS(PMIx_tool_init(&me, info, 2), PMIX_ERR_EXISTS);
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);

    /* Only a tool is a tool. */
    CHECK_STATUS(PMIx_tool_get_servers(&servers, &count), PMIX_ERR_INIT);
    CHECK_STATUS(PMIx_tool_set_server(&a.name, NULL, 0), PMIX_ERR_INIT);
    CHECK_STATUS(PMIx_tool_finalize(), PMIX_ERR_INIT);
    end_server(&a, 0);
}

/* --- several servers --- */

static uint32_t heard, lost;
static pmix_proc_t lost_server;

static void on_event(size_t handler, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t* results, size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)handler, (void)info, (void)ninfo, (void)results, (void)nresults;
    if (status == PMIX_ERR_LOST_CONNECTION) {
        lost_server = *source;
        __atomic_add_fetch(&lost, 1, __ATOMIC_SEQ_CST);
    } else {
        __atomic_add_fetch(&heard, 1, __ATOMIC_SEQ_CST);
    }
    done(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
}

static void until(const uint32_t* counter, uint32_t wanted) {
    double end = seconds_now() + 20;
    while (__atomic_load_n(counter, __ATOMIC_SEQ_CST) < wanted) {
        CHECK(seconds_now() < end);
        usleep(1000);
    }
    CHECK(__atomic_load_n(counter, __ATOMIC_SEQ_CST) == wanted);
}

/* rows: T7 T8 T9 T10 */
static void several(void) {
    struct server a, b;
    pmix_proc_t server, *servers;
    size_t count;
    char text[256];
    CHECK_OK(start_server(&a, TOOLS, "a", NULL));
    CHECK_OK(start_server(&b, TOOLS, "b", NULL));
    CHECK_OK(init_with(PMIX_SERVER_URI, a.uri, PMIX_STRING));
    pmix_proc_t was = me;
    CHECK_OK(attach_to(PMIX_SERVER_PIDINFO, &b.pid, PMIX_PID, false, &server));
    CHECK(PMIX_CHECK_PROCID(&server, &b.name));
    /* The same again is no second connection. */
    CHECK_OK(attach_to(PMIX_SERVER_URI, b.uri, PMIX_STRING, false, &server));
    CHECK_OK(attach_to(PMIX_SERVER_NSPACE, b.name.nspace, PMIX_STRING, false, &server));
    CHECK(ask(&b, 's') == 1);
    CHECK_OK(PMIx_tool_get_servers(&servers, &count));
    CHECK(count == 2 && PMIX_CHECK_PROCID(&servers[0], &a.name) && PMIX_CHECK_PROCID(&servers[1], &b.name));
    PMIX_PROC_FREE(servers, count);

    CHECK_OK(query_text(PMIX_QUERY_NAMESPACES, text, sizeof text));
    CHECK(strcmp(text, a.job) == 0);
    CHECK_OK(PMIx_tool_set_server(&b.name, NULL, 0));
    CHECK_OK(query_text(PMIX_QUERY_NAMESPACES, text, sizeof text));
    CHECK(strcmp(text, b.job) == 0);
    CHECK_OK(PMIx_tool_get_servers(&servers, &count));
    CHECK(count == 2 && PMIX_CHECK_PROCID(&servers[0], &b.name) && PMIX_CHECK_PROCID(&servers[1], &a.name));
    PMIX_PROC_FREE(servers, count);
    /* Who the tool is does not depend on it. */
    PMIX_LOAD_PROCID(&server, "nobody", 0);
    CHECK_STATUS(PMIx_tool_set_server(&server, NULL, 0), PMIX_ERR_UNREACH);
    CHECK_STATUS(PMIx_tool_disconnect(&server), PMIX_ERR_NOT_FOUND);
    CHECK_STATUS(PMIx_tool_disconnect(NULL), PMIX_ERR_BAD_PARAM);

    CHECK_OK(PMIx_tool_disconnect(&b.name));
    CHECK(!PMIx_tool_is_connected());
    CHECK_STATUS(query_text(PMIX_QUERY_NAMESPACES, text, sizeof text), PMIX_ERR_UNREACH);
    CHECK_OK(PMIx_tool_set_server(&a.name, NULL, 0));
    CHECK_OK(query_text(PMIX_QUERY_NAMESPACES, text, sizeof text));
    CHECK(strcmp(text, a.job) == 0);
    CHECK_OK(attach_to(PMIX_SERVER_URI, b.uri, PMIX_STRING, true, &server));
    server = primary_server();
    CHECK(PMIX_CHECK_PROCID(&server, &b.name));
    CHECK_OK(PMIx_tool_init(&me, NULL, 0));
    CHECK(PMIX_CHECK_PROCID(&me, &was));
    CHECK_OK(PMIx_tool_finalize());

    /* One goes by itself: it is told, the other goes on. */
    pmix_status_t code = PMIX_ERR_LOST_CONNECTION;
    CHECK(PMIx_Register_event_handler(&code, 1, NULL, 0, on_event, NULL, NULL) >= 0);
    end_server(&b, SIGKILL);
    until(&lost, 1);
    CHECK(PMIX_CHECK_PROCID(&lost_server, &b.name));
    CHECK_STATUS(query_text(PMIX_QUERY_NAMESPACES, text, sizeof text), PMIX_ERR_UNREACH);
    CHECK_OK(PMIx_tool_set_server(&a.name, NULL, 0));
    CHECK_OK(query_text(PMIX_QUERY_NAMESPACES, text, sizeof text));
    CHECK_OK(PMIx_tool_finalize());
    end_server(&a, 0);
}

/* rows: T4 */
static void events(void) {
    struct server a, b;
    bool yes = true;
    pmix_status_t code = EVENT;
    CHECK_OK(start_server(&a, TOOLS, "a", NULL));
    CHECK_OK(start_server(&b, TOOLS, "b", NULL));
    /* A handler that is older than the first connection. */
    CHECK_OK(init_with(PMIX_TOOL_DO_NOT_CONNECT, &yes, PMIX_BOOL));
    pmix_status_t handler = PMIx_Register_event_handler(&code, 1, NULL, 0, on_event, NULL, NULL);
    CHECK(handler >= 0);
    CHECK_OK(attach_to(PMIX_SERVER_URI, a.uri, PMIX_STRING, false, NULL));
    ask(&a, 'e');
    until(&heard, 1);
    /* It stays with its server, whichever is the primary one. */
    CHECK_OK(attach_to(PMIX_SERVER_URI, b.uri, PMIX_STRING, true, NULL));
    ask(&a, 'e');
    until(&heard, 2);
    /* And moves when that one has gone. */
    end_server(&a, 0);
    CHECK_OK(PMIx_tool_disconnect(&b.name));
    CHECK_OK(attach_to(PMIX_SERVER_URI, b.uri, PMIX_STRING, true, NULL));
    ask(&b, 'e');
    until(&heard, 3);
    /* Its own events come back to it. */
    CHECK_OK(PMIx_Notify_event(EVENT, NULL, PMIX_RANGE_LOCAL, NULL, 0, NULL, NULL));
    until(&heard, 4);
    CHECK_OK(PMIx_Deregister_event_handler((size_t)handler, NULL, NULL));
    CHECK_OK(PMIx_tool_finalize());
    end_server(&b, 0);
}

/* --- the calls of clients --- */

static uint32_t outputs;

static void on_output(size_t handler, pmix_iof_channel_t channel, pmix_proc_t* source, pmix_byte_object_t* payload,
                      pmix_info_t info[], size_t ninfo) {
    (void)handler, (void)channel, (void)source, (void)info, (void)ninfo;
    if (payload->size == 13 && memcmp(payload->bytes, "from the job\n", 13) == 0)
        __atomic_add_fetch(&outputs, 1, __ATOMIC_SEQ_CST);
}

/* rows: T1 */
static void calls(void) {
    struct server a, b;
    pmix_value_t* value = NULL;
    pmix_proc_t job;
    pmix_app_t app;
    pmix_nspace_t child;
    bool yes = true;
    CHECK_OK(start_server(&a, TOOLS, "a", NULL));
    CHECK_OK(start_server(&b, TOOLS, "b", NULL));
    CHECK_OK(init_with(PMIX_SERVER_URI, a.uri, PMIX_STRING));
    PMIX_LOAD_PROCID(&job, a.job, PMIX_RANK_WILDCARD);
    CHECK_OK(PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value));
    CHECK(value->type == PMIX_UINT32 && value->data.uint32 == 1);
    PMIX_VALUE_RELEASE(value);

    PMIX_APP_CONSTRUCT(&app);
    app.cmd = strdup("true");
    app.maxprocs = 1;
    CHECK_OK(PMIx_Spawn(NULL, 0, &app, 1, child));
    CHECK(strcmp(child, "spawned-for-a-tool") == 0);
    PMIX_APP_DESTRUCT(&app);

    pmix_info_t directive;
    PMIX_INFO_LOAD(&directive, PMIX_JOB_CTRL_TERMINATE, &yes, PMIX_BOOL);
    CHECK_DONE(PMIx_Job_control(&job, 1, &directive, 1, NULL, NULL));

    pmix_status_t pull = PMIx_IOF_pull(&job, 1, NULL, 0, PMIX_FWD_STDOUT_CHANNEL, on_output, NULL, NULL);
    CHECK(pull >= 0 && ask(&a, 'p') == 1);
    ask(&a, 'o');
    until(&outputs, 1);
    /* From the server that has it, also when another is the primary one: credit and end included. */
    CHECK_OK(attach_to(PMIX_SERVER_URI, b.uri, PMIX_STRING, true, NULL));
    for (uint32_t i = 0; i < 2000; i++) ask(&a, 'o');
    until(&outputs, 2001);
    CHECK_OK(PMIx_IOF_deregister((size_t)pull, NULL, 0, NULL, NULL));
    CHECK(ask(&a, 'p') == 2 && ask(&b, 'p') == 0);

    /* The job of the one is nothing to the other. */
    CHECK_STATUS(PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value), PMIX_ERR_NOT_FOUND);
    PMIX_LOAD_PROCID(&job, b.job, PMIX_RANK_WILDCARD);
    CHECK_OK(PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value));
    PMIX_VALUE_RELEASE(value);
    CHECK_OK(PMIx_tool_finalize());
    end_server(&a, 0);
    end_server(&b, 0);
}

/* --- who is not let in --- */

/* rows: T14 */
static void off(void) {
    struct server a, b;
    bool yes = true;
    double begun = seconds_now();
    CHECK_OK(start_server(&a, NO_SUPPORT, "a", NULL));
    CHECK_OK(start_server(&b, NO_ENTRY, "b", NULL));
    refuses(PMIX_SERVER_URI, a.uri, PMIX_STRING, PMIX_ERR_NOT_SUPPORTED);
    refuses(PMIX_SERVER_PIDINFO, &b.pid, PMIX_PID, PMIX_ERR_NOT_SUPPORTED);
    refuses(PMIX_SERVER_NSPACE, a.name.nspace, PMIX_STRING, PMIX_ERR_NOT_SUPPORTED);
    CHECK(ask(&a, 's') == 0 && ask(&b, 's') == 0);
    CHECK(seconds_now() - begun < 15);
    /* An observer needs no host. */
    pmix_info_t info[2];
    char text[256];
    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_URI, a.uri, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], WIREUP_OBSERVER, &yes, PMIX_BOOL);
    CHECK_OK(PMIx_tool_init(&me, info, 2));
    CHECK_OK(query_text(PMIX_QUERY_NAMESPACES, text, sizeof text));
    CHECK(strcmp(text, a.job) == 0);
    CHECK_STATUS(PMIx_Notify_event(EVENT, NULL, PMIX_RANGE_GLOBAL, NULL, 0, NULL, NULL), PMIX_ERR_NO_PERMISSIONS);
    CHECK_OK(PMIx_tool_finalize());
    CHECK(ask(&a, 's') == 0);
    PMIX_INFO_DESTRUCT(&info[0]);
    end_server(&a, 0);
    end_server(&b, 0);
}

static void* start_late(void* argument) {
    usleep(300000);
    CHECK_OK(start_server(argument, TOOLS, "late", NULL));
    return NULL;
}

/* rows: T10 */
static void waits(void) {
    struct server late;
    pthread_t thread;
    pmix_info_t info[3];
    bool yes = true;
    int limit = 1;
    uint32_t retries = 100, delay = 1;
    char nspace[64];
    snprintf(nspace, sizeof nspace, "tools-late.%d", (int)getpid());
    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_NSPACE, nspace, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_WAIT_FOR_CONNECTION, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[2], PMIX_TIMEOUT, &limit, PMIX_INT);
    double begun = seconds_now();
    CHECK_STATUS(PMIx_tool_init(&me, info, 3), PMIX_ERR_TIMEOUT);
    CHECK(seconds_now() - begun >= 1);
    CHECK(pthread_create(&thread, NULL, start_late, &late) == 0);
    CHECK_OK(PMIx_tool_init(&me, info, 2));
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_OK(PMIx_tool_finalize());
    end_server(&late, 0);
    /* So many tries, so far apart. */
    PMIX_INFO_LOAD(&info[1], PMIX_CONNECT_MAX_RETRIES, &retries, PMIX_UINT32);
    PMIX_INFO_LOAD(&info[2], PMIX_CONNECT_RETRY_DELAY, &delay, PMIX_UINT32);
    CHECK(pthread_create(&thread, NULL, start_late, &late) == 0);
    CHECK_OK(PMIx_tool_init(&me, info, 3));
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_OK(PMIx_tool_disconnect(&late.name));
    end_server(&late, 0);
    /* And to one that is to be the primary one. */
    PMIX_INFO_LOAD(&info[1], PMIX_WAIT_FOR_CONNECTION, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[2], PMIX_TIMEOUT, &limit, PMIX_INT);
    CHECK_STATUS(PMIx_tool_set_server(&late.name, &info[1], 2), PMIX_ERR_TIMEOUT);
    CHECK_OK(PMIx_tool_finalize());
    PMIX_INFO_DESTRUCT(&info[0]);
}

/* What another user's tool is told; as that user, in a process of its own. */
static void refuse_stranger(const struct server* a, const struct server* system) {
    pid_t child = fork();
    int status;
    CHECK(child >= 0);
    if (child == 0) {
        bool yes = true;
        pmix_info_t info[2];
        CHECK(setgroups(0, NULL) == 0 && setgid(64102) == 0 && setuid(64102) == 0);
        refuses(PMIX_SERVER_URI, a->uri, PMIX_STRING, PMIX_ERR_NO_PERMISSIONS);
        refuses(PMIX_SERVER_PIDINFO, &a->pid, PMIX_PID, PMIX_ERR_UNREACH);
        PMIX_INFO_LOAD(&info[0], PMIX_SERVER_URI, a->uri, PMIX_STRING);
        PMIX_INFO_LOAD(&info[1], WIREUP_OBSERVER, &yes, PMIX_BOOL);
        CHECK_STATUS(PMIx_tool_init(&me, info, 2), PMIX_ERR_NO_PERMISSIONS);
        PMIX_INFO_DESTRUCT(&info[0]);
        PMIX_INFO_LOAD(&info[0], PMIX_SERVER_URI, system->uri, PMIX_STRING);
        CHECK_STATUS(PMIx_tool_init(&me, info, 2), PMIX_ERR_NO_PERMISSIONS);
        /* A system's host is asked; ours takes its own user's only. */
        refuses(PMIX_SERVER_URI, system->uri, PMIX_STRING, PMIX_ERR_NO_PERMISSIONS);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* rows: T12 T14 */
static void users(void) {
    struct server a, b;
    if (geteuid() != 0) {
        printf("skipped: needs root\n");
        exit(0);
    }
    CHECK_OK(start_server(&a, TOOLS, "a", NULL));
    CHECK_OK(start_server(&b, SYSTEM, "b", NULL));
    refuse_stranger(&a, &b);
    CHECK(ask(&a, 's') == 0 && ask(&b, 's') == 1 && ask(&b, 'r') == 1);
    end_server(&a, 0);
    end_server(&b, 0);
}

/* rows: T13 T15 */
static void launcher(void) {
    struct server a;
    pmix_proc_t rank, server;
    pmix_server_module_t module = {.tool_connected = tool_came};
    bool yes = true;
    char file[512], pipe_end[16], **env = NULL;
    int ends[2];
    pmix_status_t code = PMIX_EVENT_JOB_END;
    in_directory(file, sizeof file, "launcher");
    CHECK_OK(start_server(&a, TOOLS, "a", NULL));
    CHECK(pipe(ends) == 0); /* after the server, which is to have no end of it */
    snprintf(pipe_end, sizeof pipe_end, "%d", ends[0]);
    setenv("PMIX_LAUNCHER_RNDZ_FILE", file, 1);
    setenv("PMIX_LAUNCHER_RNDZ_URI", a.uri, 1);
    setenv("PMIX_KEEPALIVE_PIPE", pipe_end, 1);
    pmix_info_t info[2];
    PMIX_INFO_LOAD(&info[0], PMIX_LAUNCHER, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_TOOL_DO_NOT_CONNECT, &yes, PMIX_BOOL);
    CHECK_OK(PMIx_tool_init(&me, info, 2));
    CHECK(!getenv("PMIX_LAUNCHER_RNDZ_FILE") && !getenv("PMIX_LAUNCHER_RNDZ_URI") && !getenv("PMIX_KEEPALIVE_PIPE"));
    /* Connected to who started it, and a server itself. */
    CHECK(ask(&a, 's') == 1);
    CHECK(access(file, R_OK) == 0);
    CHECK_OK(PMIx_tool_set_server_module(&module));
    CHECK_STATUS(PMIx_tool_set_server_module(NULL), PMIX_ERR_BAD_PARAM);
    PMIX_LOAD_PROCID(&rank, "launched", 0);
    CHECK_DONE(PMIx_server_register_nspace(rank.nspace, 1, NULL, 0, NULL, NULL));
    CHECK_DONE(PMIx_server_register_client(&rank, geteuid(), getegid(), NULL, NULL, NULL));
    CHECK_OK(PMIx_server_setup_fork(&rank, &env));
    PMIX_ARGV_FREE(env);
    /* Its requests go to whichever server is the primary one, itself included. */
    CHECK_OK(PMIx_tool_set_server(&a.name, NULL, 0));
    server = primary_server();
    CHECK(PMIX_CHECK_PROCID(&server, &a.name));
    CHECK(PMIx_Register_event_handler(&code, 1, NULL, 0, on_event, NULL, NULL) >= 0);
    close(ends[1]); /* who started it is gone */
    until(&heard, 1);
    CHECK_OK(PMIx_tool_finalize());
    CHECK(access(file, F_OK) != 0);
    end_server(&a, 0);
}

int main(int argc, char** argv) {
    static const struct {
        const char* name;
        void (*run)(void);
    } cases[] = {{"ways", ways}, {"file", file},   {"identity", identity}, {"several", several},
                 {"events", events}, {"calls", calls}, {"off", off},         {"waits", waits},
                 {"launcher", launcher}, {"users", users}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (argc > 1 && strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            printf("OK %s\n", argv[1]);
            return 0;
        }
    }
    return 2;
}
