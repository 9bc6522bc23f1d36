/* SPDX-License-Identifier: BSD-3-Clause */
/* users: who may be which rank, with real processes of three users: the server's, the one that the rank is registered
 * for, and another user. Needs root, to become them.
 * usage: users root|user           whose process the server is
 *        users unmapped|forbidden|environment
 *                                  the server is in a user namespace that maps root alone; the last two: and its host,
 * or the environment, admits only users that the kernel can name
 *
 * Nothing is executed, so that nobody needs access to the build: the processes are forked before any is a server or a
 * client, become their user, and then initialise. */
#define PMIX_SERVER_INIT_PLAIN
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <pmix_server.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "../../support/other_users.h"
#include "../check.h"

enum { OWNER = 64101, UNREGISTERED = 64102 }; /* no such users need exist */
enum { MAX_ENVIRONMENT = 16384 };

static void become(uid_t user) {
    CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
    if (user == 0) return;
    CHECK(setgroups(0, NULL) == 0 && setgid(user) == 0 && setuid(user) == 0);
    CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0); /* a change of user ends it */
}

/* --- the server: one job, one rank, told by single letters -------------------------------------------------------- */

static pmix_status_t client_left(const pmix_proc_t* proc, void* object, pmix_op_cbfunc_t cbfunc, void* cbdata) {
    (void)proc, (void)object, (void)cbfunc, (void)cbdata;
    return PMIX_OPERATION_SUCCEEDED;
}

static unsigned connected; /* written on the library's thread, read when its clients are gone */

static pmix_status_t on_client(const pmix_proc_t* proc, void* object, pmix_info_t info[], size_t ninfo,
                               pmix_op_cbfunc_t cbfunc, void* cbdata) {
    (void)proc, (void)object, (void)info, (void)ninfo, (void)cbfunc, (void)cbdata;
    __atomic_add_fetch(&connected, 1, __ATOMIC_SEQ_CST);
    return PMIX_OPERATION_SUCCEEDED;
}

static void register_the_job(pmix_proc_t* rank) {
    char host[256] = "";
    uint32_t size = 1;
    pmix_info_t info[3];
    gethostname(host, sizeof host - 1);
    PMIX_LOAD_PROCID(rank, "users", 0);
    PMIX_INFO_LOAD(&info[0], PMIX_NODE_MAP, host, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_PROC_MAP, "0", PMIX_STRING);
    PMIX_INFO_LOAD(&info[2], PMIX_JOB_SIZE, &size, PMIX_UINT32);
    CHECK_DONE(PMIx_server_register_nspace(rank->nspace, 1, info, 3, NULL, NULL));
    for (int i = 0; i < 3; i++) PMIX_INFO_DESTRUCT(&info[i]);
    CHECK_DONE(PMIx_server_register_client(rank, OWNER, OWNER, NULL, NULL, NULL));
}

static uint32_t open_descriptors(void) {
    uint32_t count = 0;
    DIR* directory = opendir("/proc/self/fd");
    CHECK(directory);
    while (readdir(directory)) count++;
    closedir(directory);
    return count;
}

static void send_environment(int line, const pmix_proc_t* rank) {
    char text[MAX_ENVIRONMENT];
    uint32_t size = 0;
    char** env = NULL;
    CHECK_OK(PMIx_server_setup_fork(rank, &env));
    for (size_t i = 0; env[i]; i++) {
        CHECK(size + strlen(env[i]) + 1 < sizeof text);
        size += (uint32_t)sprintf(text + size, "%s", env[i]) + 1;
        free(env[i]);
    }
    free(env);
    CHECK(write(line, text, size) == (ssize_t)size);
}

/* From now on the kernel has numbers here for root's processes only. */
static bool map_root_alone(void) {
    if (unshare(CLONE_NEWUSER) != 0) return false;
    int map = open("/proc/self/uid_map", O_WRONLY);
    bool done = map >= 0 && write(map, "0 0 1\n", 6) == 6;
    if (map >= 0) close(map);
    return done;
}

