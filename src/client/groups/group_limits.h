// SPDX-License-Identifier: BSD-3-Clause
// What an invitation and its answers take from the callers' directives: limits of time, and what is for all.
//
// Pure functions of their arguments and the clock.
#pragma once

#include <cstdint>

#include "common/values/value.h"
#include "transport/deadline.h"

namespace pmix::client {

// What the collective at the end must have from all.
common::InfoList for_all(const common::InfoList& infos);
// Of PMIX_TIMEOUT; 0: none.
int limit_s(const common::InfoList& infos) noexcept;
transport::Deadline limit_of(const common::InfoList& infos) noexcept;
// What a timer takes; at least a moment.
int64_t left_ms(transport::Deadline limit) noexcept;
// For the collective at the end: of the time that is left to this process and the time that the inviter gives, the
// shorter one, in whole seconds and at least one.
void append_limited(common::InfoList& out, const common::InfoList& infos, transport::Deadline limit);

}  // namespace pmix::client
