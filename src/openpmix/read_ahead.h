// SPDX-License-Identifier: BSD-3-Clause
// Which processes are going to be asked about next: a process that connects to all others gets the data of one after
// the other, and in OpenPMIx's protocol each first Get is a round trip. Where Gets follow the ranks, what the next
// ranks have put is asked for, or sent, with them: twice as many each time, as a file system reads a file ahead.
//
// A value, without locks.
#pragma once

#include <cstdint>

#include "common/base/ids.h"

namespace pmix::openpmix {

class ReadAhead {
  public:
    static constexpr uint32_t kFirst = 4;
    static constexpr uint32_t kMost = 32;

    struct Range {
        common::Rank first = 0;
        uint32_t count = 0;
    };

    // A client asks for each rank by a request of its own: from the first Get of such a loop on, and for a few at
    // first. A server sends the data in the answer that it gives anyway, from the second on and for as many as there
    // may be.
    enum class By { client, server };

    ReadAhead(common::Rank self, uint32_t size, By by) noexcept : self_(self), size_(size), by_(by) {}

    // The data of this rank is not here and is going to be asked for. The ranks to ask about with it: below the size,
    // never that rank, perhaps the own one.
    Range missed(common::Rank rank) noexcept;

  private:
    common::Rank after(common::Rank rank) const noexcept;

    common::Rank self_;
    uint32_t size_;
    By by_;
    bool any_ = false;
    common::Rank expected_ = 0;
    uint32_t window_ = 0;
};

}  // namespace pmix::openpmix
