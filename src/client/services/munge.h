// SPDX-License-Identifier: BSD-3-Clause
// Credentials of munge, where its library and its service are there.
//
// Opens libmunge at the first use and keeps it; nothing else of the process needs it. Any thread. The service certifies
// the calling process, so a credential is made in the process that needs it and not in the server. What can go wrong:
// PMIX_ERR_NOT_SUPPORTED: no library, or no service that answers; PMIX_ERR_INVALID_CRED: it proves nothing (any more).
#pragma once

#include <sys/types.h>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/protocol/messages.h"

namespace pmix::client {

bool is_munge_credential(common::Bytes credential) noexcept;
common::Result<common::Blob> make_munge_credential();
pmix_status_t read_munge_credential(common::Bytes credential, uid_t* uid, gid_t* gid);

}  // namespace pmix::client
