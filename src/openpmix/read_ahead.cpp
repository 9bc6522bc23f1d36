// SPDX-License-Identifier: BSD-3-Clause
#include "openpmix/read_ahead.h"

#include <algorithm>

namespace pmix::openpmix {

using common::Rank;

// Nobody asks a server about itself.
Rank ReadAhead::after(Rank rank) const noexcept {
    Rank next = rank + 1 < size_ ? rank + 1 : 0;
    if (next == self_) next = next + 1 < size_ ? next + 1 : 0;
    return next;
}

ReadAhead::Range ReadAhead::missed(Rank rank) noexcept {
    if (rank >= size_) return {};
    // Such loops begin at the first rank or behind the own one.
    const bool begins = by_ == By::client && !any_ && (rank == after(size_ - 1) || rank == after(self_));
    const bool follows = begins || (any_ && rank == expected_);
    any_ = true;
    Range range;
    range.first = after(rank);
    if (follows) {
        window_ = by_ == By::server ? kMost : window_ == 0 ? kFirst : std::min(2 * window_, kMost);
        // Not around the end.
        range.count = range.first > rank ? std::min(window_, size_ - range.first) : 0;
    } else {
        window_ = 0;
    }
    expected_ = range.count == 0 ? range.first : after(range.first + range.count - 1);
    return range;
}

}  // namespace pmix::openpmix
