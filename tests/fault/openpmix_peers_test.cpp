// SPDX-License-Identifier: BSD-3-Clause
// Connections to the place where OpenPMIx's protocol is spoken that are not what they should be: each ends, and nobody
// else notices.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <future>
#include <optional>
#include <utility>

#include "common/values/array_value.h"
#include "common/values/info_view.h"
#include "server/events/events.h"
#include "server/parts.h"
#include "server/server.h"
#include "support/as_user.h"
#include "support/openpmix_client.h"
#include "support/other_users.h"
#include "support/server_here.h"
#include "support/status.h"
#include "transport/event_loop.h"

namespace openpmix_peers_test {

using namespace pmix;
using namespace pmix::test;

namespace {

constexpr uid_t kOther = 61003;

class OpenPmixPeersTest : public ::testing::Test {
  protected:
    OpenPmixPeersTest() : server_(nullptr, wanted()) {
        register_job("job");
        ChildEnvironment child(ProcId("job", 0).to_c());
        uri_ = child.get("PMIX_SERVER_URI41");
    }
    static InfoList wanted() {
        InfoList infos = ServerHere::named();
        infos.append_flag(PMIX_WIREUP_OPENPMIX, true);
        return infos;
    }
    // The job's own process is served.
    void expect_well() {
        OpenPmixClient client(uri_);
        ASSERT_TRUE(client.hello({"job", 0}));
        EXPECT_STATUS(PMIX_SUCCESS, commit_global(client, "key", 1));
        EXPECT_STATUS(PMIX_SUCCESS, client.status_of(openpmix::FinalizeRequest{}));
    }
    std::string hello_of(const common::ProcId& id) {
        OpenPmixClient client(uri_);
        return client.hello(id) ? "in" : "closed";
    }

    ServerHere server_;
    std::string uri_;
};

// A host that answers the registration of one code when it is told to.
constexpr pmix_status_t kWaits = -3100, kKnown = -3101;
std::promise<std::pair<pmix_op_cbfunc_t, void*>> registered;

pmix_status_t register_code(pmix_status_t* codes, size_t n, const pmix_info_t[], size_t, pmix_op_cbfunc_t done,
                            void* cbdata) {
    if (n != 1 || codes[0] != kWaits) return PMIX_OPERATION_SUCCEEDED;
    registered.set_value({done, cbdata});
    return PMIX_SUCCESS;
}
pmix_server_module_t waiting_module() {
    pmix_server_module_t module{};
    module.register_events = register_code;
    return module;
}

// Its users have room for less than the events of the test.
class OpenPmixHeldEventsTest : public ::testing::Test {
  protected:
    static constexpr size_t kLimit = 1u << 20, kEvents = 30, kEach = 64u << 10;

