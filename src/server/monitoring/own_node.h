// SPDX-License-Identifier: BSD-3-Clause
// Does the name of a node, as a request has it, mean the node of this server?
//
// By its hostname, or as the host has named it for a job: in the job's node map, or as one of the node's aliases. Loop
// thread, nothing owned.
#pragma once

#include <string_view>

#include "server/namespaces/registry.h"

namespace pmix::server {

// job: the namespace that is asked about. Where it has no node of that name, the other jobs decide.
bool is_own_node(const Registry& registry, std::string_view job, std::string_view name);

}  // namespace pmix::server
