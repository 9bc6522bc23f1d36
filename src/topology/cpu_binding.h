// SPDX-License-Identifier: BSD-3-Clause
// Where the calling thread or process may run, asked of the kernel.
//
// Owns nothing; any thread. No topology is needed for it, so nothing is discovered.
// What can go wrong: PMIX_ERR_NOT_FOUND where the kernel does not say.
#pragma once

#include <pmix_common.h>

#include "common/base/status.h"
#include "common/placement/locality.h"

namespace pmix::api {

// PMIX_CPUBIND_THREAD: the calling thread. PMIX_CPUBIND_PROCESS: all threads of the process together.
common::Result<common::IndexList> current_binding(pmix_bind_envelope_t envelope);

}  // namespace pmix::api
