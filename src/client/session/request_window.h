// SPDX-License-Identifier: BSD-3-Clause
// How many PMIx_Get_nb a server has in hand at once: the others wait here, in order, encoded, until one has ended.
//
// A server refuses a process that has too many requests open; an honest one that asks for each of 100,000 peers is not
// to notice. Any thread adds, the loop removes. Memory is that of the requests. What can go wrong: memory
// (std::bad_alloc, nothing changed).
#pragma once

#include <cassert>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/limits.h"
#include "common/base/mutex.h"

namespace pmix::client {

class RequestWindow {
  public:
    struct Waiting {
        uint32_t id;
        std::vector<uint8_t> payload;
    };

    // True: send it. False: it waits here.
    bool enter(uint32_t id, common::Bytes payload) {
        common::MutexLock lock(mutex_);
        assert(waiting_.empty() || open_.size() == common::kMaxOpenGets);  // else nobody would send them
        assert(!open_.contains(id));
        if (waiting_.empty() && open_.size() < common::kMaxOpenGets) {
            open_.insert(id);
            return true;
        }
        waiting_.push_back({id, {payload.begin(), payload.end()}});
        return false;
    }

    // A request has ended, in whatever way. The one to send in its place: where it had been sent itself and another
    // waits.
    std::optional<Waiting> ended(uint32_t id) {
        common::MutexLock lock(mutex_);
        auto mine = open_.extract(id);
        if (mine.empty() || waiting_.empty()) return {};
        Waiting next = std::move(waiting_.front());
        waiting_.pop_front();
        mine.value() = next.id;
        [[maybe_unused]] const bool inserted = open_.insert(std::move(mine)).inserted;
        assert(inserted);
        return next;
    }

    // All have ended.
    void clear() noexcept {
        common::MutexLock lock(mutex_);
        open_.clear();
        waiting_.clear();
    }

  private:
    common::Mutex mutex_;
    std::unordered_set<uint32_t> open_ GUARDED_BY(mutex_);
    std::deque<Waiting> waiting_ GUARDED_BY(mutex_);
};

}  // namespace pmix::client
