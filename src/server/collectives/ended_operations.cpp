// SPDX-License-Identifier: BSD-3-Clause
#include "server/collectives/ended_operations.h"

#include <algorithm>
#include <cassert>
#include <map>

namespace pmix::server {

void EndedOperations::keep(Ended&& ended) {
    if (ended_.size() >= kMost) forget_one();
    assert(ended_.size() < kMost && !ended.missing.empty());
    ended_.push_back(std::move(ended));
}

std::optional<pmix_status_t> EndedOperations::take(common::GroupCall call, std::string_view name,
                                                   const Signature* signature, MemberId member) noexcept {
    for (auto it = ended_.begin(); it != ended_.end(); ++it) {
        if (it->call != call || it->name != name || (signature != nullptr && it->signature != *signature)) continue;
        const auto at = std::find(it->missing.begin(), it->missing.end(), member);
        if (at == it->missing.end()) continue;
        it->missing.erase(at);
        const pmix_status_t status = it->status;
        if (it->missing.empty()) ended_.erase(it);
        return status;
    }
    return std::nullopt;
}

void EndedOperations::drop_those_of(std::string_view nspace) {
    std::erase_if(ended_, [&](const Ended& e) { return e.signature.names(nspace); });
}

void EndedOperations::forget_one() {
    std::map<const UserAccount*, size_t> of_user;
    for (const Ended& e : ended_) ++of_user[e.user];
    const auto most = std::max_element(of_user.begin(), of_user.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    ended_.erase(std::find_if(ended_.begin(), ended_.end(), [&](const Ended& e) { return e.user == most->first; }));
}

}  // namespace pmix::server
