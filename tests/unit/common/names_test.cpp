// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/names.h"

#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_deprecated.h>

#include <climits>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace pmix::common::names_test {
namespace {

// Every constant with its group, from the table itself: the header's value must come back as this name or a sibling.
struct Row {
    Names group;
    const char* name;
    int64_t value;
};
constexpr Row kRows[] = {
#define CONSTANT(group, name) {Names::group, #name, static_cast<int64_t>(name)},
#include "common/base/names.def"
#include "support/status.h"
#undef CONSTANT
};

TEST(Names, EveryConstantHasANameOfItsOwnValue) {
    for (const Row& row : kRows) {
        const char* name = constant_name(row.group, row.value);
        ASSERT_NE(name, nullptr) << row.name;
        int64_t value = 1;
        ASSERT_TRUE(constant_value(row.group, name, &value)) << name;
        EXPECT_EQ(value, row.value) << name;
        ASSERT_TRUE(constant_value(row.group, row.name, &value)) << row.name;
        EXPECT_EQ(value, row.value) << row.name;
    }
    EXPECT_EQ(constant_name(Names::status, 12345), nullptr);
    EXPECT_EQ(constant_name(Names::scope, -1), nullptr);
}

// rows: G1 Y1 Y4
TEST(Names, ErrorStringAndCodeAreInverse) {
    EXPECT_STREQ(PMIx_Error_string(PMIX_SUCCESS), "PMIX_SUCCESS");
    EXPECT_STREQ(PMIx_Error_string(PMIX_ERR_NOT_FOUND), "PMIX_ERR_NOT_FOUND");
    // Two values that had two names each in OpenPMIx 6: the older names keep them.
    EXPECT_STREQ(PMIx_Error_string(-400), "PMIX_ERR_PROC_KILLED_BY_CMD");
    EXPECT_STREQ(PMIx_Error_string(-401), "PMIX_ERR_PROC_FAILED_TO_START");
    EXPECT_EQ(PMIx_Error_code("PMIX_ERR_LOST_PRECISION"), -202);
    EXPECT_EQ(PMIx_Error_code("PMIX_ERR_CHANGE_SIGN"), -203);
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, PMIx_Error_code("pmix_err_timeout"));
    EXPECT_EQ(PMIx_Error_code("nothing of the kind"), INT_MIN);
    EXPECT_EQ(PMIx_Error_code(nullptr), INT_MIN);
    for (const Row& row : kRows) {
        if (row.group != Names::status) continue;
        EXPECT_LE(row.value, 0) << row.name;
        EXPECT_EQ(PMIx_Error_code(row.name), row.value) << row.name;
        EXPECT_EQ(PMIx_Error_code(PMIx_Error_string(static_cast<pmix_status_t>(row.value))), row.value) << row.name;
    }
}

// rows: Y1
TEST(Names, TextsAreStaticAndNeverNull) {
    for (int i = 0; i < 256; ++i) {
        auto v = static_cast<uint8_t>(i);
        for (auto* text :
             {PMIx_Proc_state_string(v), PMIx_Scope_string(v), PMIx_Persistence_string(v), PMIx_Data_range_string(v),
              PMIx_Alloc_directive_string(v), PMIx_Job_state_string(v), PMIx_Link_state_string(v),
              PMIx_Resource_block_directive_string(v), PMIx_Alloc_inheritance_string(v)}) {
            ASSERT_NE(text, nullptr);
            EXPECT_NE(text[0], '\0');
        }
        EXPECT_EQ(PMIx_Scope_string(v), PMIx_Scope_string(v));
    }
    for (unsigned i = 0; i <= 0xffff; ++i) {
        ASSERT_NE(PMIx_Data_type_string(static_cast<pmix_data_type_t>(i)), nullptr);
        ASSERT_NE(PMIx_IOF_channel_string(static_cast<pmix_iof_channel_t>(i)), nullptr);
    }
    for (int i : {INT_MIN, INT_MAX, -9999, 1, 0}) ASSERT_NE(PMIx_Error_string(i), nullptr);
    EXPECT_STREQ(PMIx_Scope_string(77), PMIx_Scope_string(78));
    EXPECT_STREQ(PMIx_Data_type_string(PMIX_INFO), "PMIX_INFO");
    EXPECT_STREQ(PMIx_Value_comparison_string(PMIX_EQUAL), "PMIX_EQUAL");
    EXPECT_STREQ(PMIx_Value_comparison_string(static_cast<pmix_value_cmp_t>(99)), "UNKNOWN");
    EXPECT_STREQ(PMIx_Group_operation_string(PMIX_GROUP_DESTRUCT), "PMIX_GROUP_DESTRUCT");
}

// rows: Y2
TEST(Names, MasksAreSpelledOut) {
    EXPECT_STREQ(PMIx_IOF_channel_string(0), "PMIX_FWD_NO_CHANNELS");
    EXPECT_STREQ(PMIx_IOF_channel_string(PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL),
                 "PMIX_FWD_STDOUT_CHANNEL|PMIX_FWD_STDERR_CHANNEL");
    EXPECT_STREQ(PMIx_IOF_channel_string(PMIX_FWD_ALL_CHANNELS), "PMIX_FWD_ALL_CHANNELS");
    EXPECT_STREQ(PMIx_Device_type_string(PMIX_DEVTYPE_GPU | PMIX_DEVTYPE_NETWORK),
                 "PMIX_DEVTYPE_GPU|PMIX_DEVTYPE_NETWORK");
    EXPECT_STREQ(PMIx_Device_type_string(~pmix_device_type_t{0}), "UNKNOWN");
    for (pmix_device_type_t mask = 0; mask < 2048; ++mask) {
        const char* text = PMIx_Device_type_string(mask);
        EXPECT_EQ(text, PMIx_Device_type_string(mask));  // the same text, not another copy
    }
    char* none = PMIx_Info_directives_string(0);
    char* two = PMIx_Info_directives_string(PMIX_INFO_REQD | PMIX_INFO_QUALIFIER);
    char* all = PMIx_Info_directives_string(~pmix_info_directives_t{0});
    EXPECT_STREQ(none, "NONE");
    EXPECT_STREQ(two, "PMIX_INFO_REQD|PMIX_INFO_QUALIFIER");
    EXPECT_NE(strstr(all, "|0xffffffe0"), nullptr) << all;
    free(none);
    free(two);
    free(all);
}

TEST(Names, MaskTextsFromManyThreads) {
    std::vector<std::thread> threads;
    std::vector<const char*> seen(8);
    for (size_t i = 0; i < seen.size(); ++i) {
        threads.emplace_back([&seen, i] { seen[i] = PMIx_Device_type_string(0x2aa); });
    }
    for (auto& t : threads) t.join();
    for (const char* text : seen) EXPECT_EQ(text, seen[0]);
}

TEST(Names, CutTextsStayTerminated) {
    char small[8];
    size_t whole = describe_bits(Names::iof_channel, 3, small, sizeof small);
    EXPECT_GT(whole, sizeof small);
    EXPECT_EQ(strlen(small), sizeof small - 1);
    EXPECT_EQ(describe_bits(Names::iof_channel, 3, nullptr, 0), whole);
}

}  // namespace
}  // namespace pmix::common::names_test
