/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn.c: PMIx_Spawn: a further job on the same nodes.
 *
 * What this owns: nothing; it makes a request of the upcall's apps and sends it to the head, which names the job, has
 * every node register it, starts it and answers. Which thread calls it: up_spawn a thread of the library; the loop
 * handles the reply. What can go wrong: no apps, no program (PMIX_ERR_JOB_NO_EXE_SPECIFIED), hosts that are not there
 * (PMIX_ERR_JOB_ALLOC_FAILED), an attribute that must be honoured and is not (spawn_directives.h), and the statuses of
 * starts.c and launch.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug.h"
#include "hosts.h"
#include "loop.h"
#include "node.h"
#include "spawn_directives.h"

struct request {
    struct buffer body;
    pmix_spawn_cbfunc_t cbfunc;
    void* cbdata;
};

/* --- the request -------------------------------------------------------------------------------------------------- */

static char** copy_strings(char* const* list) {
    size_t count = strings_count(list);
    char** copy = xcalloc(count + 1, sizeof *copy);
    for (size_t i = 0; i < count; i++) copy[i] = xstrdup(list[i]);
    return copy;
}

static bool is_required(const pmix_info_t* info, size_t ninfo, const char* key) {
    bool required = false;
    for (size_t i = 0; i < ninfo; i++)
        required = required || (PMIX_CHECK_KEY(&info[i], key) && PMIX_INFO_IS_REQUIRED(&info[i]));
    return required;
}

/* "N:node" */
static bool read_ppr(const char* text, struct layout* layout) {
    unsigned count = 0;
    int end = 0;
    if (sscanf(text, "%6u:node%n", &count, &end) != 1 || end == 0 || text[end] || count == 0) return false;
    layout->ppr = count;
    return true;
}

static bool read_map(const char* text, struct layout* layout) {
    if (strncmp(text, "ppr:", 4) == 0) return read_ppr(text + 4, layout);
    const bool by_node = strcmp(text, "node") == 0;
    if (by_node) layout->shares = layout->ranks = BY_NODE;
    return by_node || strcmp(text, "slot") == 0;
}

static bool read_ranks(const char* text, struct layout* layout) {
    const bool by_node = strcmp(text, "node") == 0;
    if (!by_node && strcmp(text, "slot") != 0) return false;
    layout->ranks = by_node ? BY_NODE : BY_SLOT;
    return true;
}

/* How the processes are spread: "slot", "node", or "ppr:N:node", which is "slot" with at most N on each node. Their
 * ranks follow each other there, or are spread as PMIX_RANKBY has it: "slot" or "node". Another one of these that is
 * required is refused (false), one that is not is passed over. */
static bool read_layout(const pmix_info_t* info, size_t ninfo, struct layout* layout) {
    static const struct {
        const char* key;
        bool (*read)(const char* text, struct layout* layout);
    } parts[] = {{PMIX_MAPBY, read_map}, {PMIX_PPR, read_ppr}, {PMIX_RANKBY, read_ranks}};
    *layout = (struct layout){BY_SLOT, BY_SLOT, 0};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char* text = info_string(info, ninfo, parts[i].key);
        if (text && !parts[i].read(text, layout) && is_required(info, ninfo, parts[i].key)) return false;
    }
    return true;
}

static const char* string_of(const pmix_app_t* app, const pmix_info_t* job_info, size_t ninfo, const char* key) {
    const char* text = info_string(app->info, app->ninfo, key);
    return text ? text : info_string(job_info, ninfo, key);
}

static bool true_for(const pmix_app_t* app, const pmix_info_t* job_info, size_t ninfo, const char* key) {
    bool given = info_find(app->info, app->ninfo, key) != NULL;
    return info_true(given ? app->info : job_info, given ? app->ninfo : ninfo, key);
}

/* PMIX_PREFIX is where programs are that are not named by a path of their own. */
static char* program_of(const pmix_app_t* app, const char* prefix) {
    const char* name = app->cmd ? app->cmd : app->argv[0];
    if (!prefix || name[0] == '/') return app->cmd ? xstrdup(name) : NULL;
    size_t size = strlen(prefix) + strlen(name) + 2;
    char* path = xcalloc(size, 1);
    snprintf(path, size, "%s/%s", prefix, name);
    return path;
}

