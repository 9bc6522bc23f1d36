/* SPDX-License-Identifier: BSD-3-Clause */
/* tools: how a tool finds a server of this node, its identity there, and the tools that are refused.
 * usage: tools CASE */
#include <sys/stat.h>

#include "../support/other_users.h"
#include "tools_servers.h"

/* rows: T1 T2 T5 T6 T12 */
/* proves: PMIx_tool_init PMIX_SERVER_URI PMIX_TCP_URI PMIX_SERVER_PIDINFO PMIX_SERVER_NSPACE PMIX_TOOL_ATTACHMENT_FILE
 */
/* proves: PMIx_tool_attach_to_server PMIX_SERVER_URI PMIX_TCP_URI PMIX_SERVER_PIDINFO PMIX_SERVER_NSPACE */
/* proves: PMIx_tool_attach_to_server PMIX_TOOL_ATTACHMENT_FILE */
static void ways(void) {
    struct server a, b;
    bool yes = true;
    pid_t nobody = 0x3fffff;
    char file[512], uri[600];
    in_directory(file, sizeof file, "rendezvous");
    CHECK_OK(start_server(&a, TOOLS, "a", file));
    CHECK_OK(start_server(&b, SYSTEM, "b", NULL));
    finds_both(PMIX_SERVER_URI, a.uri, PMIX_STRING, &a);
    finds_both(PMIX_TCP_URI, b.uri, PMIX_STRING, &b);
    finds_both(PMIX_SERVER_PIDINFO, &a.pid, PMIX_PID, &a);
    finds_both(PMIX_SERVER_PIDINFO, &b.pid, PMIX_PID, &b);
    finds_both(PMIX_SERVER_NSPACE, b.name.nspace, PMIX_STRING, &b);
    finds_both(PMIX_CONNECT_TO_SYSTEM, &yes, PMIX_BOOL, &b);
    finds_both(PMIX_TOOL_ATTACHMENT_FILE, file, PMIX_STRING, &a);
    snprintf(uri, sizeof uri, "file:%s", file);
    finds_both(PMIX_SERVER_URI, uri, PMIX_STRING, &a);
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
    refuses_both(PMIX_SERVER_PIDINFO, &nobody, PMIX_PID, PMIX_ERR_UNREACH);
    refuses_both(PMIX_SERVER_NSPACE, "nobody-is-called-that", PMIX_STRING, PMIX_ERR_UNREACH);
    refuses_both(PMIX_SERVER_URI, "tools.0;tcp4://127.0.0.1", PMIX_STRING, PMIX_ERR_BAD_PARAM);
    /* Of another library, and nothing shows its release. */
    refuses_both(PMIX_SERVER_URI, "tools.0;tcp4://127.0.0.1:1", PMIX_STRING, PMIX_ERR_NOT_SUPPORTED);
    refuses_both(PMIX_TOOL_ATTACHMENT_FILE, "/nonexistent/file", PMIX_STRING, PMIX_ERR_NOT_FOUND);
    refuses(PMIX_TOOL_RANK, &(pmix_rank_t){1}, PMIX_PROC_RANK, PMIX_ERR_BAD_PARAM);

    /* When nothing is said: at the one that is not the system's; and not at a server that one has. */
    CHECK_OK(PMIx_tool_init(NULL, NULL, 0));
    pmix_proc_t any = primary_server();
    CHECK(PMIX_CHECK_PROCID(&any, &a.name));
    CHECK_OK(PMIx_tool_init(&me, NULL, 0));
    CHECK_OK(PMIx_tool_finalize());
    CHECK(PMIx_tool_is_connected());
    CHECK_OK(PMIx_tool_finalize());

    end_server(&a, 0);
    CHECK(access(file, F_OK) != 0);
    end_server(&b, 0);
    refuses(PMIX_SERVER_URI, a.uri, PMIX_STRING, PMIX_ERR_UNREACH);
}

