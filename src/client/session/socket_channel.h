// SPDX-License-Identifier: BSD-3-Clause
// The Channel of a process whose server is another process: one connection.
//
// Opened and closed on the loop (or while nobody turns it); send() from any thread. What can go wrong: see Connection.
#pragma once

#include <atomic>
#include <memory>

#include "client/session/channel.h"
#include "transport/event_loop.h"

namespace pmix::client {

class SocketChannel final : public Channel, private transport::ConnectionHandler {
  public:
    // sink hears what the connection hears.
    static common::Result<std::unique_ptr<SocketChannel>> open(transport::EventLoop& loop, transport::Descriptor socket,
                                                               transport::ConnectionHandler& sink)
        REQUIRES(common::loop_thread);

    pmix_status_t send(const common::FrameHeader& header, common::Bytes payload) override;
    pmix_status_t send_parts(const common::FrameHeader& header, std::span<const common::Bytes> parts) override;
    pmix_status_t send_and_wait(const common::FrameHeader& header, common::Bytes payload, transport::Waiter& waiter,
                                transport::Deadline deadline) override;
    pmix_status_t wait_for_room(transport::Deadline deadline) override { return connection_->wait_for_room(deadline); }
    bool read_pending() noexcept override { return connection_->read_pending(); }
    bool connected() const noexcept override { return connected_.load(std::memory_order_acquire); }
    void look() noexcept override;
    void close() noexcept override;
    void abandon() noexcept override;

    bool serves_root_for_another() const noexcept override { return another_users_; }

  private:
    // What a send has ended with.
    pmix_status_t sent(pmix_status_t rc) noexcept;
    explicit SocketChannel(transport::ConnectionHandler& sink) noexcept : sink_(sink) {}
    bool take_anywhere(transport::ReceivedFrame& frame) noexcept override { return sink_.take_anywhere(frame); }
    void on_frame(transport::ReceivedFrame frame) REQUIRES(common::loop_thread) override;
    void on_closed(pmix_status_t why) REQUIRES(common::loop_thread) override;

    transport::ConnectionHandler& sink_;
    std::shared_ptr<transport::Connection> connection_;
    std::atomic<bool> connected_{true};
    bool another_users_ = false;
};

}  // namespace pmix::client
