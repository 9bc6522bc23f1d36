// SPDX-License-Identifier: BSD-3-Clause
// What processes want done to processes, sessions and resources: to the host, with who asks; but what a process wants
// removed at its end is done here.
//
// Loop thread, nothing owned. What can go wrong: no entry in the host's module (PMIX_ERR_NOT_SUPPORTED), or what the
// host says.
#pragma once

#include "common/protocol/messages.h"
#include "server/base/reply.h"
#include "server/host/host.h"
#include "server/namespaces/registry.h"
#include "server/services/cleanup.h"

namespace pmix::server {

class Control {
  public:
    Control(Host& host, Registry& registry, Cleanup& cleanup) : host_(host), registry_(registry), cleanup_(cleanup) {}
    void job_control(Peer& peer, common::JobControlRequest& request, Reply reply);
    void allocate(Peer& peer, common::AllocateRequest& request, Reply reply);
    void session_control(Peer& peer, common::SessionControlRequest& request, Reply reply);
    void resource_block(Peer& peer, common::ResourceBlockRequest& request, Reply reply);

  private:
    pmix_status_t register_cleanup(Peer& peer, const common::JobControlRequest& request);
    bool cancel_cleanup(Peer& peer, const pmix_info_t& cancel);

    Host& host_;
    Registry& registry_;
    Cleanup& cleanup_;
};

// The host's answer with its results, whatever its status: a refusal may say why.
Host::Done pass_on(Reply reply, bool done = false);

}  // namespace pmix::server
