// SPDX-License-Identifier: BSD-3-Clause
// What members of groups that are no more had shared with them (PMIX_GROUP_INFO).
//
// Owns copies of those values, by the group's context id, which no later group of the job gets again: who forms a group
// only for its number and its members' values (MPI_Comm_create_from_group does) takes it apart at once and asks long
// after. Together they take no more than kMaxEndedGroupBytes; the oldest group goes first. Its caller's lock guards it.
//
// What can go wrong: no memory for a copy, and then that group is forgotten.
#pragma once

#include <pmix.h>

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/values/info_view.h"
#include "common/values/value.h"

namespace pmix::client {

// 64 bytes and a bit for a number: some 30,000 groups of two, or the last 60 of 1,000.
inline constexpr size_t kMaxEndedGroupBytes = 4u << 20;

class EndedGroups {
  public:
    bool empty() const noexcept { return groups_.empty(); }
    // `results` as the construct gave them.
    void add(size_t context_id, const common::InfoList& results);
    std::optional<common::Result<common::Value>> find(size_t context_id, const common::ProcId& proc,
                                                      std::string_view key) const;

  private:
    struct Shared {
        common::ProcId proc;
        std::string key;
        common::Value value;
    };
    struct Ended {
        size_t context_id;
        size_t bytes;
        std::vector<Shared> shared;
    };

    std::deque<Ended> groups_;  // oldest first
    size_t bytes_ = 0;
};

// The infos that each member shared, in the results of its group: calls take(ProcId, InfoView) for each member.
template <class Take>
void each_shared(const common::InfoList& results, Take take) {
    const pmix_info_t* all = results.find(PMIX_GROUP_INFO_ARRAY);
    if (all == nullptr || all->value.type != PMIX_DATA_ARRAY || all->value.data.darray == nullptr) return;
    const pmix_data_array_t& members = *all->value.data.darray;
    if (members.type != PMIX_INFO) return;
    for (const pmix_info_t& member : common::InfoView(static_cast<const pmix_info_t*>(members.array), members.size)) {
        if (member.value.type != PMIX_DATA_ARRAY || member.value.data.darray == nullptr) continue;
        const pmix_data_array_t& one = *member.value.data.darray;
        const pmix_proc_t* who = nullptr;
        if (one.type != PMIX_INFO) continue;
        common::InfoView infos(static_cast<const pmix_info_t*>(one.array), one.size);
        if (infos.get(PMIX_PROCID, &who) == PMIX_SUCCESS && who != nullptr) take(common::ProcId(*who), infos);
    }
}

}  // namespace pmix::client
