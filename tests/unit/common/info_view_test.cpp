// SPDX-License-Identifier: BSD-3-Clause
#include "common/values/info_view.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace pmix::common::info_view_test {
namespace {

InfoList sample() {
    InfoList list;
    EXPECT_EQ(list.append_number(PMIX_TIMEOUT, 7, PMIX_INT), PMIX_SUCCESS);
    EXPECT_EQ(list.append_string(PMIX_HOSTNAME, "node1"), PMIX_SUCCESS);
    EXPECT_EQ(list.append(PMIX_COLLECT_DATA, nullptr, PMIX_UNDEF), PMIX_SUCCESS);
    EXPECT_EQ(list.append_flag(PMIX_OPTIONAL, false), PMIX_SUCCESS);
    return list;
}

TEST(InfoViewTest, AbsentLeavesTheDefault) {
    InfoView view(nullptr, 5);
    EXPECT_EQ(view.size(), 0u);
    int timeout = 42;
    EXPECT_EQ(view.get(PMIX_TIMEOUT, &timeout), PMIX_SUCCESS);
    EXPECT_EQ(timeout, 42);
    std::optional<int> maybe;
    EXPECT_EQ(view.get(PMIX_TIMEOUT, &maybe), PMIX_SUCCESS);
    EXPECT_FALSE(maybe.has_value());
    EXPECT_FALSE(view.flag(PMIX_COLLECT_DATA));
}

// rows: G17
TEST(InfoViewTest, FlagsGivenWithoutAValueAreTrue) {
    InfoList list = sample();
    InfoView view(list);
    EXPECT_TRUE(view.flag(PMIX_COLLECT_DATA));
    EXPECT_FALSE(view.flag(PMIX_OPTIONAL));
    bool out = true;
    EXPECT_EQ(view.get(PMIX_OPTIONAL, &out), PMIX_SUCCESS);
    EXPECT_FALSE(out);
    EXPECT_EQ(view.get(PMIX_TIMEOUT, &out), PMIX_ERR_BAD_PARAM);
}

// rows: G11
TEST(InfoViewTest, NumbersFromAnyIntegerTypeInRange) {
    auto timeout_from = [](auto n, pmix_data_type_t type, int* out) {
        InfoList list;
        EXPECT_EQ(list.append_number(PMIX_TIMEOUT, n, type), PMIX_SUCCESS);
        return InfoView(list).get(PMIX_TIMEOUT, out);
    };
    int t = 0;
    EXPECT_EQ(timeout_from(uint32_t{9}, PMIX_UINT32, &t), PMIX_SUCCESS);
    EXPECT_EQ(t, 9);
    EXPECT_EQ(timeout_from(int8_t{-3}, PMIX_INT8, &t), PMIX_SUCCESS);
    EXPECT_EQ(t, -3);
    EXPECT_EQ(timeout_from(size_t{11}, PMIX_SIZE, &t), PMIX_SUCCESS);
    EXPECT_EQ(t, 11);
    EXPECT_EQ(timeout_from(UINT32_MAX, PMIX_UINT32, &t), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(timeout_from(1.5, PMIX_DOUBLE, &t), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(t, 11);
    InfoList list;
    ASSERT_EQ(list.append_number(PMIX_APPNUM, -1, PMIX_INT), PMIX_SUCCESS);
    uint32_t app = 5;
    EXPECT_EQ(InfoView(list).get(PMIX_APPNUM, &app), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(app, 5u);
}

TEST(InfoViewTest, TypesAreChecked) {
    InfoList list = sample();
    pmix_proc_t proc = {"job", 3};
    ASSERT_EQ(list.append(PMIX_PROCID, &proc, PMIX_PROC), PMIX_SUCCESS);
    uint32_t numbers[] = {1, 2};
    pmix_data_array_t array = {PMIX_UINT32, 2, numbers};
    ASSERT_EQ(list.append(PMIX_GROUP_ID, &array, PMIX_DATA_ARRAY), PMIX_SUCCESS);
    ASSERT_EQ(list.append("null.text", nullptr, PMIX_STRING), PMIX_SUCCESS);
    InfoView view(list);
    std::string_view text = "none";
    EXPECT_EQ(view.get(PMIX_HOSTNAME, &text), PMIX_SUCCESS);
    EXPECT_EQ(text, "node1");
    EXPECT_EQ(view.get(PMIX_TIMEOUT, &text), PMIX_ERR_BAD_PARAM);
    text = "none";
    EXPECT_EQ(view.get("null.text", &text), PMIX_SUCCESS);
    EXPECT_EQ(text, "none");
    const pmix_proc_t* p = nullptr;
    EXPECT_EQ(view.get(PMIX_PROCID, &p), PMIX_SUCCESS);
    EXPECT_EQ(p->rank, 3u);
    EXPECT_EQ(view.get(PMIX_HOSTNAME, &p), PMIX_ERR_BAD_PARAM);
    const pmix_data_array_t* a = nullptr;
    EXPECT_EQ(view.get(PMIX_GROUP_ID, PMIX_UINT32, &a), PMIX_SUCCESS);
    EXPECT_EQ(a->size, 2u);
    EXPECT_EQ(view.get(PMIX_GROUP_ID, PMIX_INFO, &a), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(view.get(PMIX_HOSTNAME, PMIX_INFO, &a), PMIX_ERR_BAD_PARAM);
}

TEST(InfoViewTest, KeysWithoutRoomForTheirNul) {
    pmix_info_t info = {};
    memset(info.key, 'k', sizeof info.key);  // not even terminated
    InfoView view(&info, 1);
    EXPECT_TRUE(view.has(std::string(511, 'k')));
    EXPECT_FALSE(view.has(std::string(512, 'k')));
}

}  // namespace
}  // namespace pmix::common::info_view_test
