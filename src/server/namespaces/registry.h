// SPDX-License-Identifier: BSD-3-Clause
// The jobs, nodes, ranks and process sets known to this server, and the ranks that are local: plain state.
//
// Owns the namespaces and their data. Loop thread only. It sends nothing and waits for nothing. A namespace may be
// registered again under the same name after deregistration: each instance has a number of its own, and a reference
// that is kept across callbacks is that number (see MemberId).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/protocol/hello.h"
#include "common/values/value.h"
#include "server/base/lifecycle.h"
#include "server/base/member.h"
#include "server/namespaces/group_registry.h"
#include "server/namespaces/job_info.h"
#include "server/namespaces/namespace_data.h"

namespace pmix::server {

// A rank that the host announced with PMIx_server_register_client.
struct Client {
    enum class State : uint8_t {
        registered,  // has not connected yet
        connected,
        finalized,  // has called PMIx_Finalize
        lost,       // its connection broke without PMIx_Finalize
    };
    common::Rank rank = 0;
    uint32_t uid = 0;
    uint32_t gid = 0;
    void* server_object = nullptr;
    common::Token token;
    State state = State::registered;
    uint32_t connections = 0;  // clones included
    // The host has been asked whether it is admitted, and the server has not acted on the answer yet.
    bool at_host = false;
    std::weak_ptr<const void> admission_due;  // expired while at_host: the answer was lost
    bool may_return = false;   // finalized, but the rank's process still runs: collectives go on waiting for it
    bool script_runs = false;  // and has started the program that finalized: it may start another one, which commits
    // Will not commit any more, unless it connects again.
    bool gone() const noexcept { return state == State::finalized || state == State::lost; }
};

// As queries and reports call it.
constexpr pmix_proc_state_t process_state(Client::State state) noexcept {
    switch (state) {
        case Client::State::registered:
            return PMIX_PROC_STATE_LAUNCH_UNDERWAY;
        case Client::State::connected:
            return PMIX_PROC_STATE_CONNECTED;
        case Client::State::finalized:
            return PMIX_PROC_STATE_TERMINATED;
        case Client::State::lost:
            return PMIX_PROC_STATE_COMM_FAILED;
    }
    return PMIX_PROC_STATE_UNDEF;
}

// A commit of a process that was not taken over; its Get and Fence partners are told.
struct RefusedCommit {
    uint64_t generation = 0;  // of the process's newest one
    pmix_status_t status = PMIX_SUCCESS;
};

struct Nspace {
    std::string name;
    uint32_t number = 0;
    int nlocalprocs = 0;
    std::optional<uint32_t> job_size;
    std::optional<uint32_t> owner;  // whose processes these are
    std::optional<uint32_t> session;
    std::set<uint32_t> readers;  // used while the owner is unknown: users for which the host has fetched its data
    std::vector<AppRef> apps;    // as far as the host has described them
    Placed placed;
    bool has_placement = false;
    uint32_t own_node = common::kNoNode;
    std::map<common::Rank, Client> clients;
    std::vector<common::Rank> gone;          // ranks that have left, deregistered ones included
    std::set<common::Rank> ended_elsewhere;  // ranks of other nodes that have ended, as the host has reported
    std::set<common::Rank> unreachable;      // likewise, ranks whose node is lost
    std::unique_ptr<NamespaceData> data;     // none: known by name only
    common::InfoList envars;
    bool is_remote = false;  // the host has not registered it: created for data received from another node
    uint64_t last_use = 0;   // of a remote namespace
    bool open_mpi = false;   // its program was said to be Open MPI's
    std::set<common::Rank>
        pset_records;  // whose process sets are a record of their own. See server/jobs/process_sets.h
    // By rank and Peer::serial(), until the process has sent all of it again. See server/data/commit.h.
    std::map<std::pair<common::Rank, uint64_t>, RefusedCommit> refused_commits;

