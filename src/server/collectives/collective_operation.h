// SPDX-License-Identifier: BSD-3-Clause
// Collective operations whose round is known by its set of processes: fence, connect and disconnect.
//
// Collective decides which processes must join, which have, and which round a caller belongs to; the engine holds the
// replies, infos and timer of each round. Loop thread only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/protocol/messages.h"
#include "common/values/support.h"
#include "server/collectives/collective.h"
#include "server/collectives/collective_engine.h"

namespace pmix::server {

class CollectiveOperation : public CollectiveEngine {
  public:
    // name: in reports. function: whose attributes are understood here.
    CollectiveOperation(const char* name, common::Function function, Scheduler& scheduler, Host& host,
                        Registry& registry, const Segments& segments)
        : CollectiveEngine(scheduler, host, registry, segments),
          function_(function),
          name_(name),
          collective_(registry) {}

    // local: what this caller adds to the local status of its round.
    void enter(Peer& peer, common::Result<Signature> procs, common::InfoList infos, Reply reply,
               pmix_status_t local = PMIX_SUCCESS);

    // LifecycleObserver
    void member_gone(Nspace&, MemberId member) override { run(collective_.member_gone(member)); }
    void member_begins(const Nspace&, MemberId member) override;
    void client_registered(const common::ProcId& proc) override;
    void members_changed(std::string_view nspace) override { run(collective_.recheck(nspace)); }
    void clone_gone(const Peer& peer) override;
    void namespace_gone(Nspace& nspace) override;
    void namespace_new(std::string_view nspace) override { collective_.nspace_new(nspace); }
    bool uses(const Nspace& nspace) const override { return collective_.names(nspace.name); }

    // How many rounds were looked at. For tests.
    uint64_t examined() const noexcept { return collective_.examined(); }

  protected:
    // The instance numbers of the namespaces in the set (0: unknown), to detect a name that was used again while the
    // host was answering.
    using Instances = std::vector<uint32_t>;
    Instances instances_of(const Signature& signature) const;
    bool still_there(const Signature& signature, const Instances& instances) const;

    const common::Function function_;

    void ended(RoundId id, Round&, pmix_status_t status) override { collective_.end(id, status); }
    // Processes that have joined elsewhere and wait there: the round is to be started if it is complete, or broken.
    struct Opened {
        RoundId id = 0;  // 0: there is no room for it
        bool complete = false;
        std::optional<pmix_status_t> end{};  // it had ended before
    };
    // All of these at once, of a set that has no round (id 0: it has one): opens one.
    Opened open_for(const Signature& signature, const std::vector<MemberId>& members, Charge charge);
    // One, in the round that a request of its would be in.
    Opened enter_from_elsewhere(const Signature& signature, MemberId member, Charge charge);
    bool is_idle(const Signature& signature) const { return collective_.is_idle(signature); }

  private:
    std::string name_of(const Round&) const override { return name_; }
    std::vector<MemberId> joined(RoundId id, const Round&) const override { return collective_.joined(id); }
    void judge_again() override { run(collective_.report_again()); }
    void run(const std::vector<Collective::Event>& events);

    const char* const name_;
    Collective collective_;
};

}  // namespace pmix::server
