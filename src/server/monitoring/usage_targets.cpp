// SPDX-License-Identifier: BSD-3-Clause
#include "server/monitoring/usage_targets.h"

#include <unistd.h>

#include <set>

#include "common/codec/pack.h"
#include "server/monitoring/own_node.h"

namespace pmix::server {

using common::InfoView;
using common::ProcId;
using common::Result;

namespace {

bool is_trusted(const UsageViewer& viewer) {
    return viewer.is_host || viewer.user.uid == 0 || viewer.user.uid == ::geteuid();
}

// The elements of an array; an array without any means everything, everywhere.
template <class T>
Result<std::optional<std::vector<T>>> elements(InfoView directives, const char* key, pmix_data_type_t type) {
    const pmix_info_t* info = directives.find(key);
    std::optional<std::vector<T>> out;
    if (info == nullptr) return out;
    out.emplace();
    if (info->value.type != PMIX_DATA_ARRAY) return PMIX_ERR_BAD_PARAM;
    const pmix_data_array_t* array = info->value.data.darray;
    if (array == nullptr || array->array == nullptr || array->size == 0) return out;
    if (array->type != type || array->size > UsageTargets::kMaxProcesses) return PMIX_ERR_BAD_PARAM;
    const auto* first = static_cast<const T*>(array->array);
    out->assign(first, first + array->size);
    return out;
}

// What the host has registered of a process that is not connected.
pid_t registered_pid(const Nspace& nspace, common::Rank rank) {
    if (nspace.data == nullptr) return 0;
    dstore::Found found;
    common::Value value;
    const dstore::Key key(PMIX_PROC_PID);
    const bool known = nspace.data->reader().find(dstore::Owner::proc_info(rank), key, found) == PMIX_SUCCESS &&
                       common::decode_value_into(found.bytes(), value.c_ptr()) == PMIX_SUCCESS;
    return known && value.type() == PMIX_PID ? value.get().data.pid : 0;
}

}  // namespace

// The connected processes, by name: several of one name are clones.
struct UsageTargets::Running {
    std::multimap<ProcId, const Peer*> peers;
};

UsageTargets::Running UsageTargets::running() const {
    Running out;
    for (const auto& [serial, peer] : peers_)
        if (!peer->gone()) out.peers.emplace(peer->id(), peer.get());
    return out;
}

bool UsageTargets::may_see(const UsageViewer& viewer, const Nspace& nspace) const {
    if (is_trusted(viewer) || viewer.proc.nspace == nspace.name) return true;
    return nspace.owner == viewer.user.uid;
}

const Peer* UsageTargets::tool(const ProcId& proc) const {
    for (const auto& [serial, peer] : peers_) {
        const bool is_tool = peer->kind() == PeerKind::tool || peer->kind() == PeerKind::observer;
        if (is_tool && !peer->gone() && peer->id() == proc) return peer.get();
    }
    return nullptr;
}

std::optional<uint32_t> UsageTargets::node_id(std::string_view name) const {
    const Nspace* nspace = registry_.find(name);
    if (nspace == nullptr || nspace->data == nullptr || nspace->own_node == common::kNoNode) return {};
    return nspace->data->reader().node_id(nspace->own_node).value_or(nspace->own_node);
}

pmix_status_t UsageTargets::place_process(const ProcId& proc, const UsageViewer& viewer, UsageScope& scope) const {
    const auto is_here = [&] {
        scope.here = true;
        scope.procs.push_back(proc);
        return PMIX_SUCCESS;
    };
    if (proc == self_) return is_trusted(viewer) ? is_here() : PMIX_ERR_NO_PERMISSIONS;
    if (const Peer* peer = tool(proc)) {
        const bool may = is_trusted(viewer) || peer->credentials().uid == viewer.user.uid;
        return may ? is_here() : PMIX_ERR_NO_PERMISSIONS;
    }
    const Nspace* nspace = registry_.find(proc.nspace);
    if (nspace == nullptr) {
        scope.elsewhere = true;  // the host may know it
        return PMIX_SUCCESS;
    }
    if (!may_see(viewer, *nspace)) return PMIX_ERR_NO_PERMISSIONS;
    if (proc.rank == PMIX_RANK_WILDCARD) {
        if (!nspace->all_local()) scope.elsewhere = true;
        return is_here();
    }
    if (nspace->find_client(proc.rank) != nullptr) return is_here();
    if (nspace->size_known() && !nspace->has_rank(proc.rank)) return PMIX_ERR_NOT_FOUND;
    scope.elsewhere = true;
    return PMIX_SUCCESS;
}

Result<UsageScope> UsageTargets::read(InfoView directives, const UsageViewer& viewer) const {
    UsageScope scope;
    auto procs = elements<pmix_proc_t>(directives, PMIX_MONITOR_TARGET_PROCS, PMIX_PROC);
    auto pids = elements<pmix_node_pid_t>(directives, PMIX_MONITOR_TARGET_PIDS, PMIX_NODE_PID);
    auto nodes = elements<char*>(directives, PMIX_MONITOR_TARGET_NODES, PMIX_STRING);
    auto node_ids = elements<uint32_t>(directives, PMIX_MONITOR_TARGET_NODEIDS, PMIX_UINT32);
    for (const pmix_status_t rc : {procs.status(), pids.status(), nodes.status(), node_ids.status()})
        if (rc != PMIX_SUCCESS) return rc;
    const auto is_own = [&](const char* name) {
        return name != nullptr && is_own_node(registry_, viewer.proc.nspace, std::string_view(name));
    };
    const auto is_own_id = [&](uint32_t id) { return is_own_node(registry_, viewer.proc.nspace, id); };
    const auto place_node = [&](bool own) { (own ? scope.here : scope.elsewhere) = true; };
    for (const auto empty : {*procs && (*procs)->empty(), *pids && (*pids)->empty(), *nodes && (*nodes)->empty(),
                             *node_ids && (*node_ids)->empty()})
        if (empty) scope.here = scope.elsewhere = scope.every_process = true;
    if (*procs)
        for (const pmix_proc_t& proc : **procs) WIREUP_RETURN_IF_ERROR(place_process(ProcId(proc), viewer, scope));
    if (*pids) {
        for (const pmix_node_pid_t& one : **pids) {
            if (one.pid <= 0) return PMIX_ERR_BAD_PARAM;
            const bool named = one.hostname != nullptr && one.hostname[0] != '\0';
            const bool own = named ? is_own(one.hostname) : is_own_id(one.nodeid);
            place_node(own);
            if (own) scope.pids.push_back(one.pid);
        }
    }
    if (*nodes)
        for (const char* name : **nodes) place_node(is_own(name));
    if (*node_ids)
        for (const uint32_t id : **node_ids) place_node(is_own_id(id));
    if (!*procs && !*pids) {
        scope.every_process = true;
        if (!*nodes && !*node_ids) scope.here = true;
    }
    return scope;
}

Result<UsageScope> UsageTargets::read_query(std::string_view key, const ProcId& proc, InfoView qualifiers,
                                            const UsageViewer& viewer) const {
    const auto named = named_node(registry_, proc.nspace, qualifiers);
    if (!named) return named.status();
    if (named.value() == NamedNode::other) return PMIX_ERR_NOT_FOUND;
    const bool this_node = named.value() == NamedNode::own || qualifiers.flag(PMIX_QUERY_LOCAL_ONLY);
    const bool of_node = key == PMIX_QUERY_NODE_RESOURCE_USAGE;
    UsageScope scope;
    if (of_node && this_node) {
        scope.here = true;
        return scope;
    }
    // Of a node only the job counts: its processes say which nodes are meant.
    const ProcId asked = of_node ? ProcId(proc.nspace, PMIX_RANK_WILDCARD) : proc;
    WIREUP_RETURN_IF_ERROR(place_process(asked, viewer, scope));
    if (!scope.here || (scope.elsewhere && !this_node)) return PMIX_ERR_NOT_FOUND;
    scope.elsewhere = false;
    return scope;
}

Result<std::vector<UsageTarget>> UsageTargets::find(const UsageScope& scope, const UsageViewer& viewer) const {
    std::vector<UsageTarget> out;
    std::set<pid_t> seen;
    const Running there = running();
    const auto add = [&](pid_t pid, std::optional<uint32_t> owner, const ProcId& proc) {
        if (pid > 0 && seen.insert(pid).second) out.push_back({pid, owner, proc});
    };
    const auto add_rank = [&](const Nspace& nspace, const Client& client) {
        const ProcId proc(nspace.name, client.rank);
        const auto [first, last] = there.peers.equal_range(proc);
        for (auto it = first; it != last; ++it) add(it->second->credentials().pid, it->second->credentials().uid, proc);
        if (first == last && !client.gone()) add(registered_pid(nspace, client.rank), client.uid, proc);
    };
    const auto add_job = [&](const Nspace& nspace) {
        if (nspace.name == self_.nspace || !may_see(viewer, nspace)) return;
        for (const auto& [rank, client] : nspace.clients) add_rank(nspace, client);
    };
    if (scope.every_process)
        for (const auto& [name, nspace] : registry_.nspaces()) add_job(*nspace);
    for (const ProcId& proc : scope.procs) {
        const Nspace* nspace = registry_.find(proc.nspace);
        if (proc == self_) {
            add(::getpid(), {}, proc);
        } else if (nspace != nullptr && proc.rank == PMIX_RANK_WILDCARD) {
            add_job(*nspace);
        } else if (const Client* client = nspace == nullptr ? nullptr : nspace->find_client(proc.rank)) {
            if (may_see(viewer, *nspace)) add_rank(*nspace, *client);
        } else if (const Peer* peer = tool(proc)) {
            add(peer->credentials().pid, peer->credentials().uid, proc);
        }
    }
    const bool any_owner = viewer.is_host || viewer.user.uid == 0;
    for (const pid_t pid : scope.pids) {
        ProcId known;
        for (const auto& [proc, peer] : there.peers)
            if (peer->credentials().pid == pid) known = proc;
        add(pid, any_owner ? std::nullopt : std::optional(viewer.user.uid), known);
    }
    if (out.size() > kMaxProcesses) return PMIX_ERR_OUT_OF_RESOURCE;
    return out;
}

}  // namespace pmix::server
