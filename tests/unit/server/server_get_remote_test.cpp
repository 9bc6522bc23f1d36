// SPDX-License-Identifier: BSD-3-Clause
// Get through a whole server, of processes of other nodes: direct modex out and in, and how each wait ends.
#include "support/status.h"
#include "unit/server/server_get_setting.h"

namespace server_get_remote_test {

using namespace pmix;
using namespace pmix::test;

// The host's answer is as old as its upcall: a request that was made after the upcall is not decided by it. rows: K21
TEST(ServerGetTest, Get_MadeDuringAnUpcallThatLacksTheKey_HostIsAskedAgain) {
    GetSetting s(2);
    s.host.styles["direct_modex"] = Style::later;
    bool put = false;
    s.host.data = [&](const Seen&) { return put ? blob_of(2, "k", "now", 2) : blob_of(2, "early", "x", 1); };
    s.connect();
    const uint32_t first = s.a.start_get({"job", 2}, "k");
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.waiting() == 1; }));
    const uint32_t second = s.b.start_get({"job", 2}, "k");
    s.server.settle();
    ASSERT_EQ(1u, s.host.count("direct_modex"));
    put = true;  // for the next upcall
    s.host.answer_first();
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, first));
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.waiting() == 1 || s.b.take(second); }));
    ASSERT_EQ(2u, s.host.count("direct_modex"));
    s.host.answer_first();
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.b, second));
    EXPECT_EQ("now", s.b.read_text(2, "k"));
    EXPECT_EQ(0u, s.server.parts().get.waiting());
}

// proves: PMIx_Get PMIX_GET_REFRESH_CACHE server
TEST(ServerGetTest, Refresh_OfAValueThatIsHere_IsTheOwnersNewest) {
    GetSetting s(2);
    s.connect();
    s.host.data = [](const Seen&) { return blob_of(2, "k", "old", 1); };
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, s.a.start_get({"job", 2}, "k")));
    s.host.data = [](const Seen&) { return blob_of(2, "k", "new", 2); };
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, s.a.start_get({"job", 2}, "k")));
    EXPECT_EQ(1u, s.host.count("direct_modex")) << "what is here is not asked for again";
    EXPECT_EQ("old", s.a.read_text(2, "k"));
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, s.a.start_get({"job", 2}, "k", 0, false, true)));
    EXPECT_EQ(2u, s.host.count("direct_modex"));
    EXPECT_EQ("new", s.a.read_text(2, "k"));
}

// A refresh is about what there is: it does not wait, wherever the owner is, with a limit and without.
TEST(ServerGetTest, Refresh_OfAMissingKey_IsAnsweredAtOnce) {
    for (const bool strict : {false, true}) {
        for (const bool committed : {false, true}) {
            for (const common::Rank rank : {1u, 2u}) {
                for (const int timeout_s : {0, 60}) {
                    SCOPED_TRACE("rank " + std::to_string(rank) + ", limit " + std::to_string(timeout_s) +
                                 (strict ? ", strict" : "") + (committed ? ", committed" : ""));
                    server::ServerOptions options;
                    options.strict = strict;
                    GetSetting s(2, true, std::move(options));
                    s.connect();
                    s.host.data = [&](const Seen&) {
                        return committed ? blob_of(2, "other", "x", 1)
                                         : server::wrap_state("job", 2, server::ModexState::not_yet);
                    };
                    if (committed) s.b.put("other", "x");
                    EXPECT_STATUS(PMIX_ERR_NOT_FOUND,
                                  status_at_once(s.a, s.a.start_get({"job", rank}, "k", timeout_s, false, true)));
                    EXPECT_EQ(rank == 2 ? 1u : 0u, s.host.count("direct_modex"));
                    EXPECT_EQ(0u, s.server.parts().get.waiting());
                }
            }
        }
    }
}

