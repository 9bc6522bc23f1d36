// SPDX-License-Identifier: BSD-3-Clause
// Which processes' data may be older than what their server has: the server of OpenPMIx's protocol keeps what others
// put, and says nothing when they put something else. After an exchange (a fence, connect, a group) a value that was
// fetched before it is asked for once more.
//
// Shared by a Shadow, which fetches, and the threads that look up values. What can go wrong: no memory
// (std::bad_alloc); then nothing has changed.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/base/ids.h"
#include "common/base/mutex.h"

namespace pmix::client {

class Freshness {
  public:
    // The exchanges so far. What is asked for now is as new as that.
    uint64_t exchanges() const noexcept { return exchanges_.load(std::memory_order_acquire); }
    void note_exchange() noexcept { exchanges_.fetch_add(1, std::memory_order_acq_rel); }
    // The data of this process is here, as it was after so many exchanges.
    void note_fetched(const common::ProcId& proc, uint64_t exchanges);
    void forget(std::string_view nspace) noexcept;

    // Any thread. Both are false where nothing of the process has been fetched.
    bool may_be_old(std::string_view nspace, common::Rank rank) const noexcept;
    bool is_new(std::string_view nspace, common::Rank rank) const noexcept;

  private:
    std::optional<uint64_t> fetched_at(std::string_view nspace, common::Rank rank) const noexcept;

    std::atomic<uint64_t> exchanges_{0};
    mutable common::Mutex mutex_;
    std::map<std::string, std::unordered_map<common::Rank, uint64_t>, std::less<>> fetched_ GUARDED_BY(mutex_);
};

}  // namespace pmix::client
