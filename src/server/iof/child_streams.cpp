// SPDX-License-Identifier: BSD-3-Clause
#include "server/iof/child_streams.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cassert>
#include <new>
#include <utility>

#include "common/base/limits.h"
#include "common/base/standard_streams.h"

namespace pmix::server {

using transport::Descriptor;

namespace {

// Of a child that does not read: as much as for a reader that does not.
constexpr size_t kMaxInput = common::kIofQueueBytes;
// What a process that the child has left behind may still write while we look for the end.
constexpr int kMaxLastReads = 64;

bool set_nonblocking(int fd) noexcept {
    const int flags = ::fcntl(fd, F_GETFL);
    return flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

// A write to a pipe without a reader is to be an error and no signal. Where the application runs the loop, the signal
// would be sent to its own thread.
ssize_t write_quietly(int fd, const uint8_t* bytes, size_t n) noexcept {
    sigset_t pipe, before, pending;
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    ::sigpending(&pending);
    ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
    const ssize_t put = ::write(fd, bytes, n);
    const int error = errno;
    if (put < 0 && error == EPIPE && ::sigismember(&pending, SIGPIPE) == 0) {
        const struct timespec now {};
        while (::sigtimedwait(&pipe, nullptr, &now) < 0 && errno == EINTR) continue;
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = error;
    return put;
}

}  // namespace

common::Result<PipeEnds> make_pipe() noexcept {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return PMIX_ERR_OUT_OF_RESOURCE;
    PipeEnds pipe{Descriptor(common::above_standard(ends[0])), Descriptor(common::above_standard(ends[1]))};
    if (!pipe.read || !pipe.write) return PMIX_ERR_OUT_OF_RESOURCE;
    return pipe;
}

common::Result<Descriptor> open_nothing() noexcept {
    Descriptor fd(common::above_standard(::open("/dev/null", O_RDWR | O_CLOEXEC)));
    if (!fd) return PMIX_ERR_OUT_OF_RESOURCE;
    return fd;
}

// ---- output ----

ChildOutput::~ChildOutput() {
    *alive_ = nullptr;
}

common::Result<Descriptor> ChildOutput::open() noexcept {
    auto pipe = make_pipe();
    if (!pipe) return pipe.status();
    if (!set_nonblocking(pipe->read.get())) return PMIX_ERR_OUT_OF_RESOURCE;
    fd_ = std::move(pipe->read);
    return std::move(pipe->write);
}

void ChildOutput::start(transport::EventLoop& loop) {
    transport::assert_on_loop();
    watch_ = loop.watch(fd_.get(), *this);
    if (watch_ == nullptr || !watch_->set(true, false)) throw std::bad_alloc();
}

void ChildOutput::on_ready(bool, bool) noexcept {
    transport::assert_on_loop();
    watch_->set(false, false);
    try {
        read();
    } catch (const std::bad_alloc&) {  // later, when there is memory
        if (watch_ != nullptr) watch_->set(true, false);
    }
}

bool ChildOutput::read() {
    transport::assert_on_loop();
    common::Blob bytes(common::kIofFrameBytes);
    ssize_t got;
    do {
        got = ::read(fd_.get(), bytes.data(), bytes.size());
    } while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN) {
        if (!finishing_) watch_->set(true, false);
        return false;
    }
    if (got <= 0) {
        end();
        return false;
    }
    bytes.resize(static_cast<size_t>(got));
    bytes.shrink_to_fit();
    deliver(std::move(bytes));
    return true;
}

void ChildOutput::deliver(common::Blob bytes) {
    IofDelivery delivery;
    delivery.source = source_;
    delivery.channel = channel_;
    delivery.data = std::move(bytes);
    delivery.done = [alive = alive_](pmix_status_t) {
        transport::assert_on_loop();
        ChildOutput* self = *alive;
        if (self != nullptr && !self->finishing_ && self->watch_ != nullptr) self->watch_->set(true, false);
    };
    iof_.deliver(std::move(delivery));
}

void ChildOutput::finish() {
    finishing_ = true;
    for (int i = 0; fd_ && i < kMaxLastReads && read(); ++i) continue;
    end();
}

void ChildOutput::end() {
    if (!fd_) return;
    watch_.reset();
    fd_.reset();
    deliver({});  // nothing is the end
}

// ---- input ----

ChildInput::~ChildInput() {
    try {
        close(PMIX_ERR_IOF_COMPLETE);
    } catch (const std::bad_alloc&) {  // those who wait are answered as their callbacks go
    }
}

common::Result<Descriptor> ChildInput::open() noexcept {
    auto pipe = make_pipe();
    if (!pipe) return pipe.status();
    if (!set_nonblocking(pipe->write.get())) return PMIX_ERR_OUT_OF_RESOURCE;
    fd_ = std::move(pipe->write);
    return std::move(pipe->read);
}

void ChildInput::start(transport::EventLoop& loop) {
    transport::assert_on_loop();
    watch_ = loop.watch(fd_.get(), *this);
    if (watch_ == nullptr) throw std::bad_alloc();
}

void ChildInput::push(std::vector<uint8_t> bytes, Done done) {
    if (!fd_ || ending_) return done(bytes.empty() ? PMIX_SUCCESS : PMIX_ERR_IOF_COMPLETE);
    // The first buffer is taken whatever its size.
    if (!buffers_.empty() && waiting_ + bytes.size() > kMaxInput) return done(PMIX_ERR_OUT_OF_RESOURCE);
    ending_ = bytes.empty();
    waiting_ += bytes.size();
    assert(buffers_.empty() || !buffers_.back().bytes.empty());  // nothing follows the end
    buffers_.push_back({std::move(bytes), 0, std::move(done)});
    if (buffers_.size() == 1) write();
}

void ChildInput::on_ready(bool, bool) noexcept {
    transport::assert_on_loop();
    watch_->set(false, false);
    try {
        write();
    } catch (const std::bad_alloc&) {
        close(PMIX_ERR_NOMEM);
    }
}

void ChildInput::write() {
    transport::assert_on_loop();
    while (!buffers_.empty()) {
        Buffer& buffer = buffers_.front();
        if (buffer.bytes.empty()) return close(PMIX_SUCCESS);
        const ssize_t put =
            write_quietly(fd_.get(), buffer.bytes.data() + buffer.written, buffer.bytes.size() - buffer.written);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0 && errno == EAGAIN) {
            if (!watch_->set(false, true)) close(PMIX_ERR_OUT_OF_RESOURCE);
            return;
        }
        if (put < 0) return close(PMIX_ERR_IOF_COMPLETE);
        buffer.written += static_cast<size_t>(put);
        if (buffer.written < buffer.bytes.size()) continue;
        assert(buffer.written == buffer.bytes.size() && waiting_ >= buffer.bytes.size());
        waiting_ -= buffer.bytes.size();
        Done done = std::move(buffer.done);
        buffers_.pop_front();
        done(PMIX_SUCCESS);
    }
}

void ChildInput::close(pmix_status_t why) {
    watch_.reset();
    fd_.reset();
    std::deque<Buffer> left = std::move(buffers_);
    buffers_.clear();
    waiting_ = 0;
    for (Buffer& buffer : left) buffer.done(buffer.bytes.empty() ? PMIX_SUCCESS : why);
}

}  // namespace pmix::server
