// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Fence: one request; the answer says what is to be mapped, so that the caller's next Get finds the data. A
// blocking one over the caller's namespace, with nothing to say but whether data is collected, is done in memory where
// it can be (client/state/memory_fence.h).
//
// Callers' threads; a callback comes from the loop. A fence of the caller with itself ends at once.
// What can go wrong: bad arguments, no server (PMIX_ERR_UNREACH), and the server's status: a member that died
// (PMIX_ERR_PARTIAL_SUCCESS), PMIX_ERR_TIMEOUT, the host's own status.
#pragma once

#include <pmix.h>

namespace pmix::client {

class Session;

pmix_status_t fence(Session& session, const pmix_proc_t procs[], size_t nprocs, const pmix_info_t infos[],
                    size_t ninfos);
// A null callback is accepted: nobody is told.
pmix_status_t fence_nb(Session& session, const pmix_proc_t procs[], size_t nprocs, const pmix_info_t infos[],
                       size_t ninfos, pmix_op_cbfunc_t callback, void* cbdata);

}  // namespace pmix::client
