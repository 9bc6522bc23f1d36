// SPDX-License-Identifier: BSD-3-Clause
// Why a process is not let in, as far as it is a matter of what the host has registered: a text for the log.
//
// Nothing owned; loop thread. What can go wrong: nothing but memory.
#pragma once

#include <string>

#include "server/base/peer.h"
#include "server/namespaces/registry.h"

namespace pmix::server {

// claimed: who the process says it is. Begins with a comma, or is empty where the status says it all.
std::string refusal_reason(const Registry& registry, const common::ProcId& claimed, const Credentials& who,
                           pmix_status_t status);

}  // namespace pmix::server
