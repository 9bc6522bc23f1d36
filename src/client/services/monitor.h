// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Process_monitor and PMIx_Heartbeat: a process has itself or its files watched.
//
// Callers' threads; callbacks come from the loop. What can go wrong: no info that says what to watch
// (PMIX_ERR_BAD_PARAM), no server, what server and host say.
#pragma once

#include <pmix.h>

#include "client/services/control.h"

namespace pmix::client {

pmix_status_t process_monitor(Session& session, const pmix_info_t* monitor, pmix_status_t error,
                              const pmix_info_t directives[], size_t ndirectives, ResultsOut results);
pmix_status_t process_monitor_nb(Session& session, const pmix_info_t* monitor, pmix_status_t error,
                                 const pmix_info_t directives[], size_t ndirectives, pmix_info_cbfunc_t callback,
                                 void* cbdata);
// One frame, no answer.
void heartbeat(Session& session);

}  // namespace pmix::client
