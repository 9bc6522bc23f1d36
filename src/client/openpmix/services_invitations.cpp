// SPDX-License-Identifier: BSD-3-Clause
// Groups by invitation, at servers that form them themselves: a request begins it or answers it, and is itself answered
// when an event tells what has become of the group; and what else events say of groups.
#include <algorithm>
#include <utility>

#include "client/openpmix/services.h"
#include "common/values/array_value.h"
#include "common/values/info_view.h"
#include "common/values/proc_array.h"
#include "dstore/qualified.h"

namespace pmix::client {

namespace theirs = pmix::openpmix;

using common::Bytes;
using common::FrameHeader;
using common::InfoList;
using common::InfoView;
using common::ProcId;

namespace {

// That wait, or whose call has ended before what became of them was known.
constexpr size_t kMaxInvitations = 256;

// What ends an invitation: the group, that there is none, or the end of the process that has sent it.
constexpr pmix_status_t kWatched[] = {PMIX_GROUP_CONSTRUCT_COMPLETE, PMIX_GROUP_CONSTRUCT_ABORT, PMIX_PROC_TERMINATED,
                                      PMIX_ERR_PROC_ABORTED, PMIX_ERR_PROC_TERM_WO_SYNC};

InfoView infos_of(const theirs::EventMessage& event) noexcept {
    return {event.infos.infos.data(), event.infos.infos.size()};
}

}  // namespace

// ---- requests ----

// Registered before anything is asked: the event may come before the answer.
void OpenPmixServices::watch_invitations(std::function<void(pmix_status_t)> then) {
    const auto it = registrations_.find(kWatch);
    if (it != registrations_.end() && !it->second.waits) return then(PMIX_SUCCESS);
    watchers_.push_back(std::move(then));
    if (it != registrations_.end()) return;
    std::vector<pmix_status_t> codes(std::begin(kWatched), std::end(kWatched));
    for (const pmix_status_t code : codes) ++codes_[code].handlers;
    registrations_[kWatch] =
        Registration{FrameHeader::notify(static_cast<uint16_t>(common::Command::register_events)), codes, true};
    advance(kWatch);
}

void OpenPmixServices::watching(pmix_status_t status) {
    const auto waiting = std::exchange(watchers_, {});
    for (const auto& then : waiting) then(status);
}

// leader: whose invitation it is. Its answer says only that the server has taken it.
template <class Theirs>
void OpenPmixServices::ask_of_invitation(const FrameHeader& header, const std::string& name, ProcId leader,
                                         std::shared_ptr<const Theirs> request) {
    watch_leaves();
    watch_invitations([this, header, name, leader = std::move(leader), request](pmix_status_t watched) {
        if (!common::succeeded(watched)) return exchange_.refuse(header, watched);
        if (invitations_.size() >= kMaxInvitations) return exchange_.refuse(header, PMIX_ERR_OUT_OF_RESOURCE);
        invitations_.emplace(name, Invitation{header, leader});
        const auto failed = [this, header, name](pmix_status_t status) {
            const auto [begin, end] = invitations_.equal_range(name);
            const auto it =
                std::find_if(begin, end, [&](const auto& entry) { return entry.second.header.id == header.id; });
            if (it == end) return;  // an event was first
            invitations_.erase(it);
            exchange_.refuse(header, status);
        };
        const pmix_status_t rc = exchange_.ask(*request, [this, failed](Bytes answer) {
            theirs::StatusReply got;
            const pmix_status_t status = exchange_.status_of(answer, &got);
            if (!common::succeeded(status)) failed(status);
        });
        if (rc != PMIX_SUCCESS) failed(rc);
    });
}

void OpenPmixServices::invite(const FrameHeader& header, common::GroupRequest&& ours) {
    if (!exchange_.traits().forms_invited) return exchange_.refuse(header, PMIX_ERR_NOT_SUPPORTED);
    replace_groups(ours.procs);
    const InfoView infos(ours.infos.data(), ours.infos.size());
    int seconds = 0;
    if (infos.get(PMIX_TIMEOUT, &seconds) != PMIX_SUCCESS || seconds < 0)
        return exchange_.refuse(header, PMIX_ERR_BAD_PARAM);
    auto request = std::make_shared<theirs::GroupInviteRequest>();
    request->group = theirs::Text(ours.name);
    request->procs.procs = std::move(ours.procs);
    request->timeout.value = static_cast<uint32_t>(seconds);
    request->optional.value = infos.flag(PMIX_GROUP_OPTIONAL);
    request->assigns_id.value = infos.flag(PMIX_GROUP_ASSIGN_CONTEXT_ID);
    ask_of_invitation<theirs::GroupInviteRequest>(header, ours.name, self_, std::move(request));
}

void OpenPmixServices::answer_invitation(const FrameHeader& header, common::GroupRequest&& ours) {
    if (!exchange_.traits().forms_invited) return exchange_.refuse(header, PMIX_ERR_NOT_SUPPORTED);
    const bool accepts = ours.call == common::GroupCall::accept;
    auto request = std::make_shared<theirs::GroupJoinRequest>();
    request->group = theirs::Text(ours.name);
    request->answer.value = accepts ? PMIX_GROUP_INVITE_ACCEPTED : PMIX_GROUP_INVITE_DECLINED;
    request->has_leader.value = !ours.procs.empty();
    if (!ours.procs.empty()) request->leader.emplace().id = ours.procs[0];
    // Without a process to wait for, as for a process that declines, that is all.
    if (accepts && !ours.procs.empty())
        return ask_of_invitation<theirs::GroupJoinRequest>(header, ours.name, ours.procs[0], std::move(request));
    const auto told = [this, header](pmix_status_t status, const theirs::StatusReply&) {
        exchange_.reply(header, status, common::GroupReply{});
    };
    const pmix_status_t rc = exchange_.ask_for<theirs::StatusReply>(header, *request, told);
    if (rc != PMIX_SUCCESS) exchange_.refuse(header, rc);
}

// ---- events ----

// What an event means for the groups of this process, before its handlers are told.
void OpenPmixServices::note_group_event(const theirs::EventMessage& event) {
    const pmix_status_t code = event.code.value;
    const InfoView infos = infos_of(event);
    std::string_view said;
    const pmix_proc_t* who = nullptr;
    if (infos.get(PMIX_GROUP_ID, &said) != PMIX_SUCCESS || infos.get(PMIX_EVENT_AFFECTED_PROC, &who) != PMIX_SUCCESS)
        return;
    const std::string name(said);
    switch (code) {
        case PMIX_GROUP_LEFT: {
            // A process leaves for itself only, and this one knows by itself when it does.
            if (who != nullptr && ProcId(*who) == event.source.id && event.source.id != self_)
                member_left(name, event.source.id);
            return;
        }
        case PMIX_GROUP_CONSTRUCT_COMPLETE:
            if (!name.empty()) invitation_formed(name, event);
            return;
        case PMIX_GROUP_CONSTRUCT_ABORT:
            return end_invitations(name, nullptr, PMIX_GROUP_CONSTRUCT_ABORT);
        case PMIX_PROC_TERMINATED:
        case PMIX_ERR_PROC_ABORTED:
        case PMIX_ERR_PROC_TERM_WO_SYNC:
            if (who != nullptr) leader_ended(ProcId(*who));
            return;
        default:
            return;
    }
}

// Of an invitation that this process has sent or accepted; any process can raise such an event. Also where its call has
// ended: this process is a member, and the group ends only with it.
void OpenPmixServices::invitation_formed(const std::string& name, const theirs::EventMessage& event) {
    const InfoView infos = infos_of(event);
    common::ProcList named;
    if (const pmix_info_t* said = infos.find(PMIX_GROUP_MEMBERSHIP)) common::read_proc_array(said->value, named);
    const common::ProcList members = each_of(named);
    if (std::find(members.begin(), members.end(), self_) == members.end()) return;
    const auto [first, last] = invitations_.equal_range(name);
    if (std::none_of(first, last, [&](const auto& entry) { return entry.second.leader == event.source.id; })) return;
    std::optional<size_t> context;
    if (infos.get(PMIX_GROUP_CONTEXT_ID, &context) != PMIX_SUCCESS) context.reset();
    for (const pmix_info_t& info : infos)
        if (common::key_view(info) == PMIX_PROC_INFO_ARRAY) take_shared(info.value, members, context);
    const InfoList results = note_group(name, std::move(named), context, {});
    const auto [begin, end] = invitations_.equal_range(name);
    std::vector<FrameHeader> waiting;
    for (auto it = begin; it != end;) {
        // Another group of the name, by another process's invitation, may be under way.
        const bool meant = it->second.leader == event.source.id;
        if (meant) waiting.push_back(it->second.header);
        it = meant ? invitations_.erase(it) : std::next(it);
    }
    for (const FrameHeader& header : waiting) {
        common::GroupReply reply;
        reply.infos = common::Infos::borrow(results.c_array(), results.size());
        exchange_.reply(header, PMIX_SUCCESS, reply);
    }
    send_waiting(name);
}

// leader: of its invitations only.
void OpenPmixServices::end_invitations(const std::string& name, const ProcId* leader, pmix_status_t status) {
    std::vector<FrameHeader> waiting;
    const auto [begin, end] = invitations_.equal_range(name);
    for (auto it = begin; it != end;) {
        const bool meant = leader == nullptr || it->second.leader == *leader;
        if (meant) waiting.push_back(it->second.header);
        it = meant ? invitations_.erase(it) : std::next(it);
    }
    for (const FrameHeader& header : waiting) exchange_.refuse(header, status);
}

// There will be no group. Handlers are told by this process itself; nobody else does.
void OpenPmixServices::leader_ended(const ProcId& leader) {
    std::set<std::string> names;
    for (const auto& [name, invitation] : invitations_)
        if (invitation.leader == leader && leader != self_) names.insert(name);
    for (const std::string& name : names) {
        common::EventNotify event;
        event.status = PMIX_GROUP_LEADER_FAILED;
        event.source = self_;
        event.range = PMIX_RANGE_PROC_LOCAL;
        InfoList infos;
        const pmix_proc_t proc = leader.to_c();
        if (infos.append(PMIX_EVENT_AFFECTED_PROC, &proc, PMIX_PROC) != PMIX_SUCCESS ||
            infos.append_string(PMIX_GROUP_ID, name) != PMIX_SUCCESS ||
            infos.append_flag(PMIX_EVENT_NON_DEFAULT, true) != PMIX_SUCCESS)
            throw std::bad_alloc();
        event.infos = std::move(infos);
        event.sequence = ++events_;
        event.nearness = common::EventNotify::kOnThisNode;
        exchange_.notify(common::Command::event, event);
        end_invitations(name, &leader, PMIX_GROUP_LEADER_FAILED);
    }
}

// What a member has put for processes of other nodes, which the group shares: of a group with a number, for a Get that
// names it.
void OpenPmixServices::take_shared(const pmix_value_t& shared, const common::ProcList& members,
                                   std::optional<size_t> context) {
    const InfoView infos = common::infos_in(shared);
    const pmix_proc_t* who = nullptr;
    if (infos.get(PMIX_PROCID, &who) != PMIX_SUCCESS || who == nullptr || ProcId(*who) == self_) return;
    if (std::find(members.begin(), members.end(), ProcId(*who)) == members.end()) return;
    theirs::KeyValues values;
    for (const pmix_info_t& info : infos) {
        const std::string_view key = common::key_view(info);
        if (key == PMIX_PROCID || key == PMIX_DATA_SCOPE) continue;
        if (!context) {
            auto copy = common::Value::copy_of(info.value);
            if (copy.ok()) values.pairs.push_back({std::string(key), std::move(copy).value()});
            continue;
        }
        InfoList one;
        if (one.append(info) != PMIX_SUCCESS ||
            one.append_number<size_t>(PMIX_GROUP_CONTEXT_ID, *context, PMIX_SIZE) != PMIX_SUCCESS)
            throw std::bad_alloc();
        one.c_array()[1].flags |= PMIX_INFO_QUALIFIER;
        auto array = common::array_value(std::move(one));
        if (!array.ok()) continue;
        auto what = dstore::QualifiedValue::read(array->get());
        auto stored = dstore::QualifiedValue::stored(array->get());
        if (!what.ok() || !stored.ok()) continue;
        values.pairs.push_back({what->qualifiers.key_for(what->primary), std::move(stored).value()});
    }
    const std::string nspace(common::nspace_view(who->nspace));
    if (shadow_.take_proc(ProcId(*who), std::move(values)) == PMIX_SUCCESS) (void)shadow_.grant(nspace);
}

}  // namespace pmix::client
