// SPDX-License-Identifier: BSD-3-Clause
#include "server/collectives/group_invitations.h"

#include <algorithm>

#include "common/values/info_view.h"
#include "common/values/proc_array.h"
#include "server/base/need.h"
#include "server/collectives/groups.h"
#include "transport/deadline.h"

namespace pmix::server {

using common::InfoList;
using common::ProcId;
using common::ProcList;

namespace {

bool contains(const std::set<ProcId>& set, const ProcId& proc) {
    return set.count(proc) != 0;
}

}  // namespace

bool GroupInvitations::has_gone(const ProcId& proc) const noexcept {
    const Nspace* nspace = registry_.find(proc.nspace);
    return nspace != nullptr && nspace->is_local(proc.rank) && nspace->has_left(proc.rank);
}

void GroupInvitations::tell_leader(const Invitation& invitation, const ProcId& failed) {
    InfoList infos;
    pmix_proc_t proc = failed.to_c();
    need(infos.append_string(PMIX_GROUP_ID, invitation.group));
    need(infos.append(PMIX_EVENT_AFFECTED_PROC, &proc, PMIX_PROC));
    groups_.announce(PMIX_GROUP_INVITE_FAILED, failed, {invitation.leader}, std::move(infos));
}

void GroupInvitations::tell_invited(const Invitation& invitation, const ProcList& targets) {
    InfoList infos;
    pmix_proc_t proc = invitation.leader.to_c();
    need(infos.append_string(PMIX_GROUP_ID, invitation.group));
    need(infos.append(PMIX_EVENT_AFFECTED_PROC, &proc, PMIX_PROC));
    groups_.announce(PMIX_GROUP_LEADER_FAILED, invitation.leader, targets, std::move(infos));
}

void GroupInvitations::heard(pmix_status_t code, const ProcId& source, const InfoList& infos) {
    common::InfoView view(infos);
    std::string_view name;
    if (view.get(PMIX_GROUP_ID, &name) != PMIX_SUCCESS || name.empty()) return;
    ProcList targets;
    if (const pmix_info_t* custom = view.find(PMIX_EVENT_CUSTOM_RANGE)) common::read_proc_array(custom->value, targets);

    if (code == PMIX_GROUP_INVITED) {
        auto at = std::find_if(open_.begin(), open_.end(),
                               [&](const Invitation& i) { return i.group == name && i.leader == source; });
        if (at == open_.end()) {
            Invitation fresh{std::string(name), source, user_of(source)};
            fresh.charge = std::make_shared<Charge>();
            fresh.began_ms = transport::monotonic_ms();
            forget_oldest_of(fresh.user);
            at = open_.insert(open_.end(), std::move(fresh));
        }
        // The ends of invited processes for which there is no memory in the budget are not reported.
        // Each is noted once more with its answer.
        size_t bytes = sizeof(Invitation) + name.size() + targets.size() * 2 * sizeof(ProcId);
        for (const ProcId& p : targets) bytes += 2 * p.nspace.capacity();
        const AccountPtr account = at->user ? budget_.of(*at->user) : nullptr;
        const bool fits = at->charge->account() == nullptr ? at->charge->set(account, bytes) : at->charge->grow(bytes);
        if (!fits) {
            open_.erase(at);
            return;
        }
        for (const ProcId& p : targets) {
            at->invited.insert(p);
            at->declined.erase(p);
            at->accepted.erase(p);
            if (has_gone(p)) tell_leader(*at, p);
        }
        return;
    }
    if (code == PMIX_GROUP_CONSTRUCT_ABORT && common::is_abort_of(source, view)) {
        // Others may have invited the same processes to a group of that name.
        std::erase_if(open_, [&](const Invitation& i) { return i.group == name && i.leader == source; });
        return;
    }
    if (code == PMIX_GROUP_CONSTRUCT_ABORT || code == PMIX_GROUP_CONSTRUCT_COMPLETE) {
        targets.push_back(source);
        return over(name, targets);
    }
    for (Invitation& i : open_) {
        if (i.group != name || !contains(i.invited, source)) continue;
        if (code == PMIX_GROUP_INVITE_DECLINED) {
            i.declined.insert(source);
            i.accepted.erase(source);
        } else if (code == PMIX_GROUP_INVITE_ACCEPTED && !i.leader_gone && contains(targets, i.leader)) {
            i.accepted.insert(source);
        } else if (code == PMIX_GROUP_INVITE_ACCEPTED && i.leader_gone && contains(targets, i.leader)) {
            tell_invited(i, {source});  // it waits for somebody who has gone
        } else if (code == PMIX_GROUP_LEADER_SELECTED && i.leader_gone) {
            i.leader = source;
            i.leader_gone = false;
            i.invited.erase(source);
            i.accepted.clear();  // each accepts once more
        }
    }
}

bool GroupInvitations::has_part(const ProcId& proc, std::string_view group) const noexcept {
    return std::any_of(open_.begin(), open_.end(), [&](const Invitation& i) {
        return i.group == group && (i.leader == proc || contains(i.invited, proc));
    });
}

void GroupInvitations::gone(const ProcId& proc) {
    // First what there is to announce: it may come back here. No copy of an invitation, which may be long.
    struct News {
        Invitation of;  // its group and its leader
        bool failed = false;
        ProcList targets;
    };
    std::vector<News> news;
    for (Invitation& i : open_) {
        News n;
        n.failed = contains(i.invited, proc) && !contains(i.declined, proc);
        const bool leads = i.leader == proc && !i.leader_gone;
        if (!n.failed && !leads) continue;
        n.of.group = i.group;
        n.of.leader = i.leader;
        if (leads) n.targets.assign(i.invited.begin(), i.invited.end());
        i.leader_gone = i.leader_gone || leads;
        news.push_back(std::move(n));
    }
    for (const News& n : news) {
        if (n.failed) tell_leader(n.of, proc);
        if (!n.targets.empty()) tell_invited(n.of, n.targets);
    }
}

void GroupInvitations::report(ReportRows& rows) const {
    for (const Invitation& i : open_) {
        CollectiveReport row;
        row.operation = "group invite " + i.group;
        row.inviter = i.leader;
        row.members.assign(i.invited.begin(), i.invited.end());
        row.began_ms = i.began_ms;
        const bool hears_all = is_local(i.leader);
        for (const ProcId& p : i.invited) {
            if (contains(i.accepted, p) || contains(i.declined, p)) {
                row.joined.push_back(p);
            } else if (hears_all || is_local(p)) {
                row.missing.push_back(p);
            }
        }
        // All answers are here: the construct has its own row. Elsewhere the rest is for other nodes to give.
        if (row.missing.empty() && hears_all) continue;
        row.at_host = row.missing.empty();
        rows.collectives.push_back(std::move(row));
    }
}

bool GroupInvitations::is_local(const ProcId& proc) const noexcept {
    const Nspace* nspace = registry_.find(proc.nspace);
    return nspace != nullptr && nspace->is_local(proc.rank);
}

std::optional<uint32_t> GroupInvitations::user_of(const ProcId& leader) const {
    const Nspace* nspace = registry_.find(leader.nspace);
    if (nspace == nullptr) return std::nullopt;
    const Client* client = nspace->find_client(leader.rank);
    return client != nullptr ? client->uid : nspace->owner;
}

// Makes place for one more.
void GroupInvitations::forget_oldest_of(std::optional<uint32_t> user) {
    const auto is_theirs = [&](const Invitation& i) { return i.user == user; };
    if (std::count_if(open_.begin(), open_.end(), is_theirs) < static_cast<ptrdiff_t>(kMaxOpenOfUser)) return;
    open_.erase(std::find_if(open_.begin(), open_.end(), is_theirs));
}

void GroupInvitations::over(std::string_view group, const ProcList& procs) {
    std::erase_if(open_, [&](const Invitation& i) {
        return i.group == group && std::any_of(procs.begin(), procs.end(), [&](const ProcId& p) {
                   return i.leader == p || contains(i.invited, p);
               });
    });
}

}  // namespace pmix::server
