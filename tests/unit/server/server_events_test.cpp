// SPDX-License-Identifier: BSD-3-Clause
// Events through a whole server: who hears of what, what is kept for later handlers, what goes up and what does not.
#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "support/fake_client.h"

using namespace pmix;
using namespace pmix::test;
using common::InfoList;

namespace {

struct Setting {
    explicit Setting(server::ServerOptions options = {})
        : module(host.module()),
          server(&module, std::move(options)),
          a(server, {"job", 0}),
          b(server, {"job", 1}),
          o(server, {"other", 0}) {
        server.job("job", 1, 2);
        server.job("other", 1, 1);
        EXPECT_EQ(PMIX_SUCCESS, a.hello());
        EXPECT_EQ(PMIX_SUCCESS, b.hello());
        EXPECT_EQ(PMIX_SUCCESS, o.hello());
    }
    pmix_status_t listen(FakeClient& client, std::vector<int32_t> codes, uint64_t reference) {
        common::RegisterEventsRequest request;
        request.codes = std::move(codes);
        request.reference = reference;
        return client.ask<Command::register_events>(request);
    }
    pmix_status_t notify(FakeClient& client, ProcId source, int32_t code, pmix_data_range_t range,
                         InfoList infos = {}) {
        common::NotifyEventRequest request;
        request.status = code;
        request.source = std::move(source);
        request.range = range;
        request.infos = std::move(infos);
        return client.ask<Command::notify_event>(request);
    }
    size_t count(FakeClient& client, int32_t code) {
        server.settle();
        size_t n = 0;
        while (auto event = client.take_event()) n += event->status == code;
        return n;
    }
    FakeHost host;
    pmix_server_module_t module;
    TestServer server;
    FakeClient a, b, o;
};

}  // namespace

// rows: E13 E14 U10
// proves: PMIx_Notify_event PMIX_EVENT_CUSTOM_RANGE PMIX_EVENT_STAYS_LOCAL server
TEST(ServerEventsTest, Ranges) {
    Setting s;
    for (FakeClient* c : {&s.a, &s.b, &s.o}) ASSERT_EQ(PMIX_SUCCESS, s.listen(*c, {-100}, 0));
    ASSERT_EQ(PMIX_SUCCESS, s.notify(s.a, {"job", 0}, -100, PMIX_RANGE_NAMESPACE));
    EXPECT_EQ(1u, s.count(s.a, -100)) << "the sender is in range";
    EXPECT_EQ(1u, s.count(s.b, -100));
    EXPECT_EQ(0u, s.count(s.o, -100));
    EXPECT_EQ(1u, s.host.count("notify_event"));
    EXPECT_EQ(PMIX_RANGE_NAMESPACE, s.host.last("notify_event")->range);
    ASSERT_EQ(PMIX_SUCCESS, s.notify(s.a, {"job", 0}, -100, PMIX_RANGE_LOCAL));
    EXPECT_EQ(1u, s.count(s.o, -100));
    EXPECT_EQ(1u, s.host.count("notify_event")) << "the node is no matter of the host's";
    s.count(s.a, -100);
    s.count(s.b, -100);
    ASSERT_EQ(PMIX_SUCCESS, s.notify(s.a, {"job", 0}, -100, PMIX_RANGE_RM));
    for (FakeClient* c : {&s.a, &s.b, &s.o}) EXPECT_EQ(0u, s.count(*c, -100));
    EXPECT_EQ(2u, s.host.count("notify_event"));
    InfoList custom;
    pmix_proc_t target = ProcId("other", PMIX_RANK_WILDCARD).to_c();
    pmix_data_array_t array{PMIX_PROC, 1, &target};
    custom.append(PMIX_EVENT_CUSTOM_RANGE, &array, PMIX_DATA_ARRAY);
    ASSERT_EQ(PMIX_SUCCESS, s.notify(s.a, {"job", 0}, -100, PMIX_RANGE_CUSTOM, std::move(custom)));
    EXPECT_EQ(0u, s.count(s.b, -100));
    EXPECT_EQ(1u, s.count(s.o, -100));
    EXPECT_EQ(0u, s.count(s.a, -100)) << "not one of those in the list";
    InfoList here;
    here.append_flag(PMIX_EVENT_STAYS_LOCAL, true);
    const size_t up = s.host.count("notify_event");
    ASSERT_EQ(PMIX_SUCCESS, s.notify(s.a, {"job", 0}, -100, PMIX_RANGE_GLOBAL, std::move(here)));
    EXPECT_EQ(1u, s.count(s.o, -100));
    EXPECT_EQ(up, s.host.count("notify_event"));
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, s.notify(s.a, {"job", 0}, -100, PMIX_RANGE_INVALID));
}

