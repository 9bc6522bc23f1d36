// Resolve: which processes run on a node, which nodes a namespace has. Answered from the registry.
//
// Loop thread, nothing owned. Unknown namespaces and nodes are PMIX_ERR_NOT_FOUND; a known node without processes of a
// known namespace is an empty list. Without a namespace: all namespaces that this server knows.
#pragma once

#include "common/messages.h"
#include "server/registry.h"
#include "server/reply.h"

namespace pmix::server {

class Resolve {
  public:
    explicit Resolve(Registry& registry) : registry_(registry) {}
    void peers(Peer& peer, common::ResolveRequest& request, Reply reply);
    void nodes(Peer& peer, common::ResolveRequest& request, Reply reply);

  private:
    Registry& registry_;
};

}  // namespace pmix::server
