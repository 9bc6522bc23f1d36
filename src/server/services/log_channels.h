// SPDX-License-Identifier: BSD-3-Clause
// The contents of a log request, and writing it: channels, time, tags.
//
// Values and free functions, no state. read_log_task on the loop; write_log may block, so it is for blocking tasks.
// What can go wrong: see pmix_log.h. A stream that takes nothing for some seconds is given up (PMIX_ERR_TIMEOUT).
#pragma once

#include <pmix_common.h>
#include <time.h>

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/values/info_view.h"
#include "server/base/blocking_tasks.h"
#include "transport/deadline.h"

namespace pmix::server {

enum class LogChannel : uint8_t { out, error, local_syslog, global_syslog, any_syslog, file, unknown };

struct LogEntry {
    LogChannel channel = LogChannel::unknown;
    std::string text;
};

// One request, as the worker thread writes it.
struct LogTask {
    std::vector<LogEntry> entries;
    common::ProcId source;
    Rights user;
    std::string file;  // PMIX_LOG_FILE
    int priority = 3;  // of syslog: error
    time_t time = 0;
    bool generate_time = false;
    bool show_time = false;
    bool tag = false;
    bool xml = false;
    bool once = false;
    bool gateway = false;
};

// What all requests of a server share about its streams. The worker thread, and the loop, which sets the last.
struct LogStreams {
    std::atomic<bool> stuck{false};         // a stream has not been read for a while: nobody waits for it again
    std::atomic<bool> syslog_stuck{false};  // the same of the system's log
    std::atomic<bool> stopping{false};      // what is not written yet stays unwritten
};

// Where the bytes go: a seam for tests. PMIX_ERR_TIMEOUT: the stream did not take them before the deadline.
struct LogSinks {
    pmix_status_t (*stream)(int fd, std::string_view text, transport::Deadline deadline);
    pmix_status_t (*syslog)(int priority, const char* text, transport::Deadline deadline);
};
LogSinks system_log_sinks() noexcept;

// `log` has source and user; trusted: the request may name another source. PMIX_ERR_BAD_PARAM: nothing to log, or an
// entry or a directive of a wrong type.
pmix_status_t read_log_task(common::InfoView data, common::InfoView directives, bool trusted, LogTask& log);
// PMIX_ERR_NOT_SUPPORTED: a required directive that is none of ours.
pmix_status_t check_log_directives(common::InfoView directives) noexcept;
// All entries together wait for streams for a few seconds at most. PMIX_ERR_LOST_CONNECTION: the server stops.
// as_user: this thread has the rights of log.user, so a file may be written.
pmix_status_t write_log(const LogTask& log, const LogSinks& sinks, LogStreams& streams, bool as_user);

}  // namespace pmix::server
