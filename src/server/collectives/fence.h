// SPDX-License-Identifier: BSD-3-Clause
// Fence: collects what the local members have committed for other nodes, passes it to the host in one upcall, publishes
// the data that the host returns, and answers all callers.
//
// Loop thread only. A set whose members are all local is done without the host, and so without any copying: commits are
// published when they are received. What can go wrong: see CollectiveEngine; besides, the host's own status, and a blob
// of another library (a node that runs one), which ends the fence with that status.
#pragma once

#include <map>

#include "server/collectives/collective_operation.h"

namespace pmix::server {

class Get;

class Fence final : public CollectiveOperation {
  public:
    Fence(Scheduler& scheduler, Host& host, Registry& registry, const Segments& segments, Get& get)
        : CollectiveOperation("fence", common::Function::PMIx_Fence, scheduler, host, registry, segments), get_(get) {}

    // procs empty: all of the requester's namespace.
    void request(Peer& peer, common::FenceRequest& request, Reply reply);
    // LifecycleObserver. What was contributed for sets that name it is forgotten.
    void namespace_gone(Nspace& nspace) override;
    // Sets of which it is remembered what they were sent.
    size_t sets_remembered() const noexcept { return sent_.size(); }

  private:
    // What the nodes of a set are known to have: for each local rank of it the generation that went out with success.
    using Sent = std::map<MemberId, uint64_t>;

    void launch(RoundId id, Round& round) override;
    void answer(Reply& reply, const Round& round, pmix_status_t status) override;
    void host_answered(RoundId id, const Signature& signature, const Sent& sent, HostAnswer& answer);
    common::Result<std::vector<uint8_t>> collect(const Signature& signature, Sent& sending);

    Get& get_;
    std::map<Signature, Sent> sent_;
    size_t remembered_ = 0;  // processes in sent_, at most: what is forgotten with a namespace is still counted
};

}  // namespace pmix::server
