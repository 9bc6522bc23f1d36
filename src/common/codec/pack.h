// SPDX-License-Identifier: BSD-3-Clause
// The codec of values, on our sockets and in our shared memory: one encoding, little-endian, fixed widths.
//
//   value         u16 data type, then the payload
//   number        its width; bool one byte; timeval two u64; a pointer (PMIX_POINTER) u64
//   string        u32 n, then n bytes of which the last is NUL; n = 0 is the NULL string
//   byte object   u32 n, then n bytes; n = 0xffffffff is a NULL pointer (so a present object may be empty)
//   argv          u32 n + 1, then n strings; 0 is NULL
//   key, nspace   u16 length, then its characters without NUL
//   struct        its fields in the order of common/values/describe.cpp
//   list          u32 n, then n elements
//   data array    u16 element type, u32 n, then n elements
//   in a value, what the union holds by pointer has one byte before it: 0 absent, 1 follows
//
// A byte object's bytes start 6 bytes after the start of its value (kBytesOffset), a string's likewise; a store that
// needs borrowed objects aligned places values accordingly. The NUL of strings is stored, so both can be read in place.
//
// Owns nothing. Any thread. Encoders append to a ByteWriter and may throw std::bad_alloc; on a status they leave the
// writer as it was. Decoders take hostile bytes: every count is held against the bytes left, nesting against
// kMaxValueDepth; on failure the output is empty and nothing leaks.
#pragma once

#include <pmix_common.h>

#include "common/base/bytes.h"
#include "common/values/value.h"

namespace pmix::common {

inline constexpr size_t kBytesOffset = 6;
inline constexpr uint32_t kNullBytes = 0xffffffffu;

// PMIX_ERR_UNKNOWN_DATA_TYPE, PMIX_ERR_BAD_PARAM (nested too deep, too long), PMIX_ERR_NOT_SUPPORTED (hwloc object).
pmix_status_t encode_value(ByteWriter& w, const pmix_value_t& value);
// out is taken as empty. PMIX_ERR_UNPACK_FAILURE, PMIX_ERR_UNKNOWN_DATA_TYPE, PMIX_ERR_NOMEM, PMIX_ERR_NOT_SUPPORTED.
pmix_status_t decode_value(ByteReader& r, pmix_value_t* out) noexcept;

// PMIx_Get's hit: `encoded` is exactly one value. Scalars, strings and byte objects take the short way.
pmix_status_t decode_value_into(Bytes encoded, pmix_value_t* out) noexcept;

// For PMIX_GET_POINTER_VALUES: as above, but a string or byte object points into `encoded` and must neither be freed
// nor written. PMIX_ERR_GET_MALLOC_REQD when the type needs memory of its own (decode and keep that one instead).
pmix_status_t borrow_value(Bytes encoded, pmix_value_t* out) noexcept;

// The type of an encoded value; PMIX_UNDEF when there is none.
inline pmix_data_type_t encoded_type(Bytes encoded) noexcept {
    return encoded.size() < 2 ? PMIX_UNDEF : load_le<uint16_t>(encoded.data());
}

// A computed value without memory: any in-place number or bool from its low bytes. Returns the length, 0 for a type
// that is not one.
inline constexpr size_t kMaxScalarBytes = 16;
size_t encode_scalar(pmix_data_type_t type, uint64_t number, uint8_t (&out)[kMaxScalarBytes]) noexcept;

// The same of a value that is such a number, as encode_value() writes it.
size_t encode_number(const pmix_value_t& value, uint8_t (&out)[kMaxScalarBytes]) noexcept;

// A string value straight from its characters.
void encode_string_value(ByteWriter& w, std::string_view text);

// n elements of a described type, behind a u32 count, without type id. What a request carries: procs, infos, apps...
pmix_status_t encode_list(ByteWriter& w, pmix_data_type_t type, const void* elements, size_t n);
// Where an hwloc object cannot be made here (a topology in a process that has none itself, or no hwloc), a decoder
// answers PMIX_ERR_NOT_SUPPORTED, for well-formed bytes, or leaves the object out.
enum class Opaque : uint8_t { required, left_out };
pmix_status_t decode_list(ByteReader& r, pmix_data_type_t type, void** out, size_t* n,
                          Opaque opaque = Opaque::required) noexcept;
// One element, no count.
pmix_status_t encode_element(ByteWriter& w, pmix_data_type_t type, const void* element);

template <class T>
pmix_status_t encode_array(ByteWriter& w, const T* elements, size_t n) {
    return encode_list(w, TypeId<T>::value, elements, n);
}
template <class T>
pmix_status_t decode_array(ByteReader& r, CArray<T>* out) noexcept {
    void* p = nullptr;
    size_t n = 0;
    pmix_status_t rc = decode_list(r, TypeId<T>::value, &p, &n);
    *out = CArray<T>(static_cast<T*>(p), n);
    return rc;
}

// Infos: the flags that describe memory (ARRAY_END, PERSISTENT) do not travel.
pmix_status_t encode_infos(ByteWriter& w, const pmix_info_t* infos, size_t n);
pmix_status_t decode_infos(ByteReader& r, InfoList* out, Opaque opaque = Opaque::required) noexcept;
pmix_status_t encode_info(ByteWriter& w, const pmix_info_t& info);

}  // namespace pmix::common
