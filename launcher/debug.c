/* SPDX-License-Identifier: BSD-3-Clause */
#include "debug.h"

#include <stdlib.h>
#include <string.h>

#include "head.h"
#include "mesh.h"
#include "report.h"

static const struct {
    enum stop stop;
    const char* key;
} kStops[STOPS] = {{STOP_ON_EXEC, PMIX_DEBUG_STOP_ON_EXEC},
                   {STOP_IN_INIT, PMIX_DEBUG_STOP_IN_INIT},
                   {STOP_IN_APP, PMIX_DEBUG_STOP_IN_APP}};

/* --- the attributes of a spawn ------------------------------------------------------------------------------------ */

struct ranks { /* that a value may name */
    uint32_t first, count;
};

static pmix_status_t name_rank(struct debug_app* debug, size_t stop, pmix_rank_t rank, struct ranks of) {
    if (rank == PMIX_RANK_WILDCARD) debug->all[stop] = true;
    if (rank == PMIX_RANK_WILDCARD) return PMIX_SUCCESS;
    if (rank < of.first || rank - of.first >= of.count) return PMIX_ERR_BAD_PARAM;
    wire_append(&debug->ranks[stop], &rank, sizeof rank);
    return PMIX_SUCCESS;
}

static pmix_status_t name_ranks(struct debug_app* debug, size_t stop, const pmix_data_array_t* array, struct ranks of) {
    pmix_status_t status = array && array->size > 0 ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
    for (size_t i = 0; status == PMIX_SUCCESS && i < array->size; i++) {
        if (array->type == PMIX_PROC_RANK)
            status = name_rank(debug, stop, ((const pmix_rank_t*)array->array)[i], of);
        else if (array->type == PMIX_PROC) /* whose namespace nobody can have yet */
            status = name_rank(debug, stop, ((const pmix_proc_t*)array->array)[i].rank, of);
        else
            status = PMIX_ERR_BAD_PARAM;
    }
    return status;
}

static pmix_status_t read_stop(struct debug_app* debug, size_t stop, const pmix_value_t* value, struct ranks of) {
    switch (value->type) {
        case PMIX_UNDEF: /* naming it is enough */
            debug->all[stop] = true;
            return PMIX_SUCCESS;
        case PMIX_BOOL:
            debug->all[stop] = value->data.flag;
            return PMIX_SUCCESS;
        case PMIX_PROC_RANK:
            return name_rank(debug, stop, value->data.rank, of);
        case PMIX_DATA_ARRAY:
            return name_ranks(debug, stop, value->data.darray, of);
        default:
            return PMIX_ERR_BAD_PARAM;
    }
}

/* An application's own directive counts over that of all. */
static const pmix_value_t* value_for(const pmix_app_t* app, const pmix_info_t* job_info, size_t ninfo,
                                     const char* key) {
    const pmix_value_t* own = info_find(app->info, app->ninfo, key);
    return own ? own : info_find(job_info, ninfo, key);
}

static bool flag_for(const pmix_app_t* app, const pmix_info_t* job_info, size_t ninfo, const char* key) {
    const bool own = info_find(app->info, app->ninfo, key) != NULL;
    return own ? info_true(app->info, app->ninfo, key) : info_true(job_info, ninfo, key);
}

/* Ranks in a directive of the whole spawn are those of its first job. */
static pmix_status_t read_stops(struct debug_app* debug, const pmix_app_t* app, const pmix_info_t* job_info,
                                size_t ninfo, struct ranks own, struct ranks all, bool of_first) {
    pmix_status_t status = PMIX_SUCCESS;
    for (size_t i = 0; i < STOPS && status == PMIX_SUCCESS; i++) {
        const bool is_own = info_find(app->info, app->ninfo, kStops[i].key) != NULL;
        const pmix_value_t* value = value_for(app, job_info, ninfo, kStops[i].key);
        if (value) status = read_stop(debug, i, value, is_own ? own : all);
        if (!is_own && !of_first) wire_free(&debug->ranks[i]);
    }
    return status;
}

