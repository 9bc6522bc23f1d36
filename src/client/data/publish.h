// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Publish, PMIx_Lookup, PMIx_Unpublish: the server passes them to the host, which keeps what is published.
//
// Callers' threads; callbacks come from the loop.
// What can go wrong: bad arguments, no server, what the host says. A lookup succeeds when any key was found; the others
// are marked by the type PMIX_UNDEF.
#pragma once

#include <pmix.h>

namespace pmix::client {

class Session;

pmix_status_t publish(Session& session, const pmix_info_t infos[], size_t ninfos);
pmix_status_t publish_nb(Session& session, const pmix_info_t infos[], size_t ninfos, pmix_op_cbfunc_t callback,
                         void* cbdata);
pmix_status_t lookup(Session& session, pmix_pdata_t data[], size_t ndata, const pmix_info_t infos[], size_t ninfos);
pmix_status_t lookup_nb(Session& session, char** keys, const pmix_info_t infos[], size_t ninfos,
                        pmix_lookup_cbfunc_t callback, void* cbdata);
// Null keys: everything this process published.
pmix_status_t unpublish(Session& session, char** keys, const pmix_info_t infos[], size_t ninfos);
pmix_status_t unpublish_nb(Session& session, char** keys, const pmix_info_t infos[], size_t ninfos,
                           pmix_op_cbfunc_t callback, void* cbdata);

}  // namespace pmix::client
