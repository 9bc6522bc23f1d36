// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Group_invite and _join: groups that form by invitation, over events.
//
// The inviter sends PMIX_GROUP_INVITED, counts the answers (accepted, declined, failed; its handlers decide about the
// last two), and then tells those who accepted the membership (PMIX_GROUP_MEMBERSHIP_UPDATE). All of them then
// construct the group by the collective of client/groups/group_api, so that an invited group is the same as any other.
// The inviter takes part in the collective; it is a member only if it is in its own list. It announces
// PMIX_GROUP_CONSTRUCT_COMPLETE to the members, or, when there is no group, PMIX_GROUP_CONSTRUCT_ABORT to itself and to
// all that it has asked, those who declined included. With PMIX_GROUP_LEADER that event names its source: it is about
// this inviter's group and no other of the name. A process that accepts after that is answered by the same event, which
// its handlers see only if they have not been told yet.
// All state belongs to the loop; the calls may come from any thread. What can go wrong: PMIX_ERR_TIMEOUT,
// PMIX_GROUP_CONSTRUCT_ABORT for all, PMIX_GROUP_LEADER_FAILED for those who wait for an inviter that has ended and has
// no successor, PMIX_ERR_NOMEM for a call whose step has none, and what the collective says.
#pragma once

#include <deque>
#include <string>
#include <utility>

#include "client/groups/group_events.h"
#include "client/groups/named_calls.h"
#include "transport/event_loop.h"

namespace pmix::client {

class GroupInvites {
  public:
    GroupInvites(Session& session, GroupEvents& groups) : session_(session), groups_(groups) {}

    // Any thread. done runs on the loop, once. limit: what is left of the time that the infos give.
    // An error: it has not begun, and done does not run.
    pmix_status_t invite(std::string name, common::ProcList members, common::InfoList infos, transport::Deadline limit,
                         GroupDone done);
    pmix_status_t join(std::string name, common::ProcId leader, bool accept, common::InfoList infos, GroupDone done);

    // Loop.
    void heard(pmix_status_t code, const std::string& name, const common::ProcId& source, const common::InfoList& infos,
               const GroupVerdict& verdict, bool replayed);
    // Ends all that is under way: no answer can come any more. After shut() nothing begins either.
    void server_gone(pmix_status_t why) noexcept;
    void shut(pmix_status_t why) noexcept;

  private:
    struct Invite {
        uint64_t id = 0;
        std::string name;
        common::ProcList members;  // in the order of the group's ranks; those that do not accept are taken out
        common::ProcList pending;
        common::ProcList invited;  // all that were ever invited and have not ended: they hear of an abort
        common::InfoList infos;
        GroupDone done;
        transport::Deadline limit = transport::Deadline::never();
        transport::TimerId timer = 0;
        bool optional = false;
        bool smaller = false;  // somebody did not come
        bool forming = false;
    };
    struct Join {
        uint64_t id = 0;
        std::string name;
        common::ProcId leader;
        common::InfoList infos;
        GroupDone done;
        transport::Deadline limit = transport::Deadline::never();
        transport::TimerId timer = 0;   // for the limit
        transport::TimerId orphan = 0;  // its inviter has ended
        bool forming = false;
    };
    // An invitation that we got: who was invited with us, should we have to take over, and what became of the inviter
    // before we answered.
    struct Invitation {
        std::string name;
        common::ProcId leader;
        common::ProcList invited;
        common::InfoList directives;  // of the inviter, for the construct
        common::ProcId successor;
        bool leader_gone = false;
        bool leads = false;   // what our own handlers made of that: take over,
        bool aborts = false;  // or let there be no group
    };

    template <class Step>
    void or_give_up(uint64_t invite, Step&& step);
    template <class Step>
    void or_end_join(uint64_t join, Step&& step);
    void start_invite(Invite&& invite);
    void begins(const std::string& name) noexcept;
    void start_join(Join&& join, bool accept);
    void decline(Join&& join);
    void send_acceptance(Join& join);
    void invite_heard(Invite& invite, pmix_status_t code, const common::ProcId& who, const GroupVerdict& verdict);
    void join_heard(Join& join, pmix_status_t code, const common::ProcId& source, const common::InfoList& infos,
                    const GroupVerdict& verdict);
    void watch_limit(Invite& invite);
    void ask(Invite& invite, const common::ProcList& targets);
    void check(Invite& invite);
    void form(Invite& invite);
    // heard: by an event, which this process's handlers have had.
    void give_up(Invite& invite, pmix_status_t status, bool heard = false);
    void answer_late(const std::string& name, const common::ProcId& source);
    void announce_abort(const std::string& name, const common::ProcList& targets, common::InfoList infos = {});
    void finish(Invite& invite, pmix_status_t status, common::InfoList&& results);
    void follow(Join& join, const common::InfoList& infos);
    void formed(Join& join, const common::InfoList& infos);
    void take_over(Join& join);
    void orphaned(Join& join);
    void leader_failed(Join& join, bool abort, bool lead);
    void finish(Join& join, pmix_status_t status, common::InfoList&& results);
    // done: the status with which the server has taken the event, on the loop, not before this returns.
    using Taken = std::function<void(pmix_status_t status)>;
    void announce(pmix_status_t code, const std::string& name, const common::ProcList& targets,
                  common::InfoList infos = {}, Taken done = {});
    // The other side waits for the event: without it the call would.
    Taken or_give_up_invite(uint64_t invite);
    Taken or_finish_join(uint64_t join);

    Session& session_;
    GroupEvents& groups_;
    NamedCalls<Invite> invites_;
    NamedCalls<Join> joins_;
    std::deque<Invitation> received_;
    std::deque<std::pair<std::string, common::ProcList>> given_up_;  // the name, and those that were told
    // Invitations of this process that are over: the name, and the members if there is a group. What those accept next
    // is an invitation that is still to come.
    std::deque<std::pair<std::string, common::ProcList>> ended_;
    uint64_t next_ = 1;  // a name may be used again before the collective of its last use has been answered
    bool shut_ = false;
    const std::shared_ptr<char> alive_ = std::make_shared<char>();  // for events on their way
};

}  // namespace pmix::client
