/* SPDX-License-Identifier: BSD-3-Clause */
/* closed_streams: a process that has closed some of descriptors 0, 1 and 2, as a daemon's script may have it, and
 * prints all the same. The numbers stay free, in a client, a tool and a server, and what is printed goes nowhere. And
 * one that may have few descriptors. usage: closed_streams client|few|tool|server|served MODE
 * MODE: the descriptors that are closed, "12"; "-" for none. */
#include <errno.h>
#include <fcntl.h>
#include <pmix_server.h>
#include <pmix_tool.h>
#include <stdio_ext.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "check.h"

static const char *mode, *program;
static int streams[3]; /* where they are meanwhile */

static void close_streams(void) {
    for (int fd = 0; fd <= 2; fd++) {
        if (!strchr(mode, '0' + fd)) continue;
        streams[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 20);
        CHECK(streams[fd] >= 0);
        close(fd);
    }
}

static void open_streams(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (streams[fd] > 0) dup2(streams[fd], fd);
}

/* The call has succeeded, and nothing that was opened is where a stream was. Then there is output. */
static void good(int line, const char* call, pmix_status_t status) {
    int taken = -1;
    for (int fd = 0; fd <= 2; fd++)
        if (streams[fd] > 0 && fcntl(fd, F_GETFD) != -1) taken = fd;
    if ((status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED) || taken >= 0) {
        open_streams();
        if (taken >= 0) printf("FAIL: descriptor %d is taken\n", taken);
        fail_at(line, call, status, PMIX_SUCCESS);
    }
    if (streams[1] > 0) printf("a line that goes nowhere\n");
    if (streams[1] > 0) fflush(stdout);
    if (streams[2] > 0) fprintf(stderr, "an error that goes nowhere\n");
    char byte;
    if (streams[0] > 0 && read(0, &byte, 1) >= 0) fail_at(line, call, status, PMIX_SUCCESS);
}
#define GOOD(call) good(__LINE__, #call, call)

static void put_here_again(void) {
    __fpurge(stdout); /* has what could not be printed */
    clearerr(stdout);
    open_streams();
}

static struct signal_box registered = SIGNAL_BOX;

static void on_event(size_t handler, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t* results, size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)handler, (void)status, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    if (done) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void handler_registered(pmix_status_t status, size_t handler, void* cbdata) {
    (void)handler;
    box_signal(cbdata, status);
}

static void use_it(bool publishes) {
    char name[32];
    pmix_status_t code = -3300;
    pmix_info_t info;
    pmix_pdata_t found;
    pmix_value_t* value = NULL;
    pmix_proc_t job = rank_of_job(PMIX_RANK_WILDCARD), next;
    GOOD(PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value));
    job_size = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    next = rank_of_job((me.rank + 1) % job_size);
    /* More than the eight after which they meet in memory. */
    for (uint32_t round = 0; round < 12; round++) {
        bool collect = true;
        pmix_value_t number = {.type = PMIX_UINT32, .data.uint32 = round};
        PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
        GOOD(PMIx_Put(PMIX_GLOBAL, "round", &number));
        GOOD(PMIx_Commit());
        GOOD(PMIx_Fence(NULL, 0, &info, 1));
        GOOD(PMIx_Get(&next, "round", NULL, 0, &value));
        GOOD(value->data.uint32 == round ? PMIX_SUCCESS : PMIX_ERROR);
        PMIX_VALUE_RELEASE(value);
        GOOD(PMIx_Fence(NULL, 0, NULL, 0));
    }
    PMIx_Register_event_handler(&code, 1, NULL, 0, on_event, handler_registered, &registered);
    GOOD(box_wait(&registered, 1, 60) ? registered.status : PMIX_ERR_TIMEOUT);
    if (!publishes) return;
    snprintf(name, sizeof name, "closed.%u", me.rank);
    PMIX_INFO_LOAD(&info, name, "up", PMIX_STRING);
    GOOD(PMIx_Publish(&info, 1));
    PMIX_INFO_DESTRUCT(&info);
    PMIX_PDATA_CONSTRUCT(&found);
    PMIX_LOAD_KEY(found.key, name);
    GOOD(PMIx_Lookup(&found, 1, NULL, 0));
    PMIX_PDATA_DESTRUCT(&found);
    GOOD(PMIx_Fence(NULL, 0, NULL, 0));
}

