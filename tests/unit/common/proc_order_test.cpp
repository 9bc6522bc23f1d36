// SPDX-License-Identifier: BSD-3-Clause
// Processes in an order: what ranges keep of a list, what is on the wire and what a hostile sender says.
#include "common/protocol/proc_order.h"

#include <gtest/gtest.h>

#include <random>

namespace pmix::common::proc_order_test {
namespace {

const RankRanges kWhole{"a", {PMIX_RANK_WILDCARD, PMIX_RANK_WILDCARD}};

TEST(ProcOrder, List_AnyListWithRepeatsAndWildcards_ComesBackAsItWas) {
    std::mt19937 random(5);
    for (int round = 0; round < 200; ++round) {
        ProcList list;
        for (size_t i = random() % 60; i > 0; --i) {
            const bool next = !list.empty() && random() % 4 != 0 && is_real_rank(list.back().rank + 1);
            if (next) {
                list.push_back({list.back().nspace, list.back().rank + 1});
            } else {
                const Rank rank = static_cast<Rank>(random() % 99);
                list.push_back({random() % 2 == 0 ? "a" : "b", random() % 9 == 0 ? PMIX_RANK_WILDCARD : rank});
            }
        }
        const ProcOrder order(list);
        EXPECT_EQ(list, order.list());
        EXPECT_EQ(list.size(), order.size());
        EXPECT_EQ(ProcSet(list), order.set());
        EXPECT_EQ(list.empty(), order.empty());
        // As a client sends them.
        const RangeList ranges = ranges_of(list);
        auto read = ranges.empty() ? ProcOrder::read(list, {}) : ProcOrder::read({}, ranges);
        ASSERT_TRUE(read.ok());
        EXPECT_EQ(list, read->list());
    }
}

TEST(ProcOrder, Nspaces_AreEachNamedOnce_InTheirOrder) {
    const ProcOrder order({{"b", 1}, {"a", 0}, {"b", 0}, {"a", 1}});
    EXPECT_EQ((std::vector<std::string>{"b", "a"}), order.nspaces());
    EXPECT_EQ((ProcList{{"b", 1}, {"a", 0}, {"b", 0}, {"a", 1}}), order.list());
}

TEST(ProcOrder, Read_WhatIsNoRange_IsRefused) {
    const auto refused = [](const ProcList& procs, const RangeList& ranges) {
        return ProcOrder::read(procs, ranges).status() == PMIX_ERR_BAD_PARAM;
    };
    EXPECT_TRUE(ProcOrder::read({}, {kWhole}).ok());
    EXPECT_TRUE(refused({{"a", 0}}, {{"a", {0, 1}}})) << "which comes first?";
    EXPECT_TRUE(refused({{"", 0}}, {}));
    EXPECT_TRUE(refused({{"a", PMIX_RANK_UNDEF}}, {}));
    EXPECT_TRUE(refused({}, {{"", {0, 1}}}));
    EXPECT_TRUE(refused({}, {{std::string("a\0b", 3), {0, 1}}}));
    EXPECT_TRUE(refused({}, {{std::string(kMaxNspaceLength + 1, 'a'), {0, 1}}}));
    EXPECT_TRUE(refused({}, {{"a", {}}}));
    EXPECT_TRUE(refused({}, {{"a", {0, 1, 2}}}));
    EXPECT_TRUE(refused({}, {{"a", {1, 0}}}));
    EXPECT_TRUE(refused({}, {{"a", {0, PMIX_RANK_WILDCARD}}}));
    EXPECT_TRUE(refused({}, {{"a", {0, PMIX_RANK_UNDEF}}}));
    EXPECT_TRUE(refused({}, {{"a", {0, 1}, 64, {1}}})) << "bits have no order";
    EXPECT_TRUE(ProcOrder::read({}, {{"a", {0, kMaxListLength - 1}}}).ok());
    EXPECT_TRUE(refused({}, {{"a", {0, kMaxListLength}}}));
    EXPECT_TRUE(refused({}, {{"a", {0, kMaxListLength - 1}}, {"b", {0, 0}}}));
}

}  // namespace
}  // namespace pmix::common::proc_order_test
