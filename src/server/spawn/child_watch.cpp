// SPDX-License-Identifier: BSD-3-Clause
#include "server/spawn/child_watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <new>

#include "common/base/standard_streams.h"
#include "transport/deadline.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

namespace pmix::server {

namespace {
constexpr int kLookMs = 50;
}

ChildWatch::ChildWatch(transport::EventLoop& loop, Scheduler& scheduler, pid_t pid, Ended ended)
    : scheduler_(scheduler), pid_(pid), ended_(std::move(ended)) {
    transport::assert_on_loop();
    // Close-on-exec by itself.
    fd_.reset(common::above_standard(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))));
    if (fd_) watch_ = loop.watch(fd_.get(), *this);
    if (watch_ == nullptr || !watch_->set(true, false)) {
        watch_.reset();
        look_later();
    }
}

ChildWatch::~ChildWatch() {
    *alive_ = nullptr;
}

void ChildWatch::on_ready(bool, bool) noexcept {
    transport::assert_on_loop();
    watch_->set(false, false);
    try {
        look();
    } catch (const std::bad_alloc&) {  // once more, when there is memory
        watch_->set(true, false);
    }
}

void ChildWatch::look_later() {
    timer_ = Timer(scheduler_, kLookMs, [this] {
        look();
        if (!over_) look_later();
    });
}

// What the process did before its end (its finalize at this server, above all) may be posted already: its end is
// handled after that.
void ChildWatch::look() {
    if (over_ || !reap()) {
        if (!over_ && watch_ != nullptr) {
            transport::assert_on_loop();
            watch_->set(true, false);
        }
        return;
    }
    scheduler_.post([alive = alive_] {
        ChildWatch* self = *alive;
        if (self == nullptr) return;
        assert(self->over_);
        const Ended ended = std::move(self->ended_);
        if (ended) ended(self->status_);
    });
}

// Its number is its own until it is reaped, which nobody but us should do.
bool ChildWatch::is_ours() const noexcept {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

bool ChildWatch::reap() noexcept {
    assert(!over_);  // its number may be another process's by then
    siginfo_t info{};
    int rc;
    do {
        rc = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    } while (rc != 0 && errno == EINTR);
    if (rc == 0 && info.si_pid == 0) return false;
    over_ = true;
    if (rc != 0) return true;
    // What it left behind, while the group's number cannot be anybody else's.
    if (!leave_group_) ::kill(-pid_, SIGKILL);
    int status = 0;
    pid_t got;
    do {
        got = ::waitpid(pid_, &status, WNOHANG);
    } while (got < 0 && errno == EINTR);
    if (got == pid_) status_ = status;
    return true;
}

void ChildWatch::signal(int number) noexcept {
    if (!over_ && is_ours()) ::kill(-pid_, number);
}

bool ChildWatch::finish(int64_t patience_ms) noexcept {
    const auto deadline = transport::Deadline::in_ms(patience_ms);
    while (!over_ && !reap()) {
        if (deadline.passed()) return false;
        struct pollfd one = {fd_.get(), POLLIN, 0};
        ::poll(&one, fd_ ? 1 : 0, fd_ ? deadline.poll_ms() : std::min(deadline.poll_ms(), kLookMs));
    }
    ended_ = nullptr;
    return true;
}

}  // namespace pmix::server
