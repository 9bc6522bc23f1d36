// SPDX-License-Identifier: BSD-3-Clause
// Processes of one namespace in a message, as ranges of ranks: a fence of 100,000 listed processes is a few bytes.
//
// Pure values, any thread; field lists as in messages.h, which includes this. What a list of them means, and how it is
// made of a list of processes, is in common/protocol/proc_set.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/ids.h"

namespace pmix::common {

#define WIREUP_FIELD(member) v(#member, &Self::member);

struct RankRanges {
    std::string nspace;
    std::vector<Rank> ranks;  // first and last of each range, both in it; a wildcard is a range of its own
    using Self = RankRanges;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(nspace) WIREUP_FIELD(ranks)
    }
};
using RangeList = std::vector<RankRanges>;

#undef WIREUP_FIELD

}  // namespace pmix::common
