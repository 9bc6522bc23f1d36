// SPDX-License-Identifier: BSD-3-Clause
// Groups: construct and destruct as collective operations under a name, leave, and what becomes of a group whose member
// ends.
//
// Owns the operations in progress; the registry owns the groups that have formed. Loop thread only. Each caller is
// answered once: by the end of the operation, its timeout, an abort, the end of a namespace, or stop(). A group whose
// members are all local never reaches the host, unless a context id is wanted.
//
// A member that ends before it has called: an error for all (PMIX_ERR_PROC_TERM_WO_SYNC) when all others have called or
// kLossWaitMs later, unless one of the callers, on any node, allows that (PMIX_GROUP_OPTIONAL, _FT_COLLECTIVE), or asks
// to be notified (_NOTIFY_TERMINATION); then the group forms without it (PMIX_ERR_PARTIAL_SUCCESS), after the handlers
// of the notified callers have decided. A process that joins an operation which has ended without it gets that status.
// What else can go wrong: PMIX_ERR_NOT_SUPPORTED without the host's entry, PMIX_ERR_EXISTS for a name in use,
// PMIX_ERR_NOT_FOUND for an unknown group, and any status of the host.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/protocol/group_calls.h"
#include "common/protocol/messages.h"
#include "server/base/far_ends.h"
#include "server/collectives/collective_engine.h"
#include "server/collectives/ended_operations.h"
#include "server/collectives/group_invitations.h"
#include "server/collectives/group_section.h"
#include "server/collectives/namespace_index.h"
#include "server/collectives/open_shares.h"

namespace pmix::server {

class Events;
class Get;

// How long the host's own timeout is waited for. It has the same limits, and its answer is the same on all nodes.
inline constexpr int64_t kHostAnswerMs = 300;
// Once a member has ended that had not called, and no caller allows that, how long the others' calls are waited for:
// one of them may allow it.
inline constexpr int64_t kLossWaitMs = 2000;

class Groups final : public CollectiveEngine {
  public:
    Groups(Scheduler& scheduler, Host& host, Registry& registry, Budget& budget, const Segments& segments,
           Events& events, Get& get)
        : CollectiveEngine(scheduler, host, registry, segments),
          events_(events),
          get_(get),
          invitations_(scheduler, registry, budget, *this),
          far_ends_(scheduler, [this](const common::ProcId& proc) { lost_elsewhere(proc); }) {}

    void request(Peer& peer, common::GroupRequest& request, Reply reply);

    // How many open operations, bootstrap calls and groups were looked at, to find those of a name or for an event. For
    // tests.
    uint64_t examined() const noexcept { return examined_; }

    // LifecycleObserver
    // An event of a group is accepted from the host, and from a process of this node that has part in the group.
    void event_notified(pmix_status_t code, const common::ProcId& source, const common::InfoList& infos,
                        bool from_host) override;
    void member_gone(Nspace& nspace, MemberId member) override;
    void ended_elsewhere(const common::ProcId& proc) override;
    void members_changed(std::string_view nspace) override;
    void namespace_gone(Nspace& nspace) override;
    void namespace_new(std::string_view nspace) override;
    // A group, or the forming of one, is about processes of that namespace.
    bool uses(const Nspace& nspace) const override;
    void report(ReportRows& rows) const override;
    void recover() override;
    void stop(pmix_status_t status) override;

    // An event to some processes, here and elsewhere. Not for default handlers. told: as of Events, and called for
    // those elsewhere when the host has been given the event.
    using Told = std::function<void(const common::ProcId&)>;
    void announce(pmix_status_t code, const common::ProcId& source, const common::ProcList& targets,
                  common::InfoList infos, const Told& told = {});
    // Single processes for wildcards, as far as the size of the namespace is known; no process twice.
    common::ProcList expand(const common::ProcList& procs) const;
    common::ProcList expand(const common::ProcOrder& procs) const { return expand(procs.list()); }

