// SPDX-License-Identifier: BSD-3-Clause
// The table of all attributes: each one's name in the headers, its string on the wire, its value's type.
//
// Owns constant tables without a pointer in them (attributes.def has the rows): shared by all processes, nothing to
// relocate. Any thread. Nothing can go wrong but "unknown".
#pragma once

#include <pmix_common.h>

#include <cstddef>
#include <string_view>

namespace pmix::common {

struct Attribute {
    const char* name;       // "PMIX_TIMEOUT"; nullptr: unknown
    const char* string;     // "pmix.timeout"
    pmix_data_type_t type;  // PMIX_UNDEF: differs from use to use
};

// Case counts.
Attribute attribute_by_name(std::string_view name) noexcept;
Attribute attribute_by_string(std::string_view string) noexcept;

// By its name or its string, and case does not count. A search through all.
Attribute attribute_like(std::string_view text) noexcept;

// All of them, ordered by name, second names included.
size_t attribute_count() noexcept;
Attribute attribute_at(size_t index) noexcept;

}  // namespace pmix::common
