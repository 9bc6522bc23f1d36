// SPDX-License-Identifier: BSD-3-Clause
// This process's own stdin on its way to the stdin of others (PMIX_IOF_PUSH_STDIN).
//
// Loop thread. One buffer at a time: the next is read when the host has answered for the last, so nothing piles up. The
// descriptor is shared with the parent process and stays as it is: blocking, mostly. Another process that shares it may
// read the bytes that made it ready, so a pipe or a terminal is opened once more, for reading without waiting. A
// terminal is not read while this process is in its background; it is polled again later.
//
// What can go wrong: the host refuses a buffer: forwarding ends with PMIX_ERR_IOF_FAILURE as an event of this process.
// At the end of the input the targets are told, and PMIX_ERR_IOF_COMPLETE is raised here. A process that finalizes
// before that tells them, too.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>

#include "common/protocol/messages.h"
#include "transport/descriptor.h"
#include "transport/event_loop.h"

namespace pmix::client {

class Session;

class IofStdin final : public transport::WatchHandler {
  public:
    explicit IofStdin(Session& session) : session_(session) {}
    ~IofStdin();

    // Any thread.
    bool running() const noexcept { return running_.load(std::memory_order_acquire); }
    // Again while it runs: the targets are others from now on.
    void start(common::ProcList targets, common::InfoList infos);
    // tell: the targets get the end of their input.
    void stop(bool tell);

    void on_ready(bool readable, bool writable) noexcept override;

  private:
    void open();
    void wait();
    void read();
    ssize_t take(void* bytes, size_t size) const noexcept;
    void send(common::Bytes bytes);
    void finish(pmix_status_t why);

    Session& session_;
    common::ProcList targets_;
    common::InfoList infos_;
    std::unique_ptr<transport::Watch> watch_;
    transport::TimerId timer_ = 0;
    transport::Descriptor own_;  // stdin once more; none for files, sockets and what cannot be opened again
    bool socket_ = false;
    bool always_ready_ = false;
    std::atomic<bool> running_{false};  // written on the loop
    bool sending_ = false;
};

}  // namespace pmix::client
