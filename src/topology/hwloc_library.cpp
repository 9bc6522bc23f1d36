// SPDX-License-Identifier: BSD-3-Clause
#include "topology/hwloc_library.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "common/base/limits.h"
#include "common/base/opaque.h"
#include "common/base/open_library.h"
#include "common/placement/locality.h"

namespace pmix::api {
namespace {

constexpr const char* kLibrary = "libhwloc.so.15";  // the ABI of hwloc 2

// What the atomic holds when hwloc is not there, so that it is looked for once only.
const Hwloc kAbsent{};
constinit std::atomic<const Hwloc*> g_hwloc{nullptr};

struct KnownTopology {
    std::atomic<const void*> address{nullptr};  // NULL: a free place
    KnownTopology* next = nullptr;
};
// Grows only, one place per topology that was the library's at an address of its own: usually one.
constinit std::atomic<KnownTopology*> g_known{nullptr};

// --- what common/base/opaque.h asks for. Only installed, and so only called, once g_hwloc is set
// ---------------------------

const Hwloc& opened() noexcept {
    return *g_hwloc.load(std::memory_order_acquire);
}

void* copy_bitmap(const void* bitmap) {
    return opened().bitmap_dup(static_cast<hwloc_const_bitmap_t>(bitmap));
}
void free_bitmap(void* bitmap) {
    opened().bitmap_free(static_cast<hwloc_bitmap_t>(bitmap));
}

char* print_bitmap(const void* bitmap) {
    char* text = nullptr;
    return opened().bitmap_list_asprintf(&text, static_cast<hwloc_const_bitmap_t>(bitmap)) < 0 ? nullptr : text;
}

void* parse_bitmap(const char* text) {
    try {
        auto list = common::IndexList::parse(text);
        return list ? make_bitmap(opened(), *list) : nullptr;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

bool equal_bitmaps(const void* a, const void* b) {
    return opened().bitmap_isequal(static_cast<hwloc_const_bitmap_t>(a), static_cast<hwloc_const_bitmap_t>(b)) != 0;
}

hwloc_topology_t topology_of(const void* topology) {
    return static_cast<hwloc_topology_t>(const_cast<void*>(topology));
}

void* copy_topology(const void* topology) {
    const Hwloc& hwloc = opened();
    hwloc_topology_t copy = nullptr;
    if (hwloc.topology_abi_check(topology_of(topology)) != 0) return nullptr;
    if (hwloc.topology_dup(&copy, topology_of(topology)) != 0) return nullptr;
    forget_library_topology(copy);
    return copy;
}

void free_topology(void* topology) {
    if (is_library_topology(topology) || opened().topology_abi_check(topology_of(topology)) != 0) return;
    opened().topology_destroy(topology_of(topology));
}

char* print_topology(const void* topology) {
    const Hwloc& hwloc = opened();
    if (hwloc.topology_abi_check(topology_of(topology)) != 0) return nullptr;
    char* xml = nullptr;
    int size = 0;
    if (hwloc.topology_export_xmlbuffer(topology_of(topology), &xml, &size, 0) != 0) return nullptr;
    char* text = strdup(xml);  // hwloc's own buffer may not be malloc's
    hwloc.free_xmlbuffer(topology_of(topology), xml);
    return text;
}

void* parse_topology(const char* text) {
    hwloc_topology_t topology = topology_from_xml(opened(), text, true);
    if (topology != nullptr) forget_library_topology(topology);
    return topology;
}

// One byte for each thing that hwloc supports. The structs are those of the library that is open, which may be another
// release than that of the headers: 2.11 has one kind of memory binding more.
constexpr size_t kDiscoveryBytes = 6;
constexpr size_t kCpubindBytes = 11;
size_t membind_bytes() noexcept {
    return opened().get_api_version() >= 0x00020b00 ? 16 : 15;
}

size_t support_size() noexcept {
    return kDiscoveryBytes + kCpubindBytes + membind_bytes();
}

// Runs visit(bytes of hwloc's, their number) over what it supports, as far as n bytes go.
template <class F>
void each_support(const void* topology, size_t n, F&& visit) {
    if (opened().topology_abi_check(topology_of(topology)) != 0) return;
    const hwloc_topology_support* support = opened().topology_get_support(topology_of(topology));
    if (support == nullptr) return;
    const auto part = [&](void* bytes, size_t size) {
        size = size < n ? size : n;
        visit(bytes, size);
        n -= size;
    };
    part(support->discovery, kDiscoveryBytes);
    part(support->cpubind, kCpubindBytes);
    part(support->membind, membind_bytes());
}

void get_support(const void* topology, uint8_t* out, size_t n) {
    each_support(topology, n, [&](const void* bytes, size_t size) {
        std::memcpy(out, bytes, size);
        out += size;
    });
}

void set_support(void* topology, const uint8_t* bytes, size_t n) {
    each_support(topology, n, [&](void* to, size_t size) {
        std::memcpy(to, bytes, size);
        bytes += size;
    });
}

constexpr common::OpaqueOps kOps = {copy_bitmap,    free_bitmap,   print_bitmap,  parse_bitmap,
                                    equal_bitmaps,  copy_topology, free_topology, print_topology,
                                    parse_topology, get_support,   set_support,   support_size};

const Hwloc* read_library() noexcept {
    void* library = common::open_library(kLibrary, nullptr);
    if (library == nullptr) return &kAbsent;
    auto* table = static_cast<Hwloc*>(std::malloc(sizeof(Hwloc)));  // trivial, and kept for good
    if (table == nullptr) return &kAbsent;
    new (table) Hwloc;
    bool complete = true;
#define WIREUP_HWLOC_FIND(name) complete = common::find_function(library, "hwloc_" #name, table->name) && complete;
    WIREUP_HWLOC_FUNCTIONS(WIREUP_HWLOC_FIND)
#undef WIREUP_HWLOC_FIND
    if (complete && table->get_api_version() >> 16 == HWLOC_API_VERSION >> 16) return table;
    std::free(table);
    return &kAbsent;
}

}  // namespace

const Hwloc* Hwloc::open() noexcept {
    const Hwloc* known = g_hwloc.load(std::memory_order_acquire);
    if (known == nullptr) {
        const Hwloc* mine = read_library();
        if (g_hwloc.compare_exchange_strong(known, mine, std::memory_order_acq_rel)) {
            known = mine;
        } else if (mine != &kAbsent) {
            std::free(const_cast<Hwloc*>(mine));
        }
    }
    if (known == &kAbsent) return nullptr;
    // Also by a thread that lost the race, because it must not go on without them.
    if (common::opaque_ops() == nullptr) common::install_opaque_ops(&kOps);
    return known;
}

bool note_library_topology(const void* topology) noexcept {
    if (is_library_topology(topology)) return true;
    for (KnownTopology* k = g_known.load(std::memory_order_acquire); k != nullptr; k = k->next) {
        const void* expected = nullptr;
        if (k->address.compare_exchange_strong(expected, topology, std::memory_order_acq_rel)) return true;
    }
    auto* place = new (std::nothrow) KnownTopology;
    if (place == nullptr) return false;
    place->address.store(topology, std::memory_order_relaxed);
    place->next = g_known.load(std::memory_order_acquire);
    while (!g_known.compare_exchange_weak(place->next, place, std::memory_order_acq_rel)) {
    }
    return true;
}

void forget_library_topology(const void* topology) noexcept {
    for (KnownTopology* k = g_known.load(std::memory_order_acquire); k != nullptr; k = k->next) {
        const void* expected = topology;
        k->address.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel);
    }
}

bool is_library_topology(const void* topology) noexcept {
    for (KnownTopology* k = g_known.load(std::memory_order_acquire); k != nullptr; k = k->next) {
        if (k->address.load(std::memory_order_acquire) == topology) return true;
    }
    return false;
}

hwloc_bitmap_t make_bitmap(const Hwloc& hwloc, const common::IndexList& list) {
    hwloc_bitmap_t bitmap = hwloc.bitmap_alloc();
    if (bitmap == nullptr) throw std::bad_alloc();
    for (const auto& range : list.ranges()) {
        const int last = range.last == common::IndexList::kOpenEnd ? -1 : static_cast<int>(range.last);
        if (hwloc.bitmap_set_range(bitmap, range.first, last) != 0) {
            hwloc.bitmap_free(bitmap);
            throw std::bad_alloc();
        }
    }
    return bitmap;
}

hwloc_topology_t topology_from_xml(const Hwloc& hwloc, const char* xml, bool whole) noexcept {
    const size_t size = std::strlen(xml) + 1;
    if (size > common::kMaxTopologyText) return nullptr;
    hwloc_topology_t topology = nullptr;
    if (hwloc.topology_init(&topology) != 0) return nullptr;
    // The text describes this machine, whatever its source: binding with it takes effect.
    unsigned long flags = HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM;
    if (whole) flags |= HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED;
    if (hwloc.topology_set_xmlbuffer(topology, xml, static_cast<int>(size)) == 0 &&
        hwloc.topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) == 0 &&
        hwloc.topology_set_flags(topology, flags) == 0 && hwloc.topology_load(topology) == 0) {
        return topology;
    }
    hwloc.topology_destroy(topology);
    return nullptr;
}

}  // namespace pmix::api

namespace {

const pmix::common::OpaqueOps* open_hwloc() noexcept {
    return pmix::api::Hwloc::open() == nullptr ? nullptr : pmix::common::opaque_ops();
}

}  // namespace

// Values may be copied and decoded before any init, so there is no later moment than this. A program that links the
// static library asks for this symbol (see CMakeLists.txt, pmix.pc.in and PMIxConfig.cmake.in), since nothing else
// would bring the file in.
extern "C" __attribute__((constructor)) void wireup_set_opaque_opener() {
    pmix::common::set_opaque_opener(&open_hwloc);
}
