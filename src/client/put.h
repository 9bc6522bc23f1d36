// PMIx_Put, PMIx_Store_internal, PMIx_Commit.
//
// Any thread. A put encodes the value into the private store, where it waits for the commit and where this process
// finds it at once. A commit sends what changed since the last one as one frame, in order with everything else on the
// channel, and waits for nothing.
//
// What can go wrong: bad arguments (PMIX_ERR_BAD_PARAM), a type nobody knows (PMIX_ERR_UNKNOWN_DATA_TYPE), a commit to
// a server that is gone (PMIX_ERR_UNREACH).
#pragma once

#include <pmix.h>

namespace pmix::client {

class Session;

pmix_status_t put(Session& session, pmix_scope_t scope, const char* key, const pmix_value_t* value);
pmix_status_t store_internal(Session& session, const pmix_proc_t* proc, const char* key, const pmix_value_t* value);
pmix_status_t commit(Session& session);

}  // namespace pmix::client
