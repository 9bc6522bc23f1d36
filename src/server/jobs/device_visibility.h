// SPDX-License-Identifier: BSD-3-Clause
// From the GPUs and network devices that a host assigns to a rank (PMIX_DEVICE_ID) to the variables by which the
// makers' libraries show a process those and no others.
//
// Plain functions over what they are given. Network devices have the names that the topology has for them, and where it
// shows none of that name, nothing is set: a wrong one would silently mean another device. GPUs: indices are those of
// the node in the order of the PCI bus, and the maker's library is told to count so; a device that the maker's library
// can find by its own id has that instead. A user's variable stays: where one of a maker's is set, nothing of that
// maker is changed, because indices behind another selection would mean other devices. What can go wrong: a GPU that
// nobody knows is logged and left out; a rank of which none is known is shown all.
#pragma once

#include <pmix_common.h>

#include <functional>
#include <vector>

#include "common/base/ids.h"
#include "common/placement/gpu.h"
#include "common/placement/nic.h"
#include "server/jobs/launch_env.h"

namespace pmix::server {

// Those of this node, as its topology has them. Loop thread; called when the first rank is assigned a device.
using GpuList = std::function<std::vector<common::Gpu>()>;
using NicList = std::function<std::vector<common::Nic>()>;

// devices: the value of PMIX_DEVICE_ID: an array of devices, or names (in an array, or with commas between them).
// Others are passed over. Names of devices on other nodes are not there for this one.
LaunchEnv::Edits device_visibility(const common::ProcId& proc, const pmix_value_t& devices, const GpuList& gpus,
                                   const NicList& nics);

}  // namespace pmix::server