// What a refresh of a value of another node waits for is the host's answer.
TEST(ServerGetTest, Refresh_HostIsSilent_EndsWithTheLimitTheProcessOrItsJob) {
    GetSetting s(2);
    s.connect();
    s.host.data = [](const Seen&) { return blob_of(2, "k", "old", 1); };
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, s.a.start_get({"job", 2}, "k")));
    s.host.styles["direct_modex"] = Style::later;
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, status_of(s.a, s.a.start_get({"job", 2}, "k", 1, false, true)));
    const uint32_t ended = s.a.start_get({"job", 3}, "k", 0, false, true);
    s.server.settle();
    s.host.data = [](const Seen&) { return server::wrap_state("job", 3, server::ModexState::over); };
    s.host.answer_waiting();
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_of(s.a, ended)) << "as the server of a process that has ended answers";
    s.server.job("other", 2, 1, false);
    const uint32_t of_a_job = s.b.start_get({"other", 1}, "k", 0, false, true);
    s.server.settle();
    s.server.on_loop([&] {
        s.server.setup().deregister_nspace("other");
        return 0;
    });
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_of(s.b, of_a_job));
}

TEST(ServerGetTest, DirectModexIn_ServerFinalizes_HostIsAnswered) {
    GetSetting s(2);
    std::optional<pmix_status_t> answer;
    s.server.on_loop([&] {
        s.server.parts().get.modex_request({"job", 0}, [&](pmix_status_t status, common::Bytes) { answer = status; });
        return 0;
    });
    s.server.settle();
    EXPECT_FALSE(answer);
    s.server.stop();
    ASSERT_TRUE(answer);
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, *answer);
}

// The key that the host is told is the request's, whatever the caller's attributes contain.
TEST(ServerGetTest, Get_WithARequiredKeyAmongItsAttributes_HostIsToldTheKeyOfTheRequest) {
    GetSetting s(2);
    s.connect();
    common::GetRequest request;
    request.proc = {"job", 2};
    request.key = "k";
    request.generation = 1;
    common::InfoList list;
    list.append_string(PMIX_REQUIRED_KEY, "another");
    request.infos = std::move(list);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, s.a.ask<Command::get>(request));
    const Seen* seen = s.host.last("direct_modex");
    ASSERT_NE(nullptr, seen);
    size_t keys = 0;
    for (const pmix_info_t& info : seen->infos) keys += common::key_view(info) == PMIX_REQUIRED_KEY;
    EXPECT_EQ(1u, keys);
    EXPECT_STREQ("k", seen->infos.find(PMIX_REQUIRED_KEY)->value.data.string);
}

// A key that its process put for its own node only: the target's server reports that, the requester's passes it on.
// rows: K30
TEST(ServerGetTest, Get_OfAKeyThatStaysOnItsNode_ExistsOutsideTheScope) {
    GetSetting s(2);
    s.connect();
    TestServer there(nullptr);
    there.job("job", 1, 3);
    FakeClient far(there, {"job", 2});
    ASSERT_STATUS(PMIX_SUCCESS, far.hello());
    far.put("near", "x", PMIX_LOCAL);
    far.put("k", "y");
    there.settle();
    std::vector<uint8_t> blob;
    s.host.data = [&, ask = modex_from(there)](const Seen& seen) { return blob = ask(seen); };
    EXPECT_STATUS(PMIX_ERR_EXISTS_OUTSIDE_SCOPE, status_at_once(s.a, s.a.start_get({"job", 2}, "near")));
    EXPECT_TRUE(server::says_kept(blob, "job", 2, "near"));
    EXPECT_FALSE(server::says_kept(blob, "job", 2, "k")) << "it was sent";
    EXPECT_EQ("y", s.a.read_text(2, "k"));
}

// rows: V13
TEST(ServerGetTest, DirectModexIn_OfAProcessThatHasLeftWithoutData_IsAnsweredAtOnce) {
    GetSetting s(2);
    s.connect();
    s.b.kill();
    ASSERT_TRUE(s.server.turn_until([&] { return s.server.parts().peers.size() == 1; }));
    std::optional<pmix_status_t> answer;
    s.server.on_loop([&] {
        s.server.parts().get.modex_request({"job", 1}, [&](pmix_status_t status, common::Bytes) { answer = status; });
        s.server.parts().host.flush();
        return 0;
    });
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, answer.value_or(PMIX_SUCCESS));
    EXPECT_EQ(0u, s.server.parts().get.waiting());
}