// rows: E13
TEST(ServerEventsTest, ASessionEndsWhereAnotherBegins) {
    FakeHost host;
    pmix_server_module_t module = host.module();
    TestServer server(&module, {});
    const auto in_session = [&](const char* nspace, uint32_t id) {
        server.job(nspace, 1, 1);
        InfoList infos;
        infos.append_number(PMIX_SESSION_ID, id, PMIX_UINT32);
        EXPECT_EQ(PMIX_SUCCESS, server.add_job(nspace, 1, infos));
    };
    in_session("one", 1);
    in_session("same", 1);
    in_session("two", 2);
    FakeClient one(server, {"one", 0}), same(server, {"same", 0}), two(server, {"two", 0});
    for (FakeClient* c : {&one, &same, &two}) {
        ASSERT_EQ(PMIX_SUCCESS, c->hello());
        common::RegisterEventsRequest listen;
        listen.codes = {-100};
        ASSERT_EQ(PMIX_SUCCESS, c->ask<Command::register_events>(listen));
    }
    common::NotifyEventRequest request;
    request.status = -100;
    request.source = {"one", 0};
    for (pmix_data_range_t range : {PMIX_RANGE_SESSION, PMIX_RANGE_GLOBAL}) {
        request.range = range;
        ASSERT_EQ(PMIX_SUCCESS, one.ask<Command::notify_event>(request));
    }
    server.settle();
    const auto next_is = [](FakeClient& c, pmix_data_range_t range, int nearness) {
        auto event = c.take_event();
        return event && event->range == range && event->nearness == nearness;
    };
    using common::EventNotify;
    EXPECT_TRUE(next_is(same, PMIX_RANGE_SESSION, EventNotify::kOnThisNode));
    EXPECT_TRUE(next_is(same, PMIX_RANGE_GLOBAL, EventNotify::kOnThisNode));
    EXPECT_TRUE(next_is(two, PMIX_RANGE_GLOBAL, EventNotify::kOnThisNode | EventNotify::kInAnotherSession));
    EXPECT_FALSE(two.take_event());
}

// A host without notify_event carries nothing to other nodes. The notifier is told where its event has reached nobody.
// rows: E18
TEST(ServerEventsTest, Notify_HostTakesNoEvents_NotSupportedWhereNobodyIsTold) {
    FakeHost host;
    pmix_server_module_t module = host.module();
    module.notify_event = nullptr;
    TestServer server(&module, {});
    server.job("wide", 4, 1);  // one of its four processes is here
    server.job("here", 1, 2);  // all of it is
    FakeClient a(server, {"wide", 0});
    ASSERT_EQ(PMIX_SUCCESS, a.hello());
    const auto notify = [&](FakeClient& client, const char* nspace, pmix_data_range_t range, InfoList infos = {}) {
        common::NotifyEventRequest request;
        request.status = -100;
        request.source = {nspace, 0};
        request.range = range;
        request.infos = std::move(infos);
        return client.ask<Command::notify_event>(request);
    };
    const auto to = [](const char* nspace, pmix_rank_t rank) {
        InfoList custom;
        pmix_proc_t target = ProcId(nspace, rank).to_c();
        pmix_data_array_t array{PMIX_PROC, 1, &target};
        custom.append(PMIX_EVENT_CUSTOM_RANGE, &array, PMIX_DATA_ARRAY);
        return custom;
    };
    // Its job goes on elsewhere, and nobody else of it is here.
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, notify(a, "wide", PMIX_RANGE_NAMESPACE));
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, notify(a, "wide", PMIX_RANGE_RM));
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, notify(a, "wide", PMIX_RANGE_CUSTOM, to("wide", 2)));
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, notify(a, "wide", PMIX_RANGE_CUSTOM, to("nobody", PMIX_RANK_WILDCARD)));
    // Ranges that end on this node.
    EXPECT_EQ(PMIX_SUCCESS, notify(a, "wide", PMIX_RANGE_LOCAL));
    EXPECT_EQ(PMIX_SUCCESS, notify(a, "wide", PMIX_RANGE_PROC_LOCAL));
    InfoList stays;
    stays.append_flag(PMIX_EVENT_STAYS_LOCAL, true);
    EXPECT_EQ(PMIX_SUCCESS, notify(a, "wide", PMIX_RANGE_NAMESPACE, std::move(stays)));
    EXPECT_EQ(PMIX_SUCCESS, notify(a, "wide", PMIX_RANGE_CUSTOM, to("here", PMIX_RANK_WILDCARD)));
    // The processes of the other job will have it as soon as they connect, and are told.
    EXPECT_EQ(PMIX_SUCCESS, notify(a, "wide", PMIX_RANGE_SESSION));
    EXPECT_EQ(PMIX_SUCCESS, notify(a, "wide", PMIX_RANGE_GLOBAL));
    // A handler of its own wants it.
    common::RegisterEventsRequest listen;
    listen.codes = {-100};
    ASSERT_EQ(PMIX_SUCCESS, a.ask<Command::register_events>(listen));
    EXPECT_EQ(PMIX_SUCCESS, notify(a, "wide", PMIX_RANGE_NAMESPACE));
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, notify(a, "wide", PMIX_RANGE_CUSTOM, to("wide", 2))) << "not for itself";
    // A job of this node alone.
    FakeClient b(server, {"here", 0});
    ASSERT_EQ(PMIX_SUCCESS, b.hello());
    EXPECT_EQ(PMIX_SUCCESS, notify(b, "here", PMIX_RANGE_NAMESPACE));
}