static void use_as_client(bool publishes) {
    alarm(200);
    setenv("WIREUP_LOG", "trace@/dev/null", 1);
    close_streams();
    GOOD(PMIx_Init(&me, NULL, 0));
    use_it(publishes);
    GOOD(PMIx_Finalize(NULL, 0));
    put_here_again();
    printf("OK rank %u\n", me.rank);
}

static void client(void) {
    use_as_client(true);
}

/* Of the server below, which has no host to publish with. */
static void served(void) {
    use_as_client(false);
}

/* At most eight descriptors, as far as the soft limit goes. */
static void few(void) {
    struct rlimit limit;
    alarm(200);
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    close_streams();
    limit.rlim_cur = 8;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    GOOD(PMIx_Init(&me, NULL, 0));
    use_it(true);
    GOOD(PMIx_Finalize(NULL, 0));
    put_here_again();
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK(limit.rlim_cur == 32); /* no more than it needs: others of the process may use select() */
    printf("OK rank %u\n", me.rank);
}

/* A tool of its own, which starts a process. */
static void tool(void) {
    bool yes = true;
    char* argv[] = {(char*)"true", NULL};
    pmix_nspace_t nspace;
    pmix_app_t app = {.cmd = argv[0], .argv = argv, .maxprocs = 1};
    pmix_info_t info;
    alarm(200);
    close_streams();
    PMIX_INFO_LOAD(&info, PMIX_TOOL_DO_NOT_CONNECT, &yes, PMIX_BOOL);
    GOOD(PMIx_tool_init(&me, &info, 1));
    GOOD(PMIx_Spawn(NULL, 0, &app, 1, nspace));
    GOOD(PMIx_tool_finalize());
    put_here_again();
    printf("OK\n");
}

static void server(void) {
    static pmix_server_module_t module;
    struct signal_box box = SIGNAL_BOX;
    char** env = NULL;
    char* argv[] = {(char*)program, (char*)"served", (char*)mode, NULL};
    pmix_nspace_t nspace;
    pmix_info_t info;
    uint32_t one = 1;
    int status = 0;
    alarm(200);
    close_streams();
    PMIX_INFO_LOAD(&info, PMIX_JOB_SIZE, &one, PMIX_UINT32);
    GOOD(PMIx_server_init(&module, NULL, 0));
    PMIX_LOAD_NSPACE(nspace, "job");
    PMIX_LOAD_PROCID(&me, "job", 0);
    pmix_status_t rc = PMIx_server_register_nspace(nspace, 1, &info, 1, op_done, &box);
    GOOD(rc == PMIX_SUCCESS ? (box_wait(&box, 1, 60) ? box.status : PMIX_ERR_TIMEOUT) : rc);
    GOOD(PMIx_server_register_client(&me, getuid(), getgid(), NULL, NULL, NULL));
    GOOD(PMIx_server_setup_fork(&me, &env));
    pid_t child = fork();
    if (child == 0) {
        open_streams();
        for (char** e = env; *e; e++) putenv(*e);
        execv(program, argv);
        _exit(127);
    }
    CHECK(child > 0);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    GOOD(WIFEXITED(status) && WEXITSTATUS(status) == 0 ? PMIX_SUCCESS : PMIX_ERROR);
    GOOD(PMIx_server_finalize());
    for (char** e = env; *e; e++) free(*e);
    free(env);
    put_here_again();
    printf("OK server\n");
}

int main(int argc, char** argv) {
    static const struct plain_case cases[] = {
        {"client", client}, {"served", served}, {"few", few}, {"tool", tool}, {"server", server}};
    program = argv[0];
    CHECK(argc == 3);
    mode = argv[2];
    RUN_PLAIN_CASE(cases);
    return 0;
}
