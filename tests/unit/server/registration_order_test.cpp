// SPDX-License-Identifier: BSD-3-Clause
// The order in which a host registers a job and its processes, prepares their environment and starts them: any that
// leaves the process registered works, and one that connects too early is held for a bounded time.
#include <gtest/gtest.h>
#include <unistd.h>

#include "support/fake_client.h"
#include "support/fake_host.h"
#include "support/server_here.h"
#include "support/status.h"

namespace registration_order_test {

using namespace pmix;
using namespace pmix::test;

namespace {

struct Held {
    explicit Held(int wait_ms) : server(&module, options(wait_ms)) {}
    static server::ServerOptions options(int wait_ms) {
        server::ServerOptions options;
        options.registration_wait_ms = wait_ms;
        return options;
    }
    // A hello without a token, sent and not answered yet.
    static uint32_t greet(FakeClient& client, const char* nspace, uint32_t rank) {
        common::HelloRequest mine;
        mine.role = common::PeerRole::client;
        mine.nspace = nspace;
        mine.rank = rank;
        common::HelloClient hello(std::move(mine), {});
        return client.start<common::Command::hello>(hello.request());
    }
    FakeHost host;
    pmix_server_module_t module = host.module();
    TestServer server;
};

constexpr int kLong = 600'000;

}  // namespace

// rows: V10
TEST(RegistrationOrderTest, Connect_BeforeTheRankIsRegistered_IsHeldAndAdmitted) {
    Held s(kLong);
    s.server.job("job", 1, 2, false);
    FakeClient client(s.server, {"job", 1});
    const uint32_t hello = Held::greet(client, "job", 1);
    s.server.settle();
    EXPECT_FALSE(client.take(hello));
    EXPECT_FALSE(client.hung_up());
    EXPECT_EQ(0u, s.host.count("client_connected2")) << "the host is told of registered ranks only";
    s.server.add_client("job", 0);
    s.server.settle();
    EXPECT_FALSE(client.take(hello)) << "another rank";
    s.server.add_client("job", 1);
    const auto reply = client.wait(hello);
    ASSERT_TRUE(reply);
    EXPECT_STATUS(PMIX_SUCCESS, reply->header.status);
    EXPECT_EQ(1u, s.host.count("client_connected2"));
    EXPECT_EQ(0u, s.server.parts().listener.half_open());
}

// rows: V10
TEST(RegistrationOrderTest, Connect_BeforeTheNamespaceIsKnown_IsHeldAndAdmitted) {
    Held s(kLong);
    FakeClient client(s.server, {"job", 0});
    const uint32_t hello = Held::greet(client, "job", 0);
    s.server.settle();
    EXPECT_FALSE(client.take(hello));
    s.server.job("job", 1, 1);
    const auto reply = client.wait(hello);
    ASSERT_TRUE(reply);
    EXPECT_STATUS(PMIX_SUCCESS, reply->header.status);
}

// rows: V10
TEST(RegistrationOrderTest, Connect_RankIsNeverRegistered_IsRefusedAfterABoundedTime) {
    Held s(20);
    FakeClient client(s.server, {"job", 0});
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, client.hello());
    EXPECT_TRUE(s.server.turn_until([&] { return client.hung_up(); }));
    EXPECT_EQ(0u, s.server.parts().listener.half_open());
}

// Nothing to wait for: the test would take ten minutes otherwise. rows: V10
TEST(RegistrationOrderTest, Connect_RankCannotBeRegisteredAnyMore_IsRefusedAtOnce) {
    Held s(kLong);
    s.server.job("job", 1, 2);
    FakeClient beyond(s.server, {"job", 7});
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, beyond.hello()) << "the job has no such rank";
    s.server.on_loop([&] { s.server.setup().deregister_client(ProcId("job", 1)); });
    FakeClient left(s.server, {"job", 1});
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, left.hello()) << "it was registered and is no more";
    common::Token stale;
    stale.client.fill(1);
    FakeClient earlier(s.server, {"earlier", 0});
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, earlier.hello(stale)) << "of a job that has ended";
}

TEST(RegistrationOrderTest, Connect_HeldAndHangsUp_LeavesNothing) {
    Held s(kLong);
    {
        FakeClient client(s.server, {"job", 0});
        Held::greet(client, "job", 0);
        s.server.settle();
        EXPECT_EQ(1u, s.server.parts().listener.half_open());
    }
    EXPECT_TRUE(s.server.turn_until([&] { return s.server.parts().listener.half_open() == 0; }));
    s.server.job("job", 1, 1);
    s.server.settle();
    EXPECT_EQ(0u, s.host.count("client_connected2"));
}

// The end of the server and a second frame do not find a held connection unprepared.
TEST(RegistrationOrderTest, Connect_HeldAndSpeaksAgainOrTheServerStops_IsEnded) {
    Held s(kLong);
    FakeClient speaks(s.server, {"job", 0}), waits(s.server, {"job", 1});
    Held::greet(speaks, "job", 0);
    Held::greet(waits, "job", 1);
    s.server.settle();
    speaks.send_raw(frame_bytes(common::FrameHeader::request(static_cast<uint16_t>(common::Command::fence), 9), {}));
    EXPECT_TRUE(s.server.turn_until([&] { return speaks.hung_up(); }));
    EXPECT_FALSE(waits.hung_up());
    s.server.job("job", 1, 2);  // posted, and the server ends first
    s.server.stop();
    EXPECT_TRUE(waits.hung_up());
}

