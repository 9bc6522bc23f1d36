// SPDX-License-Identifier: BSD-3-Clause
// The log: what is asked for, what is written, where.
#include "common/base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>

#include "support/status.h"
#include "transport/frame_log.h"

namespace pmix::common::log_test {
namespace {

class Log : public ::testing::Test {
  protected:
    void SetUp() override {
        char name[] = "/tmp/unit-test.XXXXXX";
        ASSERT_NE(::mkdtemp(name), nullptr);
        folder_ = name;
    }
    void TearDown() override {
        stop_log();
        std::string command = "rm -r " + folder_;
        EXPECT_EQ(::system(command.c_str()), 0);
    }
    std::string text(const std::string& name) const {
        std::stringstream all;
        all << std::ifstream(folder_ + "/" + name).rdbuf();
        return all.str();
    }
    pmix_status_t start(const std::string& items, const std::string& name = "log") {
        return start_log(items + "@" + folder_ + "/" + name, ProcId("job.7", 3));
    }
    std::string folder_;
};

TEST_F(Log, IsOffUntilAsked) {
    int evaluated = 0;
    const auto count = [&] { return ++evaluated; };
    WIREUP_LOG(api, error, "%d", count());
    EXPECT_EQ(evaluated, 0);
    ASSERT_STATUS(PMIX_SUCCESS, start("warn"));
    WIREUP_LOG(api, info, "%d", count());
    EXPECT_EQ(evaluated, 0);
    WIREUP_LOG(api, warn, "number %d", count());
    EXPECT_EQ(evaluated, 1);
    stop_log();
    WIREUP_LOG(api, error, "%d", count());
    EXPECT_EQ(evaluated, 1);
    EXPECT_NE(text("log").find("number 1\n"), std::string::npos);
}

TEST_F(Log, Line_HasTimeProcessAreaAndLevel) {
    ASSERT_STATUS(PMIX_SUCCESS, start("debug"));
    errno = 5;
    WIREUP_LOG(server, debug, "rank %d joined", 4);
    EXPECT_EQ(errno, 5);
    const std::regex line(
        R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z job\.7:3\[\d+\.\d+\] server debug: rank 4 joined\n)");
    EXPECT_TRUE(std::regex_match(text("log"), line)) << text("log");
}

TEST_F(Log, AreasHaveLevelsOfTheirOwn) {
    ASSERT_STATUS(PMIX_SUCCESS, start("error,server=trace,host=off"));
    EXPECT_TRUE(log_on(LogArea::server, LogLevel::trace));
    EXPECT_TRUE(log_on(LogArea::api, LogLevel::error));
    EXPECT_FALSE(log_on(LogArea::api, LogLevel::warn));
    EXPECT_FALSE(log_on(LogArea::host, LogLevel::error));
    ASSERT_STATUS(PMIX_SUCCESS, start("server=info,debug")) << "a later item goes over an earlier one";
    EXPECT_TRUE(log_on(LogArea::server, LogLevel::debug));
}

TEST_F(Log, WhatIsNoSpecChangesNothing) {
    ASSERT_STATUS(PMIX_SUCCESS, start("info"));
    for (const char* bad :
         {"", "loud", "server", "server=", "=info", "cellar=info", "info,", "info@", "info@/tmp/%", "info@/tmp/%q"})
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, start_log(bad, ProcId("job.7", 3))) << bad;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, start_log("info@/nowhere/at/all", ProcId("job.7", 3)));
    WIREUP_LOG(api, info, "still here");
    EXPECT_NE(text("log").find("still here"), std::string::npos);
}

TEST_F(Log, FilesAreTheProcessOwn) {
    ASSERT_STATUS(PMIX_SUCCESS, start_log("info@" + folder_ + "/%n.%r.%p.%%", ProcId("../a b", 12)));
    WIREUP_LOG(api, info, "x");
    const std::string name = folder_ + "/.._a_b.12." + std::to_string(::getpid()) + ".%";
    struct stat what {};
    ASSERT_EQ(::stat(name.c_str(), &what), 0) << name;
    EXPECT_EQ(what.st_mode & 0777, 0600u);
    ASSERT_EQ(::symlink("/dev/null", (folder_ + "/link").c_str()), 0);
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, start("info", "link"));
}

TEST_F(Log, LongLinesAreCut) {
    ASSERT_STATUS(PMIX_SUCCESS, start("info"));
    const std::string endless(100000, 'x');
    WIREUP_LOG(api, info, "%s", endless.c_str());
    log_text(LogArea::api, LogLevel::info, endless);
    const std::string all = text("log");
    EXPECT_LT(all.size(), 5000u);
    EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 2);
}

TEST_F(Log, FramesAreDecodedWhateverTheyHold) {
    ASSERT_STATUS(PMIX_SUCCESS, start("frames=trace"));
    const uint8_t junk[] = {0xff, 0xff, 0xff, 0xff, 1, 2, 3};
    FrameHeader header = FrameHeader::request(4, 9);
    transport::log_frame(7, '<', header, {junk, sizeof junk});
    transport::log_frame(7, '>', FrameHeader::notify(60000), {});
    const std::string all = text("log");
    EXPECT_NE(all.find("frames trace: 7 < fence #9 -> malformed\n"), std::string::npos) << all;
    EXPECT_NE(all.find("7 > command 60000"), std::string::npos) << all;
}

}  // namespace
}  // namespace pmix::common::log_test