  private:
    // Several operations at once may use the same name, for unrelated jobs: their sets of processes are disjoint.
    using Names = std::multimap<std::string, RoundId, std::less<>>;
    struct Operation final : Round {
        Operation() = default;
        ~Operation() override {
            if (names != nullptr) names->erase(entry);
        }
        RoundId id = 0;
        OpenShares::Share share;          // of the process that has begun it
        Charge charge;                    // what the members will take that a few bytes may have named
        NamespaceIndex::Entry by_nspace;  // under the names of its participants, those that have left included
        std::shared_ptr<Names> names;     // where `entry` is, as long as this is
        Names::iterator entry;
        common::GroupCall call = common::GroupCall::construct;
        std::string name;
        uint64_t group = 0;              // its number, of a destruct
        std::vector<std::string> ended;  // namespaces in it that have; the host is not asked for them any more
        GroupSection section;            // of this node; after the host's answer, of all nodes
        std::vector<MemberId> joined;
        std::map<MemberId, Reply> late_callers;  // members that called when it was at the host
        std::map<MemberId, unsigned> undecided;  // events about failures that a caller was given and has not answered
        std::vector<MemberId> deciders;          // callers who want to be told of failures
        std::optional<common::ProcId> leader;
        // The process that has invited the members, where it is none of them: it takes part to learn the outcome.
        std::optional<common::ProcId> inviter;
        bool leaderless = false;  // it had one, which has gone
        bool incomplete = false;  // members ended before it began
        Timer loss_limit;
        bool hosted = false;
        bool late = false;    // past its limit, but the host may say how it ended
        bool formed = false;  // the group is there: the callers are given the results
        common::InfoList results;
        Signature members;
        bool has_joined(MemberId member) const noexcept;
        // As far as this node's callers say, before the host's answer.
        const GroupDirectives& asked() const noexcept { return section.directives; }
    };
    // A caller whose other members only the host knows: it has an upcall of its own (group_bootstrap.cpp).
    struct Starter {
        uint64_t id = 0;
        OpenShares::Share share;
        GroupDirectives directives;
        Reply reply;
        Timer timer;
        std::weak_ptr<const void> answer_due;
    };

    // A process, and the name of the group.
    using StarterKey = std::pair<MemberId, std::string>;
    using Starters = std::map<StarterKey, Starter>;

    void construct(Peer& peer, common::GroupRequest& request, Reply reply);
    void bootstrap(Peer& peer, common::GroupRequest& request, Reply reply);
    common::InfoList bootstrap_infos(const Peer& peer, const common::InfoList& infos, const std::string& group);
    void bootstrapped(const StarterKey& at, uint64_t id, HostAnswer& answer);
    // Those from one place to another in the order of their keys; and one, unless another call has its key now.
    void end_starters(Starters::iterator first, Starters::iterator last, pmix_status_t status);
    void end_starter(const StarterKey& at, uint64_t id, pmix_status_t status);
    void end_starters_of(MemberId first, MemberId last, pmix_status_t status);
    Starters::iterator take_starter(Starters::iterator at, Starters& to);
    void destruct(Peer& peer, common::GroupRequest& request, Reply reply);
    void leave(Peer& peer, const std::string& name, Reply reply);
    void decide(Peer& peer, const common::GroupRequest& request, Reply reply);
    void names(Peer& peer, common::GroupRequest& request, Reply reply);
    void announced(const common::ProcId& inviter, const std::string& name, const common::InfoList& infos);

    void launch(RoundId id, Round& round) override;
    void answer(Reply& reply, const Round& round, pmix_status_t status) override;
    void ended(RoundId id, Round& round, pmix_status_t status) override;
    std::string name_of(const Round& round) const override;
    std::vector<MemberId> joined(RoundId, const Round& round) const override { return operation(round).joined; }
    void expire(RoundId id) override;
    void judge_again() override;

