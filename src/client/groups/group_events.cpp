// SPDX-License-Identifier: BSD-3-Clause
#include "client/groups/group_events.h"

#include <memory>
#include <new>
#include <utility>

#include "client/events/event_observer.h"
#include "client/groups/group_invite.h"
#include "client/session/session.h"
#include "common/values/info_view.h"
#include "common/values/proc_array.h"

namespace pmix::client {

using common::Command;
using common::GroupCall;
using common::InfoList;
using common::InfoView;
using common::MutexLock;
using common::ProcId;

namespace {

constexpr int kAttempts = 20;
constexpr int64_t kPauseMs = 20;

// The server, or this process, had no memory for it or no room for one more request; a server without memory may be
// unable to name the reason. That may change in a moment.
bool is_lack(pmix_status_t rc) noexcept {
    return rc == PMIX_ERR_NOMEM || rc == PMIX_ERR_OUT_OF_RESOURCE || rc == PMIX_ERROR;
}

GroupVerdict read_verdict(const InfoList& results) {
    GroupVerdict verdict;
    verdict.handled = results.size() != 0;  // each handler leaves its status there
    for (const pmix_info_t& info : results) {
        std::string_view key = common::key_view(info);
        if (info.value.type == PMIX_STATUS && info.value.data.status == PMIX_GROUP_CONSTRUCT_ABORT)
            verdict.abort = true;
        if (key == PMIX_GROUP_LEADER && common::truth_of(info.value) != PMIX_BOOL_FALSE) verdict.leads = true;
        if (key == PMIX_PROCID || key == PMIX_GROUP_ADD_MEMBERS)
            common::read_proc_array(info.value, verdict.replacements);
    }
    return verdict;
}

}  // namespace

GroupEvents::GroupEvents(Session& session)
    : session_(session), invites_(std::make_unique<GroupInvites>(session, *this)) {}

GroupEvents::~GroupEvents() = default;

pmix_status_t GroupEvents::listen() {
    if (listening_.load(std::memory_order_acquire)) return PMIX_SUCCESS;
    // A second caller continues when the request has been sent: its own next request must not reach the server before
    // it.
    MutexLock lock(listen_mutex_);
    if (listening_.load(std::memory_order_relaxed)) return PMIX_SUCCESS;
    const pmix_status_t rc = register_events(kAttempts);
    listening_.store(rc == PMIX_SUCCESS, std::memory_order_release);
    return is_lack(rc) ? rc : PMIX_SUCCESS;
}

// A refusal for want of memory is not the end at once.
pmix_status_t GroupEvents::register_events(int attempts) {
    common::RegisterEventsRequest request;
    request.codes.assign(std::begin(common::kGroupEvents), std::end(common::kGroupEvents));
    request.reference = EventObserver::kReference;
    return session_.ask_nb<Command::register_events>(request, [this, attempts](pmix_status_t rc, common::Nothing&) {
        if (is_lack(rc)) register_later(attempts - 1, rc);
    });
}

// Without these events invitations that are under way may wait for ever. A server of OpenPMIx may send them even so.
// The next call begins anew.
void GroupEvents::stop_listening(pmix_status_t why) noexcept {
    listening_.store(false, std::memory_order_release);
    if (!session_.server_has_more()) invites_->server_gone(why);
}

void GroupEvents::register_later(int attempts, pmix_status_t why) {
    transport::assert_on_loop();
    if (attempts == 0) return stop_listening(why);
    try {
        session_.loop().after(kPauseMs, [this, alive = std::weak_ptr<char>(alive_), attempts] {
            if (alive.expired()) return;
            pmix_status_t rc = PMIX_ERR_NOMEM;
            try {
                rc = register_events(attempts);
            } catch (const std::bad_alloc&) {
            }
            if (is_lack(rc)) register_later(attempts - 1, rc);
        });
    } catch (const std::bad_alloc&) {
        stop_listening(PMIX_ERR_NOMEM);
    }
}

void GroupEvents::heard(pmix_status_t code, const ProcId& source, const InfoList& infos, const InfoList& results,
                        bool replayed) {
    std::string_view name;
    if (InfoView(infos).get(PMIX_GROUP_ID, &name) != PMIX_SUCCESS || name.empty()) return;
    const GroupVerdict verdict = read_verdict(results);
    // Of events raised before this process listened, only these still hold: the failure of an inviter, the selection of
    // its successor, and an invitation.
    if (replayed && code != PMIX_GROUP_LEADER_FAILED && code != PMIX_GROUP_LEADER_SELECTED &&
        code != PMIX_GROUP_INVITED)
        return;
    if (code == PMIX_GROUP_MEMBER_FAILED || code == PMIX_GROUP_LEADER_FAILED) {
        if (!replayed && session_.group_membership().is_constructing(name)) {
            auto decision = std::make_shared<common::GroupRequest>();
            decision->call = verdict.abort ? GroupCall::abort : GroupCall::decide;
            decision->name = name;
            InfoList leads;
            if (verdict.leads) leads.append_flag(PMIX_GROUP_LEADER, true);
            decision->infos = std::move(leads);
            tell(std::move(decision), kAttempts);
        }
    }
    invites_->heard(code, std::string(name), source, infos, verdict, replayed);
}

// All callers of the construct wait for it, so it is repeated, after a pause, where there was no memory for it.
void GroupEvents::tell(std::shared_ptr<common::GroupRequest> decision, int attempts) {
    const auto answered = [this, decision, attempts](pmix_status_t rc) {
        transport::assert_on_loop();
        if (is_lack(rc) && attempts > 1 && session_.group_membership().is_constructing(decision->name))
            tell_later(decision, attempts - 1);
    };
    pmix_status_t rc = PMIX_ERR_NOMEM;
    try {
        rc = session_.ask_nb<Command::group>(
            *decision, [answered](pmix_status_t status, common::GroupReply&) { answered(status); });
    } catch (const std::bad_alloc&) {
    }
    if (rc != PMIX_SUCCESS) answered(rc);
}

void GroupEvents::tell_later(std::shared_ptr<common::GroupRequest> decision, int attempts) {
    transport::assert_on_loop();
    try {
        session_.loop().after(kPauseMs, [this, alive = std::weak_ptr<char>(alive_), decision, attempts] {
            if (!alive.expired()) tell(decision, attempts);
        });
    } catch (const std::bad_alloc&) {
        tell(std::move(decision), attempts);
    }
}

void GroupEvents::shut(pmix_status_t why) noexcept {
    invites_->shut(why);
}

}  // namespace pmix::client