/* The system's server, and one of several of a name, are found as long as they are what was asked for. */
/* rows: T1 T2 */
/* proves: PMIx_tool_init PMIX_CONNECT_TO_SYSTEM PMIX_CONNECT_SYSTEM_FIRST PMIX_SERVER_RANK */
/* proves: PMIx_tool_attach_to_server PMIX_CONNECT_TO_SYSTEM PMIX_CONNECT_SYSTEM_FIRST PMIX_SERVER_RANK */
static void chosen(void) {
    enum { OTHERS = 3 };
    struct server system, others[OTHERS];
    pmix_info_t info[2];
    bool yes = true;
    CHECK_OK(start_server(&others[0], TOOLS, "0", NULL));
    refuses_both(PMIX_CONNECT_TO_SYSTEM, &yes, PMIX_BOOL, PMIX_ERR_UNREACH);
    CHECK_OK(init_with(PMIX_CONNECT_SYSTEM_FIRST, &yes, PMIX_BOOL)); /* then any other */
    CHECK_OK(PMIx_tool_finalize());
    for (int i = 1; i < OTHERS; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        CHECK_OK(start_server(&others[i], TOOLS, name, NULL));
    }
    CHECK_OK(start_server(&system, SYSTEM, "system", NULL));
    /* Any one would be a guess. */
    CHECK_STATUS(PMIx_tool_init(&me, NULL, 0), PMIX_ERR_NOT_AVAILABLE);
    refuses_later(PMIX_TIMEOUT, &(int){20}, PMIX_INT, PMIX_ERR_NOT_AVAILABLE);
    finds_both(PMIX_CONNECT_TO_SYSTEM, &yes, PMIX_BOOL, &system);
    finds_both(PMIX_CONNECT_SYSTEM_FIRST, &yes, PMIX_BOOL, &system);

    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_NSPACE, system.name.nspace, PMIX_STRING);
    for (pmix_rank_t rank = 0; rank < 2; rank++) {
        pmix_status_t wanted = rank == 0 ? PMIX_SUCCESS : PMIX_ERR_UNREACH; /* it is its first */
        PMIX_INFO_LOAD(&info[1], PMIX_SERVER_RANK, &rank, PMIX_PROC_RANK);
        CHECK_STATUS(PMIx_tool_init(&me, info, 2), wanted);
        if (wanted == PMIX_SUCCESS) CHECK_OK(PMIx_tool_finalize());
        CHECK_OK(init_with(PMIX_TOOL_DO_NOT_CONNECT, &yes, PMIX_BOOL));
        CHECK_STATUS(PMIx_tool_attach_to_server(NULL, NULL, info, 2), wanted);
        CHECK_OK(PMIx_tool_finalize());
    }
    PMIX_INFO_DESTRUCT(&info[0]);
    end_server(&system, 0);
    for (int i = 0; i < OTHERS; i++) end_server(&others[i], 0);
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