static int serve(uid_t user, bool forbidden, int line) {
    static pmix_server_module_t module = {.client_connected2 = on_client, .client_finalized = client_left};
    pmix_proc_t rank;
    become(user);
    pmix_info_t named;
    bool unmapped = false;
    PMIX_INFO_LOAD(&named, PMIX_WIREUP_UNMAPPED_USERS, &unmapped, PMIX_BOOL);
    CHECK_OK(PMIx_server_init(&module, forbidden ? &named : NULL, forbidden));
    register_the_job(&rank);
    for (char letter; read(line, &letter, 1) == 1;) {
        uint32_t number = letter == 'f' ? open_descriptors() : __atomic_load_n(&connected, __ATOMIC_SEQ_CST);
        if (letter == 'e') {
            send_environment(line, &rank);
        } else {
            CHECK(write(line, &number, sizeof number) == sizeof number);
        }
    }
    CHECK_OK(PMIx_server_finalize());
    return 0;
}

static uint32_t ask(int line, char letter) {
    uint32_t number = 0;
    CHECK(write(line, &letter, 1) == 1);
    CHECK(read(line, &number, sizeof number) == sizeof number);
    return number;
}

/* --- the clients -------------------------------------------------------------------------------------------------- */

enum token { RIGHT, WRONG, NONE };

static void take_environment(int line, enum token token) {
    char text[MAX_ENVIRONMENT];
    CHECK(write(line, "e", 1) == 1);
    ssize_t size = read(line, text, sizeof text);
    CHECK(size > 0 && text[size - 1] == 0);
    for (char *setting = text, *next; setting < text + size; setting = next) {
        char* value = strchr(setting, '=');
        CHECK(value);
        next = setting + strlen(setting) + 1;
        *value++ = 0;
        setenv(setting, value, 1);
    }
    const char* shown = getenv("PMIX_WIREUP_TOKEN");
    CHECK(shown && strlen(shown) == 64);
    if (token == NONE) unsetenv("PMIX_WIREUP_TOKEN");
    if (token == WRONG) {
        char other[65];
        /* Each digit is another one, and hardly ever all are 0, which would be no token. */
        for (int i = 0; i < 64; i++) other[i] = shown[i] == '0' ? 'f' : shown[i] == 'a' ? '9' : (char)(shown[i] - 1);
        other[64] = 0;
        setenv("PMIX_WIREUP_TOKEN", other, 1);
    }
}

static int be_client(uid_t user, enum token token, int line, pmix_status_t wanted) {
    take_environment(line, token);
    become(user);
    alarm(200);
    CHECK_STATUS(PMIx_Init(&me, NULL, 0), wanted);
    CHECK(PMIx_Initialized() == (wanted == PMIX_SUCCESS));
    if (wanted != PMIX_SUCCESS) {
        CHECK_STATUS(PMIx_Finalize(NULL, 0), PMIX_ERR_INIT);
        return 0;
    }
    /* It is a client like any other: it reads what the server holds, and its data come to it. */
    CHECK(job_u32(PMIX_JOB_SIZE) == 1);
    uint32_t number = 0;
    CHECK_OK(put_u32(PMIX_GLOBAL, "mine", 5));
    CHECK_OK(PMIx_Commit());
    fence(true);
    CHECK_OK(get_u32(&me, "mine", 60, &number));
    CHECK(number == 5);
    CHECK_OK(PMIx_Finalize(NULL, 0));
    return 0;
}

/* told: did the host hear of it? */
static void try_told(uid_t user, enum token token, int line, pmix_status_t wanted, bool told) {
    uint32_t before = ask(line, 'f'), connects = ask(line, 'c');
    int status = 0;
    fflush(stdout);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) _exit(be_client(user, token, line, wanted));
    CHECK(waitpid(pid, &status, 0) == pid);
    if (status != 0) printf("FAIL: user %u, token %d\n", (unsigned)user, (int)token);
    CHECK(status == 0);
    /* The host was notified only of processes that the server admitted, and nothing is kept of the others. */
    CHECK(ask(line, 'c') == connects + told);
    double since = seconds_now();
    while (ask(line, 'f') != before) CHECK(seconds_now() - since < 60);
}

