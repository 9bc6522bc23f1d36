// Lives that end while something is under way: ranks with several processes, jobs that the host ends from inside an
// upcall or a callback, names that come again while the host still works for their earlier bearer.
#include <gtest/gtest.h>

#include "support/fake_client.h"

using namespace pmix;
using namespace pmix::test;
using common::InfoList;

namespace {

struct Setting {
    explicit Setting(unsigned nodes = 1, unsigned ppn = 2) : module(host.module()), server(&module) {
        server.job("job", nodes, ppn);
    }
    // As PMIx_server_deregister_nspace(name, NULL, NULL) on the loop.
    void end(const std::string& name) {
        server.parts().host.flush();
        server.setup().deregister_nspace(name);
    }
    FakeHost host;
    pmix_server_module_t module;
    TestServer server;
};

pmix_status_t status_of(FakeClient& client, uint32_t id) {
    auto reply = client.wait(id);
    return reply ? reply->header.status : PMIX_ERR_LOST_CONNECTION;
}

}  // namespace

// rows: I8 U3 K20
TEST(ServerLivesTest, TwoProcessesOfARankThatSayGoodbyeTogetherEndIt) {
    Setting s;
    FakeClient a(s.server, {"job", 0}), clone(s.server, {"job", 0}), other(s.server, {"job", 1});
    ASSERT_EQ(PMIX_SUCCESS, a.hello());
    ASSERT_EQ(PMIX_SUCCESS, clone.hello());
    ASSERT_EQ(PMIX_SUCCESS, other.hello());
    uint32_t get = other.start_get({"job", 0}, "never");
    uint32_t fence = other.start_fence({{"job", PMIX_RANK_WILDCARD}});
    EXPECT_EQ(PMIX_SUCCESS, a.ask<Command::finalize>(common::FinalizeRequest{}));
    EXPECT_EQ(PMIX_SUCCESS, clone.ask<Command::finalize>(common::FinalizeRequest{}));
    EXPECT_EQ(0u, s.host.count("client_finalized")) << "two are there still";
    a.kill();
    ASSERT_TRUE(s.server.turn_until([&] { return s.server.parts().peers.size() == 2; }));
    EXPECT_FALSE(other.take(get)) << "one is there still";
    clone.kill();
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, status_of(other, get));
    EXPECT_EQ(PMIX_ERR_PARTIAL_SUCCESS, status_of(other, fence));
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.count("client_finalized") == 1; }));
    EXPECT_EQ(TestServer::object_of(0), s.host.last("client_finalized")->object);
    EXPECT_EQ(server::Client::State::finalized, s.server.parts().registry.find_client({"job", 0})->state);
}

// rows: I8 U3
TEST(ServerLivesTest, ACloneThatDiesAfterTheOthersGoodbyeDoesNotKeepTheRankAlive) {
    Setting s;
    FakeClient a(s.server, {"job", 0}), clone(s.server, {"job", 0}), other(s.server, {"job", 1});
    ASSERT_EQ(PMIX_SUCCESS, a.hello());
    ASSERT_EQ(PMIX_SUCCESS, clone.hello());
    ASSERT_EQ(PMIX_SUCCESS, other.hello());
    uint32_t get = other.start_get({"job", 0}, "never");
    EXPECT_EQ(PMIX_SUCCESS, a.ask<Command::finalize>(common::FinalizeRequest{}));
    clone.kill();
    ASSERT_TRUE(s.server.turn_until([&] { return s.server.parts().peers.size() == 2; }));
    EXPECT_FALSE(other.take(get));
    a.kill();
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, status_of(other, get));
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.count("client_finalized") == 1; }));
}

// rows: V8 V13
TEST(ServerLivesTest, AJobMayEndInTheCallbackThatBringsItsData) {
    Setting s;
    FakeClient a(s.server, {"job", 0});
    ASSERT_EQ(PMIX_SUCCESS, a.hello());
    unsigned called = 0;
    pmix_status_t statuses[3] = {};
    for (unsigned i = 0; i < 3; ++i) {
        s.server.on_loop([&] {
            s.server.parts().get.modex_request({"job", 0}, [&](pmix_status_t status, common::Bytes bytes) {
                statuses[called++] = status;
                EXPECT_EQ(status == PMIX_SUCCESS, !bytes.empty());
                s.end("job");
            });
            return 0;
        });
    }
    a.put("k", "v");
    ASSERT_TRUE(s.server.turn_until([&] { return called == 3; }));
    for (pmix_status_t status : statuses) EXPECT_EQ(PMIX_SUCCESS, status) << "it had committed before";
    EXPECT_EQ(nullptr, s.server.parts().registry.find("job"));
    EXPECT_TRUE(s.server.turn_until([&] { return a.hung_up(); }));
}

