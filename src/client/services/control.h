// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Job_control, PMIx_Allocation_request, PMIx_Session_control, PMIx_Resource_block: what a process wants done to
// processes, resources and sessions.
//
// Callers' threads; callbacks come from the loop. What can go wrong: bad arguments, no server, what the server and the
// host say. Results may come with a refusal too: they say why.
#pragma once

#include <pmix.h>

namespace pmix::client {

class Session;

// Where infos come back: both may be null, and hold nothing before the call.
struct ResultsOut {
    pmix_info_t** infos;
    size_t* ninfos;
};

pmix_status_t job_control(Session& session, const pmix_proc_t targets[], size_t ntargets,
                          const pmix_info_t directives[], size_t ndirectives, ResultsOut results);
pmix_status_t job_control_nb(Session& session, const pmix_proc_t targets[], size_t ntargets,
                             const pmix_info_t directives[], size_t ndirectives, pmix_info_cbfunc_t callback,
                             void* cbdata);
pmix_status_t allocation_request(Session& session, pmix_alloc_directive_t directive, const pmix_info_t infos[],
                                 size_t ninfos, ResultsOut results);
pmix_status_t allocation_request_nb(Session& session, pmix_alloc_directive_t directive, const pmix_info_t infos[],
                                    size_t ninfos, pmix_info_cbfunc_t callback, void* cbdata);
// Without a callback it waits.
pmix_status_t session_control(Session& session, uint32_t session_id, const pmix_info_t directives[], size_t ndirectives,
                              pmix_info_cbfunc_t callback, void* cbdata);
pmix_status_t resource_block(Session& session, pmix_resource_block_directive_t directive, const char* block,
                             const pmix_resource_unit_t units[], size_t nunits, const pmix_info_t infos[],
                             size_t ninfos);
pmix_status_t resource_block_nb(Session& session, pmix_resource_block_directive_t directive, const char* block,
                                const pmix_resource_unit_t units[], size_t nunits, const pmix_info_t infos[],
                                size_t ninfos, pmix_op_cbfunc_t callback, void* cbdata);

}  // namespace pmix::client
