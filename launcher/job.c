/* SPDX-License-Identifier: BSD-3-Clause */
#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct job* jobs;

/* --- placement ---------------------------------------------------------------------------------------------------- */

static uint64_t slots_of(const struct place* places, uint32_t count) {
    uint64_t slots = 0;
    for (uint32_t i = 0; i < count; i++) slots += places[i].slots;
    return slots;
}

/* How many of `size` processes each place takes: nodes without a limit get equal shares, and the first of them one more
 * until all are placed; nodes with limits are filled one after another. */
static void share_out(const struct place* places, uint32_t count, uint32_t size, uint32_t* shares) {
    bool limited = false;
    for (uint32_t i = 0; i < count; i++) limited = limited || places[i].slots != NO_LIMIT;
    for (uint32_t i = 0; i < count; i++) {
        shares[i] =
            limited ? (size < places[i].slots ? size : places[i].slots) : size / (count - i) + (size % (count - i) > 0);
        size -= shares[i];
    }
}

/* The same, one to each in turn. */
static void deal_out(const struct place* places, uint32_t count, uint32_t size, uint32_t* shares) {
    for (uint32_t i = 0; size > 0; i = (i + 1) % count) {
        if (shares[i] == places[i].slots) continue;
        shares[i]++;
        size--;
    }
}

static void put_on(struct job* job, uint32_t rank, uint32_t node) {
    uint32_t local = job->size_on[node]++;
    job->ranks_on[node][local] = rank;
    job->procs[rank].node = node;
    job->procs[rank].local_rank = local;
    job->nodes += local == 0;
}

static void place(struct job* job, const struct place* places, uint32_t count, uint32_t first, uint32_t size,
                  uint32_t* taken) {
    uint32_t* shares = xcalloc(count, sizeof *shares);
    if (job->layout.shares == BY_SLOT) {
        share_out(places, count, size, shares);
    } else {
        deal_out(places, count, size, shares);
    }
    for (uint32_t i = 0; i < count; i++) taken[places[i].node] += places[i].of_job != NO_LIMIT ? shares[i] : 0;
    uint32_t at_once = job->layout.ranks == BY_NODE ? 1 : size; /* on one node, before the next one gets some */
    for (uint32_t i = 0; size > 0; i = (i + 1) % count) {
        for (uint32_t n = 0; n < at_once && shares[i] > 0; n++, shares[i]--, size--)
            put_on(job, first++, places[i].node);
    }
    free(shares);
}

static bool same_places(const struct app* one, const struct app* other) {
    return one->place_count == other->place_count &&
           (one->place_count == 0 || memcmp(one->places, other->places, one->place_count * sizeof *one->places) == 0);
}

/* What the applications before this one have left of the job's own hosts. */
static void limit_by_job(struct place* places, uint32_t count, const uint32_t* taken) {
    for (uint32_t i = 0; i < count; i++) {
        if (places[i].of_job == NO_LIMIT) continue;
        const uint32_t used = taken[places[i].node], left = used < places[i].of_job ? places[i].of_job - used : 0;
        if (places[i].slots > left) places[i].slots = left;
    }
}

static bool all_within(const struct place* places, uint32_t count, uint32_t nodes) {
    for (uint32_t i = 0; i < count; i++) {
        if (places[i].node >= nodes) return false;
    }
    return true;
}

/* Applications beside each other that may use the same nodes without a limit are placed as if they were one. */
static bool place_all(struct job* job, uint32_t nodes) {
    uint32_t taken[MAX_NODES] = {0}; /* of the hosts that the job has with a limit */
    bool fits = true;
    for (uint32_t a = 0, next; a < job->app_count && fits; a = next) {
        const struct app* app = &job->apps[a];
        uint32_t count = app->places ? app->place_count : nodes, size = app->size;
        struct place* places = xcalloc(count, sizeof *places);
        for (uint32_t i = 0; i < count; i++)
            places[i] = app->places ? app->places[i] : (struct place){i, NO_LIMIT, NO_LIMIT};
        next = a + 1;
        fits = all_within(places, count, nodes);
        if (fits) limit_by_job(places, count, taken);
        bool limited = slots_of(places, count) < (uint64_t)NO_LIMIT * count;
        for (; !limited && next < job->app_count && same_places(app, &job->apps[next]); next++) {
            size += job->apps[next].size;
        }
        fits = fits && slots_of(places, count) >= size;
        if (fits) place(job, places, count, app->first, size, taken);
        free(places);
    }
    return fits;
}

