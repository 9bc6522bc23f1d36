// SPDX-License-Identifier: BSD-3-Clause
// A bound on lines of the log: how many are written, and that those which were left out are counted.
#include "common/base/log_limit.h"

#include <gtest/gtest.h>

#include "support/status.h"
#include "support/temporary_folder.h"

namespace log_limit_test {

using namespace pmix;
using common::LogArea;
using common::LogLevel;
using common::LogLimit;

TEST(LogLimitTest, MoreThanItsLines_AreLeftOutAndCounted) {
    test::TemporaryFolder folder;
    ASSERT_STATUS(PMIX_SUCCESS, common::start_log("warn@" + folder.path("log"), {"server", 0}));
    LogLimit limit;
    const auto begin = LogLimit::Clock::now();
    const auto admitted = [&](int lines, int second) {
        int n = 0;
        for (int i = 0; i < lines; ++i)
            n += limit.admit(LogArea::server, LogLevel::warn, begin + std::chrono::seconds(second));
        return n;
    };
    constexpr int kLines = static_cast<int>(LogLimit::kLines);
    EXPECT_EQ(kLines, admitted(kLines + 7, 0));
    EXPECT_EQ(0, admitted(2, LogLimit::kSeconds - 1));
    EXPECT_EQ("", folder.text("log")) << "the lines are the caller's";
    EXPECT_EQ(kLines, admitted(kLines, LogLimit::kSeconds));
    const std::string log = folder.text("log");
    EXPECT_NE(log.npos, log.find("9 lines like the next one were left out")) << log;
    EXPECT_EQ(1, std::count(log.begin(), log.end(), '\n')) << log;
    EXPECT_EQ(1, admitted(1, 2 * LogLimit::kSeconds));
    EXPECT_EQ(log, folder.text("log")) << "none was left out since";
    common::stop_log();
}

}  // namespace log_limit_test
