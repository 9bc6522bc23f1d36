// SPDX-License-Identifier: BSD-3-Clause
// A network device of a node by which processes reach others past the kernel: how it is called. Plain data, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pmix::common {

struct Nic {
    enum class Maker : uint8_t { mellanox, omni_path } maker = Maker::mellanox;
    std::string device;              // its verbs device, as libraries of fabrics name it: mlx5_0
    std::vector<std::string> names;  // all: at the operating system, on the bus, and in this library
};

}  // namespace pmix::common
