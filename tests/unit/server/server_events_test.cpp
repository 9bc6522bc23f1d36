// SPDX-License-Identifier: BSD-3-Clause
// Events through a whole server: who hears of what, what is kept for later handlers, what goes up and what does not.
#include <cstring>

#include "common/base/opaque.h"
#include "common/values/proc_array.h"
#include "support/status.h"
#include "unit/server/server_events_setting.h"

namespace server_events_test {

using namespace pmix;
using namespace pmix::test;

// rows: E13 E14 U10
// proves: PMIx_Notify_event PMIX_EVENT_CUSTOM_RANGE PMIX_EVENT_STAYS_LOCAL server
TEST(ServerEventsTest, Ranges) {
    EventsSetting s;
    for (FakeClient* c : {&s.a, &s.b, &s.o}) ASSERT_STATUS(PMIX_SUCCESS, s.listen(*c, {-100}, 0));
    ASSERT_STATUS(PMIX_SUCCESS, s.notify(s.a, {"job", 0}, -100, PMIX_RANGE_NAMESPACE));
    EXPECT_EQ(1u, s.count(s.a, -100)) << "the sender is in range";
    EXPECT_EQ(1u, s.count(s.b, -100));
    EXPECT_EQ(0u, s.count(s.o, -100));
    EXPECT_EQ(1u, s.host.count("notify_event"));
    EXPECT_EQ(PMIX_RANGE_NAMESPACE, s.host.last("notify_event")->range);
    ASSERT_STATUS(PMIX_SUCCESS, s.notify(s.a, {"job", 0}, -100, PMIX_RANGE_LOCAL));
    EXPECT_EQ(1u, s.count(s.o, -100));
    EXPECT_EQ(1u, s.host.count("notify_event")) << "the node is no matter of the host's";
    s.count(s.a, -100);
    s.count(s.b, -100);
    ASSERT_STATUS(PMIX_SUCCESS, s.notify(s.a, {"job", 0}, -100, PMIX_RANGE_RM));
    for (FakeClient* c : {&s.a, &s.b, &s.o}) EXPECT_EQ(0u, s.count(*c, -100));
    EXPECT_EQ(2u, s.host.count("notify_event"));
    InfoList custom;
    pmix_proc_t target = ProcId("other", PMIX_RANK_WILDCARD).to_c();
    pmix_data_array_t array{PMIX_PROC, 1, &target};
    custom.append(PMIX_EVENT_CUSTOM_RANGE, &array, PMIX_DATA_ARRAY);
    ASSERT_STATUS(PMIX_SUCCESS, s.notify(s.a, {"job", 0}, -100, PMIX_RANGE_CUSTOM, std::move(custom)));
    EXPECT_EQ(0u, s.count(s.b, -100));
    EXPECT_EQ(1u, s.count(s.o, -100));
    EXPECT_EQ(0u, s.count(s.a, -100)) << "not one of those in the list";
    InfoList here;
    here.append_flag(PMIX_EVENT_STAYS_LOCAL, true);
    const size_t up = s.host.count("notify_event");
    ASSERT_STATUS(PMIX_SUCCESS, s.notify(s.a, {"job", 0}, -100, PMIX_RANGE_GLOBAL, std::move(here)));
    EXPECT_EQ(1u, s.count(s.o, -100));
    EXPECT_EQ(up, s.host.count("notify_event"));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, s.notify(s.a, {"job", 0}, -100, PMIX_RANGE_INVALID));
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
        EXPECT_STATUS(PMIX_SUCCESS, server.add_job(nspace, 1, infos));
    };
    in_session("one", 1);
    in_session("same", 1);
    in_session("two", 2);
    FakeClient one(server, {"one", 0}), same(server, {"same", 0}), two(server, {"two", 0});
    for (FakeClient* c : {&one, &same, &two}) {
        ASSERT_STATUS(PMIX_SUCCESS, c->hello());
        common::RegisterEventsRequest listen;
        listen.codes = {-100};
        ASSERT_STATUS(PMIX_SUCCESS, c->ask<Command::register_events>(listen));
    }
    common::NotifyEventRequest request;
    request.status = -100;
    request.source = {"one", 0};
    for (pmix_data_range_t range : {PMIX_RANGE_SESSION, PMIX_RANGE_GLOBAL}) {
        request.range = range;
        ASSERT_STATUS(PMIX_SUCCESS, one.ask<Command::notify_event>(request));
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
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
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
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, notify(a, "wide", PMIX_RANGE_NAMESPACE));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, notify(a, "wide", PMIX_RANGE_RM));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, notify(a, "wide", PMIX_RANGE_CUSTOM, to("wide", 2)));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, notify(a, "wide", PMIX_RANGE_CUSTOM, to("nobody", PMIX_RANK_WILDCARD)));
    // Ranges that end on this node.
    EXPECT_STATUS(PMIX_SUCCESS, notify(a, "wide", PMIX_RANGE_LOCAL));
    EXPECT_STATUS(PMIX_SUCCESS, notify(a, "wide", PMIX_RANGE_PROC_LOCAL));
    InfoList stays;
    stays.append_flag(PMIX_EVENT_STAYS_LOCAL, true);
    EXPECT_STATUS(PMIX_SUCCESS, notify(a, "wide", PMIX_RANGE_NAMESPACE, std::move(stays)));
    EXPECT_STATUS(PMIX_SUCCESS, notify(a, "wide", PMIX_RANGE_CUSTOM, to("here", PMIX_RANK_WILDCARD)));
    // The processes of the other job will have it as soon as they connect, and are told.
    EXPECT_STATUS(PMIX_SUCCESS, notify(a, "wide", PMIX_RANGE_SESSION));
    EXPECT_STATUS(PMIX_SUCCESS, notify(a, "wide", PMIX_RANGE_GLOBAL));
    // A handler of its own wants it.
    common::RegisterEventsRequest listen;
    listen.codes = {-100};
    ASSERT_STATUS(PMIX_SUCCESS, a.ask<Command::register_events>(listen));
    EXPECT_STATUS(PMIX_SUCCESS, notify(a, "wide", PMIX_RANGE_NAMESPACE));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, notify(a, "wide", PMIX_RANGE_CUSTOM, to("wide", 2))) << "not for itself";
    // An invitation waits for the answer of each that it is for, so all must get it.
    const auto invitation = [](const common::ProcList& targets) {
        InfoList custom;
        common::append_proc_array(custom, PMIX_EVENT_CUSTOM_RANGE, targets);
        return custom;
    };
    const auto invite = [&](const common::ProcList& targets) {
        common::NotifyEventRequest request;
        request.status = PMIX_GROUP_INVITED;
        request.source = {"wide", 0};
        request.range = PMIX_RANGE_CUSTOM;
        request.infos = invitation(targets);
        return a.ask<Command::notify_event>(request);
    };
    EXPECT_STATUS(PMIX_SUCCESS, invite({{"here", 0}, {"here", 1}}));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, invite({{"here", 0}, {"wide", 2}}));
    // A job of this node alone.
    FakeClient b(server, {"here", 0});
    ASSERT_STATUS(PMIX_SUCCESS, b.hello());
    EXPECT_STATUS(PMIX_SUCCESS, notify(b, "here", PMIX_RANGE_NAMESPACE));
}

