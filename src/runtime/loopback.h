// SPDX-License-Identifier: BSD-3-Clause
// The Channel of a process that is its own server: frames go to the server as from a peer without a socket, answers and
// events come back the same way. It removes the question "are we the server?" from everything above.
//
// send() from any thread; the server sees the frame on the loop, later. What the server sends is handed to a waiting
// caller at once (that runs no user code) or posted, so that nothing of the user's runs on the server's stack.
//
// What can go wrong: memory (PMIX_ERR_NOMEM, nothing was sent); after close() PMIX_ERR_UNREACH. An answer that finds no
// memory on its way back becomes PMIX_ERR_NOMEM: a request is sent when there is a place to note that, and not before.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "client/session/channel.h"
#include "common/base/mutex.h"
#include "server/server.h"
#include "transport/event_loop.h"

namespace pmix::api {

class Loopback final : public client::Channel, private transport::RecoveryStep {
  public:
    // Server and sink outlive the loopback; the server is told where to send. Loop.
    Loopback(transport::EventLoop& loop, server::Server& server, transport::ConnectionHandler& sink);
    ~Loopback() override;

    pmix_status_t send(const common::FrameHeader& header, common::Bytes payload) override;
    pmix_status_t send_and_wait(const common::FrameHeader& header, common::Bytes payload, transport::Waiter& waiter,
                                transport::Deadline deadline) override;
    common::Result<client::SegmentGrant> attach(std::string_view nspace, transport::Deadline deadline) override;
    bool connected() const noexcept override { return open_->load(std::memory_order_acquire); }
    void close() noexcept override;

  private:
    void from_server(const common::FrameHeader& header, common::Bytes payload, std::span<const int> borrowed);
    void hand_over(const common::FrameHeader& header, common::Bytes payload, std::span<const int> borrowed);
    void on_recovery() noexcept override;
    common::Result<client::SegmentGrant> attach_on_loop(std::string_view nspace);

    transport::EventLoop& loop_;
    server::Server& server_;
    transport::ConnectionHandler& sink_;
    // Shared with what is posted: a frame under way when the loopback goes finds it closed.
    std::shared_ptr<std::atomic<bool>> open_;
    common::Mutex mutex_;
    size_t unanswered_ GUARDED_BY(mutex_) = 0;                  // requests
    std::vector<common::FrameHeader> lost_ GUARDED_BY(mutex_);  // their answers; has room for one of each
};

}  // namespace pmix::api
