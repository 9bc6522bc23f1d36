// SPDX-License-Identifier: BSD-3-Clause
// Commit: one client's puts into its namespace's data.
//
// Loop thread. Published when it returns; requests that waited for it are answered before. What can go wrong: entries
// no client of ours sends (PMIX_ERR_BAD_PARAM), a full quota or no memory (PMIX_ERR_OUT_OF_RESOURCE, PMIX_ERR_NOMEM):
// nothing of the commit is visible then. A commit is mostly a notification, so the refusal goes to the client as one;
// requests that wait for the rank's keys are answered with the status, and so are its fences, until the client says
// that all of it has been sent again.
#pragma once

#include "common/protocol/messages.h"
#include "server/base/counters.h"
#include "server/base/reply.h"
#include "server/data/get.h"
#include "server/namespaces/registry.h"

namespace pmix::server {

class Commit final : public LifecycleObserver {
  public:
    Commit(Registry& registry, Get& get, const Deletions& deletions, Counters& counters)
        : registry_(registry), get_(get), deletions_(deletions), counters_(counters) {}
    void request(Peer& peer, common::CommitRequest& request, Reply reply);
    // One that the process has left in memory. False: it is no commit. May throw std::bad_alloc, as the next one.
    bool left(Peer& peer, common::Bytes payload);
    // A commit that there was no memory to read. May throw std::bad_alloc.
    void unread(Peer& peer, common::Bytes payload);
    void peer_gone(const Peer& peer) override;
    // All that was queued for it is in its socket.
    void peer_reads(Peer& peer);

  private:
    pmix_status_t apply(Peer& peer, const common::CommitRequest& request);
    void refuse(Peer& peer, uint64_t generation, pmix_status_t status, Reply reply);
    static void count_refusal(Nspace* nspace);

    Registry& registry_;
    Get& get_;
    const Deletions& deletions_;
    Counters& counters_;
};

}  // namespace pmix::server
