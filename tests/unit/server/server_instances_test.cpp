// SPDX-License-Identifier: BSD-3-Clause
// Instances of ranks and jobs that end while something is in progress: ranks with several processes, jobs that the host
// ends from inside an upcall or a callback, names that are used again while the host still works for the earlier
// instance.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/fake_client.h"
#include "support/sanitizers.h"
#include "support/status.h"

namespace server_instances_test {

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

size_t memfds() {
    size_t n = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        n += std::filesystem::read_symlink(entry.path(), gone).string().find("memfd") != std::string::npos;
    }
    return n;
}

}  // namespace

// rows: I8 U3 K20
TEST(ServerInstancesTest, Finalize_OfAllProcessesOfARank_EndsTheRank) {
    Setting s;
    FakeClient a(s.server, {"job", 0}), clone(s.server, {"job", 0}), other(s.server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, clone.hello());
    ASSERT_STATUS(PMIX_SUCCESS, other.hello());
    uint32_t get = other.start_get({"job", 0}, "never");
    uint32_t fence = other.start_fence({{"job", PMIX_RANK_WILDCARD}});
    EXPECT_STATUS(PMIX_SUCCESS, a.ask<Command::finalize>(common::FinalizeRequest{}));
    EXPECT_STATUS(PMIX_SUCCESS, clone.ask<Command::finalize>(common::FinalizeRequest{}));
    EXPECT_EQ(0u, s.host.count("client_finalized")) << "two are there still";
    a.kill();
    ASSERT_TRUE(s.server.turn_until([&] { return s.server.parts().peers.size() == 2; }));
    EXPECT_FALSE(other.take(get)) << "one is there still";
    clone.kill();
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_of(other, get));
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.count("client_finalized") == 1; }));
    EXPECT_EQ(TestServer::object_of(0), s.host.last("client_finalized")->object);
    EXPECT_EQ(server::Client::State::finalized, s.server.parts().registry.find_client({"job", 0})->state);
    EXPECT_FALSE(other.take(fence)) << "a process that no child of the server has started: the host ends the rank";
    s.server.on_loop([&] { s.server.setup().deregister_client({"job", 0}); });
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, status_of(other, fence));
}

// rows: I8 U3
TEST(ServerInstancesTest, Finalize_CloneDiesAfterwards_EndsTheRank) {
    Setting s;
    FakeClient a(s.server, {"job", 0}), clone(s.server, {"job", 0}), other(s.server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, clone.hello());
    ASSERT_STATUS(PMIX_SUCCESS, other.hello());
    uint32_t get = other.start_get({"job", 0}, "never");
    EXPECT_STATUS(PMIX_SUCCESS, a.ask<Command::finalize>(common::FinalizeRequest{}));
    clone.kill();
    ASSERT_TRUE(s.server.turn_until([&] { return s.server.parts().peers.size() == 2; }));
    EXPECT_FALSE(other.take(get));
    a.kill();
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_of(other, get));
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.count("client_finalized") == 1; }));
}

// rows: V8 V13
TEST(ServerInstancesTest, ModexRequest_HostEndsJobInItsCallback_AllRequestsAreAnswered) {
    Setting s;
    FakeClient a(s.server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
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
    for (pmix_status_t status : statuses) EXPECT_STATUS(PMIX_SUCCESS, status) << "it had committed before";
    EXPECT_EQ(nullptr, s.server.parts().registry.find("job"));
    EXPECT_TRUE(s.server.turn_until([&] { return a.hung_up(); }));
}

// The end of a job answers the host's request for its data, and in that callback the host deregisters the job once more
// and registers another.
// rows: V8 V13
TEST(ServerInstancesTest, Deregister_HostRegistersJobAgainInACallback_NewInstanceStays) {
    Setting s;
    unsigned called = 0;
    s.server.on_loop([&] {
        s.server.parts().get.modex_request({"job", 0}, [&](pmix_status_t status, common::Bytes) {
            ++called;
            EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status);
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
    EXPECT_STATUS(PMIX_SUCCESS, a.hello());
}

// Every upcall that a client causes, from its hello to its end, and in each of them the host ends the client's job at
// once.
// rows: V8 U1
TEST(ServerInstancesTest, Upcall_HostEndsItsJobInside_NothingStaysOpen) {
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
                common::GroupRequest group;
                group.call = common::GroupCall::construct;
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

// The end of a member is reported to members of other nodes while the group checks whether it is complete.
// rows: V8
TEST(ServerInstancesTest, Construct_HostEndsJobWhileNotifiedOfAFailure_Ends) {
    Setting s(2, 2);
    s.host.inside["notify_event"] = [&] { s.end("job"); };
    FakeClient a(s.server, {"job", 0}), b(s.server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, b.hello());
    common::GroupRequest group;
    group.call = common::GroupCall::construct;
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

// rows: V8 U6
TEST(ServerInstancesTest, Get_AnswerIsForAnEarlierInstance_WaitsForItsOwn) {
    Setting s(1, 1);
    s.host.styles["direct_modex"] = Style::later;
    s.host.statuses["direct_modex"] = PMIX_ERR_NOT_FOUND;
    s.server.job("other", 2, 1);
    FakeClient a(s.server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    uint32_t first = a.start_get({"other", 1}, "k");
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.waiting() == 1; }));
    s.server.on_loop([&] {
        s.end("other");
        return 0;
    });
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_of(a, first));
    s.server.job("other", 2, 1);
    s.host.statuses["direct_modex"] = PMIX_ERR_UNREACH;
    uint32_t second = a.start_get({"other", 1}, "k");
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.waiting() == 2; }));
    s.host.answer_first();
    s.server.settle();
    EXPECT_FALSE(a.take(second)) << "that was about the other that has ended";
    s.host.answer_first();
    EXPECT_STATUS(PMIX_ERR_UNREACH, status_of(a, second));
}

