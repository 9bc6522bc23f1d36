// The door: PMIx_Job_control, PMIx_Log and their _nb forms.
//
// Any thread. Conversions only: what the calls do is in client/control. Outputs are made safe before anything can fail.
#include "client/control.h"

#include <pmix.h>

#include "api/boundary.h"

namespace client = pmix::client;
using pmix::api::boundary;
using pmix::api::Library;

extern "C" {

pmix_status_t PMIx_Job_control(const pmix_proc_t targets[], size_t ntargets, const pmix_info_t directives[],
                               size_t ndirs, pmix_info_t** results, size_t* nresults) {
    if (results != nullptr) *results = nullptr;
    if (nresults != nullptr) *nresults = 0;
    return boundary([&](Library& library) {
        return client::job_control(library.client(), targets, ntargets, directives, ndirs, results, nresults);
    });
}

pmix_status_t PMIx_Job_control_nb(const pmix_proc_t targets[], size_t ntargets, const pmix_info_t directives[],
                                  size_t ndirs, pmix_info_cbfunc_t cbfunc, void* cbdata) {
    return boundary([&](Library& library) {
        return client::job_control_nb(library.client(), targets, ntargets, directives, ndirs, cbfunc, cbdata);
    });
}

pmix_status_t PMIx_Log(const pmix_info_t data[], size_t ndata, const pmix_info_t directives[], size_t ndirs) {
    return boundary(
        [&](Library& library) { return client::log(library.client(), data, ndata, directives, ndirs); });
}

pmix_status_t PMIx_Log_nb(const pmix_info_t data[], size_t ndata, const pmix_info_t directives[], size_t ndirs,
                          pmix_op_cbfunc_t cbfunc, void* cbdata) {
    return boundary([&](Library& library) {
        return client::log_nb(library.client(), data, ndata, directives, ndirs, cbfunc, cbdata);
    });
}

}  // extern "C"
