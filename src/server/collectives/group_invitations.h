// SPDX-License-Identifier: BSD-3-Clause
// Invitations that processes of this node have sent or been sent, and what is due when one of them ends.
//
// Fed with the events as they pass: the invitation, the answers, the end of it. Loop thread only. It only looks: what
// it finds out (an invited process that has ended, an inviter that has) goes to those concerned as an event.
//
// Each user's processes have so many open invitations (kMaxOpenOfUser), and the bytes of them are the user's. What can
// go wrong: where there is one more, the server forgets the oldest one of the same user, and one that the user's
// account cannot take is not remembered. The ends of the invited processes are not reported then.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/protocol/messages.h"
#include "server/base/report_rows.h"
#include "server/namespaces/registry.h"

namespace pmix::server {

class Groups;

class GroupInvitations {
  public:
    // Of inviters that never end what they began.
    static constexpr size_t kMaxOpenOfUser = 1024;

    GroupInvitations(Registry& registry, Budget& budget, Groups& groups)
        : registry_(registry), budget_(budget), groups_(groups) {}

    void heard(pmix_status_t code, const common::ProcId& source, const common::InfoList& infos);
    // Leads or is invited.
    bool has_part(const common::ProcId& proc, std::string_view group) const noexcept;
    void gone(const common::ProcId& proc);
    // A group has formed, or its forming has ended, among these: their invitations to it are over.
    void over(std::string_view group, const common::ProcList& procs);
    // A row for each that is open: the processes that were asked, and as far as this server has heard those that have
    // answered. The server of the inviter hears of all, the others of the processes of their nodes.
    void report(ReportRows& rows) const;

  private:
    struct Invitation {
        std::string group;
        common::ProcId leader;
        std::optional<uint32_t> user{};  // of the inviter; none: of a job of which this server has not been told a user
        std::set<common::ProcId> invited{};
        std::set<common::ProcId> declined{};
        std::set<common::ProcId> accepted{};
        int64_t began_ms = 0;
        bool leader_gone = false;
        std::shared_ptr<Charge> charge{};  // shared by copies that are made for a moment
    };
    void tell_leader(const Invitation& invitation, const common::ProcId& failed);
    void tell_invited(const Invitation& invitation, const common::ProcList& targets);
    bool has_gone(const common::ProcId& proc) const noexcept;
    bool is_local(const common::ProcId& proc) const noexcept;

    std::optional<uint32_t> user_of(const common::ProcId& leader) const;
    void forget_oldest_of(std::optional<uint32_t> user);

    Registry& registry_;
    Budget& budget_;
    Groups& groups_;
    std::vector<Invitation> open_;  // oldest first
};

}  // namespace pmix::server