enum { MAX_APPS_SPAWNED = 256 };

/* counted: by the head, as many as their target asks for. */
static pmix_status_t put_app(struct buffer* body, const pmix_app_t* from, const struct layout* layout,
                             const pmix_info_t* job_info, size_t ninfo, bool counted) {
    bool has_argv = from->argv && from->argv[0];
    if (!from->cmd && !has_argv) return PMIX_ERR_JOB_NO_EXE_SPECIFIED;
    if (from->maxprocs <= 0 && !counted) return PMIX_ERR_BAD_PARAM;
    if (from->maxprocs > MAX_SPAWNED) return PMIX_ERR_OUT_OF_RESOURCE;
    char* only_name[2] = {from->cmd, NULL};
    struct app app = {.size = counted ? 0 : (uint32_t)from->maxprocs};
    const char* wdir = from->cwd ? from->cwd : string_of(from, job_info, ninfo, PMIX_WDIR);
    const char* pset = info_string(from->info, from->ninfo, PMIX_PSET_NAME);
    const char* cpus = string_of(from, job_info, ninfo, PMIX_CPU_LIST);
    const bool own_binding = info_find(from->info, from->ninfo, PMIX_BINDTO) != NULL;
    cpu_set_t listed;
    if (cpus && !cpus_read(cpus, &listed)) return PMIX_ERR_BAD_PARAM;
    app.wdir = wdir ? xstrdup(wdir) : NULL;
    app.session_wdir = !wdir && true_for(from, job_info, ninfo, PMIX_SET_SESSION_CWD);
    app.index_argv = true_for(from, job_info, ninfo, PMIX_INDEX_ARGV);
    app.pset = pset ? xstrdup(pset) : NULL;
    app.cpus = cpus ? xstrdup(cpus) : NULL;
    /* It runs beside its parent, so that processes share CPUs anyway. */
    app.binding = (struct binding){.overload = true};
    app.binding.required =
        is_required(own_binding ? from->info : job_info, own_binding ? from->ninfo : ninfo, PMIX_BINDTO);
    (void)binding_read(string_of(from, job_info, ninfo, PMIX_BINDTO), &app.binding); /* else it is not bound */
    app.reports_bindings = true_for(from, job_info, ninfo, PMIX_REPORT_BINDINGS);
    app.program = program_of(from, string_of(from, job_info, ninfo, PMIX_PREFIX));
    app.argv = copy_strings(has_argv ? from->argv : only_name);
    app.env = copy_strings(from->env);
    directives_apply(&app.env, job_info, ninfo);
    directives_apply(&app.env, from->info, from->ninfo);
    pmix_status_t status =
        counted ? PMIX_SUCCESS : hosts_of_app(&app, layout->ppr, from->info, from->ninfo, job_info, ninfo);
    if (status == PMIX_SUCCESS) app_put(body, &app);
    app_destruct(&app);
    return status;
}

/* The shorter of the two limits on the start; 0: none. */
static uint32_t start_limit(const pmix_info_t* info, size_t ninfo) {
    int64_t one = info_number(info, ninfo, PMIX_SPAWN_TIMEOUT, 0), other = info_number(info, ninfo, PMIX_TIMEOUT, 0);
    int64_t limit = one > 0 && (other <= 0 || one < other) ? one : other;
    return limit > 0 && limit < INT32_MAX ? (uint32_t)limit : 0;
}

static bool ends_with_parent(const pmix_info_t* info, size_t ninfo) {
    return info_find(info, ninfo, PMIX_SPAWN_CHILD_SEP) && !info_true(info, ninfo, PMIX_SPAWN_CHILD_SEP);
}

/* The head is not told when a tool goes. */
static bool may_not_end_with_parent(const pmix_info_t* info, size_t ninfo) {
    return is_required(info, ninfo, PMIX_SPAWN_CHILD_SEP) && ends_with_parent(info, ninfo) &&
           info_true(info, ninfo, PMIX_REQUESTOR_IS_TOOL);
}

/* There is one allocation, that of all nodes, and it has no name: what asks for another one, or names one, would run on
 * other resources than it has asked for. */
