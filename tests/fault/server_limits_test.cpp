// SPDX-License-Identifier: BSD-3-Clause
// What one process may make a server hold: few bytes on the wire must not become many in its memory.
#include <gtest/gtest.h>

#include "support/fake_client.h"
#include "support/status.h"

namespace server_limits_test {

using namespace pmix;
using namespace pmix::test;
using common::InfoList;

namespace {

// A job control request with one directive: an array of n empty infos.
std::vector<uint8_t> nested_infos(uint32_t n) {
    pmix_info_t empty{};
    pmix_data_array_t array{PMIX_INFO, 1, &empty};
    InfoList list;
    pmix_info_t outer{};
    std::strcpy(outer.key, "x");
    outer.value.type = PMIX_DATA_ARRAY;
    outer.value.data.darray = &array;
    EXPECT_STATUS(PMIX_SUCCESS, list.append(outer));
    common::ByteWriter one, whole;
    EXPECT_STATUS(PMIX_SUCCESS, common::encode_element(one, PMIX_INFO, &empty));
    EXPECT_STATUS(PMIX_SUCCESS, common::encode_infos(whole, list.c_array(), list.size()));
    std::vector<uint8_t> bytes = whole.take();
    common::store_le<uint32_t>(bytes.data() + bytes.size() - one.size() - 4, n);
    for (uint32_t i = 1; i < n; ++i) bytes.insert(bytes.end(), one.view().begin(), one.view().end());
    return bytes;
}

pmix_status_t decode(const std::vector<uint8_t>& bytes, size_t budget) {
    common::ByteReader r(bytes);
    r.set_budget(&budget);
    InfoList list;
    return common::decode_infos(r, &list);
}

}  // namespace

TEST(ServerLimitsTest, NestedInfosCountLikeOthers) {
    const auto bytes = nested_infos(1000);
    EXPECT_STATUS(PMIX_SUCCESS, decode(bytes, 2000 * sizeof(pmix_info_t)));
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, decode(bytes, 1000 * sizeof(pmix_info_t)));
    common::ByteReader unbounded(bytes);
    InfoList list;
    EXPECT_STATUS(PMIX_SUCCESS, common::decode_infos(unbounded, &list)) << "one's own bytes have no budget";
}

TEST(ServerLimitsTest, AMessageThatWouldSwellEndsItsConnection) {
    TestServer server(nullptr);
    server.job("job", 1, 2);
    FakeClient good(server, {"job", 0}), evil(server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, good.hello());
    ASSERT_STATUS(PMIX_SUCCESS, evil.hello());
    common::LogRequest request;
    auto payload = common::message_bytes(request);
    ASSERT_TRUE(payload.ok());
    common::LogRequest full;
    InfoList list;
    for (uint32_t i = 0; i < common::kMaxInfosPerMessage; ++i) ASSERT_STATUS(PMIX_SUCCESS, list.append_flag("k", true));
    full.directives = std::move(list);
    auto most = common::message_bytes(full);
    ASSERT_TRUE(most.ok());
    common::LogRequest read;
    EXPECT_STATUS(PMIX_SUCCESS, common::decode_message(*most, read)) << "as many as a message may have";
    // In the place of an empty list of infos (a count of 0): 400,000 within one.
    const auto swollen = nested_infos(400'000);
    bool refused = false;
    for (size_t at = 0; at + 4 <= payload->size(); ++at) {
        std::vector<uint8_t> bytes(payload->begin(), payload->begin() + static_cast<long>(at));
        bytes.insert(bytes.end(), swollen.begin(), swollen.end());
        bytes.insert(bytes.end(), payload->begin() + static_cast<long>(at) + 4, payload->end());
        common::LogRequest out;
        const pmix_status_t rc = common::decode_message(bytes, out);
        EXPECT_LT(out.directives.size() == 1 && out.directives.data()[0].value.type == PMIX_DATA_ARRAY
                      ? out.directives.data()[0].value.data.darray->size
                      : 0,
                  400'000u);
        refused = refused || rc == PMIX_ERR_UNPACK_FAILURE;
    }
    EXPECT_TRUE(refused);
}

TEST(ServerLimitsTest, AQueryOfManyKeysIsRefused) {
    TestServer server(nullptr);
    server.job("job", 1, 256);
    FakeClient client(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, client.hello());
    const auto ask = [&](const char* key, size_t times, size_t& answer) {
        std::vector<char*> keys(times, const_cast<char*>(key));
        keys.push_back(nullptr);
        pmix_query_t query{};
        query.keys = keys.data();
        common::QueryRequest request;
        request.queries = common::Queries::borrow(&query, 1);
        auto reply = client.wait(client.start<Command::query>(request));
        answer = reply ? reply->payload.size() : 0;
        return reply ? reply->header.status : PMIX_ERR_LOST_CONNECTION;
    };
    size_t size = 0;
    EXPECT_STATUS(PMIX_SUCCESS, ask(PMIX_QUERY_NAMESPACES, 20, size));
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, ask(PMIX_QUERY_NAMESPACES, common::kMaxQueryKeys + 1, size));
    EXPECT_STATUS(PMIX_SUCCESS, ask(PMIX_QUERY_LOCAL_PROC_TABLE, 1, size));
    ASSERT_GT(size, common::kMaxQueryAnswer / common::kMaxQueryKeys) << "the next would prove nothing";
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, ask(PMIX_QUERY_LOCAL_PROC_TABLE, common::kMaxQueryKeys, size));
    EXPECT_LT(size, 1000u);
}

