// SPDX-License-Identifier: BSD-3-Clause
// Which peers may map which namespace's segment, and what of it must still be sent.
//
// Borrowed: the registry. Loop thread only. A segment goes to processes of the user that the namespace belongs to, to
// root and to the server's own user. Where neither the host nor the data from its own node says whose a namespace is,
// it goes to the users that the host has fetched it for; one that the host has registered also to the only user that
// this server serves.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/protocol/frame.h"
#include "common/protocol/messages.h"
#include "server/base/peer.h"
#include "server/namespaces/registry.h"

namespace pmix::server {

class Segments {
  public:
    // own: the server's own namespace and user; that namespace belongs to no user that it serves.
    Segments(Registry& registry, std::string own_nspace, uint32_t own_uid) noexcept
        : registry_(registry), own_nspace_(std::move(own_nspace)), own_uid_(own_uid) {}

    bool may_map(const Peer& peer, const Nspace& nspace) const {
        uint32_t uid = peer.credentials().uid;
        if (peer.kind() == PeerKind::self || uid == own_uid_ || uid == 0) return true;
        if (peer.id().nspace == nspace.name) return true;  // it is a registered rank of it
        if (nspace.owner) return *nspace.owner == uid;
        if (nspace.readers.count(uid) != 0) return true;
        if (nspace.is_remote) return false;
        for (const auto& [name, other] : registry_.nspaces())
            if (other->owner && *other->owner != uid && name != own_nspace_) return false;
        return true;
    }

    // May the peer be told that there is such a job, and what is in it?
    bool may_know(const Peer& peer, std::string_view nspace) const {
        if (peer.id().nspace == nspace) return true;
        const Nspace* known = registry_.find(nspace);
        // One that is not known here has no user either.
        if (known == nullptr)
            return peer.kind() == PeerKind::self || peer.credentials().uid == own_uid_ || peer.credentials().uid == 0;
        return may_map(peer, *known);
    }
    // Of processes, one at least.
    template <class Procs>
    bool may_know_any(const Peer& peer, const Procs& procs) const {
        std::string_view last;
        bool may = false;
        for (const common::ProcId& p : procs) {
            if (p.nspace == last) continue;
            last = p.nspace;
            may = may_know(peer, p.nspace);
            if (may) break;
        }
        return may;
    }

    // Adds the namespace to a message's list, with the descriptor if the peer has not got it yet. A message that is
    // full or a namespace without data adds nothing; the peer may ask for it by name.
    void add(Peer& peer, Nspace& nspace, common::SegmentList& list, std::vector<int>& descriptors) const {
        if (nspace.data == nullptr || !may_map(peer, nspace)) return;
        const uint32_t instance = nspace.data->instance();
        if (!peer.maps_segments()) peer.set_knows_segment(instance);
        bool known = peer.knows_segment(instance);
        if (!known && descriptors.size() >= common::kMaxFrameDescriptors) return;
        common::SegmentRef ref;
        ref.nspace = nspace.name;
        ref.instance = instance;
        ref.generation = nspace.data->generation();
        ref.has_descriptor = !known;
        if (!known) {
            descriptors.push_back(nspace.data->descriptor());
            peer.set_knows_segment(instance);
        }
        list.push_back(std::move(ref));
    }

  private:
    Registry& registry_;
    const std::string own_nspace_;
    const uint32_t own_uid_;
};

}  // namespace pmix::server
