// SPDX-License-Identifier: BSD-3-Clause
// Get through a whole server: pending requests for local processes, direct modex out and in, and how each wait ends.
#include <gtest/gtest.h>

#include <algorithm>

#include "dstore/contribution.h"
#include "server/namespaces/modex_blob.h"
#include "support/fake_client.h"

using namespace pmix;
using namespace pmix::test;

namespace {

std::vector<uint8_t> blob_of(uint32_t rank, const std::string& key, const std::string& text, uint64_t generation,
                             const std::string& second_key = {}) {
    common::ByteWriter w;
    common::encode_string_value(w, text);
    dstore::ChunkBuilder chunk;
    chunk.begin(dstore::Owner::proc(rank), {generation, 0, true});
    if (!key.empty()) chunk.add(dstore::Key(key), PMIX_GLOBAL, w.view());
    if (!second_key.empty()) chunk.add(dstore::Key(second_key), PMIX_GLOBAL, w.view());
    auto bytes = chunk.finish(1);
    return server::wrap_section("job", *bytes).value();
}
std::vector<uint8_t> joined(std::vector<uint8_t> one, const std::vector<uint8_t>& other) {
    one.insert(one.end(), other.begin(), other.end());
    return one;
}
// What the host was told of its n-th direct modex: the key and the limit.
std::pair<std::string, int> asked_for(const FakeHost& host, size_t n) {
    for (const Seen& seen : host.seen) {
        if (seen.what != "direct_modex" || n-- != 0) continue;
        int limit = 0;
        common::InfoView(seen.infos).get(PMIX_TIMEOUT, &limit);
        return {seen.infos.find(PMIX_REQUIRED_KEY)->value.data.string, limit};
    }
    return {};
}
// Of an answer that neither a limit of time nor another thread decides: there is nothing to wait for.
pmix_status_t status_of(FakeClient& client, uint32_t id) {
    auto reply = client.wait_at_once(id);
    return reply ? reply->header.status : PMIX_ERR_LOST_CONNECTION;
}
pmix_status_t status_in_time(FakeClient& client, uint32_t id) {
    auto reply = client.wait(id);
    return reply ? reply->header.status : PMIX_ERR_LOST_CONNECTION;
}

struct Setting {
    explicit Setting(unsigned nodes, bool with_host = true, server::ServerOptions options = {})
        : module(host.module()),
          server(with_host ? &module : nullptr, std::move(options)),
          a(server, {"job", 0}),
          b(server, {"job", 1}) {
        server.job("job", nodes, 2);
    }
    void connect() {
        ASSERT_EQ(PMIX_SUCCESS, a.hello());
        ASSERT_EQ(PMIX_SUCCESS, b.hello());
    }
    FakeHost host;
    pmix_server_module_t module;
    TestServer server;
    FakeClient a, b;
};

}  // namespace

// Without a limit of time a get waits for the first commit; with one, for the key. rows: K20
TEST(ServerGetTest, LocalTarget_CommitsWithoutTheKey_EndsOnlyAGetWithoutALimit) {
    Setting s(1);
    ASSERT_EQ(PMIX_SUCCESS, s.a.hello());  // b has not even connected
    uint32_t unlimited = s.a.start_get({"job", 1}, "k"), limited = s.a.start_get({"job", 1}, "k", 600),
             never = s.a.start_get({"job", 1}, "never", 600);
    s.server.settle();
    EXPECT_FALSE(s.a.take(unlimited));
    ASSERT_EQ(PMIX_SUCCESS, s.b.hello());
    s.server.settle();
    EXPECT_FALSE(s.a.take(unlimited)) << "it has committed nothing";
    s.b.put("other", "x");
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, status_of(s.a, unlimited));
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, status_of(s.a, s.a.start_get({"job", 1}, "k"))) << "at once now";
    EXPECT_FALSE(s.a.take(limited)) << "another key is not the one";
    s.b.put("k", "here");
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.a, limited));
    EXPECT_EQ("here", s.a.read_text(1, "k"));
    s.b.kill();
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, status_of(s.a, never)) << "the target has gone without it";
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, status_of(s.a, s.a.start_get({"job", 1}, "never", 600)))
        << "and is not waited for again";
    EXPECT_EQ(0u, s.host.count("direct_modex"));
    EXPECT_EQ(0u, s.server.parts().get.waiting());
}

// In strict mode a get waits for the key, wherever its process runs, until that has left. rows: K20 K21
TEST(ServerGetTest, StrictMode_TargetCommitsWithoutTheKey_GetWaitsForIt) {
    server::ServerOptions strict;
    strict.strict = true;
    Setting s(2, true, strict);
    s.connect();
    s.b.put("other", "x");
    int round = 0;
    bool left = false;
    s.host.data = [&](const Seen&) {
        if (left) return joined(blob_of(2, "k", "far", 2), server::wrap_state("job", 2, server::ModexState::over));
        return ++round < 4 ? blob_of(2, "early", "x", 1) : blob_of(2, "k", "far", 2);
    };
    uint32_t local = s.a.start_get({"job", 1}, "k"), remote = s.a.start_get({"job", 2}, "k");
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, status_of(s.a, s.a.start_get({"job", 1}, "k", 0, true))) << "PMIX_IMMEDIATE";
    EXPECT_EQ(PMIX_ERR_TIMEOUT, status_in_time(s.a, s.a.start_get({"job", 1}, "k", 1))) << "PMIX_TIMEOUT";
    EXPECT_EQ(PMIX_SUCCESS, status_in_time(s.a, remote));
    EXPECT_EQ("far", s.a.read_text(2, "k"));
    EXPECT_FALSE(s.a.take(local));
    s.b.put("k", "near");
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.a, local));
    EXPECT_EQ("near", s.a.read_text(1, "k"));
    // A process that has left puts nothing any more.
    left = true;
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, status_of(s.a, s.a.start_get({"job", 2}, "never")));
    local = s.a.start_get({"job", 1}, "never");
    s.server.settle();
    s.b.kill();
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, status_of(s.a, local));
    EXPECT_EQ(0u, s.server.parts().get.waiting());
}

