// SPDX-License-Identifier: BSD-3-Clause
// Upcalls about processes: connected, finalized, abort, and a host that is silent or refuses.
#include "support/status.h"
#include "unit/server/server_upcalls_setting.h"

namespace server_client_upcalls_test {

using namespace pmix;
using namespace pmix::test;

// rows: U2 V10
TEST(ServerUpcallsTest, ConnectedIsWaitedForAndCarriesTheObject) {
    UpcallsSetting s;
    s.host.styles["client_connected2"] = Style::later;
    FakeClient a(s.server, {"job", 1});
    common::HelloRequest request;
    request.nspace = "job";
    request.rank = 1;
    common::HelloClient hello(std::move(request), {});
    uint32_t id = a.start<Command::hello>(hello.request());
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.waiting() == 1; }));
    s.server.settle();
    EXPECT_FALSE(a.take(id)) << "blocked until the host has answered";
    const Seen* seen = s.host.last("client_connected2");
    EXPECT_EQ(ProcId("job", 1), seen->proc);
    EXPECT_EQ(TestServer::object_of(1), seen->object);
    EXPECT_EQ(::geteuid(), number_of(seen->infos, PMIX_USERID));
    s.host.answer_waiting();
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, id));
    EXPECT_EQ(0u, s.host.count("client_connected"));
}

// rows: U2
TEST(ServerUpcallsTest, AHostThatRefusesClosesTheConnection) {
    UpcallsSetting s;
    s.host.styles["client_connected2"] = Style::fails;
    s.host.statuses["client_connected2"] = PMIX_ERR_NO_PERMISSIONS;
    FakeClient a(s.server, {"job", 0});
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, a.hello());
    ASSERT_TRUE(s.server.turn_until([&] { return a.hung_up(); }));
    EXPECT_EQ(0u, s.server.parts().peers.size());
}

// rows: U2
TEST(ServerUpcallsTest, ASilentHostIsNotWaitedForForEver) {
    FakeHost host;
    host.styles["client_connected2"] = Style::later;
    auto module = host.module();
    server::ServerOptions options;
    options.hello_timeout_ms = 50;
    TestServer server(&module, options);
    server.job("job", 1, 1);
    FakeClient a(server, {"job", 0});
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, a.hello());
    host.answer_waiting();  // late, and finds nobody
    server.settle();
    EXPECT_EQ(0u, server.parts().peers.size());
}

TEST(ServerUpcallsTest, TheOlderEntryGetsNoCallbackAndIsNotWaitedFor) {
    FakeHost host;
    auto module = host.module();
    module.client_connected2 = nullptr;
    module.client_connected = &FakeHost::client_connected;
    TestServer server(&module);
    server.job("job", 1, 1);
    FakeClient a(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    EXPECT_TRUE(host.last("client_connected")->null_callback);
    EXPECT_EQ(TestServer::object_of(0), host.last("client_connected")->object);
}

// The older entry answers by its return value alone: a refusal of it keeps the client out, too. rows: U2
TEST(ServerUpcallsTest, OlderConnectedEntry_ReturnValue_DecidesTheAdmission) {
    const std::pair<pmix_status_t, pmix_status_t> returned_and_told[] = {
        {PMIX_SUCCESS, PMIX_SUCCESS},
        {PMIX_OPERATION_SUCCEEDED, PMIX_SUCCESS},
        {PMIX_ERR_NOT_SUPPORTED, PMIX_SUCCESS},
        {PMIX_ERR_NO_PERMISSIONS, PMIX_ERR_NO_PERMISSIONS},
        {7, PMIX_ERROR},  // no status at all
    };
    for (const auto& [returned, told] : returned_and_told) {
        FakeHost host;
        auto module = host.module();
        module.client_connected2 = nullptr;
        module.client_connected = &FakeHost::client_connected;
        host.statuses["client_connected"] = returned;
        TestServer server(&module);
        server.job("job", 1, 1);
        FakeClient a(server, {"job", 0});
        EXPECT_EQ(told, a.hello()) << returned;
        EXPECT_EQ(1u, host.count("client_connected")) << returned;
        server.settle();
        EXPECT_EQ(told == PMIX_SUCCESS ? 1u : 0u, server.parts().peers.size()) << returned;
    }
}

// rows: U3 I9
TEST(ServerUpcallsTest, ClientFinalized_OnlyAfterFinalize_IsCalled) {
    UpcallsSetting s;
    s.host.styles["client_finalized"] = Style::later;
    FakeClient a(s.server, {"job", 0}), b(s.server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, b.hello());
    uint32_t id = a.start<Command::finalize>(common::FinalizeRequest{});
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.waiting() == 1; }));
    s.server.settle();
    EXPECT_FALSE(a.take(id));
    EXPECT_EQ(TestServer::object_of(0), s.host.last("client_finalized")->object);
    s.host.answer_waiting();
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, id));
    b.kill();
    s.server.turn_until([&] { return s.server.parts().peers.size() == 1; });
    EXPECT_EQ(1u, s.host.count("client_finalized"));
}

// rows: I8
TEST(ServerUpcallsTest, ACloneSharesTheRankAndLeavesWithoutAWord) {
    UpcallsSetting s(1, 1);
    FakeClient a(s.server, {"job", 0}), clone(s.server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, clone.hello());
    EXPECT_EQ(1u, s.host.count("client_connected2"));
    clone.kill();
    ASSERT_TRUE(s.server.turn_until([&] { return s.server.parts().peers.size() == 1; }));
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, a.start_fence({}))) << "the rank is still there";
    EXPECT_STATUS(PMIX_SUCCESS, a.ask<Command::finalize>(common::FinalizeRequest{}));
    EXPECT_EQ(1u, s.host.count("client_finalized"));
}

// rows: U4 C10
TEST(ServerUpcallsTest, AbortPassesWhatWasGiven) {
    UpcallsSetting s;
    FakeClient a(s.server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    common::AbortRequest request;
    request.status = 42;
    request.message = "enough";
    EXPECT_STATUS(PMIX_SUCCESS, a.ask<Command::abort>(request));
    const Seen* seen = s.host.last("abort");
    EXPECT_EQ(42, seen->status);
    EXPECT_EQ("enough", seen->message);
    EXPECT_TRUE(seen->null_procs);
    EXPECT_EQ(ProcId("job", 0), seen->proc);
    EXPECT_EQ(TestServer::object_of(0), seen->object);
    request.procs = {{"job", 1}};
    EXPECT_STATUS(PMIX_SUCCESS, a.ask<Command::abort>(request));
    EXPECT_EQ((std::vector<ProcId>{{"job", 1}}), s.host.last("abort")->procs);
}

}  // namespace server_client_upcalls_test
