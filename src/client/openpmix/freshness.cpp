// SPDX-License-Identifier: BSD-3-Clause
#include "client/openpmix/freshness.h"

namespace pmix::client {

using common::MutexLock;

void Freshness::note_fetched(const common::ProcId& proc, uint64_t exchanges) {
    MutexLock lock(mutex_);
    auto known = fetched_.find(proc.nspace);
    if (known == fetched_.end()) known = fetched_.try_emplace(proc.nspace).first;
    uint64_t& newest = known->second.try_emplace(proc.rank, exchanges).first->second;
    if (newest < exchanges) newest = exchanges;
}

void Freshness::forget(std::string_view nspace) noexcept {
    MutexLock lock(mutex_);
    if (const auto known = fetched_.find(nspace); known != fetched_.end()) fetched_.erase(known);
}

std::optional<uint64_t> Freshness::fetched_at(std::string_view nspace, common::Rank rank) const noexcept {
    MutexLock lock(mutex_);
    const auto known = fetched_.find(nspace);
    if (known == fetched_.end()) return std::nullopt;
    const auto fetched = known->second.find(rank);
    return fetched == known->second.end() ? std::nullopt : std::optional(fetched->second);
}

bool Freshness::may_be_old(std::string_view nspace, common::Rank rank) const noexcept {
    const uint64_t now = exchanges();
    return now != 0 && fetched_at(nspace, rank).value_or(now) < now;
}

bool Freshness::is_new(std::string_view nspace, common::Rank rank) const noexcept {
    const uint64_t now = exchanges();
    const auto fetched = fetched_at(nspace, rank);
    return fetched && *fetched >= now;
}

}  // namespace pmix::client
