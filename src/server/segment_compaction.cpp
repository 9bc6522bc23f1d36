// SPDX-License-Identifier: BSD-3-Clause
#include "server/segment_compaction.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>
#include <vector>

#include "common/base/log.h"
#include "transport/connection.h"

namespace pmix::server {

using common::FrameHeader;

namespace {

// After how long is looked whether a peer reads again: at first, and at most. Twice as long each time, because one that
// reads late may not call for hours.
constexpr int64_t kTryAgainMs = 100;
constexpr int64_t kTryAgainAtMostMs = 10'000;

// Segments that a peer which does not read is sent before other frames: each is a descriptor in its socket, and keeps
// what was replaced. What it lacks then, it asks for, or has what is old.
constexpr uint32_t kMostUnread = 4;

// To a peer that does not read, each compaction would send one more descriptor that stays in the socket: none is sent.
// One that reads late asks when it needs the new segment, except in a callback, where it cannot wait for an answer. A
// process with callbacks has a thread that reads, so it is sent the segment once it has read what was sent before, and
// before anything else that is sent to it.
bool reads_now(const Peer& peer) {
    if (peer.reads_late()) return peer.has_read_all();
    const auto connection = peer.connection();
    return connection == nullptr || connection->queued_bytes() == 0;
}

}  // namespace

SegmentCompaction::SegmentCompaction(Scheduler& scheduler, Registry& registry, const Segments& segments,
                                     const Peers& peers, const std::shared_ptr<SelfPeer>& self)
    : scheduler_(scheduler), registry_(registry), segments_(segments), peers_(peers), self_(self) {}

SegmentCompaction::~SegmentCompaction() {
    for (const auto& [serial, peer] : peers_) peer->set_before_next({});
}

// Deferred: the code that has written may still read there.
void SegmentCompaction::compaction_due(const Nspace& nspace) {
    const uint32_t number = nspace.number;
    if (waiting_.count(number) != 0) return;
    waiting_[number] = Timer(scheduler_, 0, [this, number] { renew(number); });
}

void SegmentCompaction::renew(uint32_t number) {
    waiting_.erase(number);
    Nspace* nspace = registry_.find(number);
    if (nspace == nullptr || nspace->data == nullptr || !nspace->data->compaction_due()) return;
    const uint32_t before = nspace->data->instance();
    const uint64_t bytes = nspace->data->bytes();
    auto renewed = nspace->data->renew(registry_.next_segment());
    if (!renewed.ok() || !*renewed) return;
    WIREUP_LOG(server, debug, "a new segment for %s: %llu bytes instead of %llu", nspace->name.c_str(),
               static_cast<unsigned long long>(nspace->data->bytes()), static_cast<unsigned long long>(bytes));
    std::map<uint64_t, uint32_t> left;
    for (const auto& [serial, peer] : peers_) {
        if (!peer->knows_segment(before)) continue;
        if (!reads_now(*peer) || !tell(*peer, *nspace, before)) left.emplace(serial, before);
    }
    if (!left.empty()) {
        Behind& behind = behind_[number];
        std::erase_if(behind.has, [&](const auto& entry) { return peers_.count(entry.first) == 0; });
        for (const auto& [serial, has] : left) {
            const auto [at, first] = behind.has.try_emplace(serial, has);
            const auto& peer = peers_.at(serial);
            if (!first) peer->set_lacks_segment(std::exchange(at->second, has));
            peer->set_before_next([this](Peer& p) { bring_up_to_date(p); });
        }
        catch_up_later(number, kTryAgainMs);
    }
    if (self_ != nullptr) tell(*self_, *nspace, before);
}

void SegmentCompaction::namespace_gone(Nspace& nspace) {
    if (nspace.data == nullptr) return;
    nspace.data->supersede();
    // First: what goes before the next frame to a peer is not the newest segment of this one any more.
    std::map<uint64_t, uint32_t> behind;
    if (const auto at = behind_.find(nspace.number); at != behind_.end()) {
        behind = std::move(at->second.has);
        behind_.erase(at);
    }
    const auto tell_of_end = [&](Peer& peer, uint32_t instance) {
        common::SegmentGoneNotify gone;
        gone.nspace = nspace.name;
        gone.instance = instance;
        auto payload = common::message_bytes(gone);
        peer.set_lacks_segment(instance);
        if (!payload.ok()) return;
        FrameHeader header = FrameHeader::notify(static_cast<uint16_t>(common::Command::segment_gone));
        header.payload = static_cast<uint32_t>(payload->size());
        peer.send(header, *payload, {});
    };
    const uint32_t newest = nspace.data->instance();
    for (const auto& [serial, peer] : peers_) {
        if (peer->knows_segment(newest)) {
            tell_of_end(*peer, newest);
        } else if (const auto older = behind.find(serial); older != behind.end()) {
            tell_of_end(*peer, older->second);
        }
    }
    // The own process maps what it likes.
    tell_of_end(*self_, newest);
}

// Sends, so nothing else is to be done before the peer's next frame meanwhile. Where there is no memory for it, or too
// much is unread, the timer tries again.
void SegmentCompaction::bring_up_to_date(Peer& peer) {
    if (peer.has_read_all()) peer.set_unread_segments(0);
    bool all = true;
    for (auto& [number, behind] : behind_) {
        const auto has = behind.has.find(peer.serial());
        Nspace* nspace = registry_.find(number);
        if (has == behind.has.end() || nspace == nullptr || nspace->data == nullptr) continue;
        if (peer.unread_segments() >= kMostUnread || !tell(peer, *nspace, has->second)) {
            all = false;
            continue;
        }
        peer.set_unread_segments(peer.unread_segments() + 1);
        assert(peer.unread_segments() <= kMostUnread);
        behind.has.erase(has);
    }
    if (!all) peer.set_before_next([this](Peer& p) { bring_up_to_date(p); });
}

void SegmentCompaction::catch_up_later(uint32_t number, int64_t after_ms) {
    behind_[number].again = Timer(scheduler_, after_ms, [this, number, after_ms] { catch_up(number, after_ms); });
}

void SegmentCompaction::catch_up(uint32_t number, int64_t waited_ms) {
    const auto at = behind_.find(number);
    assert(at != behind_.end());  // the timer goes with it
    Nspace* nspace = registry_.find(number);
    if (nspace == nullptr || nspace->data == nullptr) {
        behind_.erase(at);
        return;
    }
    std::vector<std::shared_ptr<Peer>> caught_up;
    std::erase_if(at->second.has, [&](const auto& entry) {
        const auto peer = peers_.find(entry.first);
        if (peer != peers_.end() && reads_now(*peer->second)) caught_up.push_back(peer->second);
        return peer == peers_.end();
    });
    for (const auto& peer : caught_up) {
        peer->set_before_next({});
        bring_up_to_date(*peer);
    }
    if (at->second.has.empty()) {
        behind_.erase(at);
    } else {
        catch_up_later(number, std::min(2 * waited_ms, kTryAgainAtMostMs));
    }
}

// False: no memory, and the peer still counts as one that has the old segment alone.
bool SegmentCompaction::tell(Peer& peer, Nspace& nspace, uint32_t before) noexcept {
    const uint32_t newest = nspace.data->instance();
    // It may have been given the new one with an answer.
    const bool given = peer.knows_segment(newest);
    try {
        if (!given && peer.knows_segment(before)) {
            common::AttachNspaceReply message;
            std::vector<int> descriptors;
            segments_.add(peer, nspace, message.segments, descriptors);
            auto payload = common::message_bytes(message);
            if (payload.ok()) {
                FrameHeader header = FrameHeader::notify(static_cast<uint16_t>(common::Command::attach_nspace));
                header.payload = static_cast<uint32_t>(payload->size());
                peer.send(header, *payload, descriptors);
            } else {
                peer.close();  // it would go on reading what nobody writes
            }
        }
        peer.set_lacks_segment(before);
        return true;
    } catch (const std::bad_alloc&) {
        if (!given) peer.set_lacks_segment(newest);
        return false;
    }
}

}  // namespace pmix::server
