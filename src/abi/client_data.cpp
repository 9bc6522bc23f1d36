// SPDX-License-Identifier: BSD-3-Clause
// The API: PMIx_Put, Store_internal, Commit, Get, Fence, Publish, Lookup, Unpublish and their _nb forms.
//
// Any thread. Conversions only: what the calls do is in client/.
#include <pmix.h>

#include "abi/boundary.h"
#include "client/data/fence.h"
#include "client/data/get.h"
#include "client/data/publish.h"
#include "client/data/put.h"

namespace client = pmix::client;
using pmix::api::boundary;
using pmix::api::boundary_fast;
using pmix::api::Library;

extern "C" {

pmix_status_t PMIx_Put(pmix_scope_t scope, const char key[], pmix_value_t* val) {
    return boundary_fast([&](Library& library) { return client::put(library.client(), scope, key, val); });
}

pmix_status_t PMIx_Store_internal(const pmix_proc_t* proc, const char key[], pmix_value_t* val) {
    return boundary_fast([&](Library& library) { return client::store_internal(library.client(), proc, key, val); });
}

pmix_status_t PMIx_Commit(void) {
    return boundary([](Library& library) { return client::commit(library.client()); });
}

pmix_status_t PMIx_Get(const pmix_proc_t* proc, const char key[], const pmix_info_t info[], size_t ninfo,
                       pmix_value_t** val) {
    if (ninfo == 0) {
        const pmix_status_t rc =
            boundary_fast([&](Library& library) { return client::get_at_once(library.client(), proc, key, val); });
        if (rc == PMIX_SUCCESS) [[likely]]
            return rc;
    }
    client::clear_result(info, ninfo, val);
    return boundary([&](Library& library) { return client::get(library.client(), proc, key, info, ninfo, val); });
}

pmix_status_t PMIx_Get_nb(const pmix_proc_t* proc, const char key[], const pmix_info_t info[], size_t ninfo,
                          pmix_value_cbfunc_t cbfunc, void* cbdata) {
    return boundary(
        [&](Library& library) { return client::get_nb(library.client(), proc, key, info, ninfo, cbfunc, cbdata); });
}

pmix_status_t PMIx_Fence(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[], size_t ninfo) {
    return boundary([&](Library& library) { return client::fence(library.client(), procs, nprocs, info, ninfo); });
}

pmix_status_t PMIx_Fence_nb(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[], size_t ninfo,
                            pmix_op_cbfunc_t cbfunc, void* cbdata) {
    return boundary([&](Library& library) {
        return client::fence_nb(library.client(), procs, nprocs, info, ninfo, cbfunc, cbdata);
    });
}

pmix_status_t PMIx_Publish(const pmix_info_t info[], size_t ninfo) {
    return boundary([&](Library& library) { return client::publish(library.client(), info, ninfo); });
}

pmix_status_t PMIx_Publish_nb(const pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t cbfunc, void* cbdata) {
    return boundary(
        [&](Library& library) { return client::publish_nb(library.client(), info, ninfo, cbfunc, cbdata); });
}

pmix_status_t PMIx_Lookup(pmix_pdata_t data[], size_t ndata, const pmix_info_t info[], size_t ninfo) {
    return boundary([&](Library& library) { return client::lookup(library.client(), data, ndata, info, ninfo); });
}

pmix_status_t PMIx_Lookup_nb(char** keys, const pmix_info_t info[], size_t ninfo, pmix_lookup_cbfunc_t cbfunc,
                             void* cbdata) {
    return boundary(
        [&](Library& library) { return client::lookup_nb(library.client(), keys, info, ninfo, cbfunc, cbdata); });
}

pmix_status_t PMIx_Unpublish(char** keys, const pmix_info_t info[], size_t ninfo) {
    return boundary([&](Library& library) { return client::unpublish(library.client(), keys, info, ninfo); });
}

pmix_status_t PMIx_Unpublish_nb(char** keys, const pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t cbfunc,
                                void* cbdata) {
    return boundary(
        [&](Library& library) { return client::unpublish_nb(library.client(), keys, info, ninfo, cbfunc, cbdata); });
}

}  // extern "C"
