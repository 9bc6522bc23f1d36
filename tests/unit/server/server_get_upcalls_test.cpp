// SPDX-License-Identifier: BSD-3-Clause
// How many upcalls for data of one process of another node are open, which requests wait for one of them, and until
// when.
#include "support/status.h"
#include "unit/server/server_get_setting.h"

namespace server_get_upcalls_test {

using namespace pmix;
using namespace pmix::test;
using server::kMostUpcalls;

namespace {

struct ServerGetUpcalls : ::testing::Test {
    ServerGetUpcalls() : s(2) {
        s.host.styles["direct_modex"] = Style::later;
        s.host.data = [](const Seen&) { return blob_of(2, "k", "far", 1); };
        s.connect();
    }
    // Requests that no upcall can stand for together: each has a limit of its own.
    std::vector<uint32_t> ask(FakeClient& client, const char* key, size_t n) {
        std::vector<uint32_t> ids;
        for (size_t i = 0; i < n; ++i) ids.push_back(client.start_get({"job", 2}, key, limit++));
        s.server.settle();
        return ids;
    }
    size_t upcalls() const { return s.host.count("direct_modex"); }
    GetSetting s;
    int limit = 100;
};

TEST_F(ServerGetUpcalls, MoreThanAreOpen_WaitAndAreAnsweredByTheFirstThatBringsTheirKey) {
    ask(s.a, "absent", kMostUpcalls);
    const auto waiting = ask(s.b, "k", 50);
    ASSERT_EQ(kMostUpcalls, upcalls());
    s.host.answer_first();
    for (const uint32_t id : waiting) EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.b, id));
    EXPECT_EQ(kMostUpcalls, upcalls());
    EXPECT_EQ(kMostUpcalls, s.server.parts().get.waiting()) << "a key that is not there waits on, by its own limit";
}

TEST_F(ServerGetUpcalls, AnAnswerWithoutTheirKey_MakesTheNextUpcall) {
    s.host.data = [](const Seen&) { return blob_of(2, "other", "far", 1); };
    ask(s.a, "absent", kMostUpcalls + 3);
    ASSERT_EQ(kMostUpcalls, upcalls());
    s.host.answer_first();
    s.server.settle();
    EXPECT_EQ(kMostUpcalls + 1, upcalls());
}

// A host may keep what was asked until the key is there.
TEST_F(ServerGetUpcalls, NoAnswer_OneMoreAfterAWhile) {
    ask(s.a, "absent", kMostUpcalls);
    const auto late = ask(s.b, "k", 2);
    ASSERT_EQ(kMostUpcalls, upcalls());
    EXPECT_TRUE(s.server.turn_until([&] { return upcalls() == kMostUpcalls + 2; }));
    for (size_t i = 0; i < kMostUpcalls + 2; ++i) s.host.answer_first();
    for (const uint32_t id : late) EXPECT_STATUS(PMIX_SUCCESS, status_of(s.b, id));
}

TEST_F(ServerGetUpcalls, OtherProcesses_DoNotWait) {
    ask(s.a, "absent", kMostUpcalls + 1);
    s.a.start_get({"job", 3}, "absent");
    s.server.settle();
    EXPECT_EQ(kMostUpcalls + 1, upcalls());
}

TEST_F(ServerGetUpcalls, RequesterGone_ItsRequestsWaitNoLonger) {
    ask(s.a, "absent", kMostUpcalls);
    ask(s.b, "absent", 20);
    EXPECT_EQ(kMostUpcalls + 20, s.server.parts().get.waiting());
    s.b.kill();
    EXPECT_TRUE(s.server.turn_until([&] { return s.server.parts().get.waiting() == kMostUpcalls; }));
    // The time at which one more would have been made passes, and counts for those that come later too.
    const int64_t later = transport::monotonic_ms() + 2 * server::kMoreMs;
    EXPECT_TRUE(s.server.turn_until([&] { return transport::monotonic_ms() > later; }));
    EXPECT_EQ(kMostUpcalls, upcalls());
    ask(s.a, "k", 1);
    EXPECT_EQ(kMostUpcalls, upcalls());
    EXPECT_TRUE(s.server.turn_until([&] { return upcalls() == kMostUpcalls + 1; }));
}

// The upcall of a process that has ended is nobody's: the next one that asks for the same has one of its own, in its
// place.
TEST_F(ServerGetUpcalls, RequesterGone_TheNextThatAsksForTheSameHasItsOwn) {
    constexpr int kLimit = 50;
    s.b.start_get({"job", 2}, "k", kLimit);
    s.server.settle();
    ask(s.a, "absent", kMostUpcalls - 1);
    ASSERT_EQ(kMostUpcalls, upcalls());
    s.b.kill();
    ASSERT_TRUE(s.server.turn_until([&] { return s.server.parts().get.waiting() == kMostUpcalls - 1; }));
    const uint32_t id = s.a.start_get({"job", 2}, "k", kLimit);
    s.server.settle();
    EXPECT_EQ(kMostUpcalls + 1, upcalls());
    s.host.answer_first();  // to the one that has gone
    s.server.settle();
    EXPECT_FALSE(s.a.take(id));
    s.host.answer_waiting();
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, id));
}

}  // namespace
}  // namespace server_get_upcalls_test
