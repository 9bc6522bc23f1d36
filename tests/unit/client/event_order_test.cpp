// SPDX-License-Identifier: BSD-3-Clause
// The handlers of a chain and their order.
#include "client/events/event_order.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/cpu_time.h"
#include "support/status.h"

namespace pmix::client::event_order_test {
namespace {

using common::ProcId;
using Refs = std::vector<size_t>;

constexpr pmix_status_t kCode = -3100;
constexpr pmix_status_t kOther = -3101;

HandlerSpec spec(std::vector<pmix_status_t> codes, std::string name = {}) {
    HandlerSpec s;
    s.codes = std::move(codes);
    s.name = std::move(name);
    s.place = Place::append;
    return s;
}

EventTraits event(pmix_status_t code) {
    EventTraits e;
    e.code = code;
    e.source = ProcId("job", 3);
    return e;
}

class EventOrderTest : public ::testing::Test {
  protected:
    size_t add(HandlerSpec s) {
        auto r = order.add(std::move(s));
        EXPECT_TRUE(r.ok());
        return r.ok() ? r.value() : static_cast<size_t>(-1);
    }
    EventOrder order{ProcId("job", 0)};
};

// rows: E4
TEST_F(EventOrderTest, SixKindsStandInTheStandardsOrder) {
    HandlerSpec last = spec({kCode});
    last.last = true;
    HandlerSpec first = spec({});
    first.first = true;
    const size_t l = add(last);
    const size_t d = add(spec({}));
    const size_t m = add(spec({kOther, kCode}));
    const size_t s1 = add(spec({kCode}));
    const size_t f = add(first);
    const size_t s2 = add(spec({kCode}));
    EXPECT_EQ(order.chain(event(kCode)), (Refs{f, s1, s2, m, d, l}));
    EXPECT_EQ(order.chain(event(kOther)), (Refs{f, m, d}));
}

// Five times as many take some five times as long, and not 25: no handler is moved or looked at for another one.
TEST_F(EventOrderTest, Many_RegisteredAndRemoved_CostGrowsWithTheirNumber) {
    const auto seconds = [](size_t n) {
        EventOrder many{ProcId("job", 0)};
        const double before = test::cpu_seconds();
        for (size_t i = 0; i < n; ++i) {
            HandlerSpec one = spec({static_cast<pmix_status_t>(kCode - static_cast<int>(i))});
            one.place = i % 2 == 0 ? Place::prepend : Place::append;
            EXPECT_TRUE(many.add(std::move(one)).ok());
        }
        for (size_t i = 0; i < n; ++i) EXPECT_TRUE(many.contains(i) && many.remove(i));
        EXPECT_EQ(0u, many.size());
        return test::cpu_seconds() - before;
    };
    seconds(1000);
    const double few = std::min({seconds(4000), seconds(4000), seconds(4000)});
    EXPECT_LT(seconds(20000), 12 * few);
}

// rows: E1 E2
TEST_F(EventOrderTest, FirstReferenceIsZeroAndEqualHandlersGetTheirOwn) {
    EXPECT_EQ(add(spec({kCode})), 0u);
    EXPECT_EQ(add(spec({kCode})), 1u);
    EXPECT_TRUE(order.remove(0));
    EXPECT_EQ(add(spec({kCode})), 2u);
}

// rows: E5
TEST_F(EventOrderTest, OnlyOneFirstAndOneLastUntilRemoved) {
    HandlerSpec first = spec({kCode});
    first.first = true;
    HandlerSpec last = spec({kCode});
    last.last = true;
    const size_t f = add(first);
    const size_t l = add(last);
    EXPECT_STATUS(PMIX_ERR_EVENT_REGISTRATION, order.add(first).status());
    EXPECT_STATUS(PMIX_ERR_EVENT_REGISTRATION, order.add(last).status());
    EXPECT_TRUE(order.remove(f));
    EXPECT_TRUE(order.remove(l));
    EXPECT_FALSE(order.remove(l));
    EXPECT_TRUE(order.add(first).ok());
    EXPECT_TRUE(order.add(last).ok());
}

// rows: E5
TEST_F(EventOrderTest, FirstStillNeedsItsCode) {
    HandlerSpec first = spec({kOther});
    first.first = true;
    add(first);
    EXPECT_TRUE(order.chain(event(kCode)).empty());
}

// rows: E3
TEST_F(EventOrderTest, PlacesWithinACategory) {
    const size_t a = add(spec({kCode}));
    HandlerSpec s = spec({kCode});
    s.place = Place::prepend;
    const size_t p = add(s);
    s.place = Place::lead;
    const size_t lead1 = add(s);
    const size_t lead2 = add(s);
    s.place = Place::end;
    const size_t end1 = add(s);
    s.place = Place::append;
    const size_t b = add(s);
    s.place = Place::prepend;
    const size_t q = add(s);
    s.place = Place::end;
    const size_t end2 = add(s);
    const size_t d = add(spec({}));
    EXPECT_EQ(order.chain(event(kCode)), (Refs{lead2, lead1, q, p, a, b, end1, end2, d}));
}

// rows: E3 E4
TEST_F(EventOrderTest, BeforeAndAfterAcrossCategories) {
    const size_t d = add(spec({}, "default"));
    const size_t s = add(spec({kCode}, "single"));
    HandlerSpec before = spec({});
    before.before = "single";
    const size_t b = add(before);
    HandlerSpec after = spec({kCode});
    after.after = "default";
    const size_t a = add(after);
    EXPECT_EQ(order.chain(event(kCode)), (Refs{b, s, d, a}));
}

// rows: E4
TEST_F(EventOrderTest, AbsentNameLeavesTheOrderAlone) {
    const size_t other = add(spec({kOther}, "other"));
    const size_t d = add(spec({}));
    HandlerSpec s = spec({kCode});
    s.after = "other";  // registered, but not in this chain
    const size_t a = add(s);
    s.after.clear();
    s.before = "nobody";
    const size_t b = add(s);
    EXPECT_EQ(order.chain(event(kCode)), (Refs{a, b, d}));
    EXPECT_EQ(order.chain(event(kOther)), (Refs{other, d}));
}

TEST_F(EventOrderTest, NothingPassesFirstAndLast) {
    HandlerSpec first = spec({}, "f");
    first.first = true;
    HandlerSpec last = spec({}, "l");
    last.last = true;
    const size_t f = add(first);
    const size_t l = add(last);
    HandlerSpec s = spec({kCode});
    s.before = "f";
    const size_t a = add(s);
    s.before.clear();
    s.after = "l";
    const size_t b = add(s);
    EXPECT_EQ(order.chain(event(kCode)), (Refs{f, a, b, l}));
}

TEST_F(EventOrderTest, NonDefaultEventsSkipDefaults) {
    add(spec({}));
    const size_t s = add(spec({kCode}));
    EventTraits e = event(kCode);
    e.non_default = true;
    EXPECT_EQ(order.chain(e), (Refs{s}));
}

// rows: E8
TEST_F(EventOrderTest, RangeLimitsBySource) {
    HandlerSpec s = spec({kCode});
    s.range = PMIX_RANGE_NAMESPACE;
    const size_t ns = add(s);
    s.range = PMIX_RANGE_PROC_LOCAL;
    const size_t own = add(s);
    s.range = PMIX_RANGE_LOCAL;
    const size_t node = add(s);
    s.range = PMIX_RANGE_CUSTOM;
    s.custom_range = {ProcId("other", PMIX_RANK_WILDCARD), ProcId("job", 0)};
    const size_t custom = add(s);

    EventTraits e = event(kCode);
    EXPECT_EQ(order.chain(e), (Refs{ns, node}));
    e.source = ProcId("other", 9);
    e.source_is_local = false;
    EXPECT_EQ(order.chain(e), (Refs{custom}));
    e.source = ProcId("job", 0);
    e.source_is_local = true;
    EXPECT_EQ(order.chain(e), (Refs{ns, own, node, custom}));
}

// rows: E8
TEST_F(EventOrderTest, RangesOfTheManagerAndOfTheSession) {
    HandlerSpec s = spec({kCode});
    s.range = PMIX_RANGE_RM;
    const size_t rm = add(s);
    s.range = PMIX_RANGE_SESSION;
    const size_t session = add(s);
    s.range = PMIX_RANGE_GLOBAL;
    const size_t global = add(s);
    EventTraits e = event(kCode);
    EXPECT_EQ(order.chain(e), (Refs{session, global}));
    e.source_is_rm = true;
    EXPECT_EQ(order.chain(e), (Refs{rm, session, global}));
    e.other_session = true;
    EXPECT_EQ(order.chain(e), (Refs{rm, global}));
}

TEST_F(EventOrderTest, LevelsOfEvents) {
    HandlerSpec jobs = spec({}), environment = spec({});
    jobs.environment_level = false;
    environment.job_level = false;
    const size_t j = add(jobs), n = add(environment), both = add(spec({}));
    EventTraits e = event(kCode);
    EXPECT_EQ(order.chain(e), (Refs{j, both}));
    e.of_environment = true;
    EXPECT_EQ(order.chain(e), (Refs{n, both}));
}

// rows: E2 E4
TEST_F(EventOrderTest, AGroupOfOneCodeStandsAmongHandlersForSeveral) {
    HandlerSpec group = spec({kCode});
    group.grouped = true;
    const size_t g = add(group);
    const size_t twice = add(spec({kCode, kCode}));
    EXPECT_EQ(order.chain(event(kCode)), (Refs{twice, g}));
}

// rows: E9
TEST_F(EventOrderTest, AffectedProcsMustBeNamed) {
    HandlerSpec s = spec({kCode});
    s.affected = {ProcId("job", 7)};
    const size_t a = add(s);
    EventTraits e = event(kCode);
    EXPECT_TRUE(order.chain(e).empty());
    e.affected = {ProcId("job", 6)};
    EXPECT_TRUE(order.chain(e).empty());
    e.affected.add(ProcId("job", PMIX_RANK_WILDCARD));
    EXPECT_EQ(order.chain(e), (Refs{a}));
}

// As the processes would by themselves: an empty namespace and an open rank stand for all, on either side.
TEST_F(EventOrderTest, AffectedProcs_MatchAsOneByOne) {
    std::vector<ProcId> all;
    for (const char* nspace : {"", "a", "job", "z"})
        for (const common::Rank rank : {0u, 7u, PMIX_RANK_WILDCARD, PMIX_RANK_UNDEF}) all.emplace_back(nspace, rank);
    for (const ProcId& pattern : all)
        for (const ProcId& one : all) {
            EventOrder fresh{ProcId("job", 0)};
            HandlerSpec s = spec({kCode});
            s.affected = {pattern};
            ASSERT_TRUE(fresh.add(s).ok());
            EventTraits e = event(kCode);
            e.affected = {ProcId("other", 3), one, ProcId("other", 4)};
            const bool other = proc_matches(pattern, ProcId("other", 3)) || proc_matches(pattern, ProcId("other", 4));
            EXPECT_EQ(proc_matches(pattern, one) || other, !fresh.chain(e).empty())
                << pattern.nspace << ':' << pattern.rank << ' ' << one.nspace << ':' << one.rank;
        }
}

// rows: E2
TEST_F(EventOrderTest, AnyIntegerMayBeACode) {
    const size_t a = add(spec({42}));
    const size_t b = add(spec({-1000000}));
    EXPECT_EQ(order.chain(event(42)), (Refs{a}));
    EXPECT_EQ(order.chain(event(-1000000)), (Refs{b}));
}

}  // namespace
}  // namespace pmix::client::event_order_test
