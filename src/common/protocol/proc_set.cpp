// SPDX-License-Identifier: BSD-3-Clause
#include "common/protocol/proc_set.h"

#include <cassert>
#include <span>

namespace pmix::common {
namespace {

// As ranges.
struct Named {
    std::string_view nspace;
    std::vector<RankSet::Range> ranges;

    // One more process behind the others: most lists name the ranks of a job in order.
    void append(Rank rank) {
        if (!ranges.empty() && is_real_rank(rank) && rank != 0 && ranges.back().last == rank - 1) {
            ranges.back().last = rank;
        } else {
            ranges.push_back({rank, rank});
        }
    }
};

std::string_view name_of(const ProcId& p) noexcept {
    return p.nspace;
}
std::string_view name_of(const pmix_proc_t& p) noexcept {
    return nspace_view(p.nspace);
}

template <class Proc>
std::vector<ProcSet::Part> parts_of(std::span<const Proc> procs) {
    std::vector<Named> named;
    for (const Proc& p : procs) {
        const std::string_view nspace = name_of(p);
        if (named.empty() || named.back().nspace != nspace) named.push_back({nspace, {}});
        named.back().append(p.rank);
    }
    std::vector<ProcSet::Part> parts;
    parts.reserve(named.size());
    for (Named& n : named) parts.push_back({std::string(n.nspace), RankSet(std::move(n.ranges))});
    return parts;
}

int compare(const ProcSet::Part& a, const ProcSet::Part& b) noexcept {
    if (const int names = a.nspace.compare(b.nspace); names != 0) return names;
    return a.ranks.compare(b.ranks);
}

}  // namespace

int ProcSet::compare(const ProcSet& o) const noexcept {
    if (size_ != o.size_) return size_ < o.size_ ? -1 : 1;
    if (parts_.size() != o.parts_.size()) return parts_.size() < o.parts_.size() ? -1 : 1;
    for (size_t i = 0; i < parts_.size(); ++i)
        if (const int order = common::compare(parts_[i], o.parts_[i]); order != 0) return order;
    return 0;
}

ProcSet::ProcSet(const ProcList& procs) : ProcSet(parts_of(std::span<const ProcId>(procs))) {}

ProcSet::ProcSet(const pmix_proc_t* procs, size_t n) : ProcSet(parts_of(std::span<const pmix_proc_t>(procs, n))) {}

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
        for (size_t i = 0; i < parts_.size();) {
            Part part = std::move(parts_[i]);
            size_t behind = i + 1;
            while (behind < parts_.size() && parts_[behind].nspace == part.nspace) ++behind;
            if (behind - i > 1) {
                std::vector<Range> all = part.ranks.ranges();
                while (++i < behind)
                    parts_[i].ranks.for_ranges([&](Rank first, Rank last) {
                        all.push_back({first, last});
                        return true;
                    });
                part.ranks = RankSet(std::move(all));
            }
            parts_[n++] = std::move(part);
            i = behind;
        }
        parts_.resize(n);
    }
    std::erase_if(parts_, [](const Part& part) { return part.ranks.empty(); });
    assert(std::adjacent_find(parts_.begin(), parts_.end(), not_below) == parts_.end());  // find() bisects
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
        if (one.ranks.overlaps(two->ranks)) return true;
    }
    return false;
}

void ProcSet::add(const ProcId& proc) {
    parts_.push_back({proc.nspace, RankSet({{proc.rank, proc.rank}})});
    put_in_order();
    count();
}

void ProcSet::erase(const ProcId& proc) {
    for (Part& part : parts_) {
        if (part.nspace != proc.nspace) continue;
        if (!part.has(proc.rank)) return;
        part.ranks.erase(proc.rank);
        assert(size_ > 0);
        --size_;
        break;
    }
    std::erase_if(parts_, [](const Part& part) { return part.ranks.empty(); });
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
    for (const Part& part : parts_) bytes += sizeof(Part) + part.nspace.capacity() + part.ranks.memory();
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

void use_bits(RangeList& list) {
    for (RankRanges& r : list) {
        if (r.ranks.size() / 2 < RankSet::kFewRanges) continue;
        std::vector<RankSet::Range> ranges(r.ranks.size() / 2);
        for (size_t i = 0; i < ranges.size(); ++i) ranges[i] = {r.ranks[2 * i], r.ranks[2 * i + 1]};
        const RankSet set(std::move(ranges));
        if (!set.has_bits()) continue;
        r.ranks.clear();
        for (const RankSet::Range& beside : set.ranges_beside_bits())
            r.ranks.insert(r.ranks.end(), {beside.first, beside.last});
        r.first_of_bits = set.first_of_bits();
        r.bits = set.bits();
    }
}

bool is_nspace(std::string_view nspace) noexcept {
    return !nspace.empty() && nspace.size() <= kMaxNspaceLength && nspace.find('\0') == nspace.npos;
}

bool is_named_rank(Rank rank) noexcept {
    return rank == PMIX_RANK_WILDCARD || is_real_rank(rank);
}

bool is_all_of(const ProcList& procs, std::string_view nspace) noexcept {
    return !procs.empty() && std::all_of(procs.begin(), procs.end(), [nspace](const ProcId& proc) {
        return proc.rank == PMIX_RANK_WILDCARD && proc.nspace == nspace;
    });
}

Result<ProcSet> read_ranges(const ProcList& procs, RangeList&& ranges) {
    uint64_t most = kMaxListLength;
    for (const ProcId& p : procs)
        if (!is_nspace(p.nspace) || !is_named_rank(p.rank)) return PMIX_ERR_BAD_PARAM;
    std::vector<ProcSet::Part> parts = parts_of(std::span<const ProcId>(procs));
    parts.reserve(parts.size() + ranges.size());
    most -= std::min<uint64_t>(most, procs.size());
    for (RankRanges& r : ranges) {
        if (!is_nspace(r.nspace) || r.ranks.size() % 2 != 0) return PMIX_ERR_BAD_PARAM;
        auto in_bits = RankSet::of_bits(r.first_of_bits, r.bits);
        if (!in_bits) return in_bits.status();
        // Without branches: there may be some 100,000. A wildcard is no real rank, and a range of its own.
        std::vector<RankSet::Range> read(r.ranks.size() / 2);
        const Rank* pair = r.ranks.data();
        bool good = true;
        uint64_t n = read.size() + in_bits->size();
        for (RankSet::Range& range : read) {
            const Rank first = *pair++, last = *pair++;
            const bool whole = (first == PMIX_RANK_WILDCARD) & (last == PMIX_RANK_WILDCARD);
            good &= (is_real_rank(last) & (first <= last)) | whole;
            n += last - first;
            range = {first, last};
        }
        if (!good || n > most) return PMIX_ERR_BAD_PARAM;
        most -= n;
        RankSet set = std::move(in_bits).value();
        if (set.empty()) {
            set = RankSet(std::move(read));
        } else if (!read.empty()) {
            set.add(RankSet(std::move(read)));
        }
        parts.push_back({std::move(r.nspace), std::move(set)});
    }
    return ProcSet(std::move(parts));
}

}  // namespace pmix::common
