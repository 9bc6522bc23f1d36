// The mapped segments of this process, by namespace.
//
// Owns the readers. find() from any thread without a lock; adopt() from any thread under one mutex. Entries are only
// added, in front: a reader of an earlier life of a name stays until the end, because a thread may be inside it. What
// can go wrong: a descriptor that is no segment is refused with a status and nothing changes.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/messages.h"
#include "common/mutex.h"
#include "common/status.h"
#include "dstore/reader.h"
#include "transport/descriptor.h"

namespace pmix::client {

class Namespaces {
  public:
    struct Entry {
        std::string name;
        uint64_t instance = 0;
        std::unique_ptr<dstore::Reader> reader;
        const Entry* next = nullptr;
    };

    Namespaces() = default;
    Namespaces(const Namespaces&) = delete;
    Namespaces& operator=(const Namespaces&) = delete;

    // The newest life of the name, or null.
    const dstore::Reader* find(std::string_view name) const noexcept;
    // For those who look at all of them.
    const Entry* first() const noexcept { return head_.load(std::memory_order_acquire); }

    // Takes the descriptor. The same instance again changes nothing.
    pmix_status_t adopt(std::string_view name, uint64_t instance, transport::Descriptor descriptor);
    // The segments of a reply: as many descriptors as the list says, in order.
    pmix_status_t adopt_all(const common::SegmentList& segments, std::vector<transport::Descriptor>&& descriptors);
    // The namespace has ended: its data reads as not found from now on.
    void retire(std::string_view name) noexcept;

  private:
    std::atomic<const Entry*> head_{nullptr};
    common::Mutex mutex_;
    std::vector<std::unique_ptr<Entry>> entries_ GUARDED_BY(mutex_);
};

}  // namespace pmix::client
