/* SPDX-License-Identifier: BSD-3-Clause */
/* tools_many: a tool with several servers: the one that it asks, the events of each, and the calls of clients.
 * usage: tools_many CASE */
#include <fcntl.h>

#include "tools_servers.h"

/* rows: T7 T8 T9 T10 T11 */
/* proves: PMIx_tool_attach_to_server PMIX_PRIMARY_SERVER */
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
    /* The tool's name does not depend on it. */
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

    /* The older name of attaching. */
    CHECK_OK(PMIx_tool_disconnect(&b.name));
    pmix_info_t where;
    PMIX_INFO_LOAD(&where, PMIX_SERVER_URI, b.uri, PMIX_STRING);
    CHECK_OK(PMIx_tool_connect_to_server(&me, &where, 1));
    CHECK(PMIX_CHECK_PROCID(&me, &was));
    CHECK_OK(PMIx_tool_set_server(&b.name, NULL, 0));
    PMIX_INFO_DESTRUCT(&where);

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
    pmix_status_t codes[] = {EVENT, PMIX_ERR_LOST_CONNECTION};
    CHECK_OK(start_server(&a, TOOLS, "a", NULL));
    CHECK_OK(start_server(&b, TOOLS, "b", NULL));
    /* A handler that is older than the first connection. */
    CHECK_OK(init_with(PMIX_TOOL_DO_NOT_CONNECT, &yes, PMIX_BOOL));
    pmix_status_t handler = PMIx_Register_event_handler(codes, 2, NULL, 0, on_event, NULL, NULL);
    CHECK(handler >= 0);
    CHECK_OK(attach_to(PMIX_SERVER_URI, a.uri, PMIX_STRING, false, NULL));
    ask(&a, 'e');
    until(&heard, 1);
    /* It stays with its server, whichever is the primary one. */
    CHECK_OK(attach_to(PMIX_SERVER_URI, b.uri, PMIX_STRING, true, NULL));
    ask(&a, 'e');
    until(&heard, 2);
    ask(&b, 'e');
    /* And moves when that one has gone: to the primary one, for what is raised from then on. */
    end_server(&a, 0);
    until(&lost, 1);
    ask(&b, 'e');
    until(&heard, 3);
    /* Where it returns to, it does not hear again what it has heard. */
    CHECK_OK(PMIx_tool_disconnect(&b.name));
    CHECK_OK(attach_to(PMIX_SERVER_URI, b.uri, PMIX_STRING, true, NULL));
    ask(&b, 'e');
    until(&heard, 4);
    /* Its own events come back to it. */
    CHECK_OK(PMIx_Notify_event(EVENT, NULL, PMIX_RANGE_LOCAL, NULL, 0, NULL, NULL));
    until(&heard, 5);
    CHECK(heard == 5);
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
    /* The answer does not wait for the host, which is notified of the end afterwards. */
    const double patience = seconds_now() + 60;
    while (ask(&a, 'p') != 2) CHECK(seconds_now() < patience);
    CHECK(ask(&b, 'p') == 0);

    /* The job of the one is nothing to the other. */
    CHECK_STATUS(PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value), PMIX_ERR_NOT_FOUND);
    PMIX_LOAD_PROCID(&job, b.job, PMIX_RANK_WILDCARD);
    CHECK_OK(PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value));
    PMIX_VALUE_RELEASE(value);
    CHECK_OK(PMIx_tool_finalize());
    end_server(&a, 0);
    end_server(&b, 0);
}

/* Where this process's stdout goes meanwhile. */
static int stdout_before;

static void take_stdout(const char* file) {
    fflush(stdout);
    stdout_before = dup(STDOUT_FILENO);
    int fd = open(file, O_CREAT | O_TRUNC | O_RDWR, 0600);
    CHECK(stdout_before >= 0 && fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0 && close(fd) == 0);
}

static void give_stdout_back(void) {
    CHECK(dup2(stdout_before, STDOUT_FILENO) >= 0 && close(stdout_before) == 0);
}

/* What its callback is given is written too, if the tool has said so, and a pull may say otherwise. */
/* rows: T1 O3 */
/* proves: PMIx_tool_init PMIX_IOF_LOCAL_OUTPUT */
static void written(void) {
    struct server a;
    struct stat size;
    pmix_proc_t job;
    pmix_info_t info[2], no_output;
    char file[512];
    bool yes = true, no = false;
    in_directory(file, sizeof file, "written");
    CHECK_OK(start_server(&a, TOOLS, "a", NULL));
    PMIX_LOAD_PROCID(&job, a.job, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_URI, a.uri, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_IOF_LOCAL_OUTPUT, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&no_output, PMIX_IOF_LOCAL_OUTPUT, &no, PMIX_BOOL);
    take_stdout(file);
    for (int said = 0; said < 2; said++) {
        for (int otherwise = 0; otherwise < 2; otherwise++) {
            uint32_t before = __atomic_load_n(&outputs, __ATOMIC_SEQ_CST);
            off_t was = stat(file, &size) == 0 ? size.st_size : -1;
            CHECK_OK(PMIx_tool_init(&me, info, said ? 2 : 1));
            CHECK(PMIx_IOF_pull(&job, 1, &no_output, (size_t)otherwise, PMIX_FWD_STDOUT_CHANNEL, on_output, NULL,
                                NULL) >= 0);
            ask(&a, 'o');
            until(&outputs, before + 1);
            CHECK_OK(PMIx_tool_finalize()); /* all is out by now */
            CHECK(stat(file, &size) == 0 && size.st_size - was == (said && !otherwise ? 13 : 0));
        }
    }
    give_stdout_back();
    CHECK(unlink(file) == 0);
    PMIX_INFO_DESTRUCT(&info[0]);
    end_server(&a, 0);
}

int main(int argc, char** argv) {
    static const struct plain_case cases[] = {
        {"several", several},
        {"events", events},
        {"calls", calls},
        {"written", written},
    };
    RUN_PLAIN_CASE(cases);
    printf("OK %s\n", argv[1]);
    return 0;
}
