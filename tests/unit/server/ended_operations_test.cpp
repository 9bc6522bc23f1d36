// SPDX-License-Identifier: BSD-3-Clause
// What late callers of a group's operation are told, and whose is forgotten where there are too many.
#include "server/collectives/ended_operations.h"

#include <gtest/gtest.h>

namespace ended_operations_test {

using namespace pmix;
using namespace pmix::server;
using common::GroupCall;

namespace {

struct Setting {
    EndedOperations ended;
    UserAccount one{1 << 20}, two{1 << 20};

    void keep(const UserAccount& user, const std::string& name, std::vector<MemberId> missing = {1},
              pmix_status_t status = PMIX_ERR_TIMEOUT) {
        ended.keep({GroupCall::construct, name, Signature{{"job", 0}, {"job", 1}}, std::move(missing), status, &user});
    }
    bool take(const std::string& name, MemberId member = 1) {
        return ended.take(GroupCall::construct, name, nullptr, member).has_value();
    }
};

std::string numbered(const char* name, size_t i) {
    return name + std::to_string(i);
}

}  // namespace

TEST(EndedOperations, Take_ByEachThatIsMissing_IsTheStatusOnce) {
    Setting s;
    s.keep(s.one, "g", {1, 2}, PMIX_ERR_PROC_TERM_WO_SYNC);
    const Signature same{{"job", 1}, {"job", 0}}, other{{"job", 0}};
    EXPECT_FALSE(s.ended.take(GroupCall::destruct, "g", nullptr, 1));
    EXPECT_FALSE(s.ended.take(GroupCall::construct, "h", nullptr, 1));
    EXPECT_FALSE(s.ended.take(GroupCall::construct, "g", &other, 1));
    EXPECT_FALSE(s.ended.take(GroupCall::construct, "g", &same, 3));
    EXPECT_EQ(PMIX_ERR_PROC_TERM_WO_SYNC, s.ended.take(GroupCall::construct, "g", &same, 1));
    EXPECT_FALSE(s.take("g"));
    EXPECT_EQ(1u, s.ended.size());
    EXPECT_TRUE(s.take("g", 2));
    EXPECT_EQ(0u, s.ended.size());
}

TEST(EndedOperations, Keep_TooManyOfOneUser_LeavesThoseOfAnother) {
    Setting s;
    for (size_t i = 0; i < 10; ++i) s.keep(s.two, numbered("two", i));
    for (size_t i = 0; i < 3 * EndedOperations::kMost; ++i) s.keep(s.one, numbered("one", i));
    EXPECT_EQ(EndedOperations::kMost, s.ended.size());
    for (size_t i = 0; i < 10; ++i) EXPECT_TRUE(s.take(numbered("two", i))) << i;
    const size_t kept = EndedOperations::kMost - 10;
    EXPECT_FALSE(s.take(numbered("one", 3 * EndedOperations::kMost - kept - 1))) << "the oldest are forgotten";
    EXPECT_TRUE(s.take(numbered("one", 3 * EndedOperations::kMost - kept)));
}

TEST(EndedOperations, Keep_TwoUsersWithMany_HaveAboutHalfEach) {
    Setting s;
    for (size_t i = 0; i < EndedOperations::kMost; ++i) s.keep(s.one, numbered("one", i));
    for (size_t i = 0; i < EndedOperations::kMost; ++i) s.keep(s.two, numbered("two", i));
    size_t of_one = 0, of_two = 0;
    for (size_t i = 0; i < EndedOperations::kMost; ++i) {
        of_one += s.take(numbered("one", i));
        of_two += s.take(numbered("two", i));
    }
    EXPECT_EQ(EndedOperations::kMost, of_one + of_two);
    EXPECT_LE(of_one, EndedOperations::kMost / 2 + 1);
    EXPECT_GE(of_one, EndedOperations::kMost / 2 - 1);
}

TEST(EndedOperations, Drop_MembersAndNamespaces_LeavesTheOthers) {
    Setting s;
    s.keep(s.one, "g", {1, 2});
    s.keep(s.one, "h", {1});
    s.ended.drop_members([](MemberId m) { return m == 1; });
    EXPECT_EQ(1u, s.ended.size());
    s.ended.drop_those_of("other");
    EXPECT_EQ(1u, s.ended.size());
    s.ended.drop_those_of("job");
    EXPECT_EQ(0u, s.ended.size());
}

}  // namespace ended_operations_test
