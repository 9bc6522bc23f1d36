// SPDX-License-Identifier: BSD-3-Clause
// Connect and disconnect: the collective, the upcall, and afterwards the job data of all who are connected.
//
// Loop thread only. The host hears of every set, also of those whose members are all here: it is the host that tells
// the others when a connected process ends. Without an entry for it a set that is all here is done without. What can go
// wrong: see CollectiveEngine; besides, PMIX_ERR_INVALID_OPERATION for a disconnect of a set that never connected,
// where no host can say better, and PMIX_ERR_NOT_SUPPORTED where an entry must be understood and no host sees it.
#pragma once

#include <map>

#include "server/collectives/collective_operation.h"

namespace pmix::server {

class Connect final : public CollectiveOperation {
  public:
    Connect(Scheduler& scheduler, Host& host, Registry& registry, const Segments& segments)
        : CollectiveOperation("connect", common::Function::PMIx_Connect, scheduler, host, registry, segments) {}
    void request(Peer& peer, common::ConnectRequest& request, Reply reply) {
        enter(peer, common::read_ranges(request.procs, std::move(request.ranges)), request.infos.take(),
              std::move(reply));
    }
    bool connected(const Signature& signature) const { return connected_.count(signature) != 0; }
    // A spawned job and the process that asked for it are connected from the start.
    void spawned(const Peer& parent, const std::string& nspace);
    void disconnected(const Signature& signature) { connected_.erase(signature); }
    // LifecycleObserver
    void namespace_gone(Nspace& nspace) override;
    bool uses(const Nspace& nspace) const override;

  private:
    void launch(RoundId id, Round& round) override;
    void answer(Reply& reply, const Round& round, pmix_status_t status) override;
    std::map<Signature, Charge> connected_;  // each for the user who asked for it
};

class Disconnect final : public CollectiveOperation {
  public:
    Disconnect(Scheduler& scheduler, Host& host, Registry& registry, const Segments& segments, Connect& connect)
        : CollectiveOperation("disconnect", common::Function::PMIx_Disconnect, scheduler, host, registry, segments),
          connect_(connect) {}
    void request(Peer& peer, common::ConnectRequest& request, Reply reply) {
        enter(peer, common::read_ranges(request.procs, std::move(request.ranges)), request.infos.take(),
              std::move(reply));
    }

  private:
    void launch(RoundId id, Round& round) override;
    void answer(Reply& reply, const Round& round, pmix_status_t status) override;
    Connect& connect_;
};

}  // namespace pmix::server