struct job* job_new(const char* nspace, uint32_t number, uint32_t nodes, struct layout layout, struct app* apps,
                    uint32_t app_count, const pmix_proc_t* parent) {
    struct job* job = xcalloc(1, sizeof *job);
    snprintf(job->nspace, sizeof job->nspace, "%s", nspace);
    job->number = number;
    job->layout = layout;
    job->apps = apps;
    job->app_count = app_count;
    if (parent) job->parent = *parent;
    for (uint32_t i = 0; i < app_count; i++) {
        apps[i].first = job->size;
        job->size += apps[i].size;
    }
    job->procs = xcalloc(job->size, sizeof *job->procs);
    for (uint32_t n = 0; n < nodes; n++) job->ranks_on[n] = xcalloc(job->size, sizeof **job->ranks_on);
    job->alive = job->size;
    job->failed_rank = PMIX_RANK_UNDEF;
    if (place_all(job, nodes)) return job;
    job_free(job);
    return NULL;
}

void app_destruct(struct app* app) {
    free(app->program);
    strings_free(app->argv);
    strings_free(app->env);
    free(app->wdir);
    free(app->pset);
    free(app->places);
    free(app->cpus);
}

void apps_free(struct app* apps, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) app_destruct(&apps[i]);
    free(apps);
}

static bool keep_to(struct app* app, uint32_t nodes, bool (*usable)(int node)) {
    uint32_t count = app->places ? app->place_count : nodes, kept = 0;
    struct place* places = xcalloc(count, sizeof *places);
    for (uint32_t i = 0; i < count; i++) {
        struct place place = app->places ? app->places[i] : (struct place){i, NO_LIMIT, NO_LIMIT};
        if (place.node < nodes && usable((int)place.node)) places[kept++] = place;
    }
    bool chosen = app->places && count < nodes;
    if (kept == count || kept == 0 || chosen) {
        free(places);
        return kept == count;
    }
    free(app->places);
    app->places = places;
    app->place_count = kept;
    return true;
}

bool apps_keep_to(struct app* apps, uint32_t count, uint32_t nodes, bool (*usable)(int node)) {
    bool there = true;
    for (uint32_t i = 0; i < count && there; i++) there = keep_to(&apps[i], nodes, usable);
    return there;
}

void job_free(struct job* job) {
    apps_free(job->apps, job->app_count);
    for (int n = 0; n < MAX_NODES; n++) free(job->ranks_on[n]);
    free(job->procs);
    free(job->cpus);
    jobio_destruct(&job->io);
    wire_free(&job->directives);
    free(job->breakpoint);
    free(job);
}

void app_put(struct buffer* b, const struct app* app) {
    wire_put_string(b, app->program);
    wire_put_strings(b, app->argv);
    wire_put_strings(b, app->env);
    wire_put_string(b, app->wdir);
    wire_put_string(b, app->pset);
    wire_put_u32(b, app->size);
    wire_put_u8(b, app->session_wdir);
    wire_put_u8(b, app->index_argv);
    wire_put_bytes(b, app->places, app->place_count * sizeof *app->places);
    wire_put_string(b, app->cpus);
    wire_put_u8(b, (uint8_t)app->binding.target);
    wire_put_u8(b, app->binding.overload);
    wire_put_u8(b, app->binding.required);
    wire_put_u8(b, app->reports_bindings);
}

void app_get(struct buffer* b, struct app* app) {
    app->program = wire_get_string(b);
    app->argv = wire_get_strings(b);
    app->env = wire_get_strings(b);
    app->wdir = wire_get_string(b);
    app->pset = wire_get_string(b);
    app->size = wire_get_u32(b);
    app->session_wdir = wire_get_u8(b);
    app->index_argv = wire_get_u8(b);
    struct buffer places = wire_get_view(b);
    app->place_count = (uint32_t)(places.size / sizeof *app->places);
    if (app->place_count > 0) app->places = memcpy(xcalloc(1, places.size), places.data, places.size);
    app->cpus = wire_get_string(b);
    app->binding.target = (enum target)wire_get_u8(b);
    app->binding.overload = wire_get_u8(b);
    app->binding.required = wire_get_u8(b);
    app->reports_bindings = wire_get_u8(b);
}

