// SPDX-License-Identifier: BSD-3-Clause
// Processes that misbehave or die: malformed frames, silence, too many, the wrong user, death at each step.
#include <gtest/gtest.h>

#include <random>

#include "support/fake_client.h"
#include "support/other_users.h"

namespace server_peers_test {

using namespace pmix;
using namespace pmix::test;

namespace {

const ProcId kJob("job", PMIX_RANK_WILDCARD);

std::vector<uint8_t> request_bytes(uint16_t command, const std::vector<uint8_t>& payload) {
    return frame_bytes(common::FrameHeader::request(command, 9), payload);
}

}  // namespace

TEST(ServerPeersTest, MalformedFramesEndThatConnectionOnly) {
    TestServer server(nullptr);
    server.job("job", 1, 2);
    FakeClient good(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, good.hello());
    std::vector<std::vector<uint8_t>> bad;
    bad.push_back(std::vector<uint8_t>(64, 0xff));                                                  // no header
    bad.push_back(request_bytes(static_cast<uint16_t>(Command::fence), {0xff, 0xff, 0xff, 0xff}));  // hostile count
    bad.push_back(request_bytes(static_cast<uint16_t>(Command::get), {0x01}));                      // cut short
    bad.push_back(request_bytes(static_cast<uint16_t>(Command::commit), std::vector<uint8_t>(40, 0xee)));
    bad.push_back(frame_bytes(common::FrameHeader::reply(static_cast<uint16_t>(Command::get), 3, PMIX_SUCCESS), {}));
    auto huge = request_bytes(static_cast<uint16_t>(Command::get), {});
    common::store_le<uint32_t>(huge.data(), UINT32_MAX);
    bad.push_back(huge);
    for (size_t i = 0; i < bad.size(); ++i) {
        FakeClient evil(server, {"job", 1});
        ASSERT_STATUS(PMIX_SUCCESS, evil.hello()) << i;
        evil.send_raw(bad[i]);
        EXPECT_TRUE(server.turn_until([&] { return evil.hung_up(); })) << i;
    }
    EXPECT_STATUS(PMIX_SUCCESS, status_of(good, good.start_fence({{"job", 0}})));
    EXPECT_EQ(1u, server.parts().peers.size());
}

// A server asks nothing of its clients: a reply is no request, although its payload is one. rows: K20
TEST(ServerPeersTest, ReplyOfAClient_WithAValidRequestInIt_EndsTheConnection) {
    TestServer server(nullptr);
    server.job("job", 1, 2);
    FakeClient good(server, {"job", 0}), evil(server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, good.hello());
    ASSERT_STATUS(PMIX_SUCCESS, evil.hello());
    common::ByteWriter value;
    common::encode_string_value(value, "x");
    common::CommitRequest commit;
    commit.entries.push_back({PMIX_GLOBAL, "k", value.view()});
    auto payload = common::message_bytes(commit);
    ASSERT_TRUE(payload.ok());
    evil.send_raw(
        frame_bytes(common::FrameHeader::reply(static_cast<uint16_t>(Command::commit), 3, PMIX_SUCCESS), *payload));
    ASSERT_TRUE(server.turn_until([&] { return evil.hung_up() || good.read_text(1, "k"); }));
    EXPECT_FALSE(good.read_text(1, "k")) << "it was carried out";
    EXPECT_TRUE(evil.hung_up());
    EXPECT_FALSE(good.hung_up());
}

// An observer asks how things stand: whatever a process may do is refused to it, before its request is read.
TEST(ServerPeersTest, Observer_SendsRequestsOfProcesses_AllAreRefused) {
    constexpr Command kRequests[] = {
#define WIREUP_COMMAND(number, name, request, reply, since) Command::name,
#include "common/protocol/commands.def"
#include "support/status.h"
    };
    FakeHost host;
    auto module = host.module();
    TestServer server(&module);
    server.job("job", 1, 1);
    FakeClient observer(server, ProcId());
    ASSERT_STATUS(PMIX_SUCCESS, observer.hello({}, common::PeerRole::observer));
    size_t refused = 0;
    for (Command command : kRequests) {
        if (command == Command::query || command == Command::finalize) continue;
        const auto number = static_cast<uint16_t>(command);
        observer.send_raw(frame_bytes(common::FrameHeader::request(number, 1000u + number), {}));
        const pmix_status_t status = status_of(observer, 1000u + number);
        refused += status == PMIX_ERR_NO_PERMISSIONS;
        if (status == PMIX_ERR_NOT_SUPPORTED) continue;  // no process may send it to a server either
        ASSERT_STATUS(PMIX_ERR_NO_PERMISSIONS, status) << "command " << number;
    }
    EXPECT_GE(refused, 25u);
    EXPECT_TRUE(host.seen.empty());
    EXPECT_STATUS(PMIX_SUCCESS, observer.ask<Command::finalize>(common::FinalizeRequest()));
}

TEST(ServerPeersTest, UnknownCommandsAreAnswered) {
    TestServer server(nullptr);
    server.job("job", 1, 1);
    FakeClient a(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    a.send_raw(request_bytes(999, {1, 2, 3}));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, status_of(a, 9));
    EXPECT_FALSE(a.hung_up());
}

// A process may say that it has not got a segment and be given it again; a descriptor that it has not taken in yet is
// still on its way to it, however often it asks.
TEST(ServerPeersTest, UnreadAnswersHoldNoDescriptors) {
    TestServer server(nullptr);
    server.job("job", 1, 1);
    server.job("other", 1, 1);
    FakeClient a(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_EQ(1u, a.descriptors_received());
    common::AttachNspaceRequest attach;
    attach.nspace = "other";
    const size_t before = open_descriptors();
    uint32_t last = 0;
    for (int i = 0; i < 3000; ++i) {
        last = i % 2 == 0 ? a.start<Command::attach_nspace>(attach)
                          : a.start_get({"other", PMIX_RANK_WILDCARD}, PMIX_JOB_SIZE);
        if (i % 20 == 0) server.settle();
    }
    server.settle();
    EXPECT_LE(open_descriptors(), before + 1);
    ASSERT_STATUS(PMIX_SUCCESS, status_of(a, last));
    EXPECT_LE(a.descriptors_received(), 3u);
    // It has read all: what it lost it gets again.
    const size_t received = a.descriptors_received();
    EXPECT_STATUS(PMIX_SUCCESS, a.ask<Command::attach_nspace>(attach));
    EXPECT_EQ(received + 1, a.descriptors_received());
}

// Every command with random payloads: answered or hung up, never anything worse.
TEST(ServerPeersTest, RandomPayloads) {
    TestServer server(nullptr);
    server.job("job", 1, 1);
    std::mt19937 random(7);
    for (uint16_t command = 1; command <= 36; ++command) {
        for (int round = 0; round < 20; ++round) {
            FakeClient a(server, {"job", 0});
            ASSERT_STATUS(PMIX_SUCCESS, a.hello());
            std::vector<uint8_t> payload(random() % 64);
            for (uint8_t& b : payload) b = static_cast<uint8_t>(random() % 4 == 0 ? random() : random() % 3);
            a.send_raw(request_bytes(command, payload));
            server.settle();
            a.kill();
            ASSERT_TRUE(server.turn_until([&] { return server.parts().peers.empty(); }));
        }
    }
    EXPECT_EQ(0u, server.parts().get.waiting());
    EXPECT_EQ(0u, server.parts().fence.open());
}

TEST(ServerPeersTest, WhoIsNobodyIsRefused) {
    server::ServerOptions options;
    options.registration_wait_ms = 50;
    TestServer server(nullptr, std::move(options));
    server.job("job", 1, 1);
    FakeClient unknown_rank(server, {"job", 5}), unknown_nspace(server, {"strange", 0});
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, unknown_rank.hello());
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, unknown_nspace.hello());
    EXPECT_TRUE(server.turn_until([&] { return unknown_rank.hung_up() && unknown_nspace.hung_up(); }));
    FakeClient noise(server, {"job", 0});
    noise.send_raw(request_bytes(static_cast<uint16_t>(Command::fence), {}));  // no hello first
    EXPECT_TRUE(server.turn_until([&] { return noise.hung_up(); }));
    EXPECT_EQ(0u, server.parts().listener.half_open());
}