/* rows: T3 T4 */
/* proves: PMIx_tool_init PMIX_TOOL_DO_NOT_CONNECT PMIX_TOOL_NSPACE PMIX_TOOL_RANK PMIX_TOOL_CONNECT_OPTIONAL */
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

    /* Not connected, not named: it names itself, and all that needs a server is refused. */
    me.rank = 1;
    CHECK_OK(init_with(PMIX_TOOL_DO_NOT_CONNECT, &yes, PMIX_BOOL));
    CHECK(me.nspace[0] != '\0' && me.rank == 0);
    CHECK(!PMIx_tool_is_connected());
    CHECK_STATUS(PMIx_tool_get_servers(&servers, &count), PMIX_ERR_UNREACH);
    CHECK(!servers && count == 0);
    CHECK_STATUS(query_text(PMIX_QUERY_NAMESPACES, text, sizeof text), PMIX_ERR_UNREACH);
    CHECK_STATUS(PMIx_Publish(NULL, 0), PMIX_ERR_BAD_PARAM);
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
    /* The server has no data of it, so the tool describes itself: a job of one. */
    CHECK_OK(PMIx_Get(&me, PMIX_JOB_SIZE, NULL, 0, &value));
    CHECK(value->type == PMIX_UINT32 && value->data.uint32 == 1);
    PMIX_VALUE_RELEASE(value);
    CHECK_OK(PMIx_Get(&me, PMIX_RANK, NULL, 0, &value));
    CHECK(value->type == PMIX_PROC_RANK && value->data.rank == 7);
    PMIX_VALUE_RELEASE(value);
    CHECK_OK(PMIx_Get(&me, PMIX_JOBID, NULL, 0, &value));
    CHECK(value->type == PMIX_STRING && strcmp(value->data.string, "a-tool") == 0);
    PMIX_VALUE_RELEASE(value);
    CHECK_OK(PMIx_Get(&me, PMIX_HOSTNAME, NULL, 0, &value));
    PMIX_VALUE_RELEASE(value);
    CHECK_OK(PMIx_Get(&me, PMIX_LOCAL_RANK, NULL, 0, &value));
    PMIX_VALUE_RELEASE(value);
    CHECK_OK(PMIx_tool_finalize());

    /* Nobody there, and it does not mind; without that it does. */
    pid_t nobody = 0x3fffff;
    PMIX_INFO_DESTRUCT(&info[1]);
    PMIX_INFO_LOAD(&info[1], PMIX_SERVER_PIDINFO, &nobody, PMIX_PID);
    PMIX_INFO_LOAD(&info[2], PMIX_TOOL_CONNECT_OPTIONAL, &yes, PMIX_BOOL);
    CHECK_STATUS(PMIx_tool_init(&mine, &info[1], 1), PMIX_ERR_UNREACH);
    CHECK_OK(PMIx_tool_init(&mine, &info[1], 2));
    CHECK(!PMIx_tool_is_connected() && strncmp(mine.nspace, "tool.", 5) == 0);
    CHECK_OK(PMIx_tool_finalize());

    /* The host may say no, and a job's name is its processes'. */
    uint32_t before = ask(&a, 'r');
    PMIX_INFO_DESTRUCT(&info[1]);
    PMIX_INFO_LOAD(&info[1], PMIX_TOOL_NSPACE, "unwanted", PMIX_STRING);
    CHECK_STATUS(PMIx_tool_init(&me, info, 2), PMIX_ERR_NO_PERMISSIONS);
    CHECK(ask(&a, 'r') == before + 1);
    PMIX_INFO_DESTRUCT(&info[1]);
    PMIX_INFO_LOAD(&info[1], PMIX_TOOL_NSPACE, a.job, PMIX_STRING);
    PMIX_INFO_LOAD(&info[2], PMIX_TOOL_RANK, &rank, PMIX_PROC_RANK);
    CHECK_STATUS(PMIx_tool_init(&me, info, 3), PMIX_ERR_EXISTS);
    /* But a process of the rank's user that has no token is that rank, whichever init it calls. */
    CHECK_OK(PMIx_tool_init(&me, info, 2));
    CHECK(strcmp(me.nspace, a.job) == 0 && me.rank == 0);
    CHECK_OK(PMIx_tool_finalize());
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);

    /* Only a tool is a tool. */
    CHECK_STATUS(PMIx_tool_get_servers(&servers, &count), PMIX_ERR_INIT);
    CHECK_STATUS(PMIx_tool_set_server(&a.name, NULL, 0), PMIX_ERR_INIT);
    CHECK_STATUS(PMIx_tool_finalize(), PMIX_ERR_INIT);
    end_server(&a, 0);
}

/* --- who is not let in --- */

