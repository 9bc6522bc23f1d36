// SPDX-License-Identifier: BSD-3-Clause
// One listening socket: accepts what comes and hands it on.
//
// Owns the socket, and the file where it has one. Made on any thread before the loop runs; all else on the loop. What
// can go wrong: no descriptors are left, and the limit cannot be raised: the connection still waits, and the acceptor
// tries again after a pause.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "server/base/scheduler.h"
#include "transport/descriptor.h"
#include "transport/event_loop.h"
#include "transport/file_identity.h"

namespace pmix::server {

class Acceptor final : public transport::WatchHandler {
  public:
    // May throw std::bad_alloc: that connection is dropped, and sees a hang-up.
    using Visitor = std::function<void(transport::Descriptor)>;
    // Per wake-up of the loop, so that a flood of connections does not occupy it; the watch is level-triggered.
    static constexpr unsigned kMostAtOnce = 16;

    // The address is what transport::connect_to takes: abstract, or a path.
    static common::Result<std::unique_ptr<Acceptor>> open(transport::EventLoop& loop, Scheduler& scheduler,
                                                          std::string address, Visitor visitor);
    // A socket that listens already. address: for those who are told where.
    static std::unique_ptr<Acceptor> take_over(transport::EventLoop& loop, Scheduler& scheduler, std::string address,
                                               transport::Descriptor socket, Visitor visitor,
                                               unsigned most_at_once = kMostAtOnce);
    ~Acceptor();

    void start();
    // In a forked child: closes our copy of the socket. Its file, if it has one, is the parent's.
    void abandon() noexcept { close_if(socket_, identity_); }
    const std::string& address() const noexcept { return address_; }
    void on_ready(bool readable, bool writable) noexcept override;

  private:
    Acceptor(transport::EventLoop& loop, Scheduler& scheduler, std::string address, bool owns_file, Visitor visitor);

    transport::EventLoop& loop_;
    Scheduler& scheduler_;
    const std::string address_;
    const Visitor visitor_;
    const bool owns_file_;
    unsigned most_at_once_ = kMostAtOnce;
    transport::Descriptor socket_;
    transport::FileIdentity identity_;
    std::unique_ptr<transport::Watch> watch_;
    Timer pause_;
};

}  // namespace pmix::server