    Client* find_client(common::Rank rank) noexcept;
    const Client* find_client(common::Rank rank) const noexcept;
    // Why something that the rank has committed is missing; PMIX_SUCCESS: nothing is.
    pmix_status_t refused(common::Rank rank) const noexcept {
        auto at = refused_commits.lower_bound({rank, 0});
        return at == refused_commits.end() || at->first.first != rank ? PMIX_SUCCESS : at->second.status;
    }
    // Are there processes that a tool with this namespace's name could be taken for? A host registers a namespace for a
    // tool, too, of one rank that is no client.
    bool is_a_job() const noexcept { return !clients.empty() || nlocalprocs > 1 || (size_known() && size() > 1); }
    // The process runs, ran or will run on this node.
    bool is_local(common::Rank rank) const noexcept;
    // Was here and will not come back, unless it connects or is registered again.
    bool has_left(common::Rank rank) const noexcept;
    // It has left, and what the host has started for it has ended: no operation waits for it any more.
    bool has_ended(common::Rank rank) const noexcept;
    // And nothing that may start its next program is here.
    bool commits_no_more(common::Rank rank) const noexcept;
    bool all_local() const noexcept;  // as far as is known
    bool size_known() const noexcept { return job_size || placed.has_procs; }
    uint32_t size() const noexcept { return job_size ? *job_size : placed.procs.nranks(); }
    bool has_rank(common::Rank rank) const noexcept;
    uint32_t local_count() const noexcept;
    // Local processes of which the number is known and the ranks are not: they are not registered yet.
    uint32_t unnamed_locals() const noexcept;
    // This may be one of them.
    bool may_be_local(common::Rank rank) const noexcept;
    std::vector<common::Rank> local_ranks() const;
};

struct ProcessSet {
    std::string name;
    std::vector<common::ProcId> members;
    // The same by namespace, ranks ascending and once.
    struct Ranks {
        bool all = false;
        std::vector<common::Rank> ranks;
    };
    std::map<std::string, Ranks, std::less<>> by_nspace;
};

// Where the processes of a set are.
enum class Reach : uint8_t { here, beyond, unknown };

class Registry final : public MemberView {
  public:
    // origin: marks what this server contributes to collectives, for logs.
    explicit Registry(const LifecycleObservers& observers, std::string hostname = {}, uint64_t origin = 0)
        : observers_(observers), hostname_(std::move(hostname)), origin_(origin) {}

    const std::string& hostname() const noexcept { return hostname_; }
    uint64_t origin() const noexcept { return origin_; }
    Nspace* find(std::string_view name) noexcept;
    const Nspace* find(std::string_view name) const noexcept;
    Nspace* find(uint32_t number) noexcept;
    Nspace& obtain(std::string_view name);
    void remove(std::string_view name);
    // For data received from other nodes: the namespace of this name, or a new remote namespace.
    Nspace& obtain_remote(std::string_view name);
    uint64_t next_use() noexcept { return ++uses_; }
    // A rank of that user is registered, or is no more. Every change of Nspace::clients must be reported by these.
    void add_user(uint32_t uid) { ++users_[uid]; }
    void remove_user(uint32_t uid) noexcept;
    bool has_user(uint32_t uid) const noexcept { return users_.find(uid) != users_.end(); }
    Client* find_client(const common::ProcId& proc) noexcept;
    // Whose process it is; none: of a job of which this server has not been told a user.
    std::optional<uint32_t> user_of(const common::ProcId& proc) const noexcept;
    // It has ended, wherever it was: this server notices that of its own processes, the host reports it of others.
    bool has_ended(const common::ProcId& proc) const noexcept;
    bool is_local(const common::ProcId& proc) const noexcept;
    // Null when the process is not one of a namespace known here.
    std::optional<MemberId> member(const common::ProcId& proc) const noexcept;
    common::ProcId proc_of(MemberId member) const;

    // Its segment, empty at first.
    pmix_status_t ensure_data(Nspace& nspace);
    // Something was published there.
    void written(const Nspace& nspace) {
        if (nspace.data->compaction_due()) observers_.notify(&LifecycleObserver::compaction_due, nspace);
    }
    uint32_t next_segment() noexcept { return next_segment_++; }

    // Sets the rank's state, and keeps Nspace::gone in step with it.
    void set_state(Nspace& nspace, Client& client, Client::State state);

    Reach reach(const Signature& signature) const noexcept;
    // Local ranks that a signature means, by namespace.
    std::vector<std::pair<Nspace*, std::vector<common::Rank>>> local_members(const Signature& signature);
    // Processes that it names which were local, as is known only of those that are registered.
    std::vector<MemberId> deregistered_members(const Signature& signature) const;
    // How many more local processes it may mean: that many are announced, and their ranks are not known.
    size_t unnamed_members(const Signature& signature) const noexcept;

    // MemberView
    size_t expected(const Signature& signature) const override;
    bool contains(const Signature& signature, MemberId member) const override;
    std::string_view nspace_of(MemberId member) const override;
    std::vector<MemberId> gone(const Signature& signature) const override;
    size_t clones(MemberId member) const override;

    std::map<std::string, std::unique_ptr<Nspace>, std::less<>>& nspaces() noexcept { return nspaces_; }
    const std::map<std::string, std::unique_ptr<Nspace>, std::less<>>& nspaces() const noexcept { return nspaces_; }
    std::vector<ProcessSet>& process_sets() noexcept { return process_sets_; }
    const std::vector<ProcessSet>& process_sets() const noexcept { return process_sets_; }
    GroupRegistry& groups() noexcept { return groups_; }
    const GroupRegistry& groups() const noexcept { return groups_; }

  private:
    const LifecycleObservers& observers_;
    std::string hostname_;
    uint64_t origin_;
    std::map<std::string, std::unique_ptr<Nspace>, std::less<>> nspaces_;
    std::map<uint32_t, Nspace*> by_number_;
    std::vector<ProcessSet> process_sets_;
    GroupRegistry groups_;
    uint32_t next_number_ = 1;
    uint32_t next_segment_ = 1;
    uint64_t uses_ = 0;
    std::map<uint32_t, size_t> users_;  // how many ranks each has
};

}  // namespace pmix::server
