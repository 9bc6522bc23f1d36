// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Get_credential and PMIx_Validate_credential: munge's here in the process, all others by the server.
//
// Callers' threads; callbacks come from the loop. What can go wrong: no type that somebody has
// (PMIX_ERR_NOT_SUPPORTED), no server (PMIX_ERR_UNREACH), bytes that prove nothing (PMIX_ERR_INVALID_CRED), what the
// host says.
#pragma once

#include <pmix.h>

#include "client/services/control.h"

namespace pmix::client {

// The credential is malloc'ed and becomes the caller's.
pmix_status_t get_credential(Session& session, const pmix_info_t infos[], size_t ninfos,
                             pmix_byte_object_t* credential);
pmix_status_t get_credential_nb(Session& session, const pmix_info_t infos[], size_t ninfos,
                                pmix_credential_cbfunc_t callback, void* cbdata);
pmix_status_t validate_credential(Session& session, const pmix_byte_object_t* credential, const pmix_info_t infos[],
                                  size_t ninfos, ResultsOut results);
pmix_status_t validate_credential_nb(Session& session, const pmix_byte_object_t* credential, const pmix_info_t infos[],
                                     size_t ninfos, pmix_validation_cbfunc_t callback, void* cbdata);

}  // namespace pmix::client