// A host that fails to carry an invitation has not kept it from the processes of this node. rows: E18
TEST(ServerEventsTest, Notify_HostFailsToCarryAnInvitation_CountsForOtherNodes) {
    FakeHost host;
    host.statuses["notify_event"] = PMIX_ERROR;
    const pmix_server_module_t module = host.module();
    TestServer server(&module, {});
    server.job("wide", 2, 2);
    FakeClient a(server, {"wide", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    const auto notify = [&](pmix_status_t code, common::ProcList targets) {
        common::NotifyEventRequest request;
        request.status = code;
        request.source = {"wide", 0};
        request.range = PMIX_RANGE_CUSTOM;
        InfoList custom;
        common::append_proc_array(custom, PMIX_EVENT_CUSTOM_RANGE, targets);
        request.infos = std::move(custom);
        return a.ask<Command::notify_event>(request);
    };
    EXPECT_STATUS(PMIX_SUCCESS, notify(PMIX_GROUP_INVITED, {{"wide", 1}}));
    EXPECT_STATUS(PMIX_ERROR, notify(PMIX_GROUP_INVITED, {{"wide", 1}, {"wide", 2}}));
    EXPECT_STATUS(PMIX_ERROR, notify(-100, {{"wide", 1}})) << "of others the host's answer counts";
}

// Local delivery is not held up by a host that takes none. rows: E18
TEST(ServerEventsTest, Notify_HostTakesNoEvents_LocalProcessesAreTold) {
    FakeHost host;
    pmix_server_module_t module = host.module();
    module.notify_event = nullptr;
    TestServer server(&module, {});
    server.job("wide", 2, 2);
    FakeClient a(server, {"wide", 0}), b(server, {"wide", 1});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, b.hello());
    common::RegisterEventsRequest listen;
    listen.codes = {-100};
    ASSERT_STATUS(PMIX_SUCCESS, b.ask<Command::register_events>(listen));
    common::NotifyEventRequest request;
    request.status = -100;
    request.source = {"wide", 0};
    request.range = PMIX_RANGE_NAMESPACE;
    EXPECT_STATUS(PMIX_SUCCESS, a.ask<Command::notify_event>(request));
    server.settle();
    EXPECT_TRUE(b.take_event());
    // In strict mode the notifier is told that it goes no further, and the event is delivered all the same.
    server::ServerOptions options;
    options.strict = true;
    TestServer strict(&module, std::move(options));
    strict.job("wide", 2, 2);
    FakeClient c(strict, {"wide", 0}), d(strict, {"wide", 1});
    ASSERT_STATUS(PMIX_SUCCESS, c.hello());
    ASSERT_STATUS(PMIX_SUCCESS, d.hello());
    ASSERT_STATUS(PMIX_SUCCESS, d.ask<Command::register_events>(listen));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, c.ask<Command::notify_event>(request));
    strict.settle();
    EXPECT_TRUE(d.take_event());
    request.range = PMIX_RANGE_LOCAL;
    EXPECT_STATUS(PMIX_SUCCESS, c.ask<Command::notify_event>(request));
}

