// SPDX-License-Identifier: BSD-3-Clause
// Registrations of events at a server: what the host is asked for, codes, and replay.
#include "common/protocol/event_infos.h"
#include "support/status.h"
#include "unit/server/server_events_setting.h"

namespace server_event_registration_test {

using namespace pmix;
using namespace pmix::test;

// rows: E2 E11 E16
// proves: PMIx_Notify_event PMIX_EVENT_NON_DEFAULT server
TEST(ServerEventsTest, CodesDefaultsAndDeregistration) {
    EventsSetting s;
    ASSERT_STATUS(PMIX_SUCCESS, s.listen(s.b, {-101, -102}, 1));
    ASSERT_STATUS(PMIX_SUCCESS, s.listen(s.o, {}, 2));
    s.notify(s.a, {"job", 0}, -103, PMIX_RANGE_GLOBAL);
    EXPECT_EQ(0u, s.count(s.b, -103));
    EXPECT_EQ(1u, s.count(s.o, -103));
    InfoList list;
    list.append_flag(PMIX_EVENT_NON_DEFAULT, true);
    s.notify(s.a, {"job", 0}, -102, PMIX_RANGE_GLOBAL, std::move(list));
    EXPECT_EQ(1u, s.count(s.b, -102));
    EXPECT_EQ(0u, s.count(s.o, -102));
    common::DeregisterEventsRequest off;
    off.reference = 1;
    EXPECT_STATUS(PMIX_SUCCESS, s.b.ask<Command::deregister_events>(off));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, s.b.ask<Command::deregister_events>(off));
    s.notify(s.a, {"job", 0}, -102, PMIX_RANGE_GLOBAL);
    EXPECT_EQ(0u, s.count(s.b, -102));
}

// rows: E10 E11
// proves: PMIx_Notify_event PMIX_EVENT_DO_NOT_CACHE server
TEST(ServerEventsTest, EarlierEvents_AreReplayedForTheNewHandlerInOrder) {
    server::ServerOptions options;
    options.event_cache = 3;
    EventsSetting s(options);
    for (int i = 0; i < 5; ++i) s.notify(s.a, {"job", 0}, -110 - i, PMIX_RANGE_GLOBAL);
    InfoList passing;
    passing.append_flag(PMIX_EVENT_DO_NOT_CACHE, true);
    s.notify(s.a, {"job", 0}, -115, PMIX_RANGE_GLOBAL, std::move(passing));
    ASSERT_STATUS(PMIX_SUCCESS, s.listen(s.b, {}, 7));
    s.server.settle();
    std::vector<int> codes;
    uint64_t last = 0;
    while (auto event = s.b.take_event()) {
        codes.push_back(event->status);
        EXPECT_EQ(8u, event->replay_for) << "only for the handler that is new";
        EXPECT_GT(event->sequence, last);
        last = event->sequence;
    }
    EXPECT_EQ((std::vector<int>{-112, -113, -114}), codes) << "the ring holds three";
    s.notify(s.a, {"job", 0}, -116, PMIX_RANGE_GLOBAL);
    s.server.settle();
    auto event = s.b.take_event();
    ASSERT_TRUE(event);
    EXPECT_EQ(0u, event->replay_for);
    EXPECT_EQ(last + 1, event->sequence);
    EXPECT_FALSE(s.b.take_event());
}

// rows: E11 T4
TEST(ServerEventsTest, AHandlerThatHasHadEvents_IsSentTheLaterOnes) {
    EventsSetting s;
    const uint64_t start = common::event_clock();
    for (int i = 0; i < 3; ++i) s.notify(s.a, {"job", 0}, -110 - i, PMIX_RANGE_GLOBAL);
    ASSERT_STATUS(PMIX_SUCCESS, s.listen(s.b, {}, 7));
    s.server.settle();
    std::vector<uint64_t> numbers;
    while (auto event = s.b.take_event()) {
        EXPECT_GT(event->number, numbers.empty() ? start : numbers.back());
        numbers.push_back(event->number);
    }
    ASSERT_EQ(3u, numbers.size());
    EXPECT_LE(numbers.back(), common::event_clock());
    common::RegisterEventsRequest request;
    request.reference = 7;
    request.after = numbers[1];
    ASSERT_STATUS(PMIX_SUCCESS, s.o.ask<Command::register_events>(request));
    s.server.settle();
    const auto event = s.o.take_event();
    ASSERT_TRUE(event);
    EXPECT_EQ(numbers[2], event->number);
    EXPECT_EQ(-112, event->status);
    EXPECT_FALSE(s.o.take_event());
}

