// SPDX-License-Identifier: BSD-3-Clause
// Job control, session control, allocations and resource blocks: passed to the host, with the requester's user and
// group. Only the registration of files to remove at a process's end (PMIX_REGISTER_CLEANUP) is carried out here.
//
// Loop thread, nothing owned. What can go wrong: no entry in the host's module (PMIX_ERR_NOT_SUPPORTED), or any status
// of the host.
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
    pmix_status_t register_cleanup(Peer& peer, const common::JobControlRequest& request, CleanupTicket& ticket);
    bool cancel_cleanup(Peer& peer, const pmix_info_t& cancel);

    Host& host_;
    Registry& registry_;
    Cleanup& cleanup_;
};

// Replies with the host's status and results, whatever the status: a refusal may give its reason there.
Host::Done pass_on(Reply reply, bool done = false);

}  // namespace pmix::server
