// SPDX-License-Identifier: BSD-3-Clause
// The groups that have formed, alone: how they are found, and what a list that names them stands for.
#include "server/namespaces/group_registry.h"

#include <gtest/gtest.h>

#include "support/cpu_time.h"
#include "support/status.h"

namespace group_registry_test {

using namespace pmix;
using namespace pmix::server;
using common::ProcId;
using common::ProcList;

namespace {

uint64_t add(GroupRegistry& groups, const std::string& name, uint32_t first, uint32_t members) {
    Group group;
    group.name = name;
    for (uint32_t i = 0; i < members; ++i) group.members.push_back({{"job", first + i}});
    for (uint32_t i = 0; i < members; i += 2) group.here.emplace_back("job", first + i);
    return groups.add(std::move(group)).number;
}

}  // namespace

// rows: R6
TEST(GroupRegistryTest, Replace_GroupNamedManyTimes_ItsMembersAreThereOnce) {
    GroupRegistry groups;
    add(groups, "g", 10, 100);
    ProcList named(100'000, ProcId("g", PMIX_RANK_WILDCARD));
    named.emplace_back("g", 7);
    named.emplace_back("other", PMIX_RANK_WILDCARD);
    common::ProcOrder order(named);
    EXPECT_STATUS(PMIX_SUCCESS, groups.replace(order, {"job", 10}));
    const ProcList procs = order.list();
    ASSERT_EQ(102u, procs.size());
    EXPECT_EQ(ProcId("job", 10), procs[0]);
    EXPECT_EQ(ProcId("job", 109), procs[99]);
    EXPECT_EQ(ProcId("job", 17), procs[100]);
    EXPECT_EQ(ProcId("other", PMIX_RANK_WILDCARD), procs[101]);
    common::ProcOrder beyond({{"g", 100}});
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, groups.replace(beyond, {"job", 10}));
}

TEST(GroupRegistryTest, Erase_OneByName_LeavesTheOthersOfThatName) {
    GroupRegistry groups;
    const uint64_t one = add(groups, "g", 0, 2), two = add(groups, "g", 2, 2);
    groups.erase(one);
    groups.erase(one);
    EXPECT_EQ(nullptr, groups.find(one));
    ASSERT_NE(nullptr, groups.find(two));
    EXPECT_EQ(groups.find(two), groups.find("g", {"job", 3}));
    EXPECT_EQ(groups.all().end(), groups.erase(groups.all().begin()));
    EXPECT_EQ(nullptr, groups.find(two));
    EXPECT_TRUE(groups.empty());
}

TEST(GroupRegistryTest, Of_LocalMember_IsItsGroupsAlone) {
    GroupRegistry groups;
    std::vector<uint64_t> numbers;
    for (uint32_t i = 0; i < 100; ++i) numbers.push_back(add(groups, "g" + std::to_string(i), 4 * i, 5));
    EXPECT_EQ((std::vector<uint64_t>{numbers[0]}), groups.of({"job", 0}));
    EXPECT_EQ((std::vector<uint64_t>{numbers[4], numbers[5]}), groups.of({"job", 20}));
    EXPECT_TRUE(groups.of({"job", 21}).empty()) << "of another node";
    EXPECT_TRUE(groups.of({"other", 20}).empty());
    groups.erase(numbers[4]);
    EXPECT_EQ((std::vector<uint64_t>{numbers[5]}), groups.of({"job", 20}));
    EXPECT_TRUE(groups.of({"job", 18}).empty());
}

// A process forms as many as its user's memory holds, and ends. With a look at all for each it takes minutes.
TEST(GroupRegistryTest, Erase_EachOfManyByItsNumber_TakesTimeThatGrowsWithTheirNumber) {
    constexpr uint32_t kGroups = 200'000;
    GroupRegistry groups;
    std::vector<uint64_t> numbers;
    for (uint32_t i = 0; i < kGroups; ++i) numbers.push_back(add(groups, "g" + std::to_string(i), 0, 1));
    const double before = test::cpu_seconds();
    for (const uint64_t number : numbers) {
        ASSERT_NE(nullptr, groups.find(number));
        groups.erase(number);
    }
    EXPECT_TRUE(groups.empty());
    EXPECT_LT(test::cpu_seconds() - before, 20.0);
}

}  // namespace group_registry_test
