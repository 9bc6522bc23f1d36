// SPDX-License-Identifier: BSD-3-Clause
#include "common/protocol/proc_order.h"

#include <map>
#include <string_view>

namespace pmix::common {
namespace {

// The places of namespaces in the order in which they were first named. The names belong to the caller.
class Places {
  public:
    explicit Places(std::vector<std::string>& nspaces) noexcept : nspaces_(nspaces) {}
    uint32_t of(std::string_view nspace) {
        // Most lists have one namespace.
        if (last_ != places_.end() && last_->first == nspace) return last_->second;
        const auto [at, fresh] = places_.try_emplace(nspace, static_cast<uint32_t>(nspaces_.size()));
        if (fresh) nspaces_.emplace_back(nspace);
        last_ = at;
        return at->second;
    }

  private:
    std::vector<std::string>& nspaces_;
    std::map<std::string_view, uint32_t> places_;
    std::map<std::string_view, uint32_t>::iterator last_ = places_.end();
};

}  // namespace

ProcOrder::ProcOrder(const ProcList& procs) {
    Places places(nspaces_);
    for (const ProcId& p : procs) {
        const uint32_t nspace = places.of(p.nspace);
        Range* const before = ranges_.empty() ? nullptr : &ranges_.back();
        if (before != nullptr && before->nspace == nspace && is_real_rank(p.rank) && p.rank != 0 &&
            before->last == p.rank - 1) {
            before->last = p.rank;
        } else {
            ranges_.push_back({nspace, p.rank, p.rank});
        }
    }
}

Result<ProcOrder> ProcOrder::read(const ProcList& procs, const RangeList& ranges) {
    for (const ProcId& p : procs)
        if (!is_nspace(p.nspace) || !is_named_rank(p.rank)) return PMIX_ERR_BAD_PARAM;
    if (ranges.empty()) return ProcOrder(procs);
    if (!procs.empty()) return PMIX_ERR_BAD_PARAM;
    ProcOrder out;
    Places places(out.nspaces_);
    uint64_t most = kMaxListLength;
    for (const RankRanges& r : ranges) {
        if (!is_nspace(r.nspace) || r.ranks.empty() || r.ranks.size() % 2 != 0 || !r.bits.empty())
            return PMIX_ERR_BAD_PARAM;
        const uint32_t nspace = places.of(r.nspace);
        for (size_t i = 0; i < r.ranks.size(); i += 2) {
            const Range range{nspace, r.ranks[i], r.ranks[i + 1]};
            const bool whole = range.first == PMIX_RANK_WILDCARD && range.last == PMIX_RANK_WILDCARD;
            if (!whole && (!is_real_rank(range.last) || range.first > range.last)) return PMIX_ERR_BAD_PARAM;
            const uint64_t n = uint64_t{range.last} - range.first + 1;
            if (n > most) return PMIX_ERR_BAD_PARAM;
            most -= n;
            out.ranges_.push_back(range);
        }
    }
    return out;
}

uint64_t ProcOrder::size() const noexcept {
    uint64_t n = 0;
    for (const Range& range : ranges_) n += uint64_t{range.last} - range.first + 1;
    return n;
}

ProcList ProcOrder::list() const {
    ProcList out;
    out.reserve(size());
    for (const Range& range : ranges_) {
        const std::string& nspace = nspaces_[range.nspace];
        Rank rank = range.first;
        out.emplace_back(nspace, rank);
        while (rank != range.last) out.emplace_back(nspace, ++rank);
    }
    return out;
}

ProcSet ProcOrder::set() const {
    std::vector<std::vector<RankSet::Range>> of(nspaces_.size());
    for (const Range& range : ranges_) of[range.nspace].push_back({range.first, range.last});
    std::vector<ProcSet::Part> parts;
    parts.reserve(nspaces_.size());
    for (size_t i = 0; i < nspaces_.size(); ++i) parts.push_back({nspaces_[i], RankSet(std::move(of[i]))});
    return ProcSet(std::move(parts));
}

}  // namespace pmix::common
