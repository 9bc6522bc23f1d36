// SPDX-License-Identifier: BSD-3-Clause
// A bound on lines of the log that anybody may cause, as many as they like: by connecting to a server, for example.
//
// At most kLines in kSeconds; where some were left out, the next is preceded by one with their number. One thread at a
// time.
#pragma once

#include <chrono>
#include <cstdint>

#include "common/base/log.h"

namespace pmix::common {

class LogLimit {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr uint64_t kLines = 20;
    static constexpr int kSeconds = 10;

    // May one more be written? Then those that were left out before it have been told.
    bool admit(LogArea area, LogLevel level, Clock::time_point now = Clock::now()) noexcept {
        if (now >= until_) {
            until_ = now + std::chrono::seconds(kSeconds);
            lines_ = 0;
        }
        if (lines_ == kLines) {
            ++left_out_;
            return false;
        }
        ++lines_;
        if (left_out_ != 0)
            log_line(area, level, "%llu lines like the next one were left out",
                     static_cast<unsigned long long>(left_out_));
        left_out_ = 0;
        return true;
    }

  private:
    Clock::time_point until_{};
    uint64_t lines_ = 0;  // before that
    uint64_t left_out_ = 0;
};

}  // namespace pmix::common

// WIREUP_LOG within a limit.
#define WIREUP_LOG_WITHIN(limit, area, level, ...)                                                           \
    do {                                                                                                     \
        if (pmix::common::log_on(pmix::common::LogArea::area, pmix::common::LogLevel::level) &&              \
            (limit).admit(pmix::common::LogArea::area, pmix::common::LogLevel::level)) [[unlikely]]          \
            pmix::common::log_line(pmix::common::LogArea::area, pmix::common::LogLevel::level, __VA_ARGS__); \
    } while (0)