// rows: E15 U9
TEST(ServerEventsTest, TheHostIsAskedOncePerCodeOfItsOwn) {
    EventsSetting s;
    ASSERT_STATUS(PMIX_SUCCESS, s.listen(s.a, {-5, -235, -4000}, 1));
    ASSERT_EQ(1u, s.host.count("register_events"));
    EXPECT_EQ((std::vector<pmix_status_t>{-4000, -235}), s.host.last("register_events")->codes);
    EXPECT_EQ(::geteuid(), number_of(s.host.last("register_events")->infos, PMIX_USERID));
    ASSERT_STATUS(PMIX_SUCCESS, s.listen(s.b, {-4000}, 1));
    EXPECT_EQ(1u, s.host.count("register_events"));
    common::DeregisterEventsRequest off;
    off.reference = 1;
    ASSERT_STATUS(PMIX_SUCCESS, s.a.ask<Command::deregister_events>(off));
    s.server.settle();
    ASSERT_EQ(1u, s.host.count("deregister_events"));
    EXPECT_EQ((std::vector<pmix_status_t>{-235}), s.host.last("deregister_events")->codes) << "-4000 is still wanted";
    s.b.kill();
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.count("deregister_events") == 2; }));
    EXPECT_EQ((std::vector<pmix_status_t>{-4000}), s.host.last("deregister_events")->codes);
}

// rows: E15 U9
TEST(ServerEventsTest, Register_WhileTheHostIsAskedForTheCode_WaitsWithTheFirst) {
    EventsSetting s;
    s.host.styles["register_events"] = Style::later;
    const auto ask = [&](FakeClient& c) {
        common::RegisterEventsRequest request;
        request.codes = {-4000};
        return c.start<Command::register_events>(request);
    };
    const uint32_t first = ask(s.a), second = ask(s.b);
    s.server.settle();
    EXPECT_EQ(1u, s.host.count("register_events"));
    EXPECT_FALSE(s.a.take(first));
    EXPECT_FALSE(s.b.take(second)) << "nobody reports the code yet";
    s.notify(s.o, {"other", 0}, -4000, PMIX_RANGE_GLOBAL);
    s.a.kill();
    s.server.settle();
    s.host.answer_waiting();
    auto answer = s.b.wait(second);
    ASSERT_TRUE(answer);
    EXPECT_STATUS(PMIX_SUCCESS, answer->header.status);
    EXPECT_EQ(1u, s.count(s.b, -4000)) << "what was raised before the answer is replayed";
    EXPECT_EQ(0u, s.host.count("deregister_events"));
    s.b.kill();
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.count("deregister_events") == 1; }));
}

// Its process waits no longer for the host than it was told to. rows: E1 E15 G11
TEST(ServerEventsTest, Deregister_WhileTheHostIsAsked_TakesTheRegistrationBack) {
    EventsSetting s;
    s.host.styles["register_events"] = Style::later;
    common::RegisterEventsRequest request;
    request.codes = {-4000};
    request.reference = 7;
    const uint32_t late = s.b.start<Command::register_events>(request);
    s.server.settle();
    common::DeregisterEventsRequest off;
    off.reference = 8;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, s.b.ask<Command::deregister_events>(off));
    off.reference = 7;
    EXPECT_STATUS(PMIX_SUCCESS, s.b.ask<Command::deregister_events>(off));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, s.b.ask<Command::deregister_events>(off)) << "once";
    s.host.answer_waiting();
    const auto answer = s.b.wait(late);
    ASSERT_TRUE(answer);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, answer->header.status);
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.count("deregister_events") == 1; })) << "nobody wants the code";
    s.notify(s.a, {"job", 0}, -4000, PMIX_RANGE_GLOBAL);
    EXPECT_EQ(0u, s.count(s.b, -4000));
    // The number is free again.
    const uint32_t again = s.b.start<Command::register_events>(request);
    s.server.settle();
    s.host.answer_waiting();
    ASSERT_TRUE(s.b.wait(again));
    s.notify(s.a, {"job", 0}, -4000, PMIX_RANGE_GLOBAL);
    EXPECT_EQ(2u, s.count(s.b, -4000)) << "with the one that is kept";
}

// A registration for two codes is refused because of one while the host is still asked for the other, and with that one
// nobody wants the other any more. rows: E15
TEST(ServerEventsTest, Deregister_WhileTheHostIsAsked_GivesTheCodeBackWhenItAnswers) {
    EventsSetting s;
    s.host.styles["register_events"] = Style::later;
    s.host.statuses["register_events"] = PMIX_ERR_NO_PERMISSIONS;
    const auto ask = [](FakeClient& c, std::vector<int32_t> codes) {
        common::RegisterEventsRequest request;
        request.codes = std::move(codes);
        return c.start<Command::register_events>(request);
    };
    const uint32_t first = ask(s.a, {-4000});
    s.server.settle();
    s.host.statuses["register_events"] = PMIX_SUCCESS;
    const uint32_t second = ask(s.b, {-4000, -4001});
    s.server.settle();
    ASSERT_EQ(2u, s.host.waiting());
    EXPECT_EQ((std::vector<pmix_status_t>{-4001}), s.host.last("register_events")->codes);
    s.host.answer_first();  // -4000 is refused, for both of them
    for (auto [client, id] : {std::pair(&s.a, first), std::pair(&s.b, second)}) {
        auto answer = client->wait(id);
        ASSERT_TRUE(answer);
        EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, answer->header.status);
    }
    EXPECT_EQ(0u, s.host.count("deregister_events")) << "the host has not said yes to -4001 yet";
    s.host.answer_first();
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.count("deregister_events") == 1; }));
    EXPECT_EQ((std::vector<pmix_status_t>{-4001}), s.host.last("deregister_events")->codes);
    // It is as if nobody had ever asked.
    s.host.styles["register_events"] = Style::before_return;
    ASSERT_STATUS(PMIX_SUCCESS, s.listen(s.o, {-4001}, 0));
    EXPECT_EQ(3u, s.host.count("register_events"));
}