static bool has_any(const pmix_info_t* info, size_t ninfo, const char* const* keys) {
    for (; *keys; keys++) {
        if (info_find(info, ninfo, *keys)) return true;
    }
    return false;
}

static pmix_status_t read_target(struct debug_app* debug, const pmix_app_t* app, const pmix_info_t* job_info,
                                 size_t ninfo) {
    const pmix_value_t* target = value_for(app, job_info, ninfo, PMIX_DEBUG_TARGET);
    const pmix_value_t* older = value_for(app, job_info, ninfo, PMIX_DEBUG_JOB); /* of older releases: a whole job */
    if (!target && older && (older->type != PMIX_STRING || !older->data.string)) return PMIX_ERR_BAD_PARAM;
    if (!target && older) PMIX_LOAD_PROCID(&debug->target, older->data.string, PMIX_RANK_WILDCARD);
    if (!target) return PMIX_SUCCESS;
    if (target->type != PMIX_PROC || !target->data.proc || !target->data.proc->nspace[0]) return PMIX_ERR_BAD_PARAM;
    debug->target = *target->data.proc;
    return PMIX_SUCCESS;
}

/* How many daemons: one for each process, unless it is said or the spawn maps them itself. */
static pmix_status_t read_counts(struct debug_app* debug, const pmix_app_t* app, const pmix_info_t* job_info,
                                 size_t ninfo, bool alone) {
    static const char* const counts[] = {PMIX_DEBUG_DAEMONS_PER_NODE, PMIX_DEBUG_DAEMONS_PER_PROC, NULL};
    static const char* const hosts[] = {PMIX_HOST, PMIX_HOSTFILE, NULL};
    static const char* const maps[] = {PMIX_MAPBY, PMIX_PPR, PMIX_HOST, PMIX_HOSTFILE, NULL};
    const bool own = has_any(app->info, app->ninfo, counts);
    const pmix_info_t* info = own ? app->info : job_info;
    const size_t count = own ? app->ninfo : ninfo;
    if (has_any(info, count, counts)) {
        const int64_t per_node = info_number(info, count, counts[0], 0),
                      per_proc = info_number(info, count, counts[1], 0);
        if (per_node < 0 || per_proc < 0 || per_node > UINT16_MAX || per_proc > UINT16_MAX) return PMIX_ERR_BAD_PARAM;
        if ((per_node > 0) == (per_proc > 0)) return PMIX_ERR_BAD_PARAM;
        debug->per_node = (uint32_t)per_node;
        debug->per_proc = (uint32_t)per_proc;
        return PMIX_SUCCESS;
    }
    const bool mapped = has_any(app->info, app->ninfo, hosts) || (alone && has_any(job_info, ninfo, maps));
    if (!mapped) debug->per_proc = 1;
    return PMIX_SUCCESS;
}

pmix_status_t debug_read(struct debug_app* debugs, const pmix_app_t* apps, size_t napps, const pmix_info_t* job_info,
                         size_t ninfo) {
    bool alone = true;
    struct ranks all = {0, 0};
    pmix_status_t status = PMIX_SUCCESS;
    for (size_t i = 0; i < napps; i++) {
        debugs[i].debugger = flag_for(&apps[i], job_info, ninfo, PMIX_DEBUGGER_DAEMONS);
        debugs[i].apart = debugs[i].debugger || info_true(apps[i].info, apps[i].ninfo, PMIX_COSPAWN_APP);
        alone = alone && debugs[i].debugger;
        if (!debugs[i].apart && apps[i].maxprocs > 0) all.count += (uint32_t)apps[i].maxprocs;
    }
    const bool none_common = all.count == 0; /* each application is a job apart */
    bool is_first = true;
    uint32_t before = 0;
    for (size_t i = 0; i < napps && status == PMIX_SUCCESS; i++) {
        struct debug_app* debug = &debugs[i];
        status = read_target(debug, &apps[i], job_info, ninfo);
        if (status == PMIX_SUCCESS && debug->debugger) {
            /* Nobody is to stop the debugger for a debugger. */
            if (alone && !debug->target.nspace[0]) return PMIX_ERR_BAD_PARAM;
            status = read_counts(debug, &apps[i], job_info, ninfo, alone);
        } else if (status == PMIX_SUCCESS) {
            const struct ranks own = {debug->apart ? 0 : before, apps[i].maxprocs > 0 ? (uint32_t)apps[i].maxprocs : 0};
            if (none_common && is_first) all = own;
            const bool of_first = !debug->apart || (none_common && is_first);
            if (!debug->apart) before += own.count;
            is_first = false;
            status = read_stops(debug, &apps[i], job_info, ninfo, own, all, of_first);
        }
    }
    return status;
}

