// SPDX-License-Identifier: BSD-3-Clause
// Invitations that processes of this node have sent or been sent, and what is due when one of them ends.
//
// Fed with the events as they pass: the invitation, the answers, the end of it. Loop thread only. It only looks: what
// it finds out (an invited process that has ended, an inviter that has) goes to those concerned as an event.
//
// Each user's processes have so many open invitations (kMaxOpenOfUser), and the bytes of them are the user's. What can
// go wrong: where there is one more, the server forgets the oldest one of the same user, and one that the user's
// account cannot take is not remembered. The ends of the invited processes are not reported then. What there is no
// memory to tell stays due, and is told when the server recovers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/protocol/messages.h"
#include "server/base/report_rows.h"
#include "server/base/scheduler.h"
#include "server/collectives/early_acceptances.h"
#include "server/namespaces/registry.h"

namespace pmix::server {

class Groups;

class GroupInvitations {
  public:
    // Of inviters that never end what they began.
    static constexpr size_t kMaxOpenOfUser = 1024;

    GroupInvitations(Scheduler& scheduler, Registry& registry, Budget& budget, Groups& groups)
        : scheduler_(scheduler),
          registry_(registry),
          budget_(budget),
          groups_(groups),
          early_(registry, budget, groups) {}

    void heard(pmix_status_t code, const common::ProcId& source, const common::InfoList& infos);
    // The inviter has answered the acceptance of an invitation that is over.
    void answered(std::string_view group, const common::ProcId& leader, const common::InfoList& infos);
    // Of an open invitation: each of these is the inviter, or has accepted.
    bool have_accepted(const common::ProcId& leader, std::string_view group,
                       const common::ProcList& procs) const noexcept;
    AccountPtr account_of(const common::ProcId& leader) const;
    // Leads or is invited.
    bool has_part(const common::ProcId& proc, std::string_view group) const noexcept;
    void gone(const common::ProcId& proc);
    // The same of a process of another node, for those of this node that wait for it.
    void gone_elsewhere(const common::ProcId& proc);
    // Somebody here waits for its answer, or for its invitation.
    bool waits_for(const common::ProcId& proc) const noexcept;
    // The processes of one namespace that somebody here waits for.
    common::ProcList awaited_of(std::string_view nspace) const;
    // What was not told for want of memory.
    void recover();
    // A group has formed, or its forming has ended, among these: their invitations to it are over.
    void over(std::string_view group, const common::ProcList& procs);
    // A row for each that is open: the processes that were asked, and as far as this server has heard those that have
    // answered. The server of the inviter hears of all, the others of the processes of their nodes.
    void report(ReportRows& rows) const;

  private:
    enum class Answer : uint8_t { none, accepted, declined };
    struct Invited {
        Answer answer = Answer::none;
        bool gone = false;        // its end has been noted here
        bool end_due = false;     // the leader is to be told of it
        bool leader_due = false;  // it is to be told that the leader has gone
    };
    struct Invitation {
        std::string group;
        common::ProcId leader;
        std::optional<uint32_t> user{};  // of the inviter; none: of a job of which this server has not been told a user
        std::map<common::ProcId, Invited> invited{};
        int64_t began_ms = 0;
        bool leader_gone = false;
        bool its_server_tells = false;  // of that; otherwise this one tells those of its node
        bool due = false;               // something is to be told
        Charge charge{};
    };
    using Open = std::vector<Invitation>;
    Open::iterator find(std::string_view group, const common::ProcId& leader) noexcept;
    void invited(std::string_view group, const common::ProcId& leader, const common::ProcList& targets);
    static void note_end(Invitation& invitation, Invited& invited) noexcept;
    static void note_end_of_leader(Invitation& invitation) noexcept;
    void tell_due();
    // Of an invitation: false when nothing is due any more.
    bool tell_one(Invitation& invitation);

    void forget_oldest_of(std::optional<uint32_t> user);

    Scheduler& scheduler_;
    Registry& registry_;
    Budget& budget_;
    Groups& groups_;
    Open open_;  // oldest first
    EarlyAcceptances early_;
    bool telling_ = false;
};

}  // namespace pmix::server
