// SPDX-License-Identifier: BSD-3-Clause
// Which processes have spawned a process, for output that goes where theirs goes.
//
// Loop thread; asks the registry and keeps nothing. The host says which process has spawned a job (PMIX_PARENT_ID of
// the job or of its process) and whether its output goes that way (PMIX_IOF_INHERIT, a job's; without it, it does).
// What a process has put under these names is not asked. What can go wrong: a host may describe a circle or a line
// without an end, so kMostSpawners are looked at; one that is not known here ends the line.
#pragma once

#include "common/base/ids.h"
#include "server/namespaces/registry.h"

namespace pmix::server {

inline constexpr size_t kMostSpawners = 16;

// The one that has spawned it first, then the one that has spawned that, and so on.
common::ProcList spawners_of(const Registry& registry, const common::ProcId& proc);

}  // namespace pmix::server
