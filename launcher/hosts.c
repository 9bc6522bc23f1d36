/* SPDX-License-Identifier: BSD-3-Clause */
/* A list of hosts is "node1,node3:2": a node, and how many processes it may take. A file has one node a
 * line, with slots=N behind it if there is a limit; # begins a comment. A node named again is given that many more. */
#include "hosts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mesh.h"

/* The number behind `text`, all of it; -1 if it is none. */
static long number_of(const char* text) {
    char* end = NULL;
    long number = strtol(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == 0 && number < INT32_MAX ? number : -1;
}

static bool add_place(struct app* app, const char* name, uint32_t slots) {
    long number = strncmp(name, "node", 4) == 0 ? number_of(name + 4) : -1;
    if (number < 1 || number > mesh_nodes()) return false;
    uint32_t node = (uint32_t)number - 1, i = 0;
    while (i < app->place_count && app->places[i].node != node) i++;
    if (i == app->place_count) {
        app->places = xrealloc(app->places, (i + 1) * sizeof *app->places);
        app->places[app->place_count++] = (struct place){node, slots, NO_LIMIT};
    } else if (slots == NO_LIMIT || app->places[i].slots == NO_LIMIT) {
        app->places[i].slots = NO_LIMIT;
    } else {
        app->places[i].slots += slots;
    }
    return true;
}

/* "node1:4", or "node1" */
static bool read_host(struct app* app, char* entry) {
    char* colon = strchr(entry, ':');
    long slots = colon ? number_of(colon + 1) : 0;
    if (colon) *colon = 0;
    if (slots < 0 || (colon && slots == 0)) return false;
    return add_place(app, entry, colon ? (uint32_t)slots : NO_LIMIT);
}

static bool read_list(struct app* app, const char* list) {
    char *copy = xstrdup(list), *rest = copy;
    bool well = true;
    for (char* entry; well && (entry = strtok_r(rest, ", ", &rest));) well = read_host(app, entry);
    free(copy);
    return well;
}

static bool read_line(struct app* app, char* line) {
    char* rest = line;
    line[strcspn(line, "#\n")] = 0;
    char* name = strtok_r(rest, " \t\r", &rest);
    if (!name) return true;
    char* more = strtok_r(rest, " \t\r", &rest);
    if (!more) return read_host(app, name);
    long slots = strncmp(more, "slots=", 6) == 0 ? number_of(more + 6) : -1;
    return slots > 0 && add_place(app, name, (uint32_t)slots);
}

enum { MAX_FILE = 16 << 20 };

static bool read_file(struct app* app, const char* path) {
    char* line = NULL;
    size_t space = 0;
    /* Whatever a process names: nothing that would block this thread or has no end. */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat about;
    bool well =
        descriptor >= 0 && fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) && about.st_size <= MAX_FILE;
    FILE* file = well ? fdopen(descriptor, "r") : NULL;
    if (!file && descriptor >= 0) close(descriptor);
    well = file != NULL;
    while (well && getline(&line, &space, file) >= 0) well = read_line(app, line);
    free(line);
    if (file) fclose(file);
    return well;
}

static bool read_hosts(struct app* app, const char* list, const char* path) {
    return (!list && !path) || ((list ? read_list(app, list) : read_file(app, path)) && app->place_count > 0);
}

static void limit_all(struct app* app, uint32_t ppr) {
    if (app->place_count == 0) {
        app->place_count = (uint32_t)mesh_nodes();
        app->places = xcalloc(app->place_count, sizeof *app->places);
        for (uint32_t i = 0; i < app->place_count; i++) app->places[i] = (struct place){i, ppr, NO_LIMIT};
    }
    for (uint32_t i = 0; i < app->place_count; i++) {
        if (app->places[i].slots > ppr) app->places[i].slots = ppr;
    }
}

pmix_status_t hosts_of_app(struct app* app, uint32_t ppr, const pmix_info_t* app_info, size_t napp_info,
                           const pmix_info_t* job_info, size_t njob_info) {
    const struct {
        const pmix_info_t* info;
        size_t count;
    } levels[2] = {{app_info, napp_info}, {job_info, njob_info}};
    for (int i = 0; i < 2; i++) {
        struct app added = {0};
        bool there = true;
        if (i == 0 || app->place_count == 0) {
            there = read_hosts(app, info_string(levels[i].info, levels[i].count, PMIX_HOST),
                               info_string(levels[i].info, levels[i].count, PMIX_HOSTFILE));
            for (uint32_t p = 0; i == 1 && p < app->place_count; p++) app->places[p].of_job = app->places[p].slots;
        }
        there = there && read_hosts(&added, info_string(levels[i].info, levels[i].count, PMIX_ADD_HOST),
                                    info_string(levels[i].info, levels[i].count, PMIX_ADD_HOSTFILE));
        free(added.places);
        if (!there) return PMIX_ERR_JOB_ALLOC_FAILED;
    }
    if (ppr > 0) limit_all(app, ppr);
    return PMIX_SUCCESS;
}
