// SPDX-License-Identifier: BSD-3-Clause
// The events of groups, as far as they concern the library itself: constructs that a member's end is decided in, and
// invitations.
//
// Owns the invitations sent and being answered (group_invite). Loop thread, except listen(). Events reach the library
// after the process's own handlers have had them, with what those returned: that is how a handler decides. The server
// is asked for these events at the first call that needs them, under a reference of the library's own.
//
// What can go wrong: nothing that is not some call's status.
#pragma once

#include <pmix.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "common/base/mutex.h"
#include "common/protocol/group_calls.h"
#include "common/protocol/messages.h"
#include "common/values/value.h"

namespace pmix::client {

class GroupInvites;
class Session;

// How a group call ends: its status, and its results for success in full or in part.
using GroupDone = std::function<void(pmix_status_t status, common::InfoList&& results)>;

// What the handlers of one event made of it.
struct GroupVerdict {
    bool handled = false;  // at least one has seen it
    bool abort = false;    // one ended with PMIX_GROUP_CONSTRUCT_ABORT
    bool leads = false;    // one returned PMIX_GROUP_LEADER
    common::ProcList replacements;
};

class GroupEvents {
  public:
    explicit GroupEvents(Session& session);
    ~GroupEvents();
    GroupEvents(const GroupEvents&) = delete;
    GroupEvents& operator=(const GroupEvents&) = delete;

    // Asks for the events of groups, once. Any thread; answered before whatever is asked afterwards. An error: there
    // was no memory, and an invitation would get no answer.
    pmix_status_t listen();
    // Events of groups, when the handlers are done. replayed: raised before listen() was called. Loop.
    void heard(pmix_status_t code, const common::ProcId& source, const common::InfoList& infos,
               const common::InfoList& results, bool replayed);
    // Nothing comes any more. Loop.
    void shut(pmix_status_t why) noexcept;
    GroupInvites& invites() noexcept { return *invites_; }

  private:
    pmix_status_t register_events(int attempts);
    void register_later(int attempts, pmix_status_t why);
    void stop_listening(pmix_status_t why) noexcept;
    void tell(std::shared_ptr<common::GroupRequest> decision, int attempts);
    void tell_later(std::shared_ptr<common::GroupRequest> decision, int attempts);

    Session& session_;
    std::unique_ptr<GroupInvites> invites_;
    common::Mutex listen_mutex_;
    std::atomic<bool> listening_{false};
    const std::shared_ptr<char> alive_ = std::make_shared<char>();  // for timers
};

}  // namespace pmix::client
