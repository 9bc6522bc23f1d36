// SPDX-License-Identifier: BSD-3-Clause
// Samples of what processes, this node, its disks and its networks use: one at once, for PMIx_Process_monitor and for
// PMIx_Query_info, and where a rate is given one in each period, as an event to the requester.
//
// Owns the requests and a worker thread, which reads the kernel's files with the rights of the requester's user: not
// the thread that all blocking tasks share, because a process may hold up the reader of its memory for long. Loop
// thread otherwise. A request about other nodes goes to the host first; what the host answers is added to the sample of
// this node. The period is a second at least, begins when the sample has been taken, and is ten times as long as taking
// it took where that is longer; a user has a limited number of monitors and of samples under way. A monitor ends by its
// name, and with its requester: the host is asked to cancel its part. What can go wrong: see usage_targets.h; too many
// (PMIX_ERR_OUT_OF_RESOURCE); the kernel does not answer in time (PMIX_ERR_TIMEOUT, and the monitor has ended); the
// host's status for other nodes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "common/protocol/messages.h"
#include "server/base/blocking_tasks.h"
#include "server/base/reply.h"
#include "server/base/scheduler.h"
#include "server/events/events.h"
#include "server/host/host.h"
#include "server/monitoring/usage_targets.h"

namespace pmix::server {

class UsageMonitors {
  public:
    UsageMonitors(Scheduler& scheduler, Host& host, Events& events, const Registry& registry,
                  const UsageTargets::Peers& peers, const common::ProcId& self, KernelFiles files = {});
    ~UsageMonitors();
    UsageMonitors(const UsageMonitors&) = delete;
    UsageMonitors& operator=(const UsageMonitors&) = delete;

    void request(Peer& peer, common::MonitorRequest& request, Reply reply);

    // A single sample for a query, whose answer goes through done: once, on the loop.
    using Sampled = common::Callback<void(pmix_status_t, common::InfoList)>;
    void once(const UsageViewer& viewer, const UsageOptions& options, const UsageScope& scope,
              const AccountPtr& account, Sampled done);
    const UsageTargets& targets() const noexcept { return targets_; }

    struct Cancelled {
        size_t count = 0;
        bool host_too = false;  // the host was asked for a part
    };
    // Those of the peer (or of the process in whose name it asked) that have this name. None: all.
    Cancelled cancel(const Peer& peer, const common::ProcId& proc, std::optional<std::string_view> id);
    bool has(const Peer& peer, const common::ProcId& proc, std::string_view id) const;

    void peer_gone(const Peer& peer);
    void namespace_gone(std::string_view nspace);
    // Those whose next sample there was no memory to wait for, and those whose sample was lost.
    void recover();
    void stop(pmix_status_t status);

    size_t size() const noexcept { return monitors_.size(); }
    // Until the next sample.
    static int64_t wait_ms(uint32_t seconds, int64_t took_ms) noexcept;

    static constexpr size_t kMaxPerUser = 32;
    static constexpr size_t kMaxUnderWay = 64;  // of one user
    static constexpr int64_t kLimitMs = 60'000;

  private:
    struct Monitor;
    struct Once {  // a sample for a query, until it is there or its time is over
        Sampled done;
        Timer timer;
    };
    struct Task;
    using Sign = std::shared_ptr<const char>;
    using Made = std::unique_ptr<Monitor>;

    common::Result<Made> read(Peer& peer, const common::MonitorRequest& request) const;
    void ask_host(Peer& peer, common::MonitorRequest& request, Made made, Reply reply);
    void begin(Made made, common::InfoList from_host, Reply reply);
    static void cancel_at_host(Host& host, const UsageViewer& requester) noexcept;
    using TaskDone = common::Callback<void(Task&)>;
    pmix_status_t start(const UsageViewer& viewer, const UsageOptions& options, const UsageScope& scope,
                        const AccountPtr& account, const std::shared_ptr<UsageHistory>& history, TaskDone done);
    void end_once(uint64_t number, pmix_status_t status, common::InfoList infos);
    pmix_status_t sample(uint64_t number);
    void sampled(uint64_t number, Task& task);
    void arm(uint64_t number, int64_t took_ms);
    void end(uint64_t number, pmix_status_t status);
    void raise(const Monitor& monitor, common::InfoList infos);

    Scheduler& scheduler_;
    Host& host_;
    Events& events_;
    const UsageTargets targets_;
    const KernelFiles files_;
    BlockingTasks tasks_;
    std::map<uint64_t, Made> monitors_;
    std::map<uint64_t, Once> once_;
    // By user: one reference for each sample, which goes with it also where its answer is lost, and this one.
    std::map<uint32_t, Sign> under_way_;
    std::set<uint64_t> at_host_;  // peers that the host was asked for a part by, by serial number
    uint64_t next_ = 1;
    bool stopped_ = false;
};

// The process in whose name the host asks, or the peer itself.
common::Result<common::ProcId> monitoring_process(const Peer& peer, common::InfoView directives);
// PMIX_RANGE among the directives of a monitor.
common::Result<std::optional<pmix_data_range_t>> monitoring_range(common::InfoView directives);

}  // namespace pmix::server
