/* SPDX-License-Identifier: BSD-3-Clause */
/* fabric.c: the fabric of the simulated nodes: one device on each, two nodes to a switch.
 *
 * What this owns: nothing; the description is made for each request and freed when the library has read it.
 * Which thread calls it: up_fabric a thread of the library.
 * What can go wrong: a request for another fabric (PMIX_ERR_NOT_FOUND). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node.h"

enum { NODES_OF_A_SWITCH = 2, OVER_ONE_SWITCH = 1, OVER_THE_SPINE = 3 };

static const char vendor[] = "pmixrun", identifier[] = "simulated", plane[] = "0";
static const size_t fabric_index = 0; /* the only one */

struct description { /* freed by the library when it has read it */
    pmix_info_t* infos;
    size_t count;
    uint16_t* costs;
};

static void release(void* cbdata) {
    struct description* it = cbdata;
    infos_free(it->infos, it->count);
    free(it->costs);
    free(it);
}

static uint32_t switch_of(uint32_t number) {
    return number / NODES_OF_A_SWITCH;
}

static uint16_t cost(uint32_t from, uint32_t to) {
    if (from == to) return 0;
    return switch_of(from) == switch_of(to) ? OVER_ONE_SWITCH : OVER_THE_SPINE;
}

/* "0:node1,node2;1:node3" */
static char* groups(uint32_t nodes) {
    struct buffer text = {0};
    char entry[48];
    for (uint32_t i = 0; i < nodes; i++) {
        if (i % NODES_OF_A_SWITCH == 0)
            snprintf(entry, sizeof entry, "%s%u:node%u", i ? ";" : "", switch_of(i), i + 1);
        else
            snprintf(entry, sizeof entry, ",node%u", i + 1);
        wire_append(&text, entry, strlen(entry));
    }
    wire_append(&text, "", 1);
    return (char*)text.data;
}

/* Copies what it is given. */
static void set_array(pmix_info_t* info, const char* key, pmix_data_type_t type, void* elements, size_t count) {
    pmix_data_array_t array = {.type = type, .size = count, .array = elements};
    PMIX_INFO_LOAD(info, key, &array, PMIX_DATA_ARRAY);
}

static void set_device(pmix_info_t* info, uint32_t number) {
    char hostname[32], id[64];
    uint32_t place[] = {switch_of(number), number % NODES_OF_A_SWITCH};
    pmix_coord_t coordinates = {.view = PMIX_COORD_LOGICAL_VIEW, .coord = place, .dims = 2};
    pmix_info_t facts[7];
    snprintf(hostname, sizeof hostname, "node%u", number + 1);
    snprintf(id, sizeof id, "sim://%s::sim0", hostname);
    pmix_geometry_t geometry = {.uuid = id, .osname = "sim0", .coordinates = &coordinates, .ncoords = 1};
    PMIX_INFO_LOAD(&facts[0], PMIX_DEVICE_ID, id, PMIX_STRING);
    PMIX_INFO_LOAD(&facts[1], PMIX_HOSTNAME, hostname, PMIX_STRING);
    PMIX_INFO_LOAD(&facts[2], PMIX_FABRIC_DEVICE_NAME, "sim0", PMIX_STRING);
    PMIX_INFO_LOAD(&facts[3], PMIX_FABRIC_DEVICE_VENDOR, vendor, PMIX_STRING);
    PMIX_INFO_LOAD(&facts[4], PMIX_FABRIC_DEVICE_INDEX, &number, PMIX_UINT32);
    PMIX_INFO_LOAD(&facts[5], "pmix.fabdev.coord", &geometry, PMIX_GEOMETRY); /* of 7, whatever headers this has */
    /* As the releases before 7.0 spell it, for programs that were compiled with their headers. */
    PMIX_INFO_LOAD(&facts[6], "pmix.fab.coord", &geometry, PMIX_GEOMETRY);
    set_array(info, PMIX_FABRIC_DEVICE, PMIX_INFO, facts, 7);
    for (int i = 0; i < 7; i++) PMIX_INFO_DESTRUCT(&facts[i]);
}

static struct description* describe(uint32_t nodes) {
    struct description* it = xcalloc(1, sizeof *it);
    size_t count = nodes;
    uint32_t dims = 2;
    pmix_info_t* devices;
    char* members = groups(nodes);
    it->costs = xcalloc(count * count, sizeof *it->costs);
    for (uint32_t i = 0; i < nodes; i++)
        for (uint32_t j = 0; j < nodes; j++) it->costs[i * count + j] = cost(i, j);
    devices = infos_new(count);
    for (uint32_t i = 0; i < nodes; i++) set_device(&devices[i], i);
    it->count = 9;
    it->infos = infos_new(it->count);
    PMIX_INFO_LOAD(&it->infos[0], PMIX_FABRIC_VENDOR, vendor, PMIX_STRING);
    PMIX_INFO_LOAD(&it->infos[1], PMIX_FABRIC_IDENTIFIER, identifier, PMIX_STRING);
    PMIX_INFO_LOAD(&it->infos[2], PMIX_FABRIC_PLANE, plane, PMIX_STRING);
    PMIX_INFO_LOAD(&it->infos[3], PMIX_FABRIC_NUM_DEVICES, &count, PMIX_SIZE);
    PMIX_INFO_LOAD(&it->infos[4], PMIX_FABRIC_GROUPS, members, PMIX_STRING);
    PMIX_INFO_LOAD(&it->infos[5], PMIX_FABRIC_DIMS, &dims, PMIX_UINT32);
    PMIX_INFO_LOAD(&it->infos[8], PMIX_FABRIC_INDEX, &fabric_index, PMIX_SIZE);
    /* the library copies what it points to before it releases this */
    PMIX_LOAD_KEY(it->infos[6].key, PMIX_FABRIC_COST_MATRIX);
    it->infos[6].value.type = PMIX_POINTER;
    it->infos[6].value.data.ptr = it->costs;
    set_array(&it->infos[7], PMIX_FABRIC_DEVICES, PMIX_INFO, devices, count);
    infos_free(devices, count);
    free(members);
    return it;
}

static bool is_other(const pmix_info_t* infos, size_t count, const char* key, const char* ours) {
    const char* wanted = info_string(infos, count, key);
    return wanted && strcmp(wanted, ours) != 0;
}

pmix_status_t up_fabric(const pmix_proc_t* requestor, pmix_fabric_operation_t op, const pmix_info_t directives[],
                        size_t ndirs, pmix_info_cbfunc_t cbfunc, void* cbdata) {
    (void)requestor, (void)op; /* nothing changes while a job runs: an update is the same description */
    if (is_other(directives, ndirs, PMIX_FABRIC_VENDOR, vendor) ||
        is_other(directives, ndirs, PMIX_FABRIC_IDENTIFIER, identifier) ||
        is_other(directives, ndirs, PMIX_FABRIC_PLANE, plane))
        return PMIX_ERR_NOT_FOUND;
    if (info_number(directives, ndirs, PMIX_FABRIC_INDEX, (int64_t)fabric_index) != (int64_t)fabric_index)
        return PMIX_ERR_NOT_FOUND;
    struct description* it = describe((uint32_t)node.options->nodes);
    const pmix_value_t* index = info_find(directives, ndirs, PMIX_FABRIC_DEVICE_INDEX);
    if (index && (index->type != PMIX_UINT32 || index->data.uint32 >= (uint32_t)node.options->nodes)) {
        release(it);
        return PMIX_ERR_NOT_FOUND;
    }
    cbfunc(PMIX_SUCCESS, it->infos, it->count, cbdata, release, it);
    return PMIX_SUCCESS;
}
