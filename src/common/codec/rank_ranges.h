// SPDX-License-Identifier: BSD-3-Clause
// Processes of one namespace in a message, as ranges of ranks: a fence of 100,000 listed processes is a few bytes.
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
    WIREUP_FIELDS(RankRanges, nspace, ranks)
};
using RangeList = std::vector<RankRanges>;

}  // namespace pmix::common
