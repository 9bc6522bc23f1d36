/* SPDX-License-Identifier: BSD-3-Clause */
/* Tools and Debuggers: initialization, rendezvous, servers, and the output of processes. */
#include <dirent.h>

#include "check.h"
#include "host.h"

#define INIT "Tools and Debuggers / PMIx_tool_init"
#define RENDEZVOUS "Tools and Debuggers / Rendezvousing with a local server"
#define SERVERS "Tools and Debuggers / PMIx_tool_get_servers"
#define ATTACH "Tools and Debuggers / PMIx_tool_attach_to_server"
#define DISCONNECT "Tools and Debuggers / PMIx_tool_disconnect"
#define SET "Tools and Debuggers / PMIx_tool_set_server"
#define PULL "Tools and Debuggers / PMIx_IOF_pull"
#define PUSH "Tools and Debuggers / PMIx_IOF_push"

static pmix_proc_t self;
static void no_connection(void) {
    pmix_rank_t rank = 0;
    pmix_info_t info[3] = {info_true(PMIX_TOOL_DO_NOT_CONNECT),
                           info_of(PMIX_TOOL_NSPACE, "conformance-alone", PMIX_STRING),
                           info_of(PMIX_TOOL_RANK, &rank, PMIX_PROC_RANK)};
    EXPECT_OK(PMIx_tool_init(&self, info, 3));
}
static void connect_by_pid(void) {
    pid_t host = getppid();
    pmix_info_t info = info_of(PMIX_SERVER_PIDINFO, &host, PMIX_PID);
    EXPECT_OPTIONAL(PMIx_tool_init(&self, &info, 1), PMIX_SUCCESS);
}

ROW(tool_alone, INIT,
    "With PMIX_TOOL_DO_NOT_CONNECT the tool is initialized without a server, and has the identity that was given") {
    no_connection();
    EXPECT_STRING("conformance-alone", self.nspace);
    EXPECT_INT(0, self.rank);
    EXPECT_OK(PMIx_tool_finalize());
}
ROW(tool_alone_unnamed, INIT, "Without a server and a name the tool is initialized") {
    pmix_info_t info = info_true(PMIX_TOOL_DO_NOT_CONNECT);
    EXPECT_OK(PMIx_tool_init(&self, &info, 1));
    EXPECT_OK(PMIx_tool_finalize());
}
ROW(tool_alone_requests, DISCONNECT, "Without a server requests of a server are PMIX_ERR_UNREACH") {
    no_connection();
    pmix_info_t info = info_of("key", "value", PMIX_STRING);
    EXPECT_STATUS(PMIx_Publish(&info, 1), PMIX_ERR_UNREACH);
}
ROW(tool_alone_servers, SERVERS, "A tool without a server has none") {
    no_connection();
    pmix_proc_t* servers = NULL;
    size_t count = 0;
    (void)PMIx_tool_get_servers(&servers, &count);
    EXPECT_INT(0, count);
}
ROW(tool_no_server, INIT, "Where no server is found an error is returned") {
    EXPECT_ERROR(PMIx_tool_init(&self, NULL, 0));
}
ROW(tool_wrong_pid, RENDEZVOUS, "A server of a process that does not exist is an error") {
    pid_t nobody = 2147483000;
    pmix_info_t info = info_of(PMIX_SERVER_PIDINFO, &nobody, PMIX_PID);
    EXPECT_ERROR(PMIx_tool_init(&self, &info, 1));
}
ROW(tool_wrong_file, RENDEZVOUS, "An attachment file that does not exist is an error") {
    pmix_info_t info = info_of(PMIX_TOOL_ATTACHMENT_FILE, "/conformance/no/such/file", PMIX_STRING);
    EXPECT_ERROR(PMIx_tool_init(&self, &info, 1));
}
ROW(tool_wrong_system, RENDEZVOUS, "A system server that does not exist is an error") {
    pmix_info_t info = info_true(PMIX_CONNECT_TO_SYSTEM);
    EXPECT_ERROR(PMIx_tool_init(&self, &info, 1));
}
ROW(tool_finalize_without_init, "Tools and Debuggers / PMIx_tool_finalize",
    "Without PMIx_tool_init an error is returned") {
    EXPECT_ERROR(PMIx_tool_finalize());
}

