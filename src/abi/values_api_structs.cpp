// SPDX-License-Identifier: BSD-3-Clause
// construct, destruct, create and free of every public struct, and what belongs to single ones of them.
//
// Owns nothing; needs no library; any thread. Memory is plain malloc memory, one block each: programs carry inlined
// versions of these functions and mix them with ours. NULL is harmless everywhere, destruct may be called twice.
#include <pmix.h>
#include <pmix_deprecated.h>

#include <cstdlib>
#include <cstring>

#include "common/values/value.h"

namespace {

using namespace pmix::common;

void construct(pmix_data_type_t type, void* element) noexcept {
    if (element == nullptr) return;
    std::memset(element, 0, type_row(type)->size);
    construct_elements(type, element, 1);
}

void destruct(pmix_data_type_t type, void* element) noexcept {
    destroy_elements(type, element, 1);
}
// The one that a program calls for each value that it got.
void destruct(pmix_data_type_t, pmix_value_t* value) noexcept {
    destroy_value(value);
}

// NULL for none, as the inlined versions have it. An array of infos is marked at its end (PMIX_INFO_ARRAY_END):
// programs built for 4.2 expect the mark and later ones do not mind it. The library itself always goes by the count.
void* create(pmix_data_type_t type, size_t n) noexcept {
    void* array = nullptr;
    if (create_array(type, n, &array) == PMIX_SUCCESS && array != nullptr) construct_elements(type, array, n);
    return array;
}

}  // namespace

#define WIREUP_STRUCT(NAME, TYPE, ID)            \
    void PMIx_##NAME##_construct(TYPE* p) {      \
        construct(ID, p);                        \
    }                                            \
    void PMIx_##NAME##_destruct(TYPE* p) {       \
        destruct(ID, p);                         \
    }                                            \
    void PMIx_##NAME##_free(TYPE* p, size_t n) { \
        destroy_array(ID, p, n);                 \
    }
#define WIREUP_STRUCT_CREATE(NAME, TYPE, ID)      \
    WIREUP_STRUCT(NAME, TYPE, ID)                 \
    TYPE* PMIx_##NAME##_create(size_t n) {        \
        return static_cast<TYPE*>(create(ID, n)); \
    }

