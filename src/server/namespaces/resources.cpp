// SPDX-License-Identifier: BSD-3-Clause
#include "server/namespaces/resources.h"

namespace pmix::server {

using dstore::Owner;
using dstore::OwnerKind;

std::optional<uint32_t> Resources::find(const NodeRef& node) const {
    if (const auto at = by_name_.find(node.name); !node.name.empty() && at != by_name_.end()) return at->second;
    if (!node.id) return std::nullopt;
    const auto at = by_id_.find(*node.id);
    if (at == by_id_.end()) return std::nullopt;
    // Two names are two nodes, whatever their numbers.
    const std::string& name = nodes_.at(at->second).name;
    if (!node.name.empty() && !name.empty()) return std::nullopt;
    return at->second;
}

uint32_t Resources::obtain(const NodeRef& node) {
    const uint32_t place = find(node).value_or(next_node_);
    if (place == next_node_) ++next_node_;
    NodeRef& known = nodes_[place];
    if (known.name.empty() && !node.name.empty()) {
        known.name = node.name;
        by_name_[node.name] = place;
    }
    if (node.id && known.id != node.id) {
        forget_number(place);
        known.id = node.id;
    }
    if (node.id) by_id_[*node.id] = place;
    return place;
}

// Unless another node has it by now.
void Resources::forget_number(uint32_t place) {
    const std::optional<uint32_t> id = nodes_.at(place).id;
    if (!id) return;
    const auto at = by_id_.find(*id);
    if (at != by_id_.end() && at->second == place) by_id_.erase(at);
}

void Resources::add(const JobInfo& said) {
    for (const Fact& fact : facts_of(said)) {
        const uint32_t index = fact.node != nullptr ? obtain(*fact.node) : fact.owner.index;
        values_[{fact.owner.kind, index}][std::string(fact.key)].assign(fact.value.begin(), fact.value.end());
    }
}

void Resources::erase(Place place, std::string_view key) {
    const auto known = values_.find(place);
    if (known == values_.end()) return;
    if (const auto at = known->second.find(key); at != known->second.end()) known->second.erase(at);
    if (!known->second.empty()) return;
    values_.erase(known);
    if (place.kind != OwnerKind::node) return;
    const auto node = nodes_.find(place.index);
    if (node == nodes_.end()) return;
    by_name_.erase(node->second.name);
    forget_number(place.index);
    nodes_.erase(node);
}

void Resources::remove(const JobInfo& named) {
    for (const Fact& fact : facts_of(named)) {
        if (fact.node == nullptr) {
            erase({fact.owner.kind, fact.owner.index}, fact.key);
        } else if (!fact.node->name.empty() || fact.node->id) {
            if (const auto place = find(*fact.node)) erase({OwnerKind::node, *place}, fact.key);
        } else {
            for (auto node = nodes_.begin(); node != nodes_.end();) erase({OwnerKind::node, (node++)->first}, fact.key);
        }
    }
}

std::vector<Fact> Resources::all() const {
    std::vector<Fact> facts;
    for (const auto& [place, values] : values_) {
        const NodeRef* node = place.kind == OwnerKind::node ? &nodes_.at(place.index) : nullptr;
        for (const auto& [key, value] : values) facts.push_back({Owner{place.kind, place.index}, node, key, value});
    }
    return facts;
}

}  // namespace pmix::server
