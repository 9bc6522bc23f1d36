// SPDX-License-Identifier: BSD-3-Clause
// Sets of processes as ranges: order, repetition, wildcards, what is on the wire and what a hostile sender says.
#include "common/protocol/proc_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "support/status.h"

namespace pmix::common::proc_set_test {
namespace {

ProcList ranks(const std::string& nspace, std::initializer_list<Rank> list) {
    ProcList out;
    for (Rank r : list) out.emplace_back(nspace, r);
    return out;
}
using Ranges = std::vector<ProcSet::Range>;

TEST(ProcSet, Construct_ListInAnyOrderWithRepeats_IsTheSameSet) {
    const ProcSet sorted(ranks("a", {0, 1, 2, 5, 6, 9}));
    ASSERT_EQ(1u, sorted.parts().size());
    EXPECT_EQ((Ranges{{0, 2}, {5, 6}, {9, 9}}), sorted.parts()[0].ranks.ranges());
    EXPECT_EQ(6u, sorted.size());
    EXPECT_EQ(sorted, ProcSet(ranks("a", {9, 2, 1, 0, 6, 5, 6, 2, 0})));
    EXPECT_EQ(ranks("a", {0, 1, 2, 5, 6, 9}), sorted.list());
    EXPECT_FALSE(sorted == ProcSet(ranks("a", {0, 1, 2, 5, 6, 8})));
    EXPECT_FALSE(sorted == ProcSet(ranks("b", {0, 1, 2, 5, 6, 9})));
}

TEST(ProcSet, Construct_SeveralNamespacesMixed_ArePartsInOrder) {
    const ProcSet set{{"b", 1}, {"a", 0}, {"b", 0}, {"a", PMIX_RANK_WILDCARD}, {"b", 1}};
    ASSERT_EQ(2u, set.parts().size());
    EXPECT_EQ("a", set.parts()[0].nspace);
    EXPECT_TRUE(set.parts()[0].is_whole());
    EXPECT_EQ((Ranges{{0, 1}}), set.parts()[1].ranks.ranges());
    EXPECT_EQ(4u, set.size()) << "a wildcard is one entry";
    EXPECT_TRUE(set.has({"a", 0}));
    EXPECT_FALSE(set.has({"a", 7}));
    EXPECT_TRUE(set.covers({"a", 7}));
    EXPECT_FALSE(set.covers({"b", 2}));
    EXPECT_FALSE(set.names("c"));
    EXPECT_FALSE(set == (ProcSet{{"a", 0}, {"b", 0}, {"b", 1}}))
        << "a wildcard is not equal to the list of its processes";
}

TEST(ProcSet, Construct_HighestRankAndWildcard_DoNotMerge) {
    const Rank highest = PMIX_RANK_VALID - 1;
    const ProcSet set{{"a", PMIX_RANK_WILDCARD}, {"a", PMIX_RANK_UNDEF}, {"a", highest}, {"a", PMIX_RANK_LOCAL_NODE}};
    EXPECT_EQ(4u, set.parts()[0].ranks.ranges().size());
    EXPECT_TRUE(set.parts()[0].is_whole());
    EXPECT_FALSE((ProcSet{{"a", highest}, {"a", PMIX_RANK_UNDEF}}).parts()[0].is_whole());
}

// Against std::set, over lists of all kinds.
TEST(ProcSet, Operations_RandomLists_AgreeWithASetOfProcesses) {
    std::mt19937 random(7);
    const std::vector<std::string> names{"a", "bb", "c"};
    for (int round = 0; round < 2000; ++round) {
        const auto draw = [&] {
            ProcList list;
            for (unsigned n = random() % 20; n > 0; --n)
                list.emplace_back(names[random() % 3], random() % 12 == 0 ? PMIX_RANK_WILDCARD : random() % 16);
            return list;
        };
        ProcList list = draw();
        const ProcList other = draw();
        std::set<ProcId> model(list.begin(), list.end());
        ProcSet set(list);
        if (!list.empty() && random() % 2 == 0) {
            const ProcId gone = list[random() % list.size()];
            set.erase(gone);
            model.erase(gone);
        }
        if (random() % 2 == 0) {
            const ProcId more(names[random() % 3], random() % 16);
            set.add(more);
            model.insert(more);
        }
        ASSERT_EQ(ProcList(model.begin(), model.end()), set.list());
        ASSERT_EQ(model.size(), set.size());
        ASSERT_EQ(ProcSet(ProcList(model.begin(), model.end())), set);
        const bool common = std::any_of(model.begin(), model.end(), [&](const ProcId& p) {
            return std::any_of(other.begin(), other.end(), [&](const ProcId& q) {
                return p.nspace == q.nspace &&
                       (p.rank == q.rank || p.rank == PMIX_RANK_WILDCARD || q.rank == PMIX_RANK_WILDCARD);
            });
        });
        ASSERT_EQ(common, set.overlaps(ProcSet(other)));
        ASSERT_EQ(common, ProcSet(other).overlaps(set));
        auto read = read_ranges({}, ranges_of(list));
        ASSERT_TRUE(read.ok());
        if (!read->empty()) {
            ASSERT_EQ(ProcSet(list), *read);
        }
    }
}

TEST(ProcSet, RangesOf_ConsecutiveRanks_AreAFewBytes) {
    ProcList list;
    for (Rank r = 0; r < 100'000; ++r) list.emplace_back("job", r);
    list.emplace_back("other", PMIX_RANK_WILDCARD);
    const RangeList ranges = ranges_of(list);
    ASSERT_EQ(2u, ranges.size());
    EXPECT_EQ("job", ranges[0].nspace);
    EXPECT_EQ((std::vector<Rank>{0, 99'999}), ranges[0].ranks);
    EXPECT_EQ((std::vector<Rank>{PMIX_RANK_WILDCARD, PMIX_RANK_WILDCARD}), ranges[1].ranks);
}

TEST(ProcSet, RangesOf_NamespacesThatAlternate_StaysAList) {
    ProcList list;
    for (Rank r = 0; r < 100; ++r) list.emplace_back(r % 2 == 0 ? "a" : "b", r);
    EXPECT_TRUE(ranges_of(list).empty());
    EXPECT_TRUE(ranges_of(ranks("a", {1})).empty());
}

TEST(ProcSet, ReadRanges_ListAndRanges_AreOneSet) {
    auto set = read_ranges(ranks("a", {9, 2}), {{"b", {4, 6}}, {"a", {0, 1, 5, 5}}, {"b", {5, 8}}});
    ASSERT_TRUE(set.ok());
    EXPECT_EQ((Ranges{{0, 2}, {5, 5}, {9, 9}}), set->parts()[0].ranks.ranges());
    EXPECT_EQ((Ranges{{4, 8}}), set->parts()[1].ranks.ranges());
}

TEST(ProcSet, ReadRanges_WhatIsNoRange_IsRefused) {
    const Rank highest = PMIX_RANK_VALID - 1;
    for (const RangeList& bad :
         std::vector<RangeList>{{{"a", {0}}},                                        // half a range
                                {{"a", {3, 2}}},                                     // backwards
                                {{"", {0, 1}}},                                      // nobody's
                                {{std::string("a\0b", 3), {0, 1}}},                  // no name
                                {{std::string(kMaxNspaceLength + 1, 'n'), {0, 1}}},  // nor this
                                {{"a", {0, PMIX_RANK_WILDCARD}}},                    // a wildcard inside
                                {{"a", {0, PMIX_RANK_UNDEF}}},
                                {{"a", {PMIX_RANK_UNDEF, PMIX_RANK_UNDEF}}},
                                {{"a", {PMIX_RANK_LOCAL_PEERS, PMIX_RANK_LOCAL_PEERS}}},
                                {{"a", {0, highest}}},                   // more than a list may have
                                {{"a", {0, kMaxListLength - 1, 0, 0}}},  // all together too
                                {{"a", {0, kMaxListLength / 2}}, {"b", {0, kMaxListLength / 2}}}})
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, read_ranges({}, RangeList(bad)).status());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, read_ranges(ranks("a", {PMIX_RANK_UNDEF}), {}).status());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, read_ranges(ranks("", {0}), {}).status());
    EXPECT_TRUE(read_ranges({}, {{"a", {0, kMaxListLength - 1}}}).ok());
    EXPECT_TRUE(read_ranges({}, {}).ok());
}

TEST(ProcSet, Order_OfSetsThatDifferInOneThing_IsTotal) {
    const auto ranges = [](std::vector<ProcSet::Range> list, const char* nspace = "a") {
        return ProcSet(std::vector<ProcSet::Part>{{nspace, std::move(list)}});
    };
    const std::vector<ProcSet> sets = {
        ProcSet{},
        ranges({{0, 0}}),
        ranges({{1, 1}}),
        ranges({{256, 256}}),
        ranges({{PMIX_RANK_WILDCARD, PMIX_RANK_WILDCARD}}),
        ranges({{0, 0}}, "b"),
        ranges({{0, 1}}),
        ranges({{0, 0}, {2, 2}}),
        ranges({{0, 0}, {3, 3}}),
        ProcSet{{"a", 0}, {"b", 0}},
        ProcSet{{"a", 0}, {"c", 0}},
    };
    for (size_t i = 0; i < sets.size(); ++i) {
        for (size_t j = 0; j < sets.size(); ++j) {
            EXPECT_EQ(i == j, sets[i] == sets[j]) << i << " " << j;
            EXPECT_EQ(i == j ? 0 : 1, (sets[i] < sets[j]) + (sets[j] < sets[i])) << i << " " << j;
            for (const ProcSet& k : sets)
                if (sets[i] < sets[j] && sets[j] < k) {
                    EXPECT_LT(sets[i], k);
                }
        }
    }
}

}  // namespace
}  // namespace pmix::common::proc_set_test