static bool wants_allocation(const pmix_info_t* info, size_t ninfo) {
    static const char prefix[] = "pmix.alloc.";
    for (size_t i = 0; i < ninfo; i++) {
        const bool of_request = strncmp(info[i].key, prefix, sizeof prefix - 1) == 0;
        if (of_request && strcmp(info[i].key, "pmix.alloc.mkind") != 0) return true; /* how programs use memory */
        if (PMIX_CHECK_KEY(&info[i], PMIX_SPAWN_ALLOC) || PMIX_CHECK_KEY(&info[i], PMIX_SPAWN_TARGET)) return true;
    }
    return false;
}

/* The events about the new job that were asked for, and how its failures count. */
static uint32_t wanted_events(const pmix_info_t* info, size_t ninfo) {
    static const struct {
        const char* key;
        uint32_t flag;
    } keys[] = {
        {PMIX_NOTIFY_JOB_EVENTS, WANTS_JOB_EVENTS},
        {PMIX_NOTIFY_COMPLETION, WANTS_JOB_END},
        {PMIX_NOTIFY_PROC_TERMINATION, WANTS_PROC_ENDS},
        {PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION, WANTS_ABNORMAL_ENDS},
        {PMIX_EVENT_SILENT_TERMINATION, WANTS_SILENT_END},
        {PMIX_LOG_JOB_EVENTS, LOGS_JOB_EVENTS},
        {PMIX_LOG_COMPLETION, LOGS_JOB_END},
        {PMIX_LOG_PROC_TERMINATION, LOGS_PROC_ENDS},
        {PMIX_LOG_PROC_ABNORMAL_TERMINATION, LOGS_ABNORMAL_ENDS},
        {PMIX_LOG_TIMESTAMP_OUTPUT, LOG_WITH_TIME},
        {PMIX_LOG_GENERATE_TIMESTAMP, LOG_WITH_TIME},
        {PMIX_JOB_RECOVERABLE, IS_RECOVERABLE},
    };
    uint32_t wanted = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (info_true(info, ninfo, keys[i].key)) wanted |= keys[i].flag;
    }
    if (ends_with_parent(info, ninfo) && !info_true(info, ninfo, PMIX_REQUESTOR_IS_TOOL)) wanted |= ENDS_WITH_PARENT;
    /* Channels are named by their keys; their values would be the message. */
    if (info_find(info, ninfo, PMIX_LOG_STDOUT)) wanted |= LOG_ON_STDOUT;
    if (info_find(info, ninfo, PMIX_LOG_SYSLOG)) wanted |= LOG_ON_SYSLOG;
    if (info_find(info, ninfo, PMIX_LOG_STDERR) || !(wanted & (LOG_ON_STDOUT | LOG_ON_SYSLOG))) wanted |= LOG_ON_STDERR;
    return wanted;
}

static void replied(pmix_status_t status, struct buffer* body, void* argument) {
    struct request* request = argument;
    pmix_nspace_t name = "";
    char* nspace = body->size ? wire_get_string(body) : NULL;
    if (nspace) snprintf(name, sizeof name, "%s", nspace);
    request->cbfunc(status, name, request->cbdata);
    free(nspace);
    free(request);
}

static void run_request(void* argument) {
    struct request* request = argument;
    mesh_request(mesh_head(), FRAME_SPAWN, &request->body, 0, replied, request);
    wire_free(&request->body);
}

static pmix_status_t put_apps(struct buffer* body, const pmix_app_t* apps, size_t napps, const struct layout* layout,
                              const pmix_info_t* job_info, size_t ninfo) {
    struct debug_app* debugs = xcalloc(napps, sizeof *debugs);
    pmix_status_t status = debug_read(debugs, apps, napps, job_info, ninfo);
    int64_t asked = 0;
    for (size_t i = 0; i < napps && status == PMIX_SUCCESS; i++) {
        const bool counted = debugs[i].per_node > 0 || debugs[i].per_proc > 0;
        status = put_app(body, &apps[i], layout, job_info, ninfo, counted);
        asked += counted ? 0 : apps[i].maxprocs;
        if (status == PMIX_SUCCESS && asked > MAX_SPAWNED) status = PMIX_ERR_OUT_OF_RESOURCE;
    }
    if (status == PMIX_SUCCESS) debug_put(body, debugs, (uint32_t)napps);
    debug_free(debugs, (uint32_t)napps);
    return status;
}

