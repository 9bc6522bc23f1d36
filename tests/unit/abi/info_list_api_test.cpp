// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_deprecated.h>

#include <cstring>
#include <string>

#include "support/status.h"

namespace info_list_api_test {

namespace {

// rows: D12
TEST(InfoListApi, AddsConvertsAndStays) {
    void* list = PMIx_Info_list_start();
    ASSERT_NE(list, nullptr);
    pmix_data_array_t array = {PMIX_UINT8, 9, &array};
    EXPECT_STATUS(PMIX_ERR_EMPTY, PMIx_Info_list_convert(list, &array));
    EXPECT_EQ(array.size, 0u);
    EXPECT_EQ(array.array, nullptr);
    char text[] = "value";
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Info_list_add(list, "b", text, PMIX_STRING));
    memset(text, 'x', 5);  // the list has its own
    uint32_t n = 5;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Info_list_prepend(list, "a", &n, PMIX_UINT32));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Info_list_add(list, "nothing", nullptr, PMIX_STRING));
    pmix_info_t info = {};
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Info_load(&info, "c", "copied", PMIX_STRING));
    PMIx_Info_required(&info);
    PMIx_Info_set_end(&info);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Info_list_xfer(list, &info));
    PMIx_Info_destruct(&info);
    EXPECT_EQ(PMIx_Info_list_get_size(list), 4u);
    for (int twice = 0; twice < 2; ++twice) {
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Info_list_convert(list, &array));
        ASSERT_EQ(array.type, PMIX_INFO);
        ASSERT_EQ(array.size, 4u);
        auto* infos = static_cast<pmix_info_t*>(array.array);
        EXPECT_STREQ(infos[0].key, "a");
        EXPECT_STREQ(infos[1].value.data.string, "value");
        EXPECT_EQ(infos[2].value.data.string, nullptr);
        EXPECT_STREQ(infos[3].value.data.string, "copied");
        EXPECT_TRUE(PMIx_Info_is_required(&infos[3]));
        for (size_t i = 0; i < 4; ++i) EXPECT_EQ(PMIx_Info_is_end(&infos[i]), i == 3);
        PMIx_Data_array_destruct(&array);
    }
    PMIx_Info_list_release(list);
}

// rows: D12
TEST(InfoListApi, InsertKeepsTheCallersPointers) {
    char text[] = "mine";
    pmix_info_t info = {};
    PMIx_Load_key(info.key, "k");
    info.value.type = PMIX_STRING;
    info.value.data.string = text;
    void* list = PMIx_Info_list_start();
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Info_list_insert(list, &info));
    pmix_data_array_t array;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Info_list_convert(list, &array));
    EXPECT_EQ(static_cast<pmix_info_t*>(array.array)->value.data.string, text);
    PMIx_Info_list_release(list);
    PMIx_Data_array_destruct(&array);
    EXPECT_STREQ(text, "mine");
}

// rows: D12
TEST(InfoListApi, UniqueKeys) {
    void* list = PMIx_Info_list_start();
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Info_list_add_unique(list, "k", "one", PMIX_STRING, false));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Info_list_add_unique(list, "k", "two", PMIX_STRING, false));
    void* next = &next;
    EXPECT_STREQ(PMIx_Info_list_get_info(list, nullptr, &next)->value.data.string, "one");
    EXPECT_EQ(next, nullptr);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Info_list_add_unique(list, "k", "two", PMIX_STRING, true));
    EXPECT_STREQ(PMIx_Info_list_get_info(list, nullptr, &next)->value.data.string, "two");
    pmix_value_t value = {};
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Value_load(&value, "three", PMIX_STRING));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Info_list_add_value_unique(list, "k", &value, true));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Info_list_add_value(list, "l", &value));
    PMIx_Value_destruct(&value);
    pmix_info_t info = {};
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Info_load(&info, "l", "four", PMIX_STRING));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Info_list_xfer_unique(list, &info, true));
    PMIx_Info_destruct(&info);
    EXPECT_EQ(PMIx_Info_list_get_size(list), 2u);
    pmix_info_t* first = PMIx_Info_list_get_info(list, nullptr, &next);
    ASSERT_NE(next, nullptr);
    pmix_info_t* second = PMIx_Info_list_get_info(list, next, &next);
    EXPECT_EQ(next, nullptr);
    EXPECT_STREQ(first->value.data.string, "three");
    EXPECT_STREQ(second->value.data.string, "four");
    PMIx_Info_list_release(list);
}

// rows: D12
TEST(InfoListApi, BadArguments) {
    void* list = PMIx_Info_list_start();
    std::string longer(PMIX_MAX_KEYLEN + 1, 'k');
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Info_list_add(list, longer.c_str(), "x", PMIX_STRING));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Info_list_add(list, nullptr, "x", PMIX_STRING));
    EXPECT_STATUS(PMIX_ERR_UNKNOWN_DATA_TYPE, PMIx_Info_list_add(list, "k", "x", 444));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Info_list_add(nullptr, "k", "x", PMIX_STRING));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Info_list_add_unique(list, nullptr, "x", PMIX_STRING, true));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Info_list_add_value(list, "k", nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Info_list_add_value_unique(list, "k", nullptr, true));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Info_list_prepend(nullptr, "k", "x", PMIX_STRING));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Info_list_insert(list, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Info_list_insert(nullptr, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Info_list_xfer(list, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Info_list_xfer_unique(list, nullptr, true));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Info_list_convert(list, nullptr));
    pmix_data_array_t array = {PMIX_INFO, 3, &array};
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Info_list_convert(nullptr, &array));
    EXPECT_EQ(array.array, nullptr);
    void* next = &next;
    EXPECT_EQ(PMIx_Info_list_get_info(list, nullptr, &next), nullptr);
    EXPECT_EQ(next, nullptr);
    EXPECT_EQ(PMIx_Info_list_get_info(nullptr, nullptr, nullptr), nullptr);
    EXPECT_EQ(PMIx_Info_list_get_size(nullptr), 0u);
    EXPECT_EQ(PMIx_Info_list_get_size(list), 0u);
    PMIx_Info_list_release(nullptr);
    PMIx_Info_list_release(list);
}

}  // namespace

}  // namespace info_list_api_test
