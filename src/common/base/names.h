// SPDX-License-Identifier: BSD-3-Clause
// The names of the ABI's constants, for every *_string function and PMIx_Error_code.
//
// Owns constant tables without a pointer in them (names.def says the rows). Any thread. Texts are static.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pmix::common {

enum class Names : uint8_t {
    status,
    data_type,
    proc_state,
    scope,
    data_range,
    persistence,
    info_directives,
    alloc_directive,
    alloc_inheritance,
    iof_channel,
    job_state,
    link_state,
    device_type,
    value_comparison,
    group_operation,
    resource_block_directive,
    coord_view,
    locality,
    storage_medium,
    storage_accessibility,
    storage_persistence,
    storage_access_type,
};

// The constant's name, nullptr for a value that has none.
const char* constant_name(Names group, int64_t value) noexcept;

// A value by any of its names, case ignored; false when there is none.
bool constant_value(Names group, std::string_view name, int64_t* out) noexcept;

// Writes "A|B" for the bits of mask, in ascending order, cut to size and terminated; bits without a name are one number
// in hex at the end. The text for 0 is the name of 0, else "NONE". Returns what the whole text takes, without its NUL.
size_t describe_bits(Names group, uint64_t mask, char* out, size_t size) noexcept;

}  // namespace pmix::common
