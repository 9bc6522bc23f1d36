// SPDX-License-Identifier: BSD-3-Clause
// The end of a rank whose program has finalized. A rank is the process that the host has started: a program may
// initialize again, and a script may start another program behind it. Until the end of that process the collective
// operations of the others wait for the rank.
//
// Owns a pidfd, which the kernel makes readable when the process ends. Loop thread only; `ended` runs there, once, and
// may destroy the watch; where it throws bad_alloc, the loop's recovery follows. What can go wrong: the kernel is too
// old (before Linux 5.3) or refuses, no descriptor is left: open() returns null, and the server looks from time to
// time.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>

#include "transport/descriptor.h"
#include "transport/event_loop.h"

namespace pmix::server {

// The child of this process that is `pid` or an ancestor of it, as the host starts ranks; 0: there is none, or it
// cannot be known (another pid namespace, no /proc, a host that has others start its processes).
pid_t started_process_of(pid_t pid) noexcept;
// The process is a child of this one, and has not ended.
bool is_running_child(pid_t pid) noexcept;

class ExitWatch final : private transport::WatchHandler {
  public:
    using Ended = std::function<void()>;
    // A child of this process (its number is its own until it is reaped), or one that waits for our reply.
    static std::unique_ptr<ExitWatch> open(transport::EventLoop& loop, pid_t pid, Ended ended);
    ~ExitWatch() = default;
    ExitWatch(const ExitWatch&) = delete;
    ExitWatch& operator=(const ExitWatch&) = delete;

  private:
    ExitWatch(transport::EventLoop& loop, transport::Descriptor fd, Ended ended) noexcept
        : loop_(loop), fd_(std::move(fd)), ended_(std::move(ended)) {}
    void on_ready(bool readable, bool writable) noexcept override;

    transport::EventLoop& loop_;
    transport::Descriptor fd_;
    Ended ended_;
    std::unique_ptr<transport::Watch> watch_;
};

}  // namespace pmix::server
