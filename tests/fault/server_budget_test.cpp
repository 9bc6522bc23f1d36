// SPDX-License-Identifier: BSD-3-Clause
// What one user's processes make a server hold has a limit of its own, whatever they ask for: beyond it they are
// refused, their neighbours are served, and when they have gone everything is given back.
#include <gtest/gtest.h>
#include <limits.h>
#include <pmix_server.h>

#include <algorithm>
#include <functional>
#include <thread>

#include "support/as_user.h"
#include "support/fake_client.h"
#include "support/other_users.h"
#include "support/status.h"

namespace pmix::test::server_budget_test {
namespace {

using common::InfoList;

constexpr uid_t kEvil = 61001, kGood = 61002;
constexpr size_t kLimit = 2u << 20;
constexpr uint32_t kRanks = 40;

class ServerBudgetTest : public testing::Test {
  protected:
    void SetUp() override {
        if (!can_be_other_users()) GTEST_SKIP() << "needs root to connect under two users";
        for (const char* upcall : {"direct_modex", "notify_event", "group", "publish"})
            host.styles[upcall] = Style::later;
        module = host.module();
        start(kLimit);
    }
    void start(size_t limit) {
        evil.reset();
        good.reset();
        peer.reset();
        server.reset();
        server::ServerOptions options;
        options.user_memory = limit;
        server = std::make_unique<TestServer>(&module, std::move(options));
        server->job("evil", 1, kRanks, false);
        server->job("good", 1, 2, false);
        for (uint32_t r = 0; r < kRanks; ++r) server->add_client("evil", r, kEvil);
        for (uint32_t r = 0; r < 2; ++r) server->add_client("good", r, kGood);
        evil = connect(kEvil, {"evil", 0});
        good = connect(kGood, {"good", 0});
        peer = connect(kGood, {"good", 1});
    }
    void TearDown() override {
        evil.reset();
        good.reset();
        peer.reset();
        if (server != nullptr) host.answer_waiting();
        server.reset();
    }
    std::unique_ptr<FakeClient> connect(uid_t uid, ProcId id) {
        std::unique_ptr<FakeClient> client;
        {
            AsUser user(uid);
            client = std::make_unique<FakeClient>(*server, std::move(id));
        }
        EXPECT_STATUS(PMIX_SUCCESS, client->hello());
        return client;
    }
    size_t used(uid_t uid) { return server->parts().budget.of(uid)->used(); }

    // Fences, puts and gets of the other user's processes go on as ever.
    void expect_neighbours_served() {
        static int n = 0;
        const std::string key = "k" + std::to_string(++n);
        peer->put(key, "v");
        auto got = good->wait(good->start_get({"good", 1}, key));
        ASSERT_TRUE(got);
        EXPECT_STATUS(PMIX_SUCCESS, got->header.status);
        const uint32_t a = good->start_fence({{"good", PMIX_RANK_WILDCARD}});
        const uint32_t b = peer->start_fence({{"good", PMIX_RANK_WILDCARD}});
        for (auto [client, id] : {std::pair(good.get(), a), std::pair(peer.get(), b)}) {
            auto reply = client->wait(id);
            ASSERT_TRUE(reply);
            EXPECT_STATUS(PMIX_SUCCESS, reply->header.status);
        }
    }

    // Asks again and again until it is refused. How often it was not. Whatever is kept takes 128 bytes at least, so
    // the limit is reached before kMost of them.
    size_t until_refused(const char* what, const std::function<uint32_t(size_t)>& ask) {
        constexpr size_t kMost = kLimit / 128;
        for (size_t i = 0; i < kMost; ++i) {
            const uint32_t id = ask(i);
            server->settle();
            EXPECT_LE(used(kEvil), kLimit) << what;
            auto reply = evil->take(id);
            if (!reply) continue;
            if (reply->header.status == PMIX_ERR_OUT_OF_RESOURCE) return i;
            if (reply->header.status != PMIX_SUCCESS) {
                ADD_FAILURE() << what << ": " << reply->header.status;
                return i;
            }
        }
        ADD_FAILURE() << what << " is never refused";
        return kMost;
    }

