/* SPDX-License-Identifier: BSD-3-Clause */
/* jobinfo.c: the description of a job as it is registered with its PMIx servers, which PMIx_Get answers from.
 *
 * What this owns: nothing; it makes one array of infos. Only what cannot be derived is needed (the two maps and the
 * size), but a resource manager that gives all of it helps libraries that derive less.
 * Which thread calls it: the loop.
 * What can go wrong: a library that cannot make its maps; then the array is made without them, and registering fails.
 */
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cpus.h"
#include "node.h"

struct infos {
    pmix_info_t* list;
    size_t count, capacity;
};

static pmix_info_t* next(struct infos* infos) {
    if (infos->count == infos->capacity) {
        infos->capacity = infos->capacity * 2 + 16;
        infos->list = xrealloc(infos->list, infos->capacity * sizeof *infos->list);
    }
    pmix_info_t* info = &infos->list[infos->count++];
    PMIX_INFO_CONSTRUCT(info);
    return info;
}

static void add(struct infos* infos, const char* key, const void* value, pmix_data_type_t type) {
    pmix_info_t* info = next(infos);
    PMIX_INFO_LOAD(info, key, value, type);
}

static void add_string(struct infos* infos, const char* key, const char* text) {
    add(infos, key, text, PMIX_STRING);
}
static void add_u32(struct infos* infos, const char* key, uint32_t number) {
    add(infos, key, &number, PMIX_UINT32);
}
static void add_u16(struct infos* infos, const char* key, uint32_t number) {
    uint16_t narrow = (uint16_t)number;
    add(infos, key, &narrow, PMIX_UINT16);
}
/* Under its name and its older one. */
static void add_slots(struct infos* infos, uint32_t number) {
    add_u32(infos, PMIX_MAX_PROCS, number);
    add_u32(infos, PMIX_NUM_SLOTS, number);
}
static void add_rank(struct infos* infos, const char* key, pmix_rank_t rank) {
    add(infos, key, &rank, PMIX_PROC_RANK);
}

/* The array goes over into the info: no copy, and one thing to free. */
static void add_array(struct infos* infos, const char* key, struct infos* members) {
    pmix_info_t* info = next(infos);
    pmix_data_array_t* array = xcalloc(1, sizeof *array);
    array->type = PMIX_INFO;
    array->size = members->count;
    array->array = members->list;
    PMIX_LOAD_KEY(info->key, key);
    info->value.type = PMIX_DATA_ARRAY;
    info->value.data.darray = array;
    memset(members, 0, sizeof *members);
}

static void host_of(char name[32], uint32_t number) {
    snprintf(name, 32, "node%u", number + 1);
}

/* --- the maps: which nodes, and which ranks on each --------------------------------------------------------------- */

static void add_maps(struct infos* infos, const struct job* job) {
    struct buffer nodes = {0}, ranks = {0};
    for (uint32_t n = 0; n < (uint32_t)mesh_nodes(); n++) {
        if (job_size_on(job, n) == 0) continue;
        char host[32];
        char* here = job_ranks_on(job, n);
        host_of(host, n);
        if (nodes.size > 0) wire_append(&nodes, ",", 1);
        if (ranks.size > 0) wire_append(&ranks, ";", 1);
        wire_append(&nodes, host, strlen(host));
        wire_append(&ranks, here, strlen(here));
        free(here);
    }
    wire_append(&nodes, "", 1);
    wire_append(&ranks, "", 1);
    /* The maps that the library makes of the lists are opaque, may contain zero bytes, and are loaded by it as
     * PMIX_REGEX. */
    char *node_map = NULL, *proc_map = NULL;
    if (PMIx_generate_regex((char*)nodes.data, &node_map) == PMIX_SUCCESS)
        add(infos, PMIX_NODE_MAP, node_map, PMIX_REGEX);
    if (PMIx_generate_ppn((char*)ranks.data, &proc_map) == PMIX_SUCCESS)
        add(infos, PMIX_PROC_MAP, proc_map, PMIX_REGEX);
    free(node_map);
    free(proc_map);
    wire_free(&nodes);
    wire_free(&ranks);
}

/* --- where the processes may run ---------------------------------------------------------------------------------- */

/* "hwloc:0-3". A process that is not bound has none: programs take any for a binding. */
static char* cpuset_text(const struct job* job, uint32_t rank) {
    static const char source[] = "hwloc:";
    const cpu_set_t* cpus = cpus_of(job, rank);
    char* text = xcalloc(1, sizeof source + CPUS_TEXT);
    memcpy(text, source, sizeof source);
    if (cpus) cpus_write(cpus, text + sizeof source - 1);
    return text;
}

