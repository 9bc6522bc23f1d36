// SPDX-License-Identifier: BSD-3-Clause
#include "client/iof/iof_stdin.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/events/events.h"
#include "client/session/session.h"
#include "common/base/standard_streams.h"

namespace pmix::client {

namespace {
constexpr int64_t kBackgroundMs = 1000;
}

IofStdin::~IofStdin() = default;

void IofStdin::start(common::ProcList targets, common::InfoList infos) {
    targets_ = std::move(targets);
    infos_ = std::move(infos);
    if (running_) return;
    running_ = true;
    open();
    if (!sending_) wait();
}

void IofStdin::open() {
    struct stat what {};
    always_ready_ = ::fstat(STDIN_FILENO, &what) != 0 || S_ISREG(what.st_mode) ||
                    (S_ISCHR(what.st_mode) && ::isatty(STDIN_FILENO) == 0);
    socket_ = S_ISSOCK(what.st_mode);
    // A file's place in it is shared, and reading it does not wait.
    if (always_ready_ || socket_) return;
    constexpr int kHow = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    own_.reset(common::above_standard(::open("/proc/self/fd/0", kHow)));
}

// EAGAIN: somebody else has taken it.
ssize_t IofStdin::take(void* bytes, size_t size) const noexcept {
    if (socket_) return ::recv(STDIN_FILENO, bytes, size, MSG_DONTWAIT);
    if (own_) return ::read(own_.get(), bytes, size);
    // Another user's pipe, or no /proc: asked once more at the last moment.
    pollfd now{STDIN_FILENO, POLLIN, 0};
    if (!always_ready_ && ::poll(&now, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
    }
    return ::read(STDIN_FILENO, bytes, size);
}

void IofStdin::wait() {
    transport::assert_on_loop();
    if (always_ready_)
        return session_.loop().post([this] {
            if (running_ && !sending_) read();
        });
    if (watch_ == nullptr) watch_ = session_.loop().watch(STDIN_FILENO, *this);
    if (watch_ == nullptr || !watch_->set(true, false)) finish(PMIX_ERR_IOF_FAILURE);
}

void IofStdin::on_ready(bool, bool) noexcept {
    transport::assert_on_loop();
    watch_->set(false, false);
    try {
        if (running_ && !sending_) read();
    } catch (const std::bad_alloc&) {
        finish(PMIX_ERR_IOF_FAILURE);
    }
}

void IofStdin::read() {
    transport::assert_on_loop();
    const bool background = ::isatty(STDIN_FILENO) != 0 && ::tcgetpgrp(STDIN_FILENO) != ::getpgrp();
    std::vector<uint8_t> bytes(background ? 0 : common::kIofFrameBytes);
    ssize_t got = -1;
    if (!background) {
        do {
            got = take(bytes.data(), bytes.size());
        } while (got < 0 && errno == EINTR);
        if (got < 0 && errno == EAGAIN) return wait();
    }
    if (background) {
        timer_ = session_.loop().after(kBackgroundMs, [this] {
            timer_ = 0;
            if (running_ && !sending_) wait();
        });
        return;
    }
    if (got > 0) return send(common::Bytes(bytes.data(), static_cast<size_t>(got)));
    stop(true);
    finish(got == 0 ? PMIX_ERR_IOF_COMPLETE : PMIX_ERR_IOF_FAILURE);
}

void IofStdin::send(common::Bytes bytes) {
    common::IofPushRequest request;
    request.procs = targets_;
    request.infos = common::Infos::borrow(infos_.c_array(), infos_.size());
    request.data = bytes;
    sending_ = true;
    const pmix_status_t rc =
        session_.ask_nb<common::Command::iof_push>(request, [this](pmix_status_t status, common::Nothing&) {
            sending_ = false;
            if (!running_) return;
            if (common::succeeded(status)) {
                wait();
            } else {
                finish(PMIX_ERR_IOF_FAILURE);
            }
        });
    if (rc == PMIX_SUCCESS) return;
    sending_ = false;
    finish(PMIX_ERR_IOF_FAILURE);
}

void IofStdin::stop(bool tell) {
    transport::assert_on_loop();
    if (!running_) return;
    running_ = false;
    watch_.reset();
    own_.reset();
    if (timer_ != 0) session_.loop().cancel(std::exchange(timer_, 0));
    if (!tell) return;
    common::IofPushRequest request;
    request.procs = targets_;
    common::InfoList infos;
    infos.append_all(infos_.c_array(), infos_.size());
    infos.append_flag(PMIX_IOF_COMPLETE, true);
    request.infos = common::Infos::borrow(infos.c_array(), infos.size());
    session_.ask_nb<common::Command::iof_push>(request, [](pmix_status_t, common::Nothing&) {});
}

void IofStdin::finish(pmix_status_t why) {
    stop(false);
    common::InfoList infos;
    const pmix_proc_t self = session_.self().to_c();
    infos.append(PMIX_EVENT_AFFECTED_PROC, &self, PMIX_PROC);
    infos.append_flag(PMIX_EVENT_NON_DEFAULT, true);
    session_.events().raise(why, session_.self(), std::move(infos));
}

}  // namespace pmix::client
