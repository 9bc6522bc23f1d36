// SPDX-License-Identifier: BSD-3-Clause
// What a server counts for operators (WIREUP_QUERY_COUNTERS): each number changes by exactly what was done.
#include <gtest/gtest.h>

#include <map>

#include "common/values/array_value.h"
#include "support/fake_client.h"
#include "support/status.h"

namespace pmix::test::server_counters_test {
namespace {

using Numbers = std::map<std::string, uint64_t>;

// "wireup.cnt.req/fence" for a number in an array, "wireup.cnt.open" for one by itself.
Numbers numbers_of(FakeClient& client) {
    char key[] = WIREUP_QUERY_COUNTERS;
    char* keys[] = {key, nullptr};
    pmix_query_t one{};
    one.keys = keys;
    common::QueryRequest request;
    request.queries = common::Queries::borrow(&one, 1);
    auto reply = client.wait(client.start<Command::query>(request));
    Numbers out;
    common::ResultsReply results;
    if (!reply || reply->header.status != PMIX_SUCCESS ||
        common::decode_message(reply->payload, results) != PMIX_SUCCESS || results.infos.size() != 1) {
        ADD_FAILURE() << "the query has no answer";
        return out;
    }
    const common::InfoView found = common::infos_in(results.infos[0].value);
    for (const pmix_info_t& answer : found) {
        EXPECT_STREQ(WIREUP_QUERY_COUNTERS, answer.key);
        for (const pmix_info_t& info : common::infos_in(answer.value)) {
            if (info.value.type == PMIX_UINT64) out[info.key] = info.value.data.uint64;
            if (info.value.type != PMIX_DATA_ARRAY) continue;
            for (const pmix_info_t& part : common::infos_in(info.value)) {
                EXPECT_EQ(PMIX_UINT64, part.value.type) << part.key;
                out[std::string(info.key) + '/' + part.key] = part.value.data.uint64;
            }
        }
    }
    return out;
}

class ServerCountersTest : public ::testing::Test {
  protected:
    void SetUp() override {
        module = host.module();
        server::ServerOptions options;
        options.registration_wait_ms = 0;
        options.max_half_open = 2;
        server = std::make_unique<TestServer>(&module, options);
        server->job("job", 1, 2);
        a = std::make_unique<FakeClient>(*server, ProcId("job", 0));
        ASSERT_STATUS(PMIX_SUCCESS, a->hello());
        b = std::make_unique<FakeClient>(*server, ProcId("job", 1));
        ASSERT_STATUS(PMIX_SUCCESS, b->hello());
        before = numbers_of(*a);
    }
    void TearDown() override {
        a.reset();
        b.reset();
        server.reset();
    }
    // What has changed, but for the query itself, the time and the memory of a moment.
    Numbers changes() {
        const Numbers now = numbers_of(*a);
        EXPECT_EQ(now.size(), before.size());
        Numbers out;
        for (const auto& [key, n] : now)
            if (n != before[key]) out[key] = n - before[key];
        EXPECT_EQ(1u, out["wireup.cnt.req/query"]);
        out.erase("wireup.cnt.req/query");
        out.erase("wireup.cnt.stall");
        out.erase("wireup.cnt.slow");  // on a loaded machine
        out.erase(held());
        before = now;
        return out;
    }
    static std::string held() { return "wireup.cnt.held/" + std::to_string(::geteuid()); }

