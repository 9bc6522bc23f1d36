// SPDX-License-Identifier: BSD-3-Clause
// The channel to a server of OpenPMIx's that does not read: what is kept for it has a bound, callers wait for room, and
// what was taken is sent in order when the server reads again.
#include "client/openpmix/openpmix_channel.h"

#include <gtest/gtest.h>
#include <pmix.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "common/codec/pack.h"
#include "openpmix/hello.h"
#include "support/recording_handler.h"
#include "support/status.h"

namespace pmix::client::openpmix_channel_test {
namespace {

using common::FrameHeader;
using test::LongWait;
using transport::Deadline;

constexpr size_t kMost = 1u << 20;
constexpr size_t kValue = 64u << 10;

struct OpenPmixChannelTest : ::testing::Test, test::ManualLoop {
    OpenPmixChannelTest() { open(test::socket_pair()); }
    void open(std::pair<transport::Descriptor, transport::Descriptor>&& sockets) {
        peer = std::move(sockets.second);
        transport::LoopRole role(*loop);
        channel.reset();
        auto traits = *openpmix::traits_of("5.0.7", "v41", openpmix::kNotDescribed);
        auto opened = OpenPmixChannel::open(*loop, std::move(sockets.first), std::make_unique<Shadow>(traits, "here"),
                                            common::ProcId("job", 0), traits, handler, kMost);
        EXPECT_TRUE(opened.ok());
        channel = std::move(*opened);
    }
    ~OpenPmixChannelTest() override {
        transport::LoopRole role(*loop);
        channel.reset();
    }

    // A commit that nobody answers, numbered by its key.
    pmix_status_t commit() {
        const std::vector<char> content(kValue, 'x');
        const pmix_byte_object_t object{const_cast<char*>(content.data()), content.size()};
        common::ByteWriter value;
        EXPECT_STATUS(PMIX_SUCCESS,
                      common::encode_value(value, common::Value::load(&object, PMIX_BYTE_OBJECT).value().get()));
        const std::string key = "k" + std::to_string(taken);
        common::CommitRequest request;
        request.entries.push_back({PMIX_REMOTE, key, value.view()});
        auto payload = common::message_bytes(request);
        FrameHeader header = FrameHeader::notify(static_cast<uint16_t>(common::Command::commit));
        header.payload = static_cast<uint32_t>(payload->size());
        const pmix_status_t rc = channel->send(header, *payload);
        if (rc == PMIX_SUCCESS) ++taken;
        return rc;
    }
    void fill() {
        while (commit() == PMIX_SUCCESS) {
            ASSERT_LE(taken, 1000u);
            run(1);
        }
    }
    // Reads as a server does, until so many messages have been received. The numbers of the commits, in order.
    std::vector<std::string> read(size_t count) {
        std::vector<uint8_t> bytes;
        std::vector<std::string> keys;
        const LongWait wait;
        while (keys.size() < count && !wait.over()) {
            uint8_t part[65536];
            const ssize_t n = ::recv(peer.get(), part, sizeof part, MSG_DONTWAIT);
            if (n > 0) bytes.insert(bytes.end(), part, part + n);
            openpmix::FrameHeader header;
            while (bytes.size() >= openpmix::kHeaderSize &&
                   openpmix::parse_header(bytes.data(), &header) == PMIX_SUCCESS &&
                   bytes.size() >= openpmix::kHeaderSize + header.payload) {
                const std::string text(bytes.begin() + openpmix::kHeaderSize,
                                       bytes.begin() + openpmix::kHeaderSize + header.payload);
                const size_t at = text.find('k');
                keys.push_back(at == std::string::npos ? "" : text.c_str() + at);
                bytes.erase(bytes.begin(), bytes.begin() + openpmix::kHeaderSize + header.payload);
            }
            if (runs_loop) run(1);
        }
        return keys;
    }

    test::RecordingHandler handler;
    transport::Descriptor peer;
    std::unique_ptr<OpenPmixChannel> channel;
    size_t taken = 0;
    bool runs_loop = true;  // read() runs the loop
};

TEST_F(OpenPmixChannelTest, Send_ServerDoesNotRead_IsRefusedAtTheBoundAndSentLater) {
    fill();
    EXPECT_GT(taken * kValue, kMost);
    EXPECT_LT(taken * kValue, 2 * kMost + 8 * kValue);  // what the socket holds comes on top
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, commit());
    EXPECT_TRUE(channel->connected());
    EXPECT_TRUE(handler.closed.empty());