    pmix_status_t admit(Operation& op, const Peer& peer, const common::InfoList& infos, common::Function function,
                        Reply& reply);
    // A member that calls after the operation went to the host waits for its end, and is answered as one that calls
    // after the end. PMIX_ERR_EXISTS: the member has called before.
    static void wait_late(Operation& op, MemberId member, Reply reply);
    // signature null: whatever it was.
    bool answer_late(common::GroupCall call, const std::string& name, const Signature* signature, MemberId member,
                     Reply& reply);
    void judge(RoundId id);
    common::InfoList for_host(Operation& op);
    void host_answered(RoundId id, HostAnswer& answer);
    // What the servers of all nodes have exchanged. False: the host has carried nothing.
    bool take_sections(Operation& op, const common::InfoList& infos);
    void take_endpoint_data(const Operation& op, const common::InfoList& infos);
    // partly: the host has formed it without some of those that were named. exchanged: the nodes agree on an order.
    void form(Operation& op, const common::InfoList& from_host, bool partly, bool exchanged);
    void tell_formed(Operation& op, const common::ProcList& members, bool whole, uint64_t number_of_group,
                     std::optional<size_t> number);
    void tell_failed(Operation& op);
    void give_up(RoundId id);
    void leader_gone(Operation& op);
    common::ProcList others(const Operation& op, const common::ProcId& proc) const;
    void tell_of_missing(const Operation& op, const common::ProcList& asked, const common::ProcList& members);
    void announce_failure(pmix_status_t code, const std::string& name, const common::ProcId& proc,
                          const common::ProcList& targets, const Told& told = {});
    void ask(Operation& op, pmix_status_t code, const common::ProcId& proc, const common::ProcList& targets);
    void namespace_gone(Operation& op, std::string_view nspace);
    void abort(Operation& op);
    void lost_from_groups(const common::ProcId& proc);
    void lost_elsewhere(const common::ProcId& proc);
    void lose_those_gone();
    void lost(Group& group, const common::ProcId& proc, bool tell);
    void tell_membership(const Group& group, const common::ProcId& source);
    bool assigns_here(const Operation& op, Reach reach) noexcept;
    std::vector<MemberId> expected(const Signature& signature) const;
    bool is_gone(MemberId member) const noexcept;
    bool anybody_here(const Group& group) const;
    static void drop_repeated(common::ProcList& procs);
    common::ProcList here(const common::ProcList& procs) const;
    static Operation& operation(Round& round) noexcept { return static_cast<Operation&>(round); }
    static const Operation& operation(const Round& round) noexcept { return static_cast<const Operation&>(round); }
    Operation* find(RoundId id) noexcept { return static_cast<Operation*>(CollectiveEngine::find(id)); }
    // Null: the caller has begun too many that are not over.
    Operation* begin(common::GroupCall call, const std::string& name, Signature signature, MemberId caller);
    Operation& begin(common::GroupCall call, const std::string& name, Signature signature, OpenShares::Share share);
    // Of what is in progress now: an entry may end another.
    std::vector<RoundId> ids() const;
    std::vector<RoundId> ids_of(std::string_view nspace);
    // The construct of that name that a process takes part in or is named by; null: there is none.
    Operation* forming(std::string_view name, const common::ProcId& proc);
    // The construct of a set that is in progress; null: there is none. PMIX_ERR_BAD_PARAM: one has some of these
    // processes and others; PMIX_ERR_EXISTS: a group of that name has one of them.
    common::Result<Operation*> construct_of(const std::string& name, const Signature& signature);
    // A list of all processes of a job as its wildcard.
    Signature with_wildcards(const Signature& signature) const;
    Operation* destruct_of(std::string_view name, uint64_t group);
    std::vector<Operation*> of_name(std::string_view name);
    // Does it belong to this group, or to what is to become of it?
    bool has_part(const common::ProcId& proc, std::string_view name);

    Events& events_;
    Get& get_;
    GroupInvitations invitations_;
    FarEnds far_ends_;
    EndedOperations ended_;
    OpenShares shares_;
    NamespaceIndex by_nspace_;
    Starters starters_;
    std::set<std::pair<std::string, MemberId>> starters_by_group_;  // their keys, the other way round
    const std::shared_ptr<Names> names_ = std::make_shared<Names>();
    uint64_t examined_ = 0;
    uint64_t next_ = 1;
    size_t next_context_ = 1;
};

}  // namespace pmix::server
