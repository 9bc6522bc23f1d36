// SPDX-License-Identifier: BSD-3-Clause
#include "server/openpmix/earlier_invitations.h"

#include <algorithm>
#include <utility>

#include "common/protocol/group_calls.h"
#include "common/values/info_view.h"

namespace pmix::server {

using common::ProcId;
using common::ProcList;

void EarlierInvitations::sent(std::string_view group, ProcList asked, const ProcId& self, const AccountPtr& account) {
    std::erase_if(sent_, [&](const Sent& s) { return s.group == group; });
    if (sent_.size() >= kMost) sent_.pop_front();
    Sent made;
    constexpr size_t kOfEach = 2 * sizeof(ProcId) + 4 * sizeof(void*);
    if (!made.charge.set(account, sizeof made + group.size() + asked.size() * kOfEach)) return;
    made.group = group;
    made.asked = std::move(asked);
    for (const ProcId& p : made.asked) made.accepted[p] = p == self;
    sent_.push_back(std::move(made));
}

void EarlierInvitations::heard(const common::EventNotify& event) {
    if (!common::is_group_event(event.status)) return;
    const common::InfoView infos(event.infos.data(), event.infos.size());
    std::string_view group;
    if (infos.get(PMIX_GROUP_ID, &group) != PMIX_SUCCESS || group.empty() || group.size() > common::kMaxNspaceLength)
        return;
    if (event.status == PMIX_GROUP_INVITED) {
        const auto same = [&](const Received& r) { return r.group == group && r.inviter == event.source; };
        // From the cache, for a later handler: it may have been answered.
        if (event.replay_for != 0 && std::any_of(received_.begin(), received_.end(), same)) return;
        std::erase_if(received_, same);
        if (received_.size() >= kMost) received_.pop_front();
        received_.push_back({std::string(group), event.source});
        return;
    }
    // The invitation has ended: the next answer to its inviter is for another one.
    if (event.status == PMIX_GROUP_CONSTRUCT_ABORT || event.status == PMIX_GROUP_CONSTRUCT_COMPLETE)
        std::erase_if(received_, [&](const Received& r) { return r.group == group && r.inviter == event.source; });
    const auto at = std::find_if(sent_.begin(), sent_.end(), [&](const Sent& s) { return s.group == group; });
    if (at == sent_.end()) return;
    const bool accepts = event.status == PMIX_GROUP_INVITE_ACCEPTED;
    if (!accepts && event.status != PMIX_GROUP_INVITE_DECLINED) return;
    if (const auto one = at->accepted.find(event.source); one != at->accepted.end()) one->second = accepts;
}

std::string EarlierInvitations::answered(const ProcId& inviter) {
    for (Received& r : received_) {
        if (r.answered || !(r.inviter == inviter)) continue;
        r.answered = true;
        return r.group;
    }
    return {};
}

ProcList EarlierInvitations::take_members(std::string_view group) {
    const auto at = std::find_if(sent_.begin(), sent_.end(), [&](const Sent& s) { return s.group == group; });
    if (at == sent_.end()) return {};
    ProcList members;
    for (const ProcId& p : at->asked)
        if (at->accepted.at(p)) members.push_back(p);
    sent_.erase(at);
    return members;
}

}  // namespace pmix::server
