// SPDX-License-Identifier: BSD-3-Clause
// Processes of one namespace in a message, as ranges of ranks: a fence of 100,000 listed processes is a few bytes, or,
// where every second one is listed, a bit for each rank.
//
// Pure values, any thread; field lists as in messages.h, which includes this. What a list of them means, and how it is
// made of a list of processes, is in common/protocol/proc_set.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/field_list.h"
#include "common/base/ids.h"

namespace pmix::common {

struct RankRanges {
    std::string nspace;
    std::vector<Rank> ranks;  // first and last of each range, both in it; a wildcard is a range of its own
    // Further ranks, to a server that takes them: bit i % 8 of byte i / 8 is the rank first_of_bits + i. The first one
    // is a multiple of 64.
    Rank first_of_bits = 0;
    std::vector<uint8_t> bits{};
    WIREUP_FIELDS(RankRanges, nspace, ranks, first_of_bits, bits)
};
using RangeList = std::vector<RankRanges>;

}  // namespace pmix::common