static void add_binding(struct infos* infos, const struct job* job, uint32_t rank, const uint16_t* package_ranks) {
    if (!cpus_of(job, rank)) return;
    char *text = cpuset_text(job, rank), *locality = NULL;
    pmix_value_t bitmap;
    add_string(infos, PMIX_CPUSET, text);
    if (cpus_value(text, &bitmap, &locality)) {
        pmix_info_t* info = next(infos);
        PMIX_LOAD_KEY(info->key, PMIX_CPUSET_BITMAP);
        info->value = bitmap;
    }
    if (locality) add_string(infos, PMIX_LOCALITY_STRING, locality);
    free(locality);
    free(text);
    if (package_ranks[rank] != NO_PACKAGE_RANK) add_u16(infos, PMIX_PACKAGE_RANK, package_ranks[rank]);
}

/* Of the processes of a node, in their order; an empty set for one that is not bound. */
static void add_cpusets(struct infos* infos, const struct job* job, uint32_t on) {
    const uint32_t count = job_size_on(job, on);
    if (!job->cpus || count == 0) return;
    char** texts = xcalloc(count, sizeof *texts);
    pmix_data_array_t array = {.type = PMIX_STRING, .size = count, .array = texts};
    for (uint32_t i = 0; i < count; i++) texts[i] = cpuset_text(job, job_rank_at(job, on, i));
    add(infos, PMIX_LOCAL_CPUSETS, &array, PMIX_DATA_ARRAY);
    for (uint32_t i = 0; i < count; i++) free(texts[i]);
    free(texts);
}

/* In the words of PMIx_Spawn. Of applications that are bound differently each has its own,
 * and the job has that of the first. */
static void add_policies(struct infos* infos, const struct job* job) {
    static const char* const names[] = {[BY_SLOT] = "slot", [BY_NODE] = "node"};
    char ppr[32];
    snprintf(ppr, sizeof ppr, "ppr:%u:node", job->layout.ppr);
    add_string(infos, PMIX_MAPBY, job->layout.ppr > 0 ? ppr : names[job->layout.shares]);
    add_string(infos, PMIX_RANKBY, names[job->layout.ranks]);
    add_string(infos, PMIX_BINDTO, binding_name(job->apps[0].binding.target));
}

/* --- realms ------------------------------------------------------------------------------------------------------- */

/* There are as many slots as there are processes. */
static uint32_t slots_in_use(const struct job* job) {
    uint32_t count = job->size;
    for (int n = 0; n < mesh_nodes(); n++) count += job->beside_on[n];
    return count;
}

/* The session is this pmixrun: all its nodes, those without a process of the job too. */
static void add_session(struct infos* infos, const struct job* job) {
    struct infos session = {0};
    add_u32(&session, PMIX_SESSION_ID, 1);
    add_u32(&session, PMIX_UNIV_SIZE, slots_in_use(job));
    add_u32(&session, PMIX_NUM_NODES, (uint32_t)mesh_nodes());
    add_array(infos, PMIX_SESSION_INFO_ARRAY, &session);
}

/* The simulated nodes share the processors of this machine, so the whole job counts on each of them. A process that
 * waits for another one of an oversubscribed node should yield its processor instead of spinning on it. */
static bool oversubscribed(const struct job* job) {
    cpu_set_t cpus;
    return sched_getaffinity(0, sizeof cpus, &cpus) == 0 && job->size > (uint32_t)CPU_COUNT(&cpus);
}

static void add_nodes(struct infos* infos, const struct job* job) {
    const bool crowded = oversubscribed(job);
    for (uint32_t n = 0; n < (uint32_t)mesh_nodes(); n++) {
        if (job_size_on(job, n) == 0) continue;
        struct infos one = {0};
        char host[32];
        host_of(host, n);
        add_string(&one, PMIX_HOSTNAME, host);
        add_u32(&one, PMIX_NODEID, n);
        add_u32(&one, PMIX_LOCAL_SIZE, job_size_on(job, n));
        add_u32(&one, PMIX_NODE_SIZE, job->beside_on[n] + job_size_on(job, n));
        add_slots(&one, job_size_on(job, n)); /* a simulated node has as many slots as it is given processes */
        char* peers = job_ranks_on(job, n);
        add_rank(&one, PMIX_LOCALLDR, job_rank_at(job, n, 0));
        add_string(&one, PMIX_LOCAL_PEERS, peers);
        add_cpusets(&one, job, n);
        if (crowded) add(&one, PMIX_NODE_OVERSUBSCRIBED, &crowded, PMIX_BOOL);
        free(peers);
        add_array(infos, PMIX_NODE_INFO_ARRAY, &one);
    }
}

