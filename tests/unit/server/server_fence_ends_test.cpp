// SPDX-License-Identifier: BSD-3-Clause
// How a fence ends before all have joined: deaths, returns, time limits, the end of its namespace or server.
#include "support/status.h"
#include "unit/server/server_fence_setting.h"

namespace server_fence_ends_test {

using namespace pmix;
using namespace pmix::test;

// rows: F7
TEST(ServerFenceTest, ADeathEndsItForEveryoneAndForLateCallers) {
    FakeHost host;
    auto module = host.module();
    TestServer server(&module);
    server.job("job", 1, 3);
    FakeClient a(server, {"job", 0}), b(server, {"job", 1}), c(server, {"job", 2});
    for (FakeClient* x : {&a, &b, &c}) ASSERT_STATUS(PMIX_SUCCESS, x->hello());
    uint32_t fa = a.start_fence({kJob});
    server.settle();
    c.kill();
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, status_of(a, fa));
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, status_of(b, b.start_fence({kJob}))) << "late for the same round";
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, status_of(a, a.start_fence({kJob}))) << "a new round without the dead one";
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, status_of(b, b.start_fence({kJob})));
    // a set without the dead one is whole
    uint32_t f2 = a.start_fence({{"job", 0}, {"job", 1}});
    EXPECT_STATUS(PMIX_SUCCESS, status_of(b, b.start_fence({{"job", 1}, {"job", 0}})));
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, f2));
}

// rows: F7
// proves: PMIx_Fence PMIX_LOCAL_COLLECTIVE_STATUS server
TEST(ServerFenceTest, ADeathIsToldToTheHostOfASpreadSet) {
    FakeHost host;
    host.styles["fence"] = Style::later;
    auto module = host.module();
    TestServer server(&module);
    server.job("job", 2, 2);
    FakeClient a(server, {"job", 0}), b(server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, b.hello());
    uint32_t fa = a.start_fence({kJob});
    server.settle();
    EXPECT_EQ(0u, host.count("fence"));
    b.kill();
    ASSERT_TRUE(server.turn_until([&] { return host.count("fence") == 1; }));
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS,
                  host.last("fence")->infos.find(PMIX_LOCAL_COLLECTIVE_STATUS)->value.data.status);
    host.answer_waiting();
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, status_of(a, fa));
}

// A process that had joined dies and another one takes its rank: by connecting, or after the host has registered it
// anew.
// The others meet that one. rows: F7
TEST(ServerFenceTest, Fence_MemberIsRestartedAfterItHasJoined_WaitsForTheNewProcess) {
    for (const bool registered_anew : {false, true}) {
        FakeHost host;
        auto module = host.module();
        TestServer server(&module);
        server.job("job", 1, 3);
        FakeClient a(server, {"job", 0}), b(server, {"job", 1}), c(server, {"job", 2});
        for (FakeClient* x : {&a, &b, &c}) ASSERT_STATUS(PMIX_SUCCESS, x->hello());
        a.put("k", "old");
        a.start_fence({kJob});
        const uint32_t fc = c.start_fence({kJob});
        server.settle();
        a.kill();
        server.settle();
        FakeClient again(server, {"job", 0});
        uint32_t fb = 0;
        if (registered_anew) {
            server.on_loop([&] { server.setup().deregister_client({"job", 0}); });
            server.add_client("job", 0);
            fb = b.start_fence({kJob});
            server.settle();
        }
        ASSERT_STATUS(PMIX_SUCCESS, again.hello());
        if (!registered_anew) fb = b.start_fence({kJob});
        server.settle();
        EXPECT_FALSE(b.take(fb)) << "the new process has not called";
        again.put("k", "new");
        const uint32_t fa = again.start_fence({kJob});
        EXPECT_STATUS(PMIX_SUCCESS, status_of(b, fb));
        EXPECT_STATUS(PMIX_SUCCESS, status_of(c, fc));
        EXPECT_STATUS(PMIX_SUCCESS, status_of(again, fa));
        EXPECT_EQ("new", b.read_text(0, "k"));
        EXPECT_EQ(0u, server.parts().fence.open());
    }
}

