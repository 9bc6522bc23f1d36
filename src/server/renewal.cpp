#include "server/renewal.h"

#include <algorithm>

#include "common/log.h"
#include "transport/connection.h"

namespace pmix::server {

using common::FrameHeader;

namespace {

// A peer that does not read holds a descriptor for each renewal that is on its way to it: it gets no second one.
constexpr int64_t kTryAgainMs = 100;

bool lags(const Peer& peer) {
    const auto connection = peer.connection();
    return connection != nullptr && connection->queued_bytes() > 0;
}

}  // namespace

Renewal::Renewal(Scheduler& scheduler, Registry& registry, const Segments& segments, const Peers& peers,
                 const std::shared_ptr<SelfPeer>& self)
    : scheduler_(scheduler), registry_(registry), segments_(segments), peers_(peers), self_(self) {
    registry_.when_renewal_is_due([this](uint32_t number) { due(number, 0); });
}

// Not now: whoever has written is not done with what it reads there.
void Renewal::due(uint32_t number, int64_t ms) {
    if (waiting_.count(number) != 0) return;
    waiting_[number] = Timer(scheduler_, ms, [this, number] { renew(number); });
}

void Renewal::renew(uint32_t number) {
    waiting_.erase(number);
    Nspace* nspace = registry_.find(number);
    if (nspace == nullptr || nspace->data == nullptr || !nspace->data->renewal_due()) return;
    const uint32_t before = nspace->data->instance();
    const bool wait = std::any_of(peers_.begin(), peers_.end(), [&](const auto& entry) {
        return entry.second->knows_segment(before) && lags(*entry.second);
    });
    if (wait) return due(number, kTryAgainMs);
    const uint64_t bytes = nspace->data->bytes();
    auto renewed = nspace->data->renew(registry_.next_segment());
    if (!renewed.ok() || !*renewed) return;
    WIREUP_LOG(server, debug, "a new segment for %s: %llu bytes instead of %llu", nspace->name.c_str(),
               static_cast<unsigned long long>(nspace->data->bytes()), static_cast<unsigned long long>(bytes));
    for (const auto& [serial, peer] : peers_) tell(*peer, *nspace, before);
    if (self_ != nullptr) tell(*self_, *nspace, before);
}

void Renewal::tell(Peer& peer, Nspace& nspace, uint32_t before) {
    if (!peer.knows_segment(before)) return;
    peer.set_lacks_segment(before);
    common::AttachNspaceReply message;
    std::vector<int> descriptors;
    segments_.add(peer, nspace, message.segments, descriptors);
    auto payload = common::message_bytes(message);
    if (!payload.ok()) return peer.close();  // it would go on reading what nobody writes
    FrameHeader header = FrameHeader::notify(static_cast<uint16_t>(common::Command::attach_nspace));
    header.payload = static_cast<uint32_t>(payload->size());
    peer.send(header, *payload, descriptors);
}

}  // namespace pmix::server
