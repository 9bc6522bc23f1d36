// SPDX-License-Identifier: BSD-3-Clause
// The limit of a call's time, which all the waits of the call share. A value, any thread.
#pragma once

#include <cstdint>

#include "transport/deadline.h"

namespace pmix::client {

class TimeLimit {
  public:
    // 0: none.
    explicit TimeLimit(int seconds) noexcept
        : end_(seconds <= 0 ? transport::Deadline::never() : transport::Deadline::in_ms(int64_t{seconds} * 1000)) {}
    bool over() const noexcept { return end_.passed(); }
    // What is left for the next wait, in whole seconds and at least one; 0: no limit.
    int left_s() const noexcept {
        if (end_.is_never()) return 0;
        const int64_t seconds = (end_.remaining_ns() + kSecond - 1) / kSecond;
        return seconds < 1 ? 1 : static_cast<int>(seconds);
    }

  private:
    static constexpr int64_t kSecond = 1'000'000'000;
    transport::Deadline end_;
};

}  // namespace pmix::client
