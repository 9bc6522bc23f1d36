// SPDX-License-Identifier: BSD-3-Clause
// Events and tools: the events of its server's jobs that a tool gets, by range, and the end of its registrations.
#include <gtest/gtest.h>

#include "common/values/proc_array.h"
#include "support/fake_client.h"
#include "support/status.h"

namespace tool_events_test {

using namespace pmix;
using namespace pmix::test;
using common::InfoList;

namespace {

constexpr int32_t kJobsOwn = -3400, kHosts = -4000;

void welcome(pmix_info_t*, size_t, pmix_tool_connection_cbfunc_t answer, void* cbdata) {
    answer(PMIX_SUCCESS, nullptr, cbdata);
}

server::ServerOptions for_tools() {
    server::ServerOptions options;
    options.tool_support = true;
    return options;
}

struct Setting {
    Setting() : module(with_tools(host)), server(&module, for_tools()), rank(server, {"job", 0}) {
        server.job("job", 2, 1);
        EXPECT_STATUS(PMIX_SUCCESS, rank.hello());
        tool = std::make_unique<FakeClient>(server, kTool);
        EXPECT_STATUS(PMIX_SUCCESS, tool->hello({}, common::PeerRole::tool));
    }
    static pmix_server_module_t with_tools(FakeHost& host) {
        pmix_server_module_t m = host.module();
        m.tool_connected = &welcome;
        return m;
    }
    pmix_status_t listen(std::vector<int32_t> codes, uint64_t reference) {
        common::RegisterEventsRequest request;
        request.codes = std::move(codes);
        request.reference = reference;
        return tool->ask<Command::register_events>(request);
    }
    // How often the tool hears of an event that a rank raises.
    size_t heard(pmix_data_range_t range, InfoList infos = {}) {
        common::NotifyEventRequest request;
        request.status = kJobsOwn;
        request.source = ProcId("job", 0);
        request.range = range;
        request.infos = std::move(infos);
        EXPECT_STATUS(PMIX_SUCCESS, rank.ask<Command::notify_event>(request));
        return taken();
    }
    size_t taken() {
        server.settle();
        size_t n = 0;
        while (auto event = tool->take_event()) ++n;
        return n;
    }
    static InfoList only_for(const ProcId& proc) {
        InfoList list;
        common::append_proc_array(list, PMIX_EVENT_CUSTOM_RANGE, {proc});
        return list;
    }
    static inline const ProcId kTool{"a.tool", 0};
    FakeHost host;
    pmix_server_module_t module;
    TestServer server;
    FakeClient rank;
    std::unique_ptr<FakeClient> tool;
};

}  // namespace

// rows: E13
TEST(ToolEventsTest, EventOfAJob_ReachesToolsByItsRange) {
    Setting s;
    EXPECT_EQ(0u, s.heard(PMIX_RANGE_GLOBAL)) << "it has not asked";
    ASSERT_STATUS(PMIX_SUCCESS, s.listen({kJobsOwn}, 1));
    EXPECT_EQ(1u, s.taken()) << "what was before is kept for it";
    EXPECT_EQ(1u, s.heard(PMIX_RANGE_GLOBAL));
    EXPECT_EQ(1u, s.heard(PMIX_RANGE_SESSION));
    EXPECT_EQ(1u, s.heard(PMIX_RANGE_LOCAL));
    EXPECT_EQ(0u, s.heard(PMIX_RANGE_NAMESPACE)) << "it is none of the job's processes";
    EXPECT_EQ(0u, s.heard(PMIX_RANGE_RM));
    EXPECT_EQ(1u, s.heard(PMIX_RANGE_CUSTOM, Setting::only_for(Setting::kTool)));
    EXPECT_EQ(0u, s.heard(PMIX_RANGE_CUSTOM, Setting::only_for({"job", 0})));
    common::DeregisterEventsRequest off;
    off.reference = 1;
    EXPECT_STATUS(PMIX_SUCCESS, s.tool->ask<Command::deregister_events>(off));
    EXPECT_EQ(0u, s.heard(PMIX_RANGE_GLOBAL));
    EXPECT_EQ(1u, s.host.count("deregister_events"));
}

// rows: E13 U10
TEST(ToolEventsTest, WhatTheHostHandsDownReachesTheToolItIsFor) {
    Setting s;
    ASSERT_STATUS(PMIX_SUCCESS, s.listen({kJobsOwn}, 1));
    const auto hand_down = [&](InfoList infos) {
        s.server.on_loop([&] {
            s.server.parts().events.raise(kJobsOwn, {"elsewhere", 3}, PMIX_RANGE_CUSTOM, std::move(infos));
            return 0;
        });
        return s.taken();
    };
    EXPECT_EQ(1u, hand_down(Setting::only_for(Setting::kTool)));
    EXPECT_EQ(0u, hand_down(Setting::only_for({"another.tool", 0})));
}

// rows: E15 U9
TEST(ToolEventsTest, WhatAToolWantedOfTheHostIsWithdrawnByItAndByItsEnd) {
    Setting s;
    ASSERT_STATUS(PMIX_SUCCESS, s.listen({kHosts, kHosts - 1}, 1));
    ASSERT_STATUS(PMIX_SUCCESS, s.listen({kHosts - 2}, 2));
    EXPECT_EQ(2u, s.host.count("register_events"));
    common::DeregisterEventsRequest off;
    off.reference = 2;
    EXPECT_STATUS(PMIX_SUCCESS, s.tool->ask<Command::deregister_events>(off));
    s.server.settle();
    ASSERT_EQ(1u, s.host.count("deregister_events"));
    EXPECT_EQ((std::vector<pmix_status_t>{kHosts - 2}), s.host.last("deregister_events")->codes);
    s.tool->kill();
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.count("deregister_events") == 2; }));
    EXPECT_EQ((std::vector<pmix_status_t>{kHosts - 1, kHosts}), s.host.last("deregister_events")->codes);
    // Its name is free, and a tool that connects under it begins anew.
    FakeClient again(s.server, Setting::kTool);
    ASSERT_STATUS(PMIX_SUCCESS, again.hello({}, common::PeerRole::tool));
    common::RegisterEventsRequest request;
    request.codes = {kHosts};
    request.reference = 1;
    EXPECT_STATUS(PMIX_SUCCESS, again.ask<Command::register_events>(request));
    EXPECT_EQ(3u, s.host.count("register_events"));
}

