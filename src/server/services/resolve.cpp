// SPDX-License-Identifier: BSD-3-Clause
#include "server/services/resolve.h"

#include <set>

namespace pmix::server {

using common::kNoNode;

void Resolve::peers(Peer& peer, common::ResolveRequest& request, Reply reply) {
    common::ResolvePeersReply message;
    bool own = request.node.empty() || request.node == registry_.hostname();
    bool known = false;
    auto add = [&](const Nspace& nspace) {
        uint32_t place = own ? nspace.own_node : find_own_node(nspace.placed, request.node);
        if (own || place != kNoNode) known = true;
        if (own) {
            for (common::Rank rank : nspace.local_ranks()) message.procs.emplace_back(nspace.name, rank);
        } else if (place != kNoNode && nspace.placed.has_procs) {
            nspace.placed.procs.for_each_on(place,
                                            [&](common::Rank rank) { message.procs.emplace_back(nspace.name, rank); });
        }
    };
    if (request.nspace.empty()) {
        for (const auto& [name, nspace] : registry_.nspaces())
            if (nspace->has_placement && segments_.may_know(peer, name)) add(*nspace);
        known = known || own;
    } else {
        const Nspace* nspace = registry_.find(request.nspace);
        if (nspace == nullptr || !segments_.may_know(peer, request.nspace)) return reply.status(PMIX_ERR_NOT_FOUND);
        add(*nspace);
        // Of a node where the namespace has nobody there is an empty list, if it is a node of some job.
        for (const auto& [name, other] : registry_.nspaces())
            known = known || (segments_.may_know(peer, name) && find_own_node(other->placed, request.node) != kNoNode);
    }
    if (!known) return reply.status(PMIX_ERR_NOT_FOUND);
    reply.message(PMIX_SUCCESS, message);
}

void Resolve::nodes(Peer& peer, common::ResolveRequest& request, Reply reply) {
    common::ResolveNodesReply message;
    std::set<std::string, std::less<>> seen;
    auto add = [&](const Nspace& nspace) {
        for (const std::string& node : nspace.placed.nodes) {
            if (node.empty() || !seen.insert(node).second) continue;
            if (!message.nodes.empty()) message.nodes += ',';
            message.nodes += node;
        }
    };
    if (request.nspace.empty()) {
        for (const auto& [name, nspace] : registry_.nspaces())
            if (segments_.may_know(peer, name)) add(*nspace);
    } else {
        const Nspace* nspace = registry_.find(request.nspace);
        if (nspace == nullptr || !segments_.may_know(peer, request.nspace)) return reply.status(PMIX_ERR_NOT_FOUND);
        add(*nspace);
    }
    reply.message(PMIX_SUCCESS, message);
}

}  // namespace pmix::server
