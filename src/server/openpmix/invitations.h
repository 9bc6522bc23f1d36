// SPDX-License-Identifier: BSD-3-Clause
// Invitations that a client of OpenPMIx was sent by inviters with this library. Their members construct the group when
// the inviter names them; such a client waits for the announcement instead, so the construct is called for it. Where
// the inviter ends and another one leads in its place, members accept once more, and so does such a client.
//
// Owned by an OpenPmixTranslator. Loop thread only. What can go wrong: beyond kMost invitations the oldest is forgotten
// (the inviter's timeout ends it then); no memory (std::bad_alloc).
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "common/protocol/messages.h"

namespace pmix::server {

class OpenPmixInvitations {
  public:
    static constexpr size_t kMost = 64;

    struct Acceptance {
        std::string group;
        common::ProcId leader;
    };

    // An event for the client, whether it has registered for it or not. True: there is something to take.
    bool heard(const common::EventNotify& event);
    // The client accepts. True: PMIX_GROUP_MEMBERSHIP_UPDATE of its inviter is to be heard.
    bool accepted(const std::string& group, const common::ProcId& inviter) noexcept;
    // To be asked of the server for the client.
    std::vector<common::GroupRequest> take_constructs();
    // To be announced for the client.
    std::vector<Acceptance> take_acceptances();

  private:
    // Another process leads in the place of one that has ended.
    bool selected(const std::string& group, const common::ProcId& leader);

    struct Invitation {
        std::string group;
        common::ProcId inviter;
        bool accepted = false;
        bool leader_gone = false;
    };
    std::deque<Invitation> received_;  // oldest first
    std::vector<common::GroupRequest> constructs_;
    std::vector<Acceptance> acceptances_;
};

}  // namespace pmix::server