    FakeHost host;
    pmix_server_module_t module{};
    std::unique_ptr<TestServer> server;
    std::unique_ptr<FakeClient> evil, good, peer;
};

InfoList many(size_t n) {
    InfoList infos;
    for (size_t i = 0; i < n; ++i) infos.append_flag("some.info", true);
    return infos;
}

// A set of the caller's own rank and others of its job that never come; another one for each number.
std::vector<ProcId> another_set(size_t number) {
    std::vector<ProcId> procs{{"evil", 0}};
    for (uint32_t bit = 0; bit < 30; ++bit)
        if (((number + 1) >> bit & 1) != 0) procs.emplace_back("evil", bit + 1);
    return procs;
}

common::GroupRequest construct(std::string name, std::vector<ProcId> procs) {
    common::GroupRequest request;
    request.call = common::GroupCall::construct;
    request.name = std::move(name);
    request.procs = std::move(procs);
    return request;
}

common::JobControlRequest cleanup_of(const std::string& paths, const std::string& id, const std::string& ignored = "") {
    common::JobControlRequest request;
    InfoList directives;
    directives.append_string(PMIX_REGISTER_CLEANUP, paths);
    directives.append_string(PMIX_JOB_CTRL_ID, id);
    if (!ignored.empty()) directives.append_string(PMIX_CLEANUP_IGNORE, ignored);
    request.directives = std::move(directives);
    return request;
}

}  // namespace

TEST_F(ServerBudgetTest, Requests_ThatWait_AreRefusedAtTheLimitAndGivenBack) {
    const auto expect_bounded = [&](const char* what, const std::function<uint32_t(size_t)>& ask) {
        if (HasFailure()) return;  // this one would take as long to find out no more
        start(kLimit);
        EXPECT_GT(until_refused(what, ask), 10u) << what;
        EXPECT_GT(used(kEvil), kLimit / 4) << what;
        expect_neighbours_served();
        evil->kill();
        ASSERT_TRUE(server->turn_until([&] { return server->parts().peers.size() == 2; })) << what;
        host.answer_waiting();
        // Rounds stay for those who may come late, as long as there is somebody.
        server->on_loop([&] {
            server->setup().deregister_nspace("evil");
            return 0;
        });
        EXPECT_TRUE(server->turn_until([&] { return used(kEvil) == 0; })) << what << ": " << used(kEvil);
        expect_neighbours_served();
    };
    expect_bounded("get of a rank that never commits", [&](size_t i) {
        return evil->start_get({"evil", 1}, "k" + std::to_string(i));
    });
    expect_bounded("get of any rank", [&](size_t i) {
        return evil->start_get({"evil", PMIX_RANK_UNDEF}, "k" + std::to_string(i));
    });
    expect_bounded("get of another node's rank", [&](size_t i) {
        common::GetRequest request;
        request.proc = {"elsewhere", static_cast<uint32_t>(i)};
        request.key = "k";
        request.infos = many(20);
        return evil->start<Command::get>(request);
    });
    expect_bounded("publish that the host does not answer", [&](size_t) {
        common::PublishRequest request;
        request.infos = many(20);
        return evil->start<Command::publish>(request);
    });
    expect_bounded("event handler", [&](size_t i) {
        common::RegisterEventsRequest request;
        request.reference = i;
        for (int c = 0; c < 2000; ++c) request.codes.push_back(-400 - c);
        return evil->start<Command::register_events>(request);
    });
    expect_bounded("output registration", [&](size_t i) {
        common::IofPullRequest request;
        request.reference = i;
        request.channels = PMIX_FWD_STDOUT_CHANNEL;
        for (uint32_t r = 0; r < 500; ++r) request.procs.emplace_back("a.namespace.of.some.length", r);
        return evil->start<Command::iof_pull>(request);
    });
    expect_bounded("monitor", [&](size_t i) {
        common::MonitorRequest request;
        InfoList what, how;
        what.append_string(PMIX_MONITOR_FILE, "/" + std::string(80'000, 'x'));
        how.append_number<uint32_t>(PMIX_MONITOR_FILE_CHECK_TIME, 3600, PMIX_UINT32);
        how.append_string(PMIX_MONITOR_ID, std::to_string(i));
        request.infos = std::move(what);
        request.directives = std::move(how);
        return evil->start<Command::monitor>(request);
    });
    expect_bounded("cleanup", [&](size_t i) {
        return evil->start<Command::job_control>(cleanup_of("/nowhere/" + std::to_string(i), "mine"));
    });
    expect_bounded("cleanup with long lists", [&](size_t i) {
        std::string list, ignored;
        for (size_t p = 0; p < 10; ++p) {
            list += "/nowhere/" + std::to_string(10 * i + p) + ",";
            ignored += "/elsewhere/" + std::to_string(10 * i + p) + ",";
        }
        return evil->start<Command::job_control>(cleanup_of(list, "mine", ignored));
    });
    expect_bounded("fence of a new set", [&](size_t i) { return evil->start_fence(another_set(i)); });
    expect_bounded("group under construction", [&](size_t i) {
        return evil->start<Command::group>(construct("g" + std::to_string(i), another_set(i)));
    });
    expect_bounded("group under construction, its members as ranges", [&](size_t i) {
        common::GroupRequest request = construct("g" + std::to_string(i), {});
        request.ranges = {{"evil", {0, 100}}};
        return evil->start<Command::group>(request);
    });
    expect_bounded("group", [&](size_t i) {
        return evil->start<Command::group>(construct("g" + std::to_string(i), {{"evil", 0}}));
    });
}

// A few bytes name a hundred thousand members: the room for them is there before the host is given them, or not at all.
TEST_F(ServerBudgetTest, Group_OfManyMembersAsRanges_IsRefusedAtOnce) {
    start(kLimit);
    common::GroupRequest request = construct("g", {});
    request.ranges = {{"evil", {0, 100'000}}};
    const size_t before = used(kEvil);
    auto reply = evil->wait(evil->start<Command::group>(request));
    ASSERT_TRUE(reply);
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, reply->header.status);
    EXPECT_EQ(before, used(kEvil));
    EXPECT_EQ(0u, host.count("group"));
    expect_neighbours_served();
}

// One name for very many paths, which is kept once, and paths for which there is room or not.
TEST_F(ServerBudgetTest, Cleanup_OneLargeRequest_IsKeptSmallOrNotAtAll) {
    constexpr size_t kPaths = 65'000, kRoomy = 64u << 20;
    const std::string long_name(1u << 20, 'i');
    std::string list;
    for (size_t i = 0; i < kPaths; ++i) list += "/" + std::to_string(i) + ",";
    uint32_t number = 1000;
    const auto ask = [&](const std::string& paths, const std::string& id) -> pmix_status_t {
        auto request = cleanup_of(paths, id);
        request.procs = {{"evil", 0}};
        auto payload = common::message_bytes(request);
        if (!payload.ok()) return payload.status();
        const auto frame =
            frame_bytes(common::FrameHeader::request(static_cast<uint16_t>(Command::job_control), ++number), *payload);
        // More than a socket takes before the server reads.
        std::thread sender([&] { evil->send_raw({frame.begin(), frame.end()}); });
        auto reply = evil->wait(number);
        sender.join();
        return reply ? reply->header.status : PMIX_ERR_TIMEOUT;
    };
    const auto registered = [&] { return server->parts().cleanup.size(); };
    start(kRoomy);
    ASSERT_STATUS(PMIX_ERR_BAD_PARAM, ask("/0,/1,/2", long_name));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, ask(list, long_name));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, ask("/0,/" + std::string(PATH_MAX, 'x'), "mine"));
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, ask(list + list, "mine")) << "more paths than one process may have";
    EXPECT_EQ(0u, registered());
    EXPECT_EQ(0u, used(kEvil));
    EXPECT_STATUS(PMIX_SUCCESS, ask(list, "mine"));
    EXPECT_EQ(kPaths, registered());
    EXPECT_GT(used(kEvil), kPaths * 200);
    expect_neighbours_served();

    start(kLimit);
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, ask(list, "mine"));
    EXPECT_EQ(0u, registered());
    EXPECT_EQ(0u, used(kEvil));
    EXPECT_STATUS(PMIX_SUCCESS, ask("/0,/1,/2", "mine"));
    EXPECT_EQ(3u, registered());
    expect_neighbours_served();
}

// A request that wants no answer is kept by its operation all the same.
TEST_F(ServerBudgetTest, Notifications_ThatTheHostDoesNotAnswer_AreBounded) {
    common::NotifyEventRequest event;
    event.status = PMIX_EXTERNAL_ERR_BASE - 9;
    event.source = {"evil", 0};
    event.range = PMIX_RANGE_GLOBAL;
    event.infos = many(20);
    for (int i = 0; i < 2000; ++i) {
        evil->tell<Command::notify_event>(event);
        server->settle();
        ASSERT_LE(used(kEvil), kLimit);
    }
    EXPECT_GT(used(kEvil), kLimit / 2);
    EXPECT_LT(host.waiting(), 2000u);
    expect_neighbours_served();
    host.answer_waiting();
    EXPECT_TRUE(server->turn_until([&] { return used(kEvil) == 0; }));
}

// Invitations to groups are remembered while there is room for them; the event itself is told in any case.
TEST_F(ServerBudgetTest, Invitations_WithLongLists_AreBounded) {
    host.styles["notify_event"] = Style::before_return;
    std::vector<pmix_proc_t> invited;
    for (uint32_t r = 0; r < 300; ++r) invited.push_back(ProcId("a.namespace.of.some.length", r).to_c());
    pmix_data_array_t list{PMIX_PROC, invited.size(), invited.data()};
    for (int i = 0; i < 300; ++i) {
        common::NotifyEventRequest event;
        event.status = PMIX_GROUP_INVITED;
        event.source = {"evil", 0};
        event.range = PMIX_RANGE_CUSTOM;
        InfoList infos;
        infos.append_string(PMIX_GROUP_ID, "g" + std::to_string(i));
        infos.append(PMIX_EVENT_CUSTOM_RANGE, &list, PMIX_DATA_ARRAY);
        event.infos = std::move(infos);
        ASSERT_STATUS(PMIX_SUCCESS, evil->ask<Command::notify_event>(event));
        ASSERT_LE(used(kEvil), kLimit);
    }
    EXPECT_GT(used(kEvil), kLimit / 2);
    expect_neighbours_served();
}

// What waits is kept in the form in which it was received: an info takes 552 bytes in memory, and some twenty in a
// frame.
TEST_F(ServerBudgetTest, Get_WithManyInfos_IsKeptSmall) {
    start(64u << 20);
    for (int i = 0; i < 200; ++i) {
        common::GetRequest request;
        request.proc = i % 2 == 0 ? ProcId("evil", 1) : ProcId("elsewhere", static_cast<uint32_t>(i));
        request.key = "k";
        request.infos = many(2000);
        evil->start<Command::get>(request);
        server->settle();
    }
    ASSERT_TRUE(server->turn_until([&] { return server->parts().get.waiting() == 200; }));
    EXPECT_LT(used(kEvil), 16u << 20) << "two hundred times 2,000 infos as structs are 220 MB";
    EXPECT_GT(used(kEvil), 2u << 20);
}

// A round that its first caller has left is kept for those who may come late, and counted until then.
TEST_F(ServerBudgetTest, Rounds_OfAProcessThatHasGone_StayCounted) {
    for (size_t i = 0; i < 400; ++i) {
        evil->start_fence(another_set(i));
        server->settle();
    }
    evil->kill();
    ASSERT_TRUE(server->turn_until([&] { return server->parts().peers.size() == 2; }));
    const size_t kept = used(kEvil);
    EXPECT_GT(kept, 400u * 500);
    EXPECT_LE(kept, kLimit);
    expect_neighbours_served();
    server->on_loop([&] {
        server->setup().deregister_nspace("evil");
        return 0;
    });
    EXPECT_EQ(0u, used(kEvil));
}

// Unfinished messages: some are admitted, the others wait outside, and all are carried out when there is room.
TEST_F(ServerBudgetTest, LargeMessages_BeyondTheLimit_WaitForEachOther) {
    common::FenceRequest large;  // of ranks of its own job, again and again: refused as such, but read as a whole
    large.procs.assign(40'000, ProcId("evil", kRanks + 1));
    auto payload = common::message_bytes(large);
    ASSERT_TRUE(payload.ok());
    ASSERT_GT(payload->size(), 400u << 10);
    start(3 * payload->size());
    std::vector<std::unique_ptr<FakeClient>> clients;
    constexpr size_t kHalf = 100'000;
    for (uint32_t r = 1; r <= 8; ++r) {
        clients.push_back(connect(kEvil, {"evil", r}));
        auto frame = frame_bytes(common::FrameHeader::request(static_cast<uint16_t>(Command::fence), 1000), *payload);
        frame.resize(kHalf);
        clients.back()->send_raw(frame);
        server->settle();
    }
    EXPECT_EQ(6u, server->parts().admission.waiting()) << "two of them and the first bytes of the others";
    expect_neighbours_served();
    // A small request of the same user passes.
    auto small = evil->wait(evil->start_get({"evil", 9}, "k", 0, true));
    ASSERT_TRUE(small);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, small->header.status);
    for (auto& client : clients) {
        auto frame = frame_bytes(common::FrameHeader::request(static_cast<uint16_t>(Command::fence), 1000), *payload);
        std::thread rest([&] { client->send_raw({frame.begin() + kHalf, frame.end()}); });
        auto reply = client->wait(1000);
        rest.join();
        ASSERT_TRUE(reply);
    }
    EXPECT_EQ(0u, server->parts().admission.waiting());
    clients.clear();
    EXPECT_TRUE(server->turn_until([&] { return used(kEvil) == 0; }));
}

// Answers that nobody reads are memory of the user who asked for them, and given back with the connection.
TEST_F(ServerBudgetTest, Answers_NobodyReads_AreWithinTheUsersLimit) {
    constexpr size_t kSmall = 4u << 20;
    start(kSmall);
    server->job("large", 1, 8000, false);
    server->add_client("large", 0, kEvil);
    common::ResolveRequest ask;  // some 30 bytes, for an answer of 100,000
    ask.nspace = "large";
    std::vector<std::unique_ptr<FakeClient>> clients;
    for (uint32_t r = 1; r <= 8; ++r) clients.push_back(connect(kEvil, {"evil", r}));
    const auto queued = [&] {
        size_t bytes = 0;
        for (const auto& [serial, p] : server->parts().peers)
            if (p->credentials().uid == kEvil) bytes += p->connection()->queued_bytes();
        return bytes;
    };
    size_t most = 0;
    const auto expect_bounded = [&] {
        const size_t now = queued();
        most = std::max(most, now);
        EXPECT_LE(now, used(kEvil));
        return used(kEvil) <= kSmall + clients.size() * (64u << 10);
    };
    // Each asks for 30 MB.
    for (size_t i = 0; i < 300; ++i) {
        for (auto& client : clients) {
            auto bytes = common::message_bytes(ask);
            auto frame = frame_bytes(common::FrameHeader::request(static_cast<uint16_t>(Command::resolve_peers),
                                                                  static_cast<uint32_t>(1000 + i)),
                                     *bytes);
            // One whose connection was ended has no reader any more.
            if (::send(client->fd(), frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) continue;
        }
        server->run_once();
        ASSERT_TRUE(expect_bounded()) << used(kEvil) << " bytes after " << i << " requests";
        if (i == 100) expect_neighbours_served();
    }
    server->settle();
    EXPECT_GT(most, kSmall / 4) << "something has waited";
    EXPECT_EQ(0u, used(kGood));
    clients.clear();
    EXPECT_TRUE(server->turn_until([&] { return used(kEvil) == 0; }));
}

// One user has nothing left: another's processes of the same server start, exchange data and end.
TEST_F(ServerBudgetTest, User_WithNothingLeft_HoldsUpNobodyElse) {
    until_refused("get", [&](size_t i) { return evil->start_get({"evil", 1}, "k" + std::to_string(i)); });
    EXPECT_EQ(0u, used(kGood));
    good->kill();
    ASSERT_TRUE(server->turn_until([&] { return server->parts().peers.size() == 2; }));
    server->on_loop([&] {
        server->setup().deregister_client({"good", 0});
        return 0;
    });
    server->add_client("good", 0, kGood);
    good = connect(kGood, {"good", 0});
    expect_neighbours_served();
    // And a finalize of the user itself is always carried out.
    auto reply = evil->wait(evil->start<Command::finalize>(common::FinalizeRequest()));
    ASSERT_TRUE(reply);
    EXPECT_STATUS(PMIX_SUCCESS, reply->header.status);
}

}  // namespace pmix::test::server_budget_test