// Local delivery is not held up by a host that takes none. rows: E18
TEST(ServerEventsTest, Notify_HostTakesNoEvents_LocalProcessesAreTold) {
    FakeHost host;
    pmix_server_module_t module = host.module();
    module.notify_event = nullptr;
    TestServer server(&module, {});
    server.job("wide", 2, 2);
    FakeClient a(server, {"wide", 0}), b(server, {"wide", 1});
    ASSERT_EQ(PMIX_SUCCESS, a.hello());
    ASSERT_EQ(PMIX_SUCCESS, b.hello());
    common::RegisterEventsRequest listen;
    listen.codes = {-100};
    ASSERT_EQ(PMIX_SUCCESS, b.ask<Command::register_events>(listen));
    common::NotifyEventRequest request;
    request.status = -100;
    request.source = {"wide", 0};
    request.range = PMIX_RANGE_NAMESPACE;
    EXPECT_EQ(PMIX_SUCCESS, a.ask<Command::notify_event>(request));
    server.settle();
    EXPECT_TRUE(b.take_event());
    // In strict mode the notifier is told that it goes no further, and the event is delivered all the same.
    server::ServerOptions options;
    options.strict = true;
    TestServer strict(&module, std::move(options));
    strict.job("wide", 2, 2);
    FakeClient c(strict, {"wide", 0}), d(strict, {"wide", 1});
    ASSERT_EQ(PMIX_SUCCESS, c.hello());
    ASSERT_EQ(PMIX_SUCCESS, d.hello());
    ASSERT_EQ(PMIX_SUCCESS, d.ask<Command::register_events>(listen));
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, c.ask<Command::notify_event>(request));
    strict.settle();
    EXPECT_TRUE(d.take_event());
    request.range = PMIX_RANGE_LOCAL;
    EXPECT_EQ(PMIX_SUCCESS, c.ask<Command::notify_event>(request));
}

// rows: E2 E11 E16
// proves: PMIx_Notify_event PMIX_EVENT_NON_DEFAULT server
TEST(ServerEventsTest, CodesDefaultsAndDeregistration) {
    Setting s;
    ASSERT_EQ(PMIX_SUCCESS, s.listen(s.b, {-101, -102}, 1));
    ASSERT_EQ(PMIX_SUCCESS, s.listen(s.o, {}, 2));
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
    EXPECT_EQ(PMIX_SUCCESS, s.b.ask<Command::deregister_events>(off));
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, s.b.ask<Command::deregister_events>(off));
    s.notify(s.a, {"job", 0}, -102, PMIX_RANGE_GLOBAL);
    EXPECT_EQ(0u, s.count(s.b, -102));
}