// rows: K30
TEST(ServerGetTest, RemoteDataExistsOutsideALocalPeersScope) {
    GetSetting s(1);
    s.connect();
    uint32_t g = s.a.start_get({"job", 1}, "r");
    s.server.settle();
    s.b.put("r", "far only", PMIX_REMOTE);
    EXPECT_STATUS(PMIX_ERR_EXISTS_OUTSIDE_SCOPE, status_at_once(s.a, g));
    EXPECT_STATUS(PMIX_ERR_EXISTS_OUTSIDE_SCOPE, status_at_once(s.a, s.a.start_get({"job", 1}, "r")));
}

// rows: K21 U6
TEST(ServerGetTest, RemoteTargetGoesToTheHostOnceForAllWhoAsk) {
    GetSetting s(2);
    s.host.styles["direct_modex"] = Style::later;
    s.host.data = [](const Seen&) { return blob_of(2, "k", "far", 1); };
    s.connect();
    uint32_t ga = s.a.start_get({"job", 2}, "k");
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.count("direct_modex") == 1; }));
    uint32_t gb = s.b.start_get({"job", 2}, "k");
    s.server.settle();
    const Seen* seen = s.host.last("direct_modex");
    EXPECT_EQ(ProcId("job", 2), seen->proc);
    ASSERT_NE(nullptr, seen->infos.find(PMIX_REQUIRED_KEY));
    EXPECT_STREQ("k", seen->infos.find(PMIX_REQUIRED_KEY)->value.data.string);
    EXPECT_EQ(1u, s.host.count("direct_modex"));
    s.host.answer_waiting();
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, ga));
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.b, gb));
    EXPECT_EQ("far", s.b.read_text(2, "k"));
    EXPECT_EQ(1, s.host.released);
}

// One rank's limit, key and required entry are not its neighbour's. rows: K20 K21 G11
TEST(ServerGetTest, TwoRequestersOfOneProcess_HostIsToldOfEach) {
    GetSetting s(2);
    s.host.styles["direct_modex"] = Style::later;
    s.connect();
    const auto asks = [&](FakeClient& who, const char* key, int limit, size_t upcalls) {
        const uint32_t id = who.start_get({"job", 2}, key, limit);
        EXPECT_TRUE(s.server.turn_until([&] { return s.host.count("direct_modex") == upcalls; }));
        return id;
    };
    s.host.statuses["direct_modex"] = PMIX_ERR_TIMEOUT;  // this host minds the limit that it was told
    const uint32_t hasty = asks(s.a, "k", 1, 1);
    s.host.statuses["direct_modex"] = PMIX_SUCCESS;
    s.host.data = [](const Seen&) { return blob_of(2, "k", "far", 1, "other"); };
    const uint32_t patient = asks(s.b, "k", 600, 2), other = asks(s.b, "other", 0, 3),
                   another = asks(s.a, "other", 0, 3);
    s.server.settle();
    EXPECT_EQ(3u, s.host.count("direct_modex")) << "once for both who ask the same";
    EXPECT_EQ(std::pair(std::string("k"), 1), asked_for(s.host, 0));
    EXPECT_EQ(std::pair(std::string("k"), 600), asked_for(s.host, 1));
    EXPECT_EQ(std::pair(std::string("other"), 0), asked_for(s.host, 2));
    ASSERT_NE(nullptr, s.host.last("direct_modex")->infos.find(PMIX_USERID));
    EXPECT_EQ(::geteuid(), s.host.last("direct_modex")->infos.find(PMIX_USERID)->value.data.uint32);
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, status_of(s.a, hasty));
    s.host.answer_first();
    s.server.settle();
    EXPECT_FALSE(s.b.take(patient));
    s.host.answer_first();
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.b, patient));
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.b, other)) << "whichever upcall brings it";
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, another));
    s.host.answer_waiting();
    s.server.settle();
    EXPECT_EQ(0u, s.server.parts().get.waiting());
}

