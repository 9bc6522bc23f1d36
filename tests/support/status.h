// SPDX-License-Identifier: BSD-3-Clause
// EXPECT_STATUS and ASSERT_STATUS compare two statuses, the expected one first, and print their names when they differ.
//
// Owns nothing. The thread that runs the test.
#pragma once

#include <gtest/gtest.h>
#include <pmix.h>

#include <string>

namespace pmix::test {

inline std::string status_text(pmix_status_t status) {
    return std::string(PMIx_Error_string(status)) + " (" + std::to_string(status) + ")";
}

inline testing::AssertionResult same_status(const char*, const char* text, pmix_status_t expected,
                                            pmix_status_t actual) {
    if (expected == actual) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "expected " << status_text(expected) << ", not " << status_text(actual)
                                       << ", of " << text;
}

}  // namespace pmix::test

#define EXPECT_STATUS(expected, actual) EXPECT_PRED_FORMAT2(::pmix::test::same_status, expected, actual)
#define ASSERT_STATUS(expected, actual) ASSERT_PRED_FORMAT2(::pmix::test::same_status, expected, actual)
