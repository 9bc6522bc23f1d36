// SPDX-License-Identifier: BSD-3-Clause
// Abort: up to the host; the requester is answered when the host has answered, unless it is gone by then.
//
// Loop thread, nothing owned. No procs: the requester's whole namespace, which the host sees as NULL.
#pragma once

#include "common/protocol/messages.h"
#include "server/base/reply.h"
#include "server/host/host.h"
#include "server/namespaces/registry.h"

namespace pmix::server {

class Abort {
  public:
    Abort(Host& host, Registry& registry) : host_(host), registry_(registry) {}
    void request(Peer& peer, common::AbortRequest& request, Reply reply) {
        Client* client = registry_.find_client(peer.id());
        host_.of_abort(peer, request.procs)
            .abort(peer.id(), client == nullptr ? nullptr : client->server_object, request.status,
                   std::move(request.message), request.procs,
                   [reply = std::move(reply)](HostAnswer& a) mutable { reply.status(common::plain(a.status)); });
    }

  private:
    Host& host_;
    Registry& registry_;
};

}  // namespace pmix::server
