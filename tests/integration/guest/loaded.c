/* SPDX-License-Identifier: BSD-3-Clause */
/* loaded: the library as a plug-in opens it, with dlopen, and lets it go again. Linked to no libpmix.
 * usage: loaded cycles N LIBRARY            under pmixrun: opened, used and closed N times
 *        loaded two_clients LIBRARY LIBRARY under pmixrun: two copies, each a client of the one server
 *        loaded server_client LIBRARY LIBRARY          two copies, one the server of the other */
#define PMIX_SERVER_INIT_PLAIN
#include <dirent.h>
#include <dlfcn.h>
#include <pmix.h>
#include <pmix_server.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition)                                        \
    do {                                                        \
        if (!(condition)) {                                     \
            printf("FAIL line %d: %s\n", __LINE__, #condition); \
            fflush(stdout);                                     \
            _exit(1);                                           \
        }                                                       \
    } while (0)

/* Only what is called; the types are the headers' own. */
struct library {
    void* handle;
    __typeof__(&PMIx_Init) init;
    __typeof__(&PMIx_Finalize) finalize;
    __typeof__(&PMIx_Initialized) initialized;
    __typeof__(&PMIx_Put) put;
    __typeof__(&PMIx_Commit) commit;
    __typeof__(&PMIx_Get) get;
    __typeof__(&PMIx_Value_free) value_free;
    __typeof__(&PMIx_Publish) publish;
    __typeof__(&PMIx_Lookup) lookup;
    __typeof__(&PMIx_Info_load) info_load;
    __typeof__(&PMIx_Info_destruct) info_destruct;
    __typeof__(&PMIx_Pdata_destruct) pdata_destruct;
    __typeof__(&PMIx_Fence) fence;
    __typeof__(&PMIx_server_init) server_init;
    __typeof__(&PMIx_server_finalize) server_finalize;
    __typeof__(&PMIx_server_register_nspace) register_nspace;
    __typeof__(&PMIx_server_register_client) register_client;
    __typeof__(&PMIx_server_setup_fork) setup_fork;
};

static void* function(void* handle, const char* name) {
    void* found = dlsym(handle, name);
    if (!found) printf("FAIL: no %s: %s\n", name, dlerror());
    CHECK(found);
    return found;
}

static void library_open(struct library* l, const char* path) {
    l->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!l->handle) printf("FAIL: %s\n", dlerror());
    CHECK(l->handle);
#define FIND(member, name) *(void**)&l->member = function(l->handle, name)
    FIND(init, "PMIx_Init");
    FIND(finalize, "PMIx_Finalize");
    FIND(initialized, "PMIx_Initialized");
    FIND(put, "PMIx_Put");
    FIND(commit, "PMIx_Commit");
    FIND(get, "PMIx_Get");
    FIND(value_free, "PMIx_Value_free");
    FIND(publish, "PMIx_Publish");
    FIND(lookup, "PMIx_Lookup");
    FIND(info_load, "PMIx_Info_load");
    FIND(info_destruct, "PMIx_Info_destruct");
    FIND(pdata_destruct, "PMIx_Pdata_destruct");
    FIND(fence, "PMIx_Fence");
    FIND(server_init, "PMIx_server_init");
    FIND(server_finalize, "PMIx_server_finalize");
    FIND(register_nspace, "PMIx_server_register_nspace");
    FIND(register_client, "PMIx_server_register_client");
    FIND(setup_fork, "PMIx_server_setup_fork");
}

/* --- what a process holds ----------------------------------------------------------------------------------------- */

static unsigned entries(const char* path) {
    unsigned count = 0;
    DIR* directory = opendir(path);
    CHECK(directory);
    while (readdir(directory)) count++;
    closedir(directory);
    return count;
}

struct holding {
    unsigned descriptors, threads, mappings;
    unsigned long writable_kib; /* of address space: segments that stayed would be seen in it */
};

static struct holding look(void) {
    struct holding now = {entries("/proc/self/fd"), entries("/proc/self/task"), 0, 0};
    FILE* maps = fopen("/proc/self/maps", "re");
    CHECK(maps);
    for (char line[4352]; fgets(line, sizeof line, maps);) {
        unsigned long from, to;
        CHECK(sscanf(line, "%lx-%lx", &from, &to) == 2);
        now.mappings++;
        now.writable_kib += (to - from) / 1024;
        CHECK(!strstr(line, "memfd"));
    }
    fclose(maps);
    return now;
}

static void use(struct library* l, pmix_proc_t* me) {
    pmix_proc_t job;
    pmix_value_t *value = NULL, mine = {.type = PMIX_UINT32, .data.uint32 = 4711};
    CHECK(l->init(me, NULL, 0) == PMIX_SUCCESS);
    memset(&job, 0, sizeof job);
    strcpy(job.nspace, me->nspace);
    job.rank = PMIX_RANK_WILDCARD;
    CHECK(l->get(&job, PMIX_JOB_SIZE, NULL, 0, &value) == PMIX_SUCCESS);
    CHECK(value->type == PMIX_UINT32);
    l->value_free(value, 1);
    CHECK(l->put(PMIX_GLOBAL, "loaded", &mine) == PMIX_SUCCESS);
    CHECK(l->commit() == PMIX_SUCCESS);
    CHECK(l->get(me, "loaded", NULL, 0, &value) == PMIX_SUCCESS && value->data.uint32 == 4711);
    l->value_free(value, 1);
}