extern "C" {

WIREUP_STRUCT_CREATE(App, pmix_app_t, PMIX_APP)
WIREUP_STRUCT_CREATE(Byte_object, pmix_byte_object_t, PMIX_BYTE_OBJECT)
WIREUP_STRUCT_CREATE(Cpuset, pmix_cpuset_t, PMIX_PROC_CPUSET)
WIREUP_STRUCT_CREATE(Device, pmix_device_t, PMIX_DEVICE)
WIREUP_STRUCT_CREATE(Device_distance, pmix_device_distance_t, PMIX_DEVICE_DIST)
WIREUP_STRUCT_CREATE(Disk_stats, pmix_disk_stats_t, PMIX_DISK_STATS)
WIREUP_STRUCT_CREATE(Endpoint, pmix_endpoint_t, PMIX_ENDPOINT)
WIREUP_STRUCT_CREATE(Envar, pmix_envar_t, PMIX_ENVAR)
WIREUP_STRUCT_CREATE(Geometry, pmix_geometry_t, PMIX_GEOMETRY)
WIREUP_STRUCT_CREATE(Info, pmix_info_t, PMIX_INFO)
WIREUP_STRUCT_CREATE(Net_stats, pmix_net_stats_t, PMIX_NET_STATS)
WIREUP_STRUCT_CREATE(Node_pid, pmix_node_pid_t, PMIX_NODE_PID)
WIREUP_STRUCT_CREATE(Node_stats, pmix_node_stats_t, PMIX_NODE_STATS)
WIREUP_STRUCT_CREATE(Pdata, pmix_pdata_t, PMIX_PDATA)
WIREUP_STRUCT_CREATE(Proc, pmix_proc_t, PMIX_PROC)
WIREUP_STRUCT_CREATE(Proc_info, pmix_proc_info_t, PMIX_PROC_INFO)
WIREUP_STRUCT_CREATE(Proc_stats, pmix_proc_stats_t, PMIX_PROC_STATS)
WIREUP_STRUCT_CREATE(Query, pmix_query_t, PMIX_QUERY)
WIREUP_STRUCT_CREATE(Regattr, pmix_regattr_t, PMIX_REGATTR)
WIREUP_STRUCT_CREATE(Regex2, pmix_regex2_t, PMIX_REGEX2)
WIREUP_STRUCT_CREATE(Resource_unit, pmix_resource_unit_t, PMIX_RESOURCE_UNIT)
WIREUP_STRUCT_CREATE(Topology, pmix_topology_t, PMIX_TOPO)
WIREUP_STRUCT_CREATE(Value, pmix_value_t, PMIX_VALUE)
WIREUP_STRUCT(Coord, pmix_coord_t, PMIX_COORD)

// `number` coordinates of `dims` zeroed dimensions each.
pmix_coord_t* PMIx_Coord_create(size_t dims, size_t number) {
    auto* coords = static_cast<pmix_coord_t*>(create(PMIX_COORD, number));
    if (coords == nullptr || dims == 0) return coords;
    for (size_t i = 0; i < number; ++i) {
        coords[i].coord = static_cast<uint32_t*>(std::calloc(dims, sizeof(uint32_t)));
        if (coords[i].coord == nullptr) {
            destroy_array(PMIX_COORD, coords, number);
            return nullptr;
        }
        coords[i].dims = dims;
    }
    return coords;
}

void PMIx_Fabric_construct(pmix_fabric_t* p) {
    if (p == nullptr) return;
    std::memset(p, 0, sizeof *p);
    p->index = SIZE_MAX;
}

void PMIx_App_info_create(pmix_app_t* p, size_t n) {
    if (p == nullptr) return;
    p->info = PMIx_Info_create(n);
    p->ninfo = p->info == nullptr ? 0 : n;
}

void PMIx_App_release(pmix_app_t* p) {
    PMIx_App_free(p, 1);
}

void PMIx_Query_qualifiers_create(pmix_query_t* p, size_t n) {
    if (p == nullptr) return;
    p->qualifiers = PMIx_Info_create(n);
    p->nqual = p->qualifiers == nullptr ? 0 : n;
}

void PMIx_Query_release(pmix_query_t* p) {
    PMIx_Query_free(p, 1);
}

// Takes over the bytes.
void PMIx_Byte_object_load(pmix_byte_object_t* b, char* d, size_t sz) {
    if (b == nullptr) return;
    b->bytes = d;
    b->size = d == nullptr ? 0 : sz;
}

void PMIx_Envar_load(pmix_envar_t* e, char* var, char* value, char separator) {
    if (e == nullptr) return;
    e->envar = var == nullptr ? nullptr : strdup(var);
    e->value = value == nullptr ? nullptr : strdup(value);
    e->separator = separator;
}

void PMIx_Regattr_load(pmix_regattr_t* info, const char* name, const char* key, pmix_data_type_t type,
                       const char* description) {
    if (info == nullptr) return;
    PMIx_Regattr_construct(info);
    if (name != nullptr) info->name = strdup(name);
    PMIx_Load_key(info->string, key);
    info->type = type;
    if (description != nullptr) (void)PMIx_Argv_append_nosize(&info->description, description);
}

void PMIx_Regattr_xfer(pmix_regattr_t* dest, const pmix_regattr_t* src) {
    if (dest == nullptr) return;
    PMIx_Regattr_construct(dest);
    if (src != nullptr) (void)copy_elements(PMIX_REGATTR, dest, src, 1);
}

// --- data arrays -----------------------------------------------------------------------------------------------------

void PMIx_Data_array_init(pmix_data_array_t* p, pmix_data_type_t type) {
    if (p == nullptr) return;
    std::memset(p, 0, sizeof *p);
    p->type = type;
}

// A type that has no elements, or no memory for them: no array, and no size that promises one.
void PMIx_Data_array_construct(pmix_data_array_t* p, size_t num, pmix_data_type_t type) {
    if (p == nullptr) return;
    PMIx_Data_array_init(p, type);
    p->array = create(type, num);
    p->size = p->array == nullptr ? 0 : num;
}

pmix_data_array_t* PMIx_Data_array_create(size_t n, pmix_data_type_t type) {
    auto* p = static_cast<pmix_data_array_t*>(std::malloc(sizeof(pmix_data_array_t)));
    if (p != nullptr) PMIx_Data_array_construct(p, n, type);
    return p;
}

void PMIx_Data_array_destruct(pmix_data_array_t* d) {
    destruct(PMIX_DATA_ARRAY, d);
}

void PMIx_Data_array_free(pmix_data_array_t* p) {
    destroy_array(PMIX_DATA_ARRAY, p, 1);
}

}  // extern "C"
