// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Log: what a process wants written down. The server does it, or its host.
//
// Callers' threads; callbacks come from the loop. What can go wrong: nothing to log (PMIX_ERR_BAD_PARAM), no server,
// what server and host say.
#pragma once

#include <pmix.h>

namespace pmix::client {

class Session;

pmix_status_t log(Session& session, const pmix_info_t data[], size_t ndata, const pmix_info_t directives[],
                  size_t ndirectives);
// An entry that cannot be written is found here, not by the callback.
pmix_status_t log_nb(Session& session, const pmix_info_t data[], size_t ndata, const pmix_info_t directives[],
                     size_t ndirectives, pmix_op_cbfunc_t callback, void* cbdata);

}  // namespace pmix::client
