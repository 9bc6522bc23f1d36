/* SPDX-License-Identifier: BSD-3-Clause */
/* share: a host that gives or shares a topology, and the client that it forks, which must see that one and not the
 * machine's.
 * usage: share XML-FILE CASE   with CASE in: xml file pointer own hidden none
 * rows: H1 H5 H9
 */
#include <pmix.h>
#include <pmix_server.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                 \
    do {                                                                 \
        if (!(condition)) {                                              \
            printf("FAIL %s line %d: %s\n", role, __LINE__, #condition); \
            fflush(stdout);                                              \
            _exit(1);                                                    \
        }                                                                \
    } while (0)

static const char* role = "host";

static bool hwloc_is_open(void) {
    char line[512];
    bool open = false;
    FILE* maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps) != NULL) open |= strstr(line, "libhwloc") != NULL;
    fclose(maps);
    return open;
}

/* On which packages these CPUs are: only the topology of the file has eight CPUs on two of them. */
static bool sees_two_packages(void) {
    pmix_cpuset_t cpuset = PMIX_CPUSET_STATIC_INIT;
    char* locality = NULL;
    CHECK(PMIx_Parse_cpuset_string("hwloc:3-4", &cpuset) == PMIX_SUCCESS);
    CHECK(PMIx_server_generate_locality_string(&cpuset, &locality) == PMIX_SUCCESS);
    bool same = locality != NULL && strcmp(locality, "hwloc:SK0-1:L30-1:L21-2:L11-2:CR1-2:HT3-4:NM0-1") == 0;
    free(locality);
    PMIX_CPUSET_DESTRUCT(&cpuset);
    PMIX_CPUSET_DESTRUCT(&cpuset);
    return same;
}

static void client(const char* shared) {
    pmix_proc_t me;
    role = "client";
    CHECK(PMIx_Init(&me, NULL, 0) == PMIX_SUCCESS);
    CHECK(!hwloc_is_open());

    pmix_value_t* value = NULL;
    pmix_info_t optional;
    pmix_proc_t job = me;
    job.rank = PMIX_RANK_WILDCARD;
    PMIX_INFO_LOAD(&optional, PMIX_OPTIONAL, NULL, PMIX_BOOL);
    pmix_status_t rc = PMIx_Get(&job, PMIX_HWLOC_XML_V2, &optional, 1, &value);
    if (strcmp(shared, "nothing") == 0) {
        CHECK(rc == PMIX_ERR_NOT_FOUND);
    } else {
        CHECK(rc == PMIX_SUCCESS && value->type == PMIX_STRING && strstr(value->data.string, "<topology") != NULL);
        PMIX_VALUE_RELEASE(value);
    }

    pmix_topology_t topology = PMIX_TOPOLOGY_STATIC_INIT, again = PMIX_TOPOLOGY_STATIC_INIT;
    CHECK(PMIx_Load_topology(&topology) == PMIX_SUCCESS);
    CHECK(topology.topology != NULL && strncmp(topology.source, "hwloc", 5) == 0);
    again.source = strdup("HWLOC");
    CHECK(PMIx_Load_topology(&again) == PMIX_SUCCESS);
    CHECK(again.topology == topology.topology && strcmp(again.source, "HWLOC") == 0);
    if (strcmp(shared, "file") == 0) CHECK(sees_two_packages());
    if (strcmp(shared, "nothing") == 0) CHECK(!sees_two_packages());
    /* Neither of these may free what the library goes on using. */
    PMIX_TOPOLOGY_DESTRUCT(&again);
    PMIX_TOPOLOGY_DESTRUCT(&again);
    if (strcmp(shared, "file") == 0) CHECK(sees_two_packages());
    CHECK(PMIx_Finalize(NULL, 0) == PMIX_SUCCESS);
    PMIX_TOPOLOGY_DESTRUCT(&topology);
    printf("OK client: %s\n", shared);
}

static bool done(pmix_status_t rc) {
    return rc == PMIX_SUCCESS || rc == PMIX_OPERATION_SUCCEEDED;
}

