// SPDX-License-Identifier: BSD-3-Clause
// What the calls ask of a loaded topology: the places of a cpuset, and how far devices are from it.
//
// Owns nothing; pure walks of a read-only hwloc tree. Any thread.
#pragma once

#include <pmix_common.h>

#include <string_view>
#include <vector>

#include "common/placement/gpu.h"
#include "common/placement/nic.h"
#include "common/values/value.h"
#include "topology/node_topology.h"

namespace pmix::api {

// Packages, caches, cores, hardware threads and NUMA nodes that the cpuset touches, for common::locality_text.
std::vector<common::PlaceList> places_of(const Topology& topology, hwloc_const_bitmap_t cpus);

// Which devices: kinds (PMIX_DEVTYPE_*), and if ids is not empty only those with one of these names or uuids.
struct DeviceFilter {
    pmix_device_type_t kinds = 0;
    std::vector<std::string_view> ids;
};
inline constexpr pmix_device_type_t kAllDeviceKinds = PMIX_DEVTYPE_BLOCK | PMIX_DEVTYPE_GPU | PMIX_DEVTYPE_NETWORK |
                                                      PMIX_DEVTYPE_OPENFABRICS | PMIX_DEVTYPE_DMA | PMIX_DEVTYPE_COPROC;

// From one device (its uuid, the operating system's name for it, or its place on the PCI bus, "0000:03:00.0") to each
// other: 0 where they have a PCI device or a switch in common, else as from a CPU that is as near to the first device
// as CPUs are. PMIX_ERR_NOT_FOUND: there is no such device, or none to measure to.
common::Result<common::CArray<pmix_device_distance_t>> distances_from(const Topology& topology, std::string_view origin,
                                                                      const DeviceFilter& filter,
                                                                      std::string_view hostname);

// Nearest and farthest of the CPUs from each device: levels of the tree up to what they have in common; more than any
// such number when that is only the machine; UINT16_MAX when not known. hostname makes uuids that are unique in the
// cluster where the device has no address. PMIX_ERR_NOT_FOUND: there is no such device.
common::Result<common::CArray<pmix_device_distance_t>> distances(const Topology& topology, hwloc_const_bitmap_t cpus,
                                                                 const DeviceFilter& filter, std::string_view hostname);

// The GPUs of the makers whose libraries can be told which of them to show, in the order of the PCI bus.
std::vector<common::Gpu> gpus(const Topology& topology, std::string_view hostname);
// The network devices whose libraries can be told by name which of them to use.
std::vector<common::Nic> nics(const Topology& topology, std::string_view hostname);

// The node's ways to other nodes: one PMIX_FABRIC_DEVICE each, with its id, node, name, type ("ethernet", "infiniband",
// "openfabrics", "network") and vendor ("unknown" where nothing tells), and, where it has them, its address and its
// place on the bus.
common::Result<common::InfoList> fabric_devices(const Topology& topology, std::string_view hostname);

}  // namespace pmix::api
