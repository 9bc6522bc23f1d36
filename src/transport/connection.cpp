// SPDX-License-Identifier: BSD-3-Clause
// Opening, sending, closing. Reading is in connection_read.cpp.
#include "transport/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>

#include <cassert>
#include <new>

#include "transport/connection_state.h"
#include "transport/frame_log.h"

namespace pmix::transport {

using common::Bytes;
using common::FrameHeader;
using common::kFrameHeaderSize;
using common::MutexLock;
using common::Result;

namespace {
// A millisecond between two: for memory, or room for a thread, that may be there in a moment.
constexpr int kAttempts = 1000;
}  // namespace

Connection::Connection(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}

Connection::~Connection() {
    // Abandoned, or ended before; then the last reference may be a waiting caller's, on any thread.
    if (!state_ || state_->silent.load(std::memory_order_acquire)) return;
    assert_on_loop();
    close();
}

Result<std::shared_ptr<Connection>> Connection::open(EventLoop& loop, Descriptor socket, ConnectionHandler& handler,
                                                     const ConnectionOptions& options) {
    assert_on_loop();
    auto state = std::make_unique<State>(loop, handler, options);
    State& s = *state;
    s.fd = socket.get();
    s.socket_identity = FileIdentity(s.fd);
    if (options.caller_reads) {
        s.wake_fd.reset(s.io.eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        if (!s.wake_fd) return PMIX_ERR_OUT_OF_RESOURCE;
    }
    {
        MutexLock lock(s.send_mutex);
        s.socket = std::move(socket);
    }
    auto connection = std::make_shared<Connection>(std::move(state));
    s.owner = connection.get();
    s.read_watch = loop.watch(s.fd, options.caller_reads ? static_cast<WatchHandler&>(s.gate_watch) : s);
    if (!s.read_watch || !s.read_watch->set(true, false)) return PMIX_ERR_OUT_OF_RESOURCE;
    return connection;
}

// The gate is made with the first look at the socket: where callers read and no loop runs, nobody needs it.
int Connection::State::make_gate() noexcept {
    Descriptor made(io.epoll_create1(EPOLL_CLOEXEC));
    if (!made) return -1;
    // An epoll set never blocks a reader, but a program may have put libevent into its debug mode, which aborts when a
    // watched descriptor does not say that it cannot block.
    ::fcntl(made.get(), F_SETFL, O_NONBLOCK);
    epoll_event interest{};
    interest.events = EPOLLIN;
    if (io.epoll_ctl(made.get(), EPOLL_CTL_ADD, fd, &interest) != 0) return -1;
    gate = std::move(made);
    return gate.get();
}

pmix_status_t Connection::send(const FrameHeader& header, Bytes payload, std::span<const int> fds) noexcept {
    CancelShield shield;
    return state_->send(header, payload, fds);
}

pmix_status_t Connection::send_parts(const FrameHeader& header, std::span<const Bytes> parts) noexcept {
    CancelShield shield;
    return state_->send_parts(header, parts);
}

void Connection::set_max_payload(uint32_t bytes) noexcept {
    state_->max_payload.store(bytes, std::memory_order_relaxed);
}

int Connection::fd() const noexcept {
    return state_->fd;
}

size_t Connection::queued_bytes() const noexcept {
    MutexLock lock(state_->send_mutex);
    return state_->queue.bytes();
}

bool Connection::all_read() const noexcept {
    MutexLock lock(state_->send_mutex);
    int unread = 0;
    return state_->queue.empty() && (!state_->socket || ::ioctl(state_->fd, SIOCOUTQ, &unread) != 0 || unread == 0);
}

// ---- sending ----

pmix_status_t Connection::State::send(FrameHeader header, Bytes payload, std::span<const int> fds) noexcept {
    if (payload.size() > common::kMaxFramePayload || fds.size() > common::kMaxFrameDescriptors)
        return PMIX_ERR_BAD_PARAM;
    header.payload = static_cast<uint32_t>(payload.size());
    header.descriptors = static_cast<uint8_t>(fds.size());
    if (log_on(LogArea::frames, LogLevel::trace)) [[unlikely]]
        log_frame(fd, '>', header, payload);
    uint8_t head[kFrameHeaderSize];
    build_frame_header(header, head);
    iovec parts[2] = {{head, sizeof head}, {const_cast<uint8_t*>(payload.data()), payload.size()}};
    return send_frame({parts, payload.empty() ? 1u : 2u}, sizeof head + payload.size(), fds);
}

pmix_status_t Connection::State::send_parts(FrameHeader header, std::span<const Bytes> parts) noexcept {
    if (parts.size() > kMaxParts) return PMIX_ERR_BAD_PARAM;
    size_t size = 0;
    for (const Bytes& part : parts) size += part.size();
    if (size > common::kMaxFramePayload) return PMIX_ERR_BAD_PARAM;
    header.payload = static_cast<uint32_t>(size);
    header.descriptors = 0;
    uint8_t head[kFrameHeaderSize];
    build_frame_header(header, head);
    try {
        if (log_on(LogArea::frames, LogLevel::trace)) [[unlikely]] {
            std::vector<uint8_t> whole;
            for (const Bytes& part : parts) whole.insert(whole.end(), part.begin(), part.end());
            log_frame(fd, '>', header, whole);
        }
        std::vector<iovec> all;
        all.reserve(parts.size() + 1);
        all.push_back({head, sizeof head});
        for (const Bytes& part : parts) all.push_back({const_cast<uint8_t*>(part.data()), part.size()});
        return send_frame(all, sizeof head + size, {});
    } catch (const std::bad_alloc&) {
        return PMIX_ERR_NOMEM;  // nothing was sent
    }
}

pmix_status_t Connection::State::send_frame(std::span<iovec> parts, size_t size, std::span<const int> fds) noexcept {
    pmix_status_t rc = PMIX_SUCCESS;
    bool post_flush = false;
    {
        MutexLock lock(send_mutex);
        if (send_closed) return PMIX_ERR_LOST_CONNECTION;
        assert(queue.empty() || flush_posted);  // what is queued will be sent
        size_t sent = 0;
        while (queue.empty()) {
            msghdr message{};
            message.msg_iov = parts.data();
            message.msg_iovlen = parts.size();
            DescriptorControl control;
            control.attach(message, fds.data(), fds.size());
            const ssize_t n = io.sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n >= 0) {
                sent = static_cast<size_t>(n);
                assert(sent <= size);
                if (sent == size) return PMIX_SUCCESS;
            } else if (errno == EINTR) {
                continue;
            } else if (errno == ETOOMANYREFS && !fds.empty()) {
                fds = {};
                clear_descriptors(static_cast<uint8_t*>(parts[0].iov_base));
                continue;
            } else if (errno == EPIPE || errno == ECONNRESET) {
                // What the peer sent before it closed is still to be read: the read side will find the end, not this
                // call.
                send_closed = true;
                [[maybe_unused]] const pmix_status_t reads = loop.need_thread();  // where it fails, a later call reads
                return PMIX_ERR_LOST_CONNECTION;
            } else if (errno != EAGAIN && errno != EWOULDBLOCK) {
                send_closed = true;
                rc = PMIX_ERR_OUT_OF_RESOURCE;
            }
            break;
        }
        if (rc == PMIX_SUCCESS) {
            try {
                rc = enqueue(parts, size, sent, sent == 0 ? fds : std::span<const int>{});
            } catch (const std::bad_alloc&) {
                rc = PMIX_ERR_OUT_OF_RESOURCE;
            }
            if (rc == PMIX_SUCCESS && !flush_posted) post_flush = flush_posted = true;
            // Nothing of it is out, and what waits before it goes on.
            if (rc != PMIX_SUCCESS && waits_for_room && sent == 0) return rc;
            if (rc != PMIX_SUCCESS) send_closed = true;  // half a frame may be out: nothing may follow it
        }
    }
    if (post_flush && !(has_thread() && post(&State::arm_write))) rc = PMIX_ERR_OUT_OF_RESOURCE;
    if (rc != PMIX_SUCCESS) fail(rc);
    return rc;
}

pmix_status_t Connection::State::enqueue(std::span<iovec> parts, size_t size, size_t sent, std::span<const int> fds) {
    assert(sent < size && (sent == 0 || fds.empty()));
    // The queue is bounded, and one frame more, which has a bound of its own. A sender that cannot wait for room may
    // queue as much again.
    const size_t most = waits_for_room ? 2 * max_queued : max_queued;
    if (queue.bytes() > most) return PMIX_ERR_OUT_OF_RESOURCE;
    std::vector<Descriptor> own;
    if (queue.descriptors() + fds.size() <= common::kMaxQueuedDescriptors) {
        own.reserve(fds.size());
        for (int borrowed : fds) {
            Descriptor copy(io.dup_cloexec(borrowed));
            if (!copy) break;
            own.push_back(std::move(copy));
        }
    }
    if (own.size() < fds.size()) {
        own.clear();
        clear_descriptors(static_cast<uint8_t*>(parts[0].iov_base));
    }
    if (!queue.push(parts, size, sent, std::move(own))) return PMIX_ERR_OUT_OF_RESOURCE;
    if (queue.bytes() > max_queued) full.store(true, std::memory_order_relaxed);
    return PMIX_SUCCESS;
}

void Connection::State::release_waiters() noexcept {
    assert(waits_for_room || space_waiters.empty());
    full.store(false, std::memory_order_relaxed);
    for (Waiter* waiter : space_waiters) waiter->complete();
    space_waiters.clear();
}

pmix_status_t Connection::wait_for_room(Deadline deadline) noexcept {
    State& s = *state_;
    if (!s.full.load(std::memory_order_relaxed) || !s.waits_for_room || s.loop.on_loop_thread()) return PMIX_SUCCESS;
    CancelShield shield;
    const auto keep = shared_from_this();
    Waiter waiter;
    {
        MutexLock lock(s.send_mutex);
        if (!s.full.load(std::memory_order_relaxed)) return PMIX_SUCCESS;
        try {
            s.space_waiters.push_back(&waiter);
        } catch (const std::bad_alloc&) {
            return PMIX_ERR_NOMEM;
        }
    }
    if (s.loop.wait(waiter, deadline)) return PMIX_SUCCESS;
    MutexLock lock(s.send_mutex);
    // Waiters are completed under the lock: one that is not in the list any more has been completed.
    return std::erase(s.space_waiters, &waiter) == 0 ? PMIX_SUCCESS : PMIX_ERR_TIMEOUT;
}

pmix_status_t Connection::State::flush() noexcept {
    pmix_status_t rc = PMIX_SUCCESS;
    while (!queue.empty() && !send_closed) {
        SendQueue::Batch batch;
        queue.next(batch);
        msghdr message{};
        message.msg_iov = batch.parts;
        message.msg_iovlen = static_cast<size_t>(batch.count);
        DescriptorControl control;
        control.attach(message, batch.fds, batch.fd_count);
        const ssize_t n = io.sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0) {
            queue.consume(static_cast<size_t>(n));
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            break;
        } else if (errno == ETOOMANYREFS && batch.fd_count > 0) {
            queue.drop_front_descriptors();
        } else if (errno == EPIPE || errno == ECONNRESET) {
            send_closed = true;
            queue.clear();
        } else if (errno != EINTR) {
            send_closed = true;
            queue.clear();
            rc = PMIX_ERR_OUT_OF_RESOURCE;
        }
    }
    if (queue.bytes() <= max_queued / 2 && full.load(std::memory_order_relaxed)) release_waiters();
    return rc;
}

