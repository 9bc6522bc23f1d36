// SPDX-License-Identifier: BSD-3-Clause
// Commits of this process that its server has refused: which ones, with which status, and whether the user knows.
//
// A commit is a message without an answer; only a refusal comes back. It is noted by whichever thread reads it, before
// any answer that the server sent later. The first Commit, Fence or Get that ends after that reports it, and the next
// Commit stages again what was refused. Any thread; nothing can go wrong.
#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <optional>

#include "common/base/mutex.h"
#include "common/base/status.h"

namespace pmix::client {

class CommitRefusals {
  public:
    void note(uint64_t commit, pmix_status_t status) noexcept {
        if (commit == 0 || common::succeeded(status)) return;
        common::MutexLock lock(mutex_);
        add(commit);
        status_ = status;
        unreported_ = true;
    }

    // It could not even be sent, and the caller of Commit is told so.
    void not_sent(uint64_t commit) noexcept {
        common::MutexLock lock(mutex_);
        add(commit);
    }

    // The status of a call whose own result is `rc`: instead of success, a refusal that has not been reported yet.
    pmix_status_t reported_by(pmix_status_t rc) noexcept {
        if (!any_.load(std::memory_order_acquire)) return rc;
        common::MutexLock lock(mutex_);
        if (!unreported_ || (!common::succeeded(rc) && rc != status_)) return rc;
        unreported_ = false;
        return status_;
    }

    // Refused commits whose values have not been staged again, by number.
    struct Range {
        uint64_t first, last;
    };
    std::optional<Range> to_stage_again() noexcept {
        if (!any_.load(std::memory_order_acquire)) return {};
        common::MutexLock lock(mutex_);
        if (first_ == 0) return {};
        return Range{first_, last_};
    }
    // They have been. What was refused meanwhile is still to be.
    void staged_again(const Range& range) noexcept {
        common::MutexLock lock(mutex_);
        assert(range.first != 0 && range.first <= range.last && range.last <= last_);
        if (first_ < range.first) return;
        if (last_ > range.last) {
            first_ = range.last + 1;
        } else {
            first_ = last_ = 0;
        }
    }

  private:
    void add(uint64_t commit) noexcept REQUIRES(mutex_) {
        first_ = first_ == 0 ? commit : std::min(first_, commit);
        last_ = std::max(last_, commit);
        assert(first_ != 0 && first_ <= last_);
        any_.store(true, std::memory_order_release);
    }

    std::atomic<bool> any_{false};
    common::Mutex mutex_;
    uint64_t first_ GUARDED_BY(mutex_) = 0;  // 0: none
    uint64_t last_ GUARDED_BY(mutex_) = 0;
    pmix_status_t status_ GUARDED_BY(mutex_) = PMIX_SUCCESS;
    bool unreported_ GUARDED_BY(mutex_) = false;
};

}  // namespace pmix::client
