// Process sets: see process_sets.h.
#include "server/process_sets.h"

#include <algorithm>
#include <set>

namespace pmix::server {

using common::ProcId;
using common::Rank;

namespace {

bool is_member(const ProcessSet& set, std::string_view nspace, Rank rank) {
    return std::any_of(set.members.begin(), set.members.end(), [&](const ProcId& m) {
        return m.nspace == nspace && (m.rank == rank || m.rank == PMIX_RANK_WILDCARD);
    });
}

}  // namespace

void ProcessSets::announce(pmix_status_t code, const ProcessSet& set) {
    common::InfoList infos;
    infos.append_string(PMIX_PSET_NAME, set.name);
    if (code == PMIX_PROCESS_SET_DEFINE) {
        std::vector<pmix_proc_t> members;
        for (const ProcId& p : set.members) members.push_back(p.to_c());
        pmix_data_array_t array;
        array.type = PMIX_PROC;
        array.size = members.size();
        array.array = members.data();
        infos.append(PMIX_PSET_MEMBERS, &array, PMIX_DATA_ARRAY);
    }
    std::vector<std::string> jobs;
    for (const ProcId& p : set.members)
        if (jobs.empty() || jobs.back() != p.nspace) jobs.push_back(p.nspace);
    std::sort(jobs.begin(), jobs.end());
    jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
    events_.raise(code, self_, PMIX_RANGE_LOCAL, std::move(infos), std::move(jobs));
}

// All names of one process, in the order in which the sets were defined. None is an empty list: the process was in one.
pmix_status_t ProcessSets::publish(Nspace& nspace, Rank rank) {
    std::vector<char*> names;
    for (ProcessSet& set : registry_.process_sets())
        if (is_member(set, nspace.name, rank)) names.push_back(set.name.data());
    pmix_data_array_t array;
    array.type = PMIX_STRING;
    array.size = names.size();
    array.array = names.data();
    auto value = common::Value::load(&array, PMIX_DATA_ARRAY);
    if (!value.ok()) return value.status();
    return nspace.data->put_proc_info(rank, PMIX_PSET_NAMES, value->get());
}

pmix_status_t ProcessSets::publish(Nspace& nspace, const ProcessSet& changed) {
    std::set<Rank> ranks;
    for (const ProcId& m : changed.members) {
        if (m.nspace != nspace.name) continue;
        if (m.rank != PMIX_RANK_WILDCARD) {
            if (nspace.has_rank(m.rank)) ranks.insert(m.rank);
            continue;
        }
        for (Rank r = 0; nspace.size_known() && r < nspace.size(); ++r) ranks.insert(ranks.end(), r);
    }
    pmix_status_t rc = PMIX_SUCCESS;
    for (auto r = ranks.begin(); r != ranks.end() && rc == PMIX_SUCCESS; ++r) rc = publish(nspace, *r);
    return rc;
}

pmix_status_t ProcessSets::publish(const ProcessSet& changed) {
    for (auto& [name, nspace] : registry_.nspaces()) {
        if (nspace->data == nullptr) continue;
        pmix_status_t rc = publish(*nspace, changed);
        registry_.written(*nspace);
        if (rc != PMIX_SUCCESS) return rc;
    }
    return PMIX_SUCCESS;
}

pmix_status_t ProcessSets::namespace_here(Nspace& nspace) {
    for (const ProcessSet& set : registry_.process_sets()) {
        pmix_status_t rc = publish(nspace, set);
        if (rc != PMIX_SUCCESS) return rc;
    }
    return PMIX_SUCCESS;
}

pmix_status_t ProcessSets::define(std::string_view name, std::vector<ProcId> members) {
    auto& sets = registry_.process_sets();
    if (std::any_of(sets.begin(), sets.end(), [&](const ProcessSet& s) { return s.name == name; }))
        return PMIX_ERR_EXISTS;  // sets do not change
    sets.push_back({std::string(name), std::move(members)});
    pmix_status_t rc = publish(sets.back());
    if (rc != PMIX_SUCCESS) {
        sets.pop_back();
        return rc;
    }
    announce(PMIX_PROCESS_SET_DEFINE, sets.back());
    return PMIX_SUCCESS;
}

pmix_status_t ProcessSets::remove(std::string_view name) {
    auto& sets = registry_.process_sets();
    auto at = std::find_if(sets.begin(), sets.end(), [&](const ProcessSet& s) { return s.name == name; });
    if (at == sets.end()) return PMIX_ERR_NOT_FOUND;
    const ProcessSet gone = std::move(*at);
    sets.erase(at);
    announce(PMIX_PROCESS_SET_DELETE, gone);
    return publish(gone);
}

}  // namespace pmix::server