// rows: V8 C1
TEST(ServerInstancesTest, Connect_AnswerIsForAnEarlierInstance_ConnectsNoProcess) {
    Setting s(1, 1);
    s.host.styles["connect"] = Style::later;
    s.server.job("other", 2, 1);
    FakeClient a(s.server, {"job", 0});
    std::vector<ProcId> procs{{"job", 0}, {"other", 1}};
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    common::ConnectRequest request;
    request.procs = procs;
    uint32_t id = a.start<Command::connect>(request);
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.waiting() == 1; }));
    s.server.on_loop([&] {
        s.end("other");
        return 0;
    });
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_of(a, id));
    s.server.job("other", 2, 1);
    s.host.answer_first();
    s.server.settle();
    EXPECT_FALSE(s.server.parts().connect.connected(server::Signature(procs)));
    // This one is in time.
    id = a.start<Command::connect>(request);
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.waiting() == 1; }));
    s.host.answer_first();
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, id));
    EXPECT_TRUE(s.server.parts().connect.connected(server::Signature(procs)));
}

// Data that a fence returns after its job has ended must not go to the next job of that name.
// rows: V8 F5
TEST(ServerInstancesTest, Fence_DataIsOfAnEarlierInstance_IsDropped) {
    Setting s(1, 1);
    std::vector<uint8_t> blob;
    TestServer there(&s.module);
    there.job("other", 1, 2);
    {
        FakeClient b(there, {"other", 1});
        ASSERT_STATUS(PMIX_SUCCESS, b.hello());
        b.put("k", "of the first instance");
        there.settle();
        there.on_loop([&] {
            there.parts().get.modex_request({"other", 1}, [&](pmix_status_t status, common::Bytes bytes) {
                EXPECT_STATUS(PMIX_SUCCESS, status);
                blob.assign(bytes.begin(), bytes.end());
            });
            there.parts().host.flush();
            return 0;
        });
        ASSERT_FALSE(blob.empty());
    }
    s.host.styles["fence"] = Style::later;
    s.host.data = [&](const Seen&) { return blob; };
    const auto has_it = [&] { return s.server.parts().registry.find("other")->data->has(1, "k"); };
    for (bool ends : {true, false}) {
        SCOPED_TRACE(ends ? "the job ends meanwhile" : "it does not");
        s.server.job("other", 2, 1);
        FakeClient a(s.server, {"job", 0}), c(s.server, {"other", 0});
        ASSERT_STATUS(PMIX_SUCCESS, a.hello());
        ASSERT_STATUS(PMIX_SUCCESS, c.hello());
        const std::vector<ProcId> procs{{"job", 0}, {"other", PMIX_RANK_WILDCARD}};
        const uint32_t mine = a.start_fence(procs, true), its = c.start_fence(procs, true);
        ASSERT_TRUE(s.server.turn_until([&] { return s.host.waiting() == 1; }));
        if (ends) {
            s.server.on_loop([&] {
                s.end("other");
                return 0;
            });
            EXPECT_NE(PMIX_SUCCESS, status_of(a, mine));
            s.server.job("other", 2, 1);
        }
        EXPECT_FALSE(has_it());
        s.host.answer_first();
        s.server.settle();
        if (!ends) {
            EXPECT_STATUS(PMIX_SUCCESS, status_of(a, mine));
            EXPECT_STATUS(PMIX_SUCCESS, status_of(c, its));
        }
        EXPECT_EQ(!ends, has_it());
        s.server.on_loop([&] {
            s.end("other");
            return 0;
        });
    }
}

