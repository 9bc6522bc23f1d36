// SPDX-License-Identifier: BSD-3-Clause
// Which processes of other nodes have ended, as the events of the host report it.
//
// A server notices the end of its own processes. Those of other nodes are reported by their own servers as far as
// somebody waits for them, and a server that is lost with its node reports nothing. The host's events about ended
// processes, jobs and nodes fill that gap: the ranks are noted in the registry (Registry::has_ended), and each is
// notified once (LifecycleObserver::ended_elsewhere); those of a lost node also as such (node_lost). Loop thread only.
//
// Only what an event names as affected counts: its source may be an application that uses the code for itself. A host
// hands down the events of processes of other nodes too: such a process may report the ends of its own job only, the
// environment those of all. What can go wrong: no memory, then the host's call has failed.
#pragma once

#include "common/base/ids.h"
#include "server/base/lifecycle.h"
#include "server/namespaces/registry.h"

namespace pmix::server {

class ProcessEnds final : public LifecycleObserver {
  public:
    // server: this server's own id.
    ProcessEnds(const LifecycleObservers& observers, Registry& registry, common::ProcId server)
        : observers_(observers), registry_(registry), server_(std::move(server)) {}

    // LifecycleObserver
    void event_notified(pmix_status_t code, const common::ProcId& source, const common::InfoList& infos,
                        bool from_host) override;

  private:
    common::ProcList reported(pmix_status_t code, const common::ProcId& source, const common::InfoList& infos) const;
    void add_those_on_node(const common::ProcId& source, const common::InfoList& infos, common::ProcList& out) const;
    bool may_report(const common::ProcId& source, std::string_view nspace) const;
    void returned(const common::ProcId& proc) noexcept;

    const LifecycleObservers& observers_;
    Registry& registry_;
    const common::ProcId server_;
};

}  // namespace pmix::server
