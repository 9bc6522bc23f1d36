// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Spawn and PMIx_Abort: start and end processes through the host. (A tool without one: see runtime/local_spawn.)
//
// Callers' threads; callbacks come from the loop. What can go wrong: bad arguments, an application without a program
// (PMIX_ERR_JOB_NO_EXE_SPECIFIED), no server, what the host says.
#pragma once

#include <pmix.h>

namespace pmix::client {

class Session;

// ret_nspace may be null; it is empty after a failure.
pmix_status_t spawn(Session& session, const pmix_info_t infos[], size_t ninfos, const pmix_app_t apps[], size_t napps,
                    char* ret_nspace);
pmix_status_t spawn_nb(Session& session, const pmix_info_t infos[], size_t ninfos, const pmix_app_t apps[],
                       size_t napps, pmix_spawn_cbfunc_t callback, void* cbdata);

// Null procs: the caller's namespace, the caller included. Returns when the host has accepted; the caller's own end
// comes from the host.
pmix_status_t abort(Session& session, int status, const char* message, const pmix_proc_t procs[], size_t nprocs);

}  // namespace pmix::client