/* They are for the launchers that the spawned processes are. */
static bool put_launch_directives(struct buffer* body, const pmix_info_t* job_info, size_t ninfo) {
    const pmix_value_t* directives = info_find(job_info, ninfo, PMIX_LAUNCH_DIRECTIVES);
    struct buffer value = {0};
    const bool good = !directives || wire_put_value(&value, directives);
    wire_put_bytes(body, value.data, value.size);
    wire_free(&value);
    return good;
}

pmix_status_t up_spawn(const pmix_proc_t* proc, const pmix_info_t job_info[], size_t ninfo, const pmix_app_t apps[],
                       size_t napps, pmix_spawn_cbfunc_t cbfunc, void* cbdata) {
    struct layout layout;
    const bool layout_good = read_layout(job_info, ninfo, &layout);
    const pmix_value_t* parent = info_find(job_info, ninfo, PMIX_PARENT_ID);
    int64_t time_limit = info_number(job_info, ninfo, PMIX_JOB_TIMEOUT, 0);
    pmix_status_t refused = directives_check(job_info, ninfo, FOR_JOB);
    if (wants_allocation(job_info, ninfo)) refused = PMIX_ERR_JOB_ALLOC_FAILED;
    if (refused == PMIX_SUCCESS && !layout_good) refused = PMIX_ERR_NOT_SUPPORTED;
    if (refused == PMIX_SUCCESS && may_not_end_with_parent(job_info, ninfo)) refused = PMIX_ERR_NOT_SUPPORTED;
    for (size_t i = 0; i < napps && refused == PMIX_SUCCESS; i++)
        refused = wants_allocation(apps[i].info, apps[i].ninfo)
                      ? PMIX_ERR_JOB_ALLOC_FAILED
                      : directives_check(apps[i].info, apps[i].ninfo, FOR_APP);
    if (refused != PMIX_SUCCESS) return refused;
    struct request* request = xcalloc(1, sizeof *request);
    pmix_status_t status = napps > 0 ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
    if (napps > MAX_APPS_SPAWNED) status = PMIX_ERR_OUT_OF_RESOURCE;
    request->cbfunc = cbfunc;
    request->cbdata = cbdata;
    wire_put_proc(&request->body, proc);
    wire_put_proc(&request->body, parent && parent->type == PMIX_PROC ? parent->data.proc : proc);
    layout_put(&request->body, layout);
    wire_put_u32(&request->body, wanted_events(job_info, ninfo));
    wire_put_u32(&request->body, start_limit(job_info, ninfo));
    wire_put_u32(&request->body, time_limit > 0 && time_limit < INT32_MAX ? (uint32_t)time_limit : 0);
    struct job_io io;
    jobio_of_spawn(&io, job_info, ninfo);
    options_complete_io(node.options, job_info, ninfo, &io);
    /* As PMIx_IOF_pull answers them: two places for one stream, and output that is to be in files alone without any. */
    const bool in_files_alone =
        info_true(job_info, ninfo, PMIX_IOF_FILE_ONLY) || info_true(job_info, ninfo, PMIX_OUTPUT_NOCOPY);
    const bool contradicts = (io.file && io.directory) || (in_files_alone && !jobio_has_files(&io));
    if (status == PMIX_SUCCESS && contradicts) status = PMIX_ERR_BAD_PARAM;
    struct buffer output = {0}; /* for each job of the spawn */
    jobio_put(&output, &io);
    wire_put_bytes(&request->body, output.data, output.size);
    wire_free(&output);
    jobio_destruct(&io);
    if (status == PMIX_SUCCESS && !put_launch_directives(&request->body, job_info, ninfo))
        status = PMIX_ERR_NOT_SUPPORTED;
    wire_put_u32(&request->body, (uint32_t)napps);
    if (status == PMIX_SUCCESS) status = put_apps(&request->body, apps, napps, &layout, job_info, ninfo);
    if (status == PMIX_SUCCESS) {
        loop_post(run_request, request);
    } else {
        wire_free(&request->body);
        free(request);
    }
    return status;
}
