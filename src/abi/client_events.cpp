// SPDX-License-Identifier: BSD-3-Clause
// The API: PMIx_Register_event_handler, PMIx_Deregister_event_handler, PMIx_Notify_event.
//
// Any thread. Conversions only: what the calls do is in client/events/events.
#include <pmix.h>

#include "abi/boundary.h"
#include "client/events/events.h"
#include "client/session/session.h"

using pmix::api::boundary;
using pmix::api::Library;

extern "C" {

pmix_status_t PMIx_Register_event_handler(pmix_status_t codes[], size_t ncodes, pmix_info_t info[], size_t ninfo,
                                          pmix_notification_fn_t evhdlr, pmix_hdlr_reg_cbfunc_t cbfunc, void* cbdata) {
    return boundary([&](Library& library) {
        return library.client().events().register_handler(codes, ncodes, info, ninfo, evhdlr, cbfunc, cbdata);
    });
}

pmix_status_t PMIx_Deregister_event_handler(size_t evhdlr_ref, pmix_op_cbfunc_t cbfunc, void* cbdata) {
    return boundary(
        [&](Library& library) { return library.client().events().deregister_handler(evhdlr_ref, cbfunc, cbdata); });
}

pmix_status_t PMIx_Notify_event(pmix_status_t status, const pmix_proc_t* source, pmix_data_range_t range,
                                const pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t cbfunc, void* cbdata) {
    return boundary([&](Library& library) {
        return library.client().events().notify(status, source, range, info, ninfo, cbfunc, cbdata);
    });
}

}  // extern "C"
