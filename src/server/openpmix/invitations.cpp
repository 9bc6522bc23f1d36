// SPDX-License-Identifier: BSD-3-Clause
#include "server/openpmix/invitations.h"

#include <algorithm>
#include <new>
#include <utility>

#include "common/protocol/group_calls.h"
#include "common/values/info_view.h"
#include "common/values/proc_array.h"

namespace pmix::server {

using common::InfoList;
using common::InfoView;
using common::ProcList;

namespace {

// What an inviter wants of the construct is beside what the event itself has.
bool is_of_the_event(std::string_view key) noexcept {
    return key == PMIX_GROUP_ID || key == PMIX_GROUP_MEMBERSHIP || key == PMIX_EVENT_CUSTOM_RANGE ||
           key == PMIX_EVENT_NON_DEFAULT;
}

common::GroupRequest construct_of(const std::string& group, const common::ProcId& inviter, ProcList members,
                                  InfoView said) {
    InfoList infos, who;
    for (const pmix_info_t& info : said)
        if (!is_of_the_event(common::key_view(info)) && infos.append(info) != PMIX_SUCCESS) throw std::bad_alloc();
    const pmix_proc_t leader = inviter.to_c();
    if (who.append(PMIX_GROUP_LEADER, &leader, PMIX_PROC) != PMIX_SUCCESS) throw std::bad_alloc();
    common::GroupRequest request;
    request.call = common::GroupCall::construct;
    request.name = group;
    request.procs = std::move(members);
    request.infos = std::move(infos);
    request.directives = std::move(who);
    return request;
}

}  // namespace

// Inviters with this library name the members with the invitation; for others their server does all that there is.
bool OpenPmixInvitations::heard(const common::EventNotify& event) {
    if (!common::is_group_event(event.status)) return false;
    const InfoView infos(event.infos.data(), event.infos.size());
    std::string_view group;
    if (infos.get(PMIX_GROUP_ID, &group) != PMIX_SUCCESS || group.empty()) return false;
    if (group.size() > common::kMaxNspaceLength) return false;  // no group can have that name
    if (event.status == PMIX_GROUP_LEADER_SELECTED) return selected(std::string(group), event.source);
    const auto at = std::find_if(received_.begin(), received_.end(),
                                 [&](const Invitation& i) { return i.group == group && i.inviter == event.source; });
    const pmix_info_t* said = infos.find(PMIX_GROUP_MEMBERSHIP);
    if (event.status == PMIX_GROUP_INVITED) {
        if (said == nullptr || (at != received_.end() && event.replay_for != 0)) return false;
        if (at != received_.end()) received_.erase(at);
        if (received_.size() >= kMost) received_.pop_front();
        received_.push_back({std::string(group), event.source});
        return false;
    }
    if (at == received_.end()) return false;
    if (event.status == PMIX_GROUP_LEADER_FAILED) at->leader_gone = true;
    const bool over = event.status == PMIX_GROUP_CONSTRUCT_ABORT || event.status == PMIX_GROUP_CONSTRUCT_COMPLETE;
    const bool forms = event.status == PMIX_GROUP_MEMBERSHIP_UPDATE && at->accepted;
    ProcList members;
    if (forms && said != nullptr && common::read_proc_array(said->value, members))
        constructs_.push_back(construct_of(at->group, at->inviter, std::move(members), infos));
    if (over || forms) received_.erase(at);
    return !constructs_.empty();
}

bool OpenPmixInvitations::selected(const std::string& group, const common::ProcId& leader) {
    for (Invitation& i : received_) {
        if (i.group != group || !i.leader_gone) continue;
        if (i.accepted) acceptances_.push_back({group, leader});
        i.inviter = leader;
        i.leader_gone = false;
        return i.accepted;
    }
    return false;
}

bool OpenPmixInvitations::accepted(const std::string& group, const common::ProcId& inviter) noexcept {
    for (Invitation& i : received_) {
        if (i.group != group || !(i.inviter == inviter)) continue;
        i.accepted = true;
        return true;
    }
    return false;
}

std::vector<common::GroupRequest> OpenPmixInvitations::take_constructs() {
    return std::exchange(constructs_, {});
}

std::vector<OpenPmixInvitations::Acceptance> OpenPmixInvitations::take_acceptances() {
    return std::exchange(acceptances_, {});
}

}  // namespace pmix::server
