// SPDX-License-Identifier: BSD-3-Clause
#include "server/monitoring/own_node.h"

#include <algorithm>
#include <optional>

namespace pmix::server {

namespace {

// Nothing: the job has no node of that name.
std::optional<bool> is_own_in(const Nspace& nspace, std::string_view name) {
    if (nspace.data == nullptr) return std::nullopt;
    const auto node = nspace.data->reader().node_by_name(name);
    if (!node) return std::nullopt;
    return *node == nspace.own_node;
}

bool has_nodes(const Nspace& nspace) {
    return nspace.data != nullptr && nspace.data->reader().nodes() != 0;
}

// A node without a number has that of its place.
bool is_own_in(const Nspace& nspace, uint32_t id) {
    return nspace.data != nullptr && nspace.own_node != common::kNoNode &&
           nspace.data->reader().node_id(nspace.own_node).value_or(nspace.own_node) == id;
}

}  // namespace

bool is_own_node(const Registry& registry, std::string_view job, std::string_view name) {
    if (name.empty()) return false;
    if (name == registry.hostname()) return true;
    if (const Nspace* const nspace = registry.find(job))
        if (const auto own = is_own_in(*nspace, name)) return *own;
    return std::ranges::any_of(registry.nspaces(),
                               [&](const auto& entry) { return is_own_in(*entry.second, name).value_or(false); });
}

bool is_own_node(const Registry& registry, std::string_view job, uint32_t id) {
    // Each job numbers nodes by itself.
    if (const Nspace* const nspace = registry.find(job); nspace != nullptr && has_nodes(*nspace))
        return is_own_in(*nspace, id);
    return std::ranges::any_of(registry.nspaces(), [&](const auto& entry) { return is_own_in(*entry.second, id); });
}

common::Result<NamedNode> named_node(const Registry& registry, std::string_view job, common::InfoView qualifiers) {
    std::string_view name;
    uint32_t id = 0;
    WIREUP_RETURN_IF_ERROR(qualifiers.get(PMIX_HOSTNAME, &name));
    WIREUP_RETURN_IF_ERROR(qualifiers.get(PMIX_NODEID, &id));
    if (name.empty() && !qualifiers.has(PMIX_NODEID)) return NamedNode::none;
    const bool own = name.empty() ? is_own_node(registry, job, id) : is_own_node(registry, job, name);
    return own ? NamedNode::own : NamedNode::other;
}

std::string name_of_node(const Registry& registry, std::string_view job, common::InfoView qualifiers) {
    std::string_view name;
    uint32_t id = 0;
    qualifiers.get(PMIX_HOSTNAME, &name);
    if (!name.empty()) return std::string(name);
    if (!qualifiers.has(PMIX_NODEID) || qualifiers.get(PMIX_NODEID, &id) != PMIX_SUCCESS) return {};
    const Nspace* const nspace = registry.find(job);
    const bool known = nspace != nullptr && nspace->data != nullptr;
    if (is_own_node(registry, job, id)) {
        const auto named = known && nspace->own_node != common::kNoNode
                               ? nspace->data->reader().node_name(nspace->own_node)
                               : std::string_view();
        return named.empty() ? registry.hostname() : std::string(named);
    }
    if (!known) return {};
    const auto node = nspace->data->reader().node_by_id(id);
    return node ? std::string(nspace->data->reader().node_name(*node)) : std::string();
}

}  // namespace pmix::server