    FakeHost host;
    pmix_server_module_t module{};
    std::unique_ptr<TestServer> server;
    std::unique_ptr<FakeClient> a, b;
    Numbers before;
};

TEST_F(ServerCountersTest, ClientsHaveConnected_NothingAsked_IsAllZeroBesides) {
    EXPECT_EQ(2u, before["wireup.cnt.peers/client"]);
    EXPECT_EQ(0u, before["wireup.cnt.peers/tool"]);
    EXPECT_EQ(0u, before["wireup.cnt.peers/observer"]);
    EXPECT_EQ(host.seen.size(), before["wireup.cnt.upcalls"]);
    EXPECT_EQ(2u, before["wireup.cnt.upcalls"]);  // client_connected2
    EXPECT_EQ(0u, before["wireup.cnt.open"]);
    EXPECT_EQ(1u, before["wireup.cnt.req/query"]);
    for (const auto& [key, n] : before) {
        const bool is_request = key.starts_with("wireup.cnt.req/") && !key.ends_with("/query");
        if (is_request || key.starts_with("wireup.cnt.refused/")) {
            EXPECT_EQ(0u, n) << key;
        }
    }
    // What only a server sends, and what comes before the first request, is no kind of request.
    for (const char* kind : {"hello", "identity", "event", "iof", "segment_gone", "commit_refused"})
        EXPECT_EQ(0u, before.count(std::string("wireup.cnt.req/") + kind)) << kind;
    for (const char* kind : {"commit", "get", "fence", "heartbeat", "unknown"})
        EXPECT_EQ(1u, before.count(std::string("wireup.cnt.req/") + kind)) << kind;
}

TEST_F(ServerCountersTest, Requests_OfSeveralKinds_AreCountedByKindWithTheirUpcalls) {
    a->put("k", "v");
    const uint32_t first = a->start_fence({{"job", PMIX_RANK_WILDCARD}});
    const uint32_t second = b->start_fence({{"job", PMIX_RANK_WILDCARD}});
    ASSERT_TRUE(a->wait(first) && b->wait(second));
    const uint64_t fences = host.count("fence");
    Numbers expected{{"wireup.cnt.req/commit", 1}, {"wireup.cnt.req/fence", 2}};
    if (fences != 0) expected["wireup.cnt.upcalls"] = fences;
    EXPECT_EQ(expected, changes());
    EXPECT_EQ(Numbers(), changes());
    EXPECT_EQ(0u, before["wireup.cnt.open"]);
}

TEST_F(ServerCountersTest, Upcall_HostHasNotAnswered_IsOpenAndItsRequestHeld) {
    const uint64_t held_before = before[held()];
    host.styles["lookup"] = Style::later;
    common::LookupRequest lookup;
    lookup.keys = {"k"};
    const uint32_t id = b->start<Command::lookup>(lookup);
    ASSERT_TRUE(server->turn_until([&] { return host.waiting() == 1; }));
    EXPECT_EQ((Numbers{{"wireup.cnt.req/lookup", 1}, {"wireup.cnt.upcalls", 1}, {"wireup.cnt.open", 1}}), changes());
    EXPECT_LT(held_before, before[held()]);
    host.answer_waiting();
    ASSERT_TRUE(b->wait(id));
    EXPECT_EQ((Numbers{{"wireup.cnt.open", static_cast<uint64_t>(-1)}}), changes());
    EXPECT_EQ(held_before, before[held()]);
}

TEST_F(ServerCountersTest, Request_ThatIsNotCarriedOut_IsCountedAsRefused) {
    // Unknown numbers, one of them beyond all that are counted.
    for (const uint16_t unknown : {uint16_t{63}, uint16_t{5000}})
        b->send_raw(frame_bytes(common::FrameHeader::request(unknown, 900), {}));
    server->settle();
    EXPECT_EQ((Numbers{{"wireup.cnt.req/unknown", 2}, {"wireup.cnt.refused/request", 2}}), changes());
    {
        FakeClient observer(*server, ProcId());
        ASSERT_STATUS(PMIX_SUCCESS, observer.hello({}, common::PeerRole::observer));
        EXPECT_EQ((Numbers{{"wireup.cnt.peers/observer", 1}}), changes());
        common::LookupRequest lookup;
        lookup.keys = {"k"};
        EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, observer.ask<Command::lookup>(lookup));
        EXPECT_EQ((Numbers{{"wireup.cnt.req/lookup", 1}, {"wireup.cnt.refused/request", 1}}), changes());
    }
    server->settle();
    EXPECT_EQ((Numbers{{"wireup.cnt.peers/observer", static_cast<uint64_t>(-1)}}), changes());
    // No message: its sender is disconnected.
    b->send_raw(frame_bytes(common::FrameHeader::request(static_cast<uint16_t>(Command::get), 901), {1}));
    ASSERT_TRUE(server->turn_until([&] { return b->hung_up(); }));
    const Numbers after = changes();
    EXPECT_EQ(1u, after.at("wireup.cnt.req/get"));
    EXPECT_EQ(1u, after.at("wireup.cnt.refused/request"));
    EXPECT_EQ(static_cast<uint64_t>(-1), after.at("wireup.cnt.peers/client"));
}

TEST_F(ServerCountersTest, Connection_ThatIsRefusedOrOneTooMany_IsCounted) {
    FakeClient nobody(*server, ProcId("job", 7));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, nobody.hello());
    EXPECT_EQ((Numbers{{"wireup.cnt.refused/connection", 1}}), changes());
    // Two may be silent; the third takes the place of the first.
    FakeClient first(*server, ProcId()), second(*server, ProcId());
    EXPECT_EQ(Numbers(), changes());
    FakeClient third(*server, ProcId());
    EXPECT_EQ((Numbers{{"wireup.cnt.refused/connection", 1}}), changes());
    EXPECT_TRUE(first.hung_up());
    EXPECT_FALSE(second.hung_up());
}

TEST_F(ServerCountersTest, Commit_ThatIsRefused_IsCounted) {
    b->put("k", "v", PMIX_INTERNAL);
    ASSERT_TRUE(server->turn_until(
        [&] { return (b->take_notify<Command::commit_refused, common::CommitRefusedNotify>()).has_value(); }));
    EXPECT_EQ((Numbers{{"wireup.cnt.req/commit", 1}, {"wireup.cnt.refused/commit", 1}}), changes());
}

TEST_F(ServerCountersTest, LoopKeptBusy_ByTheHost_IsTheLongestPassAndASlowOne) {
    host.inside["lookup"] = [] { ::usleep(50'000); };
    common::LookupRequest lookup;
    lookup.keys = {"k"};
    b->ask<Command::lookup>(lookup);
    Numbers now = numbers_of(*a);
    EXPECT_LE(50'000u, now["wireup.cnt.stall"]);
    EXPECT_LE(before["wireup.cnt.slow"] + 1, now["wireup.cnt.slow"]);
}

}  // namespace
}  // namespace pmix::test::server_counters_test
