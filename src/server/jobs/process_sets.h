// SPDX-License-Identifier: BSD-3-Clause
// Process sets: defined once, deleted as a whole, never changed; told to everybody here who asks, and found with Get.
//
// Owns the sets. Loop thread only. The names of the sets that a process is in are in the segment of its namespace,
// under PMIX_PSET_NAMES of that process: in a column where a set has much of the namespace, in a record for each member
// where it has little. A record counts before the column, so a process that has one keeps it. What can go wrong: a name
// that is taken (PMIX_ERR_EXISTS) or unknown (PMIX_ERR_NOT_FOUND), no memory in a segment (PMIX_ERR_OUT_OF_RESOURCE).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "server/events/events.h"
#include "server/namespaces/registry.h"

namespace pmix::server {

class ProcessSets {
  public:
    // self: in whose name the sets are announced.
    ProcessSets(Registry& registry, Events& events, common::ProcId self)
        : registry_(registry), events_(events), self_(std::move(self)) {}
    ProcessSets(const ProcessSets&) = delete;
    ProcessSets& operator=(const ProcessSets&) = delete;

    pmix_status_t define(std::string_view name, std::vector<common::ProcId> members);
    pmix_status_t remove(std::string_view name);
    // The data of a namespace is there now: sets may have been defined before.
    pmix_status_t namespace_here(Nspace& nspace);
    // The job ends, and with it the sets that have no member of another. They are not announced: who could use them has
    // gone.
    void namespace_gone(std::string_view nspace) noexcept;

  private:
    void announce(pmix_status_t code, const ProcessSet& set);
    pmix_status_t publish(const ProcessSet& changed);
    pmix_status_t publish(Nspace& nspace, const std::vector<common::Rank>& ranks);

    Registry& registry_;
    Events& events_;
    const common::ProcId self_;
};

}  // namespace pmix::server
