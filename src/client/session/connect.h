// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Connect and PMIx_Disconnect: like a fence, but the host learns that the processes belong together from now on,
// and each may read the others' job data afterwards.
//
// Callers' threads; callbacks come from the loop. What can go wrong: bad arguments, no server, what the host says.
#pragma once

#include <pmix.h>

namespace pmix::client {

class Session;

pmix_status_t connect(Session& session, const pmix_proc_t procs[], size_t nprocs, const pmix_info_t infos[],
                      size_t ninfos);
pmix_status_t connect_nb(Session& session, const pmix_proc_t procs[], size_t nprocs, const pmix_info_t infos[],
                         size_t ninfos, pmix_op_cbfunc_t callback, void* cbdata);
pmix_status_t disconnect(Session& session, const pmix_proc_t procs[], size_t nprocs, const pmix_info_t infos[],
                         size_t ninfos);
pmix_status_t disconnect_nb(Session& session, const pmix_proc_t procs[], size_t nprocs, const pmix_info_t infos[],
                            size_t ninfos, pmix_op_cbfunc_t callback, void* cbdata);

}  // namespace pmix::client
