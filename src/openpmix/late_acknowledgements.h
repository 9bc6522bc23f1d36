// SPDX-License-Identifier: BSD-3-Clause
// Acknowledges what a server has received of fences and has not answered for a moment. Nagle's algorithm, which
// OpenPMIx leaves on, keeps what a process sends behind a fence that calls back until then, and the kernel would take
// some 40 ms. At once it would cost each process of each fence a packet, and nearly all fences are over sooner.
//
// Loop thread. One timer for all connections, set while there is something to look at. What can go wrong: no memory;
// then it is acknowledged at once.
#pragma once

#include <memory>
#include <vector>

#include "openpmix/stream.h"

namespace pmix::openpmix {

class LateAcknowledgements {
  public:
    // Above the 4 ms of a usual tick: a wait that is to end sooner has the processor's clock set anew each time, which
    // costs a fence of two processes on a virtual machine a tenth.
    static constexpr int64_t kMomentMs = 5;

    explicit LateAcknowledgements(transport::EventLoop& loop) noexcept : loop_(loop) {}
    ~LateAcknowledgements();
    LateAcknowledgements(const LateAcknowledgements&) = delete;

    // It has received something that will be answered.
    void add(const std::shared_ptr<Stream>& stream) noexcept REQUIRES(common::loop_thread);

  private:
    void acknowledge() noexcept REQUIRES(common::loop_thread);

    transport::EventLoop& loop_;
    std::vector<std::weak_ptr<Stream>> streams_;
    transport::TimerId timer_ = 0;
};

}  // namespace pmix::openpmix
