// SPDX-License-Identifier: BSD-3-Clause
#include "server/admission/exit_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cassert>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "common/base/standard_streams.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

namespace pmix::server {

namespace {

constexpr int kMaxGenerations = 256;  // from a program up to the process that the host has started

// Nothing is reaped. False: no child of this process.
bool find_child(pid_t pid, siginfo_t& info) noexcept {
    int rc;
    do {
        info.si_pid = 0;
        rc = ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
    } while (rc != 0 && errno == EINTR);
    return rc == 0;
}

// 0: not known.
pid_t parent_of(pid_t pid) noexcept {
    char path[32], text[512];
    std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
    const transport::Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
    const ssize_t n = file ? ::read(file.get(), text, sizeof text - 1) : 0;
    if (n <= 0) return 0;
    text[n] = 0;
    // "pid (name) state parent": the name may contain anything.
    const char* const after_name = std::strrchr(text, ')');
    int parent = 0;
    if (after_name == nullptr || std::sscanf(after_name, ") %*c %d", &parent) != 1) return 0;
    return parent;
}

}  // namespace

bool is_running_child(pid_t pid) noexcept {
    siginfo_t info{};
    return find_child(pid, info) && info.si_pid == 0;
}

pid_t started_process_of(pid_t pid) noexcept {
    const pid_t self = ::getpid();
    siginfo_t info{};
    for (int i = 0; i < kMaxGenerations && pid > 1 && pid != self; ++i) {
        if (find_child(pid, info)) return pid;
        pid = parent_of(pid);
    }
    return 0;
}

std::unique_ptr<ExitWatch> ExitWatch::open(transport::EventLoop& loop, pid_t pid, Ended ended) {
    transport::assert_on_loop();
    if (pid <= 0) return nullptr;  // not of our pid namespace
    // Close-on-exec by itself.
    transport::Descriptor fd(common::above_standard(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))));
    if (!fd) return nullptr;
    std::unique_ptr<ExitWatch> watch(new ExitWatch(loop, std::move(fd), std::move(ended)));
    watch->watch_ = loop.watch(watch->fd_.get(), *watch);
    if (watch->watch_ == nullptr || !watch->watch_->set(true, false)) return nullptr;
    return watch;
}

void ExitWatch::on_ready(bool, bool) noexcept {
    transport::assert_on_loop();
    watch_->set(false, false);
    transport::EventLoop& loop = loop_;
    assert(ended_);                         // once
    const Ended ended = std::move(ended_);  // this may be gone when it returns
    try {
        ended();
    } catch (const std::bad_alloc&) {  // the modules that it did not reach find that the rank has ended
        loop.step_lost();
    }
}

}  // namespace pmix::server
