// SPDX-License-Identifier: BSD-3-Clause
// Namespaces that no host registered here: made for what came from their own nodes (a direct modex, a group), and
// dropped when they are of no more use, because no host will end them.
//
// Loop thread only. Which are in use: those whose segment a process of this node has been given, and those that a Get,
// a collective, a connection or a group is about. Of the others the few that were used last are kept. Beyond a number
// that is out of all proportion the oldest go although processes have their segments: those are told, and ask again.
#pragma once

#include <functional>

#include "server/base/scheduler.h"
#include "server/collectives/connect.h"
#include "server/collectives/fence.h"
#include "server/collectives/groups.h"
#include "server/data/get.h"
#include "server/namespaces/registry.h"
#include "server/segment_compaction.h"

namespace pmix::server {

// Kept without a use, so that a neighbour which asks next finds them; each takes a descriptor and a few pages.
inline constexpr size_t kIdleAdopted = 8;
// With a use: far more jobs than a job talks to, and a fraction of the descriptors of a daemon.
inline constexpr size_t kMaxAdopted = 256;

class RemoteNamespaces {
  public:
    using Drop = std::function<void(std::string_view)>;
    using Peers = SegmentCompaction::Peers;

    RemoteNamespaces(Scheduler& scheduler, Registry& registry, const Get& get, const Fence& fence,
                     const Connect& connect, const Disconnect& disconnect, const Groups& groups, const Peers& peers,
                     Drop drop);
    RemoteNamespaces(const RemoteNamespaces&) = delete;
    RemoteNamespaces& operator=(const RemoteNamespaces&) = delete;

    // There may be some to drop: one is new, or somebody who used them has gone. Done soon, not now.
    void look_soon();

  private:
    void look();
    bool needed(const Nspace& nspace) const;
    bool in_use(const Nspace& nspace) const;

    Scheduler& scheduler_;
    Registry& registry_;
    const Get& get_;
    const Fence& fence_;
    const Connect& connect_;
    const Disconnect& disconnect_;
    const Groups& groups_;
    const Peers& peers_;
    Drop drop_;
    Timer timer_;
    bool looks_ = false;
};

}  // namespace pmix::server
