// SPDX-License-Identifier: BSD-3-Clause
// Invitations of clients before OpenPMIx 7, which send the events of them by themselves. Their events lack two things
// that later ones have: an answer does not name the group, and the announcement does not name the members. Both are
// added here, so that the rest of the server has one form of these events.
//
// Owned by an OpenPmixTranslator. Loop thread only. What can go wrong: beyond kMost invitations the oldest is
// forgotten, and so is one that the user's account cannot take: its events go on as the client has sent them. No memory
// (std::bad_alloc).
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "common/protocol/messages.h"
#include "server/base/budget.h"

namespace pmix::server {

class EarlierInvitations {
  public:
    static constexpr size_t kMost = 64;

    // The client has invited these, each of them named.
    void sent(std::string_view group, common::ProcList asked, const common::ProcId& self, const AccountPtr& account);
    // An event for the client: an invitation, or an answer to its own.
    void heard(const common::EventNotify& event);
    // The group that an answer to this inviter is about: of several, the one that has waited longest. Empty: none.
    std::string answered(const common::ProcId& inviter);
    // Those that have accepted, in the order in which they were asked. The invitation is over. Empty: none is known.
    common::ProcList take_members(std::string_view group);

  private:
    struct Sent {
        std::string group;
        common::ProcList asked;
        std::map<common::ProcId, bool> accepted;
        Charge charge;
    };
    struct Received {
        std::string group;
        common::ProcId inviter;
        bool answered = false;
    };
    std::deque<Sent> sent_;          // oldest first
    std::deque<Received> received_;  // oldest first
};

}  // namespace pmix::server
