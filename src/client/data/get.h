// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Get: own stores first, then the server.
//
// Callers' threads; a value that is here costs no lock and no system call. The rules of when the server is asked, and
// when not, are in get.cpp; where a value is looked for is in lookup. The answer to a request that went out is that the
// value is in the segment now (or is in the reply).
//
// What can go wrong: see PMIx_Get in the Standard; on failure *ret_value is NULL, except where the caller's own storage
// was to be filled.
#pragma once

#include <pmix.h>

namespace pmix::client {

class Session;

// What callers free without a look at the status: NULL, unless it is storage of their own.
void clear_result(const pmix_info_t infos[], size_t ninfos, pmix_value_t** ret_value) noexcept;

// Inside a Reading. The usual Get: no qualifiers, and the value is here. Anything but PMIX_SUCCESS: nothing has
// happened, ask get().
pmix_status_t get_at_once(Session& session, const pmix_proc_t* proc, const char* key, pmix_value_t** ret_value);

// stores_only: what PMIx_Query_info has returned earlier is not looked at.
pmix_status_t get(Session& session, const pmix_proc_t* proc, const char* key, const pmix_info_t infos[], size_t ninfos,
                  pmix_value_t** ret_value, bool stores_only = false);

pmix_status_t get_nb(Session& session, const pmix_proc_t* proc, const char* key, const pmix_info_t infos[],
                     size_t ninfos, pmix_value_cbfunc_t callback, void* cbdata);

}  // namespace pmix::client
