// PMIx_Job_control and PMIx_Log: what a process wants done to processes, and what it wants written down.
//
// Callers' threads; callbacks come from the loop. What can go wrong: bad arguments, no server, what the server and the
// host say.
#pragma once

#include <pmix.h>

namespace pmix::client {

class Session;

// ret_infos and ret_ninfos may be null.
pmix_status_t job_control(Session& session, const pmix_proc_t targets[], size_t ntargets,
                          const pmix_info_t directives[], size_t ndirectives, pmix_info_t** ret_infos,
                          size_t* ret_ninfos);
pmix_status_t job_control_nb(Session& session, const pmix_proc_t targets[], size_t ntargets,
                             const pmix_info_t directives[], size_t ndirectives, pmix_info_cbfunc_t callback,
                             void* cbdata);
pmix_status_t log(Session& session, const pmix_info_t data[], size_t ndata, const pmix_info_t directives[],
                  size_t ndirectives);
pmix_status_t log_nb(Session& session, const pmix_info_t data[], size_t ndata, const pmix_info_t directives[],
                     size_t ndirectives, pmix_op_cbfunc_t callback, void* cbdata);

}  // namespace pmix::client
