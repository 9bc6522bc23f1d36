// SPDX-License-Identifier: BSD-3-Clause
#include "client/session/socket_channel.h"

#include <unistd.h>

#include "transport/unix_socket.h"

namespace pmix::client {

common::Result<std::unique_ptr<SocketChannel>> SocketChannel::open(transport::EventLoop& loop,
                                                                   transport::Descriptor socket,
                                                                   transport::ConnectionHandler& sink) {
    std::unique_ptr<SocketChannel> channel(new SocketChannel(sink));
    transport::ConnectionOptions options;
    options.caller_reads = true;
    options.waits_for_room = true;
    options.max_payload = common::kMaxFramePayload;
    if (::geteuid() == 0) {
        auto peer = transport::peer_credentials(socket.get(), loop.io());
        channel->another_users_ = !peer || peer->uid != 0;
    }
    auto connection = transport::Connection::open(loop, std::move(socket), *channel, options);
    if (!connection) return connection.status();
    channel->connection_ = std::move(connection).value();
    return channel;
}

pmix_status_t SocketChannel::send(const common::FrameHeader& header, common::Bytes payload) {
    return connected() ? sent(connection_->send(header, payload)) : PMIX_ERR_UNREACH;
}

pmix_status_t SocketChannel::send_parts(const common::FrameHeader& header, std::span<const common::Bytes> parts) {
    return connected() ? sent(connection_->send_parts(header, parts)) : PMIX_ERR_UNREACH;
}

pmix_status_t SocketChannel::send_and_wait(const common::FrameHeader& header, common::Bytes payload,
                                           transport::Waiter& waiter, transport::Deadline deadline) {
    return connected() ? connection_->send_and_wait(header, payload, waiter, deadline) : PMIX_ERR_UNREACH;
}

// It may be that nobody reads from now on, and so nothing else would show it.
pmix_status_t SocketChannel::sent(pmix_status_t rc) noexcept {
    if (rc == PMIX_ERR_LOST_CONNECTION) connected_.store(false, std::memory_order_release);
    return rc;
}

void SocketChannel::look() noexcept {
    if (!connection_->read_pending() && connection_->has_ended()) connected_.store(false, std::memory_order_release);
}

void SocketChannel::close() noexcept {
    transport::assert_on_loop();
    connected_.store(false, std::memory_order_release);
    connection_->close();
}

void SocketChannel::abandon() noexcept {
    connection_->abandon();
}

void SocketChannel::on_frame(transport::ReceivedFrame frame) {
    sink_.on_frame(std::move(frame));
}

void SocketChannel::on_closed(pmix_status_t why) {
    connected_.store(false, std::memory_order_release);
    sink_.on_closed(why);
}

}  // namespace pmix::client
