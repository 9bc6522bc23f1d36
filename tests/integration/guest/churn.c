/* SPDX-License-Identifier: BSD-3-Clause */
/* churn: jobs and assemblages that come and go thousands of times leave nothing in a client, a server or its host.
 * usage: churn spawn|connect|group COUNT MOST_KIB
 *   spawn: each pass spawns a job, reads its data, connects with it and disconnects. connect: with one and the same
 * job. group: constructs and destructs. MOST_KIB: how much a process may grow in three quarters of the rounds; 0: any
 *
 * What leaks does so in each round, what an allocator takes at once (an arena more on a busy machine) comes in one
 * block at any time. So the last two thirds are held against the bound each by itself, and the one that grew less
 * counts.
 *
 * The host is in the server's process and starts nothing: the jobs that it spawns run on another node, which there is
 * not. So a pass costs what the library does, and ten thousand of them a few seconds. */
#include <dirent.h>
#include <pmix_server.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../check.h"

extern char** environ;

static const pmix_nspace_t own_job = "churn";

/* --- the host ----------------------------------------------------------------------------------------------------- */

static void register_job(const char* nspace, const char* nodes, const char* ranks, uint32_t size, int local) {
    pmix_info_t info[3];
    PMIX_INFO_LOAD(&info[0], PMIX_NODE_MAP, nodes, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_PROC_MAP, ranks, PMIX_STRING);
    PMIX_INFO_LOAD(&info[2], PMIX_JOB_SIZE, &size, PMIX_UINT32);
    CHECK_DONE(PMIx_server_register_nspace(nspace, local, info, 3, NULL, NULL));
    for (int i = 0; i < 3; i++) PMIX_INFO_DESTRUCT(&info[i]);
}

/* Upcalls come one after another, on the library's thread. */
static unsigned spawned;
static pmix_nspace_t last_spawned;

static pmix_status_t on_spawn(const pmix_proc_t* proc, const pmix_info_t job_info[], size_t ninfo,
                              const pmix_app_t apps[], size_t napps, pmix_spawn_cbfunc_t cbfunc, void* cbdata) {
    (void)proc, (void)job_info, (void)ninfo, (void)apps, (void)napps;
    if (last_spawned[0]) PMIx_server_deregister_nspace(last_spawned, NULL, NULL);
    snprintf(last_spawned, sizeof last_spawned, "churn.%u", ++spawned);
    register_job(last_spawned, "elsewhere,beyond", "0,2;1,3", 4, 0);
    cbfunc(PMIX_SUCCESS, last_spawned, cbdata);
    return PMIX_SUCCESS;
}

static pmix_status_t on_join(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[], size_t ninfo,
                             pmix_op_cbfunc_t cbfunc, void* cbdata) {
    (void)procs, (void)nprocs, (void)info, (void)ninfo, (void)cbfunc, (void)cbdata;
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_group(pmix_group_operation_t what, char name[], const pmix_proc_t procs[], size_t nprocs,
                              const pmix_info_t info[], size_t ninfo, pmix_info_cbfunc_t cbfunc, void* cbdata) {
    (void)name, (void)procs, (void)nprocs, (void)info, (void)ninfo;
    static size_t next = 1;
    pmix_info_t number;
    PMIX_INFO_LOAD(&number, PMIX_GROUP_CONTEXT_ID, &next, PMIX_SIZE);
    next++;
    cbfunc(PMIX_SUCCESS, &number, what == PMIX_GROUP_CONSTRUCT, cbdata, NULL, NULL);
    return PMIX_SUCCESS;
}

static pmix_server_module_t module = {.spawn = on_spawn, .connect = on_join, .disconnect = on_join, .group = on_group};

static int host(char** argv) {
    pmix_proc_t proc;
    char hostname[256] = "", **env = NULL;
    int status = 0;
    pid_t pid;
    gethostname(hostname, sizeof hostname - 1);
    CHECK_OK(PMIx_server_init(&module, NULL, 0));
    register_job(own_job, hostname, "0", 1, 1);
    PMIX_LOAD_PROCID(&proc, own_job, 0);
    CHECK_DONE(PMIx_server_register_client(&proc, geteuid(), getegid(), NULL, NULL, NULL));
    for (size_t i = 0; environ[i]; i++) PMIX_ARGV_APPEND(status, env, environ[i]);
    CHECK_OK(PMIx_server_setup_fork(&proc, &env));
    fflush(stdout);
    CHECK((pid = fork()) >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execve("/proc/self/exe", argv, env);
        _exit(127);
    }
    PMIX_ARGV_FREE(env);
    CHECK(waitpid(pid, &status, 0) == pid);
    PMIx_server_deregister_nspace(own_job, NULL, NULL);
    CHECK_OK(PMIx_server_finalize());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* --- what a process has ------------------------------------------------------------------------------------------- */

struct size {
    long anonymous_kib, descriptors, mappings;
};

static struct size size_of(pid_t pid) {
    char path[64], line[512];
    struct size size = {0, 0, 0};
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid); /* what is there, not the sums of .../status */
    FILE* file = fopen(path, "r");
    CHECK(file);
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, "Anonymous:", 10) == 0) size.anonymous_kib = strtol(line + 10, NULL, 10);
    }
    fclose(file);
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    CHECK((file = fopen(path, "r")) != NULL);
    while (fgets(line, sizeof line, file)) size.mappings += strchr(line, '\n') != NULL;
    fclose(file);
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR* directory = opendir(path);
    CHECK(directory);
    while (readdir(directory)) size.descriptors++;
    closedir(directory);
    return size;
}

