// SPDX-License-Identifier: BSD-3-Clause
#include "server/jobs/process_sets.h"

#include <algorithm>
#include <set>

#include "common/codec/pack.h"
#include "common/values/proc_array.h"
#include "server/base/need.h"

namespace pmix::server {

using common::ProcId;
using common::Rank;

namespace {

// A set that has at least this part of a namespace is written into a column of all its processes at once.
constexpr size_t kColumnPart = 8;

void group_members(ProcessSet& set) {
    ProcessSet::Ranks* ranks = nullptr;
    std::string_view nspace;
    for (const ProcId& m : set.members) {
        if (ranks == nullptr || m.nspace != nspace) {
            auto at = set.by_nspace.find(m.nspace);
            if (at == set.by_nspace.end()) at = set.by_nspace.emplace(m.nspace, ProcessSet::Ranks()).first;
            nspace = at->first;
            ranks = &at->second;
        }
        if (m.rank == PMIX_RANK_WILDCARD) {
            ranks->all = true;
        } else {
            ranks->ranks.push_back(m.rank);
        }
    }
    for (auto& [name, r] : set.by_nspace) {
        std::sort(r.ranks.begin(), r.ranks.end());
        r.ranks.erase(std::unique(r.ranks.begin(), r.ranks.end()), r.ranks.end());
    }
}

// Adds the processes of a namespace that are in the set, ascending.
void add_ranks(const Nspace& nspace, const ProcessSet& set, std::vector<Rank>& ranks) {
    const auto at = set.by_nspace.find(nspace.name);
    if (at == set.by_nspace.end()) return;
    const size_t before = ranks.size();
    for (Rank r : at->second.ranks)
        if (nspace.has_rank(r)) ranks.push_back(r);
    const auto named = static_cast<ptrdiff_t>(ranks.size());
    if (at->second.all && nspace.size_known()) {
        for (Rank r = 0; r < nspace.size(); ++r) ranks.push_back(r);
    }
    std::inplace_merge(ranks.begin() + static_cast<ptrdiff_t>(before), ranks.begin() + named, ranks.end());
    std::inplace_merge(ranks.begin(), ranks.begin() + static_cast<ptrdiff_t>(before), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
}

// fn(place in ranks) for each of the ranks that the set names.
template <class F>
void for_each_member(const std::vector<Rank>& ranks, const ProcessSet::Ranks& of, F&& fn) {
    if (of.all) {
        for (size_t i = 0; i < ranks.size(); ++i) fn(i);
    } else if (ranks.size() < of.ranks.size() / 16) {
        for (size_t i = 0; i < ranks.size(); ++i)
            if (std::binary_search(of.ranks.begin(), of.ranks.end(), ranks[i])) fn(i);
    } else {
        auto member = of.ranks.begin();
        for (size_t i = 0; i < ranks.size() && member != of.ranks.end(); ++i) {
            while (member != of.ranks.end() && *member < ranks[i]) ++member;
            if (member != of.ranks.end() && *member == ranks[i]) fn(i);
        }
    }
}

common::Result<std::vector<uint8_t>> encoded_names(const std::vector<const ProcessSet*>& sets) {
    std::vector<char*> names;
    for (const ProcessSet* set : sets) names.push_back(const_cast<char*>(set->name.c_str()));
    pmix_data_array_t array;
    array.type = PMIX_STRING;
    array.size = names.size();
    array.array = names.data();
    pmix_value_t value{};
    value.type = PMIX_DATA_ARRAY;
    value.data.darray = &array;
    common::ByteWriter w;
    WIREUP_RETURN_IF_ERROR(common::encode_value(w, value));
    return w.take();
}

}  // namespace

// Without memory the set is as it is, and the news of it is left out.
void ProcessSets::announce(pmix_status_t code, const ProcessSet& set) {
    try {
        common::InfoList infos;
        need(infos.append_string(PMIX_PSET_NAME, set.name));
        // News, no failure: a default handler may take whatever it is called for as a reason to abort (Open MPI's
        // does).
        need(infos.append_flag(PMIX_EVENT_NON_DEFAULT, true));
        if (code == PMIX_PROCESS_SET_DEFINE) need(common::append_proc_array(infos, PMIX_PSET_MEMBERS, set.members));
        std::vector<std::string> jobs;
        for (const ProcId& p : set.members)
            if (jobs.empty() || jobs.back() != p.nspace) jobs.push_back(p.nspace);
        std::sort(jobs.begin(), jobs.end());
        jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
        events_.raise(code, self_, PMIX_RANGE_LOCAL, std::move(infos), std::move(jobs));
    } catch (const std::bad_alloc&) {
    }
}

// All names of each of the processes (ranks ascending), in the order in which the sets were defined. None is an empty
// list: the process was in one. Processes that are in the same sets share a value; each set is looked at once.
pmix_status_t ProcessSets::publish(Nspace& nspace, const std::vector<Rank>& ranks) {
    if (ranks.empty()) return PMIX_SUCCESS;
    std::vector<std::vector<const ProcessSet*>> lists(1);
    std::vector<uint32_t> list_of(ranks.size(), 0);
    for (const ProcessSet& set : registry_.process_sets()) {
        const auto at = set.by_nspace.find(nspace.name);
        if (at == set.by_nspace.end()) continue;
        std::vector<uint32_t> with_set(lists.size(), 0);
        for_each_member(ranks, at->second, [&](size_t i) {
            uint32_t& with = with_set[list_of[i]];
            if (with == 0) {
                with = static_cast<uint32_t>(lists.size());
                auto longer = lists[list_of[i]];
                longer.push_back(&set);
                lists.push_back(std::move(longer));
            }
            list_of[i] = with;
        });
    }
    std::vector<std::vector<uint8_t>> values(lists.size());
    const bool in_column = nspace.size_known() && ranks.size() >= nspace.size() / kColumnPart;
    dstore::ColumnBuilder column(dstore::OwnerKind::proc, nspace.size_known() ? nspace.size() : 0);
    pmix_status_t rc = PMIX_SUCCESS;
    for (size_t i = 0; i < ranks.size() && rc == PMIX_SUCCESS; ++i) {
        std::vector<uint8_t>& value = values[list_of[i]];
        if (value.empty()) {
            auto encoded = encoded_names(lists[list_of[i]]);
            if (!encoded.ok()) return encoded.status();
            value = std::move(encoded).value();
        }
        const Rank rank = ranks[i];
        if (in_column && nspace.pset_records.count(rank) == 0 && column.set(rank, PMIX_PSET_NAMES, value)) continue;
        nspace.pset_records.insert(rank);
        rc = nspace.data->put_proc_info(rank, PMIX_PSET_NAMES, common::Bytes(value));
    }
    return rc == PMIX_SUCCESS && !column.empty() ? nspace.data->put_proc_columns(std::move(column)) : rc;
}

pmix_status_t ProcessSets::publish(const ProcessSet& changed) {
    pmix_status_t rc = PMIX_SUCCESS;
    try {
        for (auto& [name, nspace] : registry_.nspaces()) {
            if (nspace->data == nullptr) continue;
            std::vector<Rank> ranks;
            add_ranks(*nspace, changed, ranks);
            rc = publish(*nspace, ranks);
            registry_.written(*nspace);
            if (rc != PMIX_SUCCESS) break;
        }
    } catch (const std::bad_alloc&) {
        rc = PMIX_ERR_NOMEM;
    }
    return rc;
}

pmix_status_t ProcessSets::namespace_here(Nspace& nspace) {
    std::vector<Rank> ranks;
    for (const ProcessSet& set : registry_.process_sets()) add_ranks(nspace, set, ranks);
    return publish(nspace, ranks);
}

void ProcessSets::namespace_gone(std::string_view nspace) noexcept {
    std::erase_if(registry_.process_sets(), [&](const ProcessSet& set) {
        return set.by_nspace.size() == 1 && set.by_nspace.begin()->first == nspace;
    });
}

pmix_status_t ProcessSets::define(std::string_view name, std::vector<ProcId> members) {
    auto& sets = registry_.process_sets();
    if (std::any_of(sets.begin(), sets.end(), [&](const ProcessSet& s) { return s.name == name; }))
        return PMIX_ERR_EXISTS;  // sets do not change
    std::set<ProcId> known;
    std::erase_if(members, [&](const ProcId& p) { return !known.insert(p).second; });
    ProcessSet made{std::string(name), std::move(members), {}};
    group_members(made);
    sets.push_back(std::move(made));
    const pmix_status_t rc = publish(sets.back());
    if (rc != PMIX_SUCCESS) {
        const ProcessSet refused = std::move(sets.back());
        sets.pop_back();
        publish(refused);  // what has its name already, as far as there is memory
        return rc;
    }
    announce(PMIX_PROCESS_SET_DEFINE, sets.back());
    return PMIX_SUCCESS;
}

pmix_status_t ProcessSets::remove(std::string_view name) {
    auto& sets = registry_.process_sets();
    auto at = std::find_if(sets.begin(), sets.end(), [&](const ProcessSet& s) { return s.name == name; });
    if (at == sets.end()) return PMIX_ERR_NOT_FOUND;
    const auto place = at - sets.begin();
    ProcessSet gone = std::move(*at);
    sets.erase(at);
    const pmix_status_t rc = publish(gone);
    if (rc != PMIX_SUCCESS) {
        // It is still there, and can be deleted later. There is room for it where it was.
        sets.insert(sets.begin() + place, std::move(gone));
        publish(sets[static_cast<size_t>(place)]);
        return rc;
    }
    announce(PMIX_PROCESS_SET_DELETE, gone);
    return PMIX_SUCCESS;
}

}  // namespace pmix::server