    OpenPmixHeldEventsTest() : module_(waiting_module()), server_(&module_, wanted()) {
        register_job("job");
        const pmix_proc_t other = ProcId("job", 1).to_c();
        EXPECT_STATUS(PMIX_SUCCESS,
                      PMIx_server_register_client(&other, ::geteuid(), ::getegid(), nullptr, nullptr, nullptr));
        ChildEnvironment child(ProcId("job", 0).to_c());
        uri_ = child.get("PMIX_SERVER_URI41");
    }
    static InfoList wanted() {
        InfoList infos = ServerHere::named();
        infos.append_flag(PMIX_WIREUP_OPENPMIX, true);
        infos.append_number<size_t>(PMIX_WIREUP_USER_MEMORY, kLimit, PMIX_SIZE);
        return infos;
    }
    static openpmix::RegisterEventsRequest handler_of(pmix_status_t code) {
        openpmix::RegisterEventsRequest registration;
        registration.codes.codes = {code};
        return registration;
    }
    pmix_server_module_t module_;
    ServerHere server_;
    std::string uri_;
};

}  // namespace

// What waits for a registration is memory of the client's user; what has no room is lost, and the client is told.
TEST_F(OpenPmixHeldEventsTest, Registration_HostDoesNotAnswer_EventsAreHeldWithinTheUsersLimit) {
    OpenPmixClient zero(uri_), one(uri_);
    ASSERT_TRUE(zero.hello({"job", 0}));
    ASSERT_TRUE(one.hello({"job", 1}));
    ASSERT_STATUS(PMIX_SUCCESS, one.status_of(handler_of(kKnown)));
    ASSERT_STATUS(PMIX_SUCCESS, one.status_of(handler_of(PMIX_ERR_FAILED_COMM)));
    const uint64_t before = held_by_server(zero);
    const uint32_t tag = one.send(handler_of(kWaits));
    auto asked = registered.get_future();
    ASSERT_EQ(std::future_status::ready, asked.wait_for(std::chrono::seconds(60)));
    openpmix::NotifyRequest notify;
    notify.code.value = kKnown;
    notify.range.value = PMIX_RANGE_LOCAL;
    InfoList large;
    large.append_string("text", std::string(kEach, 'x'));
    notify.infos.infos = std::move(large);
    for (size_t i = 0; i < kEvents; ++i) ASSERT_STATUS(PMIX_SUCCESS, zero.status_of(notify));
    EXPECT_GT(held_by_server(zero), before + kLimit / 2);
    EXPECT_LE(held_by_server(zero), kLimit);
    const auto [done, cbdata] = asked.get();
    done(PMIX_SUCCESS, cbdata);
    EXPECT_STATUS(PMIX_SUCCESS, one.receive<openpmix::StatusReply>(tag).status.value);
    uint64_t told = 0, lost = 0;
    while (lost == 0 && told <= kEvents) {
        const auto event = one.receive<openpmix::EventMessage>(openpmix::kEventTag);
        if (event.code.value == kKnown) {
            ++told;
            continue;
        }
        EXPECT_STATUS(PMIX_ERR_FAILED_COMM, event.code.value);
        const common::InfoView infos(event.infos.infos.data(), event.infos.infos.size());
        EXPECT_STATUS(PMIX_SUCCESS, infos.get(server::kLostEventsKey, &lost));
        ASSERT_NE(0u, lost);
    }
    EXPECT_GT(told, 5u);
    EXPECT_EQ(kEvents, told + lost);
    EXPECT_LE(held_by_server(zero), before + 1000) << "nothing of it is held any more";
    // The way is free again.
    ASSERT_STATUS(PMIX_SUCCESS, zero.status_of(notify));
    EXPECT_EQ(kKnown, one.receive<openpmix::EventMessage>(openpmix::kEventTag).code.value);
}

TEST_F(OpenPmixPeersTest, Hello_OfTheRanksUser_IsLetIn) {
    expect_well();
}

// Nothing is said: releases up to 5.0.8 do not look at a status there, and hang.
TEST_F(OpenPmixPeersTest, Hello_OfAnotherUser_SeesTheEndAndNoByte) {
    if (!can_be_other_users()) GTEST_SKIP() << "needs root to connect under two users";
    {
        AsUser other(kOther);
        OpenPmixClient client(uri_);
        client.request.uid = 0;
        EXPECT_FALSE(client.hello({"job", 0}));
        EXPECT_TRUE(client.ended);
    }
    expect_well();
}

// Root's daemons connect where they are told to; that makes them nobody's rank.
TEST_F(OpenPmixPeersTest, Hello_OfRootForAnotherUsersRank_IsRefused) {
    if (!can_be_other_users()) GTEST_SKIP() << "needs root to register another user's rank";
    pmix_nspace_t name;
    PMIx_Load_nspace(name, "theirs");
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_register_nspace(name, 1, nullptr, 0, nullptr, nullptr));
    const pmix_proc_t proc = ProcId("theirs", 0).to_c();
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_register_client(&proc, kOther, kOther, nullptr, nullptr, nullptr));
    EXPECT_EQ("closed", hello_of({"theirs", 0}));
    AsUser other(kOther);
    EXPECT_EQ("in", hello_of({"theirs", 0}));
}

TEST_F(OpenPmixPeersTest, Hello_ForAnotherStore_IsRefused) {
    for (const char* store : {"shmem2", "ds21", ""}) {
        OpenPmixClient client(uri_);
        client.request.store = store;
        EXPECT_FALSE(client.hello({"job", 0})) << store;
    }
    expect_well();
}

TEST_F(OpenPmixPeersTest, Hello_OfARankThatIsNotInTheJob_IsRefused) {
    EXPECT_EQ("closed", hello_of({"job", 7}));
    expect_well();
}

TEST_F(OpenPmixPeersTest, Connect_WithOtherBytes_EndsTheConnection) {
    const std::vector<std::vector<uint8_t>> starts = {
        {'G', 'E', 'T', ' ', '/', ' ', 'H', 'T', 'T', 'P', '/', '1', '.', '1', '\r', '\n'},
        std::vector<uint8_t>(16, 0),
        // A connect message of more than there may be, and one of nothing.
        {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0},
        {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0},
        // Of four bytes that are no such message.
        {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 4, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4},
    };
    for (const auto& bytes : starts) {
        OpenPmixClient client(uri_);
        client.write(bytes);
        EXPECT_TRUE(client.sees_end());
    }
    expect_well();
}