// rows: K19 K32 K20
// proves: PMIx_Get PMIX_IMMEDIATE PMIX_TIMEOUT server
TEST(ServerGetTest, ImmediateTimeoutAndRanksThatAreNone) {
    Setting s(1);
    s.connect();
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, status_of(s.a, s.a.start_get({"job", 1}, "k", 0, true)));
    EXPECT_EQ(PMIX_ERR_TIMEOUT, status_in_time(s.a, s.a.start_get({"job", 1}, "k", 1)));
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, status_of(s.a, s.a.start_get({"job", 99}, "k")));
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, status_of(s.a, s.a.start_get({"job", 1}, "pmix.nope"))) << "reserved: no wait";
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, status_of(s.a, s.a.start_get({"job", 1}, "k", 60, false, true)))
        << "a refresh: no wait";
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, status_of(s.a, s.a.start_get({"job", 1}, "k", -1)));
    EXPECT_EQ(0u, s.server.parts().get.waiting());
}

// The host cannot have data of a process that the job does not have. rows: K32
TEST(ServerGetTest, Get_OfARankBeyondTheJob_HostIsNotAsked) {
    Setting s(2);
    s.connect();
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, status_of(s.a, s.a.start_get({"job", 4}, "k")));
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, status_of(s.a, s.a.start_get({"job", 4}, "k", 600))) << "with a limit of time";
    EXPECT_EQ(0u, s.host.count("direct_modex"));
    status_of(s.a, s.a.start_get({"job", 3}, "k"));
    EXPECT_EQ(1u, s.host.count("direct_modex")) << "the last rank of the job";
}

// Without a placement of the ranks, the size of the job bounds them. rows: K32
TEST(ServerGetTest, Get_OfARankBeyondAJobWithoutPlacement_HostIsNotAsked) {
    Setting s(2);
    common::InfoList size;
    size.append_number<uint32_t>(PMIX_JOB_SIZE, 4, PMIX_UINT32);
    ASSERT_EQ(PMIX_SUCCESS, s.server.add_job("sized", 1, size));
    s.connect();
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, status_of(s.a, s.a.start_get({"sized", 4}, "k")));
    EXPECT_EQ(0u, s.host.count("direct_modex"));
    status_of(s.a, s.a.start_get({"sized", 3}, "k"));
    EXPECT_EQ(1u, s.host.count("direct_modex")) << "the last rank of the job";
}

// A process that has ended waits for nothing, whether a local process or the host would have had the answer. rows: K20
TEST(ServerGetTest, Get_RequesterEnds_IsPendingNoMore) {
    Setting s(2);
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

// The host's answer is as old as its upcall: a request that was made after the upcall is not decided by it. rows: K21
TEST(ServerGetTest, Get_MadeDuringAnUpcallThatLacksTheKey_HostIsAskedAgain) {
    Setting s(2);
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
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, status_of(s.a, first));
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.waiting() == 1 || s.b.take(second); }));
    ASSERT_EQ(2u, s.host.count("direct_modex"));
    s.host.answer_first();
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.b, second));
    EXPECT_EQ("now", s.b.read_text(2, "k"));
    EXPECT_EQ(0u, s.server.parts().get.waiting());
}

// The key that the host is told is the request's, whatever the caller's attributes contain.
TEST(ServerGetTest, Get_WithARequiredKeyAmongItsAttributes_HostIsToldTheKeyOfTheRequest) {
    Setting s(2);
    s.connect();
    common::GetRequest request;
    request.proc = {"job", 2};
    request.key = "k";
    request.generation = 1;
    common::InfoList list;
    list.append_string(PMIX_REQUIRED_KEY, "another");
    request.infos = std::move(list);
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, s.a.ask<Command::get>(request));
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
    Setting s(2);
    s.connect();
    TestServer there(nullptr);
    there.job("job", 1, 3);
    FakeClient far(there, {"job", 2});
    ASSERT_EQ(PMIX_SUCCESS, far.hello());
    far.put("near", "x", PMIX_LOCAL);
    far.put("k", "y");
    there.settle();
    std::vector<uint8_t> blob;
    s.host.data = [&, ask = modex_from(there)](const Seen& seen) { return blob = ask(seen); };
    EXPECT_EQ(PMIX_ERR_EXISTS_OUTSIDE_SCOPE, status_of(s.a, s.a.start_get({"job", 2}, "near")));
    EXPECT_TRUE(server::says_kept(blob, "job", 2, "near"));
    EXPECT_FALSE(server::says_kept(blob, "job", 2, "k")) << "it was sent";
    EXPECT_EQ("y", s.a.read_text(2, "k"));
}

