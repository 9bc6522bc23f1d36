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

}  // namespace

bool is_own_node(const Registry& registry, std::string_view job, std::string_view name) {
    if (name.empty()) return false;
    if (name == registry.hostname()) return true;
    if (const Nspace* const nspace = registry.find(job))
        if (const auto own = is_own_in(*nspace, name)) return *own;
    return std::ranges::any_of(registry.nspaces(),
                               [&](const auto& entry) { return is_own_in(*entry.second, name).value_or(false); });
}

}  // namespace pmix::server