// rows: K20 K21 G11
TEST(ServerGetTest, TheHostsTimeout_EndsOnlyRequestsWithoutALimit) {
    GetSetting s(2);
    s.connect();
    int round = 0;
    s.host.inside["direct_modex"] = [&] {
        s.host.statuses["direct_modex"] = ++round == 1 ? PMIX_ERR_TIMEOUT : PMIX_SUCCESS;
    };
    s.host.data = [](const Seen&) { return blob_of(2, "k", "far", 1); };
    EXPECT_STATUS(PMIX_SUCCESS, status_of(s.a, s.a.start_get({"job", 2}, "k", 600)));
    EXPECT_EQ(2u, s.host.count("direct_modex"));
    round = 0;
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, status_of(s.a, s.a.start_get({"job", 3}, "k"))) << "the host's own limit";
}

// A request after one that timed out does not wait for an upcall that the host may have forgotten. rows: K20 K21
TEST(ServerGetTest, ARetryAfterATimeout_AsksTheHostAgain) {
    GetSetting s(2);
    s.host.styles["direct_modex"] = Style::later;
    s.connect();
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, status_of(s.a, s.a.start_get({"job", 2}, "k", 1)));
    EXPECT_EQ(1u, s.host.count("direct_modex"));
    s.host.styles["direct_modex"] = Style::before_return;
    s.host.data = [](const Seen&) { return blob_of(2, "k", "far", 1); };
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, s.a.start_get({"job", 2}, "k", 60)));
    s.host.answer_waiting();
    s.server.settle();
    EXPECT_EQ(0u, s.server.parts().get.waiting());
}

// Where the target's server would not wait longer, the requester's asks again; where the target has left, nobody waits.
// rows: K20 K21 V13
TEST(ServerGetTest, HowTheTargetStands_DecidesWhetherToAskAgain) {
    GetSetting s(2);
    s.connect();
    int round = 0;
    s.host.data = [&](const Seen&) {
        return ++round < 3 ? server::wrap_state("job", 2, server::ModexState::not_yet) : blob_of(2, "k", "far", 1);
    };
    EXPECT_STATUS(PMIX_SUCCESS, status_of(s.a, s.a.start_get({"job", 2}, "k")));
    EXPECT_EQ(3u, s.host.count("direct_modex"));
    s.host.data = [&](const Seen&) {
        return joined(blob_of(3, "early", "x", 1), server::wrap_state("job", 3, server::ModexState::over));
    };
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, s.a.start_get({"job", 3}, "k", 600))) << "as of a local one";
    EXPECT_EQ(0u, s.server.parts().get.waiting());
}

// rows: K21
TEST(ServerGetTest, AMissingKeyIsNotFoundAndAskedForAgain) {
    GetSetting s(2);
    s.connect();
    int calls = 0;
    s.host.data = [&](const Seen&) { return ++calls < 2 ? blob_of(2, "early", "x", 1) : blob_of(2, "k", "now", 2); };
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, s.a.start_get({"job", 2}, "k")));
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, s.a.start_get({"job", 2}, "k")));
    EXPECT_EQ(2u, s.host.count("direct_modex"));
    EXPECT_EQ("now", s.a.read_text(2, "k"));
}

// rows: K21
TEST(ServerGetTest, WithATimeoutItIsTriedUntilTheKeyIsThere) {
    GetSetting s(2);
    s.connect();
    int calls = 0;
    s.host.data = [&](const Seen&) { return ++calls < 4 ? blob_of(2, "early", "x", 1) : blob_of(2, "k", "now", 2); };
    EXPECT_STATUS(PMIX_SUCCESS, status_of(s.a, s.a.start_get({"job", 2}, "k", 60)));
    EXPECT_EQ(4u, s.host.count("direct_modex"));
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, status_of(s.a, s.a.start_get({"job", 2}, "never", 1)));
    EXPECT_EQ(0u, s.server.parts().get.waiting());
}

