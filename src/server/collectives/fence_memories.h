// SPDX-License-Identifier: BSD-3-Clause
// The memory in which each job's processes on this node meet for a fence, and what the server remembers of it.
//
// Owns one FenceMemory for each namespace that has one, its places, and the peers that have been given it. Fence asks
// it what a request means and tells it what became of a round; it decides nothing about rounds itself. A job has a
// memory when all of its local processes are one user's and it has fenced often enough: to be given it costs a process
// as much as some ten fences by request (docs/design/performance.md), and most jobs fence two or three times. It is
// open when each of them, a single process for its rank, has been given it. Whatever disturbs that (a process ends,
// ranks are registered) turns it to requests.
//
// Loop thread only. What processes write there is believed of nobody but this job. What can go wrong: no memory or
// descriptors, which costs the job its speed only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "server/base/peer.h"
#include "server/base/reply.h"
#include "server/base/scheduler.h"
#include "server/namespaces/registry.h"
#include "transport/memory/fence_memory.h"

namespace pmix::server {

// What became of a job's rounds. Those of a memory that takes the place of another go on with its numbers: a process
// may ask for a round of the earlier one when it has been forgotten.
struct JobFenceRounds {
    // A process that had joined a round in memory when that was turned to requests, and has been entered for it: its
    // request, which is to come, is for the operation's round.
    struct Entered {
        uint32_t round = 0;
        common::Rank rank = 0;
        uint64_t in = 0;  // the round of the operation
        std::optional<pmix_status_t> end{};
    };

    uint32_t next = 0;             // the first one of the memory to come
    std::vector<uint32_t> turned;  // the last ones that were turned to requests
    std::vector<Entered> entered;  // of those
    uint32_t last = 0;             // the last one that the server ended, and how
    pmix_status_t last_status = PMIX_SUCCESS;

    bool was_turned(uint32_t round) const noexcept;
    // It is turned to requests. False: it was before.
    bool note_turned(uint32_t round) noexcept;
    // The operation's round has ended.
    void ended(uint64_t round, pmix_status_t status) noexcept;
    // The process asks.
    std::optional<Entered> take(uint32_t round, common::Rank rank) noexcept;
    // Of one that is over. Where the server has not ended it the last one to join has, with success.
    pmix_status_t end_of(uint32_t round) const noexcept { return round == last ? last_status : PMIX_SUCCESS; }
};

struct JobFenceMemory {
    using Mode = transport::FenceMemory::Mode;

    struct Place {
        common::Rank rank = 0;
        std::weak_ptr<Peer> peer;  // the last one of that rank that has asked
        common::FenceUse use = common::FenceUse::none;
        uint64_t given_to = 0;       // serial number of a peer
        std::weak_ptr<Peer> holder;  // the last one that was given it: the one that joins and leaves commits there
        bool asked = false;          // has waited long for this round: all that it sent before has been read
        bool is_due = false;         // has joined the round that was turned, and is entered when its commits are here
    };

    // A process that has joined and asks, before the round runs.
    struct Held {
        Reply reply;
        common::InfoList infos;
    };

    std::unique_ptr<transport::FenceMemory> shared;
    uid_t user = 0;              // of all of its processes
    std::vector<Place> places;   // ranks ascend
    uint64_t running = 0;        // the round of the operation that this round in memory is; 0: none
    uint32_t running_round = 0;  // in memory, whatever stands there meanwhile
    uint32_t turned = 0;         // the last round that was turned to requests, likewise
    bool has_told = false;       // a process has said, or shown, that all have joined
    bool disturbed = true;       // may it be open? is to be found out anew
    bool outdated = false;       // to be forgotten with the next fence: places are not the job's processes, or all left
    uint32_t instance = 0;       // of the segment that all have read of
    std::vector<Held> held;
    Timer look;                        // for commits that processes have left
    bool commits_by_socket = false;    // all of them: what was left was none
    uint32_t first_round = 0;          // those before it were in earlier memories
    JobFenceRounds* rounds = nullptr;  // of FenceMemories

    Place* place_at(common::Rank rank) noexcept;
    Place* place_of(const Peer& peer) noexcept;
    Place* held_by(const Peer& peer) noexcept;
    // No process is there any more that has it.
    bool is_deserted() const noexcept;
    uint32_t slot_of(const Place& place) const noexcept { return static_cast<uint32_t>(&place - places.data()); }
    // Processes leave no commits from now on; what they have left is to be taken.
    void close_mailboxes() noexcept;
    // False: it was by request, and the server has seen to those that had joined.
    bool turn_to_requests() noexcept;
    // All have joined, or some count once they have, and it is their commits that are waited for.
    bool awaits_commits() const noexcept;
    // Has everything that the processes committed before they joined been taken over?
    bool commits_are_in() const noexcept;
    bool commits_are_in(const Place& place) const noexcept;
};

class FenceMemories {
  public:
    // A job's at_fence-th fence is answered with its memory. 0: never.
    FenceMemories(Registry& registry, unsigned at_fence) noexcept : registry_(registry), at_fence_(at_fence) {}

    JobFenceMemory* find(const Nspace& nspace) noexcept;
    // Of a process that asks for a fence over its namespace: the memory of its job, which may be new. Null: none.
    JobFenceMemory* asked_by(const std::shared_ptr<Peer>& peer, common::FenceUse use);
    // May processes join there from now on?
    bool may_open(JobFenceMemory& memory, const Nspace& nspace) const noexcept;

    // The memory in which this peer has a place. Null: none.
    JobFenceMemory* of(const Peer& peer) noexcept;
    // The memory of its job. Null: none.
    JobFenceMemory* of_job(const Peer& peer) noexcept;
    void forget(const Nspace& nspace) noexcept;
    void namespace_gone(const Nspace& nspace) noexcept {
        forget(nspace);
        requests_.erase(nspace.number);
        rounds_.erase(nspace.number);
    }
    // Null: the job has never had a memory.
    JobFenceRounds* rounds_of(const Nspace& nspace) noexcept;
    std::map<uint32_t, JobFenceMemory>& all() noexcept { return memories_; }

  private:
    // Counts a request of a process that can meet in memory: is it of a fence that brings it?
    bool is_due(const Nspace& nspace);
    void create(const Nspace& nspace, const Peer& peer);

    Registry& registry_;
    const unsigned at_fence_;
    std::map<uint32_t, JobFenceMemory> memories_;  // by the number of the namespace
    std::map<uint32_t, uint64_t> requests_;        // the same; of jobs without a memory
    std::map<uint32_t, JobFenceRounds> rounds_;    // the same; of jobs that have had one
};

}  // namespace pmix::server