ROW(tool_by_pid, RENDEZVOUS, "A server is found by PMIX_SERVER_PIDINFO", .ranks = 1, .tool = true) {
    connect_by_pid();
    EXPECT(strncmp(self.nspace, "conformance-tool-", 17) == 0);
    EXPECT_OK(PMIx_tool_finalize());
}
ROW(tool_by_default, RENDEZVOUS, "A server is found in the directory of servers", .ranks = 1, .tool = true) {
    EXPECT_OK(PMIx_tool_init(&self, NULL, 0));
    EXPECT(strncmp(self.nspace, "conformance-tool-", 17) == 0);
    EXPECT_OK(PMIx_tool_finalize());
}
static void named_server(void) {
    host_init_info[host_init_ninfo++] = info_of(PMIX_SERVER_NSPACE, "conformance-named", PMIX_STRING);
}
ROW(tool_by_namespace, RENDEZVOUS, "A server is found by PMIX_SERVER_NSPACE", .ranks = 1, .tool = true,
    .before = named_server) {
    pmix_info_t info = info_of(PMIX_SERVER_NSPACE, "conformance-named", PMIX_STRING);
    EXPECT_OK(PMIx_tool_init(&self, &info, 1));
    EXPECT_OK(PMIx_tool_finalize());
}
static void system_server(void) {
    host_init_info[host_init_ninfo++] = info_true(PMIX_SERVER_SYSTEM_SUPPORT);
}
ROW(tool_by_system, RENDEZVOUS, "A system server is found by PMIX_CONNECT_TO_SYSTEM", .ranks = 1, .tool = true,
    .before = system_server) {
    pmix_info_t info = info_true(PMIX_CONNECT_TO_SYSTEM);
    EXPECT_OK(PMIx_tool_init(&self, &info, 1));
    EXPECT_OK(PMIx_tool_finalize());
}
ROW(tool_system_first, RENDEZVOUS, "PMIX_CONNECT_SYSTEM_FIRST goes on where there is no system server", .ranks = 1,
    .tool = true) {
    pmix_info_t info = info_true(PMIX_CONNECT_SYSTEM_FIRST);
    EXPECT_OK(PMIx_tool_init(&self, &info, 1));
    EXPECT_OK(PMIx_tool_finalize());
}
/* The file of the host's process id, anywhere below the folder of the row. */
static bool find_file(const char* folder, const char* ending, char* path, size_t size) {
    DIR* list = opendir(folder);
    if (list == NULL) return false;
    struct dirent* entry;
    bool found = false;
    while (!found && (entry = readdir(list)) != NULL) {
        if (entry->d_name[0] == '.') continue;
        char below[1000];
        snprintf(below, sizeof(below), "%s/%s", folder, entry->d_name);
        size_t length = strlen(entry->d_name), wanted = strlen(ending);
        if (strncmp(entry->d_name, "pmix.", 5) == 0 && length > wanted &&
            strcmp(entry->d_name + length - wanted, ending) == 0) {
            snprintf(path, size, "%s", below);
            found = true;
        } else {
            found = find_file(below, ending, path, size);
        }
    }
    closedir(list);
    return found;
}
ROW(tool_files, RENDEZVOUS, "A server has rendezvous files of its process and its namespace", .ranks = 1, .tool = true,
    .before = named_server) {
    char path[1000], ending[40];
    snprintf(ending, sizeof(ending), ".tool.%d", (int)getppid());
    EXPECT(find_file(getenv("TMPDIR"), ending, path, sizeof(path)));
    EXPECT(find_file(getenv("TMPDIR"), ".tool.conformance-named", path, sizeof(path)));
}
ROW(tool_by_file, RENDEZVOUS, "A server is found by PMIX_TOOL_ATTACHMENT_FILE", .ranks = 1, .tool = true) {
    char path[1000], ending[40];
    snprintf(ending, sizeof(ending), ".tool.%d", (int)getppid());
    EXPECT(find_file(getenv("TMPDIR"), ending, path, sizeof(path)));
    pmix_info_t info = info_of(PMIX_TOOL_ATTACHMENT_FILE, path, PMIX_STRING);
    EXPECT_OK(PMIx_tool_init(&self, &info, 1));
    EXPECT_OK(PMIx_tool_finalize());
}
ROW(tool_two_uris, RENDEZVOUS, "PMIX_SERVER_URI and PMIX_TCP_URI together are an error", .ranks = 1, .tool = true) {
    pmix_info_t info[2] = {info_of(PMIX_SERVER_URI, "conformance.0;tcp4://127.0.0.1:1", PMIX_STRING),
                           info_of(PMIX_TCP_URI, "conformance.0;tcp4://127.0.0.1:1", PMIX_STRING)};
    EXPECT_ERROR(PMIx_tool_init(&self, info, 2));
}
ROW(tool_own_name, INIT, "A namespace that the tool gives is its own", .ranks = 1, .tool = true) {
    pid_t host = getppid();
    pmix_info_t info[2] = {info_of(PMIX_SERVER_PIDINFO, &host, PMIX_PID),
                           info_of(PMIX_TOOL_NSPACE, "conformance-mine", PMIX_STRING)};
    EXPECT_OK(PMIx_tool_init(&self, info, 2));
    EXPECT_STRING("conformance-mine", self.nspace);
    EXPECT_INT(0, self.rank);
    EXPECT_OK(PMIx_tool_finalize());
}
static void tool_checked(void) {
    expect_ids(upcall_at("tool_connected", 0));
}
ROW(tool_upcall, "Server-Specific Interfaces / pmix_server_tool_connection_fn_t",
    "The host has the user and group of a tool", .ranks = 1, .tool = true, .after = tool_checked) {
    connect_by_pid();
    EXPECT_OK(PMIx_tool_finalize());
}
static void refuses_tools(void) {
    host_answer = PMIX_ERR_NO_PERMISSIONS;
}
ROW(tool_refused, "Server-Specific Interfaces / pmix_server_tool_connection_fn_t",
    "A tool that the host refuses is not connected", .ranks = 1, .tool = true, .before = refuses_tools) {
    pid_t host = getppid();
    pmix_info_t info = info_of(PMIX_SERVER_PIDINFO, &host, PMIX_PID);
    EXPECT_ERROR(PMIx_tool_init(&self, &info, 1));
}
ROW(tool_requests, INIT, "A tool uses the calls of clients", .ranks = 1, .tool = true) {
    connect_by_pid();
    pmix_info_t info = info_of("key", "value", PMIX_STRING);
    EXPECT_OPTIONAL(PMIx_Publish(&info, 1), PMIX_SUCCESS);
    pmix_pdata_t pdata;
    memset(&pdata, 0, sizeof(pdata));
    PMIX_LOAD_KEY(pdata.key, "key");
    EXPECT_OK(PMIx_Lookup(&pdata, 1, NULL, 0));
    EXPECT_STRING("value", pdata.value.data.string);
    EXPECT_OK(PMIx_tool_finalize());
}
ROW(tool_counts, INIT, "Two PMIx_tool_init need two PMIx_tool_finalize", .ranks = 1, .tool = true) {
    connect_by_pid();
    EXPECT_OK(PMIx_tool_init(NULL, NULL, 0));
    EXPECT_OK(PMIx_tool_finalize());
    EXPECT_INT(1, PMIx_Initialized());
    EXPECT_OK(PMIx_tool_finalize());
    EXPECT_INT(0, PMIx_Initialized());
}
ROW(tool_servers, SERVERS, "The server of a tool is in its list", .ranks = 1, .tool = true, .before = named_server) {
    connect_by_pid();
    pmix_proc_t* servers = NULL;
    size_t count = 0;
    EXPECT_OK(PMIx_tool_get_servers(&servers, &count));
    EXPECT_INT(1, count);
    EXPECT_STRING("conformance-named", servers[0].nspace);
    EXPECT_OK(PMIx_tool_finalize());
}
ROW(tool_attach_later, ATTACH, "A tool without a server attaches to one later", .ranks = 1, .tool = true) {
    no_connection();
    pid_t host = getppid();
    pmix_info_t info[2] = {info_of(PMIX_SERVER_PIDINFO, &host, PMIX_PID), info_true(PMIX_PRIMARY_SERVER)};
    pmix_proc_t server;
    memset(&server, 0, sizeof(server));
    EXPECT_OK(PMIx_tool_attach_to_server(NULL, &server, info, 2));
    EXPECT(strlen(server.nspace) > 0);
    pmix_info_t data = info_of("key", "value", PMIX_STRING);
    EXPECT_OPTIONAL(PMIx_Publish(&data, 1), PMIX_SUCCESS);
    EXPECT_OK(PMIx_tool_finalize());
}
ROW(tool_disconnect, DISCONNECT, "After the disconnection the library is initialized and requests are PMIX_ERR_UNREACH",
    .ranks = 1, .tool = true) {
    connect_by_pid();
    pmix_proc_t* servers = NULL;
    size_t count = 0;
    EXPECT_OK(PMIx_tool_get_servers(&servers, &count));
    EXPECT_INT(1, count);
    EXPECT_OK(PMIx_tool_disconnect(&servers[0]));
    EXPECT_INT(1, PMIx_Initialized());
    pmix_info_t info = info_of("key", "value", PMIX_STRING);
    EXPECT_STATUS(PMIx_Publish(&info, 1), PMIX_ERR_UNREACH);
}
ROW(tool_set_unknown, SET, "A server to which the tool is not connected cannot be its primary one", .ranks = 1,
    .tool = true) {
    connect_by_pid();
    pmix_proc_t nobody = proc_of("conformance-none", 3);
    EXPECT_ERROR(PMIx_tool_set_server(&nobody, NULL, 0));
    EXPECT_OK(PMIx_tool_finalize());
}
static void no_tools(void) {
    host_serves_tools = false;
}
ROW(tool_no_support, INIT, "A server without PMIX_SERVER_TOOL_SUPPORT accepts no tools", .ranks = 1, .tool = true,
    .before = no_tools) {
    pid_t host = getppid();
    pmix_info_t info = info_of(PMIX_SERVER_PIDINFO, &host, PMIX_PID);
    EXPECT_ERROR(PMIx_tool_init(&self, &info, 1));
}