struct app* apps_get(struct buffer* b, uint32_t count) {
    struct app* apps = xcalloc(count, sizeof *apps);
    for (uint32_t i = 0; i < count; i++) app_get(b, &apps[i]);
    return apps;
}

void layout_put(struct buffer* b, struct layout layout) {
    wire_put_u8(b, layout.shares);
    wire_put_u8(b, layout.ranks);
    wire_put_u32(b, layout.ppr);
}

struct layout layout_get(struct buffer* b) {
    struct layout layout;
    layout.shares = wire_get_u8(b) == BY_NODE ? BY_NODE : BY_SLOT;
    layout.ranks = wire_get_u8(b) == BY_NODE ? BY_NODE : BY_SLOT;
    layout.ppr = wire_get_u32(b);
    return layout;
}

/* Of most jobs nothing stops. */
static void put_stops(struct buffer* b, const struct job* job) {
    uint32_t count = 0;
    uint8_t* stops = xcalloc(job->size, 1);
    for (uint32_t rank = 0; rank < job->size; rank++) {
        stops[rank] = job->procs[rank].stops;
        if (stops[rank]) count = rank + 1;
    }
    wire_put_bytes(b, stops, count);
    free(stops);
}

static void get_stops(struct buffer* b, struct job* job) {
    const struct buffer stops = wire_get_view(b);
    for (uint32_t rank = 0; rank < stops.size && rank < job->size; rank++) job->procs[rank].stops = stops.data[rank];
}

void job_put(struct buffer* b, const struct job* job) {
    wire_put_string(b, job->nspace);
    wire_put_u32(b, job->number);
    wire_put_u32(b, job->first_global);
    layout_put(b, job->layout);
    wire_put_proc(b, &job->parent);
    jobio_put(b, &job->io);
    wire_put_u32(b, job->app_count);
    for (uint32_t i = 0; i < job->app_count; i++) app_put(b, &job->apps[i]);
    wire_put_bytes(b, job->node_ranks_from, sizeof job->node_ranks_from);
    wire_put_bytes(b, job->beside_on, sizeof job->beside_on);
    wire_put_u8(b, job->is_debugger);
    wire_put_proc(b, &job->debug_target);
    wire_put_bytes(b, job->directives.data, job->directives.size);
    put_stops(b, job);
}

static void get_numbers(struct buffer* b, uint32_t* numbers, size_t size) {
    const struct buffer view = wire_get_view(b);
    if (view.size == size)
        memcpy(numbers, view.data, size);
    else
        b->bad = true;
}

struct job* job_get(struct buffer* b, uint32_t nodes) {
    pmix_proc_t parent;
    char* nspace = wire_get_string(b);
    uint32_t number = wire_get_u32(b);
    uint32_t first_global = wire_get_u32(b);
    struct layout layout = layout_get(b);
    struct job_io io;
    wire_get_proc(b, &parent);
    jobio_get(b, &io);
    uint32_t app_count = wire_get_u32(b);
    if (b->bad || !nspace || app_count > b->size) {
        free(nspace);
        jobio_destruct(&io);
        return NULL;
    }
    struct app* apps = apps_get(b, app_count);
    struct job* job = job_new(nspace, number, nodes, layout, apps, app_count, &parent);
    free(nspace);
    if (!job) {
        jobio_destruct(&io);
        return NULL;
    }
    job->io = io;
    job->first_global = first_global;
    get_numbers(b, job->node_ranks_from, sizeof job->node_ranks_from);
    get_numbers(b, job->beside_on, sizeof job->beside_on);
    job->is_debugger = wire_get_u8(b);
    wire_get_proc(b, &job->debug_target);
    const struct buffer directives = wire_get_view(b);
    wire_append(&job->directives, directives.data, directives.size);
    get_stops(b, job);
    if (!b->bad) return job;
    job_free(job);
    return NULL;
}

void job_place_beside_others(struct job* job) {
    for (int n = 0; n < MAX_NODES; n++) {
        for (const struct job* other = jobs; other; other = other->next) {
            if (other->is_debugger && !job->is_debugger) continue; /* no job is to notice that it is looked at */
            const uint32_t end = other->node_ranks_from[n] + other->size_on[n];
            if (job->node_ranks_from[n] < end) job->node_ranks_from[n] = end;
            job->beside_on[n] += other->size_on[n];
        }
    }
}

