// SPDX-License-Identifier: BSD-3-Clause
// Ended processes of other nodes, until it is known that their own servers do not tell of them.
//
// A server that still runs announces the end of its processes itself, mostly within milliseconds; one that is lost with
// its node does not. So that nobody is told twice, a process is handed to `lost` only kOwnServerMs after add(). Loop
// thread only. What can go wrong: no memory. The processes stay then, and the next add() goes on with them.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <deque>
#include <functional>
#include <new>
#include <utility>

#include "common/base/ids.h"
#include "server/base/scheduler.h"
#include "transport/deadline.h"

namespace pmix::server {

class FarEnds {
  public:
    static constexpr int64_t kOwnServerMs = 500;

    using Lost = std::function<void(const common::ProcId&)>;
    FarEnds(Scheduler& scheduler, Lost lost) : scheduler_(scheduler), lost_(std::move(lost)) {}

    void add(const common::ProcId& proc) {
        const int64_t due = transport::monotonic_ms() + kOwnServerMs;
        assert(waiting_.empty() || waiting_.back().first <= due);
        waiting_.emplace_back(due, proc);
        if (!armed_) watch(kOwnServerMs);
    }

    void stop() noexcept {
        timer_ = Timer();
        waiting_.clear();
        armed_ = false;
    }

  private:
    void watch(int64_t ms) {
        timer_ = Timer(scheduler_, ms, [this] { expired(); });
        armed_ = true;
    }
    void expired() {
        assert(armed_);
        armed_ = false;
        // Handlers may add more: those come behind.
        const int64_t now = transport::monotonic_ms();
        bool failed = false;
        while (!waiting_.empty() && waiting_.front().first <= now) {
            const common::ProcId proc = std::move(waiting_.front().second);
            waiting_.pop_front();
            try {
                lost_(proc);
            } catch (const std::bad_alloc&) {
                failed = true;
            }
        }
        if (!waiting_.empty() && !armed_) watch(std::max<int64_t>(1, waiting_.front().first - now));
        if (failed) throw std::bad_alloc();
    }

    Scheduler& scheduler_;
    const Lost lost_;
    std::deque<std::pair<int64_t, common::ProcId>> waiting_;  // when it is due; the oldest first
    Timer timer_;
    bool armed_ = false;
};

}  // namespace pmix::server
