// Who may map which namespace's segment, and what of it must still travel.
//
// Borrowed: the registry. Loop thread only. A segment goes to processes of the user that the namespace belongs to, to
// root and to the server's own user; where the host never said whose a namespace is, to the one user that this server
// serves.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/frame.h"
#include "common/messages.h"
#include "server/peer.h"
#include "server/registry.h"

namespace pmix::server {

class Segments {
  public:
    // own: the server's own namespace and user; that one belongs to nobody whom it serves.
    Segments(Registry& registry, std::string own_nspace, uint32_t own_uid) noexcept
        : registry_(registry), own_nspace_(std::move(own_nspace)), own_uid_(own_uid) {}

    bool may_map(const Peer& peer, const Nspace& nspace) const {
        uint32_t uid = peer.credentials().uid;
        if (peer.kind() == PeerKind::self || uid == own_uid_ || uid == 0) return true;
        if (peer.id().nspace == nspace.name) return true;  // it is a registered rank of it
        if (nspace.owner) return *nspace.owner == uid;
        for (const auto& [name, other] : registry_.nspaces())
            if (other->owner && *other->owner != uid && name != own_nspace_) return false;
        return true;
    }

    // Adds the namespace to a message's list, with the descriptor if the peer has not got it yet. A message that is full
    // or a namespace without data adds nothing; the peer may ask for it by name.
    void add(Peer& peer, Nspace& nspace, common::SegmentList& list, std::vector<int>& descriptors) const {
        if (nspace.data == nullptr || !may_map(peer, nspace)) return;
        const uint32_t instance = nspace.data->instance();
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