// rows: V10
TEST(ServerPeersTest, AStaleTokenDoesNotGetIn) {
    TestServer server(nullptr);
    server.job("job", 1, 1);
    common::Token wrong;
    wrong.client.fill(1);
    FakeClient a(server, {"job", 0});
    EXPECT_NE(PMIX_SUCCESS, a.hello(wrong));
    EXPECT_TRUE(server.turn_until([&] { return a.hung_up(); }));
    FakeClient b(server, {"job", 0});
    EXPECT_STATUS(PMIX_SUCCESS, b.hello(server.parts().registry.find_client({"job", 0})->token));
}

// A process of another user, as the kernel would show it: the rank is registered for somebody else, and the server runs
// under a third id. (As root both numbers can be chosen; for other users the identity check has its own test.)
// rows: V10
TEST(ServerPeersTest, AnotherUsersProcessIsRefused) {
    if (!can_be_other_users()) GTEST_SKIP() << "needs root to connect under another id";
    TestServer server(nullptr);
    server.job("job", 1, 1, false);
    server.add_client("job", 0, 11111);
    // The credentials of a socket pair are those of the moment it is made.
    ASSERT_EQ(0, ::setegid(22222));
    ASSERT_EQ(0, ::seteuid(22222));
    auto other = std::make_unique<FakeClient>(server, ProcId("job", 0));
    ASSERT_EQ(0, ::seteuid(0));
    ASSERT_EQ(0, ::setegid(0));
    EXPECT_NE(PMIX_SUCCESS, other->hello());
    EXPECT_TRUE(server.turn_until([&] { return other->hung_up(); }));
    EXPECT_EQ(0u, server.parts().peers.size());
    // The rank's token in the hands of another user changes nothing: the kernel has named that user.
    ASSERT_EQ(0, ::seteuid(22222));
    auto thief = std::make_unique<FakeClient>(server, ProcId("job", 0));
    ASSERT_EQ(0, ::seteuid(0));
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, thief->hello(server.parts().registry.find_client({"job", 0})->token));
    EXPECT_EQ(0u, server.parts().peers.size());
}