void debug_put(struct buffer* b, const struct debug_app* debugs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const struct debug_app* debug = &debugs[i];
        wire_put_u8(b, debug->apart);
        wire_put_u8(b, debug->debugger);
        wire_put_u32(b, debug->per_node);
        wire_put_u32(b, debug->per_proc);
        wire_put_proc(b, &debug->target);
        for (size_t s = 0; s < STOPS; s++) {
            wire_put_u8(b, debug->all[s]);
            wire_put_bytes(b, debug->ranks[s].data, debug->ranks[s].size);
        }
    }
}

struct debug_app* debug_get(struct buffer* b, uint32_t count) {
    struct debug_app* debugs = xcalloc(count, sizeof *debugs);
    for (uint32_t i = 0; i < count; i++) {
        struct debug_app* debug = &debugs[i];
        debug->apart = wire_get_u8(b);
        debug->debugger = wire_get_u8(b);
        debug->per_node = wire_get_u32(b);
        debug->per_proc = wire_get_u32(b);
        wire_get_proc(b, &debug->target);
        for (size_t s = 0; s < STOPS; s++) {
            debug->all[s] = wire_get_u8(b);
            struct buffer ranks = wire_get_view(b);
            wire_append(&debug->ranks[s], ranks.data, ranks.size);
        }
    }
    return debugs;
}

void debug_free(struct debug_app* debugs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        for (size_t s = 0; s < STOPS; s++) wire_free(&debugs[i].ranks[s]);
    }
    free(debugs);
}

/* --- the jobs of a spawn ------------------------------------------------------------------------------------------ */

static void move(void* list, size_t size, uint32_t from, uint32_t to) {
    char *items = list, *moved = xcalloc(1, size);
    memcpy(moved, items + from * size, size);
    memmove(items + (to + 1) * size, items + to * size, (from - to) * size);
    memcpy(items + to * size, moved, size);
    free(moved);
}

uint32_t debug_sort(struct app* apps, struct debug_app* debugs, uint32_t count) {
    uint32_t first = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (debugs[i].apart) continue;
        move(apps, sizeof *apps, i, first);
        move(debugs, sizeof *debugs, i, first);
        first++;
    }
    return first > 0 ? first : 1;
}

pmix_status_t debug_place(struct app* app, struct debug_app* debug, const struct job* beside) {
    if (debug->debugger && !debug->target.nspace[0] && beside)
        PMIX_LOAD_PROCID(&debug->target, beside->nspace, PMIX_RANK_WILDCARD);
    if (debug->per_node == 0 && debug->per_proc == 0) return PMIX_SUCCESS;
    const struct job* target = job_find(debug->target.nspace);
    if (!target && beside && strncmp(beside->nspace, debug->target.nspace, PMIX_MAX_NSLEN) == 0) target = beside;
    uint64_t size = 0;
    struct place* places = xcalloc((size_t)mesh_nodes(), sizeof *places);
    uint32_t count = 0;
    for (uint32_t n = 0; target && n < (uint32_t)mesh_nodes(); n++) {
        uint32_t targets = 0;
        for (uint32_t i = 0; mesh_alive((int)n) && i < job_size_on(target, n); i++) {
            const uint32_t rank = job_rank_at(target, n, i);
            targets += target->procs[rank].phase != PROC_ENDED && proc_matches(&debug->target, target->nspace, rank);
        }
        if (targets == 0) continue;
        const uint64_t here = debug->per_node > 0 ? debug->per_node : (uint64_t)targets * debug->per_proc;
        places[count++] = (struct place){n, here < NO_LIMIT ? (uint32_t)here : NO_LIMIT - 1, NO_LIMIT};
        size += here;
    }
    free(app->places);
    app->places = places;
    app->place_count = count;
    app->size = size <= MAX_SPAWNED ? (uint32_t)size : 0;
    return size == 0 ? PMIX_ERR_NOT_FOUND : size > MAX_SPAWNED ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_SUCCESS;
}

