// SPDX-License-Identifier: BSD-3-Clause
// Events kept for handlers that register later, in the order in which they were received.
//
// Owns a ring of the last events, and behind it the pending events: those about jobs which the ring had to drop while
// processes of this node that are their targets had not connected yet. Each is kept until those processes have asked
// for it or have left. Both are bounded by their memory too (kEventCacheBytes). Loop thread only. What can go wrong:
// more pending events than kMaxPendingEvents, or larger ones than there is room for; the oldest are dropped.
#pragma once

#include <cassert>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/limits.h"
#include "common/protocol/proc_set.h"
#include "common/values/value.h"
#include "server/base/member.h"

namespace pmix::server {

struct Event {
    pmix_status_t code = PMIX_SUCCESS;
    common::ProcId source;
    pmix_data_range_t range = PMIX_RANGE_UNDEF;
    common::InfoList infos;
    // What the infos say, read once.
    common::ProcSet targets;  // PMIX_EVENT_CUSTOM_RANGE
    common::ProcSet affected;
    bool non_default = false;
    bool cache = true;
    bool stays_local = false;
    bool of_environment = false;
    uint64_t number = 0;     // rising, see event_clock(); 0: it goes to one process alone
    size_t footprint = 0;    // bytes of memory, about; the cache's, and 0 before it has looked
    bool from_here = false;  // a process of this node notified it in its own name
    // A client's event is for its own user's processes. None: the host's, the library's, or of a user who may do all.
    std::optional<uint32_t> user;
    // The host hands down again what it was given of this user's process: those who had it then do not get it again.
    std::optional<uint32_t> had_by_user;
    bool of_client = false;  // a client or a tool raised it, here or at another node
    // For processes that may know one of these jobs; empty: for all.
    std::vector<std::string> jobs;
};

class EventCache {
  public:
    explicit EventCache(size_t ring) : ring_size_(ring) {}
    EventCache(const EventCache&) = delete;
    EventCache& operator=(const EventCache&) = delete;

    // Would it be kept? One that is too large is not, nor one that asks for that.
    bool takes(Event& event) const {
        if (!event.cache || ring_size_ == 0) return false;
        if (event.footprint == 0) event.footprint = footprint_of(event);
        return event.footprint <= common::kMaxCachedEvent;
    }

    // An event that is not kept stays the caller's. awaited(event) names the processes that are meant by it and have
    // not connected; it is asked when the ring has to let an event about a job go.
    template <class Awaited>
    void add(Event&& event, Awaited awaited) {
        if (!takes(event)) return;
        ring_bytes_ += event.footprint;
        ring_.push_back(std::move(event));
        while (ring_.size() > ring_size_ || ring_bytes_ > common::kEventCacheBytes) {
            Event oldest = std::move(ring_.front());
            ring_.pop_front();
            assert(ring_bytes_ >= oldest.footprint);
            ring_bytes_ -= oldest.footprint;
            if (oldest.of_environment) continue;
            std::vector<MemberId> members = awaited(oldest);
            keep_pending(std::move(oldest), std::move(members));
        }
        assert(ring_.size() <= ring_size_ && ring_bytes_ <= common::kEventCacheBytes);
    }

    // fn(event), oldest first.
    template <class F>
    void for_each(F&& fn) const {
        for (const Pending& pending : pending_) fn(pending.event);
        for (const Event& event : ring_) fn(event);
    }

    // The process got what it is meant by: every event for which got(event) is true is not kept for it any more.
    template <class F>
    void delivered(MemberId member, F&& got) {
        for (Pending& pending : pending_)
            if (got(pending.event)) std::erase(pending.awaited, member);
        drop_unawaited();
    }
    // The process will not come.
    void member_gone(MemberId member);
    // What only a job of this name could want is not for a later one of the same name.
    void namespace_gone(std::string_view name, std::string_view server_nspace);

    size_t size() const noexcept { return pending_.size() + ring_.size(); }
    size_t bytes() const noexcept { return pending_bytes_ + ring_bytes_; }

  private:
    struct Pending {
        Event event;
        std::vector<MemberId> awaited;
    };
    static size_t footprint_of(const Event& event);
    void keep_pending(Event&& event, std::vector<MemberId> awaited);
    void drop_unawaited();
    void recount() noexcept;

    size_t ring_size_;
    std::deque<Event> ring_;
    size_t ring_bytes_ = 0;
    std::deque<Pending> pending_;  // all older than the ring's
    size_t pending_bytes_ = 0;
};

}  // namespace pmix::server
