// SPDX-License-Identifier: BSD-3-Clause
// Allocations of a copy of the library that fail. Those of the simulation, of libevent and of the C++ library's own
// functions never do.
#pragma once

#include <cstdint>

#include "simulation/scheduler.h"

namespace pmix::simulation {

// The code of a copy, which its addresses distinguish from other code. Before the simulation begins.
void add_code(uint64_t begin, uint64_t end);
// Of this process's next allocations so many succeed, and then so many fail.
void run_short(const Process& process, uint64_t succeed, uint64_t fail);
uint64_t refused_allocations();

}  // namespace pmix::simulation
