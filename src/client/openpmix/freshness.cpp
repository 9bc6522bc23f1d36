// SPDX-License-Identifier: BSD-3-Clause
#include "client/openpmix/freshness.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace pmix::client {

using common::MutexLock;
using common::Rank;

std::atomic<uint64_t>& Freshness::slot(Rank rank) {
    const Table* table = table_.load(std::memory_order_relaxed);
    if (table == nullptr || rank >= table->capacity) {
        auto larger = std::make_unique<Table>(std::max(kLeastInTable, std::bit_ceil(rank + 1)));
        for (uint32_t i = 0; table != nullptr && i < table->capacity; ++i)
            larger->at[i].store(table->at[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
        tables_.push_back(std::move(larger));
        table = tables_.back().get();
        table_.store(table, std::memory_order_release);
    }
    return table->at[rank];
}

void Freshness::note_fetched(const common::ProcId& proc, uint64_t exchanges) {
    if (is_in_table(proc.nspace, proc.rank)) {
        std::atomic<uint64_t>& at = slot(proc.rank);
        if (at.load(std::memory_order_relaxed) < exchanges + 1) at.store(exchanges + 1, std::memory_order_release);
        return;
    }
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

std::optional<uint64_t> Freshness::fetched_at(std::string_view nspace, Rank rank) const noexcept {
    if (is_in_table(nspace, rank)) {
        const Table* table = table_.load(std::memory_order_acquire);
        const uint64_t at =
            table != nullptr && rank < table->capacity ? table->at[rank].load(std::memory_order_acquire) : 0;
        return at == 0 ? std::nullopt : std::optional(at - 1);
    }
    MutexLock lock(mutex_);
    const auto known = fetched_.find(nspace);
    if (known == fetched_.end()) return std::nullopt;
    const auto fetched = known->second.find(rank);
    return fetched == known->second.end() ? std::nullopt : std::optional(fetched->second);
}

bool Freshness::may_be_old(std::string_view nspace, Rank rank) const noexcept {
    const uint64_t now = exchanges();
    return now != 0 && fetched_at(nspace, rank).value_or(now) < now;
}

bool Freshness::is_new(std::string_view nspace, Rank rank) const noexcept {
    const uint64_t now = exchanges();
    const auto fetched = fetched_at(nspace, rank);
    return fetched && *fetched >= now;
}

}  // namespace pmix::client
