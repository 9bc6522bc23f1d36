// SPDX-License-Identifier: BSD-3-Clause
// The channel of a client, where no thread watches its socket: a server that is gone is noticed by a look, and by a
// frame that cannot be sent.
#include "client/session/socket_channel.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "support/recording_handler.h"
#include "support/sockets.h"
#include "support/status.h"
#include "transport/event_loop.h"

namespace pmix::client::socket_channel_test {
namespace {

class SocketChannelTest : public ::testing::Test {
  protected:
    SocketChannelTest() {
        transport::EventLoopOptions options;
        options.late = true;
        loop = std::move(transport::EventLoop::create(options)).value();
        auto [ours, theirs] = test::socket_pair();
        server = std::move(theirs);
        const transport::LoopRole role(*loop);
        channel = std::move(SocketChannel::open(*loop, std::move(ours), handler)).value();
        loop->start();
    }
    ~SocketChannelTest() {
        loop->post([this] {
            transport::assert_on_loop();
            channel->close();
            channel.reset();
        });
        loop->stop();
    }

    test::RecordingHandler handler;
    std::unique_ptr<transport::EventLoop> loop;
    transport::Descriptor server;
    std::unique_ptr<SocketChannel> channel;
};

TEST_F(SocketChannelTest, ServerIsThere_ALookChangesNothing) {
    channel->look();
    EXPECT_TRUE(channel->connected());
    EXPECT_FALSE(loop->is_turned()) << "no thread is started for it";
}

TEST_F(SocketChannelTest, ServerIsGone_ALookNoticesIt) {
    server.reset();
    EXPECT_TRUE(channel->connected()) << "nobody has looked";
    channel->look();
    EXPECT_FALSE(channel->connected());
    EXPECT_STATUS(PMIX_ERR_UNREACH, channel->send(common::FrameHeader::notify(1), {}));
    channel->look();
    EXPECT_FALSE(channel->connected());
}

TEST_F(SocketChannelTest, ServerIsGone_AFrameThatIsLostNoticesIt) {
    server.reset();
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, channel->send(common::FrameHeader::notify(1), {}));
    EXPECT_FALSE(channel->connected());
    EXPECT_STATUS(PMIX_ERR_UNREACH, channel->send_parts(common::FrameHeader::notify(1), {}));
}

TEST_F(SocketChannelTest, ServerIsGone_PartsThatAreLostNoticeIt) {
    server.reset();
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, channel->send_parts(common::FrameHeader::notify(1), {}));
    EXPECT_FALSE(channel->connected());
}

}  // namespace
}  // namespace pmix::client::socket_channel_test
