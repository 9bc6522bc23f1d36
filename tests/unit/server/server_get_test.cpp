// SPDX-License-Identifier: BSD-3-Clause
// Get through a whole server: pending requests for local processes, direct modex out and in, and how each wait ends.
#include "support/status.h"
#include "unit/server/server_get_setting.h"

namespace server_get_test {

using namespace pmix;
using namespace pmix::test;

namespace {

void fence(GetSetting& s) {
    const uint32_t f = s.a.start_fence({}, true);
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.b, s.b.start_fence({}, true)));
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, f));
}

}  // namespace

// Without a limit of time a get waits for the first commit; with one, for the key. rows: K20
TEST(ServerGetTest, LocalTarget_CommitsWithoutTheKey_EndsOnlyAGetWithoutALimit) {
    GetSetting s(1);
    ASSERT_STATUS(PMIX_SUCCESS, s.a.hello());  // b has not even connected
    uint32_t unlimited = s.a.start_get({"job", 1}, "k"), limited = s.a.start_get({"job", 1}, "k", 600),
             never = s.a.start_get({"job", 1}, "never", 600);
    s.server.settle();
    EXPECT_FALSE(s.a.take(unlimited));
    ASSERT_STATUS(PMIX_SUCCESS, s.b.hello());
    s.server.settle();
    EXPECT_FALSE(s.a.take(unlimited)) << "it has committed nothing";
    s.b.put("other", "x");
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, unlimited));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, s.a.start_get({"job", 1}, "k"))) << "at once now";
    EXPECT_FALSE(s.a.take(limited)) << "another key is not the one";
    s.b.put("k", "here");
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, limited));
    EXPECT_EQ("here", s.a.read_text(1, "k"));
    s.b.kill();
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, never)) << "the target has gone without it";
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, s.a.start_get({"job", 1}, "never", 600)))
        << "and is not waited for again";
    EXPECT_EQ(0u, s.host.count("direct_modex"));
    EXPECT_EQ(0u, s.server.parts().get.waiting());
}

// It cannot commit while it waits, so it does not wait but for a limit of its own. rows: K20
TEST(ServerGetTest, OwnKeyBeforeAnyCommit_IsNotFoundAtOnce) {
    GetSetting s(1);
    ASSERT_STATUS(PMIX_SUCCESS, s.a.hello());
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, s.a.start_get({"job", 0}, "k")));
    const uint32_t limited = s.a.start_get({"job", 0}, "k", 600);
    s.server.settle();
    EXPECT_FALSE(s.a.take(limited));
    s.a.put("k", "by another thread");
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, limited));
}

// Another process of the rank may commit meanwhile. rows: K20
TEST(ServerGetTest, OwnKeyBeforeAnyCommitOfACloneToo_IsWaitedFor) {
    GetSetting s(1);
    ASSERT_STATUS(PMIX_SUCCESS, s.a.hello());
    FakeClient clone(s.server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, clone.hello());
    const uint32_t waits = s.a.start_get({"job", 0}, "k");
    s.server.settle();
    EXPECT_FALSE(s.a.take(waits));
    clone.put("k", "by the clone");
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, waits));
}

// Where all processes of a job were here and have left, nobody can commit the key of any rank any more. rows: K22
TEST(ServerGetTest, AnyRank_AllProcessesOfTheJobLeave_IsNotFound) {
    GetSetting s(1);
    TestServer& server = s.server;
    server.job("other", 1, 2, false);
    server.add_client("other", 0);
    ASSERT_STATUS(PMIX_SUCCESS, s.a.hello());
    FakeClient c(server, {"other", 0}), d(server, {"other", 1});
    ASSERT_STATUS(PMIX_SUCCESS, c.hello());
    const uint32_t unlimited = s.a.start_get({"other", PMIX_RANK_UNDEF}, "k"),
                   limited = s.a.start_get({"other", PMIX_RANK_UNDEF}, "k", 600),
                   of_own_job = s.a.start_get({"job", PMIX_RANK_UNDEF}, "k");
    server.settle();
    c.kill();
    server.settle();
    EXPECT_FALSE(s.a.take(unlimited)) << "the other one has not even been registered";
    server.add_client("other", 1);
    ASSERT_STATUS(PMIX_SUCCESS, d.hello());
    EXPECT_STATUS(PMIX_SUCCESS, d.ask<Command::finalize>(common::FinalizeRequest{}));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, unlimited));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, limited));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, s.a.start_get({"other", PMIX_RANK_UNDEF}, "k")))
        << "a later request does not wait either";
    EXPECT_FALSE(s.a.take(of_own_job)) << "its processes are there";
    // One that is registered anew may commit it.
    server.on_loop([&] { server.setup().deregister_client({"other", 1}); });
    server.add_client("other", 1);
    const uint32_t again = s.a.start_get({"other", PMIX_RANK_UNDEF}, "k");
    server.settle();
    EXPECT_FALSE(s.a.take(again));
    FakeClient e(server, {"other", 1});
    ASSERT_STATUS(PMIX_SUCCESS, e.hello());
    e.put("k", "late");
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, again));
}