void job_end_unstarted(struct job* job) {
    for (uint32_t rank = 0; rank < job->size; rank++) {
        if (job->procs[rank].phase != PROC_DEFINED) continue;
        job->procs[rank].phase = PROC_ENDED;
        job->alive--;
        job->cut_short = true;
    }
}

void jobs_add(struct job* job) {
    job->next = jobs;
    jobs = job;
}

void jobs_remove(struct job* job) {
    for (struct job** at = &jobs; *at; at = &(*at)->next) {
        if (*at != job) continue;
        *at = job->next;
        job_free(job);
        return;
    }
}

struct job* jobs_first(void) {
    return jobs;
}

struct job* job_find(const char* nspace) {
    for (struct job* job = jobs; job; job = job->next) {
        if (strncmp(job->nspace, nspace, PMIX_MAX_NSLEN) == 0) return job;
    }
    return NULL;
}

struct proc* proc_find(const pmix_proc_t* id) {
    struct job* job = job_find(id->nspace);
    return job && id->rank < job->size ? &job->procs[id->rank] : NULL;
}

uint32_t job_node_of(const struct job* job, uint32_t rank) {
    return job->procs[rank].node;
}

uint32_t job_size_on(const struct job* job, uint32_t node) {
    return node < MAX_NODES ? job->size_on[node] : 0;
}

uint32_t job_rank_at(const struct job* job, uint32_t node, uint32_t local_rank) {
    return job->ranks_on[node][local_rank];
}

uint32_t job_local_rank(const struct job* job, uint32_t rank) {
    return job->procs[rank].local_rank;
}

uint32_t job_app_of(const struct job* job, uint32_t rank) {
    uint32_t app = 0;
    while (app + 1 < job->app_count && rank >= job->apps[app + 1].first) app++;
    return app;
}

char* job_ranks_on(const struct job* job, uint32_t node) {
    uint32_t count = job_size_on(job, node);
    size_t size = (size_t)count * 11 + 1, used = 0;
    char* text = xcalloc(size, 1);
    for (uint32_t i = 0; i < count; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%u", i ? "," : "", job_rank_at(job, node, i));
    }
    return text;
}

bool proc_matches(const pmix_proc_t* pattern, const char* nspace, uint32_t rank) {
    return strncmp(pattern->nspace, nspace, PMIX_MAX_NSLEN) == 0 &&
           (pattern->rank == rank || pattern->rank == PMIX_RANK_WILDCARD);
}

bool procs_match(const pmix_proc_t* patterns, size_t count, const char* nspace, uint32_t rank) {
    for (size_t i = 0; i < count; i++) {
        if (proc_matches(&patterns[i], nspace, rank)) return true;
    }
    return false;
}

int compare_procs(const void* a, const void* b) {
    const pmix_proc_t *left = a, *right = b;
    int order = strncmp(left->nspace, right->nspace, PMIX_MAX_NSLEN);
    if (order != 0) return order;
    return left->rank < right->rank ? -1 : left->rank > right->rank;
}

pmix_proc_t* single_procs(const pmix_proc_t* procs, size_t nprocs, size_t* count) {
    size_t n = 0;
    for (size_t i = 0; i < nprocs; i++) {
        const struct job* job = procs[i].rank == PMIX_RANK_WILDCARD ? job_find(procs[i].nspace) : NULL;
        n += job ? job->size : 1;
    }
    pmix_proc_t* all = xcalloc(n, sizeof *all);
    n = 0;
    for (size_t i = 0; i < nprocs; i++) {
        const struct job* job = procs[i].rank == PMIX_RANK_WILDCARD ? job_find(procs[i].nspace) : NULL;
        for (uint32_t rank = 0; job && rank < job->size; rank++) {
            PMIX_LOAD_PROCID(&all[n], job->nspace, rank);
            n++;
        }
        if (!job) all[n++] = procs[i];
    }
    qsort(all, n, sizeof *all, compare_procs);
    *count = 0;
    for (size_t i = 0; i < n; i++) {
        if (*count == 0 || compare_procs(&all[*count - 1], &all[i]) != 0) all[(*count)++] = all[i];
    }
    return all;
}
