// SPDX-License-Identifier: BSD-3-Clause
// How many of a kind one process, or all, may have at a server: handlers, registrations for output, clones of a rank,
// jobs of other nodes. Each number is beyond what programs need; what is beyond it is refused or forgotten, no more.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "common/values/info_view.h"
#include "support/fake_client.h"
#include "support/status.h"

namespace server_bounds_test {

using namespace pmix;
using namespace pmix::test;

namespace {

struct Setting {
    Setting() : module(host.module()), server(&module) { server.job("job", 1, 2); }
    FakeHost host;
    pmix_server_module_t module;
    TestServer server;
};

common::IofPullRequest pull_number(uint64_t reference) {
    common::IofPullRequest request;
    request.procs = {{"job", PMIX_RANK_WILDCARD}};
    request.channels = PMIX_FWD_STDOUT_CHANNEL;
    request.reference = reference;
    return request;
}

// Sends request(i) for i = from .. to - 1, some at a time, and expects success of each.
template <Command C, class F>
void ask_all(FakeClient& client, uint64_t from, uint64_t to, F&& request) {
    constexpr uint64_t kTogether = 64;
    while (from < to) {
        std::vector<uint32_t> ids;
        for (; from < to && ids.size() < kTogether; ++from) ids.push_back(client.start<C>(request(from)));
        for (uint32_t id : ids) {
            auto reply = client.wait(id);
            ASSERT_TRUE(reply);
            ASSERT_STATUS(PMIX_SUCCESS, reply->header.status);
        }
    }
}

}  // namespace

// rows: E1 K20
TEST(ServerBoundsTest, AProcessHasSoManyEventHandlers) {
    Setting s;
    FakeClient a(s.server, {"job", 0}), b(s.server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, b.hello());
    const auto handler = [](uint64_t reference) {
        common::RegisterEventsRequest request;
        request.codes = {-7000};
        request.reference = reference;
        return request;
    };
    ask_all<Command::register_events>(a, 0, server::kMaxOpenRequests, handler);
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, a.ask<Command::register_events>(handler(server::kMaxOpenRequests)));
    EXPECT_STATUS(PMIX_SUCCESS, b.ask<Command::register_events>(handler(0))) << "others may";
    common::DeregisterEventsRequest gone;
    gone.reference = 7;
    EXPECT_STATUS(PMIX_SUCCESS, a.ask<Command::deregister_events>(gone));
    EXPECT_STATUS(PMIX_SUCCESS, a.ask<Command::register_events>(handler(server::kMaxOpenRequests)));
}

// rows: O2 K20
TEST(ServerBoundsTest, AProcessHasSoManyRegistrationsForOutput) {
    Setting s;
    FakeClient a(s.server, {"job", 0}), b(s.server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, b.hello());
    ask_all<Command::iof_pull>(a, 0, server::kMaxIofPulls, pull_number);
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, a.ask<Command::iof_pull>(pull_number(server::kMaxIofPulls)));
    EXPECT_EQ(server::kMaxIofPulls, s.host.count("iof_pull")) << "the host hears nothing of what is refused";
    EXPECT_STATUS(PMIX_SUCCESS, b.ask<Command::iof_pull>(pull_number(0))) << "others may";
}

// Nor by asking for all of them before the host has answered for one. rows: O2 K20
TEST(ServerBoundsTest, RegistrationsThatAreAtTheHostTogetherAreCountedWhenTheyComeBack) {
    Setting s;
    s.host.styles["iof_pull"] = Style::later;
    FakeClient a(s.server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    std::vector<uint32_t> ids;
    constexpr size_t kBeyond = 3;
    for (uint64_t i = 0; i < server::kMaxIofPulls + kBeyond; ++i) {
        ids.push_back(a.start<Command::iof_pull>(pull_number(i)));
        if (i % 64 == 0) s.server.settle();
    }
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.waiting() == ids.size(); }));
    s.host.styles["iof_pull"] = Style::before_return;
    s.host.answer_waiting();
    size_t refused = 0;
    for (uint32_t id : ids) {
        auto reply = a.wait(id);
        ASSERT_TRUE(reply);
        refused += reply->header.status == PMIX_ERR_OUT_OF_RESOURCE;
        ASSERT_STATUS(refused > 0 ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_SUCCESS, reply->header.status);
    }
    EXPECT_EQ(kBeyond, refused);
    // The host had taken them: it is told that they are over.
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.count("iof_pull") == ids.size() + kBeyond; }));
    EXPECT_NE(nullptr, s.host.last("iof_pull")->infos.find(PMIX_IOF_STOP));
}