// Of other nodes' processes this server does not see the end. rows: K22
TEST(ServerGetTest, AnyRank_ProcessesOfThisNodeLeaveAndOthersAreElsewhere_GetGoesOn) {
    GetSetting s(1);
    s.server.job("other", 2, 1);
    ASSERT_STATUS(PMIX_SUCCESS, s.a.hello());
    FakeClient c(s.server, {"other", 0});
    ASSERT_STATUS(PMIX_SUCCESS, c.hello());
    const uint32_t get = s.a.start_get({"other", PMIX_RANK_UNDEF}, "k");
    s.server.settle();
    c.kill();
    s.server.settle();
    EXPECT_FALSE(s.a.take(get));
    s.server.on_loop([&] { s.server.setup().deregister_nspace("other"); });
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, get));
}

// All have left before the host says how many the job has. rows: K22
TEST(ServerGetTest, AnyRank_TheJobIsDescribedAfterItsProcessesHaveLeft_IsNotFound) {
    GetSetting s(1);
    ASSERT_STATUS(PMIX_SUCCESS, s.server.add_job("other", 1, {}));
    s.server.add_client("other", 0);
    ASSERT_STATUS(PMIX_SUCCESS, s.a.hello());
    FakeClient c(s.server, {"other", 0});
    ASSERT_STATUS(PMIX_SUCCESS, c.hello());
    const uint32_t get = s.a.start_get({"other", PMIX_RANK_UNDEF}, "k");
    s.server.settle();
    c.kill();
    s.server.settle();
    EXPECT_FALSE(s.a.take(get));
    common::InfoList size;
    size.append_number<uint32_t>(PMIX_JOB_SIZE, 1, PMIX_UINT32);
    ASSERT_STATUS(PMIX_SUCCESS, s.server.add_job("other", 1, size));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, get));
}

// In strict mode a get waits for the key, wherever its process runs, until that has left. rows: K20 K21
TEST(ServerGetTest, StrictMode_TargetCommitsWithoutTheKey_GetWaitsForIt) {
    server::ServerOptions strict;
    strict.strict = true;
    GetSetting s(2, true, strict);
    s.connect();
    s.b.put("other", "x");
    int round = 0;
    bool left = false;
    s.host.data = [&](const Seen&) {
        if (left) return joined(blob_of(2, "k", "far", 2), server::wrap_state("job", 2, server::ModexState::over));
        return ++round < 4 ? blob_of(2, "early", "x", 1) : blob_of(2, "k", "far", 2);
    };
    uint32_t local = s.a.start_get({"job", 1}, "k"), remote = s.a.start_get({"job", 2}, "k");
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, s.a.start_get({"job", 1}, "k", 0, true))) << "PMIX_IMMEDIATE";
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, status_of(s.a, s.a.start_get({"job", 1}, "k", 1))) << "PMIX_TIMEOUT";
    EXPECT_STATUS(PMIX_SUCCESS, status_of(s.a, remote));
    EXPECT_EQ("far", s.a.read_text(2, "k"));
    EXPECT_FALSE(s.a.take(local));
    s.b.put("k", "near");
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, local));
    EXPECT_EQ("near", s.a.read_text(1, "k"));
    // A process that has left puts nothing any more.
    left = true;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, s.a.start_get({"job", 2}, "never")));
    local = s.a.start_get({"job", 1}, "never");
    s.server.settle();
    s.b.kill();
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, local));
    EXPECT_EQ(0u, s.server.parts().get.waiting());
}