// rows: V8 C4
TEST(ServerInstancesTest, Disconnect_AnswerIsForAnEarlierInstance_KeepsTheNewConnection) {
    Setting s(1, 1);
    s.server.job("other", 2, 1);
    FakeClient a(s.server, {"job", 0});
    const std::vector<ProcId> procs{{"job", 0}, {"other", 1}};
    const server::Signature both = server::Signature(procs);
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    common::ConnectRequest request;
    request.procs = procs;
    ASSERT_STATUS(PMIX_SUCCESS, a.ask<Command::connect>(request));
    ASSERT_TRUE(s.server.parts().connect.connected(both));
    s.host.styles["disconnect"] = Style::later;
    uint32_t id = a.start<Command::disconnect>(request);
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.waiting() == 1; }));
    s.server.on_loop([&] {
        s.end("other");
        return 0;
    });
    EXPECT_NE(PMIX_SUCCESS, status_of(a, id));
    EXPECT_FALSE(s.server.parts().connect.connected(both));
    s.server.job("other", 2, 1);
    ASSERT_STATUS(PMIX_SUCCESS, a.ask<Command::connect>(request));
    s.host.answer_first();
    s.server.settle();
    EXPECT_TRUE(s.server.parts().connect.connected(both)) << "that was about the other that has ended";
    // This one is in time.
    id = a.start<Command::disconnect>(request);
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.waiting() == 1; }));
    s.host.answer_first();
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, id));
    EXPECT_FALSE(s.server.parts().connect.connected(both));
}

// Hosts may register the processes before the job.
// rows: K17 V4
TEST(ServerInstancesTest, Get_BeforeTheJobIsRegistered_IsAnsweredAfterRegistration) {
    Setting s(1, 1);
    s.server.add_client("later", 0);
    FakeClient a(s.server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    common::GetRequest request;
    request.proc = {"later", 0};
    request.key = PMIX_LOCAL_RANK;
    uint32_t reserved = a.start<Command::get>(request);
    uint32_t posted = a.start_get({"later", 0}, "k");
    s.server.settle();
    EXPECT_FALSE(a.take(reserved));
    s.server.job("later", 1, 1);
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, reserved));
    EXPECT_FALSE(a.take(posted)) << "the process has not put it";
    FakeClient late(s.server, {"later", 0});
    ASSERT_STATUS(PMIX_SUCCESS, late.hello());
    late.put("k", "v");
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, posted));
}

// The host has registered processes of the job, and takes the job back without a registration of it.
// rows: K17
TEST(ServerInstancesTest, Get_JobEndsBeforeItIsRegistered_IsNotFound) {
    Setting s(1, 1);
    s.server.add_client("later", 0);
    FakeClient a(s.server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    common::GetRequest request;
    request.proc = {"later", 0};
    request.key = PMIX_LOCAL_RANK;
    const uint32_t reserved = a.start<Command::get>(request), posted = a.start_get({"later", 0}, "k");
    s.server.settle();
    EXPECT_FALSE(a.take(reserved));
    s.end("later");
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_of(a, reserved));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_of(a, posted));
}

// No host deregisters a job that it has never registered.
// rows: U6 K17
TEST(ServerInstancesTest, RemoteNamespaces_AllUsersGone_AreDropped) {
    Setting s(1, 1);
    TestServer there(&s.module);
    s.host.data = modex_from(there);
    const auto foreign = [&] { return foreign_jobs(s.server); };
    constexpr size_t kJobs = 40;
    size_t before = 0;
    {
        FakeClient a(s.server, {"job", 0});
        ASSERT_STATUS(PMIX_SUCCESS, a.hello());
        for (size_t i = 0; i < kJobs; ++i) {
            const std::string name = "far" + std::to_string(i);
            there.job(name, 1, 1);
            {
                FakeClient b(there, {name, 0});
                ASSERT_STATUS(PMIX_SUCCESS, b.hello());
                b.put("k", "v");
                there.settle();
                if (i == 0) before = memfds();
                EXPECT_STATUS(PMIX_SUCCESS, status_of(a, a.start_get({name, 0}, "k")));
            }
            there.settle();
            there.on_loop([&] {
                there.setup().deregister_nspace(name);
                return 0;
            });
        }
        EXPECT_EQ(kJobs, foreign()) << "it has their segments";
        s.server.job("far7", 1, 1);  // the host registers one of them after all
    }
    ASSERT_TRUE(s.server.turn_until([&] { return foreign() <= server::kIdleRemote; }));
    EXPECT_EQ(server::kIdleRemote, foreign());
    EXPECT_NE(nullptr, s.server.parts().registry.find("far" + std::to_string(kJobs - 1))) << "the last used";
    EXPECT_NE(nullptr, s.server.parts().registry.find("far7"));
    EXPECT_LE(memfds(), before + server::kIdleRemote + 1);
}