void Connection::State::on_writable() noexcept {
    pmix_status_t rc;
    bool empty, drained;
    {
        MutexLock lock(send_mutex);
        rc = flush();
        empty = queue.empty();
        drained = empty && !send_closed;
        // From here the next send writes by itself again, and posts when it cannot.
        if (empty) flush_posted = false;
    }
    if (empty && write_watch) write_watch->set(false, false);
    if (rc != PMIX_SUCCESS) fail(rc);
    if (!drained || silent.load(std::memory_order_relaxed)) return;
    try {
        handler.on_drained();
    } catch (...) {  // no memory
        loop.step_lost();
        fail(PMIX_ERR_OUT_OF_RESOURCE);
    }
}

void Connection::State::arm_write() noexcept {
    assert_on_loop();
    if (!read_watch) return;  // torn down meanwhile
    if (!write_watch) write_watch = loop.watch(fd, *this);
    if (!write_watch || !write_watch->set(false, true)) fail(PMIX_ERR_OUT_OF_RESOURCE);
}

// Without a thread nobody would send what is queued, and a caller that reads would wait for its answer for ever. There
// may be room for it in a moment.
bool Connection::State::has_thread() noexcept {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        if (loop.need_thread() == PMIX_SUCCESS) return true;
        const timespec pause{0, 1'000'000};
        nanosleep(&pause, nullptr);
    }
    return false;
}

