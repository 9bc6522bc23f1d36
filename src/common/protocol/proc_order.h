// SPDX-License-Identifier: BSD-3-Clause
// Processes in an order, as ranges of ranks: the members of a group, where a process's place is its rank in the group.
//
// Pure values, any thread. A job of any size that is listed by its ranks takes a few bytes; a wildcard is one process.
//
// What can go wrong, in read(): a namespace or range that is none, ranks as bits, which have no order, more processes
// than a list may have, or a list and ranges at once (PMIX_ERR_BAD_PARAM).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/protocol/messages.h"
#include "common/protocol/proc_set.h"

namespace pmix::common {

class ProcOrder {
  public:
    ProcOrder() = default;
    explicit ProcOrder(const ProcList& procs);
    // From hostile bytes: what a message names by list, or by ranges in their order.
    static Result<ProcOrder> read(const ProcList& procs, const RangeList& ranges);

    bool empty() const noexcept { return ranges_.empty(); }
    uint64_t size() const noexcept;
    // The namespaces, each once.
    const std::vector<std::string>& nspaces() const noexcept { return nspaces_; }
    ProcList list() const;
    ProcSet set() const;

  private:
    struct Range {
        uint32_t nspace = 0;  // its place among nspaces_
        Rank first = 0, last = 0;
    };
    std::vector<std::string> nspaces_;
    std::vector<Range> ranges_;
};

}  // namespace pmix::common
