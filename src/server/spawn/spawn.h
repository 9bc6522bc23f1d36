// SPDX-License-Identifier: BSD-3-Clause
// Spawn: up to the host with what the library adds (who asks, that it is a spawn, who the parent is), and back with the
// new namespace and, if the host has registered it here, its segment.
//
// Loop thread, nothing owned. What can go wrong: no entry in the host's module, no apps (PMIX_ERR_BAD_PARAM), or what
// the host says.
#pragma once

#include "common/protocol/messages.h"
#include "server/base/reply.h"
#include "server/collectives/connect.h"
#include "server/host/host.h"
#include "server/iof/iof.h"
#include "server/namespaces/registry.h"
#include "server/namespaces/segments.h"

namespace pmix::server {

class Spawn {
  public:
    Spawn(Host& host, Registry& registry, const Segments& segments, Connect& connect, Iof& iof)
        : host_(host), registry_(registry), segments_(segments), connect_(connect), iof_(iof) {}
    void request(Peer& peer, common::SpawnRequest& request, Reply reply);

  private:
    void answer(Reply& reply, pmix_status_t status, std::string name);

    Host& host_;
    Registry& registry_;
    const Segments& segments_;
    Connect& connect_;
    Iof& iof_;
};

}  // namespace pmix::server