// rows: K21 U1 U6
TEST(ServerGetTest, TheHostsErrorReachesAllWaiters) {
    for (Style style : {Style::fails, Style::before_return, Style::other_thread}) {
        GetSetting s(2);
        s.connect();
        s.host.styles["direct_modex"] = style;
        s.host.statuses["direct_modex"] = PMIX_ERR_UNREACH;
        uint32_t ga = s.a.start_get({"job", 2}, "k"), gb = s.b.start_get({"job", 3}, "k");
        EXPECT_STATUS(PMIX_ERR_UNREACH, status_of(s.a, ga));
        EXPECT_STATUS(PMIX_ERR_UNREACH, status_of(s.b, gb));
    }
    GetSetting none(2, false);
    none.connect();
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(none.a, none.a.start_get({"job", 2}, "k")))
        << "no entry in the module";
}

// A host may hold a direct modex until a fence ends, and forget it: what the fence brings is an answer, too.
// rows: K21 F2
TEST(ServerGetTest, WhatAFenceBringsIsNotWaitedForAtTheHost) {
    GetSetting s(2);
    s.host.styles["direct_modex"] = s.host.styles["fence"] = Style::later;
    s.host.data = [](const Seen& seen) {
        return seen.what == "fence" ? blob_of(2, "k", "far", 1) : blob_of(2, "other", "later", 2);
    };
    s.connect();
    uint32_t fa = s.a.start_fence({{"job", PMIX_RANK_WILDCARD}}, true);
    uint32_t fb = s.b.start_fence({{"job", PMIX_RANK_WILDCARD}}, true);
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.count("fence") == 1; }));
    uint32_t ga = s.a.start_get({"job", 2}, "k"), other = s.b.start_get({"job", 3}, "k");
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.count("direct_modex") == 2; }));
    s.host.answer_first();
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, ga));
    EXPECT_EQ("far", s.a.read_text(2, "k"));
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, fa));
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.b, fb));
    EXPECT_FALSE(s.b.take(other)) << "the fence brought nothing of that rank";
    // What the host was asked for first does not keep others from asking.
    uint32_t again = s.a.start_get({"job", 2}, "other");
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.count("direct_modex") == 3; }));
    s.host.answer_waiting();
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, again));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.b, other));
    s.server.settle();
    EXPECT_FALSE(s.a.take(ga)) << "once";
    EXPECT_EQ(0u, s.server.parts().get.waiting());
}

// A process that has not been asked yet when the fence ends is not asked at all.
// rows: K21 F2
TEST(ServerGetTest, AGetThatMeetsTheEndOfAFenceDoesNotGoToTheHost) {
    GetSetting s(2);
    s.host.styles["direct_modex"] = s.host.styles["fence"] = Style::later;
    s.host.data = [](const Seen&) { return blob_of(2, "k", "far", 1); };
    s.connect();
    for (FakeClient* client : {&s.a, &s.b}) client->start_fence({{"job", PMIX_RANK_WILDCARD}}, true);
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.count("fence") == 1; }));
    uint32_t g = s.a.start_get({"job", 2}, "k");  // lies in the socket
    s.host.answer_first();                        // lies in the loop's queue
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, g));
    EXPECT_EQ(0u, s.host.count("direct_modex"));
    // The newest word of its owner comes from there only.
    uint32_t newest = s.a.start_get({"job", 2}, "k", 0, false, true);
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.count("direct_modex") == 1; }));
    s.host.answer_waiting();
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, newest));
}

// rows: K22
TEST(ServerGetTest, AnyRankThatHasTheKey) {
    GetSetting s(2);
    s.connect();
    uint32_t g = s.a.start_get({"job", PMIX_RANK_UNDEF}, "unique");
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, status_of(s.a, s.a.start_get({"job", PMIX_RANK_UNDEF}, "other", 1)));
    EXPECT_FALSE(s.a.take(g));
    s.b.put("unique", "of b");
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, g));
    // and from a remote rank, by a fence
    g = s.a.start_get({"job", PMIX_RANK_UNDEF}, "far");
    s.server.settle();
    s.host.data = [](const Seen&) { return blob_of(3, "far", "of 3", 1); };
    uint32_t f = s.a.start_fence({}, true);
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.b, s.b.start_fence({}, true)));
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, f));
    EXPECT_STATUS(PMIX_SUCCESS, status_at_once(s.a, g));
}

