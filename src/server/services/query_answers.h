// SPDX-License-Identifier: BSD-3-Clause
// What this server can answer of a query by itself: jobs, their local processes, process sets, memory, and what the
// host registered for a job.
//
// Loop thread, nothing owned. A key of another node, or one that is unknown here, is PMIX_ERR_NOT_FOUND: then the host
// is asked. Data of another user's job is not given (PMIX_ERR_NO_PERMISSIONS).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/values/info_view.h"
#include "common/values/value.h"
#include "server/base/lifecycle.h"
#include "server/base/peer.h"
#include "server/host/host.h"
#include "server/jobs/inventory.h"
#include "server/namespaces/registry.h"
#include "server/namespaces/segments.h"

namespace pmix::server {

// What answers are made from.
struct Known {
    const LifecycleObservers& observers;
    const Registry& registry;
    const Segments& segments;
    const Host& host;
    const bool starts_jobs;  // by itself, where the host does not (a tool's server)
    const Inventory& inventory;
    const std::map<uint64_t, std::shared_ptr<Peer>>& peers;
    const common::ProcId& server;
    const std::string& uri;
    const std::string& openpmix_uri;
};

// What a query is about: its qualifiers name it; by default it is the requester's job. PMIX_ERR_BAD_PARAM: a process
// named in two ways.
struct Target {
    static common::Result<Target> read(const common::ProcId& requester, common::InfoView qualifiers);
    common::ProcId proc;
    bool named_nspace = false;
    bool named_rank = false;
};

// A table of processes in which some have no pid, because they have not connected or have gone; the state of one whose
// connection was lost, which says nothing about its end.
bool host_may_know_better(std::string_view key, const common::Value& answer) noexcept;

common::Result<common::Value> answer_query(const Known& known, const Peer& requester, std::string_view key,
                                           const Target& target, common::InfoView qualifiers);

}  // namespace pmix::server
