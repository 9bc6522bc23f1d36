// SPDX-License-Identifier: BSD-3-Clause
// A system-call table that fails at the n-th call, in a way the test chooses. One at a time per process, one thread.
#pragma once

#include <errno.h>

#include "transport/io.h"

namespace pmix::test {

class FaultyIo {
  public:
    enum class Fault { error, short_io };

    FaultyIo() { current_ = this; }
    ~FaultyIo() { current_ = nullptr; }
    FaultyIo(const FaultyIo&) = delete;
    FaultyIo& operator=(const FaultyIo&) = delete;

    // The n-th call from now (1 is the next) fails with this errno.
    void fail_at(int n, int error) {
        countdown_ = n;
        fault_ = Fault::error;
        error_ = error;
    }
    // The n-th call, if it moves bytes, moves one at most; another kind of call passes.
    void shorten_at(int n) {
        countdown_ = n;
        fault_ = Fault::short_io;
    }
    // Every sendmsg and recvmsg moves at most this many bytes; 0: no limit.
    void limit_bytes(size_t n) { limit_ = n; }
    bool fired() const { return fired_; }
    void disarm() { countdown_ = 0; }
    int calls() const { return calls_; }

    static const transport::Io* table() { return &kTable; }

  private:
    // True: the call fails now, errno is set.
    static bool fails() {
        FaultyIo& f = *current_;
        ++f.calls_;
        f.shorten_now_ = false;
        if (f.countdown_ == 0 || --f.countdown_ != 0) return false;
        f.fired_ = true;
        if (f.fault_ == Fault::short_io) {
            f.shorten_now_ = true;
            return false;
        }
        errno = f.error_;
        return true;
    }
    static size_t allowed() { return current_->shorten_now_ ? 1 : current_->limit_; }

    // A copy of the message that moves at most max bytes.
    struct Cut {
        msghdr message;
        iovec parts[64];
        Cut(const msghdr* original, size_t max) : message(*original) {
            if (max == 0) return;
            size_t n = 0, left = max;
            while (n < original->msg_iovlen && left > 0) {
                parts[n] = original->msg_iov[n];
                if (parts[n].iov_len > left) parts[n].iov_len = left;
                left -= parts[n].iov_len;
                ++n;
            }
            message.msg_iov = parts;
            message.msg_iovlen = n;
        }
    };

    static int socket(int a, int b, int c) { return fails() ? -1 : transport::kRealIo.socket(a, b, c); }
    static int bind(int a, const sockaddr* b, socklen_t c) { return fails() ? -1 : transport::kRealIo.bind(a, b, c); }
    static int listen(int a, int b) { return fails() ? -1 : transport::kRealIo.listen(a, b); }
    static int accept4(int a, sockaddr* b, socklen_t* c, int d) {
        return fails() ? -1 : transport::kRealIo.accept4(a, b, c, d);
    }
    static int connect(int a, const sockaddr* b, socklen_t c) {
        return fails() ? -1 : transport::kRealIo.connect(a, b, c);
    }
    static int getsockopt(int a, int b, int c, void* d, socklen_t* e) {
        return fails() ? -1 : transport::kRealIo.getsockopt(a, b, c, d, e);
    }
    static ssize_t sendmsg(int fd, const msghdr* message, int flags) {
        if (fails()) return -1;
        Cut cut(message, allowed());
        return transport::kRealIo.sendmsg(fd, &cut.message, flags);
    }
    static ssize_t recvmsg(int fd, msghdr* message, int flags) {
        if (fails()) return -1;
        Cut cut(message, allowed());
        const ssize_t n = transport::kRealIo.recvmsg(fd, &cut.message, flags);
        message->msg_controllen = cut.message.msg_controllen;
        message->msg_flags = cut.message.msg_flags;
        return n;
    }
    static int poll(pollfd* a, nfds_t b, int c) { return fails() ? -1 : transport::kRealIo.poll(a, b, c); }
    static int epoll_create1(int a) { return fails() ? -1 : transport::kRealIo.epoll_create1(a); }
    static int epoll_ctl(int a, int b, int c, epoll_event* d) {
        return fails() ? -1 : transport::kRealIo.epoll_ctl(a, b, c, d);
    }
    static int eventfd(unsigned a, int b) { return fails() ? -1 : transport::kRealIo.eventfd(a, b); }
    static int dup_cloexec(int a) { return fails() ? -1 : transport::kRealIo.dup_cloexec(a); }

    static constexpr transport::Io kTable = {socket,  bind, listen,        accept4,   connect, getsockopt, sendmsg,
                                             recvmsg, poll, epoll_create1, epoll_ctl, eventfd, dup_cloexec};
    static inline FaultyIo* current_ = nullptr;

    int countdown_ = 0;
    int error_ = 0;
    Fault fault_ = Fault::error;
    bool fired_ = false;
    bool shorten_now_ = false;
    size_t limit_ = 0;
    int calls_ = 0;
};

}  // namespace pmix::test