// rows: V13
TEST(ServerGetTest, DirectModexIn_OfAProcessThatHasLeftWithoutData_IsAnsweredAtOnce) {
    Setting s(2);
    s.connect();
    s.b.kill();
    ASSERT_TRUE(s.server.turn_until([&] { return s.server.parts().peers.size() == 1; }));
    std::optional<pmix_status_t> answer;
    s.server.on_loop([&] {
        s.server.parts().get.modex_request({"job", 1}, [&](pmix_status_t status, common::Bytes) { answer = status; });
        s.server.parts().host.flush();
        return 0;
    });
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, answer.value_or(PMIX_SUCCESS));
    EXPECT_EQ(0u, s.server.parts().get.waiting());
}

// What the client finds nowhere it asks nobody for; who does ask (another library, an older one) is not made to wait.
// rows: K19
// proves: PMIx_Get PMIX_OPTIONAL server
TEST(ServerGetTest, OptionalIsAnsweredWithWhatIsHere) {
    Setting s(2);
    s.connect();
    for (const ProcId& proc : {ProcId("job", 1), ProcId("job", 3)}) {
        common::GetRequest request;
        request.proc = proc;
        request.key = "k";
        request.generation = 1;
        common::InfoList list;
        list.append_flag(PMIX_OPTIONAL, true);
        request.infos = std::move(list);
        EXPECT_EQ(PMIX_ERR_NOT_FOUND, s.a.ask<Command::get>(request));
    }
    EXPECT_EQ(0u, s.host.count("direct_modex"));
    EXPECT_EQ(0u, s.server.parts().get.waiting());
}

// rows: K30
TEST(ServerGetTest, RemoteDataExistsOutsideALocalPeersScope) {
    Setting s(1);
    s.connect();
    uint32_t g = s.a.start_get({"job", 1}, "r");
    s.server.settle();
    s.b.put("r", "far only", PMIX_REMOTE);
    EXPECT_EQ(PMIX_ERR_EXISTS_OUTSIDE_SCOPE, status_of(s.a, g));
    EXPECT_EQ(PMIX_ERR_EXISTS_OUTSIDE_SCOPE, status_of(s.a, s.a.start_get({"job", 1}, "r")));
}

// rows: K21 U6
TEST(ServerGetTest, RemoteTargetGoesToTheHostOnceForAllWhoAsk) {
    Setting s(2);
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
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.a, ga));
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.b, gb));
    EXPECT_EQ("far", s.b.read_text(2, "k"));
    EXPECT_EQ(1, s.host.released);
}

// One rank's limit, key and required entry are not its neighbour's. rows: K20 K21 G11
TEST(ServerGetTest, TwoRequestersOfOneProcess_HostIsToldOfEach) {
    Setting s(2);
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
    EXPECT_EQ(PMIX_ERR_TIMEOUT, status_in_time(s.a, hasty));
    s.host.answer_first();
    s.server.settle();
    EXPECT_FALSE(s.b.take(patient));
    s.host.answer_first();
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.b, patient));
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.b, other)) << "whichever upcall brings it";
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.a, another));
    s.host.answer_waiting();
    s.server.settle();
    EXPECT_EQ(0u, s.server.parts().get.waiting());
}

// rows: K20 K21 G11
TEST(ServerGetTest, TheHostsTimeout_EndsOnlyRequestsWithoutALimit) {
    Setting s(2);
    s.connect();
    int round = 0;
    s.host.inside["direct_modex"] = [&] {
        s.host.statuses["direct_modex"] = ++round == 1 ? PMIX_ERR_TIMEOUT : PMIX_SUCCESS;
    };
    s.host.data = [](const Seen&) { return blob_of(2, "k", "far", 1); };
    EXPECT_EQ(PMIX_SUCCESS, status_in_time(s.a, s.a.start_get({"job", 2}, "k", 600)));
    EXPECT_EQ(2u, s.host.count("direct_modex"));
    round = 0;
    EXPECT_EQ(PMIX_ERR_TIMEOUT, status_in_time(s.a, s.a.start_get({"job", 3}, "k"))) << "the host's own limit";
}

// A request after one that timed out does not wait for an upcall that the host may have forgotten. rows: K20 K21
TEST(ServerGetTest, ARetryAfterATimeout_AsksTheHostAgain) {
    Setting s(2);
    s.host.styles["direct_modex"] = Style::later;
    s.connect();
    EXPECT_EQ(PMIX_ERR_TIMEOUT, status_in_time(s.a, s.a.start_get({"job", 2}, "k", 1)));
    EXPECT_EQ(1u, s.host.count("direct_modex"));
    s.host.styles["direct_modex"] = Style::before_return;
    s.host.data = [](const Seen&) { return blob_of(2, "k", "far", 1); };
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.a, s.a.start_get({"job", 2}, "k", 60)));
    s.host.answer_waiting();
    s.server.settle();
    EXPECT_EQ(0u, s.server.parts().get.waiting());
}

