// SPDX-License-Identifier: BSD-3-Clause
// Fence: collects what the local members have committed for other nodes, passes it to the host in one upcall, publishes
// the data that the host returns, and answers all callers.
//
// The members of one job on this node may meet in memory instead of asking (fence_memories.h): those that join there
// are entered as one, and ended by one word.
//
// Loop thread only. A set whose members are all local is done without the host, and so without any copying: commits are
// published when they are received. What can go wrong: see CollectiveEngine; besides, the host's own status, and a blob
// of another library (a node that runs one), which ends the fence with that status.
#pragma once

#include <map>

#include "server/collectives/collective_operation.h"
#include "server/collectives/fence_memories.h"
#include "server/collectives/left_commits.h"

namespace pmix::server {

class Fence final : public CollectiveOperation {
  public:
    // memory_at: which fence of a job brings the memory in which its processes meet. 0: none.
    Fence(Scheduler& scheduler, Host& host, Registry& registry, const Segments& segments, Get& get, Commit& commit,
          unsigned memory_at)
        : CollectiveOperation("fence", common::Function::PMIx_Fence, scheduler, host, registry, segments),
          get_(get),
          memories_(registry, memory_at),
          left_commits_(scheduler, registry, memories_, commit, get) {}

    // procs empty: all of the requester's namespace.
    void request(Peer& peer, common::FenceRequest& request, Reply reply);
    // A process says that all have joined in memory.
    void joined_in_memory(Peer& peer, common::FenceJoinedNotify& message, Reply reply);
    // A commit of this peer has been taken over, or refused.
    void commit_done(Peer& peer);

    // LifecycleObserver
    void peer_gone(const Peer& peer) override;
    void member_gone(Nspace& nspace, MemberId member) override;
    void members_changed(std::string_view nspace) override;
    // What was contributed for sets that name it is forgotten.
    void namespace_gone(Nspace& nspace) override;
    void recover() override;
    void stop(pmix_status_t status) override;
    FenceMemories& memories() noexcept { return memories_; }
    LeftCommits& left_commits() noexcept { return left_commits_; }
    // Sets of which it is remembered what they were sent.
    size_t sets_remembered() const noexcept { return sent_.size(); }

  private:
    // What the nodes of a set are known to have: for each local rank of it the generation that went out with success.
    using Sent = std::map<MemberId, uint64_t>;

    void launch(RoundId id, Round& round) override;
    void ended(RoundId id, Round& round, pmix_status_t status) override;
    void answer(Reply& reply, const Round& round, pmix_status_t status) override {
        answer(reply, round.signature, status);
    }
    void answer(Reply& reply, const Signature& signature, pmix_status_t status);
    void join(Peer& peer, common::Result<Signature> procs, common::InfoList infos, Reply reply);
    pmix_status_t refused(const Peer& peer) const;
    // A process that has joined in memory asks; memory: its job's, perhaps a later one, or none. False: it takes part
    // as one that has not.
    bool ask_in_memory(JobFenceMemory* memory, Peer& peer, common::FenceRequest& request, Reply& reply);
    void run_in_memory(Nspace& nspace, JobFenceMemory& memory);
    bool answer_entered(const Nspace& nspace, const Peer& peer, uint32_t round, Reply& reply);
    void to_requests(Nspace& nspace, JobFenceMemory& memory);
    Opened enter_joined(const Nspace& nspace, JobFenceMemory& memory);
    void enter_late(const Nspace& nspace, JobFenceMemory& memory, JobFenceMemory::Place& place);
    void take_along(JobFenceMemory& memory, const std::vector<const JobFenceMemory::Place*>& joined,
                    const Opened& opened);
    void disturb(Nspace& nspace, JobFenceMemory& memory);
    void give_memory(Peer& peer, const Signature& signature, common::FenceReply& message,
                     std::vector<int>& descriptors);
    void host_answered(RoundId id, const Signature& signature, const Sent& sent, HostAnswer& answer);
    common::Result<std::vector<uint8_t>> collect(const Signature& signature, Sent& sending);

    Get& get_;
    FenceMemories memories_;
    LeftCommits left_commits_;
    bool commits_awaited_ = false;  // by a round in memory; unless it is set, a commit costs nothing here
    std::map<Signature, Sent> sent_;
    size_t remembered_ = 0;  // processes in sent_, at most: what is forgotten with a namespace is still counted
};

}  // namespace pmix::server
