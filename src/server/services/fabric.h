// SPDX-License-Identifier: BSD-3-Clause
// Descriptions of fabrics (PMIx_Fabric_register, _update): the host's, and where it has none, what is known of the
// nodes' network devices.
//
// Owns the numbers of the fabrics that were described here. Loop thread; the node's own devices are looked up by a
// blocking task, as a topology may take seconds to load. The requester keeps its registration: nothing of it is kept
// here. What can go wrong: any status of the host; without a host that describes fabrics, an unknown fabric
// (PMIX_ERR_NOT_FOUND), no device at all or a required directive that is not supported (PMIX_ERR_NOT_SUPPORTED).
#pragma once

#include <functional>
#include <string>

#include "common/protocol/fabric.h"
#include "common/protocol/messages.h"
#include "server/base/blocking_tasks.h"
#include "server/base/reply.h"
#include "server/host/host.h"
#include "server/jobs/inventory.h"

namespace pmix::server {

class Fabrics {
  public:
    // This node's devices: PMIX_FABRIC_DEVICE each. Runs on the worker thread.
    using Devices = std::function<common::Result<common::InfoList>()>;

    Fabrics(Host& host, BlockingTasks& blocking_tasks, const Inventory& inventory, std::string hostname)
        : host_(host), blocking_tasks_(blocking_tasks), inventory_(inventory), hostname_(std::move(hostname)) {}

    void set_devices(Devices devices) { devices_ = std::move(devices); }
    void request(Peer& peer, common::FabricRequest& request, Reply reply);

  private:
    void answer_from_devices(common::InfoList directives, Reply reply);
    common::Result<common::InfoList> all_devices(const common::InfoList& own) const;

    Host& host_;
    BlockingTasks& blocking_tasks_;
    const Inventory& inventory_;
    const std::string hostname_;
    Devices devices_;
    common::FabricNumbers numbers_;
};

}  // namespace pmix::server