// A process that does not read (a debugger has stopped it) loses events, not its connection, and is told how many.
// rows: E1 K20
TEST(ServerBoundsTest, Events_PeerDoesNotRead_EventsAreDroppedAndTheLossIsTold) {
    Setting s;
    FakeClient stopped(s.server, {"job", 0}), notifier(s.server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, stopped.hello());
    ASSERT_STATUS(PMIX_SUCCESS, notifier.hello());
    common::RegisterEventsRequest handler;
    handler.codes = {-7000, PMIX_ERR_FAILED_COMM};
    ASSERT_STATUS(PMIX_SUCCESS, stopped.ask<Command::register_events>(handler));
    constexpr uint64_t kEvents = 100;
    common::NotifyEventRequest event;
    event.status = -7000;
    event.range = PMIX_RANGE_LOCAL;
    common::InfoList list;
    list.append_string("myapp.text", std::string(1u << 20, 'x'));
    list.append_flag(PMIX_EVENT_DO_NOT_CACHE, true);
    event.infos = common::Infos(std::move(list));
    const auto bytes = frame_bytes(common::FrameHeader::request(static_cast<uint16_t>(Command::notify_event), 1000),
                                   *common::message_bytes(event));
    for (uint64_t i = 0; i < kEvents; ++i) {
        size_t done = 0;
        while (done < bytes.size()) {
            const ssize_t n = ::send(notifier.fd(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
            if (n > 0) done += static_cast<size_t>(n);
            s.server.run_once();
        }
        ASSERT_TRUE(notifier.wait(1000));
    }
    ASSERT_EQ(2u, s.server.parts().peers.size()) << "it is still connected";
    uint64_t counted = 0;
    for (const auto& [serial, peer] : s.server.parts().peers) counted += peer->lost_events();
    EXPECT_GT(counted, 0u);
    // It reads again.
    uint64_t received = 0, lost = 0;
    ASSERT_TRUE(s.server.turn_until([&] {
        while (auto notice = stopped.take_event()) {
            if (notice->status == -7000) ++received;
            if (notice->status != PMIX_ERR_FAILED_COMM) continue;
            const common::InfoView told(notice->infos.data(), notice->infos.size());
            EXPECT_STATUS(PMIX_SUCCESS, told.get(server::kLostEventsKey, &lost));
            EXPECT_NE(nullptr, told.find(PMIX_EVENT_NON_DEFAULT)) << "a default handler is not to end the process";
        }
        return lost != 0;
    }));
    EXPECT_EQ(counted, lost);
    EXPECT_EQ(kEvents, received + lost);
    // From here on as before.
    event.infos = common::Infos(infos());
    ASSERT_STATUS(PMIX_SUCCESS, notifier.ask<Command::notify_event>(event));
    ASSERT_TRUE(s.server.turn_until([&] { return stopped.take_event().has_value(); }));
}

// The loss is told where the lost events would have been: ahead of the first event that goes through again, also when
// earlier events still wait in the queue. rows: E1 K20
TEST(ServerBoundsTest, Events_RoomAgainWithEventsStillQueued_LossIsToldAheadOfTheNextEvent) {
    Setting s;
    FakeClient slow(s.server, {"job", 0}), notifier(s.server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, slow.hello());
    ASSERT_STATUS(PMIX_SUCCESS, notifier.hello());
    std::shared_ptr<server::Peer> peer;
    for (const auto& [serial, known] : s.server.parts().peers)
        if (known->id() == ProcId("job", 0)) peer = known;
    ASSERT_NE(nullptr, peer);
    const auto queued = [&] { return s.server.on_loop([&] { return peer->connection()->queued_bytes(); }); };
    common::RegisterEventsRequest handler;
    handler.codes = {-7000, -7001, PMIX_ERR_FAILED_COMM};
    ASSERT_STATUS(PMIX_SUCCESS, slow.ask<Command::register_events>(handler));
    const auto notify = [&](pmix_status_t code, size_t bytes) {
        s.server.on_loop([&] {
            common::InfoList list;
            if (bytes != 0) list.append_string("myapp.text", std::string(bytes, 'x'));
            list.append_flag(PMIX_EVENT_DO_NOT_CACHE, true);
            s.server.parts().events.raise(code, {"job", 1}, PMIX_RANGE_LOCAL, std::move(list));
            return 0;
        });
    };
    while (peer->lost_events() == 0) notify(-7000, 1u << 20);
    const uint64_t dropped = peer->lost_events();
    // It reads some of what waits, and the next event comes while the rest is still queued.
    std::vector<pmix_status_t> codes;
    const auto read = [&] {
        while (auto notice = slow.take_event())
            if (notice->status != -7000) codes.push_back(notice->status);
    };
    ASSERT_TRUE(s.server.turn_until([&] {
        read();
        return queued() < server::kMaxQueuedEvents / 2;
    }));
    ASSERT_GT(queued(), 0u);
    EXPECT_TRUE(codes.empty());
    EXPECT_EQ(dropped, peer->lost_events());
    notify(-7001, 0);
    ASSERT_TRUE(s.server.turn_until([&] {
        read();
        return queued() == 0 && codes.size() >= 2;
    }));
    EXPECT_EQ((std::vector<pmix_status_t>{PMIX_ERR_FAILED_COMM, -7001}), codes);
}

// Further processes of one rank leave a place for each rank that has not connected, and for later jobs. rows: I8 K20
TEST(ServerBoundsTest, Clones_SmallTable_RegisteredRanksKeepTheirPlaces) {
    constexpr unsigned kRanks = 8;
    FakeHost host;
    auto module = host.module();
    server::ServerOptions options;
    const int lowest = ::fcntl(0, F_DUPFD_CLOEXEC, 0);
    ::close(lowest);
    options.max_descriptors = static_cast<size_t>(lowest) + 200;
    TestServer server(&module, options);
    server.job("job", 1, kRanks);
    std::vector<std::unique_ptr<FakeClient>> all;
    for (unsigned rank = 0; rank < kRanks; ++rank) {
        // Each rank brings as many processes as it may.
        size_t processes = 0;
        for (; processes <= server::kMaxClones; ++processes) {
            auto one = std::make_unique<FakeClient>(server, ProcId("job", rank));
            if (one->hello() != PMIX_SUCCESS) break;
            all.push_back(std::move(one));
        }
        EXPECT_GE(processes, 1u) << "rank " << rank << " has its place";
        EXPECT_LE(processes, options.max_descriptors / 2 / kRanks + 1);
    }
    server.job("later", 1, 4);
    for (unsigned rank = 0; rank < 4; ++rank) {
        all.push_back(std::make_unique<FakeClient>(server, ProcId("later", rank)));
        EXPECT_STATUS(PMIX_SUCCESS, all.back()->hello());
    }
    EXPECT_LT(static_cast<size_t>(all.back()->fd()), options.max_descriptors) << "the table was never full";
}

// rows: I8 K20
TEST(ServerBoundsTest, ARankIsSoManyProcesses) {
    Setting s;
    std::vector<std::unique_ptr<FakeClient>> clones;
    for (uint32_t i = 0; i < server::kMaxClones; ++i) {
        clones.push_back(std::make_unique<FakeClient>(s.server, ProcId("job", 0)));
        ASSERT_STATUS(PMIX_SUCCESS, clones.back()->hello()) << i;
    }
    FakeClient beyond(s.server, {"job", 0}), other(s.server, {"job", 1});
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, beyond.hello());
    EXPECT_TRUE(s.server.turn_until([&] { return beyond.hung_up(); }));
    EXPECT_STATUS(PMIX_SUCCESS, other.hello()) << "other ranks may";
    EXPECT_EQ(server::kMaxClones, s.server.parts().registry.find_client({"job", 0})->connections);
    clones.pop_back();
    ASSERT_TRUE(s.server.turn_until([&] { return s.server.parts().peers.size() == server::kMaxClones; }));
    FakeClient next(s.server, {"job", 0});
    EXPECT_STATUS(PMIX_SUCCESS, next.hello()) << "one has gone";
    EXPECT_EQ(2u, s.host.count("client_connected2")) << "the host hears of each rank once";
}

// Those that come while the host is still asked about their rank are let in together. rows: I8 K20
TEST(ServerBoundsTest, ARankIsSoManyProcessesAlsoWhenTheyComeTogether) {
    Setting s;
    s.host.styles["client_connected2"] = Style::later;
    std::vector<std::unique_ptr<FakeClient>> clones;
    for (uint32_t i = 0; i < server::kMaxClones + 5; ++i) {
        clones.push_back(std::make_unique<FakeClient>(s.server, ProcId("job", 0)));
        common::HelloRequest mine;
        mine.role = common::PeerRole::client;
        mine.nspace = "job";
        mine.rank = 0;
        common::HelloClient hello(std::move(mine), {});
        clones.back()->start<Command::hello>(hello.request());
        s.server.settle();
    }
    ASSERT_EQ(1u, s.host.waiting());
    s.host.answer_waiting();
    const auto* rank = s.server.parts().registry.find_client({"job", 0});
    ASSERT_TRUE(s.server.turn_until([&] { return rank->connections > 0; }));
    ASSERT_TRUE(s.server.turn_until([&] { return s.server.parts().listener.half_open() == 0; }));
    EXPECT_EQ(server::kMaxClones, rank->connections);
}

// Each is in use by a process here, so none is idle; no host will ever end them. rows: U6 K17
TEST(ServerBoundsTest, ForeignJobsInUseAreSoMany) {
    Setting s;
    TestServer there(&s.module);
    s.host.data = modex_from(there);
    const auto foreign = [&] { return foreign_jobs(s.server); };
    constexpr size_t kBeyond = 4;
    FakeClient a(s.server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    for (size_t i = 0; i < server::kMaxRemote + kBeyond; ++i) {
        const std::string name = "far" + std::to_string(i);
        there.job(name, 1, 1);
        {
            FakeClient b(there, {name, 0});
            ASSERT_STATUS(PMIX_SUCCESS, b.hello());
            b.put("k", "v");
            there.settle();
            auto reply = a.wait(a.start_get({name, 0}, "k"));
            ASSERT_TRUE(reply);
            ASSERT_STATUS(PMIX_SUCCESS, reply->header.status) << name;
        }
        there.settle();
        there.on_loop([&] {
            there.setup().deregister_nspace(name);
            return 0;
        });
        a.drop_descriptors();
    }
    ASSERT_TRUE(s.server.turn_until([&] { return foreign() == server::kMaxRemote; }));
    for (size_t i = 0; i < kBeyond; ++i)
        EXPECT_EQ(nullptr, s.server.parts().registry.find("far" + std::to_string(i))) << "the oldest";
    EXPECT_NE(nullptr, s.server.parts().registry.find("far" + std::to_string(kBeyond)));
    EXPECT_FALSE(a.hung_up());
}

}  // namespace server_bounds_test