// rows: K20
TEST(ServerInstancesTest, Request_MoreThanTheLimitAreOpen_IsRefused) {
    Setting s;
    FakeClient a(s.server, {"job", 0}), b(s.server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, b.hello());
    uint32_t last = 0;
    for (uint32_t i = 0; i < server::kMaxOpenRequests; ++i) {
        last = a.start_get({"job", 1}, "k");
        if (i % 100 == 0) s.server.settle();
    }
    uint32_t beyond = a.start_get({"job", 1}, "k");
    std::optional<common::Frame> refusal;
    ASSERT_TRUE(s.server.turn_until([&] {
        refusal = a.take(beyond);
        return refusal || s.server.parts().get.waiting() > server::kMaxOpenRequests;
    }));
    ASSERT_TRUE(refusal) << "one request too many is kept";
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, refusal->header.status);
    EXPECT_FALSE(a.take(last));
    EXPECT_EQ(server::kMaxOpenRequests, s.server.parts().get.waiting());
    uint32_t other = b.start_get({"job", 0}, "k");
    s.server.settle();
    EXPECT_FALSE(b.take(other)) << "others may";
    b.put("k", "v");
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, last));
    uint32_t again = a.start_get({"job", 1}, "another", 60);  // without a limit it waits for the first commit only
    s.server.settle();
    EXPECT_FALSE(a.take(again)) << "those that are answered do not count";
    EXPECT_STATUS(PMIX_SUCCESS, a.ask<Command::finalize>(common::FinalizeRequest{}));
}

// rows: K20
TEST(ServerInstancesTest, Request_SentAsNotification_ClosesTheConnection) {
    Setting s;
    FakeClient a(s.server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    common::GetRequest request;
    request.proc = {"job", 1};
    request.key = "k";
    a.tell<Command::get>(request);
    EXPECT_TRUE(s.server.turn_until([&] { return a.hung_up(); }));
    EXPECT_EQ(0u, s.server.parts().get.waiting());
}

#if !defined(UNDER_ASAN) && !defined(UNDER_TSAN) && defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
namespace {

size_t mappings() {
    std::ifstream maps("/proc/self/maps");
    return static_cast<size_t>(std::count(std::istreambuf_iterator<char>(maps), {}, '\n'));
}

size_t bytes_in_use() {
    const struct mallinfo2 all = ::mallinfo2();
    return all.uordblks + all.hblkhd;
}

// A job under a name of its own: its processes connect, put, fence and end.
void run_job_once(Setting& s, int number) {
    const std::string name = "job-" + std::to_string(number);
    s.server.job(name, 1, 2);
    {
        FakeClient a(s.server, {name, 0}), b(s.server, {name, 1});
        ASSERT_STATUS(PMIX_SUCCESS, a.hello());
        ASSERT_STATUS(PMIX_SUCCESS, b.hello());
        common::RegisterEventsRequest events;
        events.codes = {PMIX_EXTERNAL_ERR_BASE - 10 - number};
        ASSERT_STATUS(PMIX_SUCCESS, a.ask<Command::register_events>(events));
        a.put("key", std::string(3000, 'x'));
        const uint32_t ia = a.start_fence({{name, PMIX_RANK_WILDCARD}}, true);
        const uint32_t ib = b.start_fence({{name, PMIX_RANK_WILDCARD}}, true);
        ASSERT_STATUS(PMIX_SUCCESS, status_of(a, ia));
        ASSERT_STATUS(PMIX_SUCCESS, status_of(b, ib));
        a.kill();
        ASSERT_TRUE(s.server.turn_until([&] { return s.server.parts().peers.size() == 1; }));
        b.kill();
        ASSERT_TRUE(s.server.turn_until([&] { return s.server.parts().peers.empty(); }));
    }
    s.server.on_loop([&] {
        s.end(name);
        return 0;
    });
    s.server.settle();
    s.host.seen.clear();
}

}  // namespace

// Tables and caches take their size in the first jobs; after that a job leaves nothing.
TEST(ServerInstancesTest, ManyJobs_AllDeregistered_ServerHoldsWhatItHeldBefore) {
    Setting s;
    int number = 0;
    while (number < 600 && !HasFatalFailure()) run_job_once(s, number++);
    const size_t bytes = bytes_in_use(), maps = mappings(), segments = memfds();
    while (number < 1200 && !HasFatalFailure()) run_job_once(s, number++);
    EXPECT_LE(bytes_in_use(), bytes + 600 * 16) << "less than the smallest block for each job";
    EXPECT_LE(mappings(), maps + 4) << "the allocator may have one more";
    EXPECT_EQ(segments, memfds());
}
#endif

}  // namespace server_instances_test
