// SPDX-License-Identifier: BSD-3-Clause
#include "common/values/info_view.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "support/status.h"

namespace pmix::common::info_view_test {
namespace {

InfoList sample() {
    InfoList list;
    EXPECT_STATUS(PMIX_SUCCESS, list.append_number(PMIX_TIMEOUT, 7, PMIX_INT));
    EXPECT_STATUS(PMIX_SUCCESS, list.append_string(PMIX_HOSTNAME, "node1"));
    EXPECT_STATUS(PMIX_SUCCESS, list.append(PMIX_COLLECT_DATA, nullptr, PMIX_UNDEF));
    EXPECT_STATUS(PMIX_SUCCESS, list.append_flag(PMIX_OPTIONAL, false));
    return list;
}

TEST(InfoViewTest, AbsentLeavesTheDefault) {
    InfoView view(nullptr, 5);
    EXPECT_EQ(view.size(), 0u);
    int timeout = 42;
    EXPECT_STATUS(PMIX_SUCCESS, view.get(PMIX_TIMEOUT, &timeout));
    EXPECT_EQ(timeout, 42);
    std::optional<int> maybe;
    EXPECT_STATUS(PMIX_SUCCESS, view.get(PMIX_TIMEOUT, &maybe));
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
    EXPECT_STATUS(PMIX_SUCCESS, view.get(PMIX_OPTIONAL, &out));
    EXPECT_FALSE(out);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, view.get(PMIX_TIMEOUT, &out));
}

// rows: G17
TEST(InfoViewTest, CheckFlags_RefusesWhatIsNoTruthValue) {
    const auto of = [](const char* key, Value&& value) {
        InfoList list;
        EXPECT_STATUS(PMIX_SUCCESS, list.append(key, std::move(value)));
        return check_flags(list);
    };
    EXPECT_STATUS(PMIX_SUCCESS, of(PMIX_COLLECT_DATA, Value()));
    EXPECT_STATUS(PMIX_SUCCESS, of(PMIX_COLLECT_DATA, Value::flag(false)));
    for (const char* text : {"yes", "false", "0", ""})
        EXPECT_STATUS(PMIX_SUCCESS, of(PMIX_COLLECT_DATA, std::move(Value::string(text)).value())) << text;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, of(PMIX_COLLECT_DATA, std::move(Value::string("perhaps")).value()));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, of(PMIX_COLLECT_DATA, Value::u32(1)));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, of(PMIX_COLLECT_DATA, Value::number(int64_t{0}, PMIX_INT)));
    // Attributes that are no flags, keys of users, and the one that is a flag or a rank.
    EXPECT_STATUS(PMIX_SUCCESS, of(PMIX_TIMEOUT, Value::u32(1)));
    EXPECT_STATUS(PMIX_SUCCESS, of(PMIX_HOSTNAME, std::move(Value::string("perhaps")).value()));
    EXPECT_STATUS(PMIX_SUCCESS, of("users.own", Value::u32(1)));
    EXPECT_STATUS(PMIX_SUCCESS, of(PMIX_FWD_STDIN, Value::u32(1)));
    InfoList second = sample();
    EXPECT_STATUS(PMIX_SUCCESS, check_flags(second));
    EXPECT_STATUS(PMIX_SUCCESS, second.append_number(PMIX_IMMEDIATE, 1, PMIX_INT));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, check_flags(second));
}

// rows: G11
TEST(InfoViewTest, NumbersFromAnyIntegerTypeInRange) {
    auto timeout_from = [](auto n, pmix_data_type_t type, int* out) {
        InfoList list;
        EXPECT_STATUS(PMIX_SUCCESS, list.append_number(PMIX_TIMEOUT, n, type));
        return InfoView(list).get(PMIX_TIMEOUT, out);
    };
    int t = 0;
    EXPECT_STATUS(PMIX_SUCCESS, timeout_from(uint32_t{9}, PMIX_UINT32, &t));
    EXPECT_EQ(t, 9);
    EXPECT_STATUS(PMIX_SUCCESS, timeout_from(int8_t{-3}, PMIX_INT8, &t));
    EXPECT_EQ(t, -3);
    EXPECT_STATUS(PMIX_SUCCESS, timeout_from(size_t{11}, PMIX_SIZE, &t));
    EXPECT_EQ(t, 11);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, timeout_from(UINT32_MAX, PMIX_UINT32, &t));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, timeout_from(1.5, PMIX_DOUBLE, &t));
    EXPECT_EQ(t, 11);
    InfoList list;
    ASSERT_STATUS(PMIX_SUCCESS, list.append_number(PMIX_APPNUM, -1, PMIX_INT));
    uint32_t app = 5;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, InfoView(list).get(PMIX_APPNUM, &app));
    EXPECT_EQ(app, 5u);
}

TEST(InfoViewTest, TypesAreChecked) {
    InfoList list = sample();
    pmix_proc_t proc = {"job", 3};
    ASSERT_STATUS(PMIX_SUCCESS, list.append(PMIX_PROCID, &proc, PMIX_PROC));
    uint32_t numbers[] = {1, 2};
    pmix_data_array_t array = {PMIX_UINT32, 2, numbers};
    ASSERT_STATUS(PMIX_SUCCESS, list.append(PMIX_GROUP_ID, &array, PMIX_DATA_ARRAY));
    ASSERT_STATUS(PMIX_SUCCESS, list.append("null.text", nullptr, PMIX_STRING));
    InfoView view(list);
    std::string_view text = "none";
    EXPECT_STATUS(PMIX_SUCCESS, view.get(PMIX_HOSTNAME, &text));
    EXPECT_EQ(text, "node1");
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, view.get(PMIX_TIMEOUT, &text));
    text = "none";
    EXPECT_STATUS(PMIX_SUCCESS, view.get("null.text", &text));
    EXPECT_EQ(text, "none");
    const pmix_proc_t* p = nullptr;
    EXPECT_STATUS(PMIX_SUCCESS, view.get(PMIX_PROCID, &p));
    EXPECT_EQ(p->rank, 3u);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, view.get(PMIX_HOSTNAME, &p));
    const pmix_data_array_t* a = nullptr;
    EXPECT_STATUS(PMIX_SUCCESS, view.get(PMIX_GROUP_ID, PMIX_UINT32, &a));
    EXPECT_EQ(a->size, 2u);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, view.get(PMIX_GROUP_ID, PMIX_INFO, &a));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, view.get(PMIX_HOSTNAME, PMIX_INFO, &a));
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
