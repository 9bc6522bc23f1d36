// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Query_info: what this process knows first, then the server, which asks the host.
//
// Callers' threads; callbacks come from the loop. The answer is a list with one info per key that was found, query by
// query and in the order of the keys, as all releases of OpenPMIx have it: their users take the number of infos for the
// number of answers, and the first one for the answer to their only key. In strict mode it is one PMIX_QUERY_RESULTS
// per query instead.
//
// What can go wrong: bad arguments, a process named in two ways (PMIX_ERR_BAD_PARAM); some keys not found
// (PMIX_ERR_PARTIAL_SUCCESS), none (PMIX_ERR_NOT_FOUND; PMIX_ERR_NOT_SUPPORTED where the host answers no queries); and
// what the server and the host say.
#pragma once

#include <pmix.h>

namespace pmix::client {

class Session;

// Keys that need no library: the versions of the binary interface. True: the queries have no others.
bool only_abi_versions(const pmix_query_t queries[], size_t nqueries) noexcept;
pmix_status_t query_abi_versions(const pmix_query_t queries[], size_t nqueries, pmix_info_t** results,
                                 size_t* nresults);

pmix_status_t query(Session& session, const pmix_query_t queries[], size_t nqueries, pmix_info_t** results,
                    size_t* nresults);
// The queries stay the caller's, and stay, until the callback.
pmix_status_t query_nb(Session& session, const pmix_query_t queries[], size_t nqueries, pmix_info_cbfunc_t callback,
                       void* cbdata);

}  // namespace pmix::client
