// SPDX-License-Identifier: BSD-3-Clause
// Process monitoring in the server: heartbeats that must be received, files that must change; samples of what
// processes, nodes and devices use are in usage_monitors.h. Other monitoring requests go to the host.
//
// Owns the monitors. Loop thread only; a file is examined by a blocking task, with the rights of the requester's user.
// A monitor counts the successive periods without activity; beyond the number that may be missed it raises its event,
// once, until there is activity again; again in the next period where it had no memory to tell all. It ends with its
// requester's connection, without an event. What can go wrong: wrong directives (PMIX_ERR_BAD_PARAM), too many monitors
// for one process (PMIX_ERR_OUT_OF_RESOURCE), an unknown name to cancel (PMIX_ERR_NOT_FOUND), and any status of the
// host for other requests.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/protocol/messages.h"
#include "server/base/blocking_tasks.h"
#include "server/base/lifecycle.h"
#include "server/base/reply.h"
#include "server/base/scheduler.h"
#include "server/events/events.h"
#include "server/host/host.h"
#include "server/monitoring/usage_monitors.h"

namespace pmix::server {

class Monitors final : public LifecycleObserver {
  public:
    Monitors(Scheduler& scheduler, Host& host, Events& events, BlockingTasks& blocking_tasks, const Registry& registry,
             const UsageTargets::Peers& peers, const common::ProcId& self, KernelFiles files = {});
    ~Monitors();
    Monitors(const Monitors&) = delete;
    Monitors& operator=(const Monitors&) = delete;

    void request(Peer& peer, common::MonitorRequest& request, Reply reply);
    void heartbeat(Peer& peer, common::Nothing& nothing, Reply reply);
    // It has finalized, or its connection has ended.
    void peer_gone(const Peer& peer) override;
    void namespace_gone(Nspace& nspace) override;
    // Some step was lost: each monitor has its next period again.
    void recover() override;
    void stop(pmix_status_t) override;

    size_t size() const noexcept { return monitors_.size() + usage_.size(); }
    UsageMonitors& usage() noexcept { return usage_; }

  private:
    struct Monitor;
    struct FileState;
    using Map = std::map<uint64_t, std::unique_ptr<Monitor>>;

    bool cancel(const Peer& peer, const common::ProcId& proc, const pmix_info_t& what, bool& host_too);
    bool has(const Peer& peer, const common::ProcId& proc, std::string_view id) const;
    void ask_host(Peer& peer, common::MonitorRequest& request, bool cancelled_here, Reply reply);
    static pmix_status_t read(const pmix_info_t& what, pmix_status_t code, common::InfoView directives, Monitor& m);
    void arm(uint64_t number);
    void period_over(uint64_t number);
    void look_at_file(uint64_t number, bool first);
    void saw(uint64_t number, const FileState& state, bool first);
    void next_period(uint64_t number);
    void count(uint64_t number, bool alive);
    bool raise(const Monitor& m);
    void beat(const Peer& peer);

    Scheduler& scheduler_;
    Host& host_;
    Events& events_;
    BlockingTasks& blocking_tasks_;
    UsageMonitors usage_;
    Map monitors_;
    uint64_t next_ = 1;
};

}  // namespace pmix::server
