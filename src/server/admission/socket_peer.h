// SPDX-License-Identifier: BSD-3-Clause
// A process at the other end of a Unix socket, which speaks this library's own protocol.
//
// As incoming_peer.h says. It owns the connection, and the server's half of the handshake.
#pragma once

#include "server/admission/incoming_peer.h"
#include "transport/connection.h"

namespace pmix::server {

class SocketPeer final : public IncomingPeer, public transport::ConnectionHandler {
  public:
    using IncomingPeer::IncomingPeer;
    ~SocketPeer() override;

    // Once, before anything else.
    pmix_status_t open(transport::EventLoop& loop, transport::Descriptor socket);

    void send(const common::FrameHeader& header, common::Bytes payload, std::span<const int> descriptors) override;
    void abandon() noexcept override;
    std::shared_ptr<transport::Connection> connection() const override { return connection_; }
    bool reads_late() const noexcept override { return (hello_.features() & common::kFeatureReadsLate) != 0; }
    bool has_read_all() const override { return connection_ == nullptr || connection_->all_read(); }
    void on_frame(transport::ReceivedFrame frame) override;
    void on_drained() override;
    void on_closed(pmix_status_t why) override;
    bool admit_message(size_t bytes) noexcept override { return admit_large_message(bytes); }
    void message_complete() noexcept override { large_message_complete(); }

  private:
    const common::HelloRequest& claim() const noexcept override { return hello_.claim(); }
    pmix_status_t check(const common::ExpectedPeer& expected) noexcept override;
    void send_refusal(pmix_status_t status) override;
    common::Result<common::Blob> make_welcome(common::HelloReply&& mine, const common::Token& token) override;
    void send_welcome(common::Bytes answer, std::span<const int> descriptors) override;
    void admitted() override;
    int descriptor() const noexcept override { return connection_ == nullptr ? -1 : connection_->fd(); }
    bool drop_connection() override;
    size_t received() const noexcept override;
    void read_on() override;

    void hello(const common::FrameHeader& header, common::Bytes payload);

    std::shared_ptr<transport::Connection> connection_;
    common::HelloServer hello_;
};

}  // namespace pmix::server