// For the host's handlers of this code alone: that a tool goes is no end of the daemon. rows: E17
TEST(ToolEventsTest, ALostTool_IsToldToTheHost_NotToItsDefaultHandlers) {
    Setting s;
    std::vector<ProcId> sources;
    s.server.on_loop([&] {
        server::SelfPeer& self = s.server.server->self_peer();
        self.set_sink([&](const common::FrameHeader& header, common::Bytes payload, std::span<const int>) {
            common::EventNotify event;
            if (header.kind != common::FrameKind::notify || common::decode_message(payload, event) != PMIX_SUCCESS ||
                event.status != PMIX_ERR_LOST_CONNECTION)
                return;
            sources.push_back(event.source);
            EXPECT_TRUE(common::InfoView(event.infos.data(), event.infos.size()).flag(PMIX_EVENT_NON_DEFAULT));
        });
        common::RegisterEventsRequest request;
        request.codes = {PMIX_ERR_LOST_CONNECTION};
        auto bytes = common::message_bytes(request);
        s.server.server->on_frame(
            self, common::FrameHeader::request(static_cast<uint16_t>(Command::register_events), 6), *bytes);
        return 0;
    });
    s.tool->kill();
    ASSERT_TRUE(s.server.turn_until([&] { return !sources.empty(); }));
    EXPECT_EQ((std::vector<ProcId>{Setting::kTool}), sources);
}

// Its host may keep things for it. rows: E17
TEST(ToolEventsTest, AToolThatFinalizes_IsToldToTheHostOnce) {
    Setting s;
    EXPECT_STATUS(PMIX_SUCCESS, s.tool->ask<Command::finalize>(common::FinalizeRequest()));
    EXPECT_STATUS(PMIX_SUCCESS, s.tool->ask<Command::finalize>(common::FinalizeRequest()));
    s.tool->kill();
    s.server.settle();
    EXPECT_EQ(1u, s.host.count("client_finalized"));
    const Seen* seen = s.host.last("client_finalized");
    ASSERT_NE(nullptr, seen);
    EXPECT_EQ(Setting::kTool, seen->proc);
    EXPECT_EQ(nullptr, seen->object);
}

// A tool is in no job; by this key a process can find out whether it is connected. rows: Q5
TEST(ToolEventsTest, PidOfATool_IsAnswered_OfAnotherNameNot) {
    Setting s;
    const auto ask = [&](const char* nspace, const pmix_rank_t* rank) {
        std::string key = PMIX_PROC_PID;
        char* keys[] = {key.data(), nullptr};
        InfoList qualifiers;
        qualifiers.append_string(PMIX_NSPACE, nspace);
        if (rank != nullptr) qualifiers.append(PMIX_RANK, rank, PMIX_PROC_RANK);
        pmix_query_t one{};
        one.keys = keys;
        one.qualifiers = const_cast<pmix_info_t*>(qualifiers.c_array());
        one.nqual = qualifiers.size();
        common::QueryRequest request;
        request.queries = common::Queries::borrow(&one, 1);
        return s.rank.ask<Command::query>(request);
    };
    const pmix_rank_t zero = 0, one = 1;
    EXPECT_STATUS(PMIX_SUCCESS, ask("a.tool", nullptr));
    EXPECT_STATUS(PMIX_SUCCESS, ask("a.tool", &zero));
    const pmix_status_t missing = ask("another.tool", nullptr);
    EXPECT_NE(PMIX_SUCCESS, missing);
    EXPECT_EQ(missing, ask("a.tool", &one));
    s.tool->kill();
    ASSERT_TRUE(s.server.turn_until([&] { return ask("a.tool", nullptr) == missing; }));
}

}  // namespace tool_events_test
