// SPDX-License-Identifier: BSD-3-Clause
// The listener with bad peers: connections that send nothing, too little, too late or nonsense, through the real
// listening socket. Each is told why where it can be told, and dropped; the server goes on and keeps nothing of it.
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "support/fake_client.h"
#include "support/status.h"
#include "transport/unix_socket.h"

namespace listener_fault_test {

using namespace pmix;
using namespace pmix::test;

namespace {

// Deadlines: where the machine keeps this process from running for longer than one, what is to happen before it does
// not, and the next is tried.
constexpr int kDeadlinesMs[] = {300, 3000, 20'000};

server::ServerOptions hurried(int deadline_ms) {
    server::ServerOptions options;
    options.hello_timeout_ms = deadline_ms;
    return options;
}

// One connection through the listener, spoken to in bytes.
class Caller {
  public:
    explicit Caller(TestServer& server) : server_(server), since_(std::chrono::steady_clock::now()) {
        auto socket = transport::connect_to(server.parts().listener.addresses().front(),
                                            transport::Deadline::in_ms(60'000), server.loop->io());
        EXPECT_TRUE(socket.ok());
        if (socket.ok()) socket_ = std::move(socket).value();
    }
    // False: the server has closed it.
    bool say(const std::vector<uint8_t>& bytes) {
        return ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
               static_cast<ssize_t>(bytes.size());
    }
    void greet(const common::HelloRequest& hello, uint32_t id = 1) {
        auto body = common::message_bytes(hello);
        ASSERT_TRUE(body.ok());
        say(frame_bytes(common::FrameHeader::request(static_cast<uint16_t>(Command::hello), id), *body));
    }
    bool over() {
        uint8_t chunk[4096];
        for (;;) {
            const ssize_t n = ::recv(socket_.get(), chunk, sizeof chunk, MSG_DONTWAIT);
            if (n <= 0) return n == 0 || errno != EAGAIN;
            heard_.insert(heard_.end(), chunk, chunk + n);
        }
    }
    bool dropped() {
        return server_.turn_until([&] { return over(); });
    }
    // What was answered before the end; PMIX_SUCCESS stands for no answer, which no refusal carries.
    pmix_status_t refusal() {
        EXPECT_TRUE(dropped());
        auto header = common::parse_frame_header(heard_, common::kMaxFramePayload);
        return header.ok() && heard_.size() >= common::kFrameHeaderSize ? header->status : PMIX_SUCCESS;
    }
    int64_t age_ms() const {
        return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - since_).count();
    }
    const std::vector<uint8_t>& heard() const { return heard_; }

  private:
    TestServer& server_;
    std::chrono::steady_clock::time_point since_;
    transport::Descriptor socket_;
    std::vector<uint8_t> heard_;
};

common::HelloRequest hello_of(const std::string& nspace, uint32_t rank) {
    common::HelloRequest request;
    request.nspace = nspace;
    request.rank = rank;
    request.magic = common::kHelloMagic;
    request.min_version = common::kProtocolMin;
    request.max_version = common::kProtocolMax;
    request.features = common::kFeatures;
    return request;
}

// The server has forgotten all of them, and takes the next one.
void expect_well(TestServer& server) {
    EXPECT_TRUE(server.turn_until([&] { return server.parts().listener.half_open() == 0; }));
    // This process may be stopped for longer than a short deadline, but not each time.
    for (int i = 0; i < 10; ++i) {
        FakeClient good(server, {"job", 0});
        if (good.hello() != PMIX_SUCCESS && i < 9) continue;
        EXPECT_EQ(1u, server.parts().peers.size());
        break;
    }
}

}  // namespace

TEST(ListenerFaultTest, WhoNeverSpeaksIsDroppedAtTheDeadline) {
    bool seen = false;
    for (int deadline_ms : kDeadlinesMs) {
        TestServer server(nullptr, hurried(deadline_ms));
        server.job("job", 1, 1);
        size_t before = open_descriptors();
        {
            Caller silent(server);
            bool over = false;
            ASSERT_TRUE(server.turn_until([&] {
                seen = server.parts().listener.half_open() == 1;
                over = silent.over();
                return seen || over;
            }));
            EXPECT_TRUE(silent.dropped());
            EXPECT_GE(silent.age_ms(), deadline_ms - 1);
            EXPECT_TRUE(silent.heard().empty());
        }
        EXPECT_EQ(before, open_descriptors());
        expect_well(server);
        if (seen) break;
    }
    EXPECT_TRUE(seen);
}

// The deadline is for the whole hello: a byte now and then does not move it.
TEST(ListenerFaultTest, WhoSpeaksTooSlowlyIsDroppedAtTheDeadline) {
    auto body = common::message_bytes(hello_of("job", 0));
    ASSERT_TRUE(body.ok());
    auto bytes = frame_bytes(common::FrameHeader::request(static_cast<uint16_t>(Command::hello), 1), *body);
    size_t said = 0;
    for (int deadline_ms : kDeadlinesMs) {
        TestServer server(nullptr, hurried(deadline_ms));
        server.job("job", 1, 1);
        Caller slow(server);
        said = 0;
        EXPECT_TRUE(server.turn_until([&] {
            // All but the last byte, spread over the time.
            if (said + 1 < bytes.size() && slow.age_ms() > static_cast<int64_t>(said)) slow.say({bytes[said++]});
            return slow.over();
        }));
        EXPECT_GE(slow.age_ms(), deadline_ms - 1);
        EXPECT_TRUE(slow.heard().empty());
        expect_well(server);
        if (said > 1) break;
    }
    EXPECT_GT(said, 1u);
}

// A host that does not answer client_connected2 holds up that client only, and only until the deadline.
TEST(ListenerFaultTest, AHostThatNeverAnswersEndsAtTheDeadline) {
    size_t asked = 0;
    for (int deadline_ms : kDeadlinesMs) {
        FakeHost host;
        host.styles["client_connected2"] = Style::later;
        pmix_server_module_t module = host.module();
        TestServer server(&module, hurried(deadline_ms));
        server.job("job", 1, 1);
        {
            Caller patient(server);
            patient.greet(hello_of("job", 0));
            EXPECT_TRUE(patient.dropped());
            EXPECT_GE(patient.age_ms(), deadline_ms - 1);
            asked = host.waiting();
        }
        EXPECT_EQ(0u, server.parts().listener.half_open());
        host.answer_waiting();  // nobody is there any more
        server.settle();
        EXPECT_EQ(0u, server.parts().peers.size());
        host.styles.clear();
        expect_well(server);
        if (asked != 0) break;
    }
    EXPECT_EQ(1u, asked);
}

// A process that is killed while its host is asked about it was a rank for the host and never a peer for the server:
// its
// neighbours' fence must not wait for it. rows: F7
TEST(ListenerFaultTest, Fence_MemberEndsBeforeItsAdmission_IsAnswered) {
    FakeHost host;
    pmix_server_module_t module = host.module();
    TestServer server(&module, hurried(60'000));
    server.job("job", 1, 2);
    FakeClient waiting(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, waiting.hello());
    const uint32_t fence = waiting.start_fence({{"job", PMIX_RANK_WILDCARD}});
    host.styles["client_connected2"] = Style::later;
    {
        Caller killed(server);
        killed.greet(hello_of("job", 1));
        ASSERT_TRUE(server.turn_until([&] { return host.waiting() == 1; }));
    }
    ASSERT_TRUE(server.turn_until([&] { return server.parts().listener.half_open() == 0; }));
    host.answer_waiting();
    const auto answer = waiting.wait(fence);
    ASSERT_TRUE(answer);
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, answer->header.status);
    host.styles.clear();
    FakeClient again(server, {"job", 1});
    EXPECT_STATUS(PMIX_SUCCESS, again.hello()) << "the rank itself may still come";
}

TEST(ListenerFaultTest, ARankThatComesTwiceIsToldToTheHostOnce) {
    FakeHost host;
    host.styles["client_connected2"] = Style::later;
    pmix_server_module_t module = host.module();
    TestServer server(&module, hurried(60'000));
    server.job("job", 1, 1);
    Caller one(server), two(server);
    one.greet(hello_of("job", 0));
    two.greet(hello_of("job", 0));
    ASSERT_TRUE(server.turn_until([&] { return host.waiting() != 0 && server.parts().listener.half_open() == 2; }));
    server.settle();
    ASSERT_EQ(1u, host.waiting());
    EXPECT_EQ(2u, server.parts().listener.half_open());
    host.answer_waiting();
    EXPECT_TRUE(server.turn_until([&] { return server.parts().peers.size() == 2; })) << "one answer is for both";
    EXPECT_EQ(1u, host.count("client_connected2"));
}

// A further process of a rank that is connected: the host has answered for the rank, and is not asked again.
TEST(ListenerFaultTest, Clone_OfAConnectedRank_IsAdmittedWithoutTheHost) {
    FakeHost host;
    pmix_server_module_t module = host.module();
    TestServer server(&module, hurried(60'000));
    server.job("job", 1, 1);
    FakeClient first(server, {"job", 0}), clone(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, first.hello());
    host.styles["client_connected2"] = Style::fails;
    host.statuses["client_connected2"] = PMIX_ERR_NO_PERMISSIONS;
    EXPECT_STATUS(PMIX_SUCCESS, clone.hello());
    EXPECT_EQ(1u, host.count("client_connected2"));
}

// What is no hello is not answered: it would not be understood.
TEST(ListenerFaultTest, GarbageIsClosedWithoutAnAnswer) {
    constexpr int kFarMs = 100'000;  // what is closed earlier is closed for what it sent
    TestServer server(nullptr, hurried(kFarMs));
    server.job("job", 1, 1);
    std::mt19937 random(11);
    std::vector<std::vector<uint8_t>> garbage;
    garbage.push_back(bytes_of("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    for (int i = 0; i < 40; ++i) {
        std::vector<uint8_t> bytes(common::kFrameHeaderSize + random() % 200);
        for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
        garbage.push_back(std::move(bytes));
    }
    // A frame as it should be, around what is no hello.
    garbage.push_back(
        frame_bytes(common::FrameHeader::request(static_cast<uint16_t>(Command::hello), 1), bytes_of("hello?")));
    garbage.push_back(
        frame_bytes(common::FrameHeader::reply(static_cast<uint16_t>(Command::hello), 1, PMIX_SUCCESS), {}));
    // More than a hello may be: closed on its header, before the bytes come.
    auto huge = common::FrameHeader::request(static_cast<uint16_t>(Command::hello), 1);
    huge.payload = common::kMaxHelloPayload + 1;
    std::vector<uint8_t> head(common::kFrameHeaderSize);
    common::build_frame_header(huge, head.data());
    garbage.push_back(std::move(head));
    for (size_t i = 0; i < garbage.size(); ++i) {
        Caller caller(server);
        caller.say(garbage[i]);
        EXPECT_TRUE(caller.dropped()) << i;
        EXPECT_TRUE(caller.heard().empty()) << i;
        EXPECT_LT(caller.age_ms(), kFarMs) << i;
    }
    expect_well(server);
}

// A client of this library is told why: first the answer, then the end.
TEST(ListenerFaultTest, ARefusalIsAnsweredBeforeItCloses) {
    FakeHost host;
    pmix_server_module_t module = host.module();
    server::ServerOptions options;
    options.registration_wait_ms = 0;
    TestServer server(&module, std::move(options));
    server.job("job", 1, 1);
    {
        Caller caller(server);
        caller.greet(hello_of("elsewhere", 0));
        EXPECT_STATUS(PMIX_ERR_NOT_FOUND, caller.refusal());
    }
    {
        Caller newer(server);
        auto hello = hello_of("job", 0);
        hello.min_version = static_cast<uint16_t>(common::kProtocolMax + 1);
        hello.max_version = static_cast<uint16_t>(common::kProtocolMax + 5);
        newer.greet(hello);
        EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, newer.refusal());
    }
    {
        Caller everybody(server);
        auto hello = hello_of("job", 0);
        hello.rank = PMIX_RANK_WILDCARD;
        everybody.greet(hello);
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, everybody.refusal());
    }
    {
        Caller cut(server);
        auto body = common::message_bytes(hello_of("job", 0));
        ASSERT_TRUE(body.ok());
        body->resize(9);  // the magic and little more
        cut.say(frame_bytes(common::FrameHeader::request(static_cast<uint16_t>(Command::hello), 1), *body));
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, cut.refusal());
    }
    {
        host.styles["client_connected2"] = Style::fails;
        host.statuses["client_connected2"] = PMIX_ERR_NO_PERMISSIONS;
        Caller unwanted(server);
        unwanted.greet(hello_of("job", 0));
        EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, unwanted.refusal());
        host.styles.clear();
        host.statuses.clear();
    }
    {
        // It speaks again while the host is being asked.
        host.styles["client_connected2"] = Style::later;
        Caller hasty(server);
        hasty.greet(hello_of("job", 0));
        hasty.greet(hello_of("job", 0), 2);
        EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, hasty.refusal());
        host.styles.clear();
        host.answer_waiting();
        server.settle();
    }
    expect_well(server);
}

}  // namespace listener_fault_test