// rows: E14
TEST(ServerEventsTest, WhatTheHostHandsDownIsNeverHandedUp) {
    EventsSetting s;
    ASSERT_STATUS(PMIX_SUCCESS, s.listen(s.b, {-120}, 0));
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

namespace {

// The host notifies an event, with infos that it may have from an upcall.
void hand_down(TestServer& server, pmix_status_t code, const ProcId& source, pmix_data_range_t range,
               const InfoList& infos) {
    server.on_loop([&] {
        common::NotifyEventRequest request;
        request.status = code;
        request.source = source;
        request.range = range;
        request.infos = common::Infos::borrow(infos.c_array(), infos.size());
        auto bytes = common::message_bytes(request);
        server.server->on_frame(server.server->self_peer(),
                                common::FrameHeader::request(static_cast<uint16_t>(Command::notify_event), 5), *bytes);
        return 0;
    });
}

InfoList copy_of(const InfoList& infos) {
    InfoList out;
    EXPECT_STATUS(PMIX_SUCCESS, out.append_all(infos.c_array(), infos.size()));
    return out;
}

}  // namespace

// The host of Open MPI 4.1 notifies at once whatever it was given, in the range of the session. rows: E14
TEST(ServerEventsTest, Notify_HostHandsTheEventDownAgain_NobodyGetsItTwice) {
    EventsSetting s;
    for (FakeClient* c : {&s.a, &s.b, &s.o}) ASSERT_STATUS(PMIX_SUCCESS, s.listen(*c, {-100, -101}, 0));
    ASSERT_STATUS(PMIX_SUCCESS, s.notify(s.a, {"job", 0}, -100, PMIX_RANGE_NAMESPACE));
    for (FakeClient* c : {&s.a, &s.b}) EXPECT_EQ(1u, s.count(*c, -100));
    const InfoList given = copy_of(s.host.last("notify_event")->infos);
    hand_down(s.server, -100, {"job", 0}, PMIX_RANGE_SESSION, given);
    for (FakeClient* c : {&s.a, &s.b, &s.o}) EXPECT_EQ(0u, s.count(*c, -100));
    hand_down(s.server, -101, {"job", 0}, PMIX_RANGE_SESSION, given);
    for (FakeClient* c : {&s.a, &s.b, &s.o}) EXPECT_EQ(1u, s.count(*c, -101)) << "an event of the host's own";
    EXPECT_EQ(1u, s.host.count("notify_event"));
    // What the resource manager alone was given has reached nobody here.
    ASSERT_STATUS(PMIX_SUCCESS, s.notify(s.a, {"job", 0}, -100, PMIX_RANGE_RM));
    const InfoList for_host = copy_of(s.host.last("notify_event")->infos);
    hand_down(s.server, -100, {"job", 0}, PMIX_RANGE_SESSION, for_host);
    for (FakeClient* c : {&s.a, &s.b, &s.o}) EXPECT_EQ(1u, s.count(*c, -100));
}

// The marks of one server mean nothing to another, and no process sees them. rows: E14
TEST(ServerEventsTest, HandedUp_AtAnotherServer_IsDelivered) {
    InfoList given;
    {
        EventsSetting one;
        ASSERT_STATUS(PMIX_SUCCESS, one.notify(one.a, {"job", 0}, -100, PMIX_RANGE_NAMESPACE));
        given = copy_of(one.host.last("notify_event")->infos);
    }
    EXPECT_TRUE(common::InfoView(given).flag(server::kOfClientKey)) << "as OpenPMIx's servers have it";
    EXPECT_TRUE(common::InfoView(given).has(server::kHandedUpKey));
    EventsSetting other;
    ASSERT_STATUS(PMIX_SUCCESS, other.listen(other.b, {-100}, 0));
    hand_down(other.server, -100, {"job", 0}, PMIX_RANGE_NAMESPACE, given);
    other.server.settle();
    auto event = other.b.take_event();
    ASSERT_TRUE(event);
    const common::InfoView seen(event->infos.data(), event->infos.size());
    EXPECT_FALSE(seen.has(server::kOfClientKey));
    EXPECT_FALSE(seen.has(server::kHandedUpKey));
    EXPECT_FALSE(other.b.take_event());
    // A process cannot write them.
    ASSERT_STATUS(PMIX_SUCCESS, other.notify(other.a, {"job", 0}, -100, PMIX_RANGE_NAMESPACE, copy_of(given)));
    auto forged = other.b.take_event();
    ASSERT_TRUE(forged);
    EXPECT_EQ(0u, forged->infos.size()) << "nor the ids";
}

// A host that notifies everything in the range of the session does so on all nodes. rows: E13 E14
TEST(ServerEventsTest, HandedUp_AtAnotherServer_KeepsItsRange) {
    InfoList given;
    {
        EventsSetting one;
        ASSERT_STATUS(PMIX_SUCCESS, one.notify(one.a, {"job", 0}, -100, PMIX_RANGE_NAMESPACE));
        given = copy_of(one.host.last("notify_event")->infos);
    }
    EventsSetting other;
    for (FakeClient* c : {&other.b, &other.o}) ASSERT_STATUS(PMIX_SUCCESS, other.listen(*c, {-100, -101}, 0));
    hand_down(other.server, -100, {"job", 0}, PMIX_RANGE_SESSION, given);
    EXPECT_EQ(1u, other.count(other.b, -100));
    EXPECT_EQ(0u, other.count(other.o, -100));
    hand_down(other.server, -101, {"job", 0}, PMIX_RANGE_SESSION, given);
    for (FakeClient* c : {&other.b, &other.o}) EXPECT_EQ(1u, other.count(*c, -101)) << "another event";
    // A name that looks like a mark, and what is none.
    for (const auto& [mark, reaches_all] : {std::pair("a:b 1 2:0:5 -100 3", false), std::pair("a:0:5", true),
                                            std::pair("a:0:5 -100", true), std::pair("", true)}) {
        InfoList infos;
        infos.append_string(server::kHandedUpKey, mark);
        hand_down(other.server, -100, {"job", 0}, PMIX_RANGE_SESSION, infos);
        EXPECT_EQ(1u, other.count(other.b, -100)) << mark;
        EXPECT_EQ(reaches_all ? 1u : 0u, other.count(other.o, -100)) << mark;
    }
}

// A handler of mpirun 4.1 ends mpirun where an event of a client has no infos. rows: E14
TEST(ServerEventsTest, OfAClient_TheHostsHandlersFindTheMarkOfOpenPmix) {
    EventsSetting s;
    std::vector<bool> marked;
    s.server.on_loop([&] {
        server::SelfPeer& self = s.server.server->self_peer();
        self.set_sink([&](const common::FrameHeader& header, common::Bytes payload, std::span<const int>) {
            common::EventNotify event;
            if (header.kind == common::FrameKind::notify && common::decode_message(payload, event) == PMIX_SUCCESS)
                marked.push_back(common::InfoView(event.infos.data(), event.infos.size()).flag(server::kOfClientKey));
        });
        common::RegisterEventsRequest request;
        request.codes = {-100};
        auto bytes = common::message_bytes(request);
        s.server.server->on_frame(
            self, common::FrameHeader::request(static_cast<uint16_t>(Command::register_events), 6), *bytes);
        return 0;
    });
    ASSERT_STATUS(PMIX_SUCCESS, s.notify(s.a, {"job", 0}, -100, PMIX_RANGE_NAMESPACE));
    ASSERT_TRUE(s.server.turn_until([&] { return marked.size() == 1; }));
    const InfoList given = copy_of(s.host.last("notify_event")->infos);
    hand_down(s.server, -100, {"job", 0}, PMIX_RANGE_SESSION, given);
    hand_down(s.server, -100, {"job", 0}, PMIX_RANGE_SESSION, {});
    ASSERT_TRUE(s.server.turn_until([&] { return marked.size() == 2; }));
    EXPECT_EQ((std::vector<bool>{true, false}), marked) << "a client's, the host's own";
}

// rows: E10
TEST(ServerEventsTest, ALaterJobOfTheSameNameGetsNoEventOfTheFirst) {
    EventsSetting s;
    s.notify(s.o, {"other", 0}, -121, PMIX_RANGE_NAMESPACE);
    s.notify(s.o, {"other", 0}, -122, PMIX_RANGE_GLOBAL);
    s.server.on_loop([&] {
        s.server.setup().deregister_nspace("other");
        return 0;
    });
    s.server.job("other", 1, 1);
    FakeClient again(s.server, {"other", 0});
    ASSERT_STATUS(PMIX_SUCCESS, again.hello());
    ASSERT_STATUS(PMIX_SUCCESS, s.listen(again, {}, 0));
    s.server.settle();
    auto event = again.take_event();
    ASSERT_TRUE(event);
    EXPECT_EQ(-122, event->status);
    EXPECT_FALSE(again.take_event());
}

// rows: E11 U10
TEST(ServerEventsTest, Notify_HostRefuses_CallerIsToldItsStatus) {
    EventsSetting s;
    s.host.statuses["notify_event"] = PMIX_ERR_UNREACH;
    for (const Style style : {Style::before_return, Style::fails}) {
        s.host.styles["notify_event"] = style;
        EXPECT_STATUS(PMIX_ERR_UNREACH, s.notify(s.a, {"job", 0}, -4000, PMIX_RANGE_GLOBAL));
    }
    EXPECT_STATUS(PMIX_SUCCESS, s.notify(s.a, {"job", 0}, -4000, PMIX_RANGE_LOCAL)) << "the host is not asked";
}

// The server has no hwloc in use: it refuses the value, and does not take the request for a malformed one.
TEST(ServerEventsTest, ATopologyInARequestLeavesTheConnection) {
    EventsSetting s;
    common::OpaqueOps ops{};
    ops.copy_topology = [](const void* t) { return const_cast<void*>(t); };
    ops.free_topology = [](void*) {};
    ops.print_topology = [](const void*) { return strdup("<xml/>"); };
    const common::OpaqueOps* before = common::opaque_ops();
    common::install_opaque_ops(&ops);
    std::vector<uint8_t> payload;
    {
        char source[] = "hwloc";
        int object = 0;
        pmix_topology_t topology = {source, &object};
        InfoList infos;
        ASSERT_STATUS(PMIX_SUCCESS, infos.append("key", &topology, PMIX_TOPO));
        common::NotifyEventRequest request;
        request.status = -4000;
        request.source = {"job", 0};
        request.range = PMIX_RANGE_LOCAL;
        request.infos = std::move(infos);
        auto bytes = common::message_bytes(request);
        ASSERT_TRUE(bytes.ok());
        payload = std::move(*bytes);
    }
    common::install_opaque_ops(nullptr);
    s.a.send_raw(frame_bytes(common::FrameHeader::request(static_cast<uint16_t>(Command::notify_event), 90), payload));
    const auto answer = s.a.wait(90);
    common::install_opaque_ops(before);
    ASSERT_TRUE(answer);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, answer->header.status);
    EXPECT_STATUS(PMIX_SUCCESS, s.notify(s.a, {"job", 0}, -4000, PMIX_RANGE_LOCAL));
}