// rows: K17
TEST(ServerGetTest, AnUnknownNamespaceIsTheHostsMatter) {
    GetSetting s(1);
    s.connect();
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, s.a.start_get({"strange", 0}, "k", 0, true)));
    EXPECT_EQ(0u, s.host.count("direct_modex"));
    s.host.statuses["direct_modex"] = PMIX_ERR_NOT_FOUND;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, s.a.start_get({"strange", 0}, "k")));
    EXPECT_EQ(1u, s.host.count("direct_modex"));
}

// A host that has waited for long has asked often: what the process has put is written once for all. rows: V13
TEST(ServerGetTest, DirectModexInOfOneProcess_ManyThatWait_ShareOneAnswer) {
    GetSetting s(2);
    std::vector<const uint8_t*> answers;
    const auto ask = [&](int times) {
        s.server.on_loop([&] {
            for (int i = 0; i < times; ++i)
                s.server.parts().get.modex_request({"job", 0}, [&answers](pmix_status_t status, common::Bytes bytes) {
                    EXPECT_STATUS(PMIX_SUCCESS, status);
                    answers.push_back(bytes.data());
                });
            s.server.parts().host.flush();
            return 0;
        });
    };
    ask(2);
    s.connect();
    s.a.put("k", "value");
    ASSERT_TRUE(s.server.turn_until([&] { return answers.size() == 2; }));
    ask(1);  // on its way while the process committed
    ASSERT_EQ(3u, answers.size());
    EXPECT_NE(nullptr, answers[0]);
    EXPECT_EQ(answers[0], answers[1]);
    EXPECT_EQ(answers[0], answers[2]);
}

// rows: V13
TEST(ServerGetTest, DirectModexInWaitsForTheFirstCommit) {
    GetSetting s(2);
    struct Got {
        int calls = 0;
        pmix_status_t status = PMIX_ERROR;
        std::vector<uint8_t> bytes;
    };
    auto ask = [&](ProcId proc, Got& got) {
        s.server.on_loop([&] {
            s.server.parts().get.modex_request(proc, [&got](pmix_status_t status, common::Bytes bytes) {
                ++got.calls;
                got.status = status;
                got.bytes.assign(bytes.begin(), bytes.end());
            });
            s.server.parts().host.flush();
            return 0;
        });
    };
    Got early, unknown, remote, never;
    ask({"job", 0}, early);  // not connected yet
    s.server.parts().get.set_early_modex(20);
    ask({"nowhere", 0}, unknown);
    ask({"job", 2}, remote);
    ask({"job", 1}, never);
    EXPECT_EQ(0, early.calls);
    EXPECT_EQ(0, unknown.calls);
    ASSERT_TRUE(s.server.turn_until([&] { return unknown.calls == 1; }));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, unknown.status) << "not registered in time";
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, remote.status) << "it runs elsewhere";
    s.connect();
    s.a.put("k", "value");
    ASSERT_TRUE(s.server.turn_until([&] { return early.calls == 1; }));
    EXPECT_STATUS(PMIX_SUCCESS, early.status);
    auto section = server::read_section(early.bytes);
    ASSERT_TRUE(section.ok());
    EXPECT_EQ("job", section->nspace);
    EXPECT_NE(std::string::npos, std::string(early.bytes.begin(), early.bytes.end()).find("value"));
    Got again;
    ask({"job", 0}, again);
    EXPECT_STATUS(PMIX_SUCCESS, again.status) << "at once now";
    EXPECT_EQ(server::ModexState::none, server::state_of(again.bytes, "job", 0));
    // Nobody takes a direct modex back, so its wait is bounded.
    Got bounded;
    s.server.parts().get.set_modex_hold(20);
    ask({"job", 1}, bounded);
    EXPECT_EQ(0, bounded.calls);
    ASSERT_TRUE(s.server.turn_until([&] { return bounded.calls == 1; }));
    EXPECT_STATUS(PMIX_SUCCESS, bounded.status);
    EXPECT_EQ(server::ModexState::not_yet, server::state_of(bounded.bytes, "job", 1));
    EXPECT_EQ(0, never.calls);
    s.a.kill();
    ASSERT_TRUE(s.server.turn_until([&] {
        Got gone;
        ask({"job", 0}, gone);
        return gone.status == PMIX_SUCCESS && server::state_of(gone.bytes, "job", 0) == server::ModexState::over;
    }));
    s.b.kill();
    ASSERT_TRUE(s.server.turn_until([&] { return never.calls == 1; }));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, never.status) << "it left without data";
}

