// SPDX-License-Identifier: BSD-3-Clause
// A child process of ours: its end, and signals for it as long as it is there.
//
// Owns a pidfd, which the kernel makes readable when the process ends; where there is none (before Linux 5.3, or no
// descriptor is left) a timer that looks. It waits for this one process and no other, so that the application's own
// children, and its handling of SIGCHLD, are not touched. Loop thread only; `ended` runs there, once, in a task of its
// own, and may destroy the watch. What can go wrong: the application reaps children that are not its own (wait() for
// any, or SIGCHLD ignored): then the process counts as ended and its exit status is not known.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>

#include "server/base/scheduler.h"
#include "transport/descriptor.h"
#include "transport/event_loop.h"

namespace pmix::server {

class ChildWatch final : private transport::WatchHandler {
  public:
    // The status as waitpid() gives it; nothing: somebody else has it.
    using Ended = std::function<void(std::optional<int>)>;
    ChildWatch(transport::EventLoop& loop, Scheduler& scheduler, pid_t pid, Ended ended);
    ~ChildWatch();
    ChildWatch(const ChildWatch&) = delete;
    ChildWatch& operator=(const ChildWatch&) = delete;

    pid_t pid() const noexcept { return pid_; }
    // To the process and what it started in its process group. Nothing happens when it has ended.
    void signal(int number) noexcept;
    // What it left in its group stays when it ends.
    void leave_group() noexcept { leave_group_ = true; }
    // Waits for the end, so long; `ended` is not called. False: it still runs. For the end of the server.
    bool finish(int64_t patience_ms) noexcept;

  private:
    void on_ready(bool readable, bool writable) noexcept override;
    void look();
    void look_later();
    bool is_ours() const noexcept;
    bool reap() noexcept;

    Scheduler& scheduler_;
    const pid_t pid_;
    Ended ended_;
    bool over_ = false;
    bool leave_group_ = false;
    std::optional<int> status_;
    transport::Descriptor fd_;
    std::unique_ptr<transport::Watch> watch_;
    Timer timer_;
    std::shared_ptr<ChildWatch*> alive_ = std::make_shared<ChildWatch*>(this);  // null once this has gone
};

}  // namespace pmix::server
