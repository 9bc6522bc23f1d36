// SPDX-License-Identifier: BSD-3-Clause
// hwloc, opened at its first use: a table of the functions that we call. Linking it would cost every process start
// some 170 us; most processes never ask where they run.
//
// Owns the open library, for good: it is never closed, since callers may hold objects of it. Any thread; two that meet
// at the first use both open it and one table stays. A forked child inherits it.
// What can go wrong: hwloc 2 is not installed, or an older copy without a function that we need: open() is NULL.
#pragma once

#include <hwloc.h>

#include "common/placement/locality.h"

namespace pmix::api {

struct Hwloc {
// clang-format off
#define WIREUP_HWLOC_FUNCTIONS(X)                                                                                    \
    X(get_api_version) X(topology_init) X(topology_load) X(topology_destroy) X(topology_dup) X(topology_abi_check)   \
    X(topology_set_flags) X(topology_set_io_types_filter) X(topology_set_components) X(topology_set_xml)             \
    X(topology_set_xmlbuffer) X(topology_export_xmlbuffer) X(free_xmlbuffer) X(topology_get_depth) X(get_type_depth) \
    X(get_depth_type) X(get_nbobjs_by_depth) X(get_obj_by_depth) X(bitmap_alloc) X(bitmap_free) X(bitmap_dup)        \
    X(bitmap_set_range) X(bitmap_list_asprintf) X(bitmap_isequal) X(bitmap_isfull) X(bitmap_intersects) \
    X(topology_get_support)
// clang-format on
#define WIREUP_HWLOC_POINTER(name) decltype(&hwloc_##name) name = nullptr;
    WIREUP_HWLOC_FUNCTIONS(WIREUP_HWLOC_POINTER)
#undef WIREUP_HWLOC_POINTER

    // NULL: not there. From the first success on also what common needs of it is installed (common/base/opaque.h).
    static const Hwloc* open() noexcept;
};

// Topologies that belong to this library or to its host: PMIx_Topology_destruct leaves them alone, even after they are
// gone, since callers destruct what PMIx_Load_topology gave them before or after the last finalize. Any thread.
bool note_library_topology(const void* topology) noexcept;  // false: no memory
bool is_library_topology(const void* topology) noexcept;
void forget_library_topology(const void* topology) noexcept;  // the address is somebody else's now

// Throws bad_alloc. The bitmap is the caller's (bitmap_free).
hwloc_bitmap_t make_bitmap(const Hwloc& hwloc, const common::IndexList& list);

// A topology of the local machine from its XML, in the kinds of objects that we keep everywhere. NULL: not readable.
// whole: also what this process may not use, as the type PMIX_TOPO travels.
hwloc_topology_t topology_from_xml(const Hwloc& hwloc, const char* xml, bool whole) noexcept;

}  // namespace pmix::api
