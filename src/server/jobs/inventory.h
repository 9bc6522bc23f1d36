// SPDX-License-Identifier: BSD-3-Clause
// What hosts deliver about nodes (PMIx_server_deliver_inventory): kept by node and key, the newest word counts.
//
// Loop thread only; plain state. Queries read it (a key with PMIX_HOSTNAME), and the set-up of
// fabrics. What can go wrong: a node
// array that names no node (PMIX_ERR_BAD_PARAM), and then nothing of the delivery is kept.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/values/info_view.h"
#include "common/values/value.h"

namespace pmix::server {

class Inventory {
  public:
    // Arrays of nodes (PMIX_NODE_INFO_ARRAY); what stands beside them is about the node `own`.
    pmix_status_t deliver(common::InfoView infos, std::string_view own);
    const pmix_value_t* find(std::string_view node, std::string_view key) const noexcept;
    size_t nodes() const noexcept { return nodes_.size(); }
    std::vector<std::string> names() const;

  private:
    std::map<std::string, common::InfoList, std::less<>> nodes_;
};

}  // namespace pmix::server