// rows: K19 K32 K20
// proves: PMIx_Get PMIX_IMMEDIATE PMIX_TIMEOUT server
TEST(ServerGetTest, ImmediateTimeoutAndRanksThatAreNone) {
    GetSetting s(1);
    s.connect();
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, s.a.start_get({"job", 1}, "k", 0, true)));
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, status_of(s.a, s.a.start_get({"job", 1}, "k", 1)));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, s.a.start_get({"job", 99}, "k")));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, s.a.start_get({"job", 1}, "pmix.nope")))
        << "reserved: no wait";
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, s.a.start_get({"job", 1}, "k", 60, false, true)))
        << "a refresh: no wait";
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, status_at_once(s.a, s.a.start_get({"job", 1}, "k", -1)));
    EXPECT_EQ(0u, s.server.parts().get.waiting());
}

// The host cannot have data of a process that the job does not have. rows: K32
TEST(ServerGetTest, Get_OfARankBeyondTheJob_HostIsNotAsked) {
    GetSetting s(2);
    s.connect();
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, s.a.start_get({"job", 4}, "k")));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, s.a.start_get({"job", 4}, "k", 600)))
        << "with a limit of time";
    EXPECT_EQ(0u, s.host.count("direct_modex"));
    status_at_once(s.a, s.a.start_get({"job", 3}, "k"));
    EXPECT_EQ(1u, s.host.count("direct_modex")) << "the last rank of the job";
}

// Without a placement of the ranks, the size of the job bounds them. rows: K32
TEST(ServerGetTest, Get_OfARankBeyondAJobWithoutPlacement_HostIsNotAsked) {
    GetSetting s(2);
    common::InfoList size;
    size.append_number<uint32_t>(PMIX_JOB_SIZE, 4, PMIX_UINT32);
    ASSERT_STATUS(PMIX_SUCCESS, s.server.add_job("sized", 1, size));
    s.connect();
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, s.a.start_get({"sized", 4}, "k")));
    EXPECT_EQ(0u, s.host.count("direct_modex"));
    status_at_once(s.a, s.a.start_get({"sized", 3}, "k"));
    EXPECT_EQ(1u, s.host.count("direct_modex")) << "the last rank of the job";
}

// A process that has ended waits for nothing, whether a local process or the host would have had the answer. rows: K20
TEST(ServerGetTest, Get_RequesterEnds_IsPendingNoMore) {
    GetSetting s(2);
    s.host.styles["direct_modex"] = Style::later;
    s.connect();
    s.a.start_get({"job", 1}, "k", 600);
    s.a.start_get({"job", 3}, "k", 600);
    ASSERT_TRUE(s.server.turn_until([&] { return s.server.parts().get.waiting() == 2 && s.host.waiting() == 1; }));
    s.a.kill();
    ASSERT_TRUE(s.server.turn_until([&] { return s.server.parts().peers.size() == 1; }));
    EXPECT_EQ(0u, s.server.parts().get.waiting());
    s.host.answer_waiting();
    s.server.settle();
    EXPECT_EQ(1u, s.host.count("direct_modex")) << "the host is not asked again";
}

// What the client finds nowhere it asks nobody for; who does ask (another library, an older one) is not made to wait.
// rows: K19
// proves: PMIx_Get PMIX_OPTIONAL server
TEST(ServerGetTest, OptionalIsAnsweredWithWhatIsHere) {
    GetSetting s(2);
    s.connect();
    for (const ProcId& proc : {ProcId("job", 1), ProcId("job", 3)}) {
        common::GetRequest request;
        request.proc = proc;
        request.key = "k";
        request.generation = 1;
        common::InfoList list;
        list.append_flag(PMIX_OPTIONAL, true);
        request.infos = std::move(list);
        EXPECT_STATUS(PMIX_ERR_NOT_FOUND, s.a.ask<Command::get>(request));
    }
    EXPECT_EQ(0u, s.host.count("direct_modex"));
    EXPECT_EQ(0u, s.server.parts().get.waiting());
}