// Where the target's server would not wait longer, the requester's asks again; where the target has left, nobody waits.
// rows: K20 K21 V13
TEST(ServerGetTest, HowTheTargetStands_DecidesWhetherToAskAgain) {
    Setting s(2);
    s.connect();
    int round = 0;
    s.host.data = [&](const Seen&) {
        return ++round < 3 ? server::wrap_state("job", 2, server::ModexState::not_yet) : blob_of(2, "k", "far", 1);
    };
    EXPECT_EQ(PMIX_SUCCESS, status_in_time(s.a, s.a.start_get({"job", 2}, "k")));
    EXPECT_EQ(3u, s.host.count("direct_modex"));
    s.host.data = [&](const Seen&) {
        return joined(blob_of(3, "early", "x", 1), server::wrap_state("job", 3, server::ModexState::over));
    };
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, status_of(s.a, s.a.start_get({"job", 3}, "k", 600))) << "as of a local one";
    EXPECT_EQ(0u, s.server.parts().get.waiting());
}

// rows: K21
TEST(ServerGetTest, AMissingKeyIsNotFoundAndAskedForAgain) {
    Setting s(2);
    s.connect();
    int calls = 0;
    s.host.data = [&](const Seen&) { return ++calls < 2 ? blob_of(2, "early", "x", 1) : blob_of(2, "k", "now", 2); };
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, status_of(s.a, s.a.start_get({"job", 2}, "k")));
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.a, s.a.start_get({"job", 2}, "k")));
    EXPECT_EQ(2u, s.host.count("direct_modex"));
    EXPECT_EQ("now", s.a.read_text(2, "k"));
}

// rows: K21
TEST(ServerGetTest, WithATimeoutItIsTriedUntilTheKeyIsThere) {
    Setting s(2);
    s.connect();
    int calls = 0;
    s.host.data = [&](const Seen&) { return ++calls < 4 ? blob_of(2, "early", "x", 1) : blob_of(2, "k", "now", 2); };
    EXPECT_EQ(PMIX_SUCCESS, status_in_time(s.a, s.a.start_get({"job", 2}, "k", 60)));
    EXPECT_EQ(4u, s.host.count("direct_modex"));
    EXPECT_EQ(PMIX_ERR_TIMEOUT, status_in_time(s.a, s.a.start_get({"job", 2}, "never", 1)));
    EXPECT_EQ(0u, s.server.parts().get.waiting());
}

// rows: K21 U1 U6
TEST(ServerGetTest, TheHostsErrorReachesAllWaiters) {
    for (Style style : {Style::fails, Style::before_return, Style::other_thread}) {
        Setting s(2);
        s.connect();
        s.host.styles["direct_modex"] = style;
        s.host.statuses["direct_modex"] = PMIX_ERR_UNREACH;
        uint32_t ga = s.a.start_get({"job", 2}, "k"), gb = s.b.start_get({"job", 3}, "k");
        EXPECT_EQ(PMIX_ERR_UNREACH, status_in_time(s.a, ga));
        EXPECT_EQ(PMIX_ERR_UNREACH, status_in_time(s.b, gb));
    }
    Setting none(2, false);
    none.connect();
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, status_of(none.a, none.a.start_get({"job", 2}, "k"))) << "no entry in the module";
}

// A host may hold a direct modex until a fence ends, and forget it: what the fence brings is an answer, too.
// rows: K21 F2
TEST(ServerGetTest, WhatAFenceBringsIsNotWaitedForAtTheHost) {
    Setting s(2);
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
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.a, ga));
    EXPECT_EQ("far", s.a.read_text(2, "k"));
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.a, fa));
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.b, fb));
    EXPECT_FALSE(s.b.take(other)) << "the fence brought nothing of that rank";
    // What the host was asked for first does not keep others from asking.
    uint32_t again = s.a.start_get({"job", 2}, "other");
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.count("direct_modex") == 3; }));
    s.host.answer_waiting();
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.a, again));
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, status_of(s.b, other));
    s.server.settle();
    EXPECT_FALSE(s.a.take(ga)) << "once";
    EXPECT_EQ(0u, s.server.parts().get.waiting());
}

// Who has not been asked yet when the fence ends is not asked at all.
// rows: K21 F2
TEST(ServerGetTest, AGetThatMeetsTheEndOfAFenceDoesNotGoToTheHost) {
    Setting s(2);
    s.host.styles["direct_modex"] = s.host.styles["fence"] = Style::later;
    s.host.data = [](const Seen&) { return blob_of(2, "k", "far", 1); };
    s.connect();
    for (FakeClient* client : {&s.a, &s.b}) client->start_fence({{"job", PMIX_RANK_WILDCARD}}, true);
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.count("fence") == 1; }));
    uint32_t g = s.a.start_get({"job", 2}, "k");  // lies in the socket
    s.host.answer_first();                        // lies in the loop's queue
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.a, g));
    EXPECT_EQ(0u, s.host.count("direct_modex"));
    // The newest word of its owner comes from there only.
    uint32_t newest = s.a.start_get({"job", 2}, "k", 0, false, true);
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.count("direct_modex") == 1; }));
    s.host.answer_waiting();
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.a, newest));
}

