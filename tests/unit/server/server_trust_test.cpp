// SPDX-License-Identifier: BSD-3-Clause
// What one process cannot make the server and its host believe about another.
#include <gtest/gtest.h>

#include <cstring>

#include "support/fake_client.h"
#include "support/fake_host.h"
#include "support/status.h"

namespace server_trust_test {

using namespace pmix;
using namespace pmix::test;
using common::Command;
using common::InfoList;
using common::ProcId;

namespace {

void accept_any(pmix_info_t*, size_t, pmix_tool_connection_cbfunc_t done, void* cbdata) {
    done(PMIX_SUCCESS, nullptr, cbdata);
}

size_t count(const InfoList& list, std::string_view key) {
    size_t n = 0;
    for (const pmix_info_t& info : list) n += common::key_view(info) == key;
    return n;
}

struct OtherUser final : server::Peer {
    OtherUser(ProcId id, uint32_t uid) : Peer(server::PeerKind::client, std::move(id), {uid, uid, 1}) {}
    void send(const common::FrameHeader&, common::Bytes, std::span<const int>) override {}
    void close() override {}
};

}  // namespace

// rows: U8
TEST(ServerTrustTest, TheHostSeesTheKernelsIdsAndTheTrueParent) {
    FakeHost host;
    auto module = host.module();
    TestServer server(&module);
    server.job("job", 1, 1);
    FakeClient client(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, client.hello());
    common::SpawnRequest request;
    InfoList claims;
    claims.append_number<uint32_t>(PMIX_USERID, 4242, PMIX_UINT32);
    claims.append_number<uint32_t>(PMIX_GRPID, 4242, PMIX_UINT32);
    pmix_proc_t other = ProcId("somebodys.job", 0).to_c();
    claims.append(PMIX_PARENT_ID, &other, PMIX_PROC);
    claims.append_flag(PMIX_REQUESTOR_IS_TOOL, true);
    claims.append_string(PMIX_WDIR, "/");
    request.infos = std::move(claims);
    pmix_app_t app{};
    char command[] = "x";
    app.cmd = command;
    app.maxprocs = 1;
    request.apps = common::Apps::borrow(&app, 1);
    client.ask<Command::spawn>(request);
    const Seen* seen = host.last("spawn");
    ASSERT_NE(nullptr, seen);
    for (const char* key : {PMIX_USERID, PMIX_GRPID, PMIX_PARENT_ID, PMIX_WDIR})
        EXPECT_EQ(1u, count(seen->infos, key)) << key;
    EXPECT_EQ(::geteuid(), number_of(seen->infos, PMIX_USERID));
    EXPECT_EQ(::getegid(), number_of(seen->infos, PMIX_GRPID));
    EXPECT_EQ(0u, count(seen->infos, PMIX_REQUESTOR_IS_TOOL));
    const pmix_proc_t* parent = nullptr;
    ASSERT_STATUS(PMIX_SUCCESS, common::InfoView(seen->infos).get(PMIX_PARENT_ID, &parent));
    EXPECT_EQ(ProcId("job", 0), ProcId(*parent));
}

// rows: E12
TEST(ServerTrustTest, AnEventComesFromTheOwnJob) {
    TestServer server(nullptr);
    server.job("jobA", 1, 2);
    server.job("jobB", 1, 2);
    FakeClient a(server, {"jobA", 0}), b(server, {"jobB", 0}), b1(server, {"jobB", 1});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, b.hello());
    ASSERT_STATUS(PMIX_SUCCESS, b1.hello());
    common::RegisterEventsRequest handler;
    handler.codes = {PMIX_ERR_PROC_ABORTED};
    handler.reference = 5;
    ASSERT_STATUS(PMIX_SUCCESS, a.ask<Command::register_events>(handler));
    ASSERT_STATUS(PMIX_SUCCESS, b1.ask<Command::register_events>(handler));
    common::NotifyEventRequest event;
    event.status = PMIX_ERR_PROC_ABORTED;
    event.range = PMIX_RANGE_NAMESPACE;
    for (const ProcId& claimed : {ProcId("jobA", 1), ProcId("test-server", 0), ProcId("nobody", 0)}) {
        event.source = claimed;
        EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, b.ask<Command::notify_event>(event)) << claimed.nspace;
    }
    event.source = {"jobB", 1};
    EXPECT_STATUS(PMIX_SUCCESS, b.ask<Command::notify_event>(event));
    server.settle();
    EXPECT_FALSE(a.take_event());
    EXPECT_TRUE(b1.take_event());
}

