// SPDX-License-Identifier: BSD-3-Clause
// All that a run depends on, as a text of one line for each step, so that what has failed once can be kept.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulation/program.h"

namespace pmix::simulation {

struct Fault {
    int rank = 0;
    uint64_t at = 0;        // a step of the schedule
    Nanoseconds stops = 0;  // stopped for so long; 0: killed
};

// Allocations of one process that fail.
struct Shortage {
    int process = 0;     // a rank, or -1 less the number of a node
    uint64_t at = 0;     // a step of the schedule
    uint64_t after = 0;  // so many that succeed
    uint64_t fails = 0;  // 0: none
};

struct Scenario {
    uint64_t seed = 0;  // of the schedule
    Size size;
    uint32_t rare_in = 50, torn_in = 20;  // of the network
    HostWays host;
    Program program;
    std::vector<Fault> faults;
    Shortage shortage;
};

Scenario random_scenario(uint64_t seed);
std::string text_of(const Scenario& scenario);
// Nothing: a line that is none, which is printed.
std::optional<Scenario> read_scenario(const std::string& text);

}  // namespace pmix::simulation