// rows: K22
TEST(ServerGetTest, AnyRankThatHasTheKey) {
    Setting s(2);
    s.connect();
    uint32_t g = s.a.start_get({"job", PMIX_RANK_UNDEF}, "unique");
    EXPECT_EQ(PMIX_ERR_TIMEOUT, status_in_time(s.a, s.a.start_get({"job", PMIX_RANK_UNDEF}, "other", 1)));
    EXPECT_FALSE(s.a.take(g));
    s.b.put("unique", "of b");
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.a, g));
    // and from a remote rank, by a fence
    g = s.a.start_get({"job", PMIX_RANK_UNDEF}, "far");
    s.server.settle();
    s.host.data = [](const Seen&) { return blob_of(3, "far", "of 3", 1); };
    uint32_t f = s.a.start_fence({}, true);
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.b, s.b.start_fence({}, true)));
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.a, f));
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.a, g));
}

// Further processes of a rank connect and end again at little cost: nobody's requests are looked at for that.
TEST(ServerGetTest, PeerGone_WithoutARequest_LooksAtNoneOfThem) {
    constexpr uint64_t kPending = 100;
    Setting s(1);
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
        ASSERT_EQ(PMIX_SUCCESS, clone.hello());
        if (asks) {
            clone.start_get({"job", 0}, "mine", 600);
            ASSERT_TRUE(s.server.turn_until([&] { return get.waiting() == kPending + 1; }));
        }
        clone.kill();
        ASSERT_TRUE(s.server.turn_until([&] { return s.server.parts().peers.size() == 2; }));
    };
    connect_and_end(false);
    EXPECT_EQ(before, get.examined());
    EXPECT_EQ(kPending, get.waiting());
    connect_and_end(true);
    EXPECT_EQ(kPending, get.waiting()) << "its own request has gone with it";
}

// A commit looks at the requests that its keys can answer, and at no others. rows: K20 K22
TEST(ServerGetTest, Commit_ManyRequestsOfOtherKeysPending_LooksAtNoneOfThem) {
    constexpr uint64_t kPending = 600, kCommits = 50;
    Setting s(1);
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
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.a, of_any[7]));
    EXPECT_EQ(before + 1, get.examined());
    EXPECT_EQ(2 * kPending - 1, get.waiting());
    s.b.put("of b9", "nine");
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.a, of_b[9]));
    EXPECT_EQ(before + 2, get.examined());
    // In another scope: no answer for any rank, the end of a request for this one.
    s.b.put("any8", "eight", PMIX_REMOTE);
    s.b.put("of b8", "eight", PMIX_REMOTE);
    EXPECT_EQ(PMIX_ERR_EXISTS_OUTSIDE_SCOPE, status_of(s.a, of_b[8]));
    EXPECT_FALSE(s.a.take(of_any[8]));
    s.b.kill();
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, status_of(s.a, of_b[10])) << "the process has left without it";
    EXPECT_TRUE(s.server.turn_until([&] { return get.waiting() == kPending - 1; })) << "requests of any rank go on";
    s.a.kill();
    EXPECT_TRUE(s.server.turn_until([&] { return get.waiting() == 0; }));
}

// Data of other nodes, by a fence and by direct modex, is looked through for what it has, not for all that is pending.
// rows: K20 K22
TEST(ServerGetTest, DataOfOtherNodes_ManyRequestsOfOtherKeysOfAnyRankPending_LooksAtNoneOfThem) {
    constexpr uint64_t kPending = 600, kFences = 20;
    Setting s(2);
    s.connect();
    std::vector<uint32_t> of_any;
    for (uint64_t i = 0; i < kPending; ++i) {
        of_any.push_back(s.a.start_get({"job", PMIX_RANK_UNDEF}, "any" + std::to_string(i), i % 2 == 0 ? 0 : 600));
        s.server.run_once();  // more would not fit into the socket
    }
    auto& get = s.server.parts().get;
    ASSERT_TRUE(s.server.turn_until([&] { return get.waiting() == kPending; }));
    const auto fence = [&] {
        const uint32_t f = s.a.start_fence({}, true);
        EXPECT_EQ(PMIX_SUCCESS, status_of(s.b, s.b.start_fence({}, true)));
        EXPECT_EQ(PMIX_SUCCESS, status_of(s.a, f));
    };
    std::string key;
    uint64_t generation = 0;
    s.host.data = [&](const Seen&) { return blob_of(2, key, "far", ++generation); };
    const uint64_t before = get.examined();
    for (uint64_t i = 0; i < kFences; ++i) {
        key = "other" + std::to_string(i);
        fence();
        key = "one more" + std::to_string(i);
        EXPECT_EQ(PMIX_SUCCESS, status_of(s.b, s.b.start_get({"job", 2}, key)));
    }
    EXPECT_EQ(before + kFences, get.examined()) << "b's own requests only";
    key = "any7";
    fence();
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.a, of_any[7]));
    key = "any8";
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.b, s.b.start_get({"job", 2}, key)));
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.a, of_any[8]));
    EXPECT_EQ(before + kFences + 3, get.examined());
    EXPECT_EQ(kPending - 2, get.waiting());
    s.a.kill();
    EXPECT_TRUE(s.server.turn_until([&] { return get.waiting() == 0; }));
}