// rows: R12
TEST(ServerTrustTest, ProcessOutsideAGroup_DoesNotEndIt) {
    TestServer server(nullptr);
    server.job("jobA", 1, 2);
    server.job("jobB", 1, 1);
    FakeClient a(server, {"jobA", 0}), member(server, {"jobA", 1}), outsider(server, {"jobB", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, member.hello());
    ASSERT_STATUS(PMIX_SUCCESS, outsider.hello());
    common::GroupRequest construct;
    construct.call = common::GroupCall::construct;
    construct.name = "mine";
    construct.procs = {{"jobA", 0}, {"jobA", 1}};
    const uint32_t id = a.start<Command::group>(construct);
    server.settle();
    const auto abort = [](const ProcId& source) {
        common::NotifyEventRequest event;
        event.status = PMIX_GROUP_CONSTRUCT_ABORT;
        event.source = source;
        event.range = PMIX_RANGE_PROC_LOCAL;
        InfoList infos;
        infos.append_string(PMIX_GROUP_ID, "mine");
        event.infos = std::move(infos);
        return event;
    };
    EXPECT_STATUS(PMIX_SUCCESS, outsider.ask<Command::notify_event>(abort({"jobB", 0})));
    server.settle();
    EXPECT_FALSE(a.take(id)) << "ended by a process that has no part in it";
    EXPECT_STATUS(PMIX_SUCCESS, member.ask<Command::notify_event>(abort({"jobA", 1})));
    auto answer = a.wait(id);
    ASSERT_TRUE(answer);
    EXPECT_STATUS(PMIX_GROUP_CONSTRUCT_ABORT, answer->header.status);
}

// rows: T1
TEST(ServerTrustTest, AToolDoesNotBecomeARank) {
    FakeHost host;
    auto module = host.module();
    module.tool_connected = &accept_any;
    server::ServerOptions options;
    options.tool_support = true;
    TestServer server(&module, options);
    server.job("job1", 1, 1);
    FakeClient taken(server, {"job1", 7});
    EXPECT_STATUS(PMIX_ERR_EXISTS, taken.hello({}, common::PeerRole::tool));
    FakeClient tool(server, {"job2", 0}), far(server, {"job2", 5});
    ASSERT_STATUS(PMIX_SUCCESS, tool.hello({}, common::PeerRole::tool));
    ASSERT_STATUS(PMIX_SUCCESS, far.hello({}, common::PeerRole::tool));
    // Later the host starts a job of that name, on this node and another.
    server.job("job2", 2, 2);
    EXPECT_TRUE(server.turn_until([&] { return tool.hung_up() && far.hung_up(); }));
    FakeClient rank(server, {"job2", 0});
    EXPECT_STATUS(PMIX_SUCCESS, rank.hello());
    // A process registered under a tool's very name, in a namespace that the host made for it.
    InfoList one;
    one.append_number<uint32_t>(PMIX_JOB_SIZE, 1, PMIX_UINT32);
    FakeClient other(server, {"made", 0});
    ASSERT_STATUS(PMIX_SUCCESS, other.hello({}, common::PeerRole::tool));
    ASSERT_STATUS(PMIX_SUCCESS, server.add_job("made", 1, one));
    server.settle();
    EXPECT_FALSE(other.hung_up()) << "a namespace of one rank that is no client is what hosts register for a tool";
    server.add_client("made", 0);
    EXPECT_TRUE(server.turn_until([&] { return other.hung_up(); }));
}

TEST(ServerTrustTest, TheOneUserServedMayReadWhatNobodyOwns) {
    TestServer server(nullptr);
    server.job("job", 1, 1, false);
    server.add_client("job", 0, 1000);
    server.job("elsewhere", 2, 1, false);  // the host did not say whose it is, and nobody of it is here
    auto& parts = server.parts();
    const server::Nspace& nspace = *parts.registry.find("elsewhere");
    auto user = std::make_shared<OtherUser>(ProcId("job", 0), 1000);
    EXPECT_TRUE(parts.segments.may_map(*user, nspace));
    auto second = std::make_shared<OtherUser>(ProcId("job2", 0), 1001);
    EXPECT_FALSE(parts.segments.may_map(*second, nspace));
}

// Names of jobs can be guessed, and a group may have any name that is no job's yet. rows: R6
TEST(ServerTrustTest, AGroupDoesNotStandForALaterJobOfItsName) {
    TestServer server(nullptr);
    server.job("first", 1, 2);
    FakeClient a(server, {"first", 0}), b(server, {"first", 1});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, b.hello());
    const auto status = [](FakeClient& client, uint32_t id) {
        auto reply = client.wait(id);
        return reply ? reply->header.status : PMIX_ERR_LOST_CONNECTION;
    };
    const auto both = [&](auto&& start) {
        const uint32_t one = start(a), two = start(b);
        const pmix_status_t first = status(a, one), second = status(b, two);
        EXPECT_EQ(first, second);
        return first;
    };
    const auto construct = [](FakeClient& client) {
        common::GroupRequest request;
        request.call = common::GroupCall::construct;
        request.name = "slurm.7.0";
        request.procs = {{"first", PMIX_RANK_WILDCARD}};
        return client.start<Command::group>(request);
    };
    const auto fence = [](FakeClient& client) { return client.start_fence({{"slurm.7.0", PMIX_RANK_WILDCARD}}); };
    ASSERT_STATUS(PMIX_SUCCESS, both(construct));
    EXPECT_STATUS(PMIX_SUCCESS, both(fence)) << "the group is known by its name";

    server.job("slurm.7.0", 1, 1);
    FakeClient victim(server, {"slurm.7.0", 0});
    ASSERT_STATUS(PMIX_SUCCESS, victim.hello());
    EXPECT_STATUS(PMIX_SUCCESS, status(victim, fence(victim)));
    a.put("k", "of the group's first member");
    victim.put("k", "its own");
    EXPECT_STATUS(PMIX_SUCCESS, status(victim, victim.start_get({"slurm.7.0", 0}, "k")));
    EXPECT_EQ("its own", victim.read_text(0, "k"));
    EXPECT_STATUS(PMIX_ERR_NOT_A_MEMBER, both(fence)) << "they are not of that job";
    // The job ends, and the name is the group's once more.
    server.on_loop([&] {
        server.setup().deregister_nspace("slurm.7.0");
        return 0;
    });
    EXPECT_STATUS(PMIX_SUCCESS, both(fence));
    const auto destruct = [](FakeClient& client) {
        common::GroupRequest request;
        request.call = common::GroupCall::destruct;
        request.name = "slurm.7.0";
        return client.start<Command::group>(request);
    };
    EXPECT_STATUS(PMIX_SUCCESS, both(destruct));
}

