// SPDX-License-Identifier: BSD-3-Clause
#include "common/protocol/proc_set.h"

#include <cstring>
#include <limits>
#include <type_traits>

namespace pmix::common {
namespace {

// One more process behind the others: most lists name the ranks of a job in order.
template <class Ranges>
void append(Ranges& ranges, Rank rank) {
    if (!ranges.empty() && is_real_rank(rank) && rank != 0 && ranges.back().last == rank - 1) {
        ranges.back().last = rank;
    } else {
        ranges.push_back({rank, rank});
    }
}

std::vector<ProcSet::Part> parts_of(const ProcList& procs) {
    std::vector<ProcSet::Part> parts;
    for (const ProcId& p : procs) {
        if (parts.empty() || parts.back().nspace != p.nspace) parts.push_back({p.nspace, {}});
        append(parts.back().ranges, p.rank);
    }
    return parts;
}

// Do they overlap or touch? Nothing touches a wildcard.
bool meets(const ProcSet::Range& before, const ProcSet::Range& r) noexcept {
    return r.first <= before.last || (is_real_rank(r.first) && r.first - before.last == 1);
}

// Do they ascend, with a rank between each and the next? Without branches: a list may have some 100,000.
bool are_in_order(const std::vector<ProcSet::Range>& ranges) noexcept {
    bool good = true;
    for (size_t i = 1; i < ranges.size(); ++i) {
        const int64_t gap = int64_t{ranges[i].first} - ranges[i - 1].last;
        good &= gap > (is_real_rank(ranges[i].first) ? 1 : 0);
    }
    return good;
}

void put_in_order(std::vector<ProcSet::Range>& ranges) {
    using Range = ProcSet::Range;
    if (are_in_order(ranges)) return;
    if (!std::is_sorted(ranges.begin(), ranges.end())) std::sort(ranges.begin(), ranges.end());
    size_t n = 0;
    for (const Range& r : ranges) {
        if (n != 0 && meets(ranges[n - 1], r)) {
            ranges[n - 1].last = std::max(ranges[n - 1].last, r.last);
        } else {
            ranges[n++] = r;
        }
    }
    ranges.resize(n);
}

}  // namespace

uint64_t ProcSet::Part::size() const noexcept {
    uint64_t n = ranges.size();
    for (const Range& r : ranges) n += r.last - r.first;
    return n;
}

namespace {

// Their bytes: quicker than one after the other, and any order will do.
int compare(const ProcSet::Part& a, const ProcSet::Part& b) noexcept {
    static_assert(std::has_unique_object_representations_v<ProcSet::Range>);
    if (a.ranges.size() != b.ranges.size()) return a.ranges.size() < b.ranges.size() ? -1 : 1;
    if (const int names = a.nspace.compare(b.nspace); names != 0) return names;
    return a.ranges.empty() ? 0 : std::memcmp(a.ranges.data(), b.ranges.data(), a.ranges.size() * sizeof a.ranges[0]);
}

}  // namespace

int ProcSet::compare(const ProcSet& o) const noexcept {
    if (size_ != o.size_) return size_ < o.size_ ? -1 : 1;
    if (parts_.size() != o.parts_.size()) return parts_.size() < o.parts_.size() ? -1 : 1;
    for (size_t i = 0; i < parts_.size(); ++i)
        if (const int order = common::compare(parts_[i], o.parts_[i]); order != 0) return order;
    return 0;
}

ProcSet::ProcSet(const ProcList& procs) : ProcSet(parts_of(procs)) {}

ProcSet::ProcSet(std::vector<Part> parts) : parts_(std::move(parts)) {
    put_in_order();
    count();
}

void ProcSet::put_in_order() {
    const auto by_name = [](const Part& a, const Part& b) { return a.nspace < b.nspace; };
    const auto not_below = [&](const Part& a, const Part& b) { return !by_name(a, b); };
    if (std::adjacent_find(parts_.begin(), parts_.end(), not_below) != parts_.end()) {
        std::stable_sort(parts_.begin(), parts_.end(), by_name);
        size_t n = 0;
        for (size_t i = 0; i < parts_.size(); ++i) {
            if (n != 0 && parts_[n - 1].nspace == parts_[i].nspace) {
                auto& into = parts_[n - 1].ranges;
                into.insert(into.end(), parts_[i].ranges.begin(), parts_[i].ranges.end());
            } else {
                if (n != i) parts_[n] = std::move(parts_[i]);
                ++n;
            }
        }
        parts_.resize(n);
    }
    for (Part& part : parts_) common::put_in_order(part.ranges);
    std::erase_if(parts_, [](const Part& part) { return part.ranges.empty(); });
}

void ProcSet::count() noexcept {
    size_ = 0;
    for (const Part& part : parts_) size_ += part.size();
}

const ProcSet::Part* ProcSet::find(std::string_view nspace) const noexcept {
    const auto at =
        std::partition_point(parts_.begin(), parts_.end(), [&](const Part& p) { return p.nspace < nspace; });
    return at != parts_.end() && at->nspace == nspace ? &*at : nullptr;
}

bool ProcSet::overlaps(const ProcSet& other) const noexcept {
    const ProcSet& fewer = parts_.size() < other.parts_.size() ? *this : other;
    const ProcSet& more = &fewer == this ? other : *this;
    for (const Part& one : fewer.parts_) {
        const Part* two = more.find(one.nspace);
        if (two == nullptr) continue;
        if (one.is_whole() || two->is_whole()) return true;
        for (auto a = one.ranges.begin(), b = two->ranges.begin(); a != one.ranges.end() && b != two->ranges.end();) {
            if (a->first <= b->last && b->first <= a->last) return true;
            ++(a->last < b->last ? a : b);
        }
    }
    return false;
}

void ProcSet::add(const ProcId& proc) {
    parts_.push_back({proc.nspace, {{proc.rank, proc.rank}}});
    put_in_order();
    count();
}

void ProcSet::erase(const ProcId& proc) {
    for (Part& part : parts_) {
        if (part.nspace != proc.nspace) continue;
        const auto at = std::find_if(part.ranges.begin(), part.ranges.end(),
                                     [&](const Range& r) { return r.first <= proc.rank && proc.rank <= r.last; });
        if (at == part.ranges.end()) return;
        const Range was = *at;
        if (was.first == was.last) {
            part.ranges.erase(at);
        } else if (was.first == proc.rank) {
            ++at->first;
        } else {
            at->last = proc.rank - 1;
            if (was.last != proc.rank) part.ranges.insert(at + 1, {proc.rank + 1, was.last});
        }
        --size_;
        break;
    }
    std::erase_if(parts_, [](const Part& part) { return part.ranges.empty(); });
}

void ProcSet::erase(std::string_view nspace) {
    std::erase_if(parts_, [&](const Part& part) { return part.nspace == nspace; });
    count();
}

ProcList ProcSet::list() const {
    ProcList out;
    out.reserve(size_);
    for_each([&](const std::string& nspace, Rank rank) { out.emplace_back(nspace, rank); });
    return out;
}

size_t ProcSet::memory() const noexcept {
    size_t bytes = 0;
    for (const Part& part : parts_)
        bytes += sizeof(Part) + part.nspace.capacity() + part.ranges.capacity() * sizeof(Range);
    return bytes;
}

RangeList ranges_of(const ProcList& procs) {
    RangeList out;
    size_t as_list = 0, as_ranges = 0;
    for (const ProcId& p : procs) {
        if (out.empty() || out.back().nspace != p.nspace) {
            out.push_back({p.nspace, {}});
            as_ranges += 12 + p.nspace.size();
        }
        as_list += 8 + p.nspace.size();
        auto& ranks = out.back().ranks;
        if (!ranks.empty() && is_real_rank(p.rank) && p.rank != 0 && ranks.back() == p.rank - 1) {
            ranks.back() = p.rank;
        } else {
            ranks.insert(ranks.end(), {p.rank, p.rank});
            as_ranges += 8;
        }
        // Namespaces that alternate: no use.
        if (as_ranges > 64 && as_ranges > 2 * as_list) return {};
    }
    if (as_ranges >= as_list) out.clear();
    return out;
}

Result<ProcSet> read_ranges(const ProcList& procs, RangeList&& ranges) {
    uint64_t most = kMaxListLength;
    const auto is_rank = [](Rank rank) { return rank == PMIX_RANK_WILDCARD || is_real_rank(rank); };
    for (const ProcId& p : procs)
        if (p.nspace.empty() || !is_rank(p.rank)) return PMIX_ERR_BAD_PARAM;
    std::vector<ProcSet::Part> parts = parts_of(procs);
    parts.reserve(parts.size() + ranges.size());
    most -= std::min<uint64_t>(most, procs.size());
    for (RankRanges& r : ranges) {
        if (r.nspace.empty() || r.nspace.size() > kMaxNspaceLength || r.nspace.find('\0') != r.nspace.npos ||
            r.ranks.size() % 2 != 0)
            return PMIX_ERR_BAD_PARAM;
        ProcSet::Part& part = parts.emplace_back();
        part.nspace = std::move(r.nspace);
        // Without branches, as above. A wildcard is no real rank, and a range of its own.
        part.ranges.resize(r.ranks.size() / 2);
        const Rank* pair = r.ranks.data();
        bool good = true;
        uint64_t n = part.ranges.size();
        for (ProcSet::Range& range : part.ranges) {
            const Rank first = *pair++, last = *pair++;
            const bool whole = (first == PMIX_RANK_WILDCARD) & (last == PMIX_RANK_WILDCARD);
            good &= (is_real_rank(last) & (first <= last)) | whole;
            n += last - first;
            range = {first, last};
        }
        if (!good || n > most) return PMIX_ERR_BAD_PARAM;
        most -= n;
    }
    return ProcSet(std::move(parts));
}

}  // namespace pmix::common
