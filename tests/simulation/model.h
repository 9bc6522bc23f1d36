// SPDX-License-Identifier: BSD-3-Clause
// What the calls of a program may answer: the meaning of put, commit, fence, get, publish and lookup, and of operations
// of several processes, as rules over a history. Nothing of the library is used here.
#pragma once

#include <pmix_common.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simulation/program.h"

namespace pmix::simulation {

// What the members of an operation, together, ask of the resource manager.
struct Directives {
    int milliseconds = 0;
    bool collects = false, assigns = false;
};

// What a resource manager has answered to all nodes of an operation.
struct Answered {
    int status = 0;
    Directives asked;
    uint32_t number = 0;
    bool late = false;
};
// A server's request for data of another node.
struct Modex {
    int node = 0, rank = 0, key = 0;
    uint64_t position = 0;
};
constexpr int kHostFailure = PMIX_ERR_REPEAT_ATTR_REGISTRATION;  // which nothing else of a simulation answers
// The name of an operation for both sides: kind, group and members.
std::string operation_name(const std::string& kind, const std::vector<int>& members);

struct History {
    Size size;
    HostWays host;
    std::map<std::string, std::vector<Answered>> answered;
    std::set<std::pair<int, int>> failed_modex;
    std::vector<Modex> modexes;
    Program program;
    std::vector<Call> calls;  // in the order in which they began
    std::vector<Delivery> deliveries;
    std::vector<Nanoseconds> left;  // by rank: when it has begun to finalize for the last time; 0: not
    std::vector<uint64_t> died;     // by rank: the position at which it was killed; 0: not
    uint64_t positions = 0;         // of all beginnings and ends
    bool has_faults = false;
    bool short_of_memory = false;  // statuses are not judged
};

// What is wrong with a history: one sentence each.
std::vector<std::string> violations(const History& history);

}  // namespace pmix::simulation
