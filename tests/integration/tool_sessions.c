// SPDX-License-Identifier: BSD-3-Clause
/* tool_sessions: several servers of one user on one node, and the one that a tool means: by its folder, its node, its
 * job, its launcher, or because the tool runs inside. Of several that are alike none is joined.
 * usage: tool_sessions CASE */
#include <errno.h>
#include <pmix_server.h>
#include <pmix_tool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "check.h"
#include "newer_names.h"

struct host {
    const char* nspace;
    pmix_rank_t rank;
    const char* folder;   /* below TMPDIR; NULL: none is named */
    const char* hostname; /* may be NULL */
    const char* job;      /* likewise */
    bool is_system;
    bool has_launcher; /* a process between this one and the server */
    pid_t pid, launcher;
    int line;
};

static char top[256];

static const char* below_top(const char* name) {
    static char paths[8][512];
    static unsigned next;
    char* path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", top, name);
    CHECK(mkdir(path, 0700) == 0 || errno == EEXIST);
    return path;
}

/* --- the servers ---------------------------------------------------------------------------------------------------*/

static const char* own_nspace;

static void on_tool(pmix_info_t* info, size_t ninfo, pmix_tool_connection_cbfunc_t cbfunc, void* cbdata) {
    static unsigned count;
    pmix_proc_t name;
    char made[128];
    const char* nspace = NULL;
    for (size_t i = 0; i < ninfo; i++)
        if (PMIX_CHECK_KEY(&info[i], PMIX_TOOL_NSPACE)) nspace = info[i].value.data.string;
    snprintf(made, sizeof made, "tool-of-%s.%d.%u", own_nspace, (int)getpid(), ++count);
    PMIX_LOAD_PROCID(&name, nspace ? nspace : made, 0);
    cbfunc(PMIX_SUCCESS, &name, cbdata);
}

static _Noreturn void serve(const struct host* host, int line, pid_t launcher) {
    static pmix_server_module_t module = {.tool_connected = on_tool};
    pmix_info_t info[8];
    size_t count = 0;
    bool yes = true;
    own_nspace = host->nspace;
    PMIX_INFO_LOAD(&info[count++], PMIX_SERVER_NSPACE, host->nspace, PMIX_STRING);
    PMIX_INFO_LOAD(&info[count++], PMIX_SERVER_RANK, &host->rank, PMIX_PROC_RANK);
    PMIX_INFO_LOAD(&info[count++], host->is_system ? PMIX_SERVER_SYSTEM_SUPPORT : PMIX_SERVER_TOOL_SUPPORT, &yes,
                   PMIX_BOOL);
    if (host->folder) {
        PMIX_INFO_LOAD(&info[count++], PMIX_SERVER_TMPDIR, below_top(host->folder), PMIX_STRING);
        PMIX_INFO_LOAD(&info[count++], PMIX_SYSTEM_TMPDIR, below_top(host->folder), PMIX_STRING);
    }
    if (host->hostname) PMIX_INFO_LOAD(&info[count++], PMIX_HOSTNAME, host->hostname, PMIX_STRING);
    if (launcher) PMIX_INFO_LOAD(&info[count++], WIREUP_LAUNCHER_PID, &launcher, PMIX_PID);
    CHECK_OK(PMIx_server_init(&module, info, count));
    if (host->job) {
        pmix_info_t size;
        pmix_proc_t rank;
        uint32_t one = 1;
        PMIX_INFO_LOAD(&size, PMIX_JOB_SIZE, &one, PMIX_UINT32);
        CHECK_DONE(PMIx_server_register_nspace(host->job, 1, &size, 1, NULL, NULL));
        PMIX_LOAD_PROCID(&rank, host->job, 0);
        CHECK_DONE(PMIx_server_register_client(&rank, geteuid(), getegid(), NULL, NULL, NULL));
    }
    pid_t pid = getpid();
    CHECK(write(line, &pid, sizeof pid) == sizeof pid);
    char letter;
    while (read(line, &letter, 1) == 1 && letter == 't') { /* a tool of this server's */
        int status;
        pid_t tool = fork();
        if (tool == 0) execl("/proc/self/exe", "tool_sessions", "joins", host->nspace, (char*)NULL);
        CHECK(waitpid(tool, &status, 0) == tool);
        CHECK(write(line, &status, sizeof status) == sizeof status);
    }
    PMIx_server_finalize();
    _exit(0);
}