/* rows: T14 */
/* proves: PMIx_tool_init WIREUP_OBSERVER */
/* proves: PMIx_tool_attach_to_server WIREUP_OBSERVER */
static void off(void) {
    struct server a, b;
    bool yes = true;
    CHECK_OK(start_server(&a, NO_SUPPORT, "a", NULL));
    CHECK_OK(start_server(&b, NO_ENTRY, "b", NULL));
    /* The status is in the answer: a wait for an answer to the greeting would end with another status. */
    refuses(PMIX_SERVER_URI, a.uri, PMIX_STRING, PMIX_ERR_NOT_SUPPORTED);
    refuses(PMIX_SERVER_PIDINFO, &b.pid, PMIX_PID, PMIX_ERR_NOT_SUPPORTED);
    refuses(PMIX_SERVER_NSPACE, a.name.nspace, PMIX_STRING, PMIX_ERR_NOT_SUPPORTED);
    CHECK(ask(&a, 's') == 0 && ask(&b, 's') == 0);
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
    CHECK_OK(init_with(PMIX_TOOL_DO_NOT_CONNECT, &yes, PMIX_BOOL));
    CHECK_STATUS(PMIx_tool_attach_to_server(NULL, NULL, info, 1), PMIX_ERR_NOT_SUPPORTED);
    CHECK_OK(PMIx_tool_attach_to_server(NULL, NULL, info, 2));
    CHECK_OK(query_text(PMIX_QUERY_NAMESPACES, text, sizeof text));
    CHECK_OK(PMIx_tool_finalize());
    CHECK(ask(&a, 's') == 0);
    PMIX_INFO_DESTRUCT(&info[0]);
    end_server(&a, 0);
    end_server(&b, 0);
}

/* A connection with these infos: by init, or later. */
static pmix_status_t connected_by(bool later, pmix_info_t info[], size_t count) {
    bool yes = true;
    if (!later) return PMIx_tool_init(&me, info, count);
    CHECK_OK(init_with(PMIX_TOOL_DO_NOT_CONNECT, &yes, PMIX_BOOL));
    pmix_status_t status = PMIx_tool_attach_to_server(NULL, NULL, info, count);
    if (status != PMIX_SUCCESS) CHECK_OK(PMIx_tool_finalize());
    return status;
}

/* rows: T10 */
/* proves: PMIx_tool_init PMIX_WAIT_FOR_CONNECTION PMIX_TIMEOUT PMIX_CONNECT_MAX_RETRIES PMIX_CONNECT_RETRY_DELAY */
/* proves: PMIx_tool_attach_to_server PMIX_WAIT_FOR_CONNECTION PMIX_TIMEOUT */
/* proves: PMIx_tool_attach_to_server PMIX_CONNECT_MAX_RETRIES PMIX_CONNECT_RETRY_DELAY */
/* proves: PMIx_tool_set_server PMIX_WAIT_FOR_CONNECTION PMIX_TIMEOUT */
static void waits(void) {
    struct server late;
    pmix_info_t info[3];
    bool yes = true;
    int limit = 1;
    char nspace[64];
    snprintf(nspace, sizeof nspace, "tools-late.%d", (int)getpid());
    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_NSPACE, nspace, PMIX_STRING);
    for (int later = 0; later < 2; later++) {
        PMIX_INFO_LOAD(&info[1], PMIX_WAIT_FOR_CONNECTION, &yes, PMIX_BOOL);
        PMIX_INFO_LOAD(&info[2], PMIX_TIMEOUT, &limit, PMIX_INT);
        double begun = seconds_now();
        CHECK_STATUS(connected_by(later, info, 3), PMIX_ERR_TIMEOUT);
        CHECK(seconds_now() - begun >= 1);
        fork_server(&late, TOOLS, "late", NULL, 300);
        CHECK_OK(connected_by(later, info, 2));
        CHECK_OK(server_status(&late));
        CHECK_OK(PMIx_tool_finalize());
        end_server(&late, 0);
        /* So many tries, so far apart: without the one it is over at once, without the other sooner. */
        uint32_t retries = 1, delay = 2;
        PMIX_INFO_LOAD(&info[1], PMIX_CONNECT_MAX_RETRIES, &retries, PMIX_UINT32);
        PMIX_INFO_LOAD(&info[2], PMIX_CONNECT_RETRY_DELAY, &delay, PMIX_UINT32);
        begun = seconds_now();
        CHECK_STATUS(connected_by(later, info, 3), PMIX_ERR_UNREACH);
        CHECK(seconds_now() - begun >= 2);
    }
    CHECK_OK(start_server(&late, TOOLS, "late", NULL));
    CHECK_OK(connected_by(false, info, 1));
    CHECK_OK(PMIx_tool_disconnect(&late.name));
    end_server(&late, 0);
    /* And to one that is to be the primary one. */
    PMIX_INFO_LOAD(&info[1], PMIX_WAIT_FOR_CONNECTION, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[2], PMIX_TIMEOUT, &limit, PMIX_INT);
    CHECK_STATUS(PMIx_tool_set_server(&late.name, NULL, 0), PMIX_ERR_UNREACH);
    CHECK_STATUS(PMIx_tool_set_server(&late.name, &info[1], 2), PMIX_ERR_TIMEOUT);
    CHECK_OK(PMIx_tool_finalize());
    PMIX_INFO_DESTRUCT(&info[0]);
}

