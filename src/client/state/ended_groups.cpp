// SPDX-License-Identifier: BSD-3-Clause
#include "client/state/ended_groups.h"

#include <cassert>

namespace pmix::client {

using common::InfoView;
using common::ProcId;
using common::Result;
using common::Value;

void EndedGroups::add(size_t context_id, const common::InfoList& results) {
    Ended group{context_id, 0, {}};
    bool good = true;
    each_shared(results, [&](const ProcId& proc, InfoView infos) {
        for (const pmix_info_t& info : infos) {
            if (common::key_view(info) == PMIX_PROCID) continue;
            auto value = Value::copy_of(info.value);
            size_t size = 0;
            good = good && value && common::value_size(info.value, &size) == PMIX_SUCCESS;
            if (!good) return;
            group.bytes += sizeof(Shared) + proc.nspace.size() + size;
            group.shared.push_back({proc, std::string(common::key_view(info)), std::move(value).value()});
        }
    });
    if (!good || group.shared.empty() || group.bytes > kMaxEndedGroupBytes) return;
    bytes_ += group.bytes;
    groups_.push_back(std::move(group));
    while (bytes_ > kMaxEndedGroupBytes) {
        assert(!groups_.empty() && bytes_ >= groups_.front().bytes);
        bytes_ -= groups_.front().bytes;
        groups_.pop_front();
    }
}

std::optional<Result<Value>> EndedGroups::find(size_t context_id, const ProcId& proc, std::string_view key) const {
    for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
        if (group->context_id != context_id) continue;
        for (const Shared& shared : group->shared) {
            if (shared.key == key && shared.proc == proc) return Value::copy_of(shared.value.get());
        }
    }
    return std::nullopt;
}

}  // namespace pmix::client
