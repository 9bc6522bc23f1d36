// Job control and log: to the host, with who asks; but what a process wants removed at its end is done here.
//
// Loop thread, nothing owned. What can go wrong: no entry in the host's module (PMIX_ERR_NOT_SUPPORTED), or what the
// host says.
#pragma once

#include "common/messages.h"
#include "server/cleanup.h"
#include "server/host.h"
#include "server/registry.h"
#include "server/reply.h"

namespace pmix::server {

class Control {
  public:
    Control(Host& host, Registry& registry, Cleanup& cleanup) : host_(host), registry_(registry), cleanup_(cleanup) {}
    void job_control(Peer& peer, common::ControlRequest& request, Reply reply);
    void log(Peer& peer, common::ControlRequest& request, Reply reply);

  private:
    pmix_status_t register_cleanup(Peer& peer, const common::ControlRequest& request);

    Host& host_;
    Registry& registry_;
    Cleanup& cleanup_;
};

}  // namespace pmix::server