static void start_host(struct host* host) {
    int lines[2];
    CHECK(!PMIx_Initialized());
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, lines) == 0);
    host->launcher = fork();
    if (host->launcher == 0) {
        close(lines[0]);
        if (!host->has_launcher) serve(host, lines[1], 0);
        pid_t launcher = getpid(), child = fork();
        if (child == 0) serve(host, lines[1], launcher);
        int status;
        close(lines[1]);
        _exit(waitpid(child, &status, 0) == child ? 0 : 1);
    }
    close(lines[1]);
    host->line = lines[0];
    CHECK(read(host->line, &host->pid, sizeof host->pid) == sizeof host->pid);
}

static void end_host(struct host* host) {
    int status;
    CHECK(write(host->line, "q", 1) == 1); /* servers that were started later have this end of the line, too */
    close(host->line);
    CHECK(waitpid(host->launcher, &status, 0) == host->launcher && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* --- the tool ------------------------------------------------------------------------------------------------------*/

struct request {
    const char* key;
    const void* value;
    pmix_data_type_t type;
};
static struct request requests[4];
static size_t requested;

static void request(const char* key, const void* value, pmix_data_type_t type) {
    requests[requested++] = (struct request){key, value, type};
}

static size_t load_requests(pmix_info_t* info) {
    for (size_t i = 0; i < requested; i++)
        PMIX_INFO_LOAD(&info[i], requests[i].key, requests[i].value, requests[i].type);
    return requested;
}

/* By both calls; forgets the requests. host NULL: the status instead. */
static void meets(const struct host* host, pmix_status_t wanted) {
    for (int later = 0; later < 2; later++) {
        pmix_info_t info[4], alone;
        size_t count = load_requests(info);
        bool yes = true;
        pmix_status_t status;
        PMIX_INFO_LOAD(&alone, PMIX_TOOL_DO_NOT_CONNECT, &yes, PMIX_BOOL);
        if (later) CHECK_OK(PMIx_tool_init(&me, &alone, 1));
        status = later ? PMIx_tool_attach_to_server(NULL, NULL, info, count) : PMIx_tool_init(&me, info, count);
        CHECK_STATUS(status, wanted);
        if (host) {
            pmix_proc_t* servers = NULL;
            size_t n = 0;
            CHECK_OK(PMIx_tool_get_servers(&servers, &n));
            CHECK(n == 1 && PMIX_CHECK_NSPACE(servers[0].nspace, host->nspace) && servers[0].rank == host->rank);
            PMIX_PROC_FREE(servers, n);
            /* Of one name there may be two: the process tells. */
            pmix_query_t query;
            pmix_info_t* results = NULL;
            pmix_status_t rc;
            PMIX_QUERY_CONSTRUCT(&query);
            PMIX_ARGV_APPEND(rc, query.keys, WIREUP_QUERY_COUNTERS);
            CHECK_OK(rc);
            CHECK_OK(PMIx_Query_info(&query, 1, &results, &n));
            CHECK(n == 1 && results[0].value.type == PMIX_DATA_ARRAY);
            const pmix_info_t* about = results[0].value.data.darray->array;
            bool seen = false;
            for (size_t i = 0; i < results[0].value.data.darray->size; i++)
                if (PMIX_CHECK_KEY(&about[i], PMIX_SERVER_PIDINFO)) seen = about[i].value.data.pid == host->pid;
            CHECK(seen);
            PMIX_INFO_FREE(results, n);
            PMIX_QUERY_DESTRUCT(&query);
        }
        if (later || status == PMIX_SUCCESS) CHECK_OK(PMIx_tool_finalize());
        for (size_t i = 0; i < count; i++) PMIX_INFO_DESTRUCT(&info[i]);
    }
    requested = 0;
}

static void joins(const struct host* host) {
    meets(host, PMIX_SUCCESS);
}
static void fails(pmix_status_t status) {
    meets(NULL, status);
}

/* rows: T2 T12 */
/* proves: PMIx_tool_init PMIX_SERVER_TMPDIR PMIX_SYSTEM_TMPDIR PMIX_SERVER_HOSTNAME */
/* proves: PMIx_tool_attach_to_server PMIX_SERVER_TMPDIR PMIX_SYSTEM_TMPDIR PMIX_SERVER_HOSTNAME */
static void folders(void) {
    struct host a = {.nspace = "a", .folder = "session-a", .hostname = "node1"},
                b = {.nspace = "b", .folder = "session-b", .hostname = "node2.example.org"};
    start_host(&a);
    start_host(&b);
    const char *of_a = below_top("session-a"), *of_b = below_top("session-b"), *empty = below_top("empty");
    fails(PMIX_ERR_NOT_AVAILABLE); /* which one? */
    for (int system = 0; system < 2; system++) {
        const char* key = system ? PMIX_SYSTEM_TMPDIR : PMIX_SERVER_TMPDIR;
        const char* variable = system ? "PMIX_SYSTEM_TMPDIR" : "PMIX_SERVER_TMPDIR";
        request(key, of_a, PMIX_STRING);
        joins(&a);
        request(key, of_b, PMIX_STRING);
        joins(&b);
        request(key, empty, PMIX_STRING);
        fails(PMIX_ERR_UNREACH);
        request(key, top, PMIX_STRING); /* both are below */
        fails(PMIX_ERR_NOT_AVAILABLE);
        setenv(variable, of_b, 1);
        joins(&b);
        request(key, of_a, PMIX_STRING); /* the attribute counts more */
        joins(&a);
        setenv(variable, empty, 1); /* that of the system only prefers */
        fails(system ? PMIX_ERR_NOT_AVAILABLE : PMIX_ERR_UNREACH);
        /* What is named needs no folder, unless one is named too. */
        request(PMIX_SERVER_NSPACE, "b", PMIX_STRING);
        joins(&b);
        unsetenv(variable);
    }
    request(PMIX_SERVER_NSPACE, "b", PMIX_STRING);
    request(PMIX_SERVER_TMPDIR, of_a, PMIX_STRING);
    fails(PMIX_ERR_UNREACH);
    request(PMIX_SERVER_PIDINFO, &b.pid, PMIX_PID);
    request(PMIX_SERVER_TMPDIR, of_a, PMIX_STRING);
    fails(PMIX_ERR_UNREACH);
    /* A preference. */
    setenv("TMPDIR", of_b, 1);
    joins(&b);
    setenv("TMPDIR", empty, 1);
    fails(PMIX_ERR_NOT_AVAILABLE);
    setenv("TMPDIR", top, 1);
    request(PMIX_SERVER_HOSTNAME, "node1", PMIX_STRING);
    joins(&a);
    request(PMIX_SERVER_HOSTNAME, "node2", PMIX_STRING);
    joins(&b);
    request(PMIX_SERVER_HOSTNAME, "node2.example.com", PMIX_STRING);
    fails(PMIX_ERR_UNREACH);
    end_host(&b);
    setenv("TMPDIR", empty, 1);
    joins(&a); /* the only one */
    setenv("TMPDIR", top, 1);
    end_host(&a);
}

/* Two sessions whose servers have one name, and two servers of the system. rows: T2 T12 */
static void names(void) {
    for (int is_system = 0; is_system < 2; is_system++) {
        struct host a = {.nspace = "myrm", .folder = "session-a", .is_system = is_system},
                    b = {.nspace = "myrm", .folder = "session-b", .is_system = is_system};
        const bool yes = true;
        const char* folder = is_system ? PMIX_SYSTEM_TMPDIR : PMIX_SERVER_TMPDIR;
        start_host(&a);
        start_host(&b);
        for (int i = 0; i < 6; i++) {
            if (is_system) request(PMIX_CONNECT_TO_SYSTEM, &yes, PMIX_BOOL);
            if (!is_system) request(PMIX_SERVER_NSPACE, "myrm", PMIX_STRING);
            if (i == 0 || i == 1) request(folder, below_top(i == 0 ? "session-a" : "session-b"), PMIX_STRING);
            if (i == 2) request(folder, below_top("empty"), PMIX_STRING);
            if (i == 4) setenv("TMPDIR", below_top("session-b"), 1);
            if (i == 5) setenv(is_system ? "PMIX_SYSTEM_TMPDIR" : "PMIX_SERVER_TMPDIR", below_top("session-a"), 1);
            if (i == 0 || i == 5) joins(&a);
            if (i == 1 || i == 4) joins(&b);
            if (i == 2) fails(PMIX_ERR_UNREACH);
            if (i == 3) fails(PMIX_ERR_NOT_AVAILABLE);
            setenv("TMPDIR", top, 1);
        }
        unsetenv("PMIX_SYSTEM_TMPDIR");
        unsetenv("PMIX_SERVER_TMPDIR");
        end_host(&a);
        end_host(&b);
    }
}

/* One session has several servers on the node: the lowest rank. A job is as good a name as its server's. rows: T2 T12 */
/* proves: PMIx_Query_info PMIX_QUERY_AVAIL_SERVERS PMIX_NSPACE tool */
static void jobs(void) {
    struct host second = {.nspace = "a", .rank = 1, .folder = "a/2", .job = "job-of-a"},
                first = {.nspace = "a", .rank = 0, .folder = "a/1"}, b = {.nspace = "b", .folder = "b", .job = "b"};
    const pmix_rank_t one = 1;
    below_top("a");
    start_host(&second);
    start_host(&first);
    joins(&first);
    request(PMIX_SERVER_NSPACE, "a", PMIX_STRING);
    joins(&first);
    request(PMIX_SERVER_NSPACE, "a", PMIX_STRING);
    request(PMIX_SERVER_RANK, &one, PMIX_PROC_RANK);
    joins(&second);
    request(PMIX_SERVER_NSPACE, "job-of-a", PMIX_STRING);
    joins(&second);
    request(PMIX_SERVER_NSPACE, "no-job", PMIX_STRING);
    fails(PMIX_ERR_UNREACH);
    start_host(&b);
    fails(PMIX_ERR_NOT_AVAILABLE);
    /* The list, whole and of a job. */
    for (int i = 0; i < 3; i++) {
        static const char* const names[] = {NULL, "job-of-a", "a"};
        static const size_t wanted[] = {3, 1, 2};
        pmix_query_t query;
        pmix_info_t about, *results = NULL;
        size_t n = 0;
        bool yes = true;
        pmix_status_t rc;
        PMIX_INFO_LOAD(&about, PMIX_TOOL_DO_NOT_CONNECT, &yes, PMIX_BOOL);
        CHECK_OK(PMIx_tool_init(&me, &about, 1));
        PMIX_QUERY_CONSTRUCT(&query);
        PMIX_ARGV_APPEND(rc, query.keys, PMIX_QUERY_AVAIL_SERVERS);
        CHECK_OK(rc);
        if (names[i]) {
            PMIX_QUERY_QUALIFIERS_CREATE(&query, 1);
            PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_NSPACE, names[i], PMIX_STRING);
        }
        CHECK_OK(PMIx_Query_info(&query, 1, &results, &n));
        CHECK(n == 1 && results[0].value.type == PMIX_DATA_ARRAY);
        CHECK(results[0].value.data.darray->size == wanted[i]);
        const pmix_info_t* server = results[0].value.data.darray->array;
        const pmix_info_t* fact = server[0].value.data.darray->array;
        bool has_folder = false;
        for (size_t k = 0; k < server[0].value.data.darray->size; k++)
            if (PMIX_CHECK_KEY(&fact[k], PMIX_SERVER_TMPDIR))
                has_folder = strncmp(fact[k].value.data.string, top, strlen(top)) == 0;
        CHECK(has_folder);
        PMIX_INFO_FREE(results, n);
        PMIX_QUERY_DESTRUCT(&query);
        CHECK_OK(PMIx_tool_finalize());
    }
    end_host(&b);
    end_host(&first);
    end_host(&second);
}

/* rows: T2 T12 */
/* proves: PMIx_server_init WIREUP_LAUNCHER_PID */
static void processes(void) {
    struct host a = {.nspace = "a", .folder = "a", .has_launcher = true}, b = {.nspace = "b", .folder = "b"};
    const bool yes = true;
    start_host(&a);
    start_host(&b);
    request(PMIX_SERVER_PIDINFO, &a.launcher, PMIX_PID);
    joins(&a);
    request(PMIX_SERVER_PIDINFO, &a.pid, PMIX_PID);
    joins(&a);
    request(PMIX_SERVER_PIDINFO, &b.pid, PMIX_PID);
    joins(&b);
    /* This process has started both, and is neither's launcher. */
    const pid_t self = getpid();
    request(PMIX_SERVER_PIDINFO, &self, PMIX_PID);
    fails(PMIX_ERR_UNREACH);
    /* A process that is not there is not waited for, however long. */
    pid_t gone = fork();
    if (gone == 0) _exit(0);
    CHECK(waitpid(gone, NULL, 0) == gone);
    request(PMIX_SERVER_PIDINFO, &gone, PMIX_PID);
    request(PMIX_WAIT_FOR_CONNECTION, &yes, PMIX_BOOL);
    fails(PMIX_ERR_UNREACH);
    /* One that is stopped takes nobody's time who means another one, and is not joined by mistake. */
    CHECK(kill(b.pid, SIGSTOP) == 0);
    request(PMIX_SERVER_PIDINFO, &a.pid, PMIX_PID);
    joins(&a);
    request(PMIX_SERVER_NSPACE, "a", PMIX_STRING);
    joins(&a);
    CHECK(kill(b.pid, SIGCONT) == 0);
    /* Each one's own tool comes to it, though there are two. */
    for (int i = 0; i < 2; i++) {
        int status = -1;
        struct host* host = i == 0 ? &a : &b;
        CHECK(write(host->line, "t", 1) == 1);
        CHECK(read(host->line, &status, sizeof status) == sizeof status);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    end_host(&a);
    end_host(&b);
}

static int of_server(const char* nspace) {
    pmix_proc_t* servers = NULL;
    size_t n = 0;
    CHECK_OK(PMIx_tool_init(&me, NULL, 0));
    CHECK_OK(PMIx_tool_get_servers(&servers, &n));
    CHECK(n == 1 && PMIX_CHECK_NSPACE(servers[0].nspace, nspace));
    free(servers);
    CHECK_OK(PMIx_tool_finalize());
    return 0;
}

int main(int argc, char** argv) {
    static const struct plain_case cases[] = {
        {"folders", folders},
        {"names", names},
        {"jobs", jobs},
        {"processes", processes},
    };
    if (argc == 3 && strcmp(argv[1], "joins") == 0) return of_server(argv[2]);
    const char* temporary = getenv("TMPDIR");
    snprintf(top, sizeof top, "%s/sessions", temporary ? temporary : "/tmp");
    CHECK(mkdir(top, 0700) == 0 || errno == EEXIST);
    setenv("TMPDIR", top, 1);
    RUN_PLAIN_CASE(cases);
    /* The folders are empty again. */
    static const char* const made[] = {"session-a", "session-b", "empty", "a/1", "a/2", "a", "b"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", top, made[i]);
        CHECK(rmdir(path) == 0 || errno == ENOENT);
    }
    CHECK(rmdir(top) == 0);
    printf("OK %s\n", argv[1]);
    return 0;
}