/* ---- output and input ---- */

static struct signal output;
static char text[2000];
static void on_output(size_t id, pmix_iof_channel_t channel, pmix_proc_t* source, pmix_byte_object_t* payload,
                      pmix_info_t info[], size_t ninfo) {
    (void)id;
    (void)source;
    (void)info;
    (void)ninfo;
    if (payload != NULL && payload->bytes != NULL) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "%.*s", (int)payload->size, payload->bytes);
    }
    raise_signal(&output, channel);
}
static void deliver(void) {
    wait_clients(1);
    pmix_proc_t source = proc_of("conformance-app", 3);
    pmix_byte_object_t bytes = {"a line of output\n", 17};
    EXPECT_ACCEPTED(PMIx_server_IOF_deliver(&source, PMIX_FWD_STDOUT_CHANNEL, &bytes, NULL, 0, NULL, NULL));
}
ROW(iof_pull, PULL, "Output that the host delivers reaches the tool that asked for it", .ranks = 1, .tool = true,
    .during = deliver) {
    connect_by_pid();
    pmix_proc_t source = proc_of("conformance-app", PMIX_RANK_WILDCARD);
    EXPECT(EXPECT_OPTIONAL(PMIx_IOF_pull(&source, 1, NULL, 0, PMIX_FWD_STDOUT_CHANNEL, on_output, NULL, NULL),
                           PMIX_SUCCESS, 0, 1, 2, 3) >= 0);
    tell_host();
    wait_signal(&output, 1, "the output");
    EXPECT(strstr(text, "a line of output") != NULL);
    EXPECT_OK(PMIx_tool_finalize());
}
static void pull_checked(void) {
    const struct upcall* upcall = upcall_at("iof_pull", 0);
    EXPECT_STRING("conformance-app", upcall->procs[0].nspace);
    EXPECT_INT(PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL, upcall->number);
    expect_ids(upcall);
}
ROW(iof_pull_upcall, "Server-Specific Interfaces / pmix_server_iof_fn_t",
    "The host has the sources, the channels, user and group", .ranks = 1, .tool = true, .after = pull_checked) {
    connect_by_pid();
    pmix_proc_t source = proc_of("conformance-app", PMIX_RANK_WILDCARD);
    EXPECT(EXPECT_OPTIONAL(PMIx_IOF_pull(&source, 1, NULL, 0, PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL,
                                         on_output, NULL, NULL),
                           PMIX_SUCCESS, 0, 1, 2, 3) >= 0);
    EXPECT_OK(PMIx_tool_finalize());
}
ROW(iof_pull_stdin, PULL, "The stdin channel cannot be pulled", .ranks = 1, .tool = true) {
    connect_by_pid();
    pmix_proc_t source = proc_of("conformance-app", PMIX_RANK_WILDCARD);
    EXPECT_ERROR(PMIx_IOF_pull(&source, 1, NULL, 0, PMIX_FWD_STDIN_CHANNEL, on_output, NULL, NULL));
    EXPECT_OK(PMIx_tool_finalize());
}
static struct signal done;
static void push_checked(void) {
    const struct upcall* upcall = upcall_at("push_stdin", 0);
    EXPECT_STRING("typed", upcall->text[0]);
    EXPECT_STRING("conformance-app", upcall->procs[0].nspace);
    EXPECT_INT(0, upcall->procs[0].rank);
}
ROW(iof_push, PUSH, "The host has the input, its source and its targets", .ranks = 1, .tool = true,
    .after = push_checked) {
    connect_by_pid();
    pmix_proc_t target = proc_of("conformance-app", 0);
    pmix_byte_object_t bytes = {"typed", 5};
    pmix_status_t status = EXPECT_OPTIONAL(PMIx_IOF_push(&target, 1, &bytes, NULL, 0, op_done, &done), PMIX_SUCCESS,
                                           PMIX_OPERATION_SUCCEEDED);
    if (status == PMIX_SUCCESS) {
        wait_signal(&done, 1, "the callback");
        EXPECT_OK(done.status);
    }
    EXPECT_OK(PMIx_tool_finalize());
}
ROW(iof_deregister_unknown, "Tools and Debuggers / PMIx_IOF_deregister", "A reference that was never given is an error",
    .ranks = 1, .tool = true) {
    connect_by_pid();
    EXPECT_ERROR(PMIx_IOF_deregister(98765, NULL, 0, NULL, NULL));
    EXPECT_OK(PMIx_tool_finalize());
}