// For the host alone, and only if it asks for this very code. It names nobody who is to be told. rows: E21
TEST(ServerEventsTest, ABrokenProtocolIsToldToTheHost) {
    EventsSetting s;
    ASSERT_STATUS(PMIX_SUCCESS, s.listen(s.b, {PMIX_ERR_FAILED_COMM}, 0));
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
                EXPECT_TRUE(infos.flag(PMIX_EVENT_NON_DEFAULT)) << "the daemon of a node goes on";
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
    EventsSetting s;
    ASSERT_STATUS(PMIX_SUCCESS, s.listen(s.b, {PMIX_ERR_LOST_CONNECTION}, 0));
    ASSERT_STATUS(PMIX_SUCCESS, s.listen(s.o, {}, 0));
    int own = 0;
    s.server.on_loop([&] {
        server::SelfPeer& self = s.server.server->self_peer();
        self.set_sink([&](const common::FrameHeader& header, common::Bytes payload, std::span<const int>) {
            common::EventNotify event;
            if (header.kind == common::FrameKind::notify && common::decode_message(payload, event) == PMIX_SUCCESS &&
                event.status == PMIX_ERR_LOST_CONNECTION && event.source == ProcId("job", 0)) {
                EXPECT_TRUE(common::InfoView(event.infos.data(), event.infos.size()).flag(PMIX_EVENT_NON_DEFAULT));
                ++own;
            }
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
    EXPECT_TRUE(common::InfoView(event->infos.data(), event->infos.size()).flag(PMIX_EVENT_NON_DEFAULT));
    EXPECT_EQ(0u, s.count(s.o, PMIX_ERR_LOST_CONNECTION));
}

// A host reports in a daemon's name; the job of the event follows from the affected process.
// rows: E11 E13
// proves: PMIx_Notify_event PMIX_EVENT_AFFECTED_PROC PMIX_EVENT_AFFECTED_PROCS server
TEST(ServerEventsTest, ANamespacesEventsAreThoseAboutItsProcesses) {
    EventsSetting s;
    for (FakeClient* c : {&s.a, &s.o}) ASSERT_STATUS(PMIX_SUCCESS, s.listen(*c, {-100}, 0));
    const auto raise = [&](InfoList infos, const ProcId& source = {"daemons", 1}) {
        s.server.on_loop([&] {
            s.server.parts().events.raise(-100, source, PMIX_RANGE_NAMESPACE, std::move(infos));
            return 0;
        });
    };
    raise({});
    EXPECT_EQ(0u, s.count(s.a, -100));
    InfoList one, several;
    const pmix_proc_t rank = ProcId("other", 0).to_c();
    one.append(PMIX_EVENT_AFFECTED_PROC, &rank, PMIX_PROC);
    InfoList of_a_job;
    of_a_job.append_all(one.c_array(), one.size());
    raise(std::move(of_a_job), {"job", 0});
    EXPECT_EQ(1u, s.count(s.a, -100)) << "of its own job, whatever it is about";
    EXPECT_EQ(0u, s.count(s.o, -100));
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

}  // namespace server_events_test
