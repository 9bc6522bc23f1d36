// SPDX-License-Identifier: BSD-3-Clause
// What of a message a release can be told. A value that it has no form for ends its reading of the whole message, and
// one that it can read but not keep may end the process that reads it.
//
// Pure, any thread. What can go wrong: no memory (std::bad_alloc).
#pragma once

#include <pmix_common.h>

#include "openpmix/messages.h"
#include "openpmix/traits.h"

namespace pmix::openpmix {

// Has the value a form that the release reads and keeps?
bool is_tellable(const Traits& traits, const pmix_value_t& value);

// The same message without the entries that cannot be told. Of a lookup that loses some, the status is
// PMIX_ERR_PARTIAL_SUCCESS, and PMIX_ERR_NOT_SUPPORTED if it loses all.
EventMessage tellable_part(const EventMessage& message, const Traits& traits);
InfosReply tellable_part(const InfosReply& message, const Traits& traits);
LookupReply tellable_part(const LookupReply& message, const Traits& traits);

}  // namespace pmix::openpmix