// Further processes of a rank connect and end again at little cost: only their own requests are looked at for that.
TEST(ServerGetTest, PeerGone_ManyRequestsOfOthers_LooksAtNoneOfThem) {
    constexpr uint64_t kPending = 100;
    GetSetting s(2);
    s.host.styles["direct_modex"] = Style::later;
    s.connect();
    for (uint64_t i = 0; i < kPending; ++i) {
        s.a.start_get({"job", 1}, "k" + std::to_string(i), 600);
        s.server.run_once();
    }
    auto& get = s.server.parts().get;
    ASSERT_TRUE(s.server.turn_until([&] { return get.waiting() == kPending; }));
    const uint64_t before = get.examined();
    const auto connect_and_end = [&](bool asks) {
        FakeClient clone(s.server, {"job", 1});
        ASSERT_STATUS(PMIX_SUCCESS, clone.hello());
        if (asks) {
            clone.start_get({"job", 0}, "mine", 600);
            clone.start_get({"job", 1}, "k7", 600);
            clone.start_get({"job", 2}, "far", 600);
            ASSERT_TRUE(s.server.turn_until([&] { return get.waiting() == kPending + 3; }));
        }
        clone.kill();
        ASSERT_TRUE(s.server.turn_until([&] { return s.server.parts().peers.size() == 2; }));
    };
    connect_and_end(false);
    EXPECT_EQ(before, get.examined());
    EXPECT_EQ(kPending, get.waiting());
    connect_and_end(true);
    EXPECT_EQ(kPending, get.waiting()) << "its own requests have gone with it";
    EXPECT_EQ(before + 3, get.examined());
    // What is left is answered, and one that was answered is not looked for at the end of its peer.
    s.b.put("k7", "seven");
    ASSERT_TRUE(s.server.turn_until([&] { return get.waiting() == kPending - 1; }));
    const uint64_t answered = get.examined();
    s.a.kill();
    ASSERT_TRUE(s.server.turn_until([&] { return get.waiting() == 0; }));
    EXPECT_EQ(answered + kPending - 1, get.examined());
    s.host.answer_waiting();
}

// A commit looks at the requests that its keys can answer, and at no others. rows: K20 K22
TEST(ServerGetTest, Commit_ManyRequestsOfOtherKeysPending_LooksAtNoneOfThem) {
    constexpr uint64_t kPending = 600, kCommits = 50;
    GetSetting s(1);
    s.connect();
    s.b.put("first", "x");
    std::vector<uint32_t> of_any, of_b;
    for (uint64_t i = 0; i < kPending; ++i) {
        of_any.push_back(s.a.start_get({"job", PMIX_RANK_UNDEF}, "any" + std::to_string(i), i % 2 == 0 ? 0 : 600));
        of_b.push_back(s.a.start_get({"job", 1}, "of b" + std::to_string(i), 600));
        s.server.run_once();  // more would not fit into the socket
    }
    auto& get = s.server.parts().get;
    ASSERT_TRUE(s.server.turn_until([&] { return get.waiting() == 2 * kPending; }));
    const uint64_t before = get.examined();
    for (uint64_t i = 0; i < kCommits; ++i) {
        s.b.put("other" + std::to_string(i), "x");
        s.server.run_once();
    }
    s.b.put("any7", "seven");
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, of_any[7]));
    EXPECT_EQ(before + 1, get.examined());
    EXPECT_EQ(2 * kPending - 1, get.waiting());
    s.b.put("of b9", "nine");
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, of_b[9]));
    EXPECT_EQ(before + 2, get.examined());
    // In another scope: no answer for any rank, the end of a request for this one.
    s.b.put("any8", "eight", PMIX_REMOTE);
    s.b.put("of b8", "eight", PMIX_REMOTE);
    EXPECT_STATUS(PMIX_ERR_EXISTS_OUTSIDE_SCOPE, status_at_once(s.a, of_b[8]));
    EXPECT_FALSE(s.a.take(of_any[8]));
    s.b.kill();
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, of_b[10])) << "the process has left without it";
    EXPECT_TRUE(s.server.turn_until([&] { return get.waiting() == kPending - 1; })) << "requests of any rank go on";
    s.a.kill();
    EXPECT_TRUE(s.server.turn_until([&] { return get.waiting() == 0; }));
}