// rows: V12
TEST(SetupForkOrderTest, SetupFork_BeforeAnyRegistration_NamesTheServerAndTheRank) {
    ServerHere server;
    ChildEnvironment early(ProcId("job", 4).to_c());
    ASSERT_STATUS(PMIX_SUCCESS, early.status);
    EXPECT_EQ("job", early.get("PMIX_NAMESPACE"));
    EXPECT_EQ("4", early.get("PMIX_RANK"));
    EXPECT_NE("", early.get("PMIX_SERVER_URI_WIREUP"));
    register_job("job");
    ChildEnvironment registered(ProcId("job", 0).to_c());
    EXPECT_EQ(early.get("PMIX_SERVER_URI_WIREUP"), registered.get("PMIX_SERVER_URI_WIREUP"));
}

// A launcher inside a job of this library's gives its children a copy of its own environment.
// rows: V12
TEST(SetupForkOrderTest, SetupFork_BeforeAnyRegistration_DoesNotPassOnTheTokenOfAnOuterJob) {
    ServerHere server;
    char** env = nullptr;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Argv_append_nosize(&env, "PMIX_WIREUP_TOKEN=00ff"));
    const pmix_proc_t proc = ProcId("job", 4).to_c();
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_setup_fork(&proc, &env));
    for (char** e = env; *e != nullptr; ++e) EXPECT_FALSE(std::string_view(*e).starts_with("PMIX_WIREUP_TOKEN"));
    PMIx_Argv_free(env);
}

// rows: V12
TEST(SetupForkOrderTest, SetupFork_BeforeRegisterClient_HasWhatTheJobAsksFor) {
    ServerHere server;
    InfoList infos;
    pmix_envar_t variable{};
    char name[] = "COLOUR", value[] = "blue";
    variable.envar = name;
    variable.value = value;
    variable.separator = ',';
    infos.append(PMIX_SET_ENVAR, &variable, PMIX_ENVAR);
    pmix_nspace_t job;
    PMIx_Load_nspace(job, "job");
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_register_nspace(job, 1, infos.c_array(), infos.size(), nullptr, nullptr));
    EXPECT_EQ("blue", ChildEnvironment(ProcId("job", 0).to_c()).get("COLOUR"));
    EXPECT_EQ("", ChildEnvironment(ProcId("other", 0).to_c()).get("COLOUR"));
    PMIx_server_deregister_nspace(job, nullptr, nullptr);
    EXPECT_EQ("", ChildEnvironment(ProcId("job", 0).to_c()).get("COLOUR"));
}

// rows: V12
TEST(SetupForkOrderTest, SetupFork_NoName_IsRefused) {
    ServerHere server;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, ChildEnvironment(ProcId("", 0).to_c()).status);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, ChildEnvironment(ProcId("job", PMIX_RANK_WILDCARD).to_c()).status);
}

// A second registration with the maps derives values again: none replaces what the host gave before. rows: V5
TEST(RegistrationOrderTest, RegisterAgain_WithTheMaps_GivenValuesStay) {
    TestServer server(nullptr);
    common::InfoList maps, first;
    maps.append_string(PMIX_NODE_MAP, "n0,n1");
    maps.append_string(PMIX_PROC_MAP, "0,1;2,3");
    first.append_all(maps.c_array(), maps.size());
    first.append_number<uint32_t>(PMIX_NUM_NODES, 11, PMIX_UINT32);
    first.append_string(PMIX_LOCAL_PEERS, "0,1,77");
    ASSERT_STATUS(PMIX_SUCCESS, server.add_job("job", 2, first));
    ASSERT_STATUS(PMIX_SUCCESS, server.add_job("job", 2, maps));
    const dstore::Reader& reader = server.parts().registry.find("job")->data->reader();
    const auto value_of = [&](dstore::Owner owner, const char* key) {
        dstore::Found found;
        common::Value value;
        EXPECT_STATUS(PMIX_SUCCESS, reader.find(owner, dstore::Key(key), found)) << key;
        EXPECT_STATUS(PMIX_SUCCESS, common::decode_value_into(found.bytes(), value.c_ptr())) << key;
        return value;
    };
    int64_t nodes = 0;
    EXPECT_STATUS(PMIX_SUCCESS, common::read_number(value_of(dstore::Owner::job(), PMIX_NUM_NODES).get(), &nodes));
    EXPECT_EQ(11, nodes);
    const common::Value peers = value_of(dstore::Owner::node(0), PMIX_LOCAL_PEERS);
    ASSERT_EQ(PMIX_STRING, peers.type());
    EXPECT_STREQ("0,1,77", peers.get().data.string);
}

}  // namespace registration_order_test