// The end of a job tells a host that waits for its data, and the host ends it once more and begins another.
// rows: V8 V13
TEST(ServerLivesTest, AJobMayEndAndComeAgainInTheCallbackThatTellsOfItsEnd) {
    Setting s;
    unsigned called = 0;
    s.server.on_loop([&] {
        s.server.parts().get.modex_request({"job", 0}, [&](pmix_status_t status, common::Bytes) {
            ++called;
            EXPECT_EQ(PMIX_ERR_NOT_FOUND, status);
            s.end("job");
            s.server.job("job", 1, 1);
        });
        s.end("job");
        return 0;
    });
    ASSERT_TRUE(s.server.turn_until([&] { return called == 1; }));
    ASSERT_NE(nullptr, s.server.parts().registry.find("job"));
    EXPECT_EQ(1u, s.server.parts().registry.find("job")->clients.size());
    FakeClient a(s.server, {"job", 0});
    EXPECT_EQ(PMIX_SUCCESS, a.hello());
}

// Every upcall that a client's life brings about, and in each of them the host ends the client's job at once.
// rows: V8 U1
TEST(ServerLivesTest, AJobMayEndInAnyUpcallThatIsMadeForIt) {
    for (const char* what : {"client_connected2", "client_finalized", "fence", "direct_modex", "connect", "publish",
                             "notify_event", "register_events", "group", "spawn", "abort"}) {
        SCOPED_TRACE(what);
        Setting s(2, 2);
        s.host.inside[what] = [&] { s.end("job"); };
        FakeClient a(s.server, {"job", 0}), b(s.server, {"job", 1});
        // Which of these are answered, and how, depends on when the job ends. Nothing is lost track of.
        if (a.hello() == PMIX_SUCCESS && b.hello() == PMIX_SUCCESS) {
            const std::vector<ProcId> all{{"job", PMIX_RANK_WILDCARD}};
            for (FakeClient* c : {&a, &b}) {
                c->put("k", "v");
                c->start_get({"job", 2}, "far");
                c->start_fence(all, true);
                common::ConnectRequest connect;
                connect.procs = all;
                c->start<Command::connect>(connect);
                common::RegisterEventsRequest events;
                events.codes = {PMIX_EVENT_NODE_DOWN};
                c->start<Command::register_events>(events);
                common::NotifyEventRequest notify;
                notify.status = PMIX_ERR_PROC_ABORTED;
                notify.range = PMIX_RANGE_GLOBAL;
                c->start<Command::notify_event>(notify);
                common::ControlRequest group;
                group.kind = static_cast<uint32_t>(common::GroupCall::construct);
                group.name = "g";
                group.procs = {{"job", 0}, {"job", 1}, {"job", 2}};
                InfoList tolerant;
                tolerant.append_flag(PMIX_GROUP_NOTIFY_TERMINATION, true);
                group.infos = std::move(tolerant);
                c->start<Command::group>(group);
            }
            common::PublishRequest publish;
            InfoList item;
            item.append_string("color", "green");
            publish.infos = std::move(item);
            a.start<Command::publish>(publish);
            common::AbortRequest abort;
            a.start<Command::abort>(abort);
            b.start<Command::finalize>(common::FinalizeRequest{});
        }
        s.server.settle();
        s.server.on_loop([&] {
            s.end("job");
            return 0;
        });
        s.server.settle();
        EXPECT_EQ(nullptr, s.server.parts().registry.find("job"));
        EXPECT_EQ(0u, s.server.parts().get.waiting());
        EXPECT_EQ(0u, s.server.parts().fence.open());
        EXPECT_EQ(0u, s.server.parts().connect.open());
        EXPECT_EQ(0u, s.server.parts().groups.open());
        EXPECT_EQ(0u, s.server.parts().host.open());
    }
}

// The death of a member is told to members elsewhere while the group is being judged.
// rows: V8
TEST(ServerLivesTest, AJobMayEndWhileTheFailureOfAGroupsMemberIsTold) {
    Setting s(2, 2);
    s.host.inside["notify_event"] = [&] { s.end("job"); };
    FakeClient a(s.server, {"job", 0}), b(s.server, {"job", 1});
    ASSERT_EQ(PMIX_SUCCESS, a.hello());
    ASSERT_EQ(PMIX_SUCCESS, b.hello());
    common::ControlRequest group;
    group.kind = static_cast<uint32_t>(common::GroupCall::construct);
    group.name = "g";
    group.procs = {{"job", 0}, {"job", 1}, {"job", 2}};
    InfoList told;
    told.append_flag(PMIX_GROUP_NOTIFY_TERMINATION, true);
    group.infos = std::move(told);
    uint32_t id = a.start<Command::group>(group);
    s.server.settle();
    b.kill();
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.count("notify_event") > 0; }));
    s.server.settle();
    EXPECT_EQ(nullptr, s.server.parts().registry.find("job"));
    EXPECT_EQ(0u, s.server.parts().groups.open());
    (void)id;
}
