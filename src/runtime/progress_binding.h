// SPDX-License-Identifier: BSD-3-Clause
// PMIX_BIND_PROGRESS_THREAD and PMIX_BIND_REQUIRED: which CPUs the library's own thread runs on.
//
// Any thread, before the loop is made. Owns nothing.
#pragma once

#include <sched.h>

#include <optional>

#include "common/base/status.h"
#include "common/values/info_view.h"

namespace pmix::api {

// None: no binding was asked for, or one that this machine refuses and the caller does not require. own_thread: the
// library has a thread to bind. PMIX_ERR_BAD_PARAM: not a list of CPUs ("0-3,8"). PMIX_ERR_NOT_SUPPORTED: required, and
// there is no such thread, or the kernel refuses these CPUs.
common::Result<std::optional<cpu_set_t>> read_progress_binding(common::InfoView infos, bool own_thread);

}  // namespace pmix::api
