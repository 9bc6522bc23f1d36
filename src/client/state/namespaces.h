// SPDX-License-Identifier: BSD-3-Clause
// The mapped segments of this process, by namespace.
//
// Owns the readers. find() and own() from any thread without a lock, inside a Reading: what they answer is good until
// that ends. All else from any thread under one mutex. A segment whose namespace has ended, or has a new instance, is
// removed from the list at once and unmapped by reclaim() when no thread reads in it any more; the pages of borrowed
// values stay until the end. What can go wrong: a descriptor that is no segment is refused with a status and nothing
// changes.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/state/read_guard.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/protocol/messages.h"
#include "dstore/reader.h"
#include "transport/descriptor.h"

namespace pmix::client {

class Namespaces {
  public:
    explicit Namespaces(std::string own) : own_name_(std::move(own)) { GracePeriod::prepare(); }
    Namespaces(const Namespaces&) = delete;
    Namespaces& operator=(const Namespaces&) = delete;

    // Null: not mapped.
    const dstore::Reader* find(std::string_view name) const noexcept;
    // The segment of the process's own namespace.
    const dstore::Reader* own() const noexcept { return own_.load(std::memory_order_acquire); }

    // Takes the descriptor. A higher instance takes the place of what is there, in one step for readers; the same one
    // or a lower one changes nothing (replies may be read out of order), and one that has ended is not taken.
    pmix_status_t add(std::string_view name, uint64_t instance, transport::Descriptor descriptor);
    // The segments of a message: as many descriptors as the list announces, in order, or none where the sender had no
    // room for them. A segment whose descriptor is empty (this process had no room for it) or was not sent is lacked
    // from then on; that is no failure.
    pmix_status_t add_all(const common::SegmentList& segments, std::vector<transport::Descriptor>&& descriptors);
    // This instance of the namespace has ended: it cannot be found any more.
    void remove(std::string_view name, uint64_t instance);
    // The same of what is mapped, unless its segment is the newest there was: the server does not know the name.
    void remove_superseded(std::string_view name);

    // The instance that takes the place of what is mapped could not be had: nothing is found any more, and the
    // namespace is lacked until an instance of this number or a higher one is added.
    void lose(std::string_view name, uint64_t instance);
    // There is a segment of this namespace that the server has sent and this process could not take: it is to be asked
    // for again.
    bool lacks(std::string_view name) const noexcept;

    // Another server's segments take the place of all that is mapped; it numbers them in its own way.
    void remove_all();

    // Something waits to be unmapped.
    bool has_removed() const noexcept { return has_removed_.load(std::memory_order_acquire); }
    // Unmaps segments in which no thread reads. Then calls borrowed_ranges() for the ranges of values to which callers
    // have pointers. False: a reader is still inside, so ask again.
    template <class F>
    bool reclaim(F&& borrowed_ranges) {
        common::MutexLock lock(mutex_);
        for (size_t i = removed_.size(); i-- > 0;) {
            if (!removed_[i]->grace_period.over()) continue;
            // The readers have left only now: every value that they borrowed is in the list.
            unmap(i, borrowed_ranges());
        }
        has_removed_.store(!removed_.empty(), std::memory_order_release);
        return removed_.empty();
    }

  private:
    struct Entry {
        std::string name;
        uint64_t instance = 0;
        std::unique_ptr<dstore::Reader> reader;
        std::atomic<const Entry*> next{nullptr};
        GracePeriod grace_period;  // since it was removed
    };

    void note_ended(uint64_t instance) noexcept REQUIRES(mutex_);
    void take_out(size_t at) REQUIRES(mutex_);
    void unmap(size_t at, std::span<const common::Bytes> borrowed) REQUIRES(mutex_);
    bool has_ended(uint64_t instance) const noexcept REQUIRES(mutex_);

    struct Lacked {
        std::string name;
        uint64_t instance = 0;
    };
    std::vector<Lacked>::iterator find_lacked(std::string_view name) REQUIRES(mutex_);

    const std::string own_name_;
    std::atomic<const Entry*> head_{nullptr};
    std::atomic<const dstore::Reader*> own_{nullptr};
    std::atomic<bool> has_removed_{false};
    std::atomic<bool> lacks_any_{false};
    mutable common::Mutex mutex_;
    std::vector<Lacked> lacked_ GUARDED_BY(mutex_);
    std::vector<std::unique_ptr<Entry>> entries_ GUARDED_BY(mutex_);
    std::vector<std::unique_ptr<Entry>> removed_ GUARDED_BY(mutex_);
    // What is left of segments with borrowed values in them.
    std::vector<std::unique_ptr<dstore::Reader>> remains_ GUARDED_BY(mutex_);
    // The last instances that ended: a reply that hands one out may be read after the notice of its end. 0: none.
    std::array<uint64_t, 64> ended_ GUARDED_BY(mutex_) = {};
    size_t next_ended_ GUARDED_BY(mutex_) = 0;
};

}  // namespace pmix::client