// It was alone there: nobody is waited for any more, and no other node is told of that round's limit of time. rows: F7
TEST(ServerFenceTest, Fence_OnlyMemberThatHasJoinedIsRestarted_RoundBeginsAnew) {
    FakeHost host;
    auto module = host.module();
    TestServer server(&module);
    server.job("job", 2, 2);
    FakeClient a(server, {"job", 0}), b(server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, b.hello());
    a.start_fence({kJob}, false, 600);
    server.settle();
    ASSERT_EQ(1u, server.parts().fence.open());
    a.kill();
    server.settle();
    EXPECT_EQ(1u, server.parts().fence.open()) << "the others could do without it";
    FakeClient again(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, again.hello());
    EXPECT_EQ(0u, server.parts().fence.open());
    const uint32_t fa = again.start_fence({kJob});
    EXPECT_STATUS(PMIX_SUCCESS, status_of(b, b.start_fence({kJob})));
    EXPECT_STATUS(PMIX_SUCCESS, status_of(again, fa));
    EXPECT_EQ(1u, host.count("fence"));
}

// rows: F7 I12
TEST(ServerFenceTest, Finalize_ThenHelloAgain_JoinsTheOpenFence) {
    FakeHost host;
    auto module = host.module();
    TestServer server(&module);
    server.job("job", 1, 2);
    FakeClient a(server, {"job", 0}), b(server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, b.hello());
    uint32_t fa = a.start_fence({kJob});
    server.settle();
    // Its process, which is this one, still runs.
    EXPECT_STATUS(PMIX_SUCCESS, b.ask<Command::finalize>(common::FinalizeRequest{}));
    b.kill();
    server.settle();
    EXPECT_FALSE(a.take(fa));
    FakeClient again(server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, again.hello());
    EXPECT_STATUS(PMIX_SUCCESS, status_of(again, again.start_fence({kJob})));
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, fa));
}

// A rank that has come back is a member like any other: it is waited for, and nothing is missing. rows: F7 I12
TEST(ServerFenceTest, Fence_MemberHasReturned_IsWaitedFor) {
    FakeHost host;
    auto module = host.module();
    TestServer server(&module);
    server.job("job", 1, 2);
    FakeClient a(server, {"job", 0}), b(server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, b.hello());
    EXPECT_STATUS(PMIX_SUCCESS, b.ask<Command::finalize>(common::FinalizeRequest{}));
    b.kill();
    ASSERT_TRUE(server.turn_until([&] { return server.parts().peers.size() == 1; }));
    FakeClient again(server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, again.hello());
    const uint32_t fence = a.start_fence({kJob});
    server.settle();
    ASSERT_FALSE(a.take(fence)) << "the member that has returned has not called yet";
    EXPECT_STATUS(PMIX_SUCCESS, status_of(again, again.start_fence({kJob})));
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, fence));
}

// rows: F7
TEST(ServerFenceTest, Finalize_ForTheLastTime_EndsTheRank) {
    FakeHost host;
    auto module = host.module();
    for (bool deregistered : {true, false}) {
        TestServer server(&module);
        server.job("job", 1, 2);
        FakeClient a(server, {"job", 0}), b(server, {"job", 1});
        ASSERT_STATUS(PMIX_SUCCESS, a.hello());
        ASSERT_STATUS(PMIX_SUCCESS, b.hello());
        uint32_t fa = a.start_fence({kJob});
        EXPECT_STATUS(PMIX_SUCCESS, b.ask<Command::finalize>(common::FinalizeRequest{}));
        b.kill();
        server.settle();
        server.on_loop([&] {
            if (deregistered) {
                server.setup().deregister_client({"job", 1});
            } else {
                server.parts().exited(server::member_id(server.parts().registry.find("job")->number, 1));
            }
            return 0;
        });
        EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, status_of(a, fa)) << deregistered;
    }
}

