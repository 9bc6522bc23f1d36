/* SPDX-License-Identifier: BSD-3-Clause */
/* impostor: a server of one user that claims to be the system's, and the tools that reject it. Root's tools look for
 * the system's server too, and would tell it what root's tools tell. Needs root, to become two users.
 *
 * Nothing is executed, as in users.c: the server and each tool are forked, become their user, and then initialise. */
#define PMIX_SERVER_INIT_PLAIN
#include <grp.h>
#include <pmix_server.h>
#include <pmix_tool.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../../support/other_users.h"
#include "../check.h"

enum { OWNER = 64111, OTHER_USER = 64112 }; /* no such users need exist */
static const char impostor[] = "impostor";

static void become(uid_t user) {
    if (user != 0) CHECK(setgroups(0, NULL) == 0 && setgid(user) == 0 && setuid(user) == 0);
    CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
}

static void on_tool(pmix_info_t* info, size_t ninfo, pmix_tool_connection_cbfunc_t cbfunc, void* cbdata) {
    (void)info, (void)ninfo;
    cbfunc(PMIX_SUCCESS, NULL, cbdata);
}

static int serve(int line, const char* directory) {
    static pmix_server_module_t module = {.tool_connected = on_tool};
    bool yes = true;
    char letter = 'u';
    pmix_info_t info[4];
    become(OWNER);
    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_NSPACE, impostor, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_SERVER_SYSTEM_SUPPORT, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[2], PMIX_SERVER_TMPDIR, directory, PMIX_STRING);
    PMIX_INFO_LOAD(&info[3], PMIX_SYSTEM_TMPDIR, directory, PMIX_STRING);
    CHECK_OK(PMIx_server_init(&module, info, 4));
    for (int i = 0; i < 4; i++) PMIX_INFO_DESTRUCT(&info[i]);
    CHECK(write(line, &letter, 1) == 1);
    while (read(line, &letter, 1) > 0) continue; /* until the test closes its end */
    CHECK_OK(PMIx_server_finalize());
    return 0;
}

/* Exit status: 0 it is this server's tool, 1 it is not. */
static int be_tool(uid_t user, pmix_info_t* way) {
    pmix_proc_t self, *servers = NULL;
    size_t count = 0;
    bool found = false;
    become(user);
    alarm(60);
    pmix_status_t status = PMIx_tool_init(&self, way, 1);
    if (status != PMIX_SUCCESS) return 1;
    CHECK_OK(PMIx_tool_get_servers(&servers, &count));
    for (size_t i = 0; i < count; i++) found = found || strcmp(servers[i].nspace, impostor) == 0;
    PMIX_PROC_FREE(servers, count);
    CHECK_OK(PMIx_tool_finalize());
    return found ? 0 : 1;
}

static void look(uid_t user, const char* key, const void* value, pmix_data_type_t type, bool finds) {
    pmix_info_t way;
    int status = 0;
    PMIX_INFO_LOAD(&way, key, value, type);
    fflush(stdout);
    pid_t tool = fork();
    CHECK(tool >= 0);
    if (tool == 0) _exit(be_tool(user, &way));
    CHECK(waitpid(tool, &status, 0) == tool);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != (finds ? 0 : 1))
        printf("FAIL: user %u by %s: %s\n", (unsigned)user, key, finds ? "not found" : "believed");
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == (finds ? 0 : 1));
    PMIX_INFO_DESTRUCT(&way);
}

/* rows: T2 */
int main(void) {
    char directory[] = "/tmp/impostor.XXXXXX", letter = 0;
    bool yes = true;
    int ends[2], status = 0;
    if (!can_be_other_users()) {
        printf("skipped: needs root\n");
        return 77;
    }
    /* Where it is permitted, no other server of this machine is in sight, and then nothing hides the impostor. */
    (void)unshare(CLONE_NEWNET);
    CHECK(mkdtemp(directory) && chown(directory, OWNER, OWNER) == 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    pid_t server = fork();
    CHECK(server >= 0);
    if (server == 0) {
        close(ends[0]);
        _exit(serve(ends[1], directory));
    }
    close(ends[1]);
    CHECK(read(ends[0], &letter, 1) == 1);

    /* It is there, and its own user may think it the system's. */
    look(OWNER, PMIX_CONNECT_TO_SYSTEM, &yes, PMIX_BOOL, true);
    look(OWNER, PMIX_SERVER_NSPACE, impostor, PMIX_STRING, true);
    /* Its own claims are accepted by no other user, root included. */
    look(OTHER_USER, PMIX_CONNECT_TO_SYSTEM, &yes, PMIX_BOOL, false);
    look(0, PMIX_CONNECT_TO_SYSTEM, &yes, PMIX_BOOL, false);
    look(0, PMIX_CONNECT_SYSTEM_FIRST, &yes, PMIX_BOOL, false);
    look(0, PMIX_SERVER_NSPACE, impostor, PMIX_STRING, false);
    /* Its number is the kernel's word: root means this one. */
    look(0, PMIX_SERVER_PIDINFO, &server, PMIX_PID, true);
    look(OTHER_USER, PMIX_SERVER_PIDINFO, &server, PMIX_PID, false);

    close(ends[0]);
    CHECK(waitpid(server, &status, 0) == server && status == 0);
    rmdir(directory);
    CHECK(access(directory, F_OK) != 0);
    printf("OK impostor\n");
    return 0;
}
