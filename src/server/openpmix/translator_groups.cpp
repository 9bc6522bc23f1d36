// SPDX-License-Identifier: BSD-3-Clause
// Invitations to groups. Clients of OpenPMIx 7 leave them to their server: the inviter asks it to invite and waits for
// the event that ends the construct, the invited send it their answer. Between the processes these are the events of
// this library's invitations, so that both kinds of clients can be in one group. The inviter's own adapter counts the
// answers; the server takes the announcement of the group for its forming (Groups::announced).
#include <algorithm>
#include <limits>
#include <new>
#include <set>
#include <utility>

#include "common/protocol/group_calls.h"
#include "common/values/info_view.h"
#include "common/values/proc_array.h"
#include "server/openpmix/translator_calls.h"

namespace pmix::server {

namespace theirs = pmix::openpmix;

using common::Command;
using common::InfoList;
using common::InfoView;
using common::ProcId;
using common::ProcList;

namespace {

void need_memory(pmix_status_t rc) {
    if (rc != PMIX_SUCCESS) throw std::bad_alloc();
}

InfoList about_group(const std::string& group, const ProcList& targets) {
    InfoList infos;
    need_memory(common::append_proc_array(infos, PMIX_EVENT_CUSTOM_RANGE, targets));
    need_memory(infos.append_flag(PMIX_EVENT_NON_DEFAULT, true));
    need_memory(infos.append_string(PMIX_GROUP_ID, group));
    return infos;
}

}  // namespace

// An event of the client's own.
common::NotifyEventRequest OpenPmixTranslator::event_of_client(pmix_status_t code, const InfoList& infos) const {
    common::NotifyEventRequest event;
    event.status = code;
    event.source = peer_.id();
    event.range = PMIX_RANGE_CUSTOM;
    event.infos = common::Infos::borrow(infos.c_array(), infos.size());
    return event;
}

// To the others by the server, and to the client itself, which is not passed back what it has notified.
void OpenPmixTranslator::announce(pmix_status_t code, const InfoList& infos) {
    pass_own(Command::notify_event, event_of_client(code, infos));
    tell_client(code, infos);
}

void OpenPmixTranslator::tell_client(pmix_status_t code, const InfoList& infos) {
    const auto wants = [&](const auto& entry) { return entry.second.codes.count(code) != 0; };
    if (std::none_of(registrations_.begin(), registrations_.end(), wants)) return;
    theirs::EventMessage message;
    message.code.value = code;
    message.source.id = peer_.id();
    message.infos.infos = common::Infos::borrow(infos.c_array(), infos.size());
    message.range.emplace().value = PMIX_RANGE_CUSTOM;
    answer(theirs::kEventTag, message);
}

// Once for all codes: the client is not passed on what it has not registered for itself. False: the server has refused.
bool OpenPmixTranslator::listen_to_groups() {
    if (std::exchange(listens_, true)) return true;
    common::RegisterEventsRequest request;
    request.codes = {PMIX_GROUP_INVITE_ACCEPTED,   PMIX_GROUP_INVITE_DECLINED, PMIX_GROUP_INVITE_FAILED,
                     PMIX_GROUP_MEMBERSHIP_UPDATE, PMIX_GROUP_LEADER_FAILED,   PMIX_GROUP_LEADER_SELECTED};
    request.reference = next_reference_++;
    Pending pending;
    pending.own = true;
    pending.command = theirs::Command::register_events;
    pass(next_own_tag_++, Command::register_events, request, std::move(pending));
    return listens_;
}

// The server may be sending.
void OpenPmixTranslator::end_waiting() {
    listens_ = false;
    for (auto& [group, invite] : invites_)
        if (!invite.numbering) invite.pending = 0;
    ends_.call_drained();
}

ProcList OpenPmixTranslator::each_of(const ProcList& procs) const {
    ProcList each;
    std::set<ProcId> given, known;
    const auto add = [&](const ProcId& proc) {
        if (known.insert(proc).second) each.push_back(proc);
    };
    for (const ProcId& p : procs) {
        if (!given.insert(p).second) continue;  // a job that is named again and again
        // The size of a job is told to those that may read its data.
        const Nspace* nspace = p.rank == PMIX_RANK_WILDCARD ? readable(p.nspace) : nullptr;
        if (nspace == nullptr || !nspace->size_known()) {
            add(p);
            continue;
        }
        for (common::Rank rank = 0; rank < nspace->size(); ++rank) add({p.nspace, rank});
    }
    return each;
}

// ---- the inviter ----

bool OpenPmixTranslator::group_invite(uint32_t tag, common::Bytes payload) {
    theirs::GroupInviteRequest request;
    if (!read(tag, payload, &request)) return true;
    const std::string group = request.group.null ? std::string() : request.group.text;
    if (group.empty() || group.size() > common::kMaxNspaceLength || request.procs.procs.empty()) {
        answer_status(tag, PMIX_ERR_BAD_PARAM);
        return true;
    }
    if (invites_.count(group) != 0 || invites_.size() >= kMostInvites) {
        answer_status(tag, invites_.count(group) != 0 ? PMIX_ERR_EXISTS : PMIX_ERR_OUT_OF_RESOURCE);
        return true;
    }
    Invite invite;
    invite.asked = each_of(request.procs.procs);
    invite.optional = request.optional.value;
    invite.assigns = request.assigns_id.value;
    invite.timeout = request.timeout.value;
    for (const ProcId& p : invite.asked) {
        const bool self = p == peer_.id();
        invite.answers[p].answer = self ? Answer::accepted : Answer::none;
        invite.pending += self ? 0 : 1;
    }
    constexpr size_t kOfEach = 2 * sizeof(ProcId) + sizeof(Asked) + 4 * sizeof(void*);
    if (!invite.charge.set(peer_.account(), invite.asked.size() * kOfEach) || !listen_to_groups()) {
        answer_status(tag, PMIX_ERR_OUT_OF_RESOURCE);
        return true;
    }
    Invite& made = invites_.emplace(group, std::move(invite)).first->second;
    Pending pending;
    pending.own = true;
    pending.command = theirs::Command::group_invite;
    pending.key = group;
    pass(next_own_tag_++, Command::notify_event,
         event_of_client(PMIX_GROUP_INVITED, about_group(group, request.procs.procs)), std::move(pending));
    // A host may take its time, and the client is answered at once.
    answer_status(tag, made.sent);
    if (!common::succeeded(made.sent)) {
        invites_.erase(group);
        return true;
    }
    made.answered = true;
    if (made.answers.count(peer_.id()) != 0) tell_client(PMIX_GROUP_INVITED, about_group(group, request.procs.procs));
    if (made.timeout != 0) {
        made.timer = Timer(scheduler_, int64_t{made.timeout} * 1000, [this, group] {
            const auto late = invites_.find(group);
            if (late == invites_.end() || late->second.numbering) return;
            late->second.pending = 0;
            ends_.call_drained();
        });
    }
    if (made.pending == 0) ends_.call_drained();
    return true;
}

// Nobody is told of it, or not all are. The server may be sending.
void OpenPmixTranslator::not_sent(const std::string& group, pmix_status_t status) {
    const auto at = invites_.find(group);
    if (at == invites_.end() || at->second.numbering) return;
    at->second.sent = status;
    at->second.pending = 0;
    if (at->second.answered) ends_.call_drained();
}

// The server is sending: what follows from it comes later, from drained().
void OpenPmixTranslator::hear_of_groups(const common::EventNotify& event) {
    if (!listens_ || !common::is_group_event(event.status)) return;
    const InfoView infos(event.infos.data(), event.infos.size());
    std::string_view name;
    if (infos.get(PMIX_GROUP_ID, &name) != PMIX_SUCCESS) return;
    const auto at = invites_.find(name);
    if (at == invites_.end() || at->second.numbering) return;
    Invite& invite = at->second;
    const bool failed = event.status == PMIX_GROUP_INVITE_FAILED;
    const bool accepts = event.status == PMIX_GROUP_INVITE_ACCEPTED;
    if (!failed && !accepts && event.status != PMIX_GROUP_INVITE_DECLINED) return;
    ProcId who = event.source;
    const pmix_proc_t* affected = nullptr;
    if (failed && infos.get(PMIX_EVENT_AFFECTED_PROC, &affected) == PMIX_SUCCESS && affected != nullptr)
        who = ProcId(*affected);
    const auto asked = invite.answers.find(who);
    if (asked == invite.answers.end()) return;
    Asked& one = asked->second;
    if (failed) one.reported = true;
    if (one.answer == Answer::none) {
        one.answer = accepts ? Answer::accepted : Answer::refused;
        if (invite.pending != 0 && --invite.pending == 0) ends_.call_drained();
    } else if (failed) {
        one.answer = Answer::refused;
    }
}

void OpenPmixTranslator::settle_invites() {
    std::vector<std::string> settled;
    for (const auto& [group, invite] : invites_)
        if (invite.answered && invite.pending == 0 && !invite.numbering) settled.push_back(group);
    for (const std::string& group : settled) settle(group);
}

void OpenPmixTranslator::settle(const std::string& group) {
    const auto at = invites_.find(group);
    if (at == invites_.end()) return;
    Invite& invite = at->second;
    invite.timer = Timer();
    const bool all = std::all_of(invite.answers.begin(), invite.answers.end(),
                                 [](const auto& asked) { return asked.second.answer == Answer::accepted; });
    if (!all && !invite.optional) {
        InfoList infos = about_group(group, invite.asked);
        const pmix_proc_t self = peer_.id().to_c();
        need_memory(infos.append(PMIX_GROUP_LEADER, &self, PMIX_PROC));
        invites_.erase(at);
        return announce(PMIX_GROUP_CONSTRUCT_ABORT, infos);
    }
    // Of those that have ended the server has told it.
    for (const ProcId& p : invite.asked) {
        const Asked& asked = invite.answers.at(p);
        if (asked.answer == Answer::accepted || asked.reported) continue;
        InfoList infos = about_group(group, {peer_.id()});
        const pmix_proc_t failed = p.to_c();
        need_memory(infos.append(PMIX_EVENT_AFFECTED_PROC, &failed, PMIX_PROC));
        tell_client(PMIX_GROUP_INVITE_FAILED, infos);
    }
    if (!invite.assigns) return complete(group, {});
    invite.numbering = true;
    number_group(group);
}

// The membership is in the order in which the processes were asked.
void OpenPmixTranslator::complete(const std::string& group, const std::optional<size_t>& number) {
    const auto at = invites_.find(group);
    if (at == invites_.end()) return;
    ProcList members;
    for (const ProcId& p : at->second.asked)
        if (at->second.answers.at(p).answer == Answer::accepted) members.push_back(p);
    invites_.erase(at);
    InfoList infos = about_group(group, members);
    need_memory(common::append_proc_array(infos, PMIX_GROUP_MEMBERSHIP, members));
    if (number) need_memory(infos.append_number<size_t>(PMIX_GROUP_CONTEXT_ID, *number, PMIX_SIZE));
    announce(PMIX_GROUP_CONSTRUCT_COMPLETE, infos);
}

// Hosts give a context id to a group that forms: so one forms, of the inviter alone, that has the number and goes at
// once. Without a number the group forms all the same, as at their servers.
void OpenPmixTranslator::number_group(const std::string& group) {
    constexpr size_t kMostOfName = 128;
    const auto at = invites_.find(group);
    InfoList infos;
    need_memory(infos.append_flag(PMIX_GROUP_ASSIGN_CONTEXT_ID, true));
    if (at != invites_.end() && at->second.timeout != 0) {
        const uint32_t seconds = std::min<uint32_t>(at->second.timeout, std::numeric_limits<int>::max());
        need_memory(infos.append_number<int>(PMIX_TIMEOUT, static_cast<int>(seconds), PMIX_INT));
    }
    common::GroupRequest ours;
    ours.call = common::GroupCall::construct;
    ours.name = group.substr(0, kMostOfName) + '#' + std::to_string(next_reference_++);
    ours.procs = {peer_.id()};
    ours.infos = std::move(infos);
    Pending pending;
    pending.own = true;
    pending.numbers = group;
    pending.key = ours.name;
    pass(next_own_tag_++, Command::group, ours, std::move(pending));
}

// The server is forming it.
void OpenPmixTranslator::numbered(const Pending& pending, pmix_status_t status, common::Bytes payload) {
    Numbered one{pending.numbers, {}, {}};
    common::GroupReply ours;
    if (common::succeeded(status) && common::decode_message(payload, ours) == PMIX_SUCCESS) {
        size_t number = 0;
        const InfoView infos(ours.infos.data(), ours.infos.size());
        if (infos.find(PMIX_GROUP_CONTEXT_ID) != nullptr && infos.get(PMIX_GROUP_CONTEXT_ID, &number) == PMIX_SUCCESS)
            one.number = number;
        one.temporary = pending.key;
    }
    numbered_.push_back(std::move(one));
    ends_.call_drained();
}

void OpenPmixTranslator::settle_numbered() {
    for (const Numbered& one : std::exchange(numbered_, {})) {
        if (!one.temporary.empty()) {
            common::GroupRequest ours;
            ours.call = common::GroupCall::destruct;
            ours.name = one.temporary;
            pass_own(Command::group, ours);
        }
        complete(one.group, one.number);
    }
}

// ---- the invited ----

bool OpenPmixTranslator::group_join(uint32_t tag, common::Bytes payload) {
    theirs::GroupJoinRequest request;
    if (!read(tag, payload, &request)) return true;
    const std::string group = request.group.null ? std::string() : request.group.text;
    const bool accepts = request.answer.value == PMIX_GROUP_INVITE_ACCEPTED;
    if (group.empty() || !request.leader || (!accepts && request.answer.value != PMIX_GROUP_INVITE_DECLINED)) {
        answer_status(tag, PMIX_ERR_BAD_PARAM);
        return true;
    }
    const ProcId& inviter = request.leader->id;
    if (accepts && invitations_.accepted(group, inviter)) listen_to_groups();
    const InfoList infos = about_group(group, {inviter});
    Pending pending;
    pending.command = theirs::Command::notify;
    pass(tag, Command::notify_event, event_of_client(request.answer.value, infos), std::move(pending));
    return true;
}

// An event that a client before OpenPMIx 7 has sent for an invitation, with what later ones say as well.
void OpenPmixTranslator::complete_group_event(common::NotifyEventRequest& event) {
    if (traits_.forms_invited || !common::is_group_event(event.status)) return;
    const InfoView said(event.infos.data(), event.infos.size());
    ProcList targets;
    if (const pmix_info_t* custom = said.find(PMIX_EVENT_CUSTOM_RANGE)) common::read_proc_array(custom->value, targets);
    std::string_view name;
    std::string group;
    if (said.get(PMIX_GROUP_ID, &name) == PMIX_SUCCESS) group = name;
    InfoList more;
    const bool accepts = event.status == PMIX_GROUP_INVITE_ACCEPTED;
    if (event.status == PMIX_GROUP_INVITED && !group.empty()) {
        earlier_.sent(group, each_of(targets), peer_.id(), peer_.account());
    } else if ((accepts || event.status == PMIX_GROUP_INVITE_DECLINED) && group.empty() && targets.size() == 1) {
        group = earlier_.answered(targets.front());
        if (!group.empty()) need_memory(more.append_string(PMIX_GROUP_ID, group));
        if (accepts && invitations_.accepted(group, targets.front())) listen_to_groups();
    } else if (event.status == PMIX_GROUP_CONSTRUCT_COMPLETE && said.find(PMIX_GROUP_MEMBERSHIP) == nullptr) {
        const ProcList members = earlier_.take_members(group);
        if (!members.empty()) need_memory(common::append_proc_array(more, PMIX_GROUP_MEMBERSHIP, members));
    }
    if (more.empty()) return;
    InfoList all;
    need_memory(all.append_all(said.begin(), said.size()));
    need_memory(all.append_all(more.c_array(), more.size()));
    event.infos = std::move(all);
}

void OpenPmixTranslator::accept_again() {
    for (const OpenPmixInvitations::Acceptance& one : invitations_.take_acceptances())
        pass_own(Command::notify_event,
                 event_of_client(PMIX_GROUP_INVITE_ACCEPTED, about_group(one.group, {one.leader})));
}

}  // namespace pmix::server
