// SPDX-License-Identifier: BSD-3-Clause
// Which processes' data may be older than what their server has: the server of OpenPMIx's protocol keeps what others
// put, and says nothing when they put something else. After an exchange (a fence, connect, a group) a value that was
// fetched before it is asked for once more.
//
// Shared by a Shadow, which fetches, on one thread, and the threads that look up values. Those take no lock for
// processes of the own job: a Get of what is here is a matter of 100 ns. What can go wrong: no memory (std::bad_alloc);
// then nothing has changed.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/base/ids.h"
#include "common/base/mutex.h"

namespace pmix::client {

class Freshness {
  public:
    // Before any other thread sees this object.
    void set_own(std::string_view nspace) { own_ = nspace; }

    // The exchanges so far. What is asked for now is as new as that.
    uint64_t exchanges() const noexcept { return exchanges_.load(std::memory_order_acquire); }
    void note_exchange() noexcept { exchanges_.fetch_add(1, std::memory_order_acq_rel); }
    // The data of this process is here, as it was after so many exchanges. The Shadow's thread.
    void note_fetched(const common::ProcId& proc, uint64_t exchanges);
    // Not for the own job.
    void forget(std::string_view nspace) noexcept;

    // Any thread. Both are false where nothing of the process has been fetched.
    bool may_be_old(std::string_view nspace, common::Rank rank) const noexcept;
    bool is_new(std::string_view nspace, common::Rank rank) const noexcept;

  private:
    // Of the own job, by rank. A larger one takes the place of one that is too small, which stays for threads that read
    // it.
    struct Table {
        explicit Table(uint32_t ranks) : capacity(ranks), at(new std::atomic<uint64_t>[ranks]()) {}
        const uint32_t capacity;
        const std::unique_ptr<std::atomic<uint64_t>[]> at;  // one more than the exchanges; 0: not fetched
    };
    static constexpr uint32_t kLeastInTable = 64;
    static constexpr uint32_t kMostInTable = 1u << 16;  // processes of higher rank are in fetched_

    std::optional<uint64_t> fetched_at(std::string_view nspace, common::Rank rank) const noexcept;
    bool is_in_table(std::string_view nspace, common::Rank rank) const noexcept {
        return rank < kMostInTable && nspace == own_;
    }
    std::atomic<uint64_t>& slot(common::Rank rank);

    std::string own_;
    std::atomic<uint64_t> exchanges_{0};
    std::atomic<const Table*> table_{nullptr};
    std::vector<std::unique_ptr<const Table>> tables_;  // the Shadow's thread; the last is the one that counts
    mutable common::Mutex mutex_;
    std::map<std::string, std::unordered_map<common::Rank, uint64_t>, std::less<>> fetched_ GUARDED_BY(mutex_);
};

}  // namespace pmix::client
