// SPDX-License-Identifier: BSD-3-Clause
// Invitations that a client of OpenPMIx was sent by inviters with this library. Their members construct the group when
// the inviter names them; such a client waits for the announcement instead, so the construct is called for it.
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

    // An event for the client, whether it has registered for it or not. True: take_constructs() has something.
    bool heard(const common::EventNotify& event);
    // The client accepts. True: PMIX_GROUP_MEMBERSHIP_UPDATE of its inviter is to be heard.
    bool accepted(const std::string& group, const common::ProcId& inviter) noexcept;
    // To be asked of the server for the client.
    std::vector<common::GroupRequest> take_constructs();

  private:
    struct Invitation {
        std::string group;
        common::ProcId inviter;
        bool accepted = false;
    };
    std::deque<Invitation> received_;  // oldest first
    std::vector<common::GroupRequest> constructs_;
};

}  // namespace pmix::server
