// SPDX-License-Identifier: BSD-3-Clause
// Writing a log to streams that nobody reads: how long it waits, and how often.
#include "server/services/log_channels.h"

#include <gtest/gtest.h>
#include <syslog.h>
#include <unistd.h>

#include "support/status.h"

namespace pmix::server::log_channels_test {
namespace {

// A stream that is full, and how long each write was ready to wait for it.
struct Full {
    static inline std::vector<int> patience;
    static inline bool takes = false;
    static pmix_status_t stream(int, std::string_view, transport::Deadline deadline) {
        patience.push_back(deadline.poll_ms());
        return takes ? PMIX_SUCCESS : PMIX_ERR_TIMEOUT;
    }
    static pmix_status_t syslog(int, const char*, transport::Deadline deadline) { return stream(-1, {}, deadline); }
    static constexpr LogSinks sinks{&stream, &syslog};
    Full() {
        patience.clear();
        takes = false;
    }
};

LogTask log_of(size_t n) {
    LogTask log;
    log.source = common::ProcId("job", 0);
    log.entries.assign(n, LogEntry{LogChannel::error, "text"});
    return log;
}

TEST(LogChannels, AStreamThatNobodyReadsIsWaitedForOnce) {
    Full full;
    LogStreams streams;
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, write_log(log_of(1000), Full::sinks, streams, true));
    ASSERT_EQ(1000u, Full::patience.size());
    EXPECT_GT(Full::patience.front(), 1000);
    for (size_t i = 1; i < Full::patience.size(); ++i) ASSERT_EQ(0, Full::patience[i]) << i;
    // Nor is it by the next request, until it takes something again.
    Full::patience.clear();
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, write_log(log_of(2), Full::sinks, streams, true));
    EXPECT_EQ((std::vector<int>{0, 0}), Full::patience);
    Full::takes = true;
    EXPECT_STATUS(PMIX_SUCCESS, write_log(log_of(1), Full::sinks, streams, true));
    Full::patience.clear();
    EXPECT_STATUS(PMIX_SUCCESS, write_log(log_of(1), Full::sinks, streams, true));
    EXPECT_GT(Full::patience.front(), 1000);
}

// A log of the system that does not read holds up nobody twice, and no stream at all.
TEST(LogChannels, ASystemLogThatDoesNotReadIsWaitedForOnceAndByItselfAlone) {
    Full full;
    LogStreams streams;
    LogTask log = log_of(3);
    for (LogEntry& entry : log.entries) entry.channel = LogChannel::any_syslog;
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, write_log(log, Full::sinks, streams, true));
    ASSERT_EQ(3u, Full::patience.size());
    EXPECT_GT(Full::patience[0], 1000);
    EXPECT_EQ(0, Full::patience[1]);
    EXPECT_EQ(0, Full::patience[2]);
    Full::patience.clear();
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, write_log(log_of(1), Full::sinks, streams, true));
    EXPECT_GT(Full::patience.front(), 1000) << "stderr may be read all the same";
    Full::takes = true;
    log.entries.resize(1);
    EXPECT_STATUS(PMIX_SUCCESS, write_log(log, Full::sinks, streams, true));
    Full::patience.clear();
    Full::takes = false;
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, write_log(log, Full::sinks, streams, true));
    EXPECT_GT(Full::patience.front(), 1000) << "it had read again";
}

// proves: PMIx_Log server PMIX_LOG_TAG_OUTPUT
TEST(LogChannels, EachLineOfATextHasTheTag) {
    static std::string written;
    written.clear();
    const LogSinks sinks{[](int, std::string_view text, transport::Deadline) {
                             written += text;
                             return PMIX_SUCCESS;
                         },
                         &Full::syslog};
    LogStreams streams;
    LogTask log = log_of(1);
    log.tag = true;
    log.entries[0].text = "first\n[job,1]<stderr>: of another\n\n";
    EXPECT_STATUS(PMIX_SUCCESS, write_log(log, sinks, streams, true));
    EXPECT_EQ("[job,0]<stderr>: first\n[job,0]<stderr>: [job,1]<stderr>: of another\n[job,0]<stderr>: \n", written);
    log.tag = false;
    log.entries[0].text = "";
    written.clear();
    EXPECT_STATUS(PMIX_SUCCESS, write_log(log, sinks, streams, true));
    EXPECT_EQ("\n", written);
}

TEST(LogChannels, AllEntriesTogetherHaveOneLimitOfTime) {
    Full full;
    Full::takes = true;
    LogStreams streams;
    static int64_t first;
    first = 0;
    const LogSinks sinks{[](int, std::string_view, transport::Deadline deadline) {
                             if (first == 0) first = deadline.ns();
                             return deadline.ns() == first ? PMIX_SUCCESS : PMIX_ERROR;
                         },
                         &Full::syslog};
    EXPECT_STATUS(PMIX_SUCCESS, write_log(log_of(3), sinks, streams, true));
}

TEST(LogChannels, WhatWaitsWhenTheServerStopsStaysUnwritten) {
    Full full;
    LogStreams streams;
    streams.stopping = true;
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, write_log(log_of(3), Full::sinks, streams, true));
    EXPECT_TRUE(Full::patience.empty());
}

// The system's own: a full pipe.
TEST(LogChannels, AFullPipeIsGivenUpAtTheDeadline) {
    int ends[2];
    ASSERT_EQ(0, ::pipe(ends));
    const std::string much(1 << 20, 'x');
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, system_log_sinks().stream(ends[1], much, transport::Deadline::in_ms(0)));
    ::close(ends[0]);
    ::close(ends[1]);
}

}  // namespace
}  // namespace pmix::server::log_channels_test
