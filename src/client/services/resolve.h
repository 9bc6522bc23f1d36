// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Resolve_peers and PMIx_Resolve_nodes: from the segment where it has the placement, else from the server.
//
// Callers' threads. Outputs are malloc'ed for the caller, and safe (NULL, 0) on failure.
// What can go wrong: bad arguments, a namespace that the server does not have.
#pragma once

#include <pmix.h>

namespace pmix::client {

class Session;

// Null node: the caller's. Null or empty nspace: every namespace. A node without such processes, or that nobody knows,
// is success with none.
pmix_status_t resolve_peers(Session& session, const char* node, const char* nspace, pmix_proc_t** ret_procs,
                            size_t* ret_nprocs);
pmix_status_t resolve_nodes(Session& session, const char* nspace, char** ret_nodes);

}  // namespace pmix::client