// ---- closing ----

bool Connection::State::post(void (State::*step)() noexcept) noexcept {
    // Memory may come back in a moment; without the step the connection would be deaf.
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        try {
            loop.post_anyway([keep = owner->shared_from_this(), step] { (keep->state_.get()->*step)(); });
            return true;
        } catch (const std::bad_alloc&) {
            const timespec pause{0, 1'000'000};
            nanosleep(&pause, nullptr);
        }
    }
    return false;
}

void Connection::State::fail(pmix_status_t why) noexcept {
    {
        MutexLock lock(role_mutex);
        if (closed || failure != PMIX_SUCCESS) return;
        failure = why;
    }
    post(&State::resume_or_finish);
}

void Connection::State::resume_or_finish() noexcept {
    assert_on_loop();
    bool resume = false, over = false;
    {
        MutexLock lock(role_mutex);
        over = failure != PMIX_SUCCESS;
        if (reader == Reader::nobody && !closed && watch_paused) {
            watch_paused = false;
            resume = true;
        }
    }
    if (over) {
        finish();
    } else if (resume && !read_watch->set(true, false)) {
        fail(PMIX_ERR_OUT_OF_RESOURCE);
    }
}

// The end that nobody of ours asked for: tells the handler, once.
void Connection::State::finish() noexcept {
    pmix_status_t why;
    {
        MutexLock lock(role_mutex);
        if (closed) return;
        if (reader == Reader::caller) {
            // It sees the end of the stream, leaves, and has us called again.
            why = PMIX_SUCCESS;
        } else {
            assert(failure != PMIX_SUCCESS && reader == Reader::nobody);
            why = failure;
        }
    }
    if (why == PMIX_SUCCESS) {
        shut_down_socket();
        return;
    }
    run_deferred();  // they were received before the end
    if (silent.load(std::memory_order_relaxed)) return;
    tear_down();
    silent.store(true, std::memory_order_relaxed);
    try {
        handler.on_closed(why);
    } catch (...) {  // bad_alloc: the handler has lost a step
        loop.step_lost();
    }
}

