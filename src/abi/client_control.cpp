// SPDX-License-Identifier: BSD-3-Clause
// The API: job control, allocations, sessions, resource blocks, monitoring, log, credentials, fabrics, and their _nb
// forms.
//
// Any thread. Conversions only: what the calls do is in client/services/control, monitor, log, credentials and fabric.
// Outputs are made safe before anything can fail.
#include <pmix.h>

#include "abi/boundary.h"
#include "client/services/control.h"
#include "client/services/credentials.h"
#include "client/services/fabric.h"
#include "client/services/monitor.h"
#include "client/services/pmix_log.h"
#include "client/session/session.h"

namespace client = pmix::client;
using pmix::api::boundary;
using pmix::api::Library;

namespace {

client::ResultsOut cleared(pmix_info_t** results, size_t* nresults) {
    if (results != nullptr) *results = nullptr;
    if (nresults != nullptr) *nresults = 0;
    return {results, nresults};
}

}  // namespace

extern "C" {

pmix_status_t PMIx_Job_control(const pmix_proc_t targets[], size_t ntargets, const pmix_info_t directives[],
                               size_t ndirs, pmix_info_t** results, size_t* nresults) {
    const client::ResultsOut out = cleared(results, nresults);
    return boundary([&](Library& library) {
        return client::job_control(library.client(), targets, ntargets, directives, ndirs, out);
    });
}

pmix_status_t PMIx_Job_control_nb(const pmix_proc_t targets[], size_t ntargets, const pmix_info_t directives[],
                                  size_t ndirs, pmix_info_cbfunc_t cbfunc, void* cbdata) {
    return boundary([&](Library& library) {
        return client::job_control_nb(library.client(), targets, ntargets, directives, ndirs, cbfunc, cbdata);
    });
}

pmix_status_t PMIx_Allocation_request(pmix_alloc_directive_t directive, pmix_info_t* info, size_t ninfo,
                                      pmix_info_t** results, size_t* nresults) {
    const client::ResultsOut out = cleared(results, nresults);
    return boundary(
        [&](Library& library) { return client::allocation_request(library.client(), directive, info, ninfo, out); });
}

pmix_status_t PMIx_Allocation_request_nb(pmix_alloc_directive_t directive, pmix_info_t* info, size_t ninfo,
                                         pmix_info_cbfunc_t cbfunc, void* cbdata) {
    return boundary([&](Library& library) {
        return client::allocation_request_nb(library.client(), directive, info, ninfo, cbfunc, cbdata);
    });
}

pmix_status_t PMIx_Session_control(uint32_t sessionID, const pmix_info_t directives[], size_t ndirs,
                                   pmix_info_cbfunc_t cbfunc, void* cbdata) {
    return boundary([&](Library& library) {
        return client::session_control(library.client(), sessionID, directives, ndirs, cbfunc, cbdata);
    });
}

pmix_status_t PMIx_Resource_block(pmix_resource_block_directive_t directive, char* block,
                                  const pmix_resource_unit_t* res, size_t nres, const pmix_info_t* info, size_t ninfo) {
    return boundary([&](Library& library) {
        return client::resource_block(library.client(), directive, block, res, nres, info, ninfo);
    });
}

pmix_status_t PMIx_Resource_block_nb(pmix_resource_block_directive_t directive, char* block,
                                     const pmix_resource_unit_t* res, size_t nres, const pmix_info_t* info,
                                     size_t ninfo, pmix_op_cbfunc_t cbfunc, void* cbdata) {
    return boundary([&](Library& library) {
        return client::resource_block_nb(library.client(), directive, block, res, nres, info, ninfo, cbfunc, cbdata);
    });
}

pmix_status_t PMIx_Process_monitor(const pmix_info_t* monitor, pmix_status_t error, const pmix_info_t directives[],
                                   size_t ndirs, pmix_info_t** results, size_t* nresults) {
    const client::ResultsOut out = cleared(results, nresults);
    return boundary([&](Library& library) {
        return client::process_monitor(library.client(), monitor, error, directives, ndirs, out);
    });
}

pmix_status_t PMIx_Process_monitor_nb(const pmix_info_t* monitor, pmix_status_t error, const pmix_info_t directives[],
                                      size_t ndirs, pmix_info_cbfunc_t cbfunc, void* cbdata) {
    return boundary([&](Library& library) {
        return client::process_monitor_nb(library.client(), monitor, error, directives, ndirs, cbfunc, cbdata);
    });
}

void PMIx_Heartbeat(void) {
    boundary([](Library& library) {
        client::heartbeat(library.client());
        return PMIX_SUCCESS;
    });
}

pmix_status_t PMIx_Log(const pmix_info_t data[], size_t ndata, const pmix_info_t directives[], size_t ndirs) {
    return boundary([&](Library& library) { return client::log(library.client(), data, ndata, directives, ndirs); });
}

pmix_status_t PMIx_Log_nb(const pmix_info_t data[], size_t ndata, const pmix_info_t directives[], size_t ndirs,
                          pmix_op_cbfunc_t cbfunc, void* cbdata) {
    return boundary([&](Library& library) {
        return client::log_nb(library.client(), data, ndata, directives, ndirs, cbfunc, cbdata);
    });
}

pmix_status_t PMIx_Get_credential(const pmix_info_t info[], size_t ninfo, pmix_byte_object_t* credential) {
    if (credential != nullptr) *credential = PMIX_BYTE_OBJECT_STATIC_INIT;
    return boundary(
        [&](Library& library) { return client::get_credential(library.client(), info, ninfo, credential); });
}

pmix_status_t PMIx_Get_credential_nb(const pmix_info_t info[], size_t ninfo, pmix_credential_cbfunc_t cbfunc,
                                     void* cbdata) {
    return boundary(
        [&](Library& library) { return client::get_credential_nb(library.client(), info, ninfo, cbfunc, cbdata); });
}

pmix_status_t PMIx_Validate_credential(const pmix_byte_object_t* cred, const pmix_info_t info[], size_t ninfo,
                                       pmix_info_t** results, size_t* nresults) {
    const client::ResultsOut out = cleared(results, nresults);
    return boundary(
        [&](Library& library) { return client::validate_credential(library.client(), cred, info, ninfo, out); });
}

pmix_status_t PMIx_Validate_credential_nb(const pmix_byte_object_t* cred, const pmix_info_t info[], size_t ninfo,
                                          pmix_validation_cbfunc_t cbfunc, void* cbdata) {
    return boundary([&](Library& library) {
        return client::validate_credential_nb(library.client(), cred, info, ninfo, cbfunc, cbdata);
    });
}

pmix_status_t PMIx_Fabric_register(pmix_fabric_t* fabric, const pmix_info_t directives[], size_t ndirs) {
    return boundary([&](Library& library) { return library.client().fabrics().add(fabric, directives, ndirs); });
}

pmix_status_t PMIx_Fabric_register_nb(pmix_fabric_t* fabric, const pmix_info_t directives[], size_t ndirs,
                                      pmix_op_cbfunc_t cbfunc, void* cbdata) {
    return boundary(
        [&](Library& library) { return library.client().fabrics().add_nb(fabric, directives, ndirs, cbfunc, cbdata); });
}

pmix_status_t PMIx_Fabric_update(pmix_fabric_t* fabric) {
    return boundary([&](Library& library) { return library.client().fabrics().update(fabric); });
}

pmix_status_t PMIx_Fabric_update_nb(pmix_fabric_t* fabric, pmix_op_cbfunc_t cbfunc, void* cbdata) {
    return boundary([&](Library& library) { return library.client().fabrics().update_nb(fabric, cbfunc, cbdata); });
}

pmix_status_t PMIx_Fabric_deregister(pmix_fabric_t* fabric) {
    return boundary([&](Library& library) { return library.client().fabrics().remove(fabric); });
}

pmix_status_t PMIx_Fabric_deregister_nb(pmix_fabric_t* fabric, pmix_op_cbfunc_t cbfunc, void* cbdata) {
    return boundary([&](Library& library) { return library.client().fabrics().remove_nb(fabric, cbfunc, cbdata); });
}

}  // extern "C"