// rows: Q4
TEST(ServerLimitsTest, AQueryOfWhichOnePartIsKnown_IsAPartialSuccess) {
    TestServer server(nullptr);
    server.job("job", 1, 1);
    FakeClient client(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, client.hello());
    const auto ask = [&](std::vector<const char*> keys) {
        std::vector<char*> pointers;
        for (const char* key : keys) pointers.push_back(const_cast<char*>(key));
        pointers.push_back(nullptr);
        pmix_query_t query{};
        query.keys = pointers.data();
        common::QueryRequest request;
        request.queries = common::Queries::borrow(&query, 1);
        return client.ask<Command::query>(request);
    };
    EXPECT_STATUS(PMIX_SUCCESS, ask({PMIX_QUERY_NAMESPACES}));
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, ask({PMIX_QUERY_NAMESPACES, "nobody.knows"}));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, ask({"nobody.knows"})) << "there is no host to ask";
}

TEST(ServerLimitsTest, KeptEventsHaveABudget) {
    TestServer server(nullptr);
    server.job("job", 1, 2);
    FakeClient client(server, {"job", 0}), other(server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, client.hello());
    ASSERT_STATUS(PMIX_SUCCESS, other.hello());
    const auto notify = [&](int code, InfoList infos) {
        common::NotifyEventRequest event;
        event.status = code;
        event.source = {"job", 0};
        event.range = PMIX_RANGE_LOCAL;
        event.infos = std::move(infos);
        return client.ask<Command::notify_event>(event);
    };
    const auto text = [](size_t size) {
        InfoList infos;
        EXPECT_STATUS(PMIX_SUCCESS, infos.append_string("x", std::string(size, 'y')));
        return infos;
    };
    constexpr size_t kLarge = 60'000, kFit = common::kEventCacheBytes / kLarge;
    for (size_t i = 0; i < kFit + 50; ++i)
        ASSERT_STATUS(PMIX_SUCCESS, notify(-9000 - static_cast<int>(i), text(kLarge)));
    EXPECT_LE(server.parts().events.cached(), kFit);
    EXPECT_GE(server.parts().events.cached(), kFit / 2);
    // The newest are there.
    common::RegisterEventsRequest handler;
    handler.codes = {-9000 - static_cast<int>(kFit + 49)};
    handler.reference = 5;
    ASSERT_STATUS(PMIX_SUCCESS, other.ask<Command::register_events>(handler));
    EXPECT_TRUE(other.take_event());
    // One that would take the place of many reaches the registered handlers, and is not kept.
    const size_t before = server.parts().events.cached();
    handler.codes = {-8000};
    handler.reference = 6;
    ASSERT_STATUS(PMIX_SUCCESS, other.ask<Command::register_events>(handler));
    server.on_loop([&] {
        server.parts().events.raise(-8000, {"job", 0}, PMIX_RANGE_LOCAL, text(common::kMaxCachedEvent));
    });
    EXPECT_TRUE(server.turn_until([&] { return other.take_event().has_value(); }));
    InfoList many;
    for (int i = 0; i < 3000; ++i) ASSERT_STATUS(PMIX_SUCCESS, many.append_flag("k", true));
    ASSERT_STATUS(PMIX_SUCCESS, notify(-8000, std::move(many)));
    EXPECT_EQ(before, server.parts().events.cached()) << "few bytes on the wire, many in memory";
}

// Events for processes that have not connected outlive the ring, in a budget of their own.
TEST(ServerLimitsTest, EventsForProcessesNotConnected_BeyondTheirBudget_OldestAreDropped) {
    server::ServerOptions options;
    options.event_cache = 1;
    TestServer server(nullptr, std::move(options));
    server.job("late", 1, 1);
    const auto raise = [&](int code) {
        InfoList infos;
        const pmix_proc_t target = ProcId("late", 0).to_c();
        EXPECT_STATUS(PMIX_SUCCESS, infos.append(PMIX_EVENT_CUSTOM_RANGE, &target, PMIX_PROC));
        EXPECT_STATUS(PMIX_SUCCESS, infos.append_string("x", std::string(900'000, 'y')));
        server.on_loop([&] {
            server.parts().events.raise(code, {"late", 0}, PMIX_RANGE_CUSTOM, std::move(infos));
            return 0;
        });
        server.settle();
    };
    constexpr int kFit = static_cast<int>(common::kEventCacheBytes / 900'000);
    for (int i = 0; i < 2; ++i) raise(-9000 - i);
    ASSERT_EQ(2u, server.parts().events.cached()) << "one in the ring, one behind it";
    for (int i = 2; i < 2 * kFit; ++i) raise(-9000 - i);
    EXPECT_LE(server.parts().events.cached(), static_cast<size_t>(kFit) + 1);
    EXPECT_GE(server.parts().events.cached(), static_cast<size_t>(kFit) / 2);
    FakeClient late(server, {"late", 0});
    ASSERT_STATUS(PMIX_SUCCESS, late.hello());
    common::RegisterEventsRequest handler;
    handler.codes = {-9000, -9000 - 2 * kFit + 2};
    ASSERT_STATUS(PMIX_SUCCESS, late.ask<Command::register_events>(handler));
    std::optional<common::EventNotify> event;
    ASSERT_TRUE(server.turn_until([&] { return (event = late.take_event()).has_value(); }));
    EXPECT_EQ(handler.codes.back(), event->status) << "of the oldest and one of the newest, the newest";
}

}  // namespace server_limits_test
