// SPDX-License-Identifier: BSD-3-Clause
// The functions that the macros of 4.0's headers call, by the names that they had there: PMIX_ARGV_APPEND of a program
// of that time is a call of pmix_argv_append_nosize. Debian 11's Open MPI, Slurm and example programs need them; no
// header of this library declares them. Names in parentheses are macros since 4.2.9.
//
// Owns nothing; needs no library; any thread. Each is the PMIx_ function of today; what can go wrong is told there.
#include <pmix.h>
#include <pmix_deprecated.h>

extern "C" {

PMIX_EXPORT pmix_status_t(pmix_argv_append_nosize)(char*** argv, const char* arg);
PMIX_EXPORT pmix_status_t(pmix_argv_append_unique_nosize)(char*** argv, const char* arg);
PMIX_EXPORT char**(pmix_argv_copy)(char** argv);
PMIX_EXPORT int(pmix_argv_count)(char** argv);
PMIX_EXPORT void(pmix_argv_free)(char** argv);
PMIX_EXPORT char*(pmix_argv_join)(char** argv, int delimiter);
PMIX_EXPORT pmix_status_t(pmix_argv_prepend_nosize)(char*** argv, const char* arg);
PMIX_EXPORT char**(pmix_argv_split)(const char* text, int delimiter);
PMIX_EXPORT pmix_status_t pmix_info_list_add(void* list, const char* key, void* value, pmix_data_type_t type);
PMIX_EXPORT pmix_status_t pmix_info_list_convert(void* list, pmix_data_array_t* array);
PMIX_EXPORT void pmix_info_list_release(void* list);
PMIX_EXPORT void* pmix_info_list_start();
PMIX_EXPORT pmix_status_t pmix_info_list_xfer(void* list, const pmix_info_t* info);
PMIX_EXPORT void pmix_ploc_base_destruct_cpuset(pmix_cpuset_t* cpuset);
PMIX_EXPORT void pmix_ploc_base_destruct_topology(pmix_topology_t* topology);
PMIX_EXPORT void pmix_ploc_base_release_cpuset(pmix_cpuset_t* cpusets, size_t n);
PMIX_EXPORT void pmix_ploc_base_release_topology(pmix_topology_t* topologies, size_t n);
PMIX_EXPORT pmix_status_t(pmix_setenv)(const char* name, const char* value, bool overwrite, char*** env);
PMIX_EXPORT void pmix_value_load(pmix_value_t* value, const void* data, pmix_data_type_t type);
PMIX_EXPORT pmix_status_t pmix_value_unload(pmix_value_t* value, void** data, size_t* size);
PMIX_EXPORT pmix_status_t pmix_value_xfer(pmix_value_t* to, const pmix_value_t* from);

pmix_status_t(pmix_argv_append_nosize)(char*** argv, const char* arg) {
    return PMIx_Argv_append_nosize(argv, arg);
}

pmix_status_t(pmix_argv_append_unique_nosize)(char*** argv, const char* arg) {
    return PMIx_Argv_append_unique_nosize(argv, arg);
}

char**(pmix_argv_copy)(char** argv) {
    return PMIx_Argv_copy(argv);
}

int(pmix_argv_count)(char** argv) {
    return PMIx_Argv_count(argv);
}

void(pmix_argv_free)(char** argv) {
    PMIx_Argv_free(argv);
}

char*(pmix_argv_join)(char** argv, int delimiter) {
    return PMIx_Argv_join(argv, delimiter);
}

pmix_status_t(pmix_argv_prepend_nosize)(char*** argv, const char* arg) {
    return PMIx_Argv_prepend_nosize(argv, arg);
}

char**(pmix_argv_split)(const char* text, int delimiter) {
    return PMIx_Argv_split(text, delimiter);
}

pmix_status_t pmix_info_list_add(void* list, const char* key, void* value, pmix_data_type_t type) {
    return PMIx_Info_list_add(list, key, value, type);
}

pmix_status_t pmix_info_list_convert(void* list, pmix_data_array_t* array) {
    return PMIx_Info_list_convert(list, array);
}

void pmix_info_list_release(void* list) {
    PMIx_Info_list_release(list);
}

void* pmix_info_list_start() {
    return PMIx_Info_list_start();
}

pmix_status_t pmix_info_list_xfer(void* list, const pmix_info_t* info) {
    return PMIx_Info_list_xfer(list, info);
}

void pmix_ploc_base_destruct_cpuset(pmix_cpuset_t* cpuset) {
    PMIx_Cpuset_destruct(cpuset);
}

void pmix_ploc_base_destruct_topology(pmix_topology_t* topology) {
    PMIx_Topology_destruct(topology);
}

void pmix_ploc_base_release_cpuset(pmix_cpuset_t* cpusets, size_t n) {
    PMIx_Cpuset_free(cpusets, n);
}

void pmix_ploc_base_release_topology(pmix_topology_t* topologies, size_t n) {
    PMIx_Topology_free(topologies, n);
}

pmix_status_t(pmix_setenv)(const char* name, const char* value, bool overwrite, char*** env) {
    return PMIx_Setenv(name, value, overwrite, env);
}

void pmix_value_load(pmix_value_t* value, const void* data, pmix_data_type_t type) {
    (void)PMIx_Value_load(value, data, type);
}

pmix_status_t pmix_value_unload(pmix_value_t* value, void** data, size_t* size) {
    return PMIx_Value_unload(value, data, size);
}

pmix_status_t pmix_value_xfer(pmix_value_t* to, const pmix_value_t* from) {
    return PMIx_Value_xfer(to, from);
}

}  // extern "C"
