// SPDX-License-Identifier: BSD-3-Clause
// Commits that processes have left in the memory in which their job meets (transport/memory/commit_mailboxes.h):
// when they are taken over, and when processes may leave any.
//
// Owns nothing: the mailboxes are those of FenceMemories, a commit is Commit's. What a process has left is taken when
// all have joined a round, before anything that it sends is looked at, before it counts as gone, before a Get or a
// host's direct modex is answered, when the memory turns to requests, and kLookMs after the first commit at the latest.
// While somebody waits for a commit of the job, commits go by the socket.
//
// Loop thread only. What can go wrong: bytes that are no commit (the job's commits go by the socket from then on), and
// no memory (as for a commit out of the socket: it is refused, or else the connection ends).
#pragma once

#include <cstdint>

#include "server/collectives/fence_memories.h"
#include "server/data/commit.h"
#include "server/data/get.h"

namespace pmix::server {

class LeftCommits {
  public:
    static constexpr int64_t kLookMs = 10;

    LeftCommits(Scheduler& scheduler, Registry& registry, FenceMemories& memories, Commit& commit, Get& get) noexcept
        : scheduler_(scheduler), registry_(registry), memories_(memories), commit_(commit), get_(get) {}

    // The job's processes may join in memory from now on: commits may be left there too.
    void begin(JobFenceMemory& memory, const Nspace& nspace) noexcept;
    // They may not any more: what was left is taken. The memory may be gone afterwards.
    void end(JobFenceMemory& memory, const Nspace& nspace) noexcept;

    // All that the job's processes have left.
    void take(const Nspace& nspace) noexcept { take_all(nspace.number); }
    void take_of(const Peer& peer) noexcept;
    // Of all jobs of its user: somebody asks for data that may be among it.
    void take_everywhere(const Peer& requester) noexcept;
    // Somebody may wait for a commit now.
    void awaited() noexcept;
    // A commit of the peer was sent by the socket: where processes may leave theirs, others do so for a while.
    void sent(const Peer& peer) noexcept;

  private:
    void take_all(uint32_t nspace) noexcept;
    bool take_one(uint32_t nspace, size_t place) noexcept;
    void refuse(Peer& peer, common::Bytes payload) noexcept;
    void look(uint32_t nspace) noexcept;

    Scheduler& scheduler_;
    Registry& registry_;
    FenceMemories& memories_;
    Commit& commit_;
    Get& get_;
};

}  // namespace pmix::server
