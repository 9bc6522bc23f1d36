// SPDX-License-Identifier: BSD-3-Clause
#include "server/collectives/group_invitations.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <set>
#include <utility>

#include "common/values/info_view.h"
#include "common/values/proc_array.h"
#include "server/base/need.h"
#include "server/collectives/groups.h"
#include "transport/deadline.h"

namespace pmix::server {

using common::InfoList;
using common::ProcId;
using common::ProcList;

GroupInvitations::Open::iterator GroupInvitations::find(std::string_view group, const ProcId& leader) noexcept {
    return std::find_if(open_.begin(), open_.end(),
                        [&](const Invitation& i) { return i.group == group && i.leader == leader; });
}

void GroupInvitations::note_end(Invitation& invitation, Invited& invited) noexcept {
    invited.gone = true;
    if (invited.answer != Answer::declined) invited.end_due = invitation.due = true;
}

void GroupInvitations::note_end_of_leader(Invitation& invitation) noexcept {
    if (invitation.leader_gone) return;
    invitation.leader_gone = invitation.due = true;
    for (auto& [proc, invited] : invitation.invited) invited.leader_due = true;
}

// The first thing that is due, of one invited process or of the leader. It is not due any more when it has been told.
bool GroupInvitations::tell_one(Invitation& invitation) {
    // Copies, and looked up again: telling may come back here.
    const std::string group = invitation.group;
    const ProcId leader = invitation.leader;
    const auto told = [&](const ProcId& proc, bool Invited::*due) noexcept {
        const auto at = find(group, leader);
        if (at == open_.end()) return;
        if (const auto one = at->invited.find(proc); one != at->invited.end()) one->second.*due = false;
    };
    ProcList targets;
    for (const auto& [proc, invited] : invitation.invited) {
        if (!invited.end_due) {
            if (invited.leader_due) targets.push_back(proc);
            continue;
        }
        const ProcId failed = proc;
        InfoList infos;
        const pmix_proc_t affected = failed.to_c();
        need(infos.append_string(PMIX_GROUP_ID, group));
        need(infos.append(PMIX_EVENT_AFFECTED_PROC, &affected, PMIX_PROC));
        groups_.announce(PMIX_GROUP_INVITE_FAILED, failed, {leader}, std::move(infos),
                         [&](const ProcId&) { told(failed, &Invited::end_due); });
        told(failed, &Invited::end_due);  // it listens no more, or later
        return true;
    }
    if (targets.empty()) return false;
    InfoList infos;
    const pmix_proc_t affected = leader.to_c();
    need(infos.append_string(PMIX_GROUP_ID, group));
    need(infos.append(PMIX_EVENT_AFFECTED_PROC, &affected, PMIX_PROC));
    // Of those that one event is for, some may be told where there is no memory for all.
    groups_.announce(PMIX_GROUP_LEADER_FAILED, leader, targets, std::move(infos),
                     [&](const ProcId& proc) { told(proc, &Invited::leader_due); });
    for (const ProcId& proc : targets) told(proc, &Invited::leader_due);
    return true;
}

// Where telling comes back here, the first goes on with what has become due.
void GroupInvitations::tell_due() {
    if (std::exchange(telling_, true)) return;
    const auto next = [this] {
        return std::find_if(open_.begin(), open_.end(), [](const Invitation& i) { return i.due; });
    };
    try {
        for (auto at = next(); at != open_.end(); at = next())
            if (!tell_one(*at)) at->due = false;
    } catch (const std::bad_alloc&) {
        telling_ = false;
        throw;
    }
    assert(telling_);  // a call from within has left it to this one
    telling_ = false;
}

// It is noted for all of these or for none.
void GroupInvitations::invited(std::string_view group, const ProcId& leader, const ProcList& targets) {
    std::map<ProcId, Invited> fresh;
    for (const ProcId& p : targets) fresh.try_emplace(p);
    auto at = find(group, leader);
    const std::optional<uint32_t> user = at != open_.end() ? at->user : registry_.user_of(leader);
    const AccountPtr account = user ? budget_.of(*user) : nullptr;
    if (at == open_.end()) {
        Invitation made{std::string(group), leader, user};
        made.began_ms = transport::monotonic_ms();
        forget_oldest_of(user);
        at = open_.insert(open_.end(), std::move(made));
    }
    // The ends of invited processes for which there is no memory in the budget are not reported.
    // Twice for each: a node of the map is larger than what it is found by.
    size_t bytes = sizeof(Invitation) + group.size() + targets.size() * 2 * sizeof(ProcId);
    for (const ProcId& p : targets) bytes += 2 * p.nspace.capacity();
    const bool fits = at->charge.account() == nullptr ? at->charge.set(account, bytes) : at->charge.grow(bytes);
    if (!fits) {
        open_.erase(at);
        return;
    }
    at->invited.merge(fresh);
    for (const ProcId& p : targets) {
        Invited& who = at->invited.find(p)->second;
        who = {};
        if (!registry_.has_ended(p)) continue;
        if (registry_.is_local(p)) {
            note_end(*at, who);
        } else {
            groups_.ended_elsewhere(p);
        }
    }
}

void GroupInvitations::heard(pmix_status_t code, const ProcId& source, const InfoList& infos) {
    common::InfoView view(infos);
    std::string_view name;
    if (view.get(PMIX_GROUP_ID, &name) != PMIX_SUCCESS || name.empty()) return;
    ProcList targets;
    if (const pmix_info_t* custom = view.find(PMIX_EVENT_CUSTOM_RANGE)) common::read_proc_array(custom->value, targets);

    if (code == PMIX_GROUP_CONSTRUCT_ABORT && common::is_abort_of(source, view)) {
        // Others may have invited the same processes to a group of that name.
        std::erase_if(open_, [&](const Invitation& i) { return i.group == name && i.leader == source; });
        return early_.over(name, source, targets);
    }
    if (code == PMIX_GROUP_CONSTRUCT_ABORT || code == PMIX_GROUP_CONSTRUCT_COMPLETE) {
        targets.push_back(source);
        return over(name, targets);
    }
    if (code == PMIX_GROUP_INVITED) {
        // Clients of OpenPMIx name whole jobs, and the inviter with the others.
        targets = groups_.expand(targets);
        std::erase(targets, source);
        early_.over(name, source, targets);
        invited(name, source, targets);
    } else {
        if (code == PMIX_GROUP_INVITE_DECLINED) early_.declined(name, source);
        bool known = code != PMIX_GROUP_INVITE_ACCEPTED;
        for (Invitation& i : open_) {
            // The server of a process that has ended has told those that it concerns.
            if (code == PMIX_GROUP_LEADER_FAILED && i.group == name && i.leader == source)
                i.leader_gone = i.its_server_tells = true;
            const auto at = i.group == name ? i.invited.find(source) : i.invited.end();
            if (at == i.invited.end()) continue;
            Invited& who = at->second;
            if (code == PMIX_GROUP_INVITE_FAILED) who.gone = true;
            if (code == PMIX_GROUP_INVITE_DECLINED) {
                who.answer = Answer::declined;
            } else if (code == PMIX_GROUP_INVITE_ACCEPTED && contains(targets, i.leader)) {
                known = true;
                if (i.leader_gone && !i.its_server_tells &&
                    (registry_.is_local(i.leader) || registry_.is_local(source))) {
                    who.leader_due = i.due = true;  // it waits for somebody who has gone
                } else if (who.answer != Answer::declined) {
                    who.answer = Answer::accepted;
                }
            } else if (code == PMIX_GROUP_LEADER_SELECTED && i.leader_gone) {
                i.leader = source;
                i.leader_gone = i.its_server_tells = false;
                i.invited.erase(at);
                for (auto& [proc, other] : i.invited) {
                    other.leader_due = false;
                    if (other.answer == Answer::accepted) other.answer = Answer::none;  // each accepts once more
                }
            }
        }
        for (const ProcId& leader : targets)
            if (!known) early_.accepted(name, leader, source);
    }
    // The event is one that goes on in any case; what follows from it may have to wait for memory.
    try {
        run_all([&] { tell_due(); }, [&] { early_.tell(); });
    } catch (const std::bad_alloc&) {
        scheduler_.step_lost();
    }
}

void GroupInvitations::answered(std::string_view group, const ProcId& leader, const InfoList& infos) {
    ProcList targets;
    if (const pmix_info_t* custom = infos.find(PMIX_EVENT_CUSTOM_RANGE))
        common::read_proc_array(custom->value, targets);
    early_.over(group, leader, targets);
}

bool GroupInvitations::have_accepted(const ProcId& leader, std::string_view group,
                                     const ProcList& procs) const noexcept {
    const auto i = const_cast<GroupInvitations*>(this)->find(group, leader);
    return i != open_.end() && std::all_of(procs.begin(), procs.end(), [&](const ProcId& p) {
               const auto at = i->invited.find(p);
               return p == leader || (at != i->invited.end() && at->second.answer == Answer::accepted);
           });
}

AccountPtr GroupInvitations::account_of(const ProcId& leader) const {
    const std::optional<uint32_t> user = registry_.user_of(leader);
    return user ? budget_.of(*user) : nullptr;
}

bool GroupInvitations::has_part(const ProcId& proc, std::string_view group) const noexcept {
    return std::any_of(open_.begin(), open_.end(), [&](const Invitation& i) {
        return i.group == group && (i.leader == proc || i.invited.count(proc) != 0);
    });
}

void GroupInvitations::gone(const ProcId& proc) {
    for (Invitation& i : open_) {
        if (const auto at = i.invited.find(proc); at != i.invited.end()) note_end(i, at->second);
        if (i.leader == proc) note_end_of_leader(i);
    }
    run_all([&] { tell_due(); }, [&] { early_.gone(proc); });
}

void GroupInvitations::gone_elsewhere(const ProcId& proc) {
    for (Invitation& i : open_) {
        const auto at = i.invited.find(proc);
        if (at != i.invited.end() && !at->second.gone) {
            at->second.gone = true;
            const bool due = at->second.answer != Answer::declined && registry_.is_local(i.leader);
            at->second.end_due = at->second.end_due || due;
            i.due = i.due || due;
        }
        if (i.leader != proc || i.leader_gone) continue;
        i.leader_gone = i.due = true;
        for (auto& [invited, who] : i.invited) who.leader_due = registry_.is_local(invited);
    }
    run_all([&] { tell_due(); }, [&] { early_.gone(proc); });
}

bool GroupInvitations::waits_for(const ProcId& proc) const noexcept {
    return early_.waits_for(proc) || std::any_of(open_.begin(), open_.end(), [&](const Invitation& i) {
               return i.leader == proc || i.invited.count(proc) != 0;
           });
}

ProcList GroupInvitations::awaited_of(std::string_view nspace) const {
    std::set<ProcId> out;
    const auto add = [&](const ProcId& p) {
        if (p.nspace == nspace && !registry_.is_local(p)) out.insert(p);
    };
    for (const Invitation& i : open_) {
        add(i.leader);
        for (const auto& [proc, who] : i.invited) add(proc);
    }
    early_.for_each_inviter(add);
    return {out.begin(), out.end()};
}

// The end of a process may not have been noted either.
void GroupInvitations::recover() {
    ProcList elsewhere;
    for (Invitation& i : open_) {
        for (auto& [proc, who] : i.invited) {
            if (who.gone || !registry_.has_ended(proc)) continue;
            if (registry_.is_local(proc)) {
                note_end(i, who);
            } else {
                elsewhere.push_back(proc);
            }
        }
        if (i.leader_gone || !registry_.has_ended(i.leader)) continue;
        if (registry_.is_local(i.leader)) {
            note_end_of_leader(i);
        } else {
            elsewhere.push_back(i.leader);
        }
    }
    run_all([&] { tell_due(); }, [&] { early_.recover(); },
            [&] {
                for (const ProcId& p : elsewhere) groups_.ended_elsewhere(p);
            });
}

void GroupInvitations::report(ReportRows& rows) const {
    for (const Invitation& i : open_) {
        CollectiveReport row;
        row.operation = "group invite " + i.group;
        row.inviter = i.leader;
        for (const auto& [proc, who] : i.invited) row.members.push_back(proc);
        row.began_ms = i.began_ms;
        const bool hears_all = registry_.is_local(i.leader);
        for (const auto& [p, who] : i.invited) {
            if (who.answer != Answer::none) {
                row.joined.push_back(p);
            } else if (hears_all || registry_.is_local(p)) {
                row.missing.push_back(p);
            }
        }
        // All answers are here: the construct has its own row. Elsewhere the rest is for other nodes to give.
        if (row.missing.empty() && hears_all) continue;
        row.at_host = row.missing.empty();
        rows.collectives.push_back(std::move(row));
    }
}

// Makes place for one more.
void GroupInvitations::forget_oldest_of(std::optional<uint32_t> user) {
    const auto is_theirs = [&](const Invitation& i) { return i.user == user; };
    if (std::count_if(open_.begin(), open_.end(), is_theirs) < static_cast<ptrdiff_t>(kMaxOpenOfUser)) return;
    open_.erase(std::find_if(open_.begin(), open_.end(), is_theirs));
    assert(std::count_if(open_.begin(), open_.end(), is_theirs) < static_cast<ptrdiff_t>(kMaxOpenOfUser));
}

void GroupInvitations::over(std::string_view group, const ProcList& procs) {
    std::erase_if(open_, [&](const Invitation& i) {
        return i.group == group && std::any_of(procs.begin(), procs.end(), [&](const ProcId& p) {
                   return i.leader == p || i.invited.count(p) != 0;
               });
    });
}

}  // namespace pmix::server
