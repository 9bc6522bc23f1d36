// SPDX-License-Identifier: BSD-3-Clause
// The end of a process that has finalized and may initialize again: until then collective operations wait for its rank.
//
// Owns a pidfd, which the kernel makes readable when the process ends. Loop thread only; `ended` runs there, once, and
// may destroy the watch. What can go wrong: the kernel is too old (before Linux 5.3) or refuses, the process is in
// another pid namespace, no descriptor is left: open() returns null, and the process counts as ended.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>

#include "transport/descriptor.h"
#include "transport/event_loop.h"

namespace pmix::server {

class ExitWatch final : private transport::WatchHandler {
  public:
    using Ended = std::function<void()>;
    // The process is known to run now (it waits for our reply), so the pid is still its own.
    static std::unique_ptr<ExitWatch> open(transport::EventLoop& loop, pid_t pid, Ended ended);
    ~ExitWatch() = default;
    ExitWatch(const ExitWatch&) = delete;
    ExitWatch& operator=(const ExitWatch&) = delete;

  private:
    ExitWatch(transport::Descriptor fd, Ended ended) noexcept : fd_(std::move(fd)), ended_(std::move(ended)) {}
    void on_ready(bool readable, bool writable) noexcept override;

    transport::Descriptor fd_;
    Ended ended_;
    std::unique_ptr<transport::Watch> watch_;
};

}  // namespace pmix::server