TEST(ExitWatchTest, TellsOfTheEndOnce) {
    TestServer server(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    int told = 0;
    auto watch = server.on_loop([&] { return server::ExitWatch::open(*server.loop, child, [&] { ++told; }); });
    ASSERT_NE(nullptr, watch);
    server.settle();
    EXPECT_EQ(0, told);
    ::kill(child, SIGKILL);
    EXPECT_TRUE(server.turn_until([&] { return told != 0; }));
    ::waitpid(child, nullptr, 0);
    server.settle();
    EXPECT_EQ(1, told);
    server.on_loop([&] {
        watch.reset();
        EXPECT_EQ(nullptr, server::ExitWatch::open(*server.loop, 0, [] {}));
        EXPECT_EQ(nullptr, server::ExitWatch::open(*server.loop, child, [] {})) << "it is no more";
        return 0;
    });
}

TEST(ExitWatchTest, NoMemoryForWhatFollows_IsReportedToTheLoop) {
    TestServer server(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        for (;;) ::pause();
    }
    int recovered = 0;
    auto watch = server.on_loop([&] {
        server.loop->set_recovery(&recovered, [&] { return ++recovered > 0; });
        return server::ExitWatch::open(*server.loop, child, [] { throw std::bad_alloc(); });
    });
    ASSERT_NE(nullptr, watch);
    ::kill(child, SIGKILL);
    EXPECT_TRUE(server.turn_until([&] { return recovered != 0; }));
    ::waitpid(child, nullptr, 0);
    server.on_loop([&] {
        watch.reset();
        server.loop->set_recovery(&recovered, {});
        return 0;
    });
}

// rows: F8 G11
// proves: PMIx_Fence PMIX_TIMEOUT server
TEST(ServerFenceTest, TimeoutAnswersAllAndTheNextOneWorks) {
    FakeHost host;
    auto module = host.module();
    TestServer server(&module);
    server.job("job", 1, 2);
    FakeClient a(server, {"job", 0}), b(server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, b.hello());
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, status_of(a, a.start_fence({kJob}, false, 1)));
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, status_of(b, b.start_fence({kJob}))) << "late for that round";
    uint32_t fa = a.start_fence({kJob});
    EXPECT_STATUS(PMIX_SUCCESS, status_of(b, b.start_fence({kJob})));
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, fa));
}

// rows: F8 G11
TEST(ServerFenceTest, Timeouts_OfSeveralMembers_ShortestCounts) {
    TestServer server(nullptr);
    server.job("job", 1, 3);
    FakeClient a(server, {"job", 0}), b(server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, b.hello());
    for (const auto& [first, second] : {std::pair(600, 1), std::pair(1, 600)}) {
        const uint32_t fa = a.start_fence({kJob}, false, first);
        server.settle();
        const uint32_t fb = b.start_fence({kJob}, false, second);
        EXPECT_STATUS(PMIX_ERR_TIMEOUT, status_of(a, fa)) << first << " and " << second << " s";
        EXPECT_STATUS(PMIX_ERR_TIMEOUT, status_of(b, fb)) << first << " and " << second << " s";
    }
}

// rows: F8
TEST(ServerFenceTest, AHostThatIsLateFindsNobody) {
    FakeHost host;
    host.styles["fence"] = Style::later;
    auto module = host.module();
    TestServer server(&module);
    server.job("job", 2, 1);
    FakeClient a(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    uint32_t f = a.start_fence({kJob}, false, 1);
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, status_of(a, f));
    host.answer_waiting();
    server.settle();
    EXPECT_FALSE(a.take(f));
    host.styles.clear();
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, a.start_fence({kJob})));
}

// rows: V8
TEST(ServerFenceTest, TheEndOfTheNamespaceEndsIt) {
    TestServer server(nullptr);
    server.job("one", 1, 1);
    server.job("two", 1, 1);
    FakeClient a(server, {"one", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    uint32_t f = a.start_fence({{"one", 0}, {"two", 0}});
    server.settle();
    EXPECT_FALSE(a.take(f));
    server.on_loop([&] {
        server.setup().deregister_nspace("two");
        return 0;
    });
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_of(a, f));
}

// rows: V2
TEST(ServerFenceTest, StoppingAnswersWhoWaits) {
    TestServer server(nullptr);
    server.job("job", 1, 2);
    FakeClient a(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    uint32_t f = a.start_fence({kJob});
    uint32_t g = a.start_get({"job", 1}, "k");
    server.settle();
    server.stop();
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, status_of(a, f));
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, status_of(a, g));
    EXPECT_TRUE(a.hung_up());
}

}  // namespace server_fence_ends_test