// A server where a job is not registered asks the host once, and then has what the host registered elsewhere: sizes,
// maps and what is derived from them, but not the other node's own data. rows: K17 V13 C3
TEST(ServerGetTest, Get_OfAJobThatIsNotRegisteredHere_ReceivesItsDescription) {
    std::vector<uint8_t> described;
    {
        FakeHost elsewhere;
        auto module = elsewhere.module();
        TestServer other(&module);
        common::InfoList list;
        list.append_string(PMIX_NODE_MAP, "n7,n8");
        list.append_string(PMIX_PROC_MAP, "0,2;1");
        list.append_number<uint32_t>(PMIX_JOB_SIZE, 3, PMIX_UINT32);
        list.append_string(PMIX_JOBID, "the other");
        list.append_string(PMIX_NSDIR, "/tmp/there");
        ASSERT_STATUS(PMIX_SUCCESS, other.add_job("far", 2, list));
        auto ask = [&](ProcId proc) {
            pmix_status_t status = PMIX_ERROR;
            other.on_loop([&] {
                other.parts().get.modex_request(proc, [&](pmix_status_t s, common::Bytes bytes) {
                    status = s;
                    described.assign(bytes.begin(), bytes.end());
                });
                other.parts().host.flush();
                return 0;
            });
            return status;
        };
        ASSERT_STATUS(PMIX_SUCCESS, ask({"far", PMIX_RANK_WILDCARD}));
    }
    GetSetting s(2);
    s.host.data = [&](const test::Seen&) { return described; };
    s.connect();
    auto reply = s.a.wait(s.a.start_get({"far", PMIX_RANK_WILDCARD}, PMIX_JOB_SIZE));
    ASSERT_TRUE(reply);
    EXPECT_STATUS(PMIX_SUCCESS, reply->header.status);
    EXPECT_EQ(1u, s.host.count("direct_modex"));
    server::Nspace* far = s.server.parts().registry.find("far");
    ASSERT_TRUE(far != nullptr && far->data != nullptr);
    EXPECT_EQ(3u, far->size());
    EXPECT_EQ(0u, far->local_count());
    dstore::Found found;
    auto has = [&](dstore::Owner owner, const char* key) {
        return far->data->reader().find(owner, dstore::Key(key), found) == PMIX_SUCCESS;
    };
    EXPECT_TRUE(has(dstore::Owner::job(), PMIX_JOBID));
    EXPECT_TRUE(has(dstore::Owner::proc(1), PMIX_HOSTNAME)) << "from the maps";
    EXPECT_FALSE(has(dstore::Owner::job(), PMIX_NSDIR)) << "a folder there";
    reply = s.a.wait(s.a.start_get({"far", 1}, PMIX_HOSTNAME));
    ASSERT_TRUE(reply);
    EXPECT_STATUS(PMIX_SUCCESS, reply->header.status);
    EXPECT_EQ(1u, s.host.count("direct_modex")) << "the whole job is known now";
    // A damaged description: an error for the requester, nothing else.
    for (size_t cut : {size_t{1}, described.size() / 2, described.size() - 1}) {
        s.host.data = [&](const test::Seen&) {
            return std::vector<uint8_t>(described.begin(), described.begin() + cut);
        };
        reply = s.a.wait(s.a.start_get({"farther", PMIX_RANK_WILDCARD}, PMIX_JOB_SIZE));
        ASSERT_TRUE(reply);
        EXPECT_NE(PMIX_SUCCESS, reply->header.status);
    }
}

}  // namespace server_get_remote_test
