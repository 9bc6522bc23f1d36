// SPDX-License-Identifier: BSD-3-Clause
// Starts the log when an init function or the environment asks for it (common/base/log.h).
//
// Called under the library's mutex, on the thread of the init function, before anything of the library is made.
#pragma once

#include "common/values/info_view.h"
#include "runtime/library.h"

namespace pmix::api {

// The attribute's fault is a status. The environment's is told in one line on stderr, and the library goes on without a
// log: somebody asked for one and would look for it there.
pmix_status_t begin_log(Role role, common::InfoView infos);

}  // namespace pmix::api
