// SPDX-License-Identifier: BSD-3-Clause
// Whether a release can read and keep values, what they hold included: in an array or an info may be a value of a data
// type that it has no name for, and its reading of the whole message ends there, or of one that it cannot copy. Such a
// message is not encoded (PMIX_ERR_NOT_SUPPORTED).
//
// Pure, any thread, allocates nothing. What can go wrong: nothing; values nested deeper than kMaxValueDepth are not
// readable.
#pragma once

#include <pmix_common.h>

#include <cstddef>

#include "openpmix/traits.h"

namespace pmix::openpmix {

// n elements behind `src`, one after another, of a type that itself is part of the message.
bool holds_known_types(const Traits& traits, const void* src, size_t n, pmix_data_type_t type) noexcept;
// A value and its type.
bool is_known(const Traits& traits, const pmix_value_t& value) noexcept;

}  // namespace pmix::openpmix
