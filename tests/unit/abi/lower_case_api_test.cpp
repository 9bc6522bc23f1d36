// SPDX-License-Identifier: BSD-3-Clause
// As a program calls them that was compiled with the macros of 4.0's headers.
#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_deprecated.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "support/status.h"

namespace lower_case_api_test {

extern "C" {
pmix_status_t(pmix_argv_append_nosize)(char*** argv, const char* arg);
pmix_status_t(pmix_argv_append_unique_nosize)(char*** argv, const char* arg);
char**(pmix_argv_copy)(char** argv);
int(pmix_argv_count)(char** argv);
void(pmix_argv_free)(char** argv);
char*(pmix_argv_join)(char** argv, int delimiter);
pmix_status_t(pmix_argv_prepend_nosize)(char*** argv, const char* arg);
char**(pmix_argv_split)(const char* text, int delimiter);
pmix_status_t pmix_info_list_add(void* list, const char* key, void* value, pmix_data_type_t type);
pmix_status_t pmix_info_list_convert(void* list, pmix_data_array_t* array);
void pmix_info_list_release(void* list);
void* pmix_info_list_start();
pmix_status_t pmix_info_list_xfer(void* list, const pmix_info_t* info);
void pmix_ploc_base_destruct_cpuset(pmix_cpuset_t* cpuset);
void pmix_ploc_base_destruct_topology(pmix_topology_t* topology);
void pmix_ploc_base_release_cpuset(pmix_cpuset_t* cpusets, size_t n);
void pmix_ploc_base_release_topology(pmix_topology_t* topologies, size_t n);
pmix_status_t(pmix_setenv)(const char* name, const char* value, bool overwrite, char*** env);
void pmix_value_load(pmix_value_t* value, const void* data, pmix_data_type_t type);
pmix_status_t pmix_value_unload(pmix_value_t* value, void** data, size_t* size);
pmix_status_t pmix_value_xfer(pmix_value_t* to, const pmix_value_t* from);
}

namespace {

std::string taken(char* text) {
    std::string copy = text == nullptr ? "" : text;
    std::free(text);
    return copy;
}

TEST(LowerCaseApi, Argv_BuiltUpAndTakenApart_IsTheListOfToday) {
    char** list = nullptr;
    EXPECT_STATUS(PMIX_SUCCESS, (pmix_argv_append_nosize)(&list, "b"));
    EXPECT_STATUS(PMIX_SUCCESS, (pmix_argv_append_nosize)(&list, "b"));
    EXPECT_STATUS(PMIX_SUCCESS, (pmix_argv_prepend_nosize)(&list, "a"));
    EXPECT_STATUS(PMIX_SUCCESS, (pmix_argv_append_unique_nosize)(&list, "b"));
    EXPECT_STATUS(PMIX_SUCCESS, (pmix_argv_append_unique_nosize)(&list, "c"));
    EXPECT_EQ(4, (pmix_argv_count)(list));
    EXPECT_EQ("a,b,b,c", taken((pmix_argv_join)(list, ',')));
    char** copy = (pmix_argv_copy)(list);
    EXPECT_EQ("a,b,b,c", taken((pmix_argv_join)(copy, ',')));
    (pmix_argv_free)(copy);
    (pmix_argv_free)(list);
    list = (pmix_argv_split)("x y", ' ');
    EXPECT_EQ("x,y", taken((pmix_argv_join)(list, ',')));
    (pmix_argv_free)(list);
}

TEST(LowerCaseApi, Setenv_AList_HasTheVariable) {
    char** env = nullptr;
    EXPECT_STATUS(PMIX_SUCCESS, (pmix_setenv)("NAME", "1", true, &env));
    EXPECT_STATUS(PMIX_SUCCESS, (pmix_setenv)("NAME", "2", true, &env));
    EXPECT_EQ("NAME=2", taken((pmix_argv_join)(env, ',')));
    (pmix_argv_free)(env);
}

TEST(LowerCaseApi, Value_LoadedUnloadedAndCopied_IsAsByTheFunctionsOfToday) {
    pmix_value_t value = PMIX_VALUE_STATIC_INIT;
    const uint32_t number = 7;
    pmix_value_load(nullptr, &number, PMIX_UINT32);
    pmix_value_load(&value, &number, PMIX_UINT32);
    EXPECT_EQ(PMIX_UINT32, value.type);
    EXPECT_EQ(7u, value.data.uint32);
    uint32_t back = 0;
    void* place = &back;
    size_t size = 0;
    EXPECT_STATUS(PMIX_SUCCESS, pmix_value_unload(&value, &place, &size));
    EXPECT_EQ(7u, back);
    EXPECT_EQ(sizeof back, size);
    pmix_value_load(&value, "text", PMIX_STRING);
    pmix_value_t copy = PMIX_VALUE_STATIC_INIT;
    EXPECT_STATUS(PMIX_SUCCESS, pmix_value_xfer(&copy, &value));
    PMIx_Value_destruct(&value);
    EXPECT_STREQ("text", copy.data.string);
    PMIx_Value_destruct(&copy);
}

TEST(LowerCaseApi, InfoList_FilledAndConverted_IsTheArrayOfItsInfos) {
    void* list = pmix_info_list_start();
    ASSERT_NE(nullptr, list);
    pmix_data_array_t array;
    EXPECT_STATUS(PMIX_ERR_EMPTY, pmix_info_list_convert(list, &array));
    char text[] = "text";
    EXPECT_STATUS(PMIX_SUCCESS, pmix_info_list_add(list, "first", text, PMIX_STRING));
    pmix_info_t info;
    int number = 5;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Info_load(&info, "second", &number, PMIX_INT));
    EXPECT_STATUS(PMIX_SUCCESS, pmix_info_list_xfer(list, &info));
    EXPECT_STATUS(PMIX_SUCCESS, pmix_info_list_convert(list, &array));
    pmix_info_list_release(list);
    ASSERT_EQ(2u, array.size);
    const auto* infos = static_cast<const pmix_info_t*>(array.array);
    EXPECT_STREQ("first", infos[0].key);
    EXPECT_STREQ("text", infos[0].value.data.string);
    EXPECT_STREQ("second", infos[1].key);
    EXPECT_EQ(5, infos[1].value.data.integer);
    PMIx_Data_array_destruct(&array);
}

// Both forms leave nothing, which the sanitizer sees.
TEST(LowerCaseApi, CpusetsAndTopologies_DestructedAndReleased_AreFreed) {
    pmix_cpuset_t cpuset = PMIX_CPUSET_STATIC_INIT;
    cpuset.source = strdup("hwloc");
    pmix_ploc_base_destruct_cpuset(&cpuset);
    EXPECT_EQ(nullptr, cpuset.source);
    pmix_topology_t topology = PMIX_TOPOLOGY_STATIC_INIT;
    topology.source = strdup("hwloc");
    pmix_ploc_base_destruct_topology(&topology);
    EXPECT_EQ(nullptr, topology.source);
    auto* cpusets = static_cast<pmix_cpuset_t*>(std::calloc(2, sizeof(pmix_cpuset_t)));
    ASSERT_NE(nullptr, cpusets);
    cpusets[1].source = strdup("hwloc");
    pmix_ploc_base_release_cpuset(cpusets, 2);
    auto* topologies = static_cast<pmix_topology_t*>(std::calloc(2, sizeof(pmix_topology_t)));
    ASSERT_NE(nullptr, topologies);
    topologies[1].source = strdup("hwloc");
    pmix_ploc_base_release_topology(topologies, 2);
}

}  // namespace

}  // namespace lower_case_api_test