// Data of a process of another node is looked through for what is awaited of it, not for all that is pending. rows: K21
TEST(ServerGetTest, DataOfOtherNodes_ManyRequestsOfOtherKeysOfOneProcessPending_LooksAtNoneOfThem) {
    constexpr uint64_t kPending = 600, kFences = 20;
    Setting s(2);
    s.connect();
    s.host.styles["direct_modex"] = Style::later;
    std::vector<uint32_t> gets;
    for (uint64_t i = 0; i < kPending; ++i) {
        gets.push_back(s.a.start_get({"job", 2}, "awaited" + std::to_string(i), 600));
        s.server.run_once();  // more would not fit into the socket
    }
    auto& get = s.server.parts().get;
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.count("direct_modex") == kPending; }));
    ASSERT_EQ(kPending, get.waiting());
    const auto fence = [&] {
        const uint32_t f = s.a.start_fence({}, true);
        EXPECT_EQ(PMIX_SUCCESS, status_of(s.b, s.b.start_fence({}, true)));
        EXPECT_EQ(PMIX_SUCCESS, status_of(s.a, f));
    };
    std::string key;
    uint64_t generation = 0;
    s.host.data = [&](const Seen&) { return blob_of(2, key, "far", ++generation); };
    const uint64_t before = get.examined();
    for (uint64_t i = 0; i < kFences; ++i) {
        key = "other" + std::to_string(i);
        fence();
    }
    EXPECT_EQ(before, get.examined()) << "by fences";
    // The answers to the upcalls, which were made before: each lacks the key that it was made for.
    s.host.answer_waiting();
    EXPECT_TRUE(s.server.turn_until([&] { return s.host.count("direct_modex") == 2 * kPending; }));
    EXPECT_EQ(before, get.examined()) << "by direct modex";
    EXPECT_EQ(kPending, get.waiting());
    key = "awaited7";
    fence();
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.a, gets[7]));
    EXPECT_EQ("far", s.a.read_text(2, "awaited7"));
    EXPECT_EQ(before + 1, get.examined());
    EXPECT_EQ(kPending - 1, get.waiting());
    s.a.kill();
    EXPECT_TRUE(s.server.turn_until([&] { return get.waiting() == 0; }));
}

// A process that has committed nothing but that: a fence that brings it ends a request for everything. rows: K21
TEST(ServerGetTest, DataOfOtherNodes_CommitWithoutValues_EndsARequestForAllKeys) {
    Setting s(2);
    s.connect();
    s.host.styles["direct_modex"] = Style::later;
    const uint32_t all = s.a.start_get({"job", 2}, ""), one = s.a.start_get({"job", 2}, "k");
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.count("direct_modex") == 2; }));
    s.host.data = [](const Seen&) { return blob_of(2, "", "", 1); };
    const uint32_t f = s.a.start_fence({}, true);
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.b, s.b.start_fence({}, true)));
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.a, f));
    EXPECT_EQ(PMIX_SUCCESS, status_of(s.a, all));
    EXPECT_FALSE(s.a.take(one));
}

// rows: K17
TEST(ServerGetTest, AnUnknownNamespaceIsTheHostsMatter) {
    Setting s(1);
    s.connect();
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, status_of(s.a, s.a.start_get({"strange", 0}, "k", 0, true)));
    EXPECT_EQ(0u, s.host.count("direct_modex"));
    s.host.statuses["direct_modex"] = PMIX_ERR_NOT_FOUND;
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, status_of(s.a, s.a.start_get({"strange", 0}, "k")));
    EXPECT_EQ(1u, s.host.count("direct_modex"));
}

TEST(ServerGetTest, AnotherNamespacesSegmentComesWithTheAnswer) {
    Setting s(1);
    s.server.job("second", 1, 1);
    s.connect();
    common::GetRequest request;
    request.proc = {"second", PMIX_RANK_WILDCARD};
    request.key = PMIX_JOB_SIZE;
    auto reply = s.a.wait(s.a.start<Command::get>(request));
    ASSERT_TRUE(reply);
    EXPECT_EQ(PMIX_SUCCESS, reply->header.status);
    EXPECT_EQ(1u, reply->header.descriptors);
    common::GetReply message;
    ASSERT_EQ(PMIX_SUCCESS, common::decode_message(reply->payload, message));
    ASSERT_EQ(1u, message.segments.size());
    EXPECT_EQ("second", message.segments[0].nspace);
}

// rows: V8
TEST(ServerGetTest, Deregister_ClientHasASegment_IsNotifiedOnce) {
    Setting s(1);
    s.server.job("second", 1, 1);
    s.connect();
    common::GetRequest request;
    request.proc = {"second", PMIX_RANK_WILDCARD};
    request.key = PMIX_JOB_SIZE;
    auto reply = s.a.wait(s.a.start<Command::get>(request));
    common::GetReply message;
    ASSERT_TRUE(reply && common::decode_message(reply->payload, message) == PMIX_SUCCESS);
    ASSERT_EQ(1u, message.segments.size());
    s.server.on_loop([&] {
        s.server.setup().deregister_nspace("second");
        return 0;
    });
    const auto told = [](FakeClient& client) {
        return client.take_notify<Command::segment_gone, common::SegmentGoneNotify>();
    };
    std::optional<common::SegmentGoneNotify> gone;
    ASSERT_TRUE(s.server.turn_until([&] { return (gone = told(s.a)).has_value(); }));
    EXPECT_EQ("second", gone->nspace);
    EXPECT_EQ(message.segments[0].instance, gone->instance);
    s.server.settle();
    EXPECT_FALSE(told(s.b)) << "it never had it";
    EXPECT_FALSE(told(s.a)) << "once";
}

