// SPDX-License-Identifier: BSD-3-Clause
// For a list of infos that is worth nothing without each of its parts: the targets of an event, the status of a fence.
//
// The loop. Throws std::bad_alloc where memory has run out, so that the step is done again or its operation ends with
// an error; other statuses (a value that cannot be copied) are the caller's.
#pragma once

#include <pmix_common.h>

#include <new>

namespace pmix::server {

inline void need(pmix_status_t appended) {
    if (appended == PMIX_ERR_NOMEM) throw std::bad_alloc();
}

}  // namespace pmix::server