static char* text_of(const char* path) {
    FILE* file = fopen(path, "r");
    CHECK(file != NULL);
    char* text = calloc(1, 1 << 20);
    CHECK(text != NULL && fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

/* proves: PMIx_server_init PMIX_SERVER_SHARE_TOPOLOGY PMIX_TOPOLOGY_XML PMIX_TOPOLOGY_FILE PMIX_TOPOLOGY2 */
int main(int argc, char** argv) {
    if (argc == 3 && strcmp(argv[1], "client") == 0) {
        client(argv[2]);
        return 0;
    }
    CHECK(argc == 3);
    const char* kind = argv[2];
    const char* shared = "file";
    pmix_info_t infos[2];
    size_t n = 0;
    bool on = true, off = false;
    char* xml = text_of(argv[1]);
    pmix_topology_t given = PMIX_TOPOLOGY_STATIC_INIT;

    if (strcmp(kind, "xml") == 0) {
        PMIX_INFO_LOAD(&infos[n++], PMIX_TOPOLOGY_XML, xml, PMIX_STRING);
    } else if (strcmp(kind, "file") == 0) {
        PMIX_INFO_LOAD(&infos[n++], PMIX_TOPOLOGY_FILE, argv[1], PMIX_STRING);
    } else if (strcmp(kind, "hidden") == 0) {
        PMIX_INFO_LOAD(&infos[n++], PMIX_TOPOLOGY_XML, xml, PMIX_STRING);
        PMIX_INFO_LOAD(&infos[n++], PMIX_SERVER_SHARE_TOPOLOGY, &off, PMIX_BOOL);
        shared = "nothing";
    } else if (strcmp(kind, "own") == 0) {
        setenv("HWLOC_XMLFILE", argv[1], 1);
        PMIX_INFO_LOAD(&infos[n++], PMIX_SERVER_SHARE_TOPOLOGY, &on, PMIX_BOOL);
    } else if (strcmp(kind, "pointer") == 0) {
        /* Made by a first instance of the library; then it is the host's. */
        PMIX_INFO_LOAD(&infos[0], PMIX_TOPOLOGY_XML, xml, PMIX_STRING);
        CHECK(PMIx_server_init(NULL, infos, 1) == PMIX_SUCCESS);
        PMIX_INFO_DESTRUCT(&infos[0]);
        pmix_topology_t loaded = PMIX_TOPOLOGY_STATIC_INIT;
        pmix_value_t copy;
        CHECK(PMIx_Load_topology(&loaded) == PMIX_SUCCESS);
        CHECK(PMIx_Value_load(&copy, &loaded, PMIX_TOPO) == PMIX_SUCCESS);
        PMIX_TOPOLOGY_DESTRUCT(&loaded);
        given = *copy.data.topo;
        free(copy.data.topo);
        CHECK(given.topology != loaded.topology);
        CHECK(PMIx_server_finalize() == PMIX_SUCCESS);
        pmix_info_t* info = &infos[n++];
        PMIX_INFO_CONSTRUCT(info);
        PMIX_LOAD_KEY(info->key, PMIX_TOPOLOGY2);
        info->value.type = PMIX_TOPO;
        info->value.data.topo = &given;
    } else {
        shared = "nothing";
    }
    CHECK(PMIx_server_init(NULL, infos, n) == PMIX_SUCCESS);
    unsetenv("HWLOC_XMLFILE");
    if (strcmp(kind, "pointer") == 0) {
        pmix_topology_t mine = PMIX_TOPOLOGY_STATIC_INIT;
        CHECK(PMIx_Load_topology(&mine) == PMIX_SUCCESS);
        CHECK(mine.topology == given.topology);
        PMIX_TOPOLOGY_DESTRUCT(&mine);
    } else {
        for (size_t i = 0; i < n; i++) PMIX_INFO_DESTRUCT(&infos[i]);
    }
    CHECK(strcmp(kind, "none") == 0 || sees_two_packages());
    free(xml);

    pmix_proc_t proc;
    pmix_info_t job[2];
    uint32_t one = 1;
    PMIX_LOAD_PROCID(&proc, "share", 0);
    PMIX_INFO_LOAD(&job[0], PMIX_JOB_SIZE, &one, PMIX_UINT32);
    PMIX_INFO_LOAD(&job[1], PMIX_LOCAL_PEERS, "0", PMIX_STRING);
    CHECK(done(PMIx_server_register_nspace(proc.nspace, 1, job, 2, NULL, NULL)));
    CHECK(done(PMIx_server_register_client(&proc, getuid(), getgid(), NULL, NULL, NULL)));
    PMIX_INFO_DESTRUCT(&job[0]);
    PMIX_INFO_DESTRUCT(&job[1]);
    char** environment = NULL;
    extern char** environ;
    for (char** e = environ; *e != NULL; e++) CHECK(PMIx_Argv_append_nosize(&environment, *e) == PMIX_SUCCESS);
    CHECK(PMIx_server_setup_fork(&proc, &environment) == PMIX_SUCCESS);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        char* arguments[] = {argv[0], "client", (char*)(uintptr_t)shared, NULL};
        execve(argv[0], arguments, environment);
        _exit(127);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    PMIx_Argv_free(environment);
    PMIx_server_deregister_nspace(proc.nspace, NULL, NULL);
    CHECK(PMIx_server_finalize() == PMIX_SUCCESS);
    PMIX_TOPOLOGY_DESTRUCT(&given); /* now the host's again */
    printf("OK host: %s\n", kind);
    return 0;
}
