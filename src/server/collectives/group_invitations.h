// SPDX-License-Identifier: BSD-3-Clause
// Invitations that processes of this node have sent or been sent, and what is due when one of them ends.
//
// Fed with the events as they pass: the invitation, the answers, the end of it. Loop thread only. It only looks: what
// it finds out (an invited process that has ended, an inviter that has) goes to those concerned as an event.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/protocol/messages.h"
#include "server/namespaces/registry.h"

namespace pmix::server {

class Groups;

class GroupInvitations {
  public:
    GroupInvitations(Registry& registry, Budget& budget, Groups& groups)
        : registry_(registry), budget_(budget), groups_(groups) {}

    void heard(pmix_status_t code, const common::ProcId& source, const common::InfoList& infos);
    // Leads or is invited.
    bool has_part(const common::ProcId& proc, std::string_view group) const noexcept;
    void gone(const common::ProcId& proc);
    // A group has formed, or its forming has ended, among these: their invitations to it are over.
    void over(std::string_view group, const common::ProcList& procs);

  private:
    struct Invitation {
        std::string group;
        common::ProcId leader;
        std::set<common::ProcId> invited;
        std::set<common::ProcId> declined;
        bool leader_gone = false;
        std::shared_ptr<Charge> charge{};  // shared by copies that are made for a moment
    };
    void tell_leader(const Invitation& invitation, const common::ProcId& failed);
    void tell_invited(const Invitation& invitation, const common::ProcList& targets);
    bool has_gone(const common::ProcId& proc) const noexcept;

    // Of the user whose process invites. Null: a process of another node.
    AccountPtr account_of(const common::ProcId& leader);

    Registry& registry_;
    Budget& budget_;
    Groups& groups_;
    std::vector<Invitation> open_;
};

}  // namespace pmix::server
