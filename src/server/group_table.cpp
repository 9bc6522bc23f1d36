#include "server/group_table.h"

#include <algorithm>

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

Group* GroupTable::find(std::string_view name) noexcept {
    auto it = groups_.find(name);
    return it == groups_.end() ? nullptr : &it->second;
}

const Group* GroupTable::find(std::string_view name) const noexcept {
    auto it = groups_.find(name);
    return it == groups_.end() ? nullptr : &it->second;
}

Group& GroupTable::add(Group&& group) {
    std::string name = group.name;
    return groups_.insert_or_assign(std::move(name), std::move(group)).first->second;
}

void GroupTable::erase(std::string_view name) {
    auto it = groups_.find(name);
    if (it != groups_.end()) groups_.erase(it);
}

void GroupTable::hide(std::string_view name, bool hidden) noexcept {
    if (Group* group = find(name)) group->hidden = hidden;
}

const Group* GroupTable::meant_by(std::string_view nspace) const noexcept {
    const Group* group = find(nspace);
    return group == nullptr || group->hidden ? nullptr : group;
}

pmix_status_t GroupTable::replace(ProcId& proc) const {
    if (groups_.empty() || !common::is_real_rank(proc.rank)) return PMIX_SUCCESS;
    const Group* group = meant_by(proc.nspace);
    if (group == nullptr) return PMIX_SUCCESS;
    if (proc.rank >= group->members.size() || group->members[proc.rank].left) return PMIX_ERR_NOT_FOUND;
    proc = ProcId(group->members[proc.rank].proc);
    return PMIX_SUCCESS;
}

pmix_status_t GroupTable::replace(ProcList& procs) const {
    if (groups_.empty()) return PMIX_SUCCESS;
    if (std::none_of(procs.begin(), procs.end(), [&](const ProcId& p) { return meant_by(p.nspace) != nullptr; }))
        return PMIX_SUCCESS;
    ProcList out;
    out.reserve(procs.size());
    for (ProcId& p : procs) {
        const Group* group = meant_by(p.nspace);
        if (group != nullptr && p.rank == PMIX_RANK_WILDCARD) {
            for (const Group::Member& m : group->members)
                if (!m.left) out.push_back(m.proc);
            continue;
        }
        pmix_status_t rc = replace(p);
        if (rc != PMIX_SUCCESS) return rc;
        out.push_back(std::move(p));
    }
    procs = std::move(out);
    return PMIX_SUCCESS;
}

std::vector<std::string> GroupTable::names_of(const ProcId& proc) const {
    std::vector<std::string> names;
    for (const auto& [name, group] : groups_)
        if (group.has(proc)) names.push_back(name);
    return names;
}

}  // namespace pmix::server
