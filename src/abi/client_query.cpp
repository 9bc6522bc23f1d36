// SPDX-License-Identifier: BSD-3-Clause
// The API: PMIx_Query_info and PMIx_Query_info_nb.
//
// Any thread. Conversions only: what the calls do is in client/services/query. Outputs are made safe before anything
// can fail.
#include <pmix.h>

#include "abi/boundary.h"
#include "client/services/query.h"

namespace client = pmix::client;
using pmix::api::boundary;
using pmix::api::guarded;
using pmix::api::Library;

extern "C" {

// The versions of the binary interface can be asked for before init, alone.
pmix_status_t PMIx_Query_info(pmix_query_t queries[], size_t nqueries, pmix_info_t** results, size_t* nresults) {
    if (results != nullptr) *results = nullptr;
    if (nresults != nullptr) *nresults = 0;
    if (Library::current() == nullptr && results != nullptr && nresults != nullptr &&
        client::only_abi_versions(queries, nqueries)) {
        return guarded([&] { return client::query_abi_versions(queries, nqueries, results, nresults); });
    }
    return boundary([&](Library& library) -> pmix_status_t {
        if (results == nullptr || nresults == nullptr) return PMIX_ERR_BAD_PARAM;
        return client::query(library.client(), queries, nqueries, results, nresults);
    });
}

pmix_status_t PMIx_Query_info_nb(pmix_query_t queries[], size_t nqueries, pmix_info_cbfunc_t cbfunc, void* cbdata) {
    return boundary(
        [&](Library& library) { return client::query_nb(library.client(), queries, nqueries, cbfunc, cbdata); });
}

}  // extern "C"