// rows: E15 E19
TEST(ServerEventsTest, TheHostIsAskedByLevel) {
    EventsSetting s;
    const auto listen = [&](FakeClient& c, std::vector<int32_t> codes, const char* level, uint64_t reference) {
        common::RegisterEventsRequest request;
        request.codes = std::move(codes);
        request.reference = reference;
        InfoList infos;
        infos.append_flag(level, true);
        request.infos = std::move(infos);
        return c.ask<Command::register_events>(request);
    };
    ASSERT_STATUS(PMIX_SUCCESS, listen(s.a, {PMIX_EVENT_NODE_DOWN}, PMIX_EVENT_JOB_LEVEL, 1));
    EXPECT_EQ(0u, s.host.count("register_events")) << "events about jobs come without being asked for";
    ASSERT_STATUS(PMIX_SUCCESS, listen(s.b, {}, PMIX_EVENT_ENVIRO_LEVEL, 2));
    ASSERT_EQ(1u, s.host.count("register_events"));
    EXPECT_EQ(101u, s.host.last("register_events")->codes.size());
    // What each hears of: jobs, or the environment.
    s.server.on_loop([&] {
        auto& events = s.server.server->parts().events;
        events.raise(PMIX_EVENT_NODE_DOWN, {"", PMIX_RANK_UNDEF}, PMIX_RANGE_GLOBAL, {});
        events.raise(-4000, {"", PMIX_RANK_UNDEF}, PMIX_RANGE_GLOBAL, {});
        events.raise(-4001, {"job", 0}, PMIX_RANGE_GLOBAL, {});
        return 0;
    });
    s.server.settle();
    std::vector<int> heard;
    while (auto event = s.b.take_event()) heard.push_back(event->status);
    EXPECT_EQ((std::vector<int>{PMIX_EVENT_NODE_DOWN, -4000}), heard);
    EXPECT_FALSE(s.a.take_event());
}

// A process that has not connected is not forgotten because of what comes in between.
// rows: E10
TEST(ServerEventsTest, EventsForProcessesThatHaveNotConnectedOutliveTheRing) {
    server::ServerOptions options;
    options.event_cache = 2;
    EventsSetting s(options);
    s.server.job("late", 1, 2);
    const auto custom = [&](int32_t code, ProcId to) {
        InfoList infos;
        const pmix_proc_t target = to.to_c();
        infos.append(PMIX_EVENT_CUSTOM_RANGE, &target, PMIX_PROC);
        s.notify(s.a, {"job", 0}, code, PMIX_RANGE_CUSTOM, std::move(infos));
    };
    custom(-121, {"late", 0});
    custom(-122, {"late", PMIX_RANK_WILDCARD});
    custom(-123, {"job", 1});
    for (int i = 0; i < 5; ++i) s.notify(s.a, {"job", 0}, -130 - i, PMIX_RANGE_RM);
    auto& events = s.server.server->parts().events;
    EXPECT_EQ(4u, events.cached());
    FakeClient late(s.server, {"late", 0});
    ASSERT_STATUS(PMIX_SUCCESS, late.hello());
    ASSERT_STATUS(PMIX_SUCCESS, s.listen(late, {}, 0));
    s.server.settle();
    std::vector<int> codes;
    while (auto event = late.take_event()) codes.push_back(event->status);
    EXPECT_EQ((std::vector<int>{-121, -122}), codes);
    EXPECT_EQ(3u, events.cached()) << "the first was for this process only";
    s.server.on_loop([&] {
        s.server.setup().deregister_client({"late", 1});
        return 0;
    });
    EXPECT_EQ(2u, events.cached());
}

// rows: E1
TEST(ServerEventsTest, ARefusedRegistrationLeavesNothing) {
    EventsSetting s;
    s.host.styles["register_events"] = Style::fails;
    s.host.statuses["register_events"] = PMIX_ERR_NO_PERMISSIONS;
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, s.listen(s.b, {-4000}, 1));
    s.notify(s.a, {"job", 0}, -4000, PMIX_RANGE_GLOBAL);
    EXPECT_EQ(0u, s.count(s.b, -4000));
}

}  // namespace server_event_registration_test
