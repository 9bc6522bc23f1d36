// SPDX-License-Identifier: BSD-3-Clause
// Sets of ranks as ranges and as bits: which form they take, that a set has one form only, and what is in it.
#include "common/protocol/rank_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "common/protocol/proc_set.h"
#include "support/status.h"

namespace pmix::common::rank_set_test {
namespace {

using Range = RankSet::Range;

RankSet set_of(const std::set<Rank>& ranks) {
    std::vector<Range> ranges;
    for (const Rank r : ranks) ranges.push_back({r, r});
    return RankSet(std::move(ranges));
}

std::set<Rank> every_second(Rank from, Rank to) {
    std::set<Rank> ranks;
    for (Rank r = from; r < to; r += 2) ranks.insert(r);
    return ranks;
}

std::set<Rank> content(const RankSet& set) {
    std::set<Rank> ranks;
    set.for_each([&](Rank r) { EXPECT_TRUE(ranks.insert(r).second) << r; });
    return ranks;
}

TEST(RankSet, Construct_EverySecondRank_IsABitForEach) {
    const RankSet set = set_of(every_second(1, 100'000));
    EXPECT_TRUE(set.has_bits());
    EXPECT_LE(set.memory(), 12'504u);
    EXPECT_EQ(50'000u, set.size());
    EXPECT_TRUE(set.has(1));
    EXPECT_FALSE(set.has(2));
    EXPECT_TRUE(set.has(99'999));
    EXPECT_FALSE(set.has(100'001));
    EXPECT_FALSE(set.is_whole());
    EXPECT_EQ(every_second(1, 100'000), content(set));
}

TEST(RankSet, Construct_FewRangesOrFarApart_StaysRanges) {
    EXPECT_FALSE(set_of(every_second(0, 2 * (RankSet::kFewRanges - 1))).has_bits());
    EXPECT_TRUE(set_of(every_second(0, 2 * RankSet::kFewRanges)).has_bits());
    std::set<Rank> far;
    for (Rank r = 0; r < 1000; ++r) far.insert(r * 100'000);
    const RankSet set = set_of(far);
    EXPECT_FALSE(set.has_bits());
    EXPECT_EQ(far, content(set));
}

TEST(RankSet, Construct_WildcardBesideManyRanges_IsARangeOfItsOwn) {
    auto ranks = every_second(128, 1000);
    ranks.insert({PMIX_RANK_WILDCARD, PMIX_RANK_UNDEF});
    const RankSet set = set_of(ranks);
    EXPECT_TRUE(set.has_bits());
    EXPECT_EQ(128u, set.first_of_bits());
    EXPECT_EQ(2u, set.ranges_beside_bits().size());
    EXPECT_TRUE(set.is_whole());
    EXPECT_EQ(ranks, content(set));
    EXPECT_EQ(ranks.size(), set.size());
    EXPECT_FALSE(set == set_of(every_second(128, 1000)));
}

// Against std::set. Draws sets of ranges, of bits and of both, around the places where the form changes.
TEST(RankSet, Operations_RandomSets_AgreeWithASetOfRanks) {
    std::mt19937 random(11);
    const auto draw = [&] {
        std::set<Rank> ranks;
        const Rank from = random() % 300, span = 1 + random() % 2000;
        for (unsigned n = random() % 3 == 0 ? random() % 10 : random() % 700; n > 0; --n)
            ranks.insert(from + random() % span);
        if (random() % 8 == 0) ranks.insert(PMIX_RANK_WILDCARD);
        if (random() % 8 == 0) ranks.insert(PMIX_RANK_VALID - 1 - random() % 3);
        return ranks;
    };
    unsigned with_bits = 0;
    for (int round = 0; round < 3000; ++round) {
        std::set<Rank> model = draw();
        const std::set<Rank> other_model = draw();
        RankSet set = set_of(model);
        const RankSet other = set_of(other_model);
        with_bits += set.has_bits();
        const bool common = std::any_of(model.begin(), model.end(), [&](Rank r) { return other_model.count(r) != 0; });
        ASSERT_EQ(common, set.overlaps(other));
        ASSERT_EQ(common, other.overlaps(set));
        if (random() % 3 == 0) {
            set.add(other);
            model.insert(other_model.begin(), other_model.end());
        }
        for (unsigned n = random() % 40; n > 0 && !model.empty(); --n) {
            const Rank gone = random() % 4 == 0 ? random() % 2300 : *std::next(model.begin(), random() % model.size());
            set.erase(gone);
            model.erase(gone);
        }
        ASSERT_EQ(model, content(set));
        ASSERT_EQ(model.size(), set.size());
        ASSERT_EQ(model.empty(), set.empty());
        const RankSet again = set_of(model);
        ASSERT_EQ(again, set) << "one form, however it was made";
        ASSERT_EQ(again.has_bits(), set.has_bits());
        ASSERT_EQ(set, RankSet(set.ranges()));
        ASSERT_EQ(model == other_model, set == other);
        ASSERT_EQ(set < other || other < set, model != other_model);
        for (int i = 0; i < 20; ++i) {
            const Rank r = random() % 2400;
            ASSERT_EQ(model.count(r) != 0, set.has(r)) << r;
        }
        Rank behind = 0;
        set.for_ranges([&](Rank first, Rank last) {
            EXPECT_TRUE(first <= last && (behind == 0 || first > behind || !is_real_rank(first)));
            behind = last + 1;
            return true;
        });
        auto read = RankSet::of_bits(set.first_of_bits(), set.bits());
        ASSERT_TRUE(read.ok());
        if (set.ranges_beside_bits().empty()) {
            ASSERT_EQ(set, *read);
        }
    }
    EXPECT_GT(with_bits, 1000u);
}

TEST(RankSet, OfBits_WhateverIsAroundThem_IsTheSameSet) {
    std::vector<uint8_t> bits(1000, 0x55);
    const RankSet set = RankSet::of_bits(640, bits).value();
    EXPECT_TRUE(set.has_bits());
    std::vector<uint8_t> longer(80, 0);
    longer.insert(longer.end(), bits.begin(), bits.end());
    longer.resize(5000);
    EXPECT_EQ(set, RankSet::of_bits(0, longer).value());
    EXPECT_EQ(bits, set.bits());
    EXPECT_TRUE(RankSet::of_bits(64, {}).value().empty());
    EXPECT_TRUE(RankSet::of_bits(64, std::vector<uint8_t>(100)).value().empty());
    const uint8_t three[] = {7};
    EXPECT_EQ(RankSet({{64, 66}}), RankSet::of_bits(64, three).value()) << "few are ranges";
}

TEST(RankSet, OfBits_WhatIsNoRank_IsRefused) {
    const Rank last_word = PMIX_RANK_VALID / 64 * 64;
    const std::vector<uint8_t> bits(8, 0xff), none(8, 0);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, RankSet::of_bits(63, bits).status());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, RankSet::of_bits(last_word, bits).status());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, RankSet::of_bits(UINT32_MAX / 64 * 64, bits).status());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, RankSet::of_bits(UINT32_MAX / 64 * 64, std::vector<uint8_t>(80, 1)).status());
    EXPECT_TRUE(RankSet::of_bits(UINT32_MAX / 64 * 64, none).ok());
    EXPECT_TRUE(RankSet::of_bits(last_word - 64, bits).ok());
}

TEST(ProcSet, UseBits_EverySecondRank_IsAThirtiethOfTheBytes) {
    ProcList list;
    for (Rank r = 100'000; r > 0; r -= 2) list.emplace_back("job", r);
    list.emplace_back("other", 3);
    RangeList ranges = ranges_of(list);
    use_bits(ranges);
    ASSERT_EQ(2u, ranges.size());
    EXPECT_TRUE(ranges[0].ranks.empty());
    EXPECT_EQ(0u, ranges[0].first_of_bits);
    EXPECT_EQ(12'501u, ranges[0].bits.size());
    EXPECT_TRUE(ranges[1].bits.empty());
    EXPECT_EQ(ProcSet(list), read_ranges({}, std::move(ranges)).value());
}

TEST(ProcSet, ReadRanges_BitsBesideRangesAndLists_AreOneSet) {
    const std::vector<uint8_t> bits(100, 0x11);  // every fourth
    auto set = read_ranges({{"a", 1}}, {{"a", {0, 63}, 64, bits}, {"a", {1, 2}}});
    ASSERT_TRUE(set.ok());
    EXPECT_EQ(1u, set->parts().size());
    EXPECT_EQ(64u + 200u, set->size());
    EXPECT_TRUE(set->has({"a", 64}));
    EXPECT_FALSE(set->has({"a", 65}));
    EXPECT_TRUE(set->has({"a", 68}));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, read_ranges({}, {{"a", {}, 1, bits}}).status());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, read_ranges({}, {{"a", {0, kMaxListLength - 200}, 0, bits}}).status())
        << "more than a list may have";
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, read_ranges({}, {{"", {}, 0, bits}}).status());
}

}  // namespace
}  // namespace pmix::common::rank_set_test