// Users without a registered rank share a few places before their hello, and take none from the others. rows: V10
TEST(ServerPeersTest, HalfOpenConnections_OfAUserWithoutARank_AreFew) {
    if (!can_be_other_users()) GTEST_SKIP() << "needs root to connect under another id";
    server::ServerOptions options;
    options.hello_timeout_ms = 600'000;  // silence alone ends none of them
    TestServer server(nullptr, options);
    server.job("job", 1, 1);
    FakeClient own(server, {"job", 0});  // older than all the others
    const unsigned most = options.max_unregistered;
    std::vector<std::unique_ptr<FakeClient>> others;
    ASSERT_EQ(0, ::setegid(22222));
    ASSERT_EQ(0, ::seteuid(22222));
    for (unsigned i = 0; i < 3 * most; ++i) others.push_back(std::make_unique<FakeClient>(server, ProcId("job", 0)));
    ASSERT_EQ(0, ::seteuid(0));
    ASSERT_EQ(0, ::setegid(0));
    EXPECT_EQ(most + 1, server.parts().listener.half_open());
    EXPECT_TRUE(others.front()->hung_up()) << "the oldest went first";
    EXPECT_FALSE(others.back()->hung_up());
    EXPECT_FALSE(own.hung_up());
    EXPECT_STATUS(PMIX_SUCCESS, own.hello());
}

