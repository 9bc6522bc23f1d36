// SPDX-License-Identifier: BSD-3-Clause
// Groups of events: a name for several codes, in registrations. pmix_common.h says what belongs to each.
//
// Pure tables; any thread. What can go wrong: a name that is none (PMIX_ERR_BAD_PARAM).
#pragma once

#include <pmix.h>

#include <string_view>
#include <vector>

#include "common/values/info_view.h"

namespace pmix::client {

// Adds the codes of every group that the infos name, by text or by flag. *any: there was one.
pmix_status_t add_event_groups(common::InfoView infos, std::vector<pmix_status_t>& codes, bool* any);

}  // namespace pmix::client
