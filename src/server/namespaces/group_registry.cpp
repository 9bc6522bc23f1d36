// SPDX-License-Identifier: BSD-3-Clause
#include "server/namespaces/group_registry.h"

#include <algorithm>
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
    const auto it = std::find_if(groups_.begin(), groups_.end(),
                                 [number](const auto& entry) { return entry.second.number == number; });
    return it == groups_.end() ? nullptr : &it->second;
}

Group& GroupRegistry::add(Group&& group) {
    group.number = next_++;
    std::string name = group.name;
    return groups_.emplace(std::move(name), std::move(group))->second;
}

void GroupRegistry::erase(uint64_t number) {
    std::erase_if(groups_, [number](const auto& entry) { return entry.second.number == number; });
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

pmix_status_t GroupRegistry::replace(ProcList& procs, const ProcId& process) const {
    if (groups_.empty()) return PMIX_SUCCESS;
    const auto is_group = [&](const ProcId& p) { return groups_.find(p.nspace) != groups_.end(); };
    if (std::none_of(procs.begin(), procs.end(), is_group)) return PMIX_SUCCESS;
    ProcList out;
    out.reserve(procs.size());
    for (ProcId& p : procs) {
        const Group* group = p.rank == PMIX_RANK_WILDCARD ? shown(p.nspace, process) : nullptr;
        if (group != nullptr) {
            for (const Group::Member& m : group->members)
                if (!m.left) out.push_back(m.proc);
            continue;
        }
        pmix_status_t rc = replace(p, process);
        if (rc != PMIX_SUCCESS) return rc;
        out.push_back(std::move(p));
    }
    procs = std::move(out);
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
        const auto add = [&](const ProcId& p) { parts.push_back({p.nspace, {{p.rank, p.rank}}}); };
        for (const common::ProcSet::Range& range : part.ranges) {
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