TEST(ServerPeersTest, SilenceIsCutOffAndTheCapHolds) {
    // Where the machine keeps this process from running for longer than a limit, who speaks is too late, too.
    pmix_status_t spoke = PMIX_ERROR;
    for (int limit_ms : {100, 2000, 20'000}) {
        server::ServerOptions options;
        options.hello_timeout_ms = limit_ms;
        options.max_half_open = 4;
        TestServer server(nullptr, options);
        server.job("job", 1, 1);
        std::vector<std::unique_ptr<FakeClient>> silent;
        for (int i = 0; i < 10; ++i) silent.push_back(std::make_unique<FakeClient>(server, ProcId("job", 0)));
        EXPECT_LE(server.parts().listener.half_open(), 4u);
        EXPECT_TRUE(silent[0]->hung_up()) << "the oldest went first";
        FakeClient good(server, {"job", 0});
        spoke = good.hello();
        EXPECT_TRUE(server.turn_until([&] { return server.parts().listener.half_open() == 0; }));
        for (auto& s : silent) EXPECT_TRUE(s->hung_up());
        if (spoke == PMIX_SUCCESS) break;
    }
    EXPECT_STATUS(PMIX_SUCCESS, spoke) << "one that speaks is admitted";
}

// A client dies at each step of put, commit, fence and get; the other one always gets its answer.
TEST(ServerPeersTest, DeathAtEachStep) {
    for (int step = 0; step < 6; ++step) {
        SCOPED_TRACE(step);
        FakeHost host;
        auto module = host.module();
        TestServer server(&module);
        server.job("job", 1, 2);
        FakeClient a(server, {"job", 0}), b(server, {"job", 1});
        ASSERT_STATUS(PMIX_SUCCESS, a.hello());
        if (step > 0) {
            ASSERT_STATUS(PMIX_SUCCESS, b.hello());
        }
        uint32_t get = a.start_get({"job", 1}, "late");
        uint32_t fence = 0;
        switch (step) {
            case 0:  // before it has connected: the host says so
                server.on_loop([&] {
                    server.setup().deregister_client({"job", 1});
                    return 0;
                });
                break;
            case 1:  // before everything
                b.kill();
                break;
            case 2:  // in the middle of a commit's frame
                b.send_raw(std::vector<uint8_t>(8, 0));
                b.kill();
                break;
            case 3:  // after its commit
                b.put("k", "v");
                server.settle();
                b.kill();
                break;
            case 4:  // in the fence
                b.start_fence({kJob});
                server.settle();
                b.kill();
                break;
            case 5:  // with a get of its own
                b.start_get({"job", 0}, "other");
                server.settle();
                b.kill();
                break;
        }
        EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_of(a, get));
        fence = a.start_fence({kJob});
        // The member that had joined the fence did its part before it died.
        EXPECT_STATUS(step == 4 ? PMIX_SUCCESS : PMIX_ERR_PARTIAL_SUCCESS, status_of(a, fence));
        EXPECT_EQ(step == 3 ? std::optional<std::string>("v") : std::nullopt, a.read_text(1, "k"));
        EXPECT_EQ(0u, server.parts().get.waiting());
        EXPECT_EQ(0u, server.parts().fence.open());
    }
}

// Registers, works, deregisters: nothing is left of a job, whatever its processes did.
TEST(ServerPeersTest, JobsLeaveNothingBehind) {
    FakeHost host;
    auto module = host.module();
    TestServer server(&module);
    DescriptorCheck descriptors;
    for (int i = 0; i < 100; ++i) {
        server.job("job", 2, 2);
        {
            FakeClient a(server, {"job", 0}), b(server, {"job", 1});
            ASSERT_STATUS(PMIX_SUCCESS, a.hello());
            ASSERT_STATUS(PMIX_SUCCESS, b.hello());
            a.put("k", "v");
            a.start_fence({kJob}, true);
            a.start_get({"job", 1}, "never");
            b.start_get({"job", 3}, "never");
            server.settle();
            server.on_loop([&] {
                server.setup().deregister_nspace("job");
                return 0;
            });
        }
        server.settle();
        host.seen.clear();
    }
    EXPECT_EQ(1u, server.parts().registry.nspaces().size()) << "the server's own";
    EXPECT_EQ(0u, server.parts().peers.size());
    EXPECT_EQ(0u, server.parts().get.waiting());
    EXPECT_EQ(0u, server.parts().fence.open());
    EXPECT_EQ(0u, server.parts().host.open());
}

}  // namespace server_peers_test
