// SPDX-License-Identifier: BSD-3-Clause
// New segments for namespaces whose values were replaced again and again: when much of a segment is superseded, what
// counts goes into a new one, and everybody who has the old one is given it.
//
// Borrows registry and peers. Loop thread only. A compaction runs between frames: what was answered before is in the
// old segment too, what is answered later follows the new one on the same ordered connection. A client takes a segment
// of a higher instance and none of a lower one, so a reply that it reads late does not lead it back. A peer that does
// not read holds up nobody: it keeps the old segment, and gets the new one before the next frame that is sent to it (an
// event may tell of what is in the new one), or when it has read what was sent before. One that reads late
// (Peer::reads_late) has at most one new segment unread, or a few before such frames, and where it sees that there is a
// newer one it asks, if it may wait. The segment of a namespace that has ended is marked like one that has been
// replaced: a process that asks is told that there is none. What can go wrong: nothing that anybody notices; without
// memory the old segment stays and grows.
#pragma once

#include <map>
#include <memory>

#include "server/base/lifecycle.h"
#include "server/base/peer.h"
#include "server/base/scheduler.h"
#include "server/namespaces/registry.h"
#include "server/namespaces/segments.h"

namespace pmix::server {

class SegmentCompaction final : public LifecycleObserver {
  public:
    using Peers = std::map<uint64_t, std::shared_ptr<Peer>>;

    SegmentCompaction(Scheduler& scheduler, Registry& registry, const Segments& segments, const Peers& peers,
                      const std::shared_ptr<SelfPeer>& self);
    ~SegmentCompaction();
    SegmentCompaction(const SegmentCompaction&) = delete;
    SegmentCompaction& operator=(const SegmentCompaction&) = delete;

    // LifecycleObserver
    void compaction_due(const Nspace& nspace) override;
    // Every process that has its segment is to unmap it.
    void namespace_gone(Nspace& nspace) override;

  private:
    void renew(uint32_t number);
    bool tell(Peer& peer, Nspace& nspace, uint32_t before) noexcept;
    // Sends the peer the newest segments in place of those that it still has.
    void bring_up_to_date(Peer& peer);
    void catch_up(uint32_t number, int64_t waited_ms);
    void catch_up_later(uint32_t number, int64_t after_ms);

    Scheduler& scheduler_;
    Registry& registry_;
    const Segments& segments_;
    const Peers& peers_;
    const std::shared_ptr<SelfPeer>& self_;
    std::map<uint32_t, Timer> waiting_;  // by the namespace's number
    struct Behind {
        std::map<uint64_t, uint32_t> has;  // which segment, by Peer::serial()
        Timer again;
    };
    std::map<uint32_t, Behind> behind_;  // likewise
};

}  // namespace pmix::server
