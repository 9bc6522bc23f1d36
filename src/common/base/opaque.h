// SPDX-License-Identifier: BSD-3-Clause
// The two pointers of the ABI that only hwloc understands: pmix_cpuset_t::bitmap and pmix_topology_t::topology.
//
// common is pure and opens no library: who can open hwloc (topology/hwloc_library) sets an opener when the library is
// loaded, and installs these functions at the first use. Without an opener, or where hwloc is not installed, a bitmap
// or topology can neither be copied nor encoded (PMIX_ERR_NOT_SUPPORTED) and destroying one leaves the object alone:
// its creator can still free it. The same holds for objects of another source. Any thread; installed by one release
// store.
#pragma once

#include <pmix_common.h>

namespace pmix::common {

struct OpaqueOps {
    void* (*copy_bitmap)(const void* bitmap);  // NULL: out of memory
    void (*free_bitmap)(void* bitmap);
    char* (*print_bitmap)(const void* bitmap);  // malloc'ed list, "0-3,8"
    void* (*parse_bitmap)(const char* text);    // NULL: not a bitmap; bounded
    bool (*equal_bitmaps)(const void* a, const void* b);
    void* (*copy_topology)(const void* topology);
    void (*free_topology)(void* topology);          // must leave the library's own topology alone
    char* (*print_topology)(const void* topology);  // XML
    void* (*parse_topology)(const char* text);
    // What hwloc says of discovery, cpu binding and memory binding, one byte each, which XML does not carry. May be
    // NULL.
    void (*get_support)(const void* topology, uint8_t* out, size_t n) = nullptr;
    void (*set_support)(void* topology, const uint8_t* bytes, size_t n) = nullptr;
    size_t (*support_size)() noexcept = nullptr;  // how many bytes the hwloc of this machine has for it
};

void install_opaque_ops(const OpaqueOps* ops) noexcept;
const OpaqueOps* opaque_ops() noexcept;  // NULL until installed
// The same, and asks the opener if nobody has installed any. NULL: they cannot be had.
const OpaqueOps* open_opaque_ops() noexcept;
// Any thread may call the opener, more than once.
using OpaqueOpener = const OpaqueOps* (*)() noexcept;
void set_opaque_opener(OpaqueOpener opener) noexcept;

}  // namespace pmix::common