// rows: E10 E11
// proves: PMIx_Notify_event PMIX_EVENT_DO_NOT_CACHE server
TEST(ServerEventsTest, EarlierEvents_AreReplayedForTheNewHandlerInOrder) {
    server::ServerOptions options;
    options.event_cache = 3;
    Setting s(options);
    for (int i = 0; i < 5; ++i) s.notify(s.a, {"job", 0}, -110 - i, PMIX_RANGE_GLOBAL);
    InfoList passing;
    passing.append_flag(PMIX_EVENT_DO_NOT_CACHE, true);
    s.notify(s.a, {"job", 0}, -115, PMIX_RANGE_GLOBAL, std::move(passing));
    ASSERT_EQ(PMIX_SUCCESS, s.listen(s.b, {}, 7));
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

// rows: E14
TEST(ServerEventsTest, WhatTheHostHandsDownIsNeverHandedUp) {
    Setting s;
    ASSERT_EQ(PMIX_SUCCESS, s.listen(s.b, {-120}, 0));
    s.server.on_loop([&] {
        common::NotifyEventRequest request;
        request.status = -120;
        request.source = {"elsewhere", 0};
        request.range = PMIX_RANGE_SESSION;
        auto bytes = common::message_bytes(request);
        s.server.server->on_frame(s.server.server->self_peer(),
                                  common::FrameHeader::request(static_cast<uint16_t>(Command::notify_event), 5),
                                  *bytes);
        return 0;
    });
    EXPECT_EQ(1u, s.count(s.b, -120));
    EXPECT_EQ(0u, s.host.count("notify_event"));
}

// rows: E15 U9
TEST(ServerEventsTest, TheHostIsAskedOncePerCodeOfItsOwn) {
    Setting s;
    ASSERT_EQ(PMIX_SUCCESS, s.listen(s.a, {-5, -235, -4000}, 1));
    ASSERT_EQ(1u, s.host.count("register_events"));
    EXPECT_EQ((std::vector<pmix_status_t>{-4000, -235}), s.host.last("register_events")->codes);
    EXPECT_EQ(::geteuid(), number_of(s.host.last("register_events")->infos, PMIX_USERID));
    ASSERT_EQ(PMIX_SUCCESS, s.listen(s.b, {-4000}, 1));
    EXPECT_EQ(1u, s.host.count("register_events"));
    common::DeregisterEventsRequest off;
    off.reference = 1;
    ASSERT_EQ(PMIX_SUCCESS, s.a.ask<Command::deregister_events>(off));
    s.server.settle();
    ASSERT_EQ(1u, s.host.count("deregister_events"));
    EXPECT_EQ((std::vector<pmix_status_t>{-235}), s.host.last("deregister_events")->codes) << "-4000 is still wanted";
    s.b.kill();
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.count("deregister_events") == 2; }));
    EXPECT_EQ((std::vector<pmix_status_t>{-4000}), s.host.last("deregister_events")->codes);
}

// rows: E15 U9
TEST(ServerEventsTest, Register_WhileTheHostIsAskedForTheCode_WaitsWithTheFirst) {
    Setting s;
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
    EXPECT_EQ(PMIX_SUCCESS, answer->header.status);
    EXPECT_EQ(1u, s.count(s.b, -4000)) << "what was raised before the answer is replayed";
    EXPECT_EQ(0u, s.host.count("deregister_events"));
    s.b.kill();
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.count("deregister_events") == 1; }));
}

// A registration for two codes is refused because of one while the host is still asked for the other, and with that one
// nobody wants the other any more. rows: E15
TEST(ServerEventsTest, Deregister_WhileTheHostIsAsked_GivesTheCodeBackWhenItAnswers) {
    Setting s;
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
        EXPECT_EQ(PMIX_ERR_NO_PERMISSIONS, answer->header.status);
    }
    EXPECT_EQ(0u, s.host.count("deregister_events")) << "the host has not said yes to -4001 yet";
    s.host.answer_first();
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.count("deregister_events") == 1; }));
    EXPECT_EQ((std::vector<pmix_status_t>{-4001}), s.host.last("deregister_events")->codes);
    // It is as if nobody had ever asked.
    s.host.styles["register_events"] = Style::before_return;
    ASSERT_EQ(PMIX_SUCCESS, s.listen(s.o, {-4001}, 0));
    EXPECT_EQ(3u, s.host.count("register_events"));
}

