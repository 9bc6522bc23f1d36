// SPDX-License-Identifier: BSD-3-Clause
// Construct and destruct of groups: what makes a round complete, what the host is given, and what is left of one that
// has ended.
#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>
#include <utility>

#include "common/values/info_view.h"
#include "common/values/proc_array.h"
#include "common/values/support.h"
#include "server/base/need.h"
#include "server/base/scheduler.h"
#include "server/collectives/collective.h"
#include "server/collectives/groups.h"
#include "server/data/get.h"
#include "server/events/events.h"
#include "server/namespaces/modex_blob.h"

namespace pmix::server {

using common::GroupCall;
using common::InfoList;
using common::InfoView;
using common::ProcId;
using common::ProcList;

namespace {

// Where participation is optional, a timeout starts the upcall; the host's own limit ends it if another node is silent.
constexpr int64_t kOptionalWaitMs = 3000;

// While a group forms, its members are a list, an array for the host, and places in the registry.
constexpr size_t kMemoryOfMember = 2 * sizeof(ProcId) + sizeof(pmix_proc_t) + sizeof(Group::Member);

// The process that has invited these, if it is none of them.
std::optional<ProcId> inviter_in(const common::Infos& directives, const Signature& members) {
    const pmix_proc_t* proc = nullptr;
    if (InfoView(directives.data(), directives.size()).get(PMIX_GROUP_LEADER, &proc) != PMIX_SUCCESS ||
        proc == nullptr || !common::is_real_rank(proc->rank))
        return std::nullopt;
    ProcId inviter(*proc);
    if (members.covers(inviter)) return std::nullopt;
    return inviter;
}

}  // namespace

bool Groups::Operation::has_joined(MemberId member) const noexcept {
    return std::find(joined.begin(), joined.end(), member) != joined.end();
}

bool Groups::answer_late(GroupCall call, const std::string& name, const Signature* signature, MemberId member,
                         Reply& reply) {
    const auto status = ended_.take(call, name, signature, member);
    if (status) reply.status(*status);
    return status.has_value();
}

void Groups::wait_late(Operation& op, MemberId member, Reply reply) {
    if (op.has_joined(member)) return reply.status(PMIX_ERR_EXISTS);
    const auto [at, is_first] = op.late_callers.try_emplace(member, std::move(reply));
    if (!is_first) reply.status(PMIX_ERR_EXISTS);
}

void Groups::construct(Peer& peer, common::GroupRequest& request, Reply reply) {
    // Without a list of members, or with several leaders that do not know each other, only the host knows the rest.
    const bool none_named = request.procs.empty() && request.ranges.empty();
    if (none_named || InfoView(request.infos.data(), request.infos.size()).find(PMIX_GROUP_BOOTSTRAP) != nullptr)
        return bootstrap(peer, request, std::move(reply));
    // A job that takes the name of a group does not end a construct that has callers already.
    if (registry_.find(request.name) != nullptr && forming(request.name, peer.id()) == nullptr)
        return reply.status(PMIX_ERR_BAD_PARAM);
    auto read = common::ProcOrder::read(request.procs, request.ranges);
    if (!read) return reply.status(read.status());
    common::ProcOrder named = std::move(read).value();
    pmix_status_t rc = registry_.groups().replace(named, peer.id());
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    InfoList infos = request.infos.take();
    if (rc = check_group_infos(infos); rc != PMIX_SUCCESS) return reply.status(rc);
    InfoView view(infos);
    if (const pmix_info_t* add = view.find(PMIX_GROUP_ADD_MEMBERS)) {
        ProcList added;
        if (!common::read_proc_array(add->value, added)) return reply.status(PMIX_ERR_BAD_PARAM);
    }
    Signature signature = named.set();
    const auto inviter = inviter_in(request.directives, signature);
    if (inviter) signature.add(*inviter);
    auto member = registry_.member(peer.id());
    if (!member) return reply.status(PMIX_ERR_BAD_PARAM);
    if (!registry_.contains(signature, *member)) return reply.status(PMIX_ERR_NOT_A_MEMBER);
    if (answer_late(GroupCall::construct, request.name, &signature, *member, reply)) return;
    auto meant = construct_of(request.name, signature);
    if (!meant) return reply.status(meant.status());

    common::ProcOrder order;
    if (const pmix_info_t* given = view.find(PMIX_GROUP_FINAL_MEMBERSHIP_ORDER)) {
        ProcList procs;
        if (!common::read_proc_array(given->value, procs)) return reply.status(PMIX_ERR_BAD_PARAM);
        procs = expand(procs);
        if (!(Signature(procs) == Signature(expand(named)))) return reply.status(PMIX_ERR_BAD_PARAM);
        order = common::ProcOrder(procs);
    }
    const bool first = *meant == nullptr;
    if (first) *meant = begin(GroupCall::construct, request.name, std::move(signature), *member);
    if (*meant == nullptr) return reply.status(PMIX_ERR_OUT_OF_RESOURCE);
    Operation& op = **meant;
    if (op.launched) return wait_late(op, *member, std::move(reply));
    if (first && !op.charge.set(peer.account(), named.size() * kMemoryOfMember)) {
        rounds_.erase(op.id);
        return reply.status(PMIX_ERR_OUT_OF_RESOURCE);
    }
    if (first) op.inviter = inviter;
    if (op.inviter != inviter) return reply.status(PMIX_ERR_BAD_PARAM);  // the same processes, but not the same members
    const bool leads = view.flag(PMIX_GROUP_LEADER);
    if (leads && !op.leader) {
        op.leader = peer.id();
        op.leaderless = false;
    }
    GroupSection mine;
    mine.leads = leads && *op.leader == peer.id();
    mine.requester = peer.id();
    mine.order = std::move(named);
    mine.final_order = std::move(order);
    mine.directives = group_directives(infos);
    if (InfoList shared = group_shared_by(infos); !shared.empty())
        mine.shared.push_back({peer.id(), std::move(shared)});
    merge_group_section(op.section, std::move(mine));
    // Once: a call that had no memory to join may come again.
    if (view.flag(PMIX_GROUP_NOTIFY_TERMINATION) &&
        std::find(op.deciders.begin(), op.deciders.end(), *member) == op.deciders.end())
        op.deciders.push_back(*member);
    rc = admit(op, peer, infos, common::Function::PMIx_Group_construct, reply);
    if (rc == PMIX_SUCCESS) return judge(op.id);
    if (first) rounds_.erase(op.id);
    reply.status(rc);
}

void Groups::destruct(Peer& peer, common::GroupRequest& request, Reply reply) {
    auto member = registry_.member(peer.id());
    if (!member) return reply.status(PMIX_ERR_BAD_PARAM);
    const Group* group = registry_.groups().find(request.name, peer.id());
    // The members may have become fewer since it ended.
    if (answer_late(GroupCall::destruct, request.name, nullptr, *member, reply)) return;
    if (group == nullptr) return reply.status(PMIX_ERR_NOT_FOUND);
    // The host does not know members whose namespace has ended; the local status reports that they are missing.
    const bool whole = std::none_of(group->members.begin(), group->members.end(),
                                    [](const Group::Member& m) { return !m.left && m.ended; });
    Operation* open = destruct_of(request.name, group->number);
    const bool first = open == nullptr;
    if (first) open = begin(GroupCall::destruct, request.name, Signature(group->living()), *member);
    if (open == nullptr) return reply.status(PMIX_ERR_OUT_OF_RESOURCE);
    Operation& op = *open;
    if (op.launched) return wait_late(op, *member, std::move(reply));
    if (first) {
        op.group = group->number;
        op.section.directives.tolerant = group->notify;
        op.hosted = group->hosted;
    }
    InfoList infos = request.infos.take();
    // If the construct had PMIX_GROUP_NOTIFY_TERMINATION, the group is smaller already and the members have been
    // notified.
    const GroupDirectives given = group_directives(infos);
    op.section.directives.merge({.notify = given.notify, .tolerant = given.tolerant});
    op.incomplete = op.incomplete || !whole;
    const pmix_status_t rc = admit(op, peer, infos, common::Function::PMIx_Group_destruct, reply);
    if (rc != PMIX_SUCCESS) {
        if (first) rounds_.erase(op.id);
        return reply.status(rc);
    }
    judge(op.id);
}

// If several callers give the same attribute, the host is given that of the first.
pmix_status_t Groups::admit(Operation& op, const Peer& peer, const InfoList& infos, common::Function function,
                            Reply& reply) {
    const int timeout = timeout_in(InfoView(infos));
    if (timeout < 0) return PMIX_ERR_BAD_PARAM;
    for (const pmix_info_t& info : infos) {
        if (op.infos.find(common::key_view(info)) != nullptr) continue;
        pmix_status_t rc = op.infos.append(info);
        if (rc != PMIX_SUCCESS) return rc;
    }
    const MemberId member = *registry_.member(peer.id());
    const Required required = required_in_collective(host_, infos, function);
    assert(!op.launched && find(op.id) == &op);
    const bool fresh = !op.has_joined(member);
    if (fresh) op.joined.push_back(member);
    try {
        join(op.id, op, peer, timeout, required, std::move(reply));
    } catch (const std::bad_alloc&) {
        if (fresh) op.joined.pop_back();  // its call has failed
        throw;
    }
    return PMIX_SUCCESS;
}

void Groups::judge(RoundId id) {
    Operation* op = find(id);
    if (op == nullptr || op->launched) return;
    // As member_gone() and lost() do it, which may have been without memory before they reached this operation.
    std::erase_if(op->undecided, [this](const auto& entry) { return is_gone(entry.first); });
    std::erase_if(op->deciders, [this](MemberId member) { return is_gone(member); });
    if (op->leader) {
        const auto leader = registry_.member(*op->leader);
        if (leader && is_gone(*leader)) leader_gone(*op);
    }
    if (op->call == GroupCall::destruct) {
        if (const Group* group = registry_.groups().find(op->group)) {
            for (const Group::Member& m : group->members)
                if (m.left) op->signature.erase(m.proc);
        }
    }
    bool missing = registry_.unnamed_members(op->signature) != 0;
    for (MemberId member : expected(op->signature)) {
        if (op->has_joined(member)) continue;
        if (!is_gone(member)) {
            missing = true;
            continue;
        }
        ProcId proc = registry_.proc_of(member);
        if (contains(op->section.failed, proc)) continue;
        op->section.untold.push_back(proc);
        op->section.failed.push_back(std::move(proc));
    }
    tell_failed(*op);
    if (!missing && op->undecided.empty()) return start(id, *op);
    const bool lost = op->incomplete || !op->section.failed.empty();
    if (lost && !op->asked().forgive() && !op->loss_limit.is_set())
        op->loss_limit = Timer(scheduler_, kLossWaitMs, [this, id] { give_up(id); });
}

void Groups::give_up(RoundId id) {
    Operation* op = find(id);
    if (op != nullptr && !op->launched && !op->asked().forgive()) start(id, *op);
}

// If the callers allow failures, the operation goes on without the failed members, unless a notified caller aborts it.
// Failures that no caller allows are kept: a later caller may allow them.
void Groups::tell_failed(Operation& op) {
    const GroupDirectives& d = op.asked();
    if (d.optional || !(d.notify || (d.tolerant && op.call == GroupCall::construct))) return;
    while (!op.section.untold.empty()) {
        const ProcId proc = op.section.untold.front();
        const ProcList targets = op.leader ? ProcList{*op.leader} : others(op, proc);
        ask(op, PMIX_GROUP_MEMBER_FAILED, proc, targets);
        op.section.untold.erase(op.section.untold.begin());
    }
}

void Groups::leader_gone(Operation& op) {
    assert(op.leader.has_value());
    const ProcId proc = *op.leader;
    op.leader.reset();
    // After the upcall, or if no caller allows failures, it counts as having called: the group forms, as with any
    // member that ends later, and all are notified.
    if (!op.launched) {
        op.leaderless = true;
        op.section.leads = false;
        if (op.asked().forgive() && !contains(op.section.failed, proc)) op.section.failed.push_back(proc);
    }
    if (op.asked().optional) return;
    if (op.launched) return announce_failure(PMIX_GROUP_LEADER_FAILED, op.name, proc, others(op, proc));
    ask(op, PMIX_GROUP_LEADER_FAILED, proc, others(op, proc));
}

// Tells these of the failure. The decision of a decider among them that has been told is waited for, and no other.
void Groups::ask(Operation& op, pmix_status_t code, const ProcId& proc, const ProcList& targets) {
    struct Asked {
        MemberId member;
        ProcId proc;
        bool told = false;
    };
    std::vector<Asked> asked;
    auto undecided = op.undecided;
    for (const MemberId member : op.deciders) {
        ProcId decider = registry_.proc_of(member);
        if (!op.has_joined(member) || !contains(targets, decider)) continue;
        ++undecided[member];
        asked.push_back({member, std::move(decider)});
    }
    const auto note = [&](const ProcId& told) {
        for (Asked& one : asked) one.told = one.told || one.proc == told;
    };
    // What follows a delivery may not fail: all are counted before, and those taken back that were not told.
    op.undecided.swap(undecided);
    const auto take_back = [&] {
        for (const Asked& one : asked) {
            const auto at = one.told ? op.undecided.end() : op.undecided.find(one.member);
            if (at != op.undecided.end() && --at->second == 0) op.undecided.erase(at);
        }
    };
    run_all([&] { announce_failure(code, op.name, proc, targets, note); }, take_back);
}

// The participants but one.
ProcList Groups::others(const Operation& op, const ProcId& proc) const {
    ProcList out = op.call == GroupCall::construct ? expand(op.section.order) : op.signature.list();
    std::erase(out, proc);
    return out;
}

void Groups::announce_failure(pmix_status_t code, const std::string& name, const ProcId& proc, const ProcList& targets,
                              const Told& told) {
    InfoList infos;
    const pmix_proc_t affected = proc.to_c();
    need(infos.append_string(PMIX_GROUP_ID, name));
    need(infos.append(PMIX_EVENT_AFFECTED_PROC, &affected, PMIX_PROC));
    announce(code, proc, targets, std::move(infos), told);
}

void Groups::decide(Peer& peer, const common::GroupRequest& request, Reply reply) {
    Operation* op = forming(request.name, peer.id());
    auto member = registry_.member(peer.id());
    if (op == nullptr || !member || !op->has_joined(*member)) return reply.status(PMIX_SUCCESS);
    if (request.call == GroupCall::abort) {
        // Before its answer: it is repeated if that is none.
        abort(*op);
        return reply.status(PMIX_SUCCESS);
    }
    // The decision counts before it is answered: the operation does not wait for one whose answer was lost.
    auto at = op->undecided.find(*member);
    const bool was_asked = at != op->undecided.end();
    assert(!was_asked || at->second > 0);
    if (was_asked && --at->second == 0) op->undecided.erase(at);
    reply.status(PMIX_SUCCESS);
    const auto select = [&](const ProcId* leader) {
        ProcList targets;
        for (ProcId& p : expand(op->section.order))
            if (!contains(op->section.failed, p)) targets.push_back(std::move(p));
        InfoList infos;
        need(infos.append_string(PMIX_GROUP_ID, op->name));
        const pmix_proc_t proc = (leader != nullptr ? *leader : ProcId("", PMIX_RANK_INVALID)).to_c();
        need(infos.append(PMIX_GROUP_LEADER, &proc, PMIX_PROC));
        announce(PMIX_GROUP_LEADER_SELECTED, leader != nullptr ? *leader : peer.id(), targets, std::move(infos));
    };
    if (op->leaderless && InfoView(request.infos.data(), request.infos.size()).flag(PMIX_GROUP_LEADER)) {
        op->leader = peer.id();  // the first that offers to lead
        op->leaderless = false;
        select(&*op->leader);
    }
    if (!was_asked) return;
    if (op->undecided.empty() && op->leaderless) {
        op->leaderless = false;
        select(nullptr);
    }
    judge(op->id);
}

void Groups::abort(Operation& op) {
    const RoundId id = op.id;
    InfoList infos;
    need(infos.append_string(PMIX_GROUP_ID, op.name));
    ProcList all = expand(op.section.order);
    if (op.inviter) all.push_back(*op.inviter);
    const ProcId source = op.joined.empty() ? ProcId() : registry_.proc_of(op.joined.front());
    op.local_status = PMIX_GROUP_CONSTRUCT_ABORT;
    start(id, op);
    run_all([&] { announce(PMIX_GROUP_CONSTRUCT_ABORT, source, all, std::move(infos)); },
            [&] { finish(id, PMIX_GROUP_CONSTRUCT_ABORT); });
}

void Groups::expire(RoundId id) {
    Operation* op = find(id);
    if (op == nullptr) return;
    if (op->asked().optional && !op->launched) {
        for (MemberId member : expected(op->signature)) {
            const ProcId proc = registry_.proc_of(member);
            if (!op->has_joined(member) && !contains(op->section.failed, proc)) op->section.failed.push_back(proc);
        }
        op->timer = Timer(scheduler_, kOptionalWaitMs, [this, id] { expire(id); });
        return start(id, *op);
    }
    if (op->asked().optional && op->ends_at_ms + kOptionalWaitMs > transport::monotonic_ms()) {
        // The upcall was made in time; the host has its own time limit for optional members.
        op->timer = Timer(scheduler_, kOptionalWaitMs, [this, id] { expire(id); });
        return;
    }
    if (op->local_status == PMIX_SUCCESS) op->local_status = PMIX_ERR_TIMEOUT;
    start(id, *op);
    op = find(id);
    if (op == nullptr) return;
    if (op->hosted && !std::exchange(op->late, true)) {
        op->timer = Timer(scheduler_, kHostAnswerMs, [this, id] { expire(id); });
        return;
    }
    finish(id, PMIX_ERR_TIMEOUT);
}

// Without a host that assigns numbers, one that is unique on this node is enough if no process is elsewhere.
bool Groups::assigns_here(const Operation& op, Reach reach) noexcept {
    if (reach != Reach::here || host_of(op).has_group()) return false;
    pmix_data_range_t range = PMIX_RANGE_SESSION;
    const pmix_info_t* info = op.infos.find(PMIX_RANGE);
    if (info != nullptr && info->value.type == PMIX_DATA_RANGE) range = info->value.data.range;
    if (range == PMIX_RANGE_LOCAL || range == PMIX_RANGE_PROC_LOCAL) return true;
    return range == PMIX_RANGE_NAMESPACE &&
           std::all_of(op.signature.parts().begin(), op.signature.parts().end(), [&](const Signature::Part& p) {
               const Nspace* nspace = registry_.find(p.nspace);
               return nspace != nullptr && nspace->size_known() && nspace->all_local();
           });
}

void Groups::launch(RoundId id, Round& round) {
    auto& op = static_cast<Operation&>(round);
    // A caller on another node may allow it: see host_answered().
    const bool incomplete = op.incomplete || !op.section.failed.empty();
    if (op.local_status == PMIX_SUCCESS && op.asked().differ) op.local_status = PMIX_ERR_BAD_PARAM;
    if (op.local_status == PMIX_SUCCESS && incomplete && !op.asked().forgive())
        op.local_status = PMIX_ERR_PROC_TERM_WO_SYNC;
    Signature named = op.signature;
    for (const std::string& ended : op.ended) named.erase(ended);
    Reach reach = registry_.reach(named);
    // Processes without a known node may be anywhere, unless the callers state that all are local.
    Host& host = host_of(op);
    if (reach == Reach::unknown && (!host.has_group() || InfoView(op.infos).flag(PMIX_GROUP_LOCAL_ONLY)))
        reach = Reach::here;
    const bool constructs = op.call == GroupCall::construct;
    const bool numbered = constructs && op.asked().assign && !assigns_here(op, reach);
    // Only the host can add those that are not named to the members.
    if (reach == Reach::here && !numbered && !op.asked().adds && !op.hosted && op.required != Required::by_host) {
        if (op.local_status != PMIX_SUCCESS || !constructs) return finish(id, op.local_status);
        InfoList results;
        if (op.asked().assign) need(results.append_number<size_t>(PMIX_GROUP_CONTEXT_ID, next_context_++, PMIX_SIZE));
        return form(op, results, false, true);
    }
    if (!host.has_group()) return finish(id, PMIX_ERR_NOT_SUPPORTED);
    if (constructs && op.local_status != PMIX_SUCCESS && host.cancels_groups()) {
        // Such a host ends the construct for the other nodes by its name; its answer is not waited for.
        host.group(PMIX_GROUP_CANCEL, op.name, {}, {}, [](HostAnswer&) {});
        return finish(id, op.local_status);
    }
    assert(op.launched && !op.handed_over);
    op.hosted = true;
    const auto what = constructs ? PMIX_GROUP_CONSTRUCT : PMIX_GROUP_DESTRUCT;
    host.group(what, op.name, named, for_host(op),
               [this, id, due = due(op)](HostAnswer& answer) { host_answered(id, answer); });
}

// All directives but those that only the library acts on, and what it adds.
InfoList Groups::for_host(Operation& op) {
    InfoList out;
    for (const pmix_info_t& info : op.infos) {
        std::string_view k = common::key_view(info);
        if (k == PMIX_GROUP_INFO || k == PMIX_GROUP_ENDPT_DATA || k == PMIX_GROUP_LOCAL_CID || k == PMIX_GROUP_LEADER ||
            k == PMIX_GROUP_ASSIGN_CONTEXT_ID || k == PMIX_GROUP_OPTIONAL || k == PMIX_GROUP_NOTIFY_TERMINATION ||
            k == PMIX_GROUP_FT_COLLECTIVE)
            continue;
        need(out.append(info));
    }
    const bool constructs = op.call == GroupCall::construct;
    if (constructs) need(out.append_flag(PMIX_GROUP_ASSIGN_CONTEXT_ID, op.asked().assign));
    if (op.asked().optional) need(out.append_flag(PMIX_GROUP_OPTIONAL, true));
    if (op.asked().notify) need(out.append_flag(PMIX_GROUP_NOTIFY_TERMINATION, true));
    if (op.asked().tolerant) need(out.append_flag(PMIX_GROUP_FT_COLLECTIVE, true));
    std::vector<uint8_t> blob;
    const bool may_succeed = op.local_status == PMIX_SUCCESS || op.local_status == PMIX_ERR_PROC_TERM_WO_SYNC;
    if (may_succeed) {
        auto section = encode_group_section(op.section);
        if (section.ok()) section = wrap_group(op.name, *section);
        if (section.ok()) blob = std::move(section).value();
        if (!section.ok()) op.local_status = section.status();
    }
    if (constructs && may_succeed) {
        for (auto& [nspace, ranks] : registry_.local_members(op.signature)) {
            if (nspace->data == nullptr) continue;
            append_owner(*nspace, blob);
            std::vector<dstore::RankSince> since;
            for (common::Rank rank : ranks)
                if (nspace->data->committed(rank) != 0) since.push_back({rank, 0});
            if (since.empty()) continue;
            auto data = nspace->data->contribution(nspace->name, since);
            if (data.ok()) {
                blob.insert(blob.end(), data->begin(), data->end());
            } else {
                op.local_status = data.status();
            }
        }
    }
    if (!blob.empty()) {
        pmix_byte_object_t object{reinterpret_cast<char*>(blob.data()), blob.size()};
        pmix_status_t rc = out.append(PMIX_GROUP_ENDPT_DATA, &object, PMIX_BYTE_OBJECT);
        if (rc != PMIX_SUCCESS) op.local_status = rc;
    }
    need(op.users.append_ids(out));
    need(out.append_flag(PMIX_SORTED_PROC_ARRAY, true));
    need(out.append_number<pmix_status_t>(PMIX_LOCAL_COLLECTIVE_STATUS, op.local_status, PMIX_STATUS));
    return out;
}

void Groups::ended(RoundId, Round& round, pmix_status_t status) {
    Operation& op = operation(round);
    const pmix_status_t of_late_ones = op.formed ? PMIX_ERR_TIMEOUT : status;
    for (auto& [member, reply] : op.late_callers) reply.status(of_late_ones);
    // A destruct that failed for good leaves nothing that could be destructed again.
    if (op.call == GroupCall::destruct && status != PMIX_ERR_TIMEOUT) registry_.groups().erase(op.group);
    // If the account is full or there is no memory, a late caller begins a new round; the others are told of this one.
    try {
        EndedOperations::Ended kept{op.call, op.name, op.signature, {}, of_late_ones};
        for (MemberId member : expected(op.signature))
            if (!op.has_joined(member) && op.late_callers.count(member) == 0 && !is_gone(member))
                kept.missing.push_back(member);
        if (kept.missing.empty()) return;
        kept.user = op.account.get();
        if (kept.charge.set(op.account, Collective::memory_of(kept.signature))) ended_.keep(std::move(kept));
    } catch (const std::bad_alloc&) {
    }
}

void Groups::answer(Reply& reply, const Round& round, pmix_status_t status) {
    const Operation& op = operation(round);
    auto peer = reply.peer();
    if (peer == nullptr) return;
    if (!op.formed) return reply.status(status);
    common::GroupReply message;
    message.infos = common::Infos::borrow(op.results.c_array(), op.results.size());
    std::vector<int> descriptors;
    add_segments(segments_, registry_, op.members, *peer, message.segments, descriptors);
    reply.message(status, message, descriptors);
}

std::string Groups::name_of(const Round& round) const {
    const Operation& op = operation(round);
    return (op.call == GroupCall::construct ? "group construct " : "group destruct ") + op.name;
}

}  // namespace pmix::server
