// SPDX-License-Identifier: BSD-3-Clause
// Remote namespaces, which no host registered here: created for data received from their own nodes (a direct modex, a
// group), and dropped when they are no longer used, because no host will deregister them.
//
// Loop thread only. Which are in use: those whose segment a process of this node has been given, and those that another
// module has something about (LifecycleObserver::uses()). Of the others the few that were used last are kept. Beyond a
// number that is out of all proportion the oldest go although processes have their segments: those are told, and ask
// again.
#pragma once

#include "server/base/lifecycle.h"
#include "server/base/scheduler.h"
#include "server/jobs/registration.h"
#include "server/namespaces/registry.h"
#include "server/segment_compaction.h"

namespace pmix::server {

// Kept without a use, so that a neighbour which asks next finds them; each takes a descriptor and a few pages.
inline constexpr size_t kIdleRemote = 8;
// With a use: far more jobs than a job talks to, and a fraction of the descriptors of a daemon.
inline constexpr size_t kMaxRemote = 256;

class RemoteNamespaces final : public LifecycleObserver {
  public:
    using Peers = SegmentCompaction::Peers;

    RemoteNamespaces(const LifecycleObservers& observers, Scheduler& scheduler, Registry& registry, const Peers& peers,
                     Registration& registration)
        : observers_(observers),
          scheduler_(scheduler),
          registry_(registry),
          peers_(peers),
          registration_(registration) {}
    RemoteNamespaces(const RemoteNamespaces&) = delete;
    RemoteNamespaces& operator=(const RemoteNamespaces&) = delete;

    // LifecycleObserver. There may be some to drop: one is new, or a process that used them has gone.
    void remote_namespace_new() override { scan_later(); }
    void peer_gone(const Peer&) override { scan_later(); }
    void stop(pmix_status_t) override;

  private:
    void scan_later();
    void scan();
    bool needed(const Nspace& nspace) const;
    bool in_use(const Nspace& nspace) const;

    const LifecycleObservers& observers_;
    Scheduler& scheduler_;
    Registry& registry_;
    const Peers& peers_;
    Registration& registration_;
    Timer timer_;
    bool scan_is_due_ = false;
    bool stopped_ = false;
};

}  // namespace pmix::server