/* --- cases -------------------------------------------------------------------------------------------------------- */

/* Whatever Init makes, Finalize takes away: after a few repetitions, which fill the caches of the C library (a thread's
 * stack, the heap), the process holds no more than before. rows: I12 */
static void cycles(int count, const char* path) {
    struct holding before = {0, 0, 0, 0};
    pmix_proc_t me;
    for (int i = 0; i < count; i++) {
        struct library l;
        if (i == count / 10) before = look();
        library_open(&l, path);
        CHECK(!l.initialized());
        use(&l, &me);
        CHECK(l.finalize(NULL, 0) == PMIX_SUCCESS);
        CHECK(dlclose(l.handle) == 0);
    }
    struct holding after = look();
    CHECK(after.threads == 3); /* ".", ".." and this one */
    CHECK(after.descriptors == before.descriptors);
    if (after.mappings > before.mappings) printf("FAIL: %u mappings, before %u\n", after.mappings, before.mappings);
    CHECK(after.writable_kib <= before.writable_kib + 1024);
}

/* Two copies know nothing of each other: each has its connection and its data, and neither needs a thread
 * for that. */
static void two_clients(const char* first, const char* second) {
    struct library a, b;
    pmix_proc_t one, two;
    const unsigned threads = entries("/proc/self/task");
    library_open(&a, first);
    library_open(&b, second);
    CHECK(a.init != b.init);
    use(&a, &one);
    CHECK(!b.initialized());
    use(&b, &two);
    CHECK(entries("/proc/self/task") == threads);
    CHECK(strcmp(one.nspace, two.nspace) == 0 && one.rank == two.rank);
    CHECK(a.fence(NULL, 0, NULL, 0) == PMIX_SUCCESS);
    CHECK(b.finalize(NULL, 0) == PMIX_SUCCESS);
    CHECK(!b.initialized() && a.initialized());
    /* The first goes on without the second. */
    pmix_info_t info;
    pmix_pdata_t found;
    char name[64];
    snprintf(name, sizeof name, "copy.%u", one.rank);
    a.info_load(&info, name, "one", PMIX_STRING);
    CHECK(a.publish(&info, 1) == PMIX_SUCCESS);
    a.info_destruct(&info);
    memset(&found, 0, sizeof found);
    strcpy(found.key, name);
    CHECK(a.lookup(&found, 1, NULL, 0) == PMIX_SUCCESS && strcmp(found.value.data.string, "one") == 0);
    a.pdata_destruct(&found);
    CHECK(a.fence(NULL, 0, NULL, 0) == PMIX_SUCCESS);
    CHECK(a.finalize(NULL, 0) == PMIX_SUCCESS);
    CHECK(dlclose(a.handle) == 0 && dlclose(b.handle) == 0);
}

/* A launcher that embeds a server, and a plug-in in it that is a client: both in one process. */
static void server_client(const char* first, const char* second) {
    struct library server, client;
    pmix_server_module_t module;
    pmix_proc_t me;
    char** env = NULL;
    unsigned before = entries("/proc/self/fd");
    library_open(&server, first);
    library_open(&client, second);
    memset(&module, 0, sizeof module);
    CHECK(server.server_init(&module, NULL, 0) == PMIX_SUCCESS);
    pmix_info_t info[3];
    char host[256] = "";
    uint32_t size = 1;
    gethostname(host, sizeof host - 1);
    server.info_load(&info[0], PMIX_NODE_MAP, host, PMIX_STRING);
    server.info_load(&info[1], PMIX_PROC_MAP, "0", PMIX_STRING);
    server.info_load(&info[2], PMIX_JOB_SIZE, &size, PMIX_UINT32);
    memset(&me, 0, sizeof me);
    strcpy(me.nspace, "inside");
    pmix_status_t status = server.register_nspace(me.nspace, 1, info, 3, NULL, NULL);
    CHECK(status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED);
    for (int i = 0; i < 3; i++) server.info_destruct(&info[i]);
    status = server.register_client(&me, geteuid(), getegid(), NULL, NULL, NULL);
    CHECK(status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED);
    CHECK(server.setup_fork(&me, &env) == PMIX_SUCCESS);
    for (size_t i = 0; env[i]; i++) {
        char* value = strchr(env[i], '=');
        *value = 0;
        setenv(env[i], value + 1, 1);
        free(env[i]);
    }
    free(env);
    for (int i = 0; i < 10; i++) {
        use(&client, &me);
        CHECK(strcmp(me.nspace, "inside") == 0 && me.rank == 0);
        CHECK(client.fence(NULL, 0, NULL, 0) == PMIX_SUCCESS);
        CHECK(client.finalize(NULL, 0) == PMIX_SUCCESS);
    }
    CHECK(server.server_finalize() == PMIX_SUCCESS);
    CHECK(entries("/proc/self/fd") == before);
    CHECK(entries("/proc/self/task") == 3);
}

int main(int argc, char** argv) {
    alarm(200);
    if (argc == 4 && strcmp(argv[1], "cycles") == 0) {
        cycles(atoi(argv[2]), argv[3]);
    } else if (argc == 4 && strcmp(argv[1], "two_clients") == 0) {
        two_clients(argv[2], argv[3]);
    } else if (argc == 4 && strcmp(argv[1], "server_client") == 0) {
        server_client(argv[2], argv[3]);
    } else {
        return 2;
    }
    printf("OK %s\n", argv[1]);
    return 0;
}