void debug_apply(struct job* job, const struct debug_app* debugs) {
    job->is_debugger = debugs[0].debugger;
    job->debug_target = debugs[0].target;
    for (uint32_t a = 0; a < job->app_count; a++) {
        const struct app* app = &job->apps[a];
        for (size_t s = 0; s < STOPS; s++) {
            const struct buffer* ranks = &debugs[a].ranks[s];
            for (uint32_t i = 0; debugs[a].all[s] && i < app->size; i++)
                job->procs[app->first + i].stops |= kStops[s].stop;
            for (size_t i = 0; i < ranks->size / sizeof(uint32_t); i++) {
                uint32_t rank;
                memcpy(&rank, ranks->data + i * sizeof rank, sizeof rank);
                if (rank >= app->first && rank - app->first < app->size) job->procs[rank].stops |= kStops[s].stop;
            }
        }
    }
}

/* --- those that wait ---------------------------------------------------------------------------------------------- */

void debug_put_ready(struct buffer* b, const pmix_proc_t* proc, const pmix_info_t* info, size_t ninfo) {
    wire_put_proc(b, proc);
    wire_put_string(b, info_string(info, ninfo, PMIX_BREAKPOINT));
}

static bool is_of_init(const char* breakpoint) {
    return strcmp(breakpoint, "pmix-init") == 0 || strcmp(breakpoint, "pmix-tool-init") == 0;
}

/* Once for each time that all of them wait: a rank may initialise again, and a program stop at several places. */
static void report_if_all_wait(struct job* job, enum stop stop, const char* breakpoint) {
    bool any = false;
    if (job->launch_failed || head_is_ending()) return;
    for (uint32_t rank = 0; rank < job->size; rank++) {
        struct proc* proc = &job->procs[rank];
        if (proc->phase == PROC_ENDED) proc->stands = 0;
        if (!(proc->stops & stop) || proc->phase == PROC_ENDED) continue;
        if (!(proc->stands & stop)) return;
        any = true;
    }
    if (!any) return;
    report_ready_for_debug(job, stop, breakpoint);
    for (uint32_t rank = 0; rank < job->size; rank++) job->procs[rank].stands &= (uint8_t)~stop;
}

void on_ready_for_debug(int from, uint64_t id, struct buffer* body) {
    (void)from, (void)id;
    pmix_proc_t name;
    wire_get_proc(body, &name);
    char* breakpoint = wire_get_string(body);
    struct job* job = job_find(name.nspace);
    struct proc* proc = proc_find(&name);
    const enum stop stop = breakpoint && is_of_init(breakpoint) ? STOP_IN_INIT : STOP_IN_APP;
    if (body->bad || !proc || !(proc->stops & stop)) {
        free(breakpoint);
        return;
    }
    proc->stands |= stop;
    const char* name_of_it = breakpoint ? breakpoint : "";
    if (stop == STOP_IN_APP) {
        free(job->breakpoint);
        job->breakpoint = xstrdup(name_of_it);
    }
    report_if_all_wait(job, stop, name_of_it);
    free(breakpoint);
}

void debug_proc_ended(struct job* job) {
    report_if_all_wait(job, STOP_IN_INIT, "pmix-init");
    report_if_all_wait(job, STOP_IN_APP, job->breakpoint ? job->breakpoint : "");
}
