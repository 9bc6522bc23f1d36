// SPDX-License-Identifier: BSD-3-Clause
// What the host has said for every job with PMIx_server_register_resources, the newest value of each key.
//
// Owns copies, and no more of them than there are keys. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/namespaces/job_info.h"

namespace pmix::server {

class Resources {
  public:
    void add(const JobInfo& said);
    // The keys that are named, of the nodes, sessions and so on of which they are named. A node array that says of no
    // node names those of all.
    void remove(const JobInfo& named);
    // Until the next change.
    std::vector<Fact> all() const;

  private:
    // By OwnerKind; of a node: its place in nodes_.
    struct Place {
        dstore::OwnerKind kind;
        uint32_t index;
        auto operator<=>(const Place&) const = default;
    };
    using Values = std::map<std::string, std::vector<uint8_t>, std::less<>>;
    std::optional<uint32_t> find(const NodeRef& node) const;
    uint32_t obtain(const NodeRef& node);
    void forget_number(uint32_t place);
    void erase(Place place, std::string_view key);
    std::map<Place, Values> values_;
    std::map<uint32_t, NodeRef> nodes_;  // those that have values
    std::map<std::string, uint32_t, std::less<>> by_name_;
    std::map<uint32_t, uint32_t> by_id_;
    uint32_t next_node_ = 0;
};

}  // namespace pmix::server
