// SPDX-License-Identifier: BSD-3-Clause
// Entries that a caller marks as required (PMIX_INFO_REQD), and what meets them: this library, the host, or nothing.
//
// Pure functions; loop thread, as they read what the host registered (PMIx_Register_attributes). What support.def lists
// for the function is the library's. Everything else is the host's to meet, if it has the entry for the function and:
//   - collectives: it registered the attribute. Whether a host is asked at all depends there on where the members run,
//     and the status must not;
//   - services, which go to the host wherever the caller runs: it registered the attribute, or the headers name it and
//     the host decides.
// Nobody meets anything else: PMIX_ERR_NOT_SUPPORTED, before the host sees the request.
#pragma once

#include "common/values/info_view.h"
#include "common/values/support.h"
#include "server/host/host.h"

namespace pmix::server {

enum class Required : uint8_t {
    met_here,  // nothing is required, or only what this library does
    by_host,   // the host must be asked
    unmet,
};

// What a request's entries are. In a payload (publish, notify) only reserved keys can be directives, and those that the
// headers name can be data as well.
enum class Entries : uint8_t { directives, payload };

Required required_in_collective(const Host& host, common::InfoView infos, common::Function function);
Required required_in_service(const Host& host, common::InfoView infos, common::Function function,
                             Entries are = Entries::directives);

// For services without a part of their own: PMIX_SUCCESS or PMIX_ERR_NOT_SUPPORTED.
pmix_status_t check_service(const Host& host, common::InfoView infos, common::Function function,
                            Entries are = Entries::directives);

// Marks what this library has done of a collective as processed (PMIX_INFO_REQD_PROCESSED), for the host: all that is
// the library's own but PMIX_COLLECT_DATA, half of which is the host's work.
void mark_processed(common::InfoList& infos, common::Function function);

}  // namespace pmix::server
