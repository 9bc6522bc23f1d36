// SPDX-License-Identifier: BSD-3-Clause
#include "server/collectives/early_acceptances.h"

#include <algorithm>
#include <new>
#include <utility>

#include "server/base/need.h"
#include "server/collectives/groups.h"

namespace pmix::server {

using common::InfoList;
using common::ProcId;

void EarlyAcceptances::accepted(std::string_view group, const ProcId& inviter, const ProcId& proc) {
    const Nspace* of_inviter = registry_.find(inviter.nspace);
    const Nspace* of_proc = registry_.find(proc.nspace);
    if (of_inviter == nullptr) return;
    const bool unknown = of_inviter->size_known() && inviter.rank >= of_inviter->size();
    const bool of_here = of_proc != nullptr && of_proc->is_local(proc.rank);
    const bool by_one_of_here = of_inviter->is_local(inviter.rank);
    if (!of_here && (unknown || !by_one_of_here)) return;
    if (group.size() > common::kMaxNspaceLength) return;  // no group can have this name
    over(group, inviter, {proc});
    // A process that is known here pays for itself, one of another node is the inviter's affair.
    auto user = registry_.user_of(proc);
    if (!user) user = registry_.user_of(inviter);
    const bool due = unknown || (by_one_of_here && of_inviter->has_left(inviter.rank));
    Early early{std::string(group), inviter, proc, due, user};
    const size_t bytes = sizeof early + group.size() + inviter.nspace.size() + proc.nspace.size();
    if (!early.charge.set(user ? budget_.of(*user) : nullptr, bytes)) return;
    forget_oldest_of(user);
    waiting_.push_back(std::move(early));
    if (!by_one_of_here && registry_.has_ended(inviter)) groups_.ended_elsewhere(inviter);
}

// Makes place for one more.
void EarlyAcceptances::forget_oldest_of(std::optional<uint32_t> user) {
    const auto is_theirs = [&](const Early& e) { return e.user == user; };
    if (std::count_if(waiting_.begin(), waiting_.end(), is_theirs) < static_cast<ptrdiff_t>(kMost)) return;
    waiting_.erase(std::find_if(waiting_.begin(), waiting_.end(), is_theirs));
}

void EarlyAcceptances::over(std::string_view group, const ProcId& inviter, const common::ProcList& procs) noexcept {
    std::erase_if(waiting_,
                  [&](const Early& e) { return e.group == group && e.inviter == inviter && contains(procs, e.proc); });
}

void EarlyAcceptances::declined(std::string_view group, const ProcId& proc) noexcept {
    std::erase_if(waiting_, [&](const Early& e) { return e.group == group && e.proc == proc; });
}

void EarlyAcceptances::gone(const ProcId& proc) {
    std::erase_if(waiting_, [&](const Early& e) { return e.proc == proc; });
    for (Early& e : waiting_) e.due = e.due || e.inviter == proc;
    tell();
}

bool EarlyAcceptances::waits_for(const ProcId& inviter) const noexcept {
    return std::any_of(waiting_.begin(), waiting_.end(), [&](const Early& e) { return e.inviter == inviter; });
}

void EarlyAcceptances::recover() {
    std::erase_if(waiting_, [&](const Early& e) { return registry_.has_ended(e.proc); });
    for (Early& e : waiting_) e.due = e.due || registry_.has_ended(e.inviter);
    tell();
}

void EarlyAcceptances::tell() {
    for (;;) {
        const auto at = std::find_if(waiting_.begin(), waiting_.end(), [](const Early& e) { return e.due; });
        if (at == waiting_.end()) return;
        // Before it is told: telling may come back here.
        Early early = std::move(*at);
        waiting_.erase(at);
        try {
            InfoList infos;
            const pmix_proc_t affected = early.inviter.to_c();
            need(infos.append_string(PMIX_GROUP_ID, early.group));
            need(infos.append(PMIX_EVENT_AFFECTED_PROC, &affected, PMIX_PROC));
            groups_.announce(PMIX_GROUP_LEADER_FAILED, early.inviter, {early.proc}, std::move(infos));
        } catch (const std::bad_alloc&) {
            // There is place for it: it was here before.
            waiting_.push_back(std::move(early));
            throw;
        }
    }
}

}  // namespace pmix::server
