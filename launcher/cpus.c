/* SPDX-License-Identifier: BSD-3-Clause */
#include "cpus.h"

#include <pmix_server.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mesh.h"

/* --- where the CPUs are ------------------------------------------------------------------------------------------- */

static struct places* places; /* NULL: nobody has been bound */

/* The first CPU that shares a core with that one, as the kernel shows it; itself where it does not. */
static int first_of_core(int cpu) {
    char path[96], text[4096];
    cpu_set_t core;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    FILE* file = fopen(path, "re");
    const bool known = file && fgets(text, sizeof text, file) && cpus_read(text, &core) && CPU_ISSET(cpu, &core);
    if (file) fclose(file);
    int first = cpu;
    for (int other = 0; known && other < first; other++) {
        if (CPU_ISSET(other, &core)) first = other;
    }
    return first;
}

bool cpus_value(const char* text, pmix_value_t* value, char** locality) {
    pmix_cpuset_t* cpuset = xcalloc(1, sizeof *cpuset);
    PMIX_VALUE_CONSTRUCT(value);
    if (PMIx_Parse_cpuset_string(text, cpuset) != PMIX_SUCCESS) {
        free(cpuset);
        return false;
    }
    value->type = PMIX_PROC_CPUSET;
    value->data.cpuset = cpuset;
    if (PMIx_server_generate_locality_string(cpuset, locality) != PMIX_SUCCESS) *locality = NULL;
    return true;
}

static void look_at(int cpu) {
    char text[32], *locality = NULL;
    pmix_value_t one;
    snprintf(text, sizeof text, "hwloc:%d", cpu);
    if (cpus_value(text, &one, &locality) && locality) places_read(places, cpu, locality);
    free(locality);
    PMIX_VALUE_DESTRUCT(&one);
    if (places->of[cpu][BIND_CORE] == kNoPlace) places->of[cpu][BIND_CORE] = (int16_t)first_of_core(cpu);
}

static void find_places(const cpu_set_t* usable) {
    if (places) return;
    places = xcalloc(1, sizeof *places);
    places_clear(places);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, usable)) look_at(cpu);
    }
}

static void usable_cpus(cpu_set_t* cpus) {
    if (sched_getaffinity(0, sizeof *cpus, cpus) != 0) CPU_ZERO(cpus);
}

/* --- who gets which ----------------------------------------------------------------------------------------------- */

static bool is_bound(const struct app* app) {
    return app->cpus || app->binding.target != BIND_NONE;
}

static bool alike(const struct app* one, const struct app* other) {
    const bool same_list = one->cpus && other->cpus ? strcmp(one->cpus, other->cpus) == 0 : one->cpus == other->cpus;
    return same_list && one->binding.target == other->binding.target &&
           one->binding.overload == other->binding.overload && one->binding.required == other->binding.required;
}

/* The first application that is bound in the same way: those of a node are dealt the places together. */
static uint32_t group_of(const struct job* job, uint32_t app) {
    uint32_t first = 0;
    while (!alike(&job->apps[first], &job->apps[app])) first++;
    return first;
}

static pmix_status_t fails(struct buffer* why, pmix_status_t status, const char* format, const char* what) {
    char text[5000];
    snprintf(text, sizeof text, format, what);
    wire_append(why, text, strlen(text) + 1);
    return status;
}

/* The processes of a group on a node. */
static pmix_status_t bind_group(struct job* job, uint32_t group, uint32_t on, const cpu_set_t* from,
                                struct buffer* why) {
    const uint32_t here = job_size_on(job, on);
    const struct app* app = &job->apps[group];
    struct binding binding = app->binding;
    uint32_t *ranks = xcalloc(here, sizeof *ranks), count = 0;
    for (uint32_t i = 0; i < here; i++) {
        const uint32_t rank = job_rank_at(job, on, i);
        if (group_of(job, job_app_of(job, rank)) == group) ranks[count++] = rank;
    }
    cpu_set_t* cpus = xcalloc(count, sizeof *cpus);
    for (uint32_t i = 0; i < count; i++) cpus[i] = *from;
    if (!binding.required) binding.overload = true;
    enum deal deal = DEALT;
    if (binding.target != BIND_NONE && count > 0) deal = binding_deal(places, from, binding, count, cpus);
    const bool unbound = deal == DEAL_NO_PLACE && !binding.required;
    for (uint32_t i = 0; i < count && (deal == DEALT || (unbound && app->cpus)); i++) job->cpus[ranks[i]] = cpus[i];
    free(cpus);
    free(ranks);
    const char* name = binding_name(binding.target);
    if (deal == DEAL_NO_PLACE && !unbound) return fails(why, PMIX_ERR_NOT_SUPPORTED, "this machine has no %s", name);
    if (deal == DEAL_OVERLOAD)
        return fails(why, PMIX_ERR_JOB_INSUFFICIENT_RESOURCES,
                     "a node has too many processes to bind; %s:overload-allowed lets several share their CPUs", name);
    return PMIX_SUCCESS;
}