// Data of other nodes, by a fence and by direct modex, is looked through for what it has, not for all that is pending.
// rows: K20 K22
TEST(ServerGetTest, DataOfOtherNodes_ManyRequestsOfOtherKeysOfAnyRankPending_LooksAtNoneOfThem) {
    constexpr uint64_t kPending = 600, kFences = 20;
    GetSetting s(2);
    s.connect();
    std::vector<uint32_t> of_any;
    for (uint64_t i = 0; i < kPending; ++i) {
        of_any.push_back(s.a.start_get({"job", PMIX_RANK_UNDEF}, "any" + std::to_string(i), i % 2 == 0 ? 0 : 600));
        s.server.run_once();  // more would not fit into the socket
    }
    auto& get = s.server.parts().get;
    ASSERT_TRUE(s.server.turn_until([&] { return get.waiting() == kPending; }));
    std::string key;
    uint64_t generation = 0;
    s.host.data = [&](const Seen&) { return blob_of(2, key, "far", ++generation); };
    const uint64_t before = get.examined();
    for (uint64_t i = 0; i < kFences; ++i) {
        key = "other" + std::to_string(i);
        fence(s);
        key = "one more" + std::to_string(i);
        EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.b, s.b.start_get({"job", 2}, key)));
    }
    EXPECT_EQ(before + kFences, get.examined()) << "b's own requests only";
    key = "any7";
    fence(s);
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, of_any[7]));
    key = "any8";
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.b, s.b.start_get({"job", 2}, key)));
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, of_any[8]));
    EXPECT_EQ(before + kFences + 3, get.examined());
    EXPECT_EQ(kPending - 2, get.waiting());
    s.a.kill();
    EXPECT_TRUE(s.server.turn_until([&] { return get.waiting() == 0; }));
}

// Data of a process of another node is looked through for what is awaited of it, not for all that is pending. rows: K21
TEST(ServerGetTest, DataOfOtherNodes_ManyRequestsOfOtherKeysOfOneProcessPending_LooksAtNoneOfThem) {
    constexpr uint64_t kPending = 600, kFences = 20;
    GetSetting s(2);
    s.connect();
    s.host.styles["direct_modex"] = Style::later;
    std::vector<uint32_t> gets;
    for (uint64_t i = 0; i < kPending; ++i) {
        gets.push_back(s.a.start_get({"job", 2}, "awaited" + std::to_string(i), 600));
        s.server.run_once();  // more would not fit into the socket
    }
    auto& get = s.server.parts().get;
    ASSERT_TRUE(s.server.turn_until([&] { return get.waiting() == kPending; }));
    ASSERT_LE(server::kMostUpcalls, s.host.count("direct_modex"));
    std::string key;
    uint64_t generation = 0;
    s.host.data = [&](const Seen&) { return blob_of(2, key, "far", ++generation); };
    const uint64_t before = get.examined();
    for (uint64_t i = 0; i < kFences; ++i) {
        key = "other" + std::to_string(i);
        fence(s);
    }
    EXPECT_EQ(before, get.examined()) << "by fences";
    // The answers to the upcalls, which were made before: each lacks the key that it was made for.
    const size_t upcalls = s.host.count("direct_modex");
    s.host.answer_waiting();
    EXPECT_TRUE(s.server.turn_until([&] { return s.host.count("direct_modex") >= 2 * upcalls; }));
    EXPECT_EQ(before, get.examined()) << "by direct modex";
    EXPECT_EQ(kPending, get.waiting());
    key = "awaited7";
    fence(s);
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, gets[7]));
    EXPECT_EQ("far", s.a.read_text(2, "awaited7"));
    EXPECT_EQ(before + 1, get.examined());
    EXPECT_EQ(kPending - 1, get.waiting());
    s.a.kill();
    EXPECT_TRUE(s.server.turn_until([&] { return get.waiting() == 0; }));
}

// A process that has committed nothing but that: a fence that brings it ends a request for everything. rows: K21
TEST(ServerGetTest, DataOfOtherNodes_CommitWithoutValues_EndsARequestForAllKeys) {
    GetSetting s(2);
    s.connect();
    s.host.styles["direct_modex"] = Style::later;
    const uint32_t all = s.a.start_get({"job", 2}, ""), one = s.a.start_get({"job", 2}, "k");
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.count("direct_modex") == 2; }));
    s.host.data = [](const Seen&) { return blob_of(2, "", "", 1); };
    fence(s);
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, all));
    EXPECT_FALSE(s.a.take(one));
}

}  // namespace server_get_test
