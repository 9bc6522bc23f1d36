// SPDX-License-Identifier: BSD-3-Clause
// Where a job's processes run, from what its host has said in this call and before: from the maps; else from node
// arrays with their peers; else from proc arrays with node ids or hostnames; else all on one node, where nothing
// contradicts.
#include <algorithm>

#include "common/base/log.h"
#include "server/namespaces/job_info.h"
#include "server/namespaces/node_index.h"

namespace pmix::server {

using common::kNoNode;
using common::ProcMap;
using common::Rank;
using common::Result;

namespace {

std::string_view short_name(std::string_view host) noexcept {
    return host.substr(0, host.find('.'));
}

NodeIndex index_of(const std::vector<std::string>& nodes) {
    NodeIndex places;
    for (uint32_t i = 0; i < nodes.size(); ++i) places.note(nodes[i], i);
    return places;
}

pmix_status_t take_procs(std::vector<uint32_t> node_of, Placed& placed) {
    auto procs = ProcMap::from_node_index(static_cast<uint32_t>(placed.nodes.size()), std::move(node_of));
    if (!procs.ok()) return procs.status();
    placed.procs = std::move(procs).value();
    placed.has_procs = true;
    return PMIX_SUCCESS;
}

// Only when it is all of the job: half a map would move the other ranks to nowhere.
Result<bool> take_all(const JobInfo& setup, std::vector<uint32_t> node_of, Placed& placed) {
    const auto known =
        static_cast<size_t>(std::count_if(node_of.begin(), node_of.end(), [](uint32_t n) { return n != kNoNode; }));
    if (known == 0 || (setup.job_size && known < *setup.job_size)) return false;
    if (const pmix_status_t rc = take_procs(std::move(node_of), placed); rc != PMIX_SUCCESS) return rc;
    return true;
}

// Node arrays that name their ranks are a process map in another dress, or a part of one: the node of each rank.
Result<std::vector<uint32_t>> node_of_peers(const JobInfo& setup, const Placed& before, const Placed& placed) {
    const NodeIndex places = index_of(placed.nodes);
    std::vector<uint32_t> node_of;
    const auto put = [&](Rank rank, uint32_t place) {
        if (place == kNoNode) return;
        if (node_of.size() <= rank) node_of.resize(rank + 1, kNoNode);
        node_of[rank] = place;
    };
    if (before.partial) {
        for (uint32_t i = 0; i < before.nodes.size(); ++i)
            before.procs.for_each_on(i, [&](Rank rank) { put(rank, places.find(before.nodes[i]).value_or(kNoNode)); });
    }
    for (const NodeRef& node : setup.nodes_named) {
        if (node.peers.empty()) continue;
        auto map = common::parse_proc_map(node.peers);
        if (!map.ok()) return map.status();
        const uint32_t place = places.find(node.name).value_or(kNoNode);
        map->for_each_on(0, [&](Rank rank) { put(rank, place); });
    }
    return node_of;
}

bool every_node_has_ranks(const std::vector<uint32_t>& node_of, size_t nodes) {
    std::vector<bool> has(nodes);
    for (const uint32_t node : node_of)
        if (node != kNoNode) has[node] = true;
    return nodes != 0 && std::find(has.begin(), has.end(), false) == has.end();
}

// Proc arrays that say where each rank is. Names that are not in a list of the host's are another spelling, and no
// guess.
Result<bool> procs_from_arrays(const JobInfo& setup, const Placed& before, Placed& placed) {
    Placed trial;
    trial.nodes = placed.nodes;
    std::vector<std::string>& nodes = trial.nodes;
    NodeIndex places = index_of(placed.nodes);
    std::vector<uint32_t> place(setup.placed_on.size(), kNoNode);
    for (size_t i = 0; i < setup.placed_on.size(); ++i) {
        const NodeRef& node = setup.placed_on[i];
        if (!node.name.empty()) {
            const auto known = places.find(node.name);
            if (!known && setup.has_nodes) return false;
            place[i] = known.value_or(static_cast<uint32_t>(nodes.size()));
            if (known) continue;
            places.note(node.name, place[i]);
            nodes.push_back(node.name);
        } else if (node.id && *node.id < nodes.size()) {
            place[i] = *node.id;
        } else {
            return false;
        }
    }
    std::vector<uint32_t> node_of = setup.placed;
    for (uint32_t& node : node_of)
        if (node != kNoNode) node = place[node];
    auto done = take_all(setup, std::move(node_of), trial);
    // The nodes of some ranks are better than nothing, and no better than what was known.
    if (done.ok() && (*done || before.nodes.empty())) placed = std::move(trial);
    return done;
}

// A list of nodes without a process map: the ranks stay on their nodes, if all of these are in the list. Where nodes
// had no names until now, the list has them in their order.
Result<bool> procs_from_before(const Placed& before, Placed& placed) {
    const bool by_place =
        std::any_of(before.nodes.begin(), before.nodes.end(), [](const auto& n) { return n.empty(); });
    if (by_place && before.nodes.size() != placed.nodes.size()) return false;
    const NodeIndex places = index_of(placed.nodes);
    std::vector<uint32_t> becomes(before.nodes.size(), kNoNode);
    for (uint32_t i = 0; i < becomes.size(); ++i) {
        if (by_place && !before.nodes[i].empty() && before.nodes[i] != placed.nodes[i]) return false;
        becomes[i] = by_place ? i : places.find(before.nodes[i]).value_or(kNoNode);
        if (becomes[i] == kNoNode && before.procs.count_on(i) != 0) return false;
    }
    std::vector<uint32_t> node_of(before.procs.rank_limit(), kNoNode);
    for (Rank rank = 0; rank < node_of.size(); ++rank) {
        const uint32_t node = before.procs.node_of(rank);
        if (node != kNoNode) node_of[rank] = becomes[node];
    }
    if (const pmix_status_t rc = take_procs(std::move(node_of), placed); rc != PMIX_SUCCESS) return rc;
    return true;
}

// The nodes that were known are those of the process map: as many, save empty ones at the end of the map.
bool fits(const Placed& before, const ProcMap& procs) noexcept {
    if (before.nodes.empty() || before.more_nodes || before.nodes.size() > procs.nnodes()) return false;
    for (size_t node = before.nodes.size(); node < procs.nnodes(); ++node)
        if (procs.count_on(static_cast<uint32_t>(node)) != 0) return false;
    return true;
}

// Names for a process map that is given without a list of nodes: those that were known; those of node arrays, by their
// ranks, or in their order where there is one for each node. A node without a name stays one that nobody has named.
std::vector<std::string> names_of(const ProcMap& procs, const JobInfo& setup, std::string_view hostname,
                                  const Placed& before) {
    std::vector<std::string> names(procs.nnodes());
    if (fits(before, procs)) std::copy(before.nodes.begin(), before.nodes.end(), names.begin());
    std::vector<std::string_view> rest;
    size_t named = 0;
    for (const NodeRef& node : setup.nodes_named) {
        if (node.name.empty()) continue;
        ++named;
        auto peers = node.peers.empty() ? Result<ProcMap>(PMIX_ERR_NOT_FOUND) : common::parse_proc_map(node.peers);
        const uint32_t place = peers.ok() ? procs.node_of(peers->rank_on(0, 0)) : kNoNode;
        if (place == kNoNode) {
            rest.push_back(node.name);
        } else {
            names[place] = node.name;
        }
    }
    if (named == names.size()) {
        auto next = rest.begin();
        for (std::string& name : names)
            if (name.empty() && next != rest.end()) name = *next++;
    }
    // One node can only be this one.
    if (names.size() == 1 && names[0].empty()) names[0] = hostname;
    while (names.size() > 1 && names.back().empty() && procs.count_on(static_cast<uint32_t>(names.size() - 1)) == 0)
        names.pop_back();
    return names;
}

// False: the map is one of other nodes than those that were known, and nobody says of which.
Result<bool> place_by_map(const JobInfo& setup, std::string_view hostname, const Placed& before, Placed& placed) {
    placed.procs = setup.procs;
    placed.has_procs = true;
    placed.nodes = setup.has_nodes ? setup.nodes : names_of(setup.procs, setup, hostname, before);
    const bool unnamed =
        std::any_of(placed.nodes.begin(), placed.nodes.end(), [](const auto& name) { return name.empty(); });
    if (unnamed && before.is_firm() && !fits(before, setup.procs)) return false;
    if (const pmix_status_t rc = common::reconcile(placed.nodes, placed.procs); rc != PMIX_SUCCESS) return rc;
    return true;
}

// Do all node arrays name their ranks, and not all of the job?
bool peers_leave_out(const JobInfo& setup, uint32_t size) {
    size_t named = 0, ranks = 0;
    for (const NodeRef& node : setup.nodes_named) {
        if (node.name.empty()) continue;
        if (node.peers.empty()) return false;
        ++named;
        if (auto map = common::parse_proc_map(node.peers); map.ok()) ranks += map->nranks();
    }
    return named != 0 && ranks < size;
}

// Where nothing says where all ranks are: all on one node, unless that is contradicted; or those of which it is known.
pmix_status_t place_as_far_as_known(const JobInfo& setup, std::string_view hostname, const Placed& before,
                                    std::vector<uint32_t> node_of, Placed& placed) {
    const uint32_t size = setup.job_size.value_or(0);
    if (size == 0) return PMIX_SUCCESS;
    const auto here = static_cast<uint32_t>(std::max(setup.nlocalprocs, 0));
    const bool left_out = every_node_has_ranks(node_of, placed.nodes.size());
    const bool others = left_out || (here != 0 && here < size) || peers_leave_out(setup, size);
    placed.more_nodes = !setup.has_nodes && (left_out || before.more_nodes || (others && placed.nodes.size() == 1));
    if (left_out) {
        placed.partial = true;
        return take_procs(std::move(node_of), placed);
    }
    placed.guessed = !others && (placed.nodes.size() == 1 || (placed.nodes.empty() && here == size));
    if (!placed.guessed) return PMIX_SUCCESS;
    if (placed.nodes.empty()) placed.nodes.emplace_back(hostname);
    auto procs = ProcMap::make_regular(1, size, size);
    if (!procs.ok()) return procs.status();
    placed.procs = std::move(procs).value();
    placed.has_procs = true;
    return PMIX_SUCCESS;
}

// False: the nodes are others than those where the ranks were.
Result<bool> place_without_map(const JobInfo& setup, std::string_view hostname, const Placed& before, Placed& placed) {
    placed.nodes = setup.has_nodes ? setup.nodes : before.nodes;
    if (placed.nodes.empty() || (before.more_nodes && !setup.has_nodes)) {
        const NodeIndex known = index_of(before.nodes);
        for (const NodeRef& node : setup.nodes_named)
            if (!node.name.empty() && !known.find(node.name)) placed.nodes.push_back(node.name);
    }
    auto node_of = node_of_peers(setup, before, placed);
    if (!node_of.ok()) return node_of.status();
    auto done = take_all(setup, *node_of, placed);
    if (done.ok() && !*done) done = procs_from_arrays(setup, before, placed);
    if (done.ok() && !*done && before.is_firm()) {
        done = procs_from_before(before, placed);
        if (done.ok() && !*done) return false;
    }
    if (!done.ok()) return done.status();
    pmix_status_t rc = PMIX_SUCCESS;
    if (!*done) rc = place_as_far_as_known(setup, hostname, before, std::move(node_of).value(), placed);
    if (rc == PMIX_SUCCESS && placed.has_procs) rc = common::reconcile(placed.nodes, placed.procs);
    if (rc != PMIX_SUCCESS) return rc;
    return true;
}

// Numbers and other names of the nodes; what was said of a node before holds until something else is said.
void number_nodes(const JobInfo& setup, const Placed& before, Placed& placed) {
    const NodeIndex places = index_of(placed.nodes);
    std::vector<uint32_t> ids(placed.nodes.size());
    for (uint32_t i = 0; i < ids.size(); ++i) ids[i] = i;
    for (uint32_t i = 0; i < before.node_ids.size(); ++i) {
        const uint32_t place = before.node_ids[i] == i ? kNoNode : places.find(before.nodes[i]).value_or(kNoNode);
        if (place != kNoNode) ids[place] = before.node_ids[i];
    }
    std::vector<bool> said(placed.nodes.size());
    std::vector<std::pair<uint32_t, std::string>> aliases;
    for (const NodeRef& node : setup.nodes_named) {
        const uint32_t place = places.find(node.name).value_or(kNoNode);
        if (place == kNoNode) continue;
        if (node.id) ids[place] = *node.id;
        for (const std::string& alias : node.aliases) aliases.emplace_back(place, alias);
        if (!node.aliases.empty()) said[place] = true;
    }
    for (const auto& [was, alias] : before.aliases) {
        const uint32_t place = places.find(before.nodes[was]).value_or(kNoNode);
        if (place != kNoNode && !said[place]) aliases.emplace_back(place, alias);
    }
    bool renumbered = false;
    for (uint32_t i = 0; i < ids.size(); ++i) renumbered |= ids[i] != i;
    placed.node_ids = renumbered ? std::move(ids) : std::vector<uint32_t>();
    placed.aliases = std::move(aliases);
}

// Names that the host uses for a node and has in no list of nodes: what is said of them is nobody's.
void warn_of_names(const JobInfo& setup, const Placed& placed) {
    if (!setup.has_nodes || !common::log_on(common::LogArea::server, common::LogLevel::warn)) return;
    NodeIndex known = index_of(placed.nodes);
    for (const auto& [place, alias] : placed.aliases) known.note(alias, place);
    const auto is_spelled_otherwise = [&](std::string_view name) {
        return std::ranges::any_of(placed.nodes, [&](const auto& n) { return short_name(n) == short_name(name); });
    };
    std::vector<std::string_view> unknown;
    for (const auto* named : {&setup.nodes_named, &setup.placed_on})
        for (const NodeRef& node : *named)
            if (!node.name.empty() && !known.find(node.name) && !is_spelled_otherwise(node.name) &&
                std::ranges::find(unknown, node.name) == unknown.end())
                unknown.push_back(node.name);
    for (const std::string_view name : unknown)
        WIREUP_LOG(server, warn, "PMIx_server_register_nspace of \"%s\": PMIX_HOSTNAME \"%.*s\" is not in its node map",
                   setup.nspace.c_str(), static_cast<int>(name.size()), name.data());
}

void place_apps(const JobInfo& setup, Placed& placed) {
    placed.apps.clear();
    uint32_t size = setup.job_size.value_or(placed.has_procs ? placed.procs.nranks() : 0);
    if (setup.apps.empty()) {
        if (size != 0) placed.apps.push_back({0, size});
        return;
    }
    uint32_t highest = 0;
    for (const AppRef& a : setup.apps) highest = std::max(highest, a.number);
    if (highest >= common::kMaxMapRanks) return;
    std::vector<const AppRef*> by_number(highest + 1);
    for (const AppRef& a : setup.apps) by_number[a.number] = &a;
    placed.apps.resize(highest + 1);
    uint32_t next = 0;
    for (uint32_t i = 0; i <= highest; ++i) {
        if (by_number[i] == nullptr) continue;
        placed.apps[i].first = by_number[i]->leader.value_or(next);
        placed.apps[i].size = by_number[i]->size.value_or(highest == 0 ? size : 0);
        next = placed.apps[i].first + placed.apps[i].size;
    }
}

}  // namespace

Result<Placed> derive_placement(const JobInfo& setup, std::string_view hostname, const Placed& before) {
    Placed placed;
    bool done = false;
    if (setup.has_nodes || setup.has_procs || !before.is_firm()) {
        auto rc = setup.has_procs ? place_by_map(setup, hostname, before, placed)
                                  : place_without_map(setup, hostname, before, placed);
        if (!rc.ok()) return rc.status();
        done = *rc;
        if (!done)
            WIREUP_LOG(server, warn,
                       "PMIx_server_register_nspace of \"%s\": a map does not fit what is known, and is not used",
                       setup.nspace.c_str());
    }
    if (!done) placed = before;
    if (placed.nodes.empty()) return placed;
    number_nodes(setup, before, placed);
    warn_of_names(setup, placed);
    place_apps(setup, placed);
    // Where the list has this node's full name and the server its short one, or the reverse, both are found.
    const uint32_t own = find_own_node(placed, hostname);
    const auto is_hostname = [&](const auto& alias) { return alias.second == hostname; };
    if (own != kNoNode && placed.nodes[own] != hostname && std::ranges::none_of(placed.aliases, is_hostname))
        placed.aliases.emplace_back(own, hostname);
    return placed;
}

uint32_t find_own_node(const Placed& placed, std::string_view hostname) noexcept {
    if (hostname.empty()) return kNoNode;
    for (uint32_t i = 0; i < placed.nodes.size(); ++i)
        if (placed.nodes[i] == hostname) return i;
    for (const auto& [place, alias] : placed.aliases)
        if (alias == hostname) return place;
    uint32_t found = kNoNode;
    for (uint32_t i = 0; i < placed.nodes.size(); ++i) {
        if (short_name(placed.nodes[i]) != short_name(hostname)) continue;
        if (found != kNoNode) return kNoNode;  // ambiguous
        found = i;
    }
    return found;
}

}  // namespace pmix::server