/* What another user's tool is told; as that user, in a process of its own. */
static void refuse_other_user(const struct server* a, const struct server* system) {
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
    if (!can_be_other_users()) {
        printf("skipped: needs root\n");
        exit(0);
    }
    CHECK_OK(start_server(&a, TOOLS, "a", NULL));
    CHECK_OK(start_server(&b, SYSTEM, "b", NULL));
    refuse_other_user(&a, &b);
    CHECK(ask(&a, 's') == 0 && ask(&b, 's') == 1 && ask(&b, 'r') == 1);
    end_server(&a, 0);
    end_server(&b, 0);
}

/* rows: T13 T15 */
/* proves: PMIx_tool_init PMIX_LAUNCHER PMIX_LAUNCHER_RENDEZVOUS_FILE */
static void launcher(void) {
    struct server a;
    pmix_proc_t rank, server;
    pmix_server_module_t module = {.tool_connected = on_tool};
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
    /* Connected to its parent, and a server itself. */
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
    /* It reports that it is ready, and asks for its task. */
    CHECK_OK(PMIx_Notify_event(PMIX_LAUNCHER_READY, &me, PMIX_RANGE_LOCAL, NULL, 0, NULL, NULL));
    double end = seconds_now() + 60;
    while (ask(&a, 'l') == 0) CHECK(seconds_now() < end);
    pmix_value_t* directives = NULL;
    PMIX_LOAD_PROCID(&rank, a.job, PMIX_RANK_WILDCARD);
    CHECK_OK(PMIx_Get(&rank, PMIX_LAUNCH_DIRECTIVES, NULL, 0, &directives));
    CHECK(directives->type == PMIX_DATA_ARRAY && directives->data.darray->type == PMIX_INFO);
    CHECK(directives->data.darray->size == 1);
    CHECK(PMIX_CHECK_KEY((pmix_info_t*)directives->data.darray->array, PMIX_DEBUG_STOP_ON_EXEC));
    PMIX_VALUE_RELEASE(directives);
    CHECK(PMIx_Register_event_handler(&code, 1, NULL, 0, on_event, NULL, NULL) >= 0);
    close(ends[1]); /* the process that started it is gone */
    until(&heard, 1);
    CHECK_OK(PMIx_tool_finalize());
    CHECK(access(file, F_OK) != 0);
    end_server(&a, 0);

    /* The file by attribute; and a tool that is no launcher serves nobody. */
    pmix_info_t by_name[3] = {info[0], info[1]};
    PMIX_INFO_LOAD(&by_name[2], PMIX_LAUNCHER_RENDEZVOUS_FILE, file, PMIX_STRING);
    CHECK_OK(PMIx_tool_init(&me, by_name, 3));
    CHECK(access(file, R_OK) == 0);
    CHECK_OK(PMIx_tool_finalize());
    CHECK(access(file, F_OK) != 0);
    CHECK_OK(PMIx_tool_init(&me, &by_name[1], 2));
    CHECK(access(file, F_OK) != 0);
    CHECK_STATUS(PMIx_tool_set_server_module(&module), PMIX_ERR_NOT_SUPPORTED);
    CHECK_OK(PMIx_tool_finalize());
    PMIX_INFO_DESTRUCT(&by_name[2]);
}

int main(int argc, char** argv) {
    static const struct plain_case cases[] = {
        {"ways", ways}, {"file", file},   {"chosen", chosen},     {"identity", identity},
        {"off", off},   {"waits", waits}, {"launcher", launcher}, {"users", users},
    };
    RUN_PLAIN_CASE(cases);
    printf("OK %s\n", argv[1]);
    return 0;
}
