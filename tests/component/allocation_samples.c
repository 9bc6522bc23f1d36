/* SPDX-License-Identifier: BSD-3-Clause */
/* allocation_samples.c: a value for each attribute of allocations. The library reads few of them; the host has to get
 * them as a process gives them. */
#include <stdlib.h>
#include <string.h>

#include "zoo.h"

static const struct {
    const char* key;
    pmix_data_type_t type;
} attributes[] = {
    {PMIX_ALLOC_REQ_ID, PMIX_STRING},
    {PMIX_ALLOC_REQ_DIRECTIVE, PMIX_ALLOC_DIRECTIVE},
    {PMIX_ALLOC_ID, PMIX_STRING},
    {PMIX_ALLOC_STATUS, PMIX_STATUS},
    {PMIX_ALLOC_PROPERTY, PMIX_STRING},
    {PMIX_ALLOC_RELEASABLE, PMIX_BOOL},
    {PMIX_ALLOC_SEQUENCE, PMIX_UINT32},
    {PMIX_ALLOC_TARGET, PMIX_STRING},
    {PMIX_ALLOC_INHERITANCE, PMIX_ALLOC_INHERIT},
    {PMIX_ALLOC_WARN_TIMEOUT, PMIX_UINT32},
    {PMIX_ALLOC_NUM_NODES, PMIX_UINT64},
    {PMIX_ALLOC_NODE_LIST, PMIX_STRING},
    {PMIX_ALLOC_EXCLUDE, PMIX_STRING},
    {PMIX_ALLOC_NUM_CPUS, PMIX_UINT64},
    {PMIX_ALLOC_NUM_CPU_LIST, PMIX_STRING},
    {PMIX_ALLOC_CPU_LIST, PMIX_STRING},
    {PMIX_ALLOC_MEM_SIZE, PMIX_FLOAT},
    {PMIX_ALLOC_FABRIC, PMIX_DATA_ARRAY},
    {PMIX_ALLOC_FABRIC_ID, PMIX_STRING},
    {PMIX_ALLOC_BANDWIDTH, PMIX_FLOAT},
    {PMIX_ALLOC_FABRIC_QOS, PMIX_STRING},
    {PMIX_ALLOC_TIME, PMIX_STRING},
    {PMIX_ALLOC_FABRIC_TYPE, PMIX_STRING},
    {PMIX_ALLOC_FABRIC_PLANE, PMIX_STRING},
    {PMIX_ALLOC_FABRIC_ENDPTS, PMIX_SIZE},
    {PMIX_ALLOC_FABRIC_ENDPTS_NODE, PMIX_SIZE},
    {PMIX_ALLOC_FABRIC_SEC_KEY, PMIX_BYTE_OBJECT},
    {PMIX_ALLOC_QUEUE, PMIX_STRING},
    {PMIX_ALLOC_PREEMPTIBLE, PMIX_BOOL},
    {PMIX_ALLOC_LEND, PMIX_STRING},
    {PMIX_ALLOC_IMAGE, PMIX_STRING},
    {PMIX_ALLOC_WAIT_ALL_NODES, PMIX_BOOL},
    {PMIX_ALLOC_SHARE, PMIX_BOOL},
    {PMIX_ALLOC_NOSHELL, PMIX_BOOL},
    {PMIX_ALLOC_DEPENDENCY, PMIX_STRING},
    {PMIX_ALLOC_BEGIN, PMIX_STRING},
    {PMIX_ALLOC_NOT_WAITING, PMIX_BOOL},
    {PMIX_ALLOC_RES_BLOCK, PMIX_STRING},
    {PMIX_ALLOC_NUM_BLOCKS, PMIX_UINT64},
    {PMIX_ALLOC_MAU, PMIX_DATA_ARRAY},
    {PMIX_ALLOC_CHILD_SEP, PMIX_BOOL},
};
enum { ATTRIBUTES = sizeof attributes / sizeof *attributes };