static void add_local_procs(struct infos* infos, const struct job* job, uint32_t here) {
    pmix_info_t* info = next(infos);
    pmix_data_array_t* array = xcalloc(1, sizeof *array);
    pmix_proc_t* procs = xcalloc(job_size_on(job, here), sizeof *procs);
    array->type = PMIX_PROC;
    array->size = job_size_on(job, here);
    array->array = procs;
    for (uint32_t i = 0; i < job_size_on(job, here); i++)
        PMIX_LOAD_PROCID(&procs[i], job->nspace, job_rank_at(job, here, i));
    PMIX_LOAD_KEY(info->key, PMIX_LOCAL_PROCS);
    info->value.type = PMIX_DATA_ARRAY;
    info->value.data.darray = array;
}

static uint32_t nodes_of_app(const struct job* job, uint32_t app) {
    uint32_t count = 0;
    for (uint32_t n = 0; n < (uint32_t)mesh_nodes(); n++) {
        uint32_t size = job_size_on(job, n), i = 0;
        while (i < size && job_app_of(job, job_rank_at(job, n, i)) != app) i++;
        count += i < size;
    }
    return count;
}

static void append_command(struct buffer* line, const struct app* app) {
    for (char** word = app->argv; word && *word; word++) {
        if (word != app->argv) wire_append(line, " ", 1);
        wire_append(line, *word, strlen(*word));
    }
}

char* jobinfo_command_line(const struct job* job) {
    struct buffer line = {0};
    const bool by_user = job->number == 1; /* whose command line is pmixrun's own */
    for (char** word = node.options->words; by_user && *word; word++) {
        if (word != node.options->words) wire_append(&line, " ", 1);
        wire_append(&line, *word, strlen(*word));
    }
    for (uint32_t a = 0; a < job->app_count && !by_user; a++) {
        if (a > 0) wire_append(&line, " : ", 3);
        append_command(&line, &job->apps[a]);
    }
    wire_append(&line, "", 1);
    return (char*)line.data;
}

/* What was started, and where: in pmixrun's own directory, which is the daemons', if the user names none. */
static void add_command(struct infos* infos, const struct app* app) {
    struct buffer line = {0};
    char own[PATH_MAX];
    append_command(&line, app);
    wire_append(&line, "", 1);
    add_string(infos, PMIX_APP_ARGV, (char*)line.data);
    wire_free(&line);
    const char* place = app->wdir ? app->wdir : getcwd(own, sizeof own);
    if (place) add_string(infos, PMIX_WDIR, place);
}

static void add_apps(struct infos* infos, const struct job* job) {
    for (uint32_t a = 0; a < job->app_count; a++) {
        struct infos one = {0};
        add_u32(&one, PMIX_APPNUM, a);
        add_u32(&one, PMIX_APP_SIZE, job->apps[a].size);
        add_rank(&one, PMIX_APPLDR, job->apps[a].first);
        add_u32(&one, PMIX_NUM_NODES, nodes_of_app(job, a));
        add_slots(&one, job->apps[a].size);
        add_string(&one, PMIX_BINDTO, binding_name(job->apps[a].binding.target));
        add_command(&one, &job->apps[a]);
        add_array(infos, PMIX_APP_INFO_ARRAY, &one);
    }
}

static void add_procs(struct infos* infos, const struct job* job) {
    uint16_t* package_ranks = cpus_package_ranks(job);
    for (uint32_t rank = 0; rank < job->size; rank++) {
        struct infos one = {0};
        char host[32];
        uint32_t app = job_app_of(job, rank), local = job_local_rank(job, rank);
        host_of(host, job_node_of(job, rank));
        add_rank(&one, PMIX_RANK, rank); /* first: it names the process that the others are about */
        add_rank(&one, PMIX_GLOBAL_RANK, job->first_global + rank);
        add_rank(&one, PMIX_APP_RANK, rank - job->apps[app].first);
        add_u32(&one, PMIX_APPNUM, app);
        add_u16(&one, PMIX_LOCAL_RANK, local);
        add_u16(&one, PMIX_NODE_RANK, job->node_ranks_from[job_node_of(job, rank)] + local);
        add_u32(&one, PMIX_NODEID, job_node_of(job, rank));
        add_string(&one, PMIX_HOSTNAME, host);
        add_u32(&one, PMIX_REINCARNATION, 0);
        add_binding(&one, job, rank, package_ranks);
        add_array(infos, PMIX_PROC_INFO_ARRAY, &one);
    }
    free(package_ranks);
}

