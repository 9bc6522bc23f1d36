// SPDX-License-Identifier: BSD-3-Clause
// Resolve: which processes run on a node, which nodes a namespace has. Answered from the registry.
//
// Loop thread, nothing owned. Unknown namespaces and nodes are PMIX_ERR_NOT_FOUND; a known node without processes of a
// known namespace is an empty list. Without a namespace: all namespaces registered here. Jobs of other users are left
// out.
#pragma once

#include "common/protocol/messages.h"
#include "server/base/reply.h"
#include "server/namespaces/registry.h"
#include "server/namespaces/segments.h"

namespace pmix::server {

class Resolve {
  public:
    Resolve(Registry& registry, const Segments& segments) : registry_(registry), segments_(segments) {}
    void peers(Peer& peer, common::ResolveRequest& request, Reply reply);
    void nodes(Peer& peer, common::ResolveRequest& request, Reply reply);

  private:
    Registry& registry_;
    const Segments& segments_;
};

}  // namespace pmix::server