    const auto keys = read(taken);
    ASSERT_EQ(taken, keys.size());
    for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ("k" + std::to_string(i), keys[i]);
    turn_until([&] { return channel->wait_for_room(Deadline::in_ms(0)) == PMIX_SUCCESS; });
    EXPECT_STATUS(PMIX_SUCCESS, commit());
}

// A thread's task may take what another thread has added, so that the other's finds nothing.
TEST_F(OpenPmixChannelTest, Send_FromManyThreads_EachFrameOnceAndInItsThreadsOrder) {
    constexpr size_t kThreads = 4, kFrames = 300;
    std::vector<std::thread> threads;
    std::atomic<int> refused{0};
    for (size_t t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            for (size_t i = 0; i < kFrames; ++i) {
                common::CommitRequest request;
                const std::vector<uint8_t> flag = {PMIX_BOOL, 0, 1};
                const std::string key = "k" + std::to_string(t) + "." + std::to_string(i);
                request.entries.push_back({PMIX_REMOTE, key, flag});
                auto payload = common::message_bytes(request);
                FrameHeader header = FrameHeader::notify(static_cast<uint16_t>(common::Command::commit));
                header.payload = static_cast<uint32_t>(payload->size());
                refused += channel->send(header, *payload) != PMIX_SUCCESS;
            }
        });
    }
    const auto keys = read(kThreads * kFrames);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(0, refused);
    ASSERT_EQ(kThreads * kFrames, keys.size());
    size_t next[kThreads] = {};
    for (const std::string& key : keys) {
        const size_t t = static_cast<size_t>(key.at(1) - '0');
        ASSERT_LT(t, kThreads);
        EXPECT_EQ("k" + std::to_string(t) + "." + std::to_string(next[t]++), key);
    }
}

TEST_F(OpenPmixChannelTest, Wait_ServerDoesNotRead_EndsWithTheDeadline) {
    EXPECT_STATUS(PMIX_SUCCESS, channel->wait_for_room(Deadline::never()));
    fill();
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, channel->wait_for_room(Deadline::in_ms(20)));
    // A request waits too, and nothing of it is sent afterwards.
    transport::Waiter waiter;
    EXPECT_STATUS(PMIX_ERR_TIMEOUT,
                  channel->send_and_wait(FrameHeader::request(static_cast<uint16_t>(common::Command::finalize), 1), {},
                                         waiter, Deadline::in_ms(20)));
    EXPECT_EQ(taken, read(taken).size());
    run();
    uint8_t byte;
    EXPECT_EQ(-1, ::recv(peer.get(), &byte, 1, MSG_DONTWAIT));
}

TEST_F(OpenPmixChannelTest, Wait_ServerReadsAgain_Returns) {
    fill();
    runs_loop = false;
    std::thread reader([&] { EXPECT_EQ(taken, read(taken).size()); });
    EXPECT_STATUS(PMIX_SUCCESS, channel->wait_for_room(LongWait().deadline()));
    std::atomic<bool> over{false};
    std::thread watcher([&] {
        reader.join();
        over = true;
    });
    turn_until([&] { return over.load(); });
    watcher.join();
}

TEST_F(OpenPmixChannelTest, Wait_ConnectionEnds_Returns) {
    fill();
    std::thread killer([&] {
        ::usleep(20'000);
        peer.reset();
    });
    EXPECT_STATUS(PMIX_SUCCESS, channel->wait_for_room(LongWait().deadline()));
    killer.join();
    EXPECT_STATUS(PMIX_ERR_UNREACH, commit());
    EXPECT_EQ(1u, handler.closed.size());
}

// Their server sends small messages one after the other: the answer to a commit and that of the fence behind it, a
// status and an event. Nagle's algorithm keeps the second one back until the first is acknowledged.
TEST_F(OpenPmixChannelTest, Message_ThatIsNotAnswered_IsAcknowledgedAtOnce) {
    open(test::tcp_pair());
    for (int i = 0; i < 32; ++i) {
        uint8_t event[openpmix::kHeaderSize];
        openpmix::build_header({0, openpmix::kEventTag, 0}, event);
        ASSERT_EQ(static_cast<ssize_t>(sizeof event), ::send(peer.get(), event, sizeof event, MSG_NOSIGNAL));
        run();
        EXPECT_TRUE(test::is_acknowledged(peer.get())) << i;
        ASSERT_STATUS(PMIX_SUCCESS, commit());
        read(1);
    }
}

// It would wait for itself.
TEST_F(OpenPmixChannelTest, Wait_OnTheLoop_ReturnsAtOnce) {
    fill();
    pmix_status_t status = PMIX_ERROR;
    loop->post([&] { status = channel->wait_for_room(Deadline::never()); });
    turn_until([&] { return status != PMIX_ERROR; });
    EXPECT_STATUS(PMIX_SUCCESS, status);
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, commit());
}

}  // namespace
}  // namespace pmix::client::openpmix_channel_test
