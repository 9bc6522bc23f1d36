// SPDX-License-Identifier: BSD-3-Clause
// How the walkers of field lists (copy, destroy, compare, encode, decode) reach into elements. For value.cpp, pack.cpp
// and their kin only. Pure; any thread.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "common/base/bytes.h"
#include "common/base/limits.h"
#include "common/base/opaque.h"
#include "common/placement/locality.h"
#include "common/values/describe.h"

namespace pmix::common {

// Elements of one array in a message. Numbers are bounded by their bytes, as a byte object is.
inline size_t most_elements(const TypeRow* row) noexcept {
    return row != nullptr && row->plain ? kMaxFramePayload / row->size : kMaxListLength;
}

// Elements of a plain type are their own encoding then.
inline constexpr bool kLittleEndian = std::endian::native == std::endian::little;

inline char* at(void* element, size_t offset) noexcept {
    return static_cast<char*>(element) + offset;
}
inline const char* at(const void* element, size_t offset) noexcept {
    return static_cast<const char*>(element) + offset;
}

template <class T>
T load_field(const void* element, size_t offset) noexcept {
    T v;
    std::memcpy(&v, at(element, offset), sizeof v);
    return v;
}
template <class T>
void store_field(void* element, size_t offset, T v) noexcept {
    std::memcpy(at(element, offset), &v, sizeof v);
}

// The element that a value of type `row` holds: in the union, or where the union points (which may be NULL).
inline void* held_element(const TypeRow& row, pmix_value_t* v) noexcept {
    return row.held == Held::in_place ? static_cast<void*>(&v->data) : v->data.ptr;
}
inline const void* held_element(const TypeRow& row, const pmix_value_t* v) noexcept {
    return row.held == Held::in_place ? static_cast<const void*>(&v->data) : v->data.ptr;
}

// The library that can handle the bitmap or topology in this pmix_cpuset_t or pmix_topology_t. NULL: none, or another
// source's. Asked only where there is such an object, so hwloc is not opened for nothing.
static_assert(offsetof(pmix_cpuset_t, source) == offsetof(pmix_topology_t, source));
inline const OpaqueOps* opaque_ops_for(const void* element) noexcept {
    return is_hwloc_source(load_field<const char*>(element, offsetof(pmix_cpuset_t, source))) ? open_opaque_ops()
                                                                                              : nullptr;
}

// Decoded bytes as memory of the caller's; never NULL, also for none.
inline pmix_status_t copy_out(Bytes b, char** out) noexcept {
    auto* p = static_cast<char*>(std::malloc(b.empty() ? 1 : b.size()));
    if (p == nullptr) return PMIX_ERR_NOMEM;
    if (!b.empty()) std::memcpy(p, b.data(), b.size());
    *out = p;
    return PMIX_SUCCESS;
}

inline bool multiply_overflows(size_t a, size_t b, size_t* product) noexcept {
    return __builtin_mul_overflow(a, b, product);
}

}  // namespace pmix::common
