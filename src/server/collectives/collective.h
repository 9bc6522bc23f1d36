// SPDX-License-Identifier: BSD-3-Clause
// The rounds of a collective operation: the participants, those that have joined, and the state. Shared by fence,
// connect and disconnect.
//
// A pure state machine: no sockets, clocks, replies or host. The owner enters callers, asks what to do, and ends
// rounds; it keeps its own data (replies, blobs, timers) under the RoundId. One instance for each kind of operation.
// Loop thread only.
//
// The same set of processes may run the same collective again before the last one is over everywhere (the _nb forms),
// so each signature has a queue of rounds. A caller joins the first round that it has not joined yet. A round that
// was ended without some members (a timeout, a death) stays in the queue until they have called too or have left, so
// that a late caller gets that round's status instead of being mixed into the next one. A round that all members have
// joined is forgotten when it ends, and a signature without rounds leaves nothing behind.
//
// A member that joins and then ends has joined: the others need not fail for it. That changes when another process
// takes its rank before the round is complete: it begins with the program's first call, so it is the one that the round
// waits for, and what its predecessor has joined counts no longer.
//
// A process may have opened OpenShares::kMost rounds that are not over, and as many that have ended and stay: a further
// call that would open one is refused, and of the ended ones the oldest is forgotten. An event about a namespace looks
// only at rounds that name it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/protocol/proc_set.h"
#include "server/base/budget.h"
#include "server/base/member.h"
#include "server/collectives/namespace_index.h"
#include "server/collectives/open_shares.h"

namespace pmix::server {

class Collective {
  public:
    using RoundId = uint64_t;

    enum class State : uint8_t {
        waiting,     // others are missing, or the owner runs the round already
        complete,    // all members have joined: run it. Returned once for each round
        broken,      // a member is gone: end it or run it with that status. Returned once for each round, instead of
                     // complete
        over,        // the round had ended before this caller joined: status is the result
        not_member,  // the caller is not in the set
        refused,     // the caller has opened too many rounds that are not over
    };
    struct Entered {
        State state = State::not_member;
        RoundId round = 0;
        bool first = false;  // opened the round
        pmix_status_t status = PMIX_SUCCESS;
    };
    struct Event {
        RoundId round;
        State state;  // complete or broken
    };

    explicit Collective(const MemberView& view) noexcept : view_(view) {}

    // every_clone: the caller's rank has joined only when all processes connected under it have.
    // charge: for a round that this caller opens, until it is forgotten; of one that has ended, memory_of() is kept.
    Entered enter(const Signature& signature, MemberId member, bool every_clone = false, Charge charge = {});
    // All of these, or those that are there yet, have joined at once, elsewhere, a round of a set without any
    // (is_idle()): opens it.
    Entered enter_all(const Signature& signature, const std::vector<MemberId>& members, Charge charge = {});
    // No round of this set is open, or stays.
    bool is_idle(const Signature& signature) const { return queues_.count(signature) == 0; }
    // What a round takes in memory, about; an open one has, beside it, the array that its host is given.
    static size_t memory_of(const Signature& signature) noexcept;
    static size_t open_memory_of(const Signature& signature) noexcept;

    // A process has left. Rounds that it has not joined are broken.
    std::vector<Event> member_gone(MemberId member);
    // Another process takes the place of one that has left. Open rounds that nobody else had joined: they are
    // forgotten.
    std::vector<RoundId> begins_anew(MemberId member);
    // Open rounds that the member has joined with some of its processes only, because it takes part with all of them.
    std::vector<RoundId> partly_joined(MemberId member) const;
    // One of several processes of a rank has ended that had joined this round, which waits for all of them.
    void process_gone(RoundId round, MemberId member) noexcept;
    // The number of expected members, or of a rank's processes, may have changed (a registration, an end): of all
    // rounds, of those that name a namespace, of these.
    std::vector<Event> recheck();
    std::vector<Event> recheck(std::string_view nspace);
    std::vector<Event> recheck(const std::vector<RoundId>& ids);
    // As recheck(), and events of open rounds that were returned before are returned again: they may have been lost.
    std::vector<Event> report_again();

    // Ends the round, for those that have joined and for those that call late. Unknown rounds are ignored: an answer
    // that is given twice, or after a timeout, has no effect.
    void end(RoundId round, pmix_status_t status) noexcept;

    // The namespace ends: so do all rounds that name it, with this status. Those that were open, for the owner to
    // answer. Members of other namespaces may be late for them; recheck(nspace) when the view does not know the
    // namespace any more. number: of the namespace's members.
    std::vector<RoundId> nspace_ended(std::string_view nspace, uint32_t number, pmix_status_t status);
    // A namespace of that name is new: the ended rounds of an earlier instance are dropped.
    void nspace_new(std::string_view nspace);

    // The members of which all processes have joined. Unknown: none.
    std::vector<MemberId> joined(RoundId round) const;
    bool is_open(RoundId round) const noexcept;
    // Is a round open that names it?
    bool names(std::string_view nspace) const;
    const Signature* signature_of(RoundId round) const noexcept;
    size_t signatures() const noexcept { return queues_.size(); }
    size_t rounds() const noexcept { return rounds_.size(); }
    // How many rounds were looked at, to find one that a caller joins or that is named, or for an event. For tests.
    uint64_t examined() const noexcept { return examined_; }

  private:
    struct Joined {
        MemberId member;
        uint32_t processes;
        bool whole;
    };
    struct Round {
        RoundId id;
        std::vector<Joined> joined;
        bool reported = false;  // complete or broken was returned
        bool ended = false;
        pmix_status_t status = PMIX_SUCCESS;
        Charge charge{};
        MemberId opener = 0;
        OpenShares::Share share{};
        NamespaceIndex::Entry entry{};
    };
    using Queue = std::deque<Round>;  // ids ascend
    using Queues = std::map<Signature, Queue>;

    Round* open(Queues::iterator queue, MemberId opener, Charge&& charge);
    static Joined* find(Round& round, MemberId member) noexcept;
    Round* find(uint64_t id) const noexcept;
    size_t whole(const Round& round) const noexcept;
    bool missing_someone_gone(const Signature& signature, const Round& round) const;
    State judge(const Signature& signature, Round& round);
    void leave(Round& round, MemberId member) noexcept;
    void count_processes(Round& round);
    void joined_whole(RoundId id, MemberId member) noexcept;
    void end(Queues::iterator queue, Round& round, pmix_status_t status) noexcept;
    void stays(RoundId id) noexcept;
    void forget(RoundId id) noexcept;
    void retire(Queues::iterator queue);
    static Queue::iterator position(Queue& rounds, RoundId id) noexcept;

    const MemberView& view_;
    NamespaceIndex by_nspace_;
    OpenShares shares_;
    std::map<MemberId, std::set<RoundId>> partial_;   // open rounds that it has joined, and not with all its processes
    std::map<MemberId, std::set<RoundId>> ended_of_;  // by the process that opened them: ended rounds that stay
    Queues queues_;
    std::unordered_map<RoundId, Queues::iterator> rounds_;  // open and ended ones, as long as they are in a queue
    RoundId next_ = 1;
    mutable uint64_t examined_ = 0;
};

}  // namespace pmix::server