// A segment goes only to the user whose namespace it is.
TEST(ServerGetTest, AnotherUsersNamespaceIsNotGivenOut) {
    if (::geteuid() != 0) GTEST_SKIP() << "root may read all; others cannot register another user";
    TestServer server(nullptr);
    server.job("mine", 1, 1, false);
    server.job("theirs", 1, 1, false);
    server.add_client("mine", 0, 12345);
    server.add_client("theirs", 0, 54321);
    server::SelfPeer peer({"mine", 0}, {12345, 12345, 1});
    server::Nspace* theirs = server.parts().registry.find("theirs");
    class Plain final : public server::Peer {
      public:
        using Peer::Peer;
        void send(const common::FrameHeader&, common::Bytes, std::span<const int>) override {}
        void close() override {}
    } plain(server::PeerKind::client, {"mine", 0}, server::Credentials{12345, 12345, 1});
    EXPECT_FALSE(server.parts().segments.may_map(plain, *theirs));
    EXPECT_TRUE(server.parts().segments.may_map(plain, *server.parts().registry.find("mine")));
}

// rows: V13
TEST(ServerGetTest, DirectModexInWaitsForTheFirstCommit) {
    Setting s(2);
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
    ask({"nowhere", 0}, unknown);
    ask({"job", 2}, remote);
    ask({"job", 1}, never);
    EXPECT_EQ(0, early.calls);
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, unknown.status);
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, remote.status) << "it runs elsewhere";
    s.connect();
    s.a.put("k", "value");
    ASSERT_TRUE(s.server.turn_until([&] { return early.calls == 1; }));
    EXPECT_EQ(PMIX_SUCCESS, early.status);
    auto section = server::read_section(early.bytes);
    ASSERT_TRUE(section.ok());
    EXPECT_EQ("job", section->nspace);
    EXPECT_NE(std::string::npos, std::string(early.bytes.begin(), early.bytes.end()).find("value"));
    Got again;
    ask({"job", 0}, again);
    EXPECT_EQ(PMIX_SUCCESS, again.status) << "at once now";
    EXPECT_EQ(server::ModexState::none, server::state_of(again.bytes, "job", 0));
    // Nobody takes a direct modex back, so its wait is bounded.
    Got bounded;
    s.server.parts().get.set_modex_hold(20);
    ask({"job", 1}, bounded);
    EXPECT_EQ(0, bounded.calls);
    ASSERT_TRUE(s.server.turn_until([&] { return bounded.calls == 1; }));
    EXPECT_EQ(PMIX_SUCCESS, bounded.status);
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
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, never.status) << "it left without data";
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
        ASSERT_EQ(PMIX_SUCCESS, other.add_job("far", 2, list));
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
        EXPECT_EQ(PMIX_ERR_NOT_FOUND, ask({"nowhere", PMIX_RANK_WILDCARD}));
        ASSERT_EQ(PMIX_SUCCESS, ask({"far", PMIX_RANK_WILDCARD}));
    }
    Setting s(2);
    s.host.data = [&](const test::Seen&) { return described; };
    s.connect();
    auto reply = s.a.wait(s.a.start_get({"far", PMIX_RANK_WILDCARD}, PMIX_JOB_SIZE));
    ASSERT_TRUE(reply);
    EXPECT_EQ(PMIX_SUCCESS, reply->header.status);
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
    EXPECT_EQ(PMIX_SUCCESS, reply->header.status);
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

// rows: V8 V11
TEST(ServerGetTest, DeregistrationEndsTheWaitAndTheConnection) {
    Setting s(1);
    s.server.job("second", 1, 2);
    s.connect();
    uint32_t g = s.a.start_get({"second", 0}, "k"), h = s.a.start_get({"second", 1}, "k");
    s.server.settle();
    s.server.on_loop([&] {
        s.server.setup().deregister_client({"second", 0});
        return 0;
    });
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, status_of(s.a, g));
    EXPECT_FALSE(s.a.take(h));
    s.server.on_loop([&] {
        s.server.setup().deregister_nspace("second");
        s.server.setup().deregister_nspace("never was");
        return 0;
    });
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, status_of(s.a, h));
    s.server.on_loop([&] {
        s.server.setup().deregister_client({"job", 1});
        return 0;
    });
    ASSERT_TRUE(s.server.turn_until([&] { return s.b.hung_up(); }));
    EXPECT_FALSE(s.a.hung_up());
}

