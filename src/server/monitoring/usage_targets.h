// SPDX-License-Identifier: BSD-3-Clause
// Which processes of this node a request for a sample is about, and whether it is about other nodes too.
//
// Loop thread; owns nothing. A user is shown the processes of its own jobs, and by number those that the kernel shows
// as its own; root and this server's user are shown all jobs. What can go wrong: targets of a wrong type
// (PMIX_ERR_BAD_PARAM), a process that is in no job known here (PMIX_ERR_NOT_FOUND), a job of another user
// (PMIX_ERR_NO_PERMISSIONS), more processes than one sample may have (PMIX_ERR_OUT_OF_RESOURCE).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/values/info_view.h"
#include "server/base/peer.h"
#include "server/monitoring/usage_sample.h"
#include "server/namespaces/registry.h"

namespace pmix::server {

// The requester, or the process in whose name the host requests.
struct UsageViewer {
    common::ProcId proc;
    Credentials user;
    bool is_host = false;  // this server's own process, in its own name
};

struct UsageScope {
    bool here = false;
    bool elsewhere = false;
    bool every_process = false;         // of the jobs that the viewer may know
    std::vector<common::ProcId> procs;  // with a wildcard: of this node
    std::vector<pid_t> pids;
};

class UsageTargets {
  public:
    using Peers = std::map<uint64_t, std::shared_ptr<Peer>>;
    UsageTargets(const Registry& registry, const Peers& peers, common::ProcId self)
        : registry_(registry), peers_(peers), self_(std::move(self)) {}

    // Without targets: this node, and all processes on it that the viewer may see.
    common::Result<UsageScope> read(common::InfoView directives, const UsageViewer& viewer) const;
    // Of a query about a process, or about a job with the wildcard. PMIX_ERR_NOT_FOUND: it is not about this node
    // alone, so that what is known here would be a part of the answer, or none.
    common::Result<UsageScope> read_query(std::string_view key, const common::ProcId& proc, common::InfoView qualifiers,
                                          const UsageViewer& viewer) const;
    // Those that are there now. What the viewer may not see is left out.
    common::Result<std::vector<UsageTarget>> find(const UsageScope& scope, const UsageViewer& viewer) const;

    const std::string& hostname() const noexcept { return registry_.hostname(); }
    // This node's number in the namespace; none: not known.
    std::optional<uint32_t> node_id(std::string_view nspace) const;

    static constexpr size_t kMaxProcesses = 4096;

  private:
    struct Running;
    bool may_see(const UsageViewer& viewer, const Nspace& nspace) const;
    pmix_status_t place_process(const common::ProcId& proc, const UsageViewer& viewer, UsageScope& scope) const;
    const Peer* tool(const common::ProcId& proc) const;
    Running running() const;

    const Registry& registry_;
    const Peers& peers_;
    const common::ProcId self_;
};

}  // namespace pmix::server
