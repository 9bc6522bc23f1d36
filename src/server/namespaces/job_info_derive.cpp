// SPDX-License-Identifier: BSD-3-Clause
// Data that hosts leave out, derived from what they provide. Data provided by a host always takes precedence.
#include <algorithm>

#include "common/codec/pack.h"
#include "server/namespaces/job_info.h"

namespace pmix::server {

using common::ByteWriter;
using common::kNoNode;
using common::ProcMap;
using common::Result;
using dstore::Computed;
using dstore::Owner;

namespace {

std::string_view short_name(std::string_view host) noexcept {
    return host.substr(0, host.find('.'));
}

// Node arrays that name their ranks are a process map in another dress.
Result<bool> procs_from_peers(const JobInfo& setup, Placed& placed) {
    std::vector<uint32_t> node_of;
    for (uint32_t i = 0; i < setup.nodes_named.size(); ++i) {
        const NodeRef& node = setup.nodes_named[i];
        if (node.peers.empty()) continue;
        auto map = common::parse_proc_map(node.peers);
        if (!map.ok()) return map.status();
        auto at = std::find(placed.nodes.begin(), placed.nodes.end(), node.name);
        if (at == placed.nodes.end()) continue;
        uint32_t place = static_cast<uint32_t>(at - placed.nodes.begin());
        map->for_each_on(0, [&](common::Rank rank) {
            if (node_of.size() <= rank) node_of.resize(rank + 1, kNoNode);
            node_of[rank] = place;
        });
    }
    // Only when it is all of the job: half a map would move the other ranks to nowhere.
    size_t known =
        static_cast<size_t>(std::count_if(node_of.begin(), node_of.end(), [](uint32_t n) { return n != kNoNode; }));
    if (known == 0 || (setup.job_size && known < *setup.job_size)) return false;
    auto procs = ProcMap::from_node_index(static_cast<uint32_t>(placed.nodes.size()), node_of);
    if (!procs.ok()) return procs.status();
    placed.procs = std::move(procs).value();
    return true;
}

// Proc arrays that say where each rank is.
Result<bool> procs_from_arrays(const JobInfo& setup, Placed& placed) {
    std::vector<uint32_t> place(setup.placed_on.size(), kNoNode);
    for (size_t i = 0; i < setup.placed_on.size(); ++i) {
        const NodeRef& node = setup.placed_on[i];
        if (!node.name.empty()) {
            auto at = std::find(placed.nodes.begin(), placed.nodes.end(), node.name);
            if (at == placed.nodes.end() && setup.has_nodes) return false;  // another spelling: no guess
            if (at == placed.nodes.end()) at = placed.nodes.insert(placed.nodes.end(), node.name);
            place[i] = static_cast<uint32_t>(at - placed.nodes.begin());
        } else if (node.id && *node.id < placed.nodes.size()) {
            place[i] = *node.id;
        } else {
            return false;
        }
    }
    std::vector<uint32_t> node_of = setup.placed;
    size_t known = 0;
    for (uint32_t& node : node_of) {
        if (node == kNoNode) continue;
        node = place[node];
        ++known;
    }
    if (known == 0 || (setup.job_size && known < *setup.job_size)) return false;
    auto procs = ProcMap::from_node_index(static_cast<uint32_t>(placed.nodes.size()), node_of);
    if (!procs.ok()) return procs.status();
    placed.procs = std::move(procs).value();
    return true;
}

void place_apps(const JobInfo& setup, Placed& placed) {
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

class Values {
  public:
    explicit Values(JobInfo& setup) : setup_(setup) {}
    void u32(Owner owner, std::string_view key, uint32_t n, pmix_data_type_t type = PMIX_UINT32) {
        if (setup_.has(owner, key)) return;
        uint8_t bytes[common::kMaxScalarBytes];
        size_t size = common::encode_scalar(type, n, bytes);
        setup_.add(owner, key, {bytes, size});
    }
    void text(Owner owner, std::string_view key, std::string_view s) {
        if (setup_.has(owner, key)) return;
        ByteWriter w;
        common::encode_string_value(w, s);
        setup_.add(owner, key, w.view());
    }

  private:
    JobInfo& setup_;
};

}  // namespace

Result<bool> derive_placement(const JobInfo& setup, std::string_view hostname, Placed& placed) {
    placed.nodes = setup.nodes;
    if (!setup.has_nodes) {
        for (const NodeRef& node : setup.nodes_named)
            if (!node.name.empty()) placed.nodes.push_back(node.name);
    }
    bool from_map = setup.has_procs;
    if (setup.has_procs) {
        placed.procs = setup.procs;
        placed.has_procs = true;
        if (placed.nodes.empty()) {
            // Ranks without names of nodes. One node can only be this one.
            placed.nodes.resize(placed.procs.nnodes());
            if (placed.nodes.size() == 1) placed.nodes[0] = hostname;
        }
    } else {
        auto done = procs_from_peers(setup, placed);
        if (done.ok() && !*done) done = procs_from_arrays(setup, placed);
        if (!done.ok()) return done.status();
        placed.has_procs = *done;
        uint32_t size = setup.job_size.value_or(0);
        bool one_node = placed.nodes.size() == 1 || (placed.nodes.empty() && setup.nlocalprocs > 0 &&
                                                     static_cast<uint32_t>(setup.nlocalprocs) == size);
        if (!placed.has_procs && one_node && size != 0) {
            if (placed.nodes.empty()) placed.nodes.emplace_back(hostname);
            auto procs = ProcMap::make_regular(1, size, size);
            if (!procs.ok()) return procs.status();
            placed.procs = std::move(procs).value();
            placed.has_procs = true;
        }
    }
    if (placed.nodes.empty()) return false;
    if (from_map) {
        pmix_status_t rc = common::reconcile(placed.nodes, placed.procs);
        if (rc != PMIX_SUCCESS) return rc;
    }
    bool renumbered = false;
    std::vector<uint32_t> ids(placed.nodes.size());
    for (uint32_t i = 0; i < ids.size(); ++i) ids[i] = i;
    for (const NodeRef& node : setup.nodes_named) {
        auto at = std::find(placed.nodes.begin(), placed.nodes.end(), node.name);
        if (at == placed.nodes.end()) continue;
        uint32_t place = static_cast<uint32_t>(at - placed.nodes.begin());
        if (node.id && *node.id != place) {
            ids[place] = *node.id;
            renumbered = true;
        }
        for (const std::string& alias : node.aliases) placed.aliases.emplace_back(place, alias);
    }
    if (renumbered) placed.node_ids = std::move(ids);
    place_apps(setup, placed);
    return true;
}

uint32_t find_own_node(const Placed& placed, std::string_view hostname) noexcept {
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

void derive_values(JobInfo& setup, const Placed& placed, dstore::ColumnBuilder& nodes_known, bool columns) {
    Values values(setup);
    const Owner job = Owner::job();
    uint32_t size = setup.job_size.value_or(placed.has_procs ? placed.procs.nranks() : 0);
    // A job knows its session's number, by which its session is found; and what is the session's comes from there.
    const Owner session = Owner::session(setup.session_id.value_or(0));
    if (setup.session_id) values.u32(job, PMIX_SESSION_ID, *setup.session_id);
    if (size != 0) {
        values.u32(job, PMIX_JOB_SIZE, size);
        if (!setup.has(session, PMIX_UNIV_SIZE)) values.u32(job, PMIX_UNIV_SIZE, size);
        values.u32(session, PMIX_UNIV_SIZE, size);
    }
    values.u32(job, PMIX_APPNUM, 0);
    values.u32(job, PMIX_JOB_NUM_APPS, std::max<uint32_t>(1, static_cast<uint32_t>(setup.apps.size())));
    if (!setup.nspace.empty()) {
        values.text(job, PMIX_JOBID, setup.nspace);
        values.text(job, PMIX_NSPACE, setup.nspace);
    }
    if (!placed.nodes.empty()) {
        values.u32(job, PMIX_NUM_NODES, static_cast<uint32_t>(placed.nodes.size()));
        if (!setup.has(job, PMIX_NODE_LIST)) {
            std::string list;
            for (const std::string& node : placed.nodes) {
                if (!list.empty()) list += ',';
                list += node;
            }
            values.text(job, PMIX_NODE_LIST, list);
        }
    }
    for (uint32_t i = 0; i < placed.apps.size(); ++i) {
        if (placed.apps[i].size == 0) continue;
        values.u32(Owner::app(i), PMIX_APP_SIZE, placed.apps[i].size);
        values.u32(Owner::app(i), PMIX_APPLDR, placed.apps[i].first, PMIX_PROC_RANK);
        values.u32(Owner::app(i), PMIX_APPNUM, i);
    }
    if (!columns) return;
    nodes_known.compute(PMIX_HOSTNAME, Computed::node_name, PMIX_STRING, 0);
    nodes_known.compute(PMIX_NODEID, Computed::node_id, PMIX_UINT32, 4);
    if (!placed.has_procs) return;
    nodes_known.compute(PMIX_LOCAL_SIZE, Computed::local_size, PMIX_UINT32, 4);
    nodes_known.compute(PMIX_NODE_SIZE, Computed::local_size, PMIX_UINT32, 4);
    nodes_known.compute(PMIX_LOCALLDR, Computed::local_leader, PMIX_PROC_RANK, 4);
    nodes_known.compute(PMIX_LOCAL_PEERS, Computed::local_peers, PMIX_STRING, 0);
    dstore::ColumnBuilder& procs = setup.procs_known;
    procs.compute(PMIX_RANK, Computed::rank, PMIX_PROC_RANK, 4);
    procs.compute(PMIX_GLOBAL_RANK, Computed::rank, PMIX_PROC_RANK, 4);
    procs.compute(PMIX_NODEID, Computed::node_id, PMIX_UINT32, 4);
    procs.compute(PMIX_HOSTNAME, Computed::node_name, PMIX_STRING, 0);
    procs.compute(PMIX_LOCAL_RANK, Computed::local_rank, PMIX_UINT16, 2);
    procs.compute(PMIX_NODE_RANK, Computed::local_rank, PMIX_UINT16, 2);
    if (!placed.apps.empty()) {
        procs.compute(PMIX_APPNUM, Computed::app_number, PMIX_UINT32, 4);
        procs.compute(PMIX_APP_RANK, Computed::app_rank, PMIX_PROC_RANK, 4);
        procs.compute(PMIX_APPLDR, Computed::app_leader, PMIX_PROC_RANK, 4);
    }
}

}  // namespace pmix::server