// rows: K4
TEST(ServerGetTest, Compaction_PeerDoesNotRead_OthersGoOnAndItGetsTheNewest) {
    for (const bool job_ends : {false, true}) {
        Setting s(1);
        s.connect();
        // A process of another job, so that the end of "job" does not end it. It stops reading its replies.
        s.server.job("other", 1, 1);
        FakeClient stopped(s.server, {"other", 0});
        ASSERT_EQ(PMIX_SUCCESS, stopped.hello());
        common::AttachNspaceRequest attach;
        attach.nspace = "job";
        ASSERT_EQ(PMIX_SUCCESS, stopped.ask<Command::attach_nspace>(attach));
        const size_t descriptors = stopped.descriptors_received();
        common::ResolveRequest ask;
        ask.nspace = "wide";
        s.server.job("wide", 1, 5000, false);
        const auto queued = [&] {
            for (const auto& [serial, peer] : s.server.parts().peers)
                if (peer->id() == ProcId("other", 0)) return peer->connection()->queued_bytes();
            return size_t{0};
        };
        uint32_t last = 0;
        for (int i = 0; i < 200 && queued() == 0; ++i) {
            last = stopped.start<Command::resolve_peers>(ask);
            s.server.run_once();
        }
        ASSERT_GT(queued(), 0u);
        const uint32_t first = s.server.parts().registry.find("job")->data->instance();
        uint64_t most = 0;
        std::string value;
        for (int i = 0; i < 6000; ++i) {
            value = std::to_string(i) + std::string(200 + i % 100, 'x');
            s.a.put("k", value);
            if (i % 20 != 0) continue;
            s.server.settle();
            most = std::max(most, s.server.parts().registry.find("job")->data->bytes());
        }
        s.server.settle();
        EXPECT_LT(most, 600u << 10) << "1.8 MB were written";
        EXPECT_GT(s.server.parts().registry.find("job")->data->instance(), first);
        ASSERT_GT(queued(), 0u) << "it has not read";
        if (job_ends) {
            s.server.on_loop([&] {
                s.server.setup().deregister_nspace("job");
                return 0;
            });
            auto gone = stopped.take_notify<Command::segment_gone, common::SegmentGoneNotify>();
            s.server.turn_until([&] {
                return gone || (gone = stopped.take_notify<Command::segment_gone, common::SegmentGoneNotify>());
            });
            ASSERT_TRUE(gone);
            EXPECT_EQ(first, gone->instance) << "the one that it has";
            continue;
        }
        ASSERT_TRUE(stopped.wait(last));
        std::optional<common::AttachNspaceReply> fresh;
        ASSERT_TRUE(s.server.turn_until([&] {
            fresh = stopped.take_notify<Command::attach_nspace, common::AttachNspaceReply>();
            return fresh.has_value();
        }));
        ASSERT_EQ(1u, fresh->segments.size());
        EXPECT_EQ(s.server.parts().registry.find("job")->data->instance(), fresh->segments[0].instance);
        EXPECT_TRUE(fresh->segments[0].has_descriptor);
        EXPECT_EQ(descriptors + 1, stopped.descriptors_received()) << "none for the compactions between";
        FakeClient late(s.server, {"job", 0});
        ASSERT_EQ(PMIX_SUCCESS, late.hello());
        EXPECT_EQ(value, late.read_text(0, "k"));
    }
}

// rows: K8 K9
TEST(ServerGetTest, BadCommitsChangeNothing) {
    Setting s(1);
    s.connect();
    common::CommitRequest request;
    common::ByteWriter w;
    common::encode_string_value(w, "x");
    request.entries.push_back({PMIX_GLOBAL, "fine", w.view()});
    request.entries.push_back({PMIX_INTERNAL, "k", w.view()});
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, s.a.ask<Command::commit>(request));
    request.entries[1] = {PMIX_GLOBAL, "", w.view()};
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, s.a.ask<Command::commit>(request));
    EXPECT_FALSE(s.b.read_text(0, "fine"));
    request.entries.pop_back();
    EXPECT_EQ(PMIX_SUCCESS, s.a.ask<Command::commit>(request));
    EXPECT_EQ("x", s.b.read_text(0, "fine"));
}

// rows: K4
TEST(ServerGetTest, Compaction_SegmentIsMostlyReplaced_IsSentToAllItsReaders) {
    Setting s(1);
    s.connect();
    uint64_t most = 0;
    const auto bytes = [&] { return s.server.parts().registry.find("job")->data->bytes(); };
    for (int i = 0; i < 6000; ++i) {
        s.a.put("k", std::to_string(i) + std::string(200 + i % 100, 'x'));
        if (i % 20 != 0) continue;
        s.server.settle();
        most = std::max(most, bytes());
    }
    s.server.settle();
    EXPECT_LT(most, 600u << 10) << "1.8 MB were written";
    for (FakeClient* client : {&s.a, &s.b}) {
        uint64_t last = 0;
        size_t compactions = 0;
        while (auto fresh = client->take_notify<Command::attach_nspace, common::AttachNspaceReply>()) {
            ASSERT_EQ(1u, fresh->segments.size());
            EXPECT_EQ("job", fresh->segments[0].nspace);
            EXPECT_TRUE(fresh->segments[0].has_descriptor);
            EXPECT_GT(fresh->segments[0].instance, last);
            last = fresh->segments[0].instance;
            ++compactions;
        }
        EXPECT_GE(compactions, 3u);
        EXPECT_EQ(1 + compactions, client->descriptors_received());
    }
    // A process that connects now gets the newest segment, with the right value.
    FakeClient late(s.server, {"job", 1});
    ASSERT_EQ(PMIX_SUCCESS, late.hello());
    EXPECT_EQ("5999" + std::string(299, 'x'), late.read_text(0, "k"));
}
