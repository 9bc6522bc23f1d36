/* SPDX-License-Identifier: BSD-3-Clause */
/* zoo.c: see zoo.h. */
#include "zoo.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

void zoo_fail(const char* file, int line, const char* what, pmix_status_t got) {
    const char* name = strrchr(file, '/');
    printf("FAIL %s:%d: %s", name ? name + 1 : file, line, what);
    if (got != PMIX_SUCCESS) printf(" is %s (%d)", PMIx_Error_string(got), got);
    printf("\n");
    fflush(stdout);
    _exit(1);
}

pmix_proc_t proc_of(const char* name, uint32_t rank) {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, name, rank);
    return proc;
}

void register_job(const char* name, uint32_t ranks, pmix_op_cbfunc_t done, void* cbdata) {
    pmix_info_t info[3];
    pmix_nspace_t nspace;
    char host[256] = "", list[4096] = "";
    CHECK(gethostname(host, sizeof host - 1) == 0);
    for (uint32_t rank = 0, used = 0; rank < ranks; rank++)
        used += (uint32_t)snprintf(list + used, sizeof list - used, "%s%u", rank ? "," : "", rank);
    PMIX_INFO_LOAD(&info[0], PMIX_NODE_MAP, host, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_PROC_MAP, list, PMIX_STRING);
    PMIX_INFO_LOAD(&info[2], PMIX_JOB_SIZE, &ranks, PMIX_UINT32);
    PMIX_LOAD_NSPACE(nspace, name);
    CHECK_OK(PMIx_server_register_nspace(nspace, (int)ranks, info, 3, done, cbdata));
    /* A host may do with its memory what it likes as soon as the call has returned. */
    for (int i = 0; i < 3; i++) PMIX_INFO_DESTRUCT(&info[i]);
    memset(info, 0x5a, sizeof info);
    memset(nspace, 0x5a, sizeof nspace);
}

void register_rank(const char* name, uint32_t rank, pmix_op_cbfunc_t done, void* cbdata) {
    pmix_proc_t proc = proc_of(name, rank);
    CHECK_OK(PMIx_server_register_client(&proc, geteuid(), getegid(), NULL, done, cbdata));
    memset(&proc, 0x5a, sizeof proc);
}

void deregister_job(const char* name) {
    pmix_nspace_t nspace;
    PMIX_LOAD_NSPACE(nspace, name);
    PMIx_server_deregister_nspace(nspace, NULL, NULL);
}

char** environment_of(const char* name, uint32_t rank) {
    pmix_proc_t proc = proc_of(name, rank);
    char** env = NULL;
    CHECK_OK(PMIx_server_setup_fork(&proc, &env));
    return env;
}

/* Between fork and exec of a process with threads: no malloc. */
void exec_client(char** env, const char* mode) {
    static char* all[4096];
    char* arguments[] = {(char*)"host_zoo", (char*)"client", (char*)mode, NULL};
    size_t n = 0;
    for (; env && *env && n < 4095; env++) all[n++] = *env; /* the first of a name is the one that counts */
    for (char** own = environ; *own && n < 4095; own++) all[n++] = *own;
    execve("/proc/self/exe", arguments, all);
    _exit(127);
}

pid_t start_in(char** env, const char* mode) {
    fflush(stdout);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) exec_client(env, mode);
    for (char** e = env; e && *e; e++) free(*e);
    free(env);
    return pid;
}

pid_t start_client(const char* name, uint32_t rank, const char* mode) {
    return start_in(environment_of(name, rank), mode);
}

void await_client(pid_t pid, int wanted) {
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid);
    int got = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (got == wanted) return;
    printf("FAIL: a client ended with %d, not with %d\n", got, wanted);
    fflush(stdout);
    _exit(1);
}

void run_job(const char* name, uint32_t ranks, const char* mode) {
    pid_t pids[64];
    CHECK(ranks <= 64);
    for (uint32_t rank = 0; rank < ranks; rank++) pids[rank] = start_client(name, rank, mode);
    for (uint32_t rank = 0; rank < ranks; rank++) await_client(pids[rank], 0);
}

void usual_run(pmix_server_module_t* module, const char* mode) {
    CHECK_OK(PMIx_server_init(module, NULL, 0));
    register_job("job", RANKS, NULL, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) register_rank("job", rank, NULL, NULL);
    run_job("job", RANKS, mode);
    deregister_job("job");
    CHECK_OK(PMIx_server_finalize());
}

/* --- boxes --- */

void box_signal(struct box* box, pmix_status_t status) {
    pthread_mutex_lock(&box->lock);
    box->count++;
    box->status = status;
    pthread_cond_broadcast(&box->changed);
    pthread_mutex_unlock(&box->lock);
}

