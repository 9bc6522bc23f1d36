// SPDX-License-Identifier: BSD-3-Clause
// How long a test waits for what must happen: a minute, so that a slow machine is no failure.
//
// Once a minute has passed in vain the program has failed; its later waits take a second, so that it ends before its
// own limit and names the test. Any thread.
#pragma once

#include <atomic>

#include "transport/deadline.h"

namespace pmix::test {

class LongWait {
  public:
    explicit LongWait(int64_t ms = 60'000) : deadline_(transport::Deadline::in_ms(in_vain() ? 1000 : ms)) {}
    transport::Deadline deadline() const noexcept { return deadline_; }
    // True: what was waited for must have happened by now.
    bool over() const {
        if (!deadline_.passed()) return false;
        in_vain() = true;
        return true;
    }

  private:
    static std::atomic<bool>& in_vain() {
        static std::atomic<bool> happened{false};
        return happened;
    }
    const transport::Deadline deadline_;
};

}  // namespace pmix::test