TEST_F(OpenPmixPeersTest, Connect_CutAnywhere_LeavesNothing) {
    OpenPmixClient whole(uri_);
    whole.request.id = {"job", 0};
    std::vector<uint8_t> message;
    ASSERT_STATUS(PMIX_SUCCESS, whole.request.encode(&message));
    for (size_t cut = 0; cut < message.size(); ++cut) {
        OpenPmixClient client(uri_);
        client.write(common::Bytes(message).first(cut));
        client.socket.reset();
    }
    expect_well();
}

TEST_F(OpenPmixPeersTest, Message_OfMoreThanThereMayBe_EndsTheConnection) {
    OpenPmixClient client(uri_);
    ASSERT_TRUE(client.hello({"job", 0}));
    uint8_t header[16];
    openpmix::build_header({0, 101, 0xfffffff0}, header);
    client.write(header);
    EXPECT_TRUE(client.sees_end());
    expect_well();
}

// A client that asks and does not read: its answers are bounded, and others are served meanwhile.
TEST_F(OpenPmixPeersTest, Client_ThatDoesNotRead_IsGivenUp) {
    OpenPmixClient client(uri_);
    const int small = 4096;
    ASSERT_EQ(0, ::setsockopt(client.socket.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small));
    ASSERT_TRUE(client.hello({"job", 0}));
    std::vector<uint8_t> values;
    openpmix::SectionData data;
    const std::string large(1 << 20, 'x');
    auto text = common::Value::string(large);
    ASSERT_TRUE(text.ok());
    data.values.pairs.push_back({"large", std::move(text).value()});
    ASSERT_STATUS(PMIX_SUCCESS, openpmix::encode(data, client.traits, &values));
    openpmix::CommitRequest commit;
    commit.sections.sections = {{PMIX_LOCAL, values}, {PMIX_REMOTE, values}};
    ASSERT_STATUS(PMIX_SUCCESS, client.status_of(commit));
    std::vector<uint8_t> request;
    ASSERT_STATUS(PMIX_SUCCESS, openpmix::encode(get_of("job", 0, "large"), client.traits, &request));
    for (uint32_t i = 0; i < 200 && !client.ended; ++i) client.write(1000 + i, request);
    EXPECT_TRUE(client.sees_end());
    expect_well();
}

// The process ends with requests open, in every state of a request.
TEST_F(OpenPmixPeersTest, Client_ThatGoesWithRequestsOpen_LeavesNone) {
    for (int i = 0; i < 20; ++i) {
        OpenPmixClient client(uri_);
        ASSERT_TRUE(client.hello({"job", 0}));
        client.send(get_of("job", 0, "never"));
        openpmix::RegisterEventsRequest registration;
        registration.codes.codes = {-3001};
        client.send(registration);
        client.socket.reset();
    }
    expect_well();
}

TEST_F(OpenPmixPeersTest, Heartbeats_ByThousands_AreSwallowed) {
    OpenPmixClient client(uri_);
    ASSERT_TRUE(client.hello({"job", 0}));
    for (int i = 0; i < 5000; ++i) client.write(openpmix::kHeartbeatTag, {});
    EXPECT_STATUS(PMIX_SUCCESS, commit_global(client, "key", 1));
}

namespace {

// On a node where somebody connects to whatever listens, and is gone before the server has accepted it.
class Visitor {
  public:
    static int listen(int fd, int backlog) {
        const int rc = transport::kRealIo.listen(fd, backlog);
        sockaddr_in at{};
        socklen_t length = sizeof at;
        if (::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &length) != 0 || at.sin_family != AF_INET) return rc;
        const transport::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        EXPECT_EQ(0, ::connect(socket.get(), reinterpret_cast<sockaddr*>(&at), sizeof at));
        ++seen;
        return rc;
    }
    static inline int seen = 0;
};

}  // namespace

// What the server finds out about the kernel at its start is about nobody else.
TEST(OpenPmixStart, Visitor_ThatConnectsFirst_DoesNotKeepTheServerFromServing) {
    transport::Io io = transport::kRealIo;
    io.listen = Visitor::listen;
    auto loop = std::move(transport::EventLoop::create({transport::Drive::caller, nullptr, &io})).value();
    server::ServerOptions options;
    options.id = {"here", 3};
    options.hostname = "node";
    options.openpmix = true;
    transport::LoopRole role(*loop);
    auto server = std::move(server::Server::create(*loop, nullptr, std::move(options))).value();
    EXPECT_EQ(1, Visitor::seen);
    EXPECT_NE("", server->parts().openpmix_listener.address());
    server->stop();
}

}  // namespace openpmix_peers_test
