// SPDX-License-Identifier: BSD-3-Clause
// Groups: the requests, and what happens to a group that has formed. The collectives are in group_collective.cpp.
#include "server/collectives/groups.h"

#include <algorithm>

#include "common/values/info_view.h"
#include "common/values/proc_array.h"
#include "server/base/need.h"
#include "server/base/scheduler.h"
#include "server/events/events.h"

namespace pmix::server {

using common::GroupCall;
using common::InfoList;
using common::InfoView;
using common::ProcId;
using common::ProcList;

void Groups::request(Peer& peer, common::GroupRequest& request, Reply reply) {
    const auto call = request.call;
    if (call == GroupCall::names) return names(peer, request, std::move(reply));
    if (request.name.empty() || request.name.size() > common::kMaxNspaceLength) return reply.status(PMIX_ERR_BAD_PARAM);
    switch (call) {
        case GroupCall::construct:
            return construct(peer, request, std::move(reply));
        case GroupCall::destruct:
            return destruct(peer, request, std::move(reply));
        case GroupCall::leave:
            if (required_in_collective(host_, InfoView(request.infos.data(), request.infos.size()),
                                       common::Function::PMIx_Group_leave) != Required::met_here)
                return reply.status(PMIX_ERR_NOT_SUPPORTED);
            return leave(peer, request.name, std::move(reply));
        case GroupCall::decide:
        case GroupCall::abort:
            return decide(peer, request, std::move(reply));
        case GroupCall::names:
        case GroupCall::invite:
        case GroupCall::accept:
        case GroupCall::decline:
            break;
    }
    reply.status(PMIX_ERR_NOT_SUPPORTED);
}

void Groups::names(Peer& peer, common::GroupRequest& request, Reply reply) {
    if (request.procs.size() != 1) return reply.status(PMIX_ERR_BAD_PARAM);
    if (!segments_.may_know(peer, request.procs[0].nspace)) return reply.status(PMIX_ERR_NOT_FOUND);
    std::vector<std::string> names = registry_.groups().names_of(request.procs[0]);
    if (names.empty()) return reply.status(PMIX_ERR_NOT_FOUND);
    std::vector<char*> texts;
    for (std::string& s : names) texts.push_back(s.data());
    pmix_data_array_t array{};
    array.type = PMIX_STRING;
    array.size = texts.size();
    array.array = texts.data();
    common::GroupReply message;
    InfoList infos;
    pmix_status_t rc = infos.append(PMIX_GROUP_NAMES, &array, PMIX_DATA_ARRAY);
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    message.infos = std::move(infos);
    reply.message(PMIX_SUCCESS, message);
}

void Groups::leave(Peer& peer, const std::string& name, Reply reply) {
    Group* group = registry_.groups().find(name, peer.id());
    InfoList infos;
    pmix_proc_t leaver = peer.id().to_c();
    need(infos.append_string(PMIX_GROUP_ID, name));
    need(infos.append(PMIX_EVENT_AFFECTED_PROC, &leaver, PMIX_PROC));
    if (group == nullptr || !group->remove(peer.id())) return reply.status(PMIX_ERR_NOT_FOUND);
    run_all([&] { announce(PMIX_GROUP_LEFT, peer.id(), group->living(), std::move(infos)); },
            [&] { reply.status(PMIX_SUCCESS); }, [&] { lost(*group, peer.id(), false); });
}

// It has left, or ended, and is no member any more.
void Groups::lost(Group& group, const ProcId& proc, bool tell) {
    const uint64_t number = group.number;
    const std::string name = group.name;
    run_all(
        [&] {
            if (!tell) return;
            // The end of a process of another node is announced by each server to its own members.
            const ProcList living = group.living();
            announce_failure(PMIX_GROUP_MEMBER_FAILED, name, proc, registry_.is_local(proc) ? living : here(living));
        },
        [&] {
            if (here(group.living()).empty()) {
                registry_.groups().erase(number);
            } else {
                tell_membership(group, proc);
            }
        },
        [&] {
            Operation* op = destruct_of(name, number);
            if (op == nullptr || op->launched) return;
            op->signature.erase(proc);
            judge(op->id);
        });
}

// Each node notifies its own members of the change, so all members are notified.
void Groups::tell_membership(const Group& group, const ProcId& source) {
    const ProcList local = here(group.living());
    if (local.empty()) return;
    InfoList infos;
    need(infos.append_string(PMIX_GROUP_ID, group.name));
    need(common::append_proc_array(infos, PMIX_GROUP_MEMBERSHIP, group.current()));
    announce(PMIX_GROUP_MEMBERSHIP_UPDATE, source, local, std::move(infos));
}

void Groups::announce(pmix_status_t code, const ProcId& source, const ProcList& targets, InfoList infos,
                      const Told& told) {
    if (targets.empty()) return;
    need(common::append_proc_array(infos, PMIX_EVENT_CUSTOM_RANGE, targets));
    need(infos.append_flag(PMIX_EVENT_NON_DEFAULT, true));
    const ProcList local = here(targets);
    const bool beyond = local.size() < targets.size();
    InfoList up;
    if (beyond) need(up.append_all(infos.c_array(), infos.size()));
    const auto to_host = [&] {
        if (!beyond) return;
        host_.notify_event(code, source, PMIX_RANGE_CUSTOM, std::move(up), [](HostAnswer&) {});
        if (!told) return;
        // Both have the same order.
        auto at = local.begin();
        for (const ProcId& p : targets) {
            if (at != local.end() && *at == p) {
                ++at;
            } else {
                told(p);
            }
        }
    };
    run_all([&] { events_.raise(code, source, PMIX_RANGE_CUSTOM, std::move(infos), {}, told); }, to_host);
}

bool Groups::has_part(const ProcId& proc, std::string_view name) {
    for (const Operation* op : of_name(name))
        if (op->signature.covers(proc) || op->leader == proc) return true;
    return registry_.groups().find(name, proc) != nullptr || invitations_.has_part(proc, name);
}

void Groups::event_notified(pmix_status_t code, const ProcId& source, const InfoList& infos, bool from_host) {
    if (!common::is_group_event(code)) return;
    std::string_view name;
    if (InfoView(infos).get(PMIX_GROUP_ID, &name) != PMIX_SUCCESS || name.empty()) return;
    // To one process, about what is over: its sender may be forming another group of the name.
    if (common::answers_acceptance(code, infos)) return invitations_.answered(name, source, infos);
    // An invitation begins a new group, so its source need not have a part in one; nor need those that answer before.
    const bool begins =
        code == PMIX_GROUP_INVITED || code == PMIX_GROUP_INVITE_ACCEPTED || code == PMIX_GROUP_INVITE_DECLINED;
    if (!from_host && !begins && !has_part(source, name)) return;
    if (code == PMIX_GROUP_CONSTRUCT_COMPLETE) announced(source, std::string(name), infos);
    invitations_.heard(code, source, infos);
    if (code == PMIX_GROUP_CONSTRUCT_ABORT) {
        // A process of another node, or the leader, has aborted the construct for all. Several may have this name: the
        // one that is meant has the source, or one of the targets where it is not an inviter's word about its own.
        Operation* meant = forming(name, source);
        ProcList targets;
        const bool by_target = from_host && !common::is_abort_of(source, infos);
        if (const pmix_info_t* custom = infos.find(PMIX_EVENT_CUSTOM_RANGE); custom != nullptr && by_target)
            common::read_proc_array(custom->value, targets);
        for (const ProcId& p : targets)
            if (meant == nullptr) meant = forming(name, p);
        if (meant == nullptr) return;
        const RoundId id = meant->id;
        meant->local_status = PMIX_GROUP_CONSTRUCT_ABORT;
        start(id, *meant);
        return finish(id, PMIX_GROUP_CONSTRUCT_ABORT);
    }
    if (code != PMIX_GROUP_LEFT && code != PMIX_GROUP_MEMBER_FAILED) return;
    ProcId proc = source;
    const pmix_proc_t* affected = nullptr;
    if (InfoView(infos).get(PMIX_EVENT_AFFECTED_PROC, &affected) == PMIX_SUCCESS && affected != nullptr)
        proc = ProcId(*affected);
    // The end of a process of this node is noticed here. Clients of OpenPMIx leave by the event alone.
    const Nspace* nspace = registry_.find(proc.nspace);
    const bool leaves = code == PMIX_GROUP_LEFT && !from_host && proc == source;
    if (nspace != nullptr && nspace->is_local(proc.rank) && !leaves) return;
    Group* group = registry_.groups().find(name, proc);
    if (group == nullptr || !group->remove(proc)) return;
    // The members here are notified of the change after this event.
    scheduler_.post([this, number = group->number, proc] {
        if (Group* without = registry_.groups().find(number)) lost(*without, proc, false);
    });
}

// A group without a construct: with clients of OpenPMIx the inviter's announcement makes it, when all have accepted.
// Each server keeps it for its own members. Where the members have constructed it, or do so now, there is nothing to
// do.
void Groups::announced(const ProcId& inviter, const std::string& name, const InfoList& infos) {
    ProcList members;
    const pmix_info_t* said = infos.find(PMIX_GROUP_MEMBERSHIP);
    if (said == nullptr || !common::read_proc_array(said->value, members)) return;
    if (name.size() > common::kMaxNspaceLength) return;
    drop_repeated(members);
    if (std::any_of(members.begin(), members.end(), [](const ProcId& p) { return !common::is_real_rank(p.rank); }))
        return;
    Group group;
    group.here = here(members);
    if (group.here.empty() || !invitations_.have_accepted(inviter, name, group.here)) return;
    for (const ProcId& p : group.here)
        if (registry_.groups().find(name, p) != nullptr || forming(name, p) != nullptr) return;
    size_t number = 0;
    if (infos.find(PMIX_GROUP_CONTEXT_ID) != nullptr &&
        InfoView(infos).get(PMIX_GROUP_CONTEXT_ID, &number) == PMIX_SUCCESS)
        group.context_id = number;
    group.name = name;
    for (const ProcId& p : members) group.members.push_back({p, false});
    group.hidden = registry_.find(name) != nullptr;
    // Without room for it the group can be used, but not be destructed: as with one that this server does not know.
    if (group.charge.set(invitations_.account_of(inviter), group.memory())) registry_.groups().add(std::move(group));
}

void Groups::member_gone(Nspace&, MemberId member) {
    const ProcId proc = registry_.proc_of(member);
    const auto of_operation = [&](const RoundId id) {
        Operation* op = find(id);
        if (op == nullptr) return;
        op->undecided.erase(member);
        std::erase(op->deciders, member);
        run_all(
            [&] {
                if (op->leader && *op->leader == proc && is_gone(member)) leader_gone(*op);
            },
            [&] { judge(id); });
    };
    run_all([&] { invitations_.gone(proc); }, [&] { lost_from_groups(proc); },
            [&] { run_each(ids_of(proc.nspace), of_operation); },
            [&] { ended_.drop_members([member](MemberId m) { return m == member; }); },
            [&] { end_starters_of(member, member, PMIX_ERR_PROC_TERM_WO_SYNC); });
}

// A process of this node that has ended, from the groups that it is in.
void Groups::lost_from_groups(const ProcId& proc) {
    run_each(registry_.groups().of(proc), [&](const uint64_t number) {
        Group* group = registry_.groups().find(number);
        ++examined_;
        if (group == nullptr || !group->has(proc)) return;
        if (group->notify) {
            if (group->remove(proc)) lost(*group, proc, true);
        } else {
            // It remains a participant of the destruct, so that the others are told that it cannot join. With its last
            // local process the group is forgotten here.
            if (!anybody_here(*group)) registry_.groups().erase(number);
        }
    });
}

// Its own server, if that still runs, announces it as well: that is waited for, so that nobody is told twice.
void Groups::ended_elsewhere(const ProcId& proc) {
    const auto loses = [&](const auto& entry) { return entry.second.notify && entry.second.has(proc); };
    const auto& groups = registry_.groups().all();
    if (invitations_.waits_for(proc) || std::any_of(groups.begin(), groups.end(), loses)) far_ends_.add(proc);
}

void Groups::lost_elsewhere(const ProcId& proc) {
    const auto from_groups = [&] {
        std::vector<uint64_t> numbers;
        for (const auto& [name, group] : registry_.groups().all())
            if (group.notify && group.has(proc)) numbers.push_back(group.number);
        run_each(numbers, [&](const uint64_t number) {
            Group* group = registry_.groups().find(number);
            if (group != nullptr && group->remove(proc)) lost(*group, proc, true);
        });
    };
    run_all([&] { invitations_.gone_elsewhere(proc); }, from_groups);
}

// Those whose end there was no memory to note.
void Groups::lose_those_gone() {
    ProcList ended;
    for (const auto& [name, group] : registry_.groups().all()) {
        for (const Group::Member& m : group.members) {
            const Nspace* nspace = m.left || m.ended ? nullptr : registry_.find(m.proc.nspace);
            if (nspace == nullptr || !nspace->is_local(m.proc.rank) || !nspace->has_left(m.proc.rank)) continue;
            ended.push_back(m.proc);
            if (!group.notify) break;  // all that have ended stay in it: one is enough to see whether it is forgotten
        }
    }
    run_each(ended, [&](const ProcId& proc) { lost_from_groups(proc); });
}

bool Groups::anybody_here(const Group& group) const {
    const ProcList local = here(group.living());
    return std::any_of(local.begin(), local.end(), [&](const ProcId& p) {
        const Nspace* nspace = registry_.find(p.nspace);
        return nspace != nullptr && !nspace->has_left(p.rank);
    });
}

void Groups::members_changed(std::string_view nspace) {
    for (const RoundId id : ids_of(nspace)) judge(id);
}

void Groups::namespace_gone(Nspace& ended) {
    const std::string& nspace = ended.name;
    for (const RoundId id : ids_of(nspace))
        if (Operation* op = find(id); op != nullptr && op->signature.names(nspace)) namespace_gone(*op, nspace);
    end_starters_of(member_id(ended.number, 0), member_id(ended.number, UINT32_MAX), PMIX_ERR_NOT_FOUND);
    for (const ProcId& p : invitations_.awaited_of(nspace)) far_ends_.add(p);
    // Members of other namespaces may still join the operations that ended with this one.
    ended_.drop_members([&](MemberId member) { return registry_.proc_of(member).nspace == nspace; });
    auto& groups = registry_.groups().all();
    for (auto it = groups.begin(); it != groups.end();) {
        Group& group = it->second;
        bool changed = false;
        for (Group::Member& m : group.members) {
            if (m.proc.nspace != nspace || m.left) continue;
            // As with the end of a member: where no event reports it, the destruct does. Its error must not depend on
            // whether a node calls before or after it is told of this end: the nodes wait for each other.
            (group.notify ? m.left : m.ended) = true;
            changed = true;
        }
        if (!anybody_here(group)) {
            it = registry_.groups().erase(it);
            continue;
        }
        if (changed && group.notify) tell_membership(group, ProcId(nspace, PMIX_RANK_WILDCARD));
        ++it;
    }
}

// A collective that names a namespace which has ended. The host counts upcalls: one that fails is made all the same.
void Groups::namespace_gone(Operation& op, std::string_view nspace) {
    if (op.asked().forgive()) {
        if (op.launched) return;                            // the host decides
        const ProcList members = expand(op.section.order);  // while it is known who they are
        op.section.order = common::ProcOrder(members);
        for (const ProcId& p : members) {
            if (p.nspace != nspace ||
                std::find(op.section.failed.begin(), op.section.failed.end(), p) != op.section.failed.end())
                continue;
            const auto member = registry_.member(p);
            if (!member || !op.has_joined(*member)) op.section.failed.push_back(p);
        }
        op.ended.emplace_back(nspace);
        return;  // it is judged when the registry has forgotten them: members_changed()
    }
    if (op.local_status == PMIX_SUCCESS) op.local_status = PMIX_ERR_PROC_TERM_WO_SYNC;
    const RoundId id = op.id;
    start(id, op);
    finish(id, PMIX_ERR_PROC_TERM_WO_SYNC);
}

// The operations that an earlier instance of the namespace left have no late members any more.
void Groups::namespace_new(std::string_view nspace) {
    ended_.drop_those_of(nspace);
}

void Groups::stop(pmix_status_t status) {
    far_ends_.stop();
    end_starters(starters_.begin(), starters_.end(), status);
    CollectiveEngine::stop(status);
}

void Groups::report(ReportRows& rows) const {
    CollectiveEngine::report(rows);
    invitations_.report(rows);
}

bool Groups::uses(const Nspace& nspace) const {
    const auto of_it = [&](const ProcId& p) { return p.nspace == nspace.name; };
    for (const auto& [name, group] : registry_.groups().all())
        if (std::any_of(group.members.begin(), group.members.end(),
                        [&](const Group::Member& m) { return of_it(m.proc); }))
            return true;
    return CollectiveEngine::uses(nspace) || std::any_of(rounds_.begin(), rounds_.end(), [&](const auto& entry) {
               const auto& named = operation(*entry.second).section.order.nspaces();
               return std::find(named.begin(), named.end(), nspace.name) != named.end();
           });
}

std::vector<Groups::Operation*> Groups::of_name(std::string_view name) {
    std::vector<Operation*> out;
    const auto [first, last] = names_->equal_range(name);
    for (auto it = first; it != last; ++it) {
        ++examined_;
        if (Operation* op = find(it->second)) out.push_back(op);
    }
    return out;
}

Groups::Operation* Groups::forming(std::string_view name, const ProcId& proc) {
    for (Operation* op : of_name(name))
        if (op->call == GroupCall::construct && (op->leader == proc || op->signature.covers(proc))) return op;
    return nullptr;
}

// Callers may name the same processes in different ways.
Signature Groups::with_wildcards(const Signature& signature) const {
    std::vector<Signature::Part> parts = signature.parts();
    for (Signature::Part& part : parts) {
        const Nspace* const nspace = registry_.find(part.nspace);
        if (part.is_whole() || nspace == nullptr || !nspace->size_known() || part.size() != nspace->size()) continue;
        const auto is_all = [&](common::Rank first, common::Rank last) {
            return first == 0 && last == nspace->size() - 1;
        };
        if (part.ranks.for_ranges(is_all)) part = Signature{{part.nspace, PMIX_RANK_WILDCARD}}.parts().front();
    }
    return Signature(std::move(parts));
}

common::Result<Groups::Operation*> Groups::construct_of(const std::string& name, const Signature& signature) {
    for (Operation* op : of_name(name)) {
        if (op->call != GroupCall::construct) continue;
        if (op->signature == signature) return op;
        if (!op->signature.overlaps(signature)) continue;
        if (with_wildcards(op->signature) == with_wildcards(signature)) return op;
        return PMIX_ERR_BAD_PARAM;
    }
    const auto [first, last] = registry_.groups().all().equal_range(name);
    for (auto it = first; it != last; ++it) {
        const auto& members = it->second.members;
        if (std::any_of(members.begin(), members.end(),
                        [&](const Group::Member& m) { return !m.left && signature.covers(m.proc); }))
            return PMIX_ERR_EXISTS;
    }
    return nullptr;
}

Groups::Operation* Groups::destruct_of(std::string_view name, uint64_t group) {
    for (Operation* op : of_name(name))
        if (op->call == GroupCall::destruct && op->group == group) return op;
    return nullptr;
}

Groups::Operation* Groups::begin(GroupCall call, const std::string& name, Signature signature, MemberId caller) {
    OpenShares::Share share = shares_.take(caller);
    return share ? &begin(call, name, std::move(signature), std::move(share)) : nullptr;
}

Groups::Operation& Groups::begin(GroupCall call, const std::string& name, Signature signature,
                                 OpenShares::Share share) {
    auto op = std::make_unique<Operation>();
    const RoundId id = op->id = next_++;
    op->call = call;
    op->name = name;
    op->share = std::move(share);
    op->by_nspace = by_nspace_.add(signature, id);
    op->signature = std::move(signature);
    op->entry = names_->emplace(name, id);
    op->names = names_;
    return static_cast<Operation&>(add(id, std::move(op)));
}

std::vector<Groups::RoundId> Groups::ids_of(std::string_view nspace) {
    std::vector<RoundId> out = by_nspace_.of(nspace);
    examined_ += out.size();
    return out;
}

std::vector<Groups::RoundId> Groups::ids() const {
    std::vector<RoundId> out;
    out.reserve(rounds_.size());
    for (const auto& [id, round] : rounds_) out.push_back(id);
    return out;
}

bool Groups::is_gone(MemberId member) const noexcept {
    const Nspace* nspace = const_cast<Registry&>(registry_).find(nspace_number_of(member));
    return nspace == nullptr || nspace->has_ended(rank_of(member));
}

std::vector<MemberId> Groups::expected(const Signature& signature) const {
    std::vector<MemberId> out = registry_.deregistered_members(signature);
    for (const auto& [nspace, ranks] : registry_.local_members(signature))
        for (common::Rank rank : ranks) out.push_back(member_id(nspace->number, rank));
    return out;
}

// Keeps the first of each. Linear for sorted lists, as most are.
void Groups::drop_repeated(ProcList& procs) {
    const auto not_below = [](const ProcId& a, const ProcId& b) { return !(a < b); };
    if (std::adjacent_find(procs.begin(), procs.end(), not_below) == procs.end()) return;
    std::vector<const ProcId*> sorted;
    sorted.reserve(procs.size());
    for (const ProcId& p : procs) sorted.push_back(&p);
    std::stable_sort(sorted.begin(), sorted.end(), [](const ProcId* a, const ProcId* b) { return *a < *b; });
    std::vector<bool> repeated(procs.size());
    for (size_t i = 1; i < sorted.size(); ++i)
        if (*sorted[i] == *sorted[i - 1]) repeated[static_cast<size_t>(sorted[i] - procs.data())] = true;
    size_t at = 0;
    std::erase_if(procs, [&](const ProcId&) { return repeated[at++]; });
}

ProcList Groups::expand(const ProcList& procs) const {
    // A job counts once, however often it is named: few bytes may name it often.
    ProcList given = procs;
    drop_repeated(given);
    ProcList out;
    out.reserve(given.size());
    for (const ProcId& p : given) {
        const Nspace* nspace = p.rank == PMIX_RANK_WILDCARD ? registry_.find(p.nspace) : nullptr;
        if (nspace == nullptr) {
            out.push_back(p);
        } else if (nspace->size_known()) {
            for (common::Rank r = 0; r < nspace->size(); ++r) out.push_back({p.nspace, r});
        } else {
            for (common::Rank r : nspace->local_ranks()) out.push_back({p.nspace, r});
        }
    }
    drop_repeated(out);
    return out;
}

ProcList Groups::here(const ProcList& procs) const {
    ProcList out;
    const Nspace* nspace = nullptr;
    const std::string* name = nullptr;
    for (const ProcId& p : procs) {
        if (name == nullptr || *name != p.nspace) {
            name = &p.nspace;
            nspace = registry_.find(p.nspace);
        }
        if (nspace != nullptr && nspace->is_local(p.rank)) out.push_back(p);
    }
    return out;
}

void Groups::judge_again() {
    for (const RoundId id : ids()) {
        const Operation* op = find(id);
        if (op != nullptr && op->replies.empty() && !op->launched) {
            rounds_.erase(id);  // its first caller could not join, and was told so
        } else {
            judge(id);
        }
    }
}

void Groups::recover() {
    const auto of_starters = [&] {
        Starters lost;
        for (auto s = starters_.begin(); s != starters_.end();)
            s = s->second.answer_due.expired() ? take_starter(s, lost) : std::next(s);
        for (auto& [key, starter] : lost) starter.reply.status(PMIX_ERR_NOMEM);
    };
    run_all([&] { invitations_.recover(); }, [&] { lose_those_gone(); }, [&] { CollectiveEngine::recover(); },
            of_starters);
}

}  // namespace pmix::server