static void load(pmix_info_t* info, const char* key, pmix_data_type_t type, size_t number) {
    const char text[] = "text";
    const bool flag = number % 2;
    const uint32_t u32 = (uint32_t)number;
    const uint64_t u64 = UINT64_C(1) << 40 | number;
    const float half = (float)number + 0.5F;
    const pmix_status_t status = PMIX_ALLOC_TIMEOUT_WARNING;
    const pmix_alloc_inheritance_t inheritance = PMIX_ALLOC_INHERIT_DEFAULT;
    const pmix_alloc_directive_t directive = PMIX_ALLOC_ACTIVATE;
    char bytes[] = "a\0b";
    const pmix_byte_object_t object = {bytes, sizeof bytes};
    pmix_resource_unit_t units[] = {{PMIX_DEVTYPE_GPU, number}, {PMIX_DEVTYPE_NETWORK, 2}};
    pmix_data_array_t of_units = {PMIX_RESOURCE_UNIT, 2, units};
    pmix_info_t infos[2];
    pmix_data_array_t of_infos = {PMIX_INFO, 2, infos};
    PMIX_INFO_LOAD(&infos[0], PMIX_ALLOC_FABRIC_ID, key, PMIX_STRING);
    PMIX_INFO_LOAD(&infos[1], PMIX_ALLOC_BANDWIDTH, &half, PMIX_FLOAT);
    const void* value = NULL;
    switch (type) {
        case PMIX_STRING:
            value = text;
            break;
        case PMIX_BOOL:
            value = &flag;
            break;
        case PMIX_UINT32:
            value = &u32;
            break;
        case PMIX_UINT64:
            value = &u64;
            break;
        case PMIX_SIZE:
            value = &number;
            break;
        case PMIX_FLOAT:
            value = &half;
            break;
        case PMIX_STATUS:
            value = &status;
            break;
        case PMIX_ALLOC_INHERIT:
            value = &inheritance;
            break;
        case PMIX_ALLOC_DIRECTIVE:
            value = &directive;
            break;
        case PMIX_BYTE_OBJECT:
            value = &object;
            break;
        case PMIX_DATA_ARRAY:
            value = strcmp(key, PMIX_ALLOC_MAU) == 0 ? &of_units : &of_infos;
            break;
        default:
            CHECK(false);
    }
    PMIX_INFO_LOAD(info, key, value, type);
    PMIX_INFO_DESTRUCT(&infos[0]);
    PMIX_INFO_DESTRUCT(&infos[1]);
}

pmix_info_t* allocation_samples(size_t* count) {
    pmix_info_t* infos;
    PMIX_INFO_CREATE(infos, ATTRIBUTES);
    CHECK(infos);
    for (size_t i = 0; i < ATTRIBUTES; i++) load(&infos[i], attributes[i].key, attributes[i].type, i);
    *count = ATTRIBUTES;
    return infos;
}

pmix_info_t* spawn_samples(size_t* count) {
    char first[] = "allocation.1", second[] = "allocation.2", *names[] = {first, second};
    pmix_data_array_t targets = {PMIX_STRING, 2, names};
    size_t size;
    pmix_info_t *infos, *request = allocation_samples(&size);
    pmix_data_array_t array = {PMIX_INFO, size, request};
    PMIX_INFO_CREATE(infos, 2);
    CHECK(infos);
    PMIX_INFO_LOAD(&infos[0], PMIX_SPAWN_TARGET, &targets, PMIX_DATA_ARRAY);
    PMIX_INFO_LOAD(&infos[1], PMIX_SPAWN_ALLOC, &array, PMIX_DATA_ARRAY);
    PMIX_INFO_FREE(request, size);
    *count = 2;
    return infos;
}

const char* const allocation_questions[] = {PMIX_QUERY_ALLOC_STATUS, PMIX_QUERY_ALLOCATION, PMIX_QUERY_ALLOC_IDS,
                                            PMIX_QUERY_ALLOC_PROPERTIES, NULL};

pmix_info_t* answer_samples(size_t* count) {
    const char status[] = "it runs";
    pmix_info_t* infos;
    PMIX_INFO_CREATE(infos, 4);
    CHECK(infos);
    PMIX_INFO_LOAD(&infos[0], allocation_questions[0], status, PMIX_STRING);
    for (size_t i = 1; i < 4; i++) {
        size_t size;
        pmix_info_t* parts = allocation_samples(&size);
        pmix_data_array_t array = {PMIX_INFO, size - i, parts};
        PMIX_INFO_LOAD(&infos[i], allocation_questions[i], &array, PMIX_DATA_ARRAY);
        PMIX_INFO_FREE(parts, size);
    }
    *count = 4;
    return infos;
}

/* Types, values and flags are compared as they are packed. Which info is the last of its array is no flag of its own.
 */
static bool same(const pmix_info_t* a, const pmix_info_t* b) {
    pmix_data_buffer_t first, second;
    pmix_info_t one = *a, other = *b;
    one.flags &= ~(pmix_info_directives_t)PMIX_INFO_ARRAY_END;
    other.flags &= ~(pmix_info_directives_t)PMIX_INFO_ARRAY_END;
    PMIX_DATA_BUFFER_CONSTRUCT(&first);
    PMIX_DATA_BUFFER_CONSTRUCT(&second);
    CHECK_OK(PMIx_Data_pack(NULL, &first, &one, 1, PMIX_INFO));
    CHECK_OK(PMIx_Data_pack(NULL, &second, &other, 1, PMIX_INFO));
    const bool equal =
        first.bytes_used == second.bytes_used && memcmp(first.base_ptr, second.base_ptr, first.bytes_used) == 0;
    PMIX_DATA_BUFFER_DESTRUCT(&first);
    PMIX_DATA_BUFFER_DESTRUCT(&second);
    return equal;
}

bool has_each(const pmix_info_t infos[], size_t ninfos, const pmix_info_t wanted[], size_t nwanted) {
    for (size_t i = 0; i < nwanted; i++) {
        size_t found = 0;
        for (size_t k = 0; k < ninfos; k++)
            if (PMIX_CHECK_KEY(&infos[k], wanted[i].key)) found += same(&infos[k], &wanted[i]) ? 1 : 100;
        if (found == 1) continue;
        printf("FAIL %s: %zu\n", wanted[i].key, found);
        return false;
    }
    return true;
}