void box_wait(struct box* box, int count) {
    pthread_mutex_lock(&box->lock);
    while (box->count < count) pthread_cond_wait(&box->changed, &box->lock);
    pthread_mutex_unlock(&box->lock);
}

void box_done(pmix_status_t status, void* box) {
    box_signal(box, status);
}

/* --- the module --- */

static enum way way_of_connected, way_of_publish;
static int seen;
static pthread_mutex_t answers_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t answer_threads[256];
static size_t answer_count;

struct answer {
    pmix_op_cbfunc_t done;
    void* cbdata;
};

static void* answer_now(void* arg) {
    struct answer* answer = arg;
    answer->done(PMIX_SUCCESS, answer->cbdata);
    free(answer);
    return NULL;
}

static void answer_by_thread(pmix_op_cbfunc_t done, void* cbdata) {
    struct answer* answer = malloc(sizeof *answer);
    CHECK(answer);
    *answer = (struct answer){done, cbdata};
    pthread_mutex_lock(&answers_lock);
    CHECK(answer_count < 256);
    CHECK(pthread_create(&answer_threads[answer_count++], NULL, answer_now, answer) == 0);
    pthread_mutex_unlock(&answers_lock);
}

void join_answers(void) {
    for (size_t i = 0; i < answer_count; i++) pthread_join(answer_threads[i], NULL);
    answer_count = 0;
}

int upcalls(void) {
    return __atomic_load_n(&seen, __ATOMIC_SEQ_CST);
}

static pmix_status_t answer(enum way way, pmix_op_cbfunc_t done, void* cbdata) {
    __atomic_fetch_add(&seen, 1, __ATOMIC_SEQ_CST);
    switch (way) {
        case BY_CALLBACK:
            if (done) done(PMIX_SUCCESS, cbdata);
            return PMIX_SUCCESS;
        case BY_RETURN:
            return PMIX_OPERATION_SUCCEEDED;
        case TWICE:
            answer_by_thread(done, cbdata); /* fall through */
        case BY_THREAD:
            answer_by_thread(done, cbdata);
            return PMIX_SUCCESS;
        case BOTH:
            done(PMIX_SUCCESS, cbdata);
            return PMIX_OPERATION_SUCCEEDED;
        case NEVER:
            return PMIX_SUCCESS;
        case POSITIVE:
            return 42;
        case REFUSES:
            return PMIX_ERR_NO_PERMISSIONS;
    }
    return PMIX_ERROR;
}

static pmix_status_t client_connected2(const pmix_proc_t* proc, void* object, pmix_info_t info[], size_t ninfo,
                                       pmix_op_cbfunc_t done, void* cbdata) {
    (void)proc, (void)object, (void)info, (void)ninfo;
    return answer(way_of_connected, done, cbdata);
}
static pmix_status_t client_finalized(const pmix_proc_t* proc, void* object, pmix_op_cbfunc_t done, void* cbdata) {
    (void)proc, (void)object;
    return answer(way_of_connected == REFUSES ? BY_CALLBACK : way_of_connected, done, cbdata);
}
static pmix_status_t publish(const pmix_proc_t* proc, const pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t done,
                             void* cbdata) {
    (void)proc, (void)info, (void)ninfo;
    return answer(way_of_publish, done, cbdata);
}

pmix_server_module_t module_that(enum way connected, enum way publishes) {
    way_of_connected = connected;
    way_of_publish = publishes;
    pmix_server_module_t module;
    memset(&module, 0, sizeof module);
    module.client_connected2 = client_connected2;
    module.client_finalized = client_finalized;
    module.publish = publish;
    return module;
}

/* --- main --- */

static void list(const struct host* hosts) {
    for (; hosts->name; hosts++) printf("%s\n", hosts->name);
}

static bool run_host(const struct host* hosts, const char* name) {
    for (; hosts->name; hosts++) {
        if (strcmp(hosts->name, name) != 0) continue;
        hosts->run();
        printf("OK\n");
        return true;
    }
    return false;
}

int main(int argc, char** argv) {
    alarm(240); /* nobody waits for ever */
    if (argc == 3 && strcmp(argv[1], "client") == 0) return client(argv[2]);
    if (argc == 3 && strcmp(argv[1], "stuck") == 0) return stuck_host(argv[2]);
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        list(order_hosts), list(answer_hosts), list(ending_hosts), list(data_hosts), list(hosts_of_7);
        return 0;
    }
    if (argc == 2 &&
        (run_host(order_hosts, argv[1]) || run_host(answer_hosts, argv[1]) || run_host(ending_hosts, argv[1]) ||
         run_host(data_hosts, argv[1]) || run_host(hosts_of_7, argv[1]))) {
        return 0;
    }
    fprintf(stderr, "usage: host_zoo HOST | stuck sleeps | stuck spins | --list\n");
    return 2;
}
