// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Put, PMIx_Store_internal, PMIx_Commit.
//
// Any thread. A put encodes the value into the private store, where it waits for the commit and where this process
// finds it at once. A commit sends what changed since the last one, in one frame or, where that is too much, in
// several, in order with everything else on the channel, or leaves it in memory for the server (memory_fence.h), and
// waits for nothing.
//
// What can go wrong: bad arguments and values that no frame can take (PMIX_ERR_BAD_PARAM), a type nobody knows
// (PMIX_ERR_UNKNOWN_DATA_TYPE), a commit to a server that is gone (PMIX_ERR_UNREACH), an earlier commit that the server
// has refused (its status, once; see commit_refusals.h). After a failed Commit all that was not sent, or was refused,
// is staged, and the next Commit tries again.
#pragma once

#include <pmix.h>

#include <cstddef>

#include "common/base/limits.h"

namespace pmix::client {

class Session;

pmix_status_t put(Session& session, pmix_scope_t scope, const char* key, const pmix_value_t* value);
pmix_status_t store_internal(Session& session, const pmix_proc_t* proc, const char* key, const pmix_value_t* value);
// frame_limit: of a frame's payload.
pmix_status_t commit(Session& session, size_t frame_limit = common::kMaxFramePayload);

}  // namespace pmix::client