static void try(uid_t user, enum token token, int line, pmix_status_t wanted) {
    try_told(user, token, line, wanted, wanted == PMIX_SUCCESS);
}

/* The kernel names every user: its number decides, whatever token is shown. */
static void try_named_users(int line, bool root) {
    try(OWNER, RIGHT, line, PMIX_SUCCESS);
    try(OWNER, NONE, line, PMIX_SUCCESS);
    /* A wrong token is worse than none: it is from another instance of the namespace. */
    try(OWNER, WRONG, line, PMIX_ERR_INVALID_CRED);
    for (int i = 0; i < 3; i++) try(UNREGISTERED, NONE, line, PMIX_ERR_INVALID_CRED);
    try(UNREGISTERED, WRONG, line, PMIX_ERR_INVALID_CRED);
    /* Another user who has read the rank's environment is still another user. */
    try(UNREGISTERED, RIGHT, line, PMIX_ERR_INVALID_CRED);
    /* Root may be anybody at the server. But a client believes no other user's server without its half of the token,
     * and root as little as others: then the client is the one that leaves. */
    try(0, RIGHT, line, PMIX_SUCCESS);
    try_told(0, NONE, line, root ? PMIX_SUCCESS : PMIX_ERR_INVALID_CRED, true);
    /* And the rank is still its owner's. */
    try(OWNER, RIGHT, line, PMIX_SUCCESS);
}

/* The kernel has no number for the user: the token is required, and stands in for the number where the host permits. */
static void try_unmapped_users(int line, bool permitted) {
    try(OWNER, RIGHT, line, permitted ? PMIX_SUCCESS : PMIX_ERR_INVALID_CRED);
    try(OWNER, NONE, line, PMIX_ERR_INVALID_CRED);
    try(OWNER, WRONG, line, PMIX_ERR_INVALID_CRED);
    try(UNREGISTERED, NONE, line, PMIX_ERR_INVALID_CRED);
    try(0, RIGHT, line, PMIX_SUCCESS);
}

/* rows: V10 */
/* proves: PMIx_server_init PMIX_WIREUP_UNMAPPED_USERS */
int main(int argc, char** argv) {
    CHECK(argc == 2);
    if (!can_be_other_users()) {
        printf("skipped: needs root\n");
        return 0;
    }
    const bool user = strcmp(argv[1], "user") == 0, forbidden = strcmp(argv[1], "forbidden") == 0;
    const bool environment = strcmp(argv[1], "environment") == 0;
    const bool unmapped = forbidden || environment || strcmp(argv[1], "unmapped") == 0;
    int ends[2], status = 0;
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    pid_t server = fork();
    CHECK(server >= 0);
    if (server == 0) {
        close(ends[0]);
        if (unmapped && !map_root_alone()) _exit(77);
        if (environment) setenv("WIREUP_UNMAPPED_USERS", "0", 1);
        _exit(serve(user ? OWNER : 0, forbidden, ends[1]));
    }
    close(ends[1]);
    int line = ends[0];
    if (unmapped) {
        char letter = 'c';
        uint32_t number = 0;
        signal(SIGPIPE, SIG_IGN);
        if (write(line, &letter, 1) != 1 || read(line, &number, sizeof number) != sizeof number) {
            CHECK(waitpid(server, &status, 0) == server && WIFEXITED(status) && WEXITSTATUS(status) == 77);
            printf("skipped: user namespaces are not permitted here\n");
            return 0;
        }
        try_unmapped_users(line, !forbidden && !environment);
    } else {
        try_named_users(line, !user);
    }

    close(line);
    CHECK(waitpid(server, &status, 0) == server && status == 0);
    printf("OK users, the server is %s\n", argv[1]);
    return 0;
}