// rows: E15 E19
TEST(ServerEventsTest, TheHostIsAskedByLevel) {
    Setting s;
    const auto listen = [&](FakeClient& c, std::vector<int32_t> codes, const char* level, uint64_t reference) {
        common::RegisterEventsRequest request;
        request.codes = std::move(codes);
        request.reference = reference;
        InfoList infos;
        infos.append_flag(level, true);
        request.infos = std::move(infos);
        return c.ask<Command::register_events>(request);
    };
    ASSERT_EQ(PMIX_SUCCESS, listen(s.a, {PMIX_EVENT_NODE_DOWN}, PMIX_EVENT_JOB_LEVEL, 1));
    EXPECT_EQ(0u, s.host.count("register_events")) << "events about jobs come without being asked for";
    ASSERT_EQ(PMIX_SUCCESS, listen(s.b, {}, PMIX_EVENT_ENVIRO_LEVEL, 2));
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
    Setting s(options);
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
    ASSERT_EQ(PMIX_SUCCESS, late.hello());
    ASSERT_EQ(PMIX_SUCCESS, s.listen(late, {}, 0));
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

// rows: E10
TEST(ServerEventsTest, ALaterJobOfTheSameNameGetsNoEventOfTheFirst) {
    Setting s;
    s.notify(s.o, {"other", 0}, -121, PMIX_RANGE_NAMESPACE);
    s.notify(s.o, {"other", 0}, -122, PMIX_RANGE_GLOBAL);
    s.server.on_loop([&] {
        s.server.setup().deregister_nspace("other");
        return 0;
    });
    s.server.job("other", 1, 1);
    FakeClient again(s.server, {"other", 0});
    ASSERT_EQ(PMIX_SUCCESS, again.hello());
    ASSERT_EQ(PMIX_SUCCESS, s.listen(again, {}, 0));
    s.server.settle();
    auto event = again.take_event();
    ASSERT_TRUE(event);
    EXPECT_EQ(-122, event->status);
    EXPECT_FALSE(again.take_event());
}

// rows: E11 U10
TEST(ServerEventsTest, Notify_HostRefuses_CallerIsToldItsStatus) {
    Setting s;
    s.host.statuses["notify_event"] = PMIX_ERR_UNREACH;
    for (const Style style : {Style::before_return, Style::fails}) {
        s.host.styles["notify_event"] = style;
        EXPECT_EQ(PMIX_ERR_UNREACH, s.notify(s.a, {"job", 0}, -4000, PMIX_RANGE_GLOBAL));
    }
    EXPECT_EQ(PMIX_SUCCESS, s.notify(s.a, {"job", 0}, -4000, PMIX_RANGE_LOCAL)) << "the host is not asked";
}

// rows: E1
TEST(ServerEventsTest, ARefusedRegistrationLeavesNothing) {
    Setting s;
    s.host.styles["register_events"] = Style::fails;
    s.host.statuses["register_events"] = PMIX_ERR_NO_PERMISSIONS;
    EXPECT_EQ(PMIX_ERR_NO_PERMISSIONS, s.listen(s.b, {-4000}, 1));
    s.notify(s.a, {"job", 0}, -4000, PMIX_RANGE_GLOBAL);
    EXPECT_EQ(0u, s.count(s.b, -4000));
}

// For the host alone, and only if it asks for this very code. It names nobody who is to be told. rows: E21
TEST(ServerEventsTest, ABrokenProtocolIsToldToTheHost) {
    Setting s;
    ASSERT_EQ(PMIX_SUCCESS, s.listen(s.b, {PMIX_ERR_FAILED_COMM}, 0));
    std::vector<ProcId> sources;
    s.server.on_loop([&] {
        server::SelfPeer& self = s.server.server->self_peer();
        self.set_sink([&](const common::FrameHeader& header, common::Bytes payload, std::span<const int>) {
            common::EventNotify event;
            if (header.kind == common::FrameKind::notify && common::decode_message(payload, event) == PMIX_SUCCESS &&
                event.status == PMIX_ERR_FAILED_COMM) {
                sources.push_back(event.source);
                const common::InfoView infos(event.infos.data(), event.infos.size());
                EXPECT_FALSE(infos.has(PMIX_EVENT_CUSTOM_RANGE));
            }
        });
        common::RegisterEventsRequest request;
        request.codes = {PMIX_ERR_FAILED_COMM};
        auto bytes = common::message_bytes(request);
        s.server.server->on_frame(
            self, common::FrameHeader::request(static_cast<uint16_t>(Command::register_events), 6), *bytes);
        return 0;
    });
    s.a.send_raw(
        frame_bytes(common::FrameHeader::request(static_cast<uint16_t>(Command::fence), 9), {0xff, 0xff, 0xff}));
    ASSERT_TRUE(s.server.turn_until([&] { return s.a.hung_up(); }));
    EXPECT_EQ((std::vector<ProcId>{{"job", 0}}), sources);
    EXPECT_EQ(0u, s.count(s.b, PMIX_ERR_FAILED_COMM));
    EXPECT_EQ(0u, s.host.count("notify_event"));
}

// rows: E17
TEST(ServerEventsTest, ClientLost_IsReportedToHandlersOfTheCode) {
    Setting s;
    ASSERT_EQ(PMIX_SUCCESS, s.listen(s.b, {PMIX_ERR_LOST_CONNECTION}, 0));
    ASSERT_EQ(PMIX_SUCCESS, s.listen(s.o, {}, 0));
    int own = 0;
    s.server.on_loop([&] {
        server::SelfPeer& self = s.server.server->self_peer();
        self.set_sink([&](const common::FrameHeader& header, common::Bytes payload, std::span<const int>) {
            common::EventNotify event;
            if (header.kind == common::FrameKind::notify && common::decode_message(payload, event) == PMIX_SUCCESS &&
                event.status == PMIX_ERR_LOST_CONNECTION && event.source == ProcId("job", 0))
                ++own;
        });
        common::RegisterEventsRequest request;
        request.codes = {PMIX_ERR_LOST_CONNECTION};
        auto bytes = common::message_bytes(request);
        s.server.server->on_frame(
            self, common::FrameHeader::request(static_cast<uint16_t>(Command::register_events), 6), *bytes);
        return 0;
    });
    s.a.kill();
    ASSERT_TRUE(s.server.turn_until([&] { return own == 1; }));
    auto event = s.b.take_event();
    ASSERT_TRUE(event);
    EXPECT_EQ(ProcId("job", 0), event->source);
    ASSERT_EQ(1u, event->infos.size() - 1) << "the process it is about, and that it is not for default handlers";
    EXPECT_EQ(0u, s.count(s.o, PMIX_ERR_LOST_CONNECTION));
}

// rows: S1 S2 S3
TEST(ServerEventsTest, MembersFindTheNamesOfTheirSets) {
    Setting s;
    const auto define = [&](const char* name, std::vector<ProcId> members) {
        return s.server.on_loop([&] { return s.server.setup().define_process_set(name, std::move(members)); });
    };
    const auto names_of = [&](FakeClient& c, uint32_t rank) {
        std::vector<std::string> names;
        dstore::Found found;
        common::Value value;
        if (c.reader()->find(dstore::Owner::proc(rank), dstore::Key(PMIX_PSET_NAMES), found) != PMIX_SUCCESS)
            return std::vector<std::string>{"not found"};
        EXPECT_EQ(PMIX_SUCCESS, common::decode_value_into(found.bytes(), value.c_ptr()));
        EXPECT_EQ(PMIX_DATA_ARRAY, value.type());
        const pmix_data_array_t& array = *value.get().data.darray;
        EXPECT_EQ(PMIX_STRING, array.type);
        for (size_t i = 0; i < array.size; ++i) names.emplace_back(static_cast<char**>(array.array)[i]);
        return names;
    };
    using Names = std::vector<std::string>;
    ASSERT_EQ(PMIX_SUCCESS, define("all", {{"job", PMIX_RANK_WILDCARD}, {"later", PMIX_RANK_WILDCARD}}));
    ASSERT_EQ(PMIX_SUCCESS, define("one", {{"job", 1}, {"later", 0}}));
    EXPECT_EQ((Names{"all"}), names_of(s.a, 0));
    EXPECT_EQ((Names{"all", "one"}), names_of(s.a, 1));
    EXPECT_EQ((Names{"not found"}), names_of(s.o, 0));
    ASSERT_EQ(PMIX_SUCCESS, s.server.on_loop([&] { return s.server.setup().delete_process_set("all"); }));
    EXPECT_EQ(Names{}, names_of(s.a, 0));
    EXPECT_EQ((Names{"one"}), names_of(s.b, 1));
    // A job that is registered afterwards.
    s.server.job("later", 1, 1);
    FakeClient later(s.server, {"later", 0});
    ASSERT_EQ(PMIX_SUCCESS, later.hello());
    EXPECT_EQ((Names{"one"}), names_of(later, 0));
}

// Names in records and in a column, of sets of all sizes that overlap, come and go: as a plain model says.
// rows: S1 S2 S3
TEST(ServerEventsTest, ProcessSets_LargeAndSmallOnesThatOverlap_AreFoundAsDefined) {
    constexpr uint32_t kRanks = 200;
    TestServer server(nullptr);
    server.job("wide", 1, kRanks, false);
    server.add_client("wide", 0);
    FakeClient client(server, {"wide", 0});
    ASSERT_EQ(PMIX_SUCCESS, client.hello());
    struct Set {
        std::string name;
        std::set<uint32_t> ranks;
    };
    std::vector<Set> model;
    std::set<uint32_t> ever;
    uint32_t seed = 7;
    const auto random = [&](uint32_t n) {
        seed = seed * 1664525 + 1013904223;
        return (seed >> 8) % n;
    };
    for (int step = 0; step < 60; ++step) {
        if (model.size() > 4 && random(3) == 0) {
            const size_t gone = random(static_cast<uint32_t>(model.size()));
            ASSERT_EQ(PMIX_SUCCESS,
                      server.on_loop([&] { return server.setup().delete_process_set(model[gone].name); }));
            model.erase(model.begin() + static_cast<ptrdiff_t>(gone));
        } else {
            Set set{"set" + std::to_string(step), {}};
            std::vector<ProcId> members{{"elsewhere", 3}};
            for (uint32_t n = step % 3 == 0 ? 3 : step % 3 == 1 ? 20 : 150; n > 0; --n) {
                const uint32_t rank = random(kRanks + 5);
                members.push_back({"wide", rank});
                if (rank < kRanks) set.ranks.insert(rank);
            }
            if (step % 10 == 9) {
                members.push_back({"wide", PMIX_RANK_WILDCARD});
                for (uint32_t rank = 0; rank < kRanks; ++rank) set.ranks.insert(rank);
            }
            ever.insert(set.ranks.begin(), set.ranks.end());
            ASSERT_EQ(PMIX_SUCCESS,
                      server.on_loop([&] { return server.setup().define_process_set(set.name, members); }));
            model.push_back(std::move(set));
        }
        for (uint32_t rank = 0; rank < kRanks; ++rank) {
            dstore::Found found;
            const auto rc = client.reader()->find(dstore::Owner::proc(rank), dstore::Key(PMIX_PSET_NAMES), found);
            ASSERT_EQ(ever.count(rank) != 0 ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND, rc) << step << ' ' << rank;
            if (rc != PMIX_SUCCESS) continue;
            common::Value value;
            ASSERT_EQ(PMIX_SUCCESS, common::decode_value_into(found.bytes(), value.c_ptr()));
            const pmix_data_array_t& array = *value.get().data.darray;
            std::vector<std::string> names, expected;
            for (size_t i = 0; i < array.size; ++i) names.emplace_back(static_cast<char**>(array.array)[i]);
            for (const Set& set : model)
                if (set.ranks.count(rank) != 0) expected.push_back(set.name);
            ASSERT_EQ(expected, names) << step << ' ' << rank;
        }
    }
}

// What grows with the square of the members takes an hour here.
// rows: S1
TEST(ServerEventsTest, ProcessSet_OfAMillionMembers_TakesTimeThatGrowsWithTheirNumber) {
    constexpr uint32_t kRanks = 1'000'000;
    TestServer server(nullptr);
    common::InfoList list;
    list.append_number<uint32_t>(PMIX_JOB_SIZE, kRanks, PMIX_UINT32);
    ASSERT_EQ(PMIX_SUCCESS, server.add_job("million", 1, list));
    std::vector<ProcId> members;
    for (uint32_t rank = kRanks; rank-- > 0;) members.push_back({"million", rank});
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_EQ(PMIX_SUCCESS,
              server.on_loop([&] { return server.setup().define_process_set("all", std::move(members)); }));
    const auto defined = std::chrono::steady_clock::now();
    ASSERT_EQ(PMIX_SUCCESS, server.add_job("million", 1, list));
    const auto registered = std::chrono::steady_clock::now();
    ASSERT_EQ(PMIX_SUCCESS, server.on_loop([&] {
        return server.setup().define_process_set("two", {{"million", 5}, {"million", 7}});
    }));
    const auto second = std::chrono::steady_clock::now();
    const auto ms = [](auto from, auto to) {
        return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(to - from).count());
    };
    RecordProperty("define_ms", ms(begin, defined));
    RecordProperty("register_ms", ms(defined, registered));
    RecordProperty("small_ms", ms(registered, second));
    EXPECT_LT(ms(begin, second), 40'000);
    const auto& reader = server.parts().registry.find("million")->data->reader();
    for (uint32_t rank : {0u, 5u, kRanks - 1}) {
        dstore::Found found;
        EXPECT_EQ(PMIX_SUCCESS, reader.find(dstore::Owner::proc(rank), dstore::Key(PMIX_PSET_NAMES), found));
    }
}

// rows: S1 S2
TEST(ServerEventsTest, ProcessSetsAreAnnounced) {
    Setting s;
    ASSERT_EQ(PMIX_SUCCESS, s.listen(s.a, {PMIX_PROCESS_SET_DEFINE, PMIX_PROCESS_SET_DELETE}, 0));
    auto on_loop = [&](auto f) { return s.server.on_loop(f); };
    EXPECT_EQ(PMIX_SUCCESS, on_loop([&] {
                  return s.server.setup().define_process_set("set", {{"job", 0}, {"job", 1}});
              }));
    EXPECT_EQ(PMIX_ERR_EXISTS, on_loop([&] { return s.server.setup().define_process_set("set", {{"job", 0}}); }));
    s.server.settle();
    auto event = s.a.take_event();
    ASSERT_TRUE(event);
    EXPECT_EQ(PMIX_PROCESS_SET_DEFINE, event->status);
    common::InfoView view(event->infos.data(), event->infos.size());
    std::string_view name;
    ASSERT_EQ(PMIX_SUCCESS, view.get(PMIX_PSET_NAME, &name));
    EXPECT_EQ("set", name);
    const pmix_data_array_t* members = nullptr;
    ASSERT_EQ(PMIX_SUCCESS, view.get(PMIX_PSET_MEMBERS, PMIX_PROC, &members));
    ASSERT_NE(nullptr, members);
    EXPECT_EQ(2u, members->size);
    EXPECT_TRUE(view.flag(PMIX_EVENT_NON_DEFAULT)) << "Open MPI aborts in its default handler";
    EXPECT_EQ(PMIX_SUCCESS, on_loop([&] { return s.server.setup().delete_process_set("set"); }));
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, on_loop([&] { return s.server.setup().delete_process_set("set"); }));
    s.server.settle();
    event = s.a.take_event();
    ASSERT_TRUE(event);
    EXPECT_EQ(PMIX_PROCESS_SET_DELETE, event->status);
    EXPECT_TRUE(common::InfoView(event->infos.data(), event->infos.size()).flag(PMIX_EVENT_NON_DEFAULT));
    // a late handler hears of both
    ASSERT_EQ(PMIX_SUCCESS, s.listen(s.o, {PMIX_PROCESS_SET_DEFINE}, 3));
    EXPECT_EQ(1u, s.count(s.o, PMIX_PROCESS_SET_DEFINE));
}

