// SPDX-License-Identifier: BSD-3-Clause
#include "server/admission/exit_watch.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <new>
#include <utility>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

namespace pmix::server {

std::unique_ptr<ExitWatch> ExitWatch::open(transport::EventLoop& loop, pid_t pid, Ended ended) {
    transport::assert_on_loop();
    if (pid <= 0) return nullptr;                                                   // not of our pid namespace
    transport::Descriptor fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));  // close-on-exec by itself
    if (!fd) return nullptr;
    std::unique_ptr<ExitWatch> watch(new ExitWatch(std::move(fd), std::move(ended)));
    watch->watch_ = loop.watch(watch->fd_.get(), *watch);
    if (watch->watch_ == nullptr || !watch->watch_->set(true, false)) return nullptr;
    return watch;
}

void ExitWatch::on_ready(bool, bool) noexcept {
    transport::assert_on_loop();
    watch_->set(false, false);
    const Ended ended = std::move(ended_);  // this may be gone when it returns
    try {
        ended();
    } catch (const std::bad_alloc&) {  // a wait for this rank ends with its timeout or its namespace's end
    }
}

}  // namespace pmix::server
