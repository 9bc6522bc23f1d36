// Events through a whole server: who hears of what, what is kept for later handlers, what goes up and what does not.
#include <gtest/gtest.h>

#include "support/fake_client.h"

using namespace pmix;
using namespace pmix::test;
using common::InfoList;

namespace {

struct Setting {
    explicit Setting(server::ServerOptions options = {})
        : module(host.module()), server(&module, std::move(options)), a(server, {"job", 0}), b(server, {"job", 1}),
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
    pmix_status_t notify(FakeClient& client, ProcId source, int32_t code, pmix_data_range_t range, InfoList infos = {}) {
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
TEST(ServerEventsTest, Ranges) {
    Setting s;
    for (FakeClient* c : {&s.a, &s.b, &s.o}) ASSERT_EQ(PMIX_SUCCESS, s.listen(*c, {-100}, 0));
    ASSERT_EQ(PMIX_SUCCESS, s.notify(s.a, {"job", 0}, -100, PMIX_RANGE_NAMESPACE));
    EXPECT_EQ(0u, s.count(s.a, -100)) << "a client runs its own handlers itself";
    EXPECT_EQ(1u, s.count(s.b, -100));
    EXPECT_EQ(0u, s.count(s.o, -100));
    EXPECT_EQ(1u, s.host.count("notify_event"));
    EXPECT_EQ(PMIX_RANGE_NAMESPACE, s.host.last("notify_event")->range);
    ASSERT_EQ(PMIX_SUCCESS, s.notify(s.a, {"job", 0}, -100, PMIX_RANGE_LOCAL));
    EXPECT_EQ(1u, s.count(s.o, -100));
    EXPECT_EQ(1u, s.host.count("notify_event")) << "the node is no matter of the host's";
    s.count(s.b, -100);
    ASSERT_EQ(PMIX_SUCCESS, s.notify(s.a, {"job", 0}, -100, PMIX_RANGE_RM));
    EXPECT_EQ(0u, s.count(s.b, -100));
    EXPECT_EQ(2u, s.host.count("notify_event"));
    InfoList custom;
    pmix_proc_t target = ProcId("other", PMIX_RANK_WILDCARD).to_c();
    pmix_data_array_t array{PMIX_PROC, 1, &target};
    custom.append(PMIX_EVENT_CUSTOM_RANGE, &array, PMIX_DATA_ARRAY);
    ASSERT_EQ(PMIX_SUCCESS, s.notify(s.a, {"job", 0}, -100, PMIX_RANGE_CUSTOM, std::move(custom)));
    EXPECT_EQ(0u, s.count(s.b, -100));
    EXPECT_EQ(1u, s.count(s.o, -100));
}

// rows: E2 E11 E16
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
TEST(ServerEventsTest, WhatCameBeforeIsReplayedForTheNewHandlerInOrder) {
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
                                  common::FrameHeader::request(static_cast<uint16_t>(Command::notify_event), 5), *bytes);
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

// rows: E1
TEST(ServerEventsTest, ARefusedRegistrationLeavesNothing) {
    Setting s;
    s.host.styles["register_events"] = Style::fails;
    s.host.statuses["register_events"] = PMIX_ERR_NO_PERMISSIONS;
    EXPECT_EQ(PMIX_ERR_NO_PERMISSIONS, s.listen(s.b, {-4000}, 1));
    s.notify(s.a, {"job", 0}, -4000, PMIX_RANGE_GLOBAL);
    EXPECT_EQ(0u, s.count(s.b, -4000));
}

// rows: E17
TEST(ServerEventsTest, ALostClientIsToldToWhoAsksForIt) {
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
        s.server.server->on_frame(self, common::FrameHeader::request(static_cast<uint16_t>(Command::register_events), 6),
                                  *bytes);
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

// rows: S1 S2
TEST(ServerEventsTest, ProcessSetsAreAnnounced) {
    Setting s;
    ASSERT_EQ(PMIX_SUCCESS, s.listen(s.a, {PMIX_PROCESS_SET_DEFINE, PMIX_PROCESS_SET_DELETE}, 0));
    auto on_loop = [&](auto f) { return s.server.on_loop(f); };
    EXPECT_EQ(PMIX_SUCCESS, on_loop([&] { return s.server.setup().define_process_set("set", {{"job", 0}, {"job", 1}}); }));
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
    EXPECT_EQ(PMIX_SUCCESS, on_loop([&] { return s.server.setup().delete_process_set("set"); }));
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, on_loop([&] { return s.server.setup().delete_process_set("set"); }));
    s.server.settle();
    event = s.a.take_event();
    ASSERT_TRUE(event);
    EXPECT_EQ(PMIX_PROCESS_SET_DELETE, event->status);
    // a late handler hears of both
    ASSERT_EQ(PMIX_SUCCESS, s.listen(s.o, {PMIX_PROCESS_SET_DEFINE}, 3));
    EXPECT_EQ(1u, s.count(s.o, PMIX_PROCESS_SET_DEFINE));
}
