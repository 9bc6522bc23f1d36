// SPDX-License-Identifier: BSD-3-Clause
#include "common/protocol/rank_set.h"

#include <cassert>
#include <cstring>
#include <type_traits>

namespace pmix::common {
namespace {

// Do they overlap or touch? Nothing touches a wildcard.
bool meets(const RankSet::Range& before, const RankSet::Range& r) noexcept {
    return r.first <= before.last || (is_real_rank(r.first) && r.first - before.last == 1);
}

// Do they ascend, with a rank between each and the next? Without branches: there may be some 100,000.
bool are_in_order(const std::vector<RankSet::Range>& ranges) noexcept {
    bool good = true;
    for (size_t i = 1; i < ranges.size(); ++i) {
        const int64_t gap = int64_t{ranges[i].first} - ranges[i - 1].last;
        good &= gap > (is_real_rank(ranges[i].first) ? 1 : 0);
    }
    return good;
}

void put_in_order(std::vector<RankSet::Range>& ranges) {
    if (are_in_order(ranges)) return;
    if (!std::is_sorted(ranges.begin(), ranges.end())) std::sort(ranges.begin(), ranges.end());
    size_t n = 0;
    for (const RankSet::Range& r : ranges) {
        if (n != 0 && meets(ranges[n - 1], r)) {
            ranges[n - 1].last = std::max(ranges[n - 1].last, r.last);
        } else {
            ranges[n++] = r;
        }
    }
    ranges.resize(n);
}

// A loop of these is vectorized; std::popcount is a function call where the processor may lack the instruction.
constexpr uint64_t ones(uint64_t word) noexcept {
    word -= word >> 1 & 0x5555555555555555;
    word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
    return ((word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f) * 0x0101010101010101 >> 56;
}

}  // namespace

RankSet::RankSet(std::vector<Range> ranges) : ranges_(std::move(ranges)) {
    if (!become_bits()) put_in_order(ranges_);
    assert(are_in_order(ranges_));
}

// Of ranges in any order, without putting them in order. False: too few or too far apart; nothing has changed.
bool RankSet::become_bits() {
    if (ranges_.size() < kFewRanges) return false;
    size_t n = 0;
    Rank lowest = UINT32_MAX, highest = 0;
    for (const Range& r : ranges_) {
        const bool real = is_real_rank(r.first);
        n += real;
        lowest = std::min(lowest, real ? r.first : UINT32_MAX);
        highest = std::max(highest, real ? r.last : 0);
    }
    if (n < kFewRanges) return false;
    lowest = lowest / kBitsInWord * kBitsInWord;
    const size_t words = (highest - lowest) / kBitsInWord + 1;
    if (words >= n) return false;
    std::vector<Range> beside;
    beside.reserve(ranges_.size() - n);
    words_.assign(words, 0);
    first_ = lowest;
    for (const Range& r : ranges_) {
        if (!is_real_rank(r.first)) {
            beside.push_back(r);
            continue;
        }
        const Rank at = r.first - lowest, last = r.last - lowest;
        const uint64_t from = ~uint64_t{0} << at % kBitsInWord;
        const uint64_t up_to = ~uint64_t{0} >> (kBitsInWord - 1 - last % kBitsInWord);
        const size_t i = at / kBitsInWord, end = last / kBitsInWord;
        if (i == end) {
            words_[i] |= from & up_to;
            continue;
        }
        words_[i] |= from;
        std::fill(words_.begin() + static_cast<ptrdiff_t>(i) + 1, words_.begin() + static_cast<ptrdiff_t>(end),
                  ~uint64_t{0});
        words_[end] |= up_to;
    }
    put_in_order(beside);
    ranges_ = std::move(beside);
    settle_bits();
    return true;
}

size_t RankSet::ranges_in_bits() const noexcept {
    size_t n = 0;
    uint64_t before = 0;  // the last bit of the word before, as the first
    for (const uint64_t word : words_) {
        n += ones(word & ~(word << 1 | before));
        before = word >> (kBitsInWord - 1);
    }
    return n;
}

// Of bits that have changed: without words of zero at either end, and as ranges again, if they are few.
void RankSet::settle_bits() {
    assert(first_ % kBitsInWord == 0);
    while (!words_.empty() && words_.back() == 0) words_.pop_back();
    const auto some = std::find_if(words_.begin(), words_.end(), [](uint64_t word) { return word != 0; });
    first_ += static_cast<Rank>(some - words_.begin()) * kBitsInWord;
    words_.erase(words_.begin(), some);
    assert(words_.empty() || (words_.front() != 0 && words_.back() != 0));
    const size_t n = ranges_in_bits();
    if (n >= kFewRanges && words_.size() < n) return;
    ranges_ = ranges();
    words_ = {};
    first_ = 0;
}

Result<RankSet> RankSet::of_bits(Rank first, Bytes bits) {
    RankSet set;
    while (!bits.empty() && bits.back() == 0) bits = bits.first(bits.size() - 1);
    if (bits.empty()) return set;
    if (bits.size() > PMIX_RANK_VALID / 8 + 1) return PMIX_ERR_BAD_PARAM;
    const uint64_t last = first + uint64_t{bits.size()} * 8 - 1 - static_cast<unsigned>(std::countl_zero(bits.back()));
    if (first % kBitsInWord != 0 || last >= PMIX_RANK_VALID) return PMIX_ERR_BAD_PARAM;
    set.first_ = first;
    set.words_.resize((bits.size() + sizeof(uint64_t) - 1) / sizeof(uint64_t));
    std::memcpy(set.words_.data(), bits.data(), bits.size());
    if constexpr (std::endian::native != std::endian::little)
        for (uint64_t& word : set.words_) word = to_little(word);
    set.settle_bits();
    return set;
}

std::vector<uint8_t> RankSet::bits() const {
    std::vector<uint8_t> out(words_.size() * sizeof(uint64_t));
    for (size_t i = 0; i < words_.size(); ++i) store_le(out.data() + i * sizeof(uint64_t), words_[i]);
    while (!out.empty() && out.back() == 0) out.pop_back();
    return out;
}

std::vector<RankSet::Range> RankSet::ranges() const {
    std::vector<Range> out;
    out.reserve(ranges_.size() + ranges_in_bits());
    for_ranges([&](Rank first, Rank last) {
        out.push_back({first, last});
        return true;
    });
    return out;
}

uint64_t RankSet::size() const noexcept {
    uint64_t n = ranges_.size();
    for (const Range& r : ranges_) n += r.last - r.first;
    for (const uint64_t word : words_) n += ones(word);
    return n;
}

bool RankSet::has(Rank rank) const noexcept {
    if (rank >= first_ && (rank - first_) / kBitsInWord < words_.size())
        return (words_[(rank - first_) / kBitsInWord] >> (rank - first_) % kBitsInWord & 1) != 0;
    const auto at =
        std::partition_point(ranges_.begin(), ranges_.end(), [rank](const Range& r) { return r.last < rank; });
    return at != ranges_.end() && at->first <= rank;
}

bool RankSet::overlaps(const RankSet& other) const noexcept {
    for (auto a = ranges_.begin(), b = other.ranges_.begin(); a != ranges_.end() && b != other.ranges_.end();) {
        if (a->first <= b->last && b->first <= a->last) return true;
        ++(a->last < b->last ? a : b);
    }
    // Ranges of one in the bits of the other.
    for (const auto& [bits, list] : {std::pair(this, &other.ranges_), std::pair(&other, &ranges_)}) {
        const uint64_t end = uint64_t{bits->words_.size()} * kBitsInWord;
        for (const Range& r : *list) {
            if (r.last < bits->first_ || r.first >= bits->first_ + end) continue;
            const uint64_t at = r.first > bits->first_ ? r.first - bits->first_ : 0;
            if (at < end && bits->next(at, true) <= r.last - bits->first_ && bits->next(at, true) < end) return true;
        }
    }
    if (words_.empty() || other.words_.empty()) return false;
    const Rank from = std::max(first_, other.first_);
    const uint64_t end = std::min(first_ + uint64_t{words_.size()} * kBitsInWord,
                                  other.first_ + uint64_t{other.words_.size()} * kBitsInWord);
    for (uint64_t rank = from; rank < end; rank += kBitsInWord)
        if ((words_[(rank - first_) / kBitsInWord] & other.words_[(rank - other.first_) / kBitsInWord]) != 0)
            return true;
    return false;
}

void RankSet::add(const RankSet& other) {
    std::vector<Range> all = ranges();
    other.for_ranges([&](Rank first, Rank last) {
        all.push_back({first, last});
        return true;
    });
    *this = RankSet(std::move(all));
}

void RankSet::erase(Rank rank) {
    if (!has(rank)) return;
    if (!words_.empty() && is_real_rank(rank)) {
        words_[(rank - first_) / kBitsInWord] &= ~(uint64_t{1} << (rank - first_) % kBitsInWord);
        return settle_bits();
    }
    const auto at =
        std::partition_point(ranges_.begin(), ranges_.end(), [rank](const Range& r) { return r.last < rank; });
    const Range was = *at;
    if (was.first == was.last) {
        ranges_.erase(at);
    } else if (was.first == rank) {
        ++at->first;
    } else {
        // What may fail comes first: then nothing has changed.
        const auto next = was.last == rank ? at + 1 : ranges_.insert(at + 1, {rank + 1, was.last});
        (next - 1)->last = rank - 1;
    }
    if (words_.empty()) become_bits();
    assert(!has(rank));
}

// Their bytes: quicker than one after the other, and any order will do.
int RankSet::compare(const RankSet& o) const noexcept {
    static_assert(std::has_unique_object_representations_v<Range>);
    if (ranges_.size() != o.ranges_.size()) return ranges_.size() < o.ranges_.size() ? -1 : 1;
    if (words_.size() != o.words_.size()) return words_.size() < o.words_.size() ? -1 : 1;
    if (first_ != o.first_) return first_ < o.first_ ? -1 : 1;
    if (!words_.empty())
        if (const int order = std::memcmp(words_.data(), o.words_.data(), words_.size() * sizeof words_[0]); order != 0)
            return order;
    return ranges_.empty() ? 0 : std::memcmp(ranges_.data(), o.ranges_.data(), ranges_.size() * sizeof ranges_[0]);
}

}  // namespace pmix::common
