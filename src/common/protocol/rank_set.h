// SPDX-License-Identifier: BSD-3-Clause
// Ranks of one namespace as ranges or, where that takes less memory, with a bit for each rank.
//
// Pure values, any thread. What a set is made of, and in which order, leaves no trace: equal sets have the same form
// and the same bytes. A wildcard and the other ranks that stand for processes are ranges of their own beside the bits.
// What can go wrong: bits that are none (PMIX_ERR_BAD_PARAM), memory (std::bad_alloc).
#pragma once

#include <algorithm>
#include <bit>
#include <compare>
#include <cstdint>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/ids.h"
#include "common/base/status.h"

namespace pmix::common {

class RankSet {
  public:
    struct Range {
        Rank first = 0, last = 0;  // both in it
        auto operator<=>(const Range&) const = default;
    };
    // Fewer ranges stay ranges.
    static constexpr size_t kFewRanges = 64;
    // The first rank of bits is a multiple of this.
    static constexpr Rank kBitsInWord = 64;

    RankSet() = default;
    // In any order, overlapping or not. Takes time that grows with their number and with the ranks in them.
    RankSet(std::vector<Range> ranges);
    // Bit i % 8 of byte i / 8 is rank first + i. No bits: an empty set.
    static Result<RankSet> of_bits(Rank first, Bytes bits);

    bool empty() const noexcept { return ranges_.empty() && words_.empty(); }
    uint64_t size() const noexcept;
    bool has(Rank rank) const noexcept;
    bool is_whole() const noexcept { return has(PMIX_RANK_WILDCARD); }
    // Have they a rank in common? A wildcard is one of them here.
    bool overlaps(const RankSet& other) const noexcept;
    void add(const RankSet& other);
    void erase(Rank rank);

    // f(first, last) of ranges that ascend and do not touch, until it returns false. Did it never?
    template <class F>
    bool for_ranges(F&& f) const {
        const uint64_t end = uint64_t{words_.size()} * kBitsInWord;
        uint64_t at = 0;
        while ((at = next(at, true)) < end) {
            const uint64_t behind = next(at, false);
            if (!f(static_cast<Rank>(first_ + at), static_cast<Rank>(first_ + behind - 1))) return false;
            at = behind;
        }
        for (const Range& r : ranges_)
            if (!f(r.first, r.last)) return false;
        return true;
    }
    template <class F>
    void for_each(F&& f) const {
        for (size_t i = 0; i < words_.size(); ++i)
            for (uint64_t word = words_[i]; word != 0; word &= word - 1)
                f(static_cast<Rank>(first_ + i * kBitsInWord + static_cast<unsigned>(std::countr_zero(word))));
        for (const Range& r : ranges_)
            for (uint64_t rank = r.first; rank <= r.last; ++rank) f(static_cast<Rank>(rank));
    }
    std::vector<Range> ranges() const;

    // The form: what is in bits, as of_bits() takes it, and the ranges beside it.
    bool has_bits() const noexcept { return !words_.empty(); }
    Rank first_of_bits() const noexcept { return first_; }
    std::vector<uint8_t> bits() const;
    const std::vector<Range>& ranges_beside_bits() const noexcept { return ranges_; }

    size_t memory() const noexcept { return ranges_.capacity() * sizeof(Range) + words_.capacity() * sizeof(uint64_t); }
    // Below 0, 0 or above: a total order. Those of other sizes are told apart at once.
    int compare(const RankSet& other) const noexcept;
    bool operator==(const RankSet& other) const noexcept { return compare(other) == 0; }
    bool operator<(const RankSet& other) const noexcept { return compare(other) < 0; }

  private:
    bool become_bits();
    void settle_bits();
    size_t ranges_in_bits() const noexcept;
    // The first place from `at` on that is in the set, or is not; behind the last word where there is none.
    uint64_t next(uint64_t at, bool in_it) const noexcept {
        size_t i = at / kBitsInWord;
        uint64_t skip = ~uint64_t{0} << at % kBitsInWord;
        for (; i < words_.size(); ++i, skip = ~uint64_t{0})
            if (const uint64_t word = (in_it ? words_[i] : ~words_[i]) & skip; word != 0)
                return i * kBitsInWord + static_cast<unsigned>(std::countr_zero(word));
        return uint64_t{words_.size()} * kBitsInWord;
    }

    std::vector<Range> ranges_;    // ascend and do not touch; beside words_ only ranks that are not real
    std::vector<uint64_t> words_;  // neither the first nor the last of them is zero
    Rank first_ = 0;
};

}  // namespace pmix::common
