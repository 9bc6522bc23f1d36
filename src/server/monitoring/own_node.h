// SPDX-License-Identifier: BSD-3-Clause
// Which node a request means, by name, alias or number: the node of this server, or another one.
//
// By its hostname, or as the host has named or numbered it for a job: in the job's node map, or as one of the node's
// aliases. Loop thread, nothing owned. What can go wrong: PMIX_ERR_BAD_PARAM for a name or a number of another type.
#pragma once

#include <string>
#include <string_view>

#include "common/values/info_view.h"
#include "server/namespaces/registry.h"

namespace pmix::server {

// job: the namespace that is asked about. Where it has no node of that name, or none at all (a tool's), the other jobs
// decide.
bool is_own_node(const Registry& registry, std::string_view job, std::string_view name);
bool is_own_node(const Registry& registry, std::string_view job, uint32_t id);

enum class NamedNode : uint8_t { none, own, other };
// What qualifiers name: PMIX_HOSTNAME, else PMIX_NODEID.
common::Result<NamedNode> named_node(const Registry& registry, std::string_view job, common::InfoView qualifiers);
// The name of that node as the job has it, else this server's of its own node; empty: none is named, or the job has no
// such number.
std::string name_of_node(const Registry& registry, std::string_view job, common::InfoView qualifiers);

}  // namespace pmix::server
