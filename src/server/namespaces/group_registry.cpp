// SPDX-License-Identifier: BSD-3-Clause
#include "server/namespaces/group_registry.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <utility>

namespace pmix::server {

using common::ProcId;
using common::ProcList;

ProcList Group::current() const {
    ProcList list;
    for (const Member& m : members)
        if (!m.left) list.push_back(m.proc);
    return list;
}

ProcList Group::living() const {
    ProcList list;
    for (const Member& m : members)
        if (!m.left && !m.ended) list.push_back(m.proc);
    return list;
}

bool Group::has(const ProcId& proc) const noexcept {
    return std::any_of(members.begin(), members.end(), [&](const Member& m) { return !m.left && m.proc == proc; });
}

bool Group::remove(const ProcId& proc) noexcept {
    for (Member& m : members) {
        if (m.left || !(m.proc == proc)) continue;
        m.left = true;
        return true;
    }
    return false;
}

size_t Group::memory() const noexcept {
    constexpr size_t kPlace = 160;
    size_t bytes =
        sizeof(Group) + name.size() + members.size() * sizeof(Member) + here.size() * (sizeof(ProcId) + kPlace);
    for (const Member& m : members) bytes += m.proc.nspace.capacity();
    for (const ProcId& p : here) bytes += 2 * p.nspace.capacity();
    return bytes;
}

const Group* GroupRegistry::find(std::string_view name, const ProcId& member) const noexcept {
    const auto [first, last] = groups_.equal_range(name);
    const auto it = std::find_if(first, last, [&](const auto& entry) { return entry.second.has(member); });
    return it == last ? nullptr : &it->second;
}

Group* GroupRegistry::find(std::string_view name, const ProcId& member) noexcept {
    return const_cast<Group*>(std::as_const(*this).find(name, member));
}

const Group* GroupRegistry::meant_by(std::string_view name, const ProcId& process) const noexcept {
    if (const Group* own = find(name, process)) return own;
    const auto [first, last] = groups_.equal_range(name);
    return first != last && std::next(first) == last ? &first->second : nullptr;
}

Group* GroupRegistry::find(uint64_t number) noexcept {
    const auto it = by_number_.find(number);
    return it == by_number_.end() ? nullptr : &it->second->second;
}

Group& GroupRegistry::add(Group&& group) {
    group.number = next_++;
    std::string name = group.name;
    const auto it = groups_.emplace(std::move(name), std::move(group));
    try {
        by_number_.emplace(it->second.number, it);
        for (const ProcId& p : it->second.here) by_local_member_[p].insert(it->second.number);
    } catch (...) {
        erase(it);
        throw;
    }
    assert(by_number_.size() == groups_.size());
    return it->second;
}

std::vector<uint64_t> GroupRegistry::of(const ProcId& local_member) const {
    const auto at = by_local_member_.find(local_member);
    if (at == by_local_member_.end()) return {};
    return {at->second.begin(), at->second.end()};
}

void GroupRegistry::erase(uint64_t number) {
    if (const auto it = by_number_.find(number); it != by_number_.end()) erase(it->second);
}

GroupRegistry::Map::iterator GroupRegistry::erase(Map::iterator group) {
    const uint64_t number = group->second.number;
    for (const ProcId& p : group->second.here) {
        const auto at = by_local_member_.find(p);
        if (at == by_local_member_.end()) continue;
        at->second.erase(number);
        if (at->second.empty()) by_local_member_.erase(at);
    }
    by_number_.erase(number);
    const auto behind = groups_.erase(group);
    assert(by_number_.size() == groups_.size());
    return behind;
}

void GroupRegistry::hide(std::string_view name, bool hidden) noexcept {
    const auto [first, last] = groups_.equal_range(name);
    for (auto it = first; it != last; ++it) it->second.hidden = hidden;
}

const Group* GroupRegistry::shown(std::string_view name, const ProcId& process) const noexcept {
    const Group* group = meant_by(name, process);
    return group == nullptr || group->hidden ? nullptr : group;
}

pmix_status_t GroupRegistry::replace(ProcId& proc, const ProcId& process) const {
    if (groups_.empty() || !common::is_real_rank(proc.rank)) return PMIX_SUCCESS;
    const Group* group = shown(proc.nspace, process);
    if (group == nullptr) return PMIX_SUCCESS;
    if (proc.rank >= group->members.size() || group->members[proc.rank].left) return PMIX_ERR_NOT_FOUND;
    proc = ProcId(group->members[proc.rank].proc);
    return PMIX_SUCCESS;
}

pmix_status_t GroupRegistry::replace(common::ProcOrder& order, const ProcId& process) const {
    if (groups_.empty()) return PMIX_SUCCESS;
    const auto is_group = [&](const std::string& nspace) { return groups_.find(nspace) != groups_.end(); };
    if (std::none_of(order.nspaces().begin(), order.nspaces().end(), is_group)) return PMIX_SUCCESS;
    ProcList procs = order.list();
    struct Named {
        const Group* group = nullptr;
        bool whole = false;  // its members are in the list
    };
    std::map<std::string, Named, std::less<>> named;
    ProcList out;
    out.reserve(procs.size());
    for (ProcId& p : procs) {
        const auto [at, fresh] = named.try_emplace(p.nspace);
        if (fresh) at->second.group = shown(p.nspace, process);
        Named& of = at->second;
        if (of.group == nullptr || (p.rank != PMIX_RANK_WILDCARD && !common::is_real_rank(p.rank))) {
            out.push_back(std::move(p));
        } else if (p.rank != PMIX_RANK_WILDCARD) {
            if (p.rank >= of.group->members.size() || of.group->members[p.rank].left) return PMIX_ERR_NOT_FOUND;
            out.push_back(of.group->members[p.rank].proc);
        } else if (!std::exchange(of.whole, true)) {
            for (const Group::Member& m : of.group->members)
                if (!m.left) out.push_back(m.proc);
        }
    }
    order = common::ProcOrder(out);
    return PMIX_SUCCESS;
}

pmix_status_t GroupRegistry::replace(common::ProcSet& procs, const ProcId& process) const {
    if (groups_.empty()) return PMIX_SUCCESS;
    const auto is_group = [&](const common::ProcSet::Part& p) { return groups_.find(p.nspace) != groups_.end(); };
    if (std::none_of(procs.parts().begin(), procs.parts().end(), is_group)) return PMIX_SUCCESS;
    std::vector<common::ProcSet::Part> parts;
    for (const common::ProcSet::Part& part : procs.parts()) {
        const Group* group = shown(part.nspace, process);
        if (group == nullptr) {
            parts.push_back(part);
            continue;
        }
        const auto add = [&](const ProcId& p) { parts.push_back({p.nspace, common::RankSet({{p.rank, p.rank}})}); };
        for (const common::ProcSet::Range& range : part.ranks.ranges()) {
            if (range.first == PMIX_RANK_WILDCARD) {
                for (const Group::Member& m : group->members)
                    if (!m.left) add(m.proc);
                continue;
            }
            if (range.last >= group->members.size()) return PMIX_ERR_NOT_FOUND;
            for (common::Rank rank = range.first; rank <= range.last; ++rank) {
                if (group->members[rank].left) return PMIX_ERR_NOT_FOUND;
                add(group->members[rank].proc);
            }
        }
    }
    procs = common::ProcSet(std::move(parts));
    return PMIX_SUCCESS;
}

std::vector<std::string> GroupRegistry::names_of(const ProcId& proc) const {
    std::vector<std::string> names;
    for (const auto& [name, group] : groups_)
        if (group.has(proc)) names.push_back(name);
    return names;
}

}  // namespace pmix::server