// A host reports in a daemon's name; the job of the event follows from the affected process.
// rows: E11 E13
// proves: PMIx_Notify_event PMIX_EVENT_AFFECTED_PROC PMIX_EVENT_AFFECTED_PROCS server
TEST(ServerEventsTest, ANamespacesEventsAreThoseAboutItsProcesses) {
    Setting s;
    for (FakeClient* c : {&s.a, &s.o}) ASSERT_EQ(PMIX_SUCCESS, s.listen(*c, {-100}, 0));
    const auto raise = [&](InfoList infos) {
        s.server.on_loop([&] {
            s.server.parts().events.raise(-100, {"daemons", 1}, PMIX_RANGE_NAMESPACE, std::move(infos));
            return 0;
        });
    };
    raise({});
    EXPECT_EQ(0u, s.count(s.a, -100));
    InfoList one, several;
    const pmix_proc_t rank = ProcId("other", 0).to_c();
    one.append(PMIX_EVENT_AFFECTED_PROC, &rank, PMIX_PROC);
    raise(std::move(one));
    EXPECT_EQ(0u, s.count(s.a, -100));
    EXPECT_EQ(1u, s.count(s.o, -100));
    pmix_proc_t both[2] = {rank, ProcId("job", 1).to_c()};
    pmix_data_array_t array{};
    array.type = PMIX_PROC;
    array.size = 2;
    array.array = both;
    several.append(PMIX_EVENT_AFFECTED_PROCS, &array, PMIX_DATA_ARRAY);
    raise(std::move(several));
    EXPECT_EQ(1u, s.count(s.a, -100));
    EXPECT_EQ(1u, s.count(s.o, -100));
}
