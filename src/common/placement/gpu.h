// SPDX-License-Identifier: BSD-3-Clause
// A GPU of a node: how it is called, and where it is among those of its maker. Plain data, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pmix::common {

struct Gpu {
    enum class Maker : uint8_t { nvidia, amd, intel } maker = Maker::nvidia;
    unsigned place = 0;              // among the maker's, in the order of the PCI bus
    std::vector<std::string> names;  // at the operating system, in the libraries, on the bus, and in this library
    std::string id;                  // in the maker's own library; empty: not known
};

}  // namespace pmix::common