static void add_directories(struct infos* infos, const struct job* job) {
    char path[sizeof node.directory + PMIX_MAX_NSLEN + 2];
    snprintf(path, sizeof path, "%s/%s", node.directory, job->nspace);
    mkdir(path, 0700);
    add_string(infos, PMIX_TMPDIR, node.directory);
    add_string(infos, PMIX_NSDIR, path);
}

/* All its processes, one of them, or a list. */
static void add_stop(struct infos* infos, const struct job* job, const char* key, enum stop stop) {
    struct buffer ranks = {0};
    for (uint32_t rank = 0; rank < job->size; rank++) {
        if (job->procs[rank].stops & stop) wire_append(&ranks, &rank, sizeof rank);
    }
    const bool yes = true;
    pmix_data_array_t list = {.type = PMIX_PROC_RANK, .size = ranks.size / sizeof(pmix_rank_t), .array = ranks.data};
    if (list.size == job->size)
        add(infos, key, &yes, PMIX_BOOL);
    else if (list.size == 1)
        add(infos, key, ranks.data, PMIX_PROC_RANK);
    else if (list.size > 0)
        add(infos, key, &list, PMIX_DATA_ARRAY);
    wire_free(&ranks);
}

/* For the processes themselves, and for the debugger. */
static void add_debugging(struct infos* infos, const struct job* job) {
    const bool yes = true;
    add_stop(infos, job, PMIX_DEBUG_STOP_ON_EXEC, STOP_ON_EXEC);
    add_stop(infos, job, PMIX_DEBUG_STOP_IN_INIT, STOP_IN_INIT);
    add_stop(infos, job, PMIX_DEBUG_STOP_IN_APP, STOP_IN_APP);
    if (job->debug_target.nspace[0]) {
        add(infos, PMIX_DEBUG_TARGET, &job->debug_target, PMIX_PROC);
        add_string(infos, PMIX_DEBUG_JOB, job->debug_target.nspace); /* for daemons of older releases */
    }
    if (job->is_debugger) add(infos, PMIX_DEBUGGER_DAEMONS, &yes, PMIX_BOOL);
    if (job->directives.size > 0) {
        struct buffer directives = wire_view(job->directives.data, job->directives.size);
        pmix_info_t* info = next(infos);
        PMIX_LOAD_KEY(info->key, PMIX_LAUNCH_DIRECTIVES);
        wire_get_value(&directives, &info->value);
    }
}

pmix_info_t* jobinfo_make(const struct job* job, size_t* count) {
    struct infos infos = {0};
    uint32_t here = (uint32_t)mesh_self();
    char* peers = job_ranks_on(job, here);
    add_maps(&infos, job);
    add_string(&infos, PMIX_JOBID, job->nspace);
    add_u32(&infos, PMIX_UNIV_SIZE, slots_in_use(job));
    add_u32(&infos, PMIX_JOB_SIZE, job->size);
    add_slots(&infos, job->size);
    add_u32(&infos, PMIX_JOB_NUM_APPS, job->app_count);
    add_u32(&infos, PMIX_NUM_NODES, job->nodes);
    add_u32(&infos, PMIX_LOCAL_SIZE, job_size_on(job, here));
    add_u32(&infos, PMIX_NODE_SIZE, job->beside_on[here] + job_size_on(job, here));
    if (job_size_on(job, here) > 0) {
        add_string(&infos, PMIX_LOCAL_PEERS, peers);
        add_local_procs(&infos, job, here);
        add_cpusets(&infos, job, here);
        add_rank(&infos, PMIX_LOCALLDR, job_rank_at(job, here, 0));
    }
    add_rank(&infos, PMIX_NPROC_OFFSET, job->first_global);
    const bool spawned = job->parent.nspace[0] != '\0';
    add(&infos, PMIX_SPAWNED, &spawned, PMIX_BOOL);
    if (spawned) {
        add(&infos, PMIX_PARENT_ID, &job->parent, PMIX_PROC);
        const bool no = false; /* yes is what the library takes for granted */
        if (job->io.apart) add(&infos, PMIX_IOF_INHERIT, &no, PMIX_BOOL);
    }
    add_policies(&infos, job);
    add_debugging(&infos, job);
    char* line = jobinfo_command_line(job);
    add_string(&infos, PMIX_CMD_LINE, line);
    free(line);
    add_directories(&infos, job);
    add_session(&infos, job);
    add_nodes(&infos, job);
    add_apps(&infos, job);
    add_procs(&infos, job);
    free(peers);
    *count = infos.count;
    return infos.list;
}
