// SPDX-License-Identifier: BSD-3-Clause
#include "topology/topology_walk.h"

#include <strings.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <tuple>

#include "common/values/array_value.h"

namespace pmix::api {
namespace {

using common::IndexList;
using common::Place;
using common::PlaceList;

std::optional<Place> place_of(hwloc_obj_type_t type) noexcept {
    switch (type) {
        case HWLOC_OBJ_PACKAGE:
            return Place::package;
        case HWLOC_OBJ_L3CACHE:
            return Place::l3cache;
        case HWLOC_OBJ_L2CACHE:
            return Place::l2cache;
        case HWLOC_OBJ_L1CACHE:
            return Place::l1cache;
        case HWLOC_OBJ_CORE:
            return Place::core;
        case HWLOC_OBJ_PU:
            return Place::hwthread;
        default:
            return std::nullopt;
    }
}

template <class F>
void each_at_depth(const Topology& topology, int depth, F&& see) {
    const unsigned n = topology.hwloc->get_nbobjs_by_depth(topology.tree(), depth);
    for (unsigned i = 0; i < n; ++i) {
        if (const hwloc_obj* object = topology.hwloc->get_obj_by_depth(topology.tree(), depth, i)) see(*object);
    }
}

IndexList touched(const Topology& topology, int depth, hwloc_const_bitmap_t cpus) {
    IndexList list;
    each_at_depth(topology, depth, [&](const hwloc_obj& object) {
        if (object.cpuset != nullptr && topology.hwloc->bitmap_intersects(object.cpuset, cpus)) {
            list.add(object.logical_index, object.logical_index);
        }
    });
    return list;
}

// --- devices ---------------------------------------------------------------------------------------------------------

struct KindRow {
    hwloc_obj_osdev_type_t hwloc;
    pmix_device_type_t pmix;
    std::string_view scheme;  // of uuids made from the host's and the device's name
};
// In this order they are reported.
constexpr KindRow kKinds[] = {{HWLOC_OBJ_OSDEV_BLOCK, PMIX_DEVTYPE_BLOCK, "blk"},
                              {HWLOC_OBJ_OSDEV_GPU, PMIX_DEVTYPE_GPU, "gpu"},
                              {HWLOC_OBJ_OSDEV_NETWORK, PMIX_DEVTYPE_NETWORK, "net"},
                              {HWLOC_OBJ_OSDEV_OPENFABRICS, PMIX_DEVTYPE_OPENFABRICS, "fab"},
                              {HWLOC_OBJ_OSDEV_DMA, PMIX_DEVTYPE_DMA, "dma"},
                              {HWLOC_OBJ_OSDEV_COPROC, PMIX_DEVTYPE_COPROC, "coproc"}};

std::string_view fact(const hwloc_obj& device, const char* name) noexcept {
    for (unsigned i = 0; i < device.infos_count; ++i) {
        if (::strcasecmp(device.infos[i].name, name) == 0) return device.infos[i].value;
    }
    return {};
}

// The texts by which other libraries identify the same device.
std::string uuid_of(const hwloc_obj& device, const KindRow& kind, std::string_view hostname) {
    if (kind.pmix == PMIX_DEVTYPE_NETWORK) {
        const std::string_view address = fact(device, "Address");
        switch (std::count(address.begin(), address.end(), ':')) {
            case 5:
                return "ipv4://" + std::string(address);  // Ethernet
            case 19:
                return "ipv6://" + std::string(address);  // InfiniBand
            default:
                break;
        }
    } else if (kind.pmix == PMIX_DEVTYPE_OPENFABRICS) {
        const std::string_view node = fact(device, "NodeGUID"), image = fact(device, "SysImageGUID");
        if (!node.empty() && !image.empty()) return "fab://" + std::string(node) + "::" + std::string(image);
    }
    return std::string(kind.scheme) + "://" + std::string(hostname) + "::" + device.name;
}

// A GPU shows up under several names; its "cardN" is the one that programs do not compute with.
bool is_second_name(const hwloc_obj& device) noexcept {
    return device.attr->osdev.type == HWLOC_OBJ_OSDEV_GPU && ::strncasecmp(device.name, "card", 4) == 0;
}

bool is_named(const std::vector<std::string_view>& ids, std::string_view name) noexcept {
    return std::any_of(ids.begin(), ids.end(), [&](std::string_view id) {
        return id.size() == name.size() && ::strncasecmp(id.data(), name.data(), id.size()) == 0;
    });
}

// Devices hang below the tree of CPUs: where they do. NULL in a broken topology.
const hwloc_obj* nearest_with_cpus(const hwloc_obj& device) noexcept {
    const hwloc_obj* place = &device;
    while (place != nullptr && (place->cpuset == nullptr || place->depth < 0)) place = place->parent;
    return place;
}

const hwloc_obj* common_ancestor(const hwloc_obj* a, const hwloc_obj* b) noexcept {
    while (a != b && a != nullptr && b != nullptr) {
        if (a->depth >= b->depth) {
            a = a->parent;
        } else {
            b = b->parent;
        }
    }
    return a == b ? a : nullptr;
}

struct Span {
    uint16_t nearest = UINT16_MAX;
    uint16_t farthest = UINT16_MAX;
};

uint16_t bounded(int levels) noexcept {
    return static_cast<uint16_t>(std::clamp(levels, 0, UINT16_MAX - 1));
}

Span measure(const hwloc_obj& device, const std::vector<const hwloc_obj*>& threads, int levels) noexcept {
    Span span;
    const hwloc_obj* place = nearest_with_cpus(device);
    bool any = false;
    for (const hwloc_obj* thread : threads) {
        const hwloc_obj* meet = common_ancestor(thread, place);
        if (meet == nullptr) continue;
        const uint16_t far = bounded(meet->depth == 0 ? thread->depth + levels : levels - meet->depth);
        span.nearest = any ? std::min(span.nearest, far) : far;
        span.farthest = any ? std::max(span.farthest, far) : far;
        any = true;
    }
    return span;
}

// What is below a host bridge meets without the CPUs' part of the machine, except in that bridge itself.
bool meets_on_the_bus(const hwloc_obj& a, const hwloc_obj& b) noexcept {
    for (const hwloc_obj* x = &a; x != nullptr && x->depth < 0; x = x->parent) {
        if (x->type == HWLOC_OBJ_BRIDGE && x->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST) return false;
        for (const hwloc_obj* y = &b; y != nullptr && y->depth < 0; y = y->parent)
            if (x == y) return true;
    }
    return false;
}

Span measure_between(const hwloc_obj& origin, const hwloc_obj& device, int levels) noexcept {
    if (meets_on_the_bus(origin, device)) return {0, 0};
    const hwloc_obj* meet = common_ancestor(nearest_with_cpus(origin), nearest_with_cpus(device));
    if (meet == nullptr) return {};
    const uint16_t far = bounded(meet->depth == 0 ? 2 * levels - 1 : levels - meet->depth);
    return {far, far};
}

struct Found {
    const hwloc_obj* device;
    const KindRow* kind;
    std::string uuid;
};

std::vector<Found> find_devices(const Topology& topology, const DeviceFilter& filter, std::string_view hostname) {
    std::vector<Found> found;
    for (const KindRow& kind : kKinds) {
        if ((filter.kinds & kind.pmix) == 0) continue;
        each_at_depth(topology, HWLOC_TYPE_DEPTH_OS_DEVICE, [&](const hwloc_obj& device) {
            if (device.name == nullptr || device.attr->osdev.type != kind.hwloc || is_second_name(device)) return;
            std::string uuid = uuid_of(device, kind, hostname);
            if (!filter.ids.empty() && !is_named(filter.ids, device.name) && !is_named(filter.ids, uuid)) return;
            found.push_back({&device, &kind, std::move(uuid)});
        });
    }
    return found;
}

char* duplicate(const char* text) {
    char* copy = strdup(text);
    if (copy == nullptr) throw std::bad_alloc();
    return copy;
}

// As Linux writes it.
std::string place_on_bus(const hwloc_obj& pci) {
    const auto& at = pci.attr->pcidev;
    char text[32];
    std::snprintf(text, sizeof text, "%04x:%02x:%02x.%01x", static_cast<unsigned>(at.domain),
                  static_cast<unsigned>(at.bus), static_cast<unsigned>(at.dev), static_cast<unsigned>(at.func));
    return text;
}

bool is_at(const hwloc_obj& pci, std::string_view place) {
    const std::string text = place_on_bus(pci);
    return place.size() == text.size() && ::strncasecmp(text.data(), place.data(), place.size()) == 0;
}

const hwloc_obj* find_origin(const Topology& topology, std::string_view name, std::string_view hostname) {
    const auto named = find_devices(topology, {kAllDeviceKinds, {name}}, hostname);
    if (!named.empty()) return named.front().device;
    const hwloc_obj* at = nullptr;
    each_at_depth(topology, HWLOC_TYPE_DEPTH_PCI_DEVICE, [&](const hwloc_obj& pci) {
        if (at == nullptr && is_at(pci, name)) at = &pci;
    });
    return at;
}

// measure(device): its Span.
template <class F>
common::Result<common::CArray<pmix_device_distance_t>> list_of(const std::vector<Found>& found, F&& measure) {
    auto array = common::CArray<pmix_device_distance_t>::zeroed(found.size());
    if (!array) return array;
    for (size_t i = 0; i < found.size(); ++i) {
        const Span span = measure(*found[i].device);
        pmix_device_distance_t& out = array.value()[i];
        out.uuid = duplicate(found[i].uuid.c_str());
        out.osname = duplicate(found[i].device->name);
        out.type = found[i].kind->pmix;
        out.mindist = span.nearest;
        out.maxdist = span.farthest;
    }
    return array;
}

// --- ways to other nodes ---------------------------------------------------------------------------------------------

const hwloc_obj* pci_device_of(const hwloc_obj& device) noexcept {
    const hwloc_obj* at = device.parent;
    while (at != nullptr && at->type == HWLOC_OBJ_OS_DEVICE) at = at->parent;
    return at != nullptr && at->type == HWLOC_OBJ_PCI_DEVICE ? at : nullptr;
}

// Name, or the number by which PCI knows the vendor.
std::string vendor_of(const hwloc_obj& device, const hwloc_obj* pci) {
    const std::string_view own = fact(device, "Vendor");
    if (!own.empty()) return std::string(own);
    if (pci == nullptr) return "unknown";
    const std::string_view name = fact(*pci, "PCIVendor");
    if (!name.empty()) return std::string(name);
    char number[16];
    std::snprintf(number, sizeof number, "0x%04x", static_cast<unsigned>(pci->attr->pcidev.vendor_id));
    return number;
}

pmix_status_t describe_way(const Found& found, std::string_view hostname, common::InfoList& facts) {
    const hwloc_obj& device = *found.device;
    const bool network = found.kind->pmix == PMIX_DEVTYPE_NETWORK;
    const std::string_view address = fact(device, network ? "Address" : "NodeGUID");
    const auto colons = std::count(address.begin(), address.end(), ':');
    const char* type = !network ? "openfabrics" : colons == 5 ? "ethernet" : colons == 19 ? "infiniband" : "network";
    const hwloc_obj* pci = pci_device_of(device);
    pmix_status_t rc = facts.append_string(PMIX_DEVICE_ID, found.uuid);  // first, by the Standard
    if (rc == PMIX_SUCCESS) rc = facts.append_string(PMIX_HOSTNAME, hostname);
    if (rc == PMIX_SUCCESS) rc = facts.append_string(PMIX_FABRIC_DEVICE_NAME, device.name);
    if (rc == PMIX_SUCCESS) rc = facts.append_string(PMIX_FABRIC_DEVICE_TYPE, type);
    if (rc == PMIX_SUCCESS) rc = facts.append_string(PMIX_FABRIC_DEVICE_VENDOR, vendor_of(device, pci));
    if (rc == PMIX_SUCCESS && !address.empty()) rc = facts.append_string(PMIX_FABRIC_DEVICE_ADDRESS, address);
    if (rc != PMIX_SUCCESS || pci == nullptr) return rc;
    const auto& at = pci->attr->pcidev;
    char place[32], number[16];
    std::snprintf(place, sizeof place, "%04x:%02x:%02x:%02x", static_cast<unsigned>(at.domain),
                  static_cast<unsigned>(at.bus), static_cast<unsigned>(at.dev), static_cast<unsigned>(at.func));
    std::snprintf(number, sizeof number, "0x%04x", static_cast<unsigned>(at.device_id));
    rc = facts.append_string(PMIX_FABRIC_DEVICE_BUS_TYPE, "PCI");
    if (rc == PMIX_SUCCESS) rc = facts.append_string(PMIX_FABRIC_DEVICE_PCI_DEVID, place);
    if (rc == PMIX_SUCCESS) rc = facts.append_string(PMIX_FABRIC_DEVICE_VENDORID, number);
    return rc;
}

// --- GPUs ------------------------------------------------------------------------------------------------------------

struct MakerRow {
    unsigned vendor;
    common::Gpu::Maker maker;
};
constexpr MakerRow kMakers[] = {
    {0x10de, common::Gpu::Maker::nvidia}, {0x1002, common::Gpu::Maker::amd}, {0x8086, common::Gpu::Maker::intel}};

// Display controllers, and accelerators without a display.
bool computes(const hwloc_obj& pci) noexcept {
    const unsigned kind = pci.attr->pcidev.class_id >> 8;
    return kind == 0x03 || kind == 0x12;
}

bool before_on_bus(const hwloc_obj* a, const hwloc_obj* b) noexcept {
    const auto place = [](const hwloc_obj* pci) {
        const auto& at = pci->attr->pcidev;
        return std::tuple(at.domain, at.bus, at.dev, at.func);
    };
    return place(a) < place(b);
}

// Calls visit for each device of the operating system that is a part of this one.
template <class Visit>
void add_names(const Topology& topology, std::string_view hostname, const hwloc_obj& pci,
               std::vector<std::string>& names, const Visit& visit) {
    names.push_back(place_on_bus(pci));
    each_at_depth(topology, HWLOC_TYPE_DEPTH_OS_DEVICE, [&](const hwloc_obj& device) {
        if (device.name == nullptr || pci_device_of(device) != &pci) return;
        names.emplace_back(device.name);
        for (const KindRow& kind : kKinds)
            if (kind.hwloc == device.attr->osdev.type) names.push_back(uuid_of(device, kind, hostname));
        visit(device);
    });
}

// --- network devices
// ---------------------------------------------------------------------------------------------------

struct NicRow {
    unsigned vendor, kind;  // of its PCI device
    common::Nic::Maker maker;
};
constexpr NicRow kNics[] = {{0x15b3, 0x0207, common::Nic::Maker::mellanox},    // InfiniBand
                            {0x15b3, 0x0200, common::Nic::Maker::mellanox},    // Ethernet
                            {0x8086, 0x0208, common::Nic::Maker::omni_path}};  // Intel's other ones are 0x0200

}  // namespace

std::vector<common::Gpu> gpus(const Topology& topology, std::string_view hostname) {
    std::vector<common::Gpu> out;
    for (const MakerRow& row : kMakers) {
        std::vector<const hwloc_obj*> devices;
        each_at_depth(topology, HWLOC_TYPE_DEPTH_PCI_DEVICE, [&](const hwloc_obj& pci) {
            if (pci.attr->pcidev.vendor_id == row.vendor && computes(pci)) devices.push_back(&pci);
        });
        std::sort(devices.begin(), devices.end(), before_on_bus);
        unsigned place = 0;
        for (const hwloc_obj* pci : devices) {
            common::Gpu gpu{row.maker, place++, {}, {}};
            add_names(topology, hostname, *pci, gpu.names, [&](const hwloc_obj& device) {
                if (gpu.id.empty()) gpu.id = fact(device, "NVIDIAUUID");
            });
            out.push_back(std::move(gpu));
        }
    }
    return out;
}

std::vector<common::Nic> nics(const Topology& topology, std::string_view hostname) {
    std::vector<common::Nic> out;
    each_at_depth(topology, HWLOC_TYPE_DEPTH_PCI_DEVICE, [&](const hwloc_obj& pci) {
        for (const NicRow& row : kNics) {
            if (pci.attr->pcidev.vendor_id != row.vendor || pci.attr->pcidev.class_id != row.kind) continue;
            common::Nic nic{row.maker, {}, {}};
            add_names(topology, hostname, pci, nic.names, [&](const hwloc_obj& device) {
                if (device.attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS) nic.device = device.name;
            });
            if (!nic.device.empty()) out.push_back(std::move(nic));
        }
    });
    return out;
}

std::vector<PlaceList> places_of(const Topology& topology, hwloc_const_bitmap_t cpus) {
    std::vector<PlaceList> places;
    const int depth = topology.hwloc->topology_get_depth(topology.tree());
    for (int d = 1; d < depth; ++d) {
        const auto kind = place_of(topology.hwloc->get_depth_type(topology.tree(), d));
        if (kind) places.push_back({*kind, touched(topology, d, cpus)});
    }
    places.push_back({Place::numa, touched(topology, HWLOC_TYPE_DEPTH_NUMANODE, cpus)});
    return places;
}

common::Result<common::CArray<pmix_device_distance_t>> distances(const Topology& topology, hwloc_const_bitmap_t cpus,
                                                                 const DeviceFilter& filter,
                                                                 std::string_view hostname) {
    const auto found = find_devices(topology, filter, hostname);
    if (found.empty()) return PMIX_ERR_NOT_FOUND;

    std::vector<const hwloc_obj*> threads;
    each_at_depth(topology, topology.hwloc->get_type_depth(topology.tree(), HWLOC_OBJ_PU),
                  [&](const hwloc_obj& thread) {
                      if (topology.hwloc->bitmap_intersects(thread.cpuset, cpus)) threads.push_back(&thread);
                  });
    const int levels = topology.hwloc->topology_get_depth(topology.tree());

    return list_of(found, [&](const hwloc_obj& device) { return measure(device, threads, levels); });
}

common::Result<common::CArray<pmix_device_distance_t>> distances_from(const Topology& topology, std::string_view origin,
                                                                      const DeviceFilter& filter,
                                                                      std::string_view hostname) {
    const hwloc_obj* from = find_origin(topology, origin, hostname);
    const auto found = find_devices(topology, filter, hostname);
    if (from == nullptr || found.empty()) return PMIX_ERR_NOT_FOUND;
    const int levels = topology.hwloc->topology_get_depth(topology.tree());
    return list_of(found, [&](const hwloc_obj& device) { return measure_between(*from, device, levels); });
}

common::Result<common::InfoList> fabric_devices(const Topology& topology, std::string_view hostname) {
    common::InfoList devices;
    const DeviceFilter ways{PMIX_DEVTYPE_NETWORK | PMIX_DEVTYPE_OPENFABRICS, {}};
    for (const Found& found : find_devices(topology, ways, hostname)) {
        common::InfoList facts;
        pmix_status_t rc = describe_way(found, hostname, facts);
        if (rc != PMIX_SUCCESS) return rc;
        auto array = common::array_value(std::move(facts));
        rc = array ? devices.append(PMIX_FABRIC_DEVICE, std::move(array).value()) : array.status();
        if (rc != PMIX_SUCCESS) return rc;
    }
    return devices;
}

}  // namespace pmix::api
