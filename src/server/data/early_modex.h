// SPDX-License-Identifier: BSD-3-Clause
// A host's direct modex of a job that it has not registered here yet: nodes register a job at different times, and the
// request of a process of a quick one may be received before the registration of a slow one.
//
// Owned by Get, with its promises; loop thread only. Each request is handed back once: with the registration of its
// job, after kEarlyModexMs, or at the end. What can go wrong: kMostEarly requests wait already, or a job of that name
// has ended here. Then nothing is held, for no registration is to be expected.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/bytes.h"
#include "common/base/callback.h"
#include "common/base/ids.h"
#include "common/base/status.h"
#include "server/base/scheduler.h"
#include "transport/deadline.h"

namespace pmix::server {

inline constexpr int64_t kEarlyModexMs = 30'000;
inline constexpr size_t kMostEarly = 4096;

class EarlyModex {
  public:
    using Respond = common::Callback<void(pmix_status_t, common::Bytes)>;
    struct Held {
        common::ProcId proc;
        Respond respond;
        Timer timer;
        uint64_t id = 0;
        int64_t began_ms = transport::monotonic_ms();
    };

    // late: what becomes of a request whose job is not registered in time.
    EarlyModex(Scheduler& scheduler, std::function<void(Respond)> late)
        : scheduler_(scheduler), late_(std::move(late)) {}

    // False: it is not held, and respond is the caller's still.
    bool hold(const common::ProcId& proc, Respond& respond);
    // Those for a job that is registered now.
    std::list<Held> take(std::string_view nspace);
    void ended(std::string_view nspace);
    std::list<Held> take_all() noexcept;
    size_t size() const noexcept { return held_.size(); }
    const std::list<Held>& held() const noexcept { return held_; }
    // For tests.
    void set_limit(int64_t ms) noexcept { limit_ms_ = ms; }

  private:
    void expire(uint64_t id);

    Scheduler& scheduler_;
    std::function<void(Respond)> late_;
    std::list<Held> held_;
    std::deque<std::string> ended_;  // jobs, the newest last
    uint64_t next_ = 1;
    int64_t limit_ms_ = kEarlyModexMs;
};

}  // namespace pmix::server
