// SPDX-License-Identifier: BSD-3-Clause
// Every struct and data type of the ABI, described once.
//
// Owns: constant tables only. One TypeRow per data type id says how large an element is, how a pmix_value_t holds it
// and which fields it has; copying, destroying, comparing, encoding and decoding (value.cpp, pack.cpp) walk these
// fields and know no struct by name. A new struct is a new list of fields here and nothing else. Any thread. An id
// without a row is an unknown type: type_row() answers nullptr and callers answer PMIX_ERR_UNKNOWN_DATA_TYPE.
#pragma once

#include <pmix_common.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace pmix::common {

enum class Form : uint8_t {
    boolean,     // bool
    sint,        // signed integer of `width` bytes
    uint,        // unsigned integer of `width` bytes
    real,        // float or double
    timeval,     // struct timeval
    address,     // void* that means something in this process only: copied as a number
    string,      // char*, may be NULL
    argv,        // char**, NULL-terminated, may be NULL
    chars,       // char[width], always terminated
    blob,        // char* with its length at `count_offset`
    list,        // pointer to elements of `type`, their number at `count_offset`
    record,      // an element of `type` in place
    value,       // pmix_value_t: a type and a union
    array,       // pmix_data_array_t: a type, a number and a pointer
    buffer,      // pmix_data_buffer_t
    info_flags,  // pmix_info_directives_t of an info; says whether the value that follows is owned
    bitmap,      // void* of a pmix_cpuset_t, known to hwloc only
    topology,    // void* of a pmix_topology_t, known to hwloc only
};

// Where OpenPMIx's portable encoding (portable.h) departs from what the form says.
enum class Travel : uint8_t {
    plain,
    as_sint,   // as a signed number, whatever the field is
    as_uint,   // as an unsigned number
    typed,     // as the form says; where numbers have the width of their type, the type stands before them
    pid,       // a number with its type before it
    sentinel,  // one byte for all elements: what a pointer means stays at home
    regex,     // a map's own bytes, without a length
    hwloc,     // not at all: a text that is always "hwloc"
    optional,  // a real that some leave out: written, and read where it is
    absent,    // not at all
};

struct Field {
    Form form;
    Travel travel;
    uint16_t width;         // bytes the field takes in its struct (boolean, sint, uint, real, chars)
    uint16_t offset;        // in the struct
    uint16_t count_offset;  // blob, list
    pmix_data_type_t type;  // list, record; of a number: the data type that its values are named by, if any
    char name[26];          // as in the ABI, for printing; the field of a scalar type has none
};

// How pmix_value_t's union holds the type.
enum class Held : uint8_t { in_place, by_pointer };

struct TypeRow {
    uint16_t size;          // of one element; 0 for PMIX_UNDEF
    uint16_t min_bytes;     // the least an encoded element takes: bounds hostile counts
    uint16_t min_portable;  // the same for the portable encoding
    uint8_t first;          // fields, in the field table
    uint8_t count;
    Held held;
    // The element is one fixed-width number, so on a little-endian machine an array of them is its own encoding.
    bool plain;
    char name[28];  // "PMIX_..."
};

// Names a coordinate's view, which has no data type of its own.
inline constexpr pmix_data_type_t kCoordView = 0xffff;
// The same for a number that is a character.
inline constexpr pmix_data_type_t kCharacter = 0xfffe;

inline constexpr pmix_data_type_t kTypeRows = 76;
inline constexpr size_t kFieldRows = 179;  // room for all fields, checked where they are put together
extern const std::array<TypeRow, kTypeRows> kTypeTable;
extern const std::array<Field, kFieldRows> kFieldTable;

// The row of a type id, nullptr for an id that is unknown or private to some implementation.
inline const TypeRow* type_row(pmix_data_type_t type) noexcept {
    if (type >= kTypeRows || kTypeTable[type].name[0] == '\0') return nullptr;
    return &kTypeTable[type];
}

inline std::span<const Field> fields_of(const TypeRow& row) noexcept {
    return {kFieldTable.data() + row.first, row.count};
}

}  // namespace pmix::common
