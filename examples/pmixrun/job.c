/* job.c: see job.h. */
#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct job* jobs;

struct job* job_new(const char* nspace, uint32_t number, uint32_t nodes, enum placement placement, struct app* apps,
                    uint32_t app_count, const pmix_proc_t* parent) {
    struct job* job = xcalloc(1, sizeof *job);
    snprintf(job->nspace, sizeof job->nspace, "%s", nspace);
    job->number = number;
    job->nodes = nodes;
    job->placement = placement;
    job->apps = apps;
    job->app_count = app_count;
    if (parent) job->parent = *parent;
    for (uint32_t i = 0; i < app_count; i++) {
        apps[i].first = job->size;
        job->size += apps[i].size;
    }
    if (job->nodes > job->size) job->nodes = job->size; /* either placement fills the first ones */
    job->procs = xcalloc(job->size, sizeof *job->procs);
    job->alive = job->size;
    job->failed_rank = PMIX_RANK_UNDEF;
    return job;
}

void app_destruct(struct app* app) {
    free(app->program);
    strings_free(app->argv);
    strings_free(app->env);
    free(app->wdir);
    free(app->pset);
}

void job_free(struct job* job) {
    for (uint32_t i = 0; i < job->app_count; i++) app_destruct(&job->apps[i]);
    free(job->apps);
    free(job->procs);
    jobio_destruct(&job->io);
    free(job);
}

void app_put(struct buffer* b, const struct app* app) {
    wire_put_string(b, app->program);
    wire_put_strings(b, app->argv);
    wire_put_strings(b, app->env);
    wire_put_string(b, app->wdir);
    wire_put_string(b, app->pset);
    wire_put_u32(b, app->size);
}

void app_get(struct buffer* b, struct app* app) {
    app->program = wire_get_string(b);
    app->argv = wire_get_strings(b);
    app->env = wire_get_strings(b);
    app->wdir = wire_get_string(b);
    app->pset = wire_get_string(b);
    app->size = wire_get_u32(b);
}

void job_put(struct buffer* b, const struct job* job) {
    wire_put_string(b, job->nspace);
    wire_put_u32(b, job->number);
    wire_put_u32(b, job->nodes);
    wire_put_u32(b, job->placement);
    wire_put_proc(b, &job->parent);
    jobio_put(b, &job->io);
    wire_put_u32(b, job->app_count);
    for (uint32_t i = 0; i < job->app_count; i++) app_put(b, &job->apps[i]);
}

struct job* job_get(struct buffer* b) {
    pmix_proc_t parent;
    char* nspace = wire_get_string(b);
    uint32_t number = wire_get_u32(b), nodes = wire_get_u32(b);
    enum placement placement = wire_get_u32(b) == BY_NODE ? BY_NODE : BY_SLOT;
    struct job_io io;
    wire_get_proc(b, &parent);
    jobio_get(b, &io);
    uint32_t app_count = wire_get_u32(b);
    if (b->bad || !nspace || app_count > b->size) {
        free(nspace);
        jobio_destruct(&io);
        return NULL;
    }
    struct app* apps = xcalloc(app_count, sizeof *apps);
    for (uint32_t i = 0; i < app_count; i++) app_get(b, &apps[i]);
    struct job* job = job_new(nspace, number, nodes, placement, apps, app_count, &parent);
    job->io = io;
    free(nspace);
    if (!b->bad) return job;
    job_free(job);
    return NULL;
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

/* --- placement: by slot the first `size % nodes` nodes have one process more than the others -----------------------
 */

static uint32_t block_start(const struct job* job, uint32_t node) {
    uint32_t share = job->size / job->nodes, more = job->size % job->nodes;
    return node * share + (node < more ? node : more);
}

uint32_t job_node_of(const struct job* job, uint32_t rank) {
    if (job->placement == BY_NODE) return rank % job->nodes;
    uint32_t share = job->size / job->nodes, more = job->size % job->nodes, in_larger = more * (share + 1);
    return rank < in_larger ? rank / (share + 1) : more + (rank - in_larger) / share;
}

uint32_t job_size_on(const struct job* job, uint32_t node) {
    if (node >= job->nodes) return 0;
    return job->size / job->nodes + (node < job->size % job->nodes);
}

uint32_t job_rank_at(const struct job* job, uint32_t node, uint32_t local_rank) {
    return job->placement == BY_NODE ? local_rank * job->nodes + node : block_start(job, node) + local_rank;
}

uint32_t job_local_rank(const struct job* job, uint32_t rank) {
    return job->placement == BY_NODE ? rank / job->nodes : rank - block_start(job, job_node_of(job, rank));
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