pmix_status_t cpus_bind(struct job* job, struct buffer* why) {
    pmix_status_t status = PMIX_SUCCESS;
    for (uint32_t a = 0; a < job->app_count && status == PMIX_SUCCESS; a++) {
        const struct app* app = &job->apps[a];
        cpu_set_t usable, from, listed;
        if (!is_bound(app) || group_of(job, a) != a) continue;
        usable_cpus(&usable);
        from = usable;
        if (app->cpus && cpus_read(app->cpus, &listed)) CPU_AND(&from, &usable, &listed);
        if (CPU_COUNT(&from) == 0)
            return fails(why, PMIX_ERR_JOB_ALLOC_FAILED, "none of the CPUs %s can be used", app->cpus ? app->cpus : "");
        if (!job->cpus) job->cpus = xcalloc(job->size, sizeof *job->cpus);
        find_places(&usable);
        for (uint32_t n = 0; n < (uint32_t)mesh_nodes() && status == PMIX_SUCCESS; n++)
            status = bind_group(job, a, n, &from, why);
    }
    return status;
}

/* --- what is told of it ------------------------------------------------------------------------------------------- */

const cpu_set_t* cpus_of(const struct job* job, uint32_t rank) {
    return job->cpus && CPU_COUNT(&job->cpus[rank]) > 0 ? &job->cpus[rank] : NULL;
}

static int16_t place_of(const cpu_set_t* cpus, enum target target) {
    int16_t place = kNoPlace;
    bool first = true;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, cpus)) continue;
        if (!first && places->of[cpu][target] != place) return kNoPlace;
        place = places->of[cpu][target];
        first = false;
    }
    return place;
}

uint16_t* cpus_package_ranks(const struct job* job) {
    if (!job->cpus) return NULL;
    uint16_t* ranks = xcalloc(job->size, sizeof *ranks);
    uint16_t(*next)[CPU_SETSIZE] = xcalloc(MAX_NODES, sizeof *next); /* of each package of each node */
    for (uint32_t rank = 0; rank < job->size; rank++) {
        const cpu_set_t* cpus = cpus_of(job, rank);
        const int16_t package = cpus ? place_of(cpus, BIND_PACKAGE) : kNoPlace;
        const bool counts = package >= 0 && package < CPU_SETSIZE;
        ranks[rank] = counts ? next[job_node_of(job, rank)][package]++ : NO_PACKAGE_RANK;
    }
    free(next);
    return ranks;
}

void cpus_report(const struct job* job, uint32_t rank, struct buffer* line) {
    char text[CPUS_TEXT + 200], list[CPUS_TEXT], place[32] = "";
    const cpu_set_t* cpus = cpus_of(job, rank);
    const enum target target = job->apps[job_app_of(job, rank)].binding.target;
    const int16_t number = cpus ? place_of(cpus, target) : kNoPlace;
    if (number != kNoPlace && target != BIND_HWTHREAD)
        snprintf(place, sizeof place, "%s %d, ", binding_name(target), number);
    if (cpus) cpus_write(cpus, list);
    if (cpus)
        snprintf(text, sizeof text, "pmixrun: [%u,%u] on node%u is bound to %s%s %s\n", job->number, rank,
                 job_node_of(job, rank) + 1, place, CPU_COUNT(cpus) > 1 ? "CPUs" : "CPU", list);
    else
        snprintf(text, sizeof text, "pmixrun: [%u,%u] on node%u is not bound\n", job->number, rank,
                 job_node_of(job, rank) + 1);
    wire_append(line, text, strlen(text));
}
