// SPDX-License-Identifier: BSD-3-Clause
// Calls under way, by number and by name.
#include "client/groups/named_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "support/cpu_time.h"

namespace named_calls_test {

using pmix::client::NamedCalls;

namespace {

struct Call {
    uint64_t id = 0;
    std::string name;
};

}  // namespace

TEST(NamedCallsTest, OfSeveralOfANameTheOldestIsFound) {
    NamedCalls<Call> calls;
    EXPECT_TRUE(calls.empty());
    EXPECT_EQ(nullptr, calls.find("a"));
    Call& first = calls.add({1, "b"});
    calls.add({2, "a name that is longer than what a string keeps in itself"});
    calls.add({3, "b"});
    EXPECT_EQ(&first, calls.find("b"));
    EXPECT_EQ(&first, calls.find(1));
    EXPECT_EQ(&first, &calls.oldest());
    EXPECT_EQ(nullptr, calls.find("a")) << "the next in order has another name";
    EXPECT_EQ(2u, calls.find("a name that is longer than what a string keeps in itself")->id);
    calls.remove(first);
    EXPECT_EQ(3u, calls.find("b")->id);
    EXPECT_EQ(2u, calls.oldest().id);
    EXPECT_EQ(nullptr, calls.find(1));
}

// Five times as many take some five times as long, and not 25.
TEST(NamedCallsTest, Many_CostGrowsWithTheirNumber) {
    const auto seconds = [](uint64_t n) {
        NamedCalls<Call> calls;
        const double before = pmix::test::cpu_seconds();
        for (uint64_t i = 0; i < n; ++i) {
            const std::string name = "group" + std::to_string(i);
            EXPECT_EQ(nullptr, calls.find(name));
            calls.add({i, name});
        }
        for (uint64_t i = n; i-- > 0;) calls.remove(*calls.find("group" + std::to_string(i)));
        return pmix::test::cpu_seconds() - before;
    };
    seconds(1000);
    const double few = std::min({seconds(4000), seconds(4000), seconds(4000)});
    EXPECT_LT(seconds(20000), 12 * few);
}

}  // namespace named_calls_test
