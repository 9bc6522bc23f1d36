// SPDX-License-Identifier: BSD-3-Clause
// What the calls of a program may answer: the meaning of put, commit, fence, get, publish and lookup, and of operations
// of several processes, as rules over a history. Nothing of the library is used here.
#pragma once

#include <string>
#include <vector>

#include "simulation/program.h"

namespace pmix::simulation {

struct History {
    Size size;
    Program program;
    std::vector<Call> calls;  // in the order in which they began
    std::vector<Delivery> deliveries;
    std::vector<uint64_t> died;  // by rank: the position at which it was killed; 0: not
    uint64_t positions = 0;      // of all beginnings and ends
    bool has_faults = false;
};

// What is wrong with a history: one sentence each.
std::vector<std::string> violations(const History& history);

}  // namespace pmix::simulation