void Connection::State::shut_down_socket() noexcept {
    MutexLock lock(send_mutex);
    if (socket) ::shutdown(socket.get(), SHUT_RDWR);
}

void Connection::State::tear_down() noexcept {
    read_watch.reset();
    write_watch.reset();
    {
        MutexLock lock(role_mutex);
        assert(!closed && failure != PMIX_SUCCESS && reader != Reader::caller);  // once, and nobody reads here any more
        closed = true;
        deferred.clear();
    }
    {
        MutexLock lock(send_mutex);
        send_closed = true;
        queue.clear();
        release_waiters();
        socket.reset();
    }
    gate.reset();
    wake_fd.reset();
}

void Connection::close() noexcept {
    assert_on_loop();
    State& s = *state_;
    if (s.silent.exchange(true, std::memory_order_seq_cst)) return;
    {
        MutexLock lock(s.send_mutex);
        s.flush();
    }
    bool led;
    {
        MutexLock lock(s.role_mutex);
        if (s.failure == PMIX_SUCCESS) s.failure = PMIX_ERR_LOST_CONNECTION;  // nobody takes the read side any more
        led = s.reader == State::Reader::caller;
    }
    if (led) {
        s.shut_down_socket();  // a caller that sleeps on the socket wakes by this
        MutexLock lock(s.role_mutex);
        while (s.reader == State::Reader::caller) s.role_free.wait(s.role_mutex);
    }
    s.tear_down();
}

void Connection::abandon() noexcept NO_THREAD_SAFETY_ANALYSIS {
    // No lock and no destructor: another thread of the parent may have been in the middle of anything.
    State* s = state_.release();
    if (s == nullptr) return;
    close_if(s->socket, s->socket_identity);  // empty if the connection had ended
    static State* kept = nullptr;
    s->next_abandoned = kept;
    kept = s;
}

}  // namespace pmix::transport
