// SPDX-License-Identifier: BSD-3-Clause
// Random PMIx programs of a job, and what their calls have answered.
//
// A program is a list of steps in one order for the whole job. A rank takes those that concern it, in this order, so
// that collective operations never wait for each other in a circle.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulation/scheduler.h"

namespace pmix::simulation {

enum class Kind : uint8_t {
    put,
    commit,
    get,
    fence,
    publish,
    lookup,
    unpublish,
    connect,
    disconnect,
    construct,
    destruct,
    listen,
    notify,
    again,
    wait,
    fetch,
    peers,
    deaf
};
constexpr Kind kLastKind = Kind::deaf;
const char* name_of(Kind kind);

struct Step {
    Kind kind = Kind::commit;
    int unit = 0;            // steps that make no sense without each other have one number
    std::vector<int> ranks;  // that take it; a collective step: its members
    int target = 0;          // get
    int key = 0;         // put, get, publish, lookup; construct: the group's number; listen, notify, deaf: the code's;
                         // fetch: which datum of the job; peers: the node
    int scope = 0;       // put, as PMIX_LOCAL ...; notify: the range
    uint32_t value = 0;  // put, publish: decides the type and the size, too; notify: the event's number
    bool collects = false;  // fence: with the data
    bool assigns = false;   // construct: with a number of the host's
    bool by_one = false;    // fence, construct: one member alone gives the directive
    bool immediate = false, optional = false, refresh = false;  // get
    bool pointer = false, fixed = false, later = false;         // get: where the value lies; PMIx_Get_nb
    bool by_name = false;                                       // fence: over a group's name; all ranks by the wildcard
    int milliseconds = 0;                                       // of a limit, or of a wait; 0: none
};

using Program = std::vector<Step>;

// What a fetch reads: the job's size; a rank's place on its node, host and node number; the ranks of the own node; a
// value of a rank that is none.
enum : int { kJobSize, kLocalRank, kHostname, kNodeNumber, kLocalPeers, kOfNobody, kJobData };

struct Size {
    int nodes = 2, ranks_per_node = 2, steps = 24;
    int ranks() const { return nodes * ranks_per_node; }
};

// What a resource manager does not offer.
enum class Lacks : uint8_t { nothing = 0, fence = 1, modex = 2, publish = 4, connect = 8, group = 16, notify = 32 };
constexpr uint32_t kLacks = 6;

// How it answers.
struct HostWays {
    uint32_t fails_in = 0;  // one of so many operations fails; 0: none
    uint32_t late_in = 0;   // one of so many with a time limit is answered after it
    Lacks lacks = Lacks::nothing;
    bool has(Lacks what) const { return lacks != what; }
};

// Each get without a limit is of a process that has put and committed before in the program.
bool has_sound_gets(const Program& program, const Size& size);
Program random_program(Dice& dice, const Size& size);
// One line, without its end: kind, ranks, and what else there is (scenario.cpp reads it).
std::string text_of(const Step& step);

// A handler of a rank was called.
struct Delivery {
    int rank = 0;
    uint32_t event = 0;
    uint64_t position = 0;
};

// A call of one rank.
struct Call {
    int step = 0, rank = 0;
    uint64_t begun = 0, ended = 0;  // positions in the order of all beginnings and ends; 0: not
    int status = 0;
    uint32_t value = 0;  // of a get, a lookup or a fetch; construct: the number of the host's
    Nanoseconds from = 0, until = 0;
};

}  // namespace pmix::simulation
