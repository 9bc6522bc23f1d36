// SPDX-License-Identifier: BSD-3-Clause
// Whether a release can keep a value under a reserved key. OpenPMIx 4.2 numbers those that it has a name for, and
// refuses others: what is told of a job behind such a key is lost to its client, which says so on its stderr. Other
// releases take any.
//
// Pure, any thread, allocates nothing. Nothing can go wrong.
#pragma once

#include <string_view>

#include "openpmix/traits.h"

namespace pmix::openpmix {

// Keys that are not reserved are known to all.
bool is_known_key(const Traits& traits, std::string_view key) noexcept;

}  // namespace pmix::openpmix
