// SPDX-License-Identifier: BSD-3-Clause
// The places of nodes in a list, by their names and numbers. Of several with one name or number the first counts.
//
// For the time of one call, on one thread. The names are views: what they point to outlives it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace pmix::server {

class NodeIndex {
  public:
    // A node that nobody has named is found by no name.
    void note(std::string_view name, uint32_t place) {
        if (!name.empty()) by_name_.try_emplace(name, place);
    }
    void note(uint32_t id, uint32_t place) { by_id_.try_emplace(id, place); }
    std::optional<uint32_t> find(std::string_view name) const { return value_at(by_name_, name); }
    std::optional<uint32_t> find(uint32_t id) const { return value_at(by_id_, id); }

  private:
    template <class Map, class Key>
    static std::optional<uint32_t> value_at(const Map& map, const Key& key) {
        const auto at = map.find(key);
        return at == map.end() ? std::nullopt : std::optional<uint32_t>(at->second);
    }

    std::unordered_map<std::string_view, uint32_t> by_name_;
    std::unordered_map<uint32_t, uint32_t> by_id_;
};

}  // namespace pmix::server
