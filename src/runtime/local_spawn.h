// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Spawn of a tool that has no server to ask: its own starts the processes (server/spawn/local_host). What both
// halves are needed for is here: that there is such a server, that requests go to it, and the environment that the
// processes get.
//
// Any thread; the environment is read on the caller's, as the rest of the call is. What can go wrong: see
// Library::spawns_here and server/spawn/local_host.
#pragma once

#include <pmix.h>

#include "common/base/status.h"
#include "common/values/value.h"
#include "runtime/library.h"

namespace pmix::api {

// The apps as this process's own server is to start them, each with its whole environment; none where the request goes
// to a server, or to this tool's host, as it is.
common::Result<common::CArray<pmix_app_t>> apps_to_start_here(Library& library, const pmix_app_t apps[], size_t napps);

}  // namespace pmix::api