// Users without a rank share a part of the room for new connections: who has one is counted.
TEST(ServerTrustTest, AUserIsKnownAsLongAsARankIsHis) {
    TestServer server(nullptr);
    server.job("job", 1, 1, false);
    const auto known = [&](uint32_t uid) { return server.parts().registry.has_user(uid); };
    EXPECT_TRUE(known(::geteuid())) << "the server's own";
    EXPECT_FALSE(known(4242));
    server.add_client("job", 0, 4242);
    server.add_client("job", 1, 4242);
    EXPECT_TRUE(known(4242));
    server.add_client("job", 0, 4243);  // registered once more, for another
    EXPECT_TRUE(known(4242));
    EXPECT_TRUE(known(4243));
    const auto on_loop = [&](auto&& f) {
        server.on_loop([&] {
            f();
            return 0;
        });
    };
    on_loop([&] { server.setup().deregister_client({"job", 1}); });
    EXPECT_FALSE(known(4242));
    on_loop([&] { server.setup().deregister_client({"job", 1}); });
    EXPECT_TRUE(known(4243));
    on_loop([&] { server.setup().deregister_nspace("job"); });
    EXPECT_FALSE(known(4243));
    EXPECT_TRUE(known(::geteuid()));
}

}  // namespace server_trust_test