/* at: after one third of the rounds, after two, after all. */
static void check_growth(const char* process, const struct size at[3], long most_kib) {
    const struct size before = at[0], after = at[2];
    const long second = at[1].anonymous_kib - at[0].anonymous_kib, third = at[2].anonymous_kib - at[1].anonymous_kib;
    printf("%s: %ld to %ld to %ld KiB, %ld to %ld descriptors, %ld to %ld mappings\n", process, at[0].anonymous_kib,
           at[1].anonymous_kib, at[2].anonymous_kib, before.descriptors, after.descriptors, before.mappings,
           after.mappings);
    /* Some jobs have just ended, and are about to be unmapped. */
    CHECK(after.descriptors <= before.descriptors + 100);
    if (most_kib == 0) return;
    CHECK(after.mappings <= before.mappings + 100);
    CHECK((second < third ? second : third) <= most_kib * 4 / 9); /* of three quarters, a third */
}

/* --- the client --------------------------------------------------------------------------------------------------- */

static void read_job(const char* nspace, pmix_rank_t rank, const char* key) {
    pmix_proc_t proc;
    pmix_value_t* value = NULL;
    PMIX_LOAD_PROCID(&proc, nspace, rank);
    CHECK_OK(PMIx_Get(&proc, key, NULL, 0, &value));
    PMIX_VALUE_RELEASE(value);
}

static void spawn_one(pmix_nspace_t nspace) {
    char program[] = "nothing";
    char* arguments[] = {program, NULL};
    pmix_app_t app = {.cmd = program, .argv = arguments, .maxprocs = 4};
    CHECK_OK(PMIx_Spawn(NULL, 0, &app, 1, nspace));
}

static void join(const char* nspace) {
    pmix_proc_t procs[2] = {me};
    PMIX_LOAD_PROCID(&procs[1], nspace, PMIX_RANK_WILDCARD);
    CHECK_OK(PMIx_Connect(procs, 2, NULL, 0));
    read_job(nspace, PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
    read_job(nspace, 3, PMIX_HOSTNAME);
    CHECK_OK(PMIx_Disconnect(procs, 2, NULL, 0));
}

static void group_once(unsigned pass) {
    char name[32];
    bool yes = true;
    pmix_info_t assign, *results = NULL;
    size_t nresults = 0;
    snprintf(name, sizeof name, "group.%u", pass);
    PMIX_INFO_LOAD(&assign, PMIX_GROUP_ASSIGN_CONTEXT_ID, &yes, PMIX_BOOL);
    CHECK_OK(PMIx_Group_construct(name, &me, 1, &assign, 1, &results, &nresults));
    PMIX_INFO_FREE(results, nresults);
    CHECK_OK(PMIx_Group_destruct(name, NULL, 0));
}

/* rows: C1 C4 C5 R12 */
static int client(const char* what, unsigned count, long most_kib) {
    struct size own[3] = {{0}}, hosts[3] = {{0}};
    pmix_nspace_t nspace = "";
    CHECK_OK(PMIx_Init(&me, NULL, 0));
    double before = seconds_now();
    if (strcmp(what, "connect") == 0) spawn_one(nspace);
    for (unsigned pass = 0; pass < count; pass++) {
        for (unsigned third = 1; third < 3; third++) {
            if (pass != count * third / 3) continue;
            own[third - 1] = size_of(getpid());
            hosts[third - 1] = size_of(getppid());
        }
        if (strcmp(what, "group") == 0) {
            group_once(pass);
            continue;
        }
        if (strcmp(what, "spawn") == 0) {
            spawn_one(nspace);
            read_job(nspace, PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
        }
        join(nspace);
    }
    printf("%u passes in %.1f s\n", count, seconds_now() - before);
    own[2] = size_of(getpid());
    hosts[2] = size_of(getppid());
    check_growth("client", own, most_kib);
    check_growth("server", hosts, most_kib);
    return finish();
}

int main(int argc, char** argv) {
    CHECK(argc == 4);
    alarm(200);
    if (!getenv("PMIX_NAMESPACE")) return host(argv);
    return client(argv[1], (unsigned)strtoul(argv[2], NULL, 10), strtol(argv[3], NULL, 10));
}
