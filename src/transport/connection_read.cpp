// SPDX-License-Identifier: BSD-3-Clause
// The read side: the loop reads, or a caller's thread that waits does so in its stead.
//
// State::reader tells which thread has the read side, under role_mutex. While it is a caller's, the gate (an epoll set
// with the socket alone, watched by the loop) asks for nothing, so a frame wakes one thread only. Nothing can be lost
// between:
//   * taking it: the waiter is tested after this thread has taken the role, and only the holder dispatches, so an
//   answer
//     dispatched before is seen as done, and this thread reads one that follows;
//   * a completion by another thread (the loop, a timer, close) finds the waiter in state "polling" and writes to
//     `wake_fd`;
//   * leaving it: the gate is opened again, level-triggered, so whatever is in the socket wakes the loop at once.
// A loop that had been woken before the gate was closed finds the role taken, stops watching (watch_paused) and is
// called back by the thread that leaves the role. So does one whose thread is started while a caller reads: as long as
// there is no such thread, nobody watches, the gate stays open, and a caller saves the two calls that move it.
#include <errno.h>
#include <poll.h>

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

#include "common/base/standard_streams.h"
#include "transport/connection_state.h"
#include "transport/frame_log.h"

namespace pmix::transport {

using common::kFrameHeaderSize;
using common::MutexLock;

namespace {

// Reads per wake-up of the loop, so that one busy peer does not keep it; the watch is level-triggered and fires again.
constexpr int kReadsPerEvent = 16;

bool set_gate(const Io& io, int gate, int fd, uint32_t events) noexcept {
    epoll_event interest{};
    interest.events = events;
    return io.epoll_ctl(gate, EPOLL_CTL_MOD, fd, &interest) == 0;
}

}  // namespace

// ---- the loop reads ----

void Connection::State::on_ready(bool readable, bool writable) noexcept {
    assert_on_loop();
    auto keep = owner->shared_from_this();  // a handler may drop the last other reference
    if (writable) on_writable();
    if (readable && !silent.load(std::memory_order_relaxed)) on_readable();
}

void Connection::State::on_readable() noexcept {
    bool look_away = false;
    {
        MutexLock lock(role_mutex);
        if (closed) return;
        if (reader == Reader::caller) {
            look_away = watch_paused = true;
        } else {
            assert(reader == Reader::nobody);  // no handler has the loop read
            reader = Reader::loop;
        }
    }
    if (look_away) {
        read_watch->set(false, false);
        return;
    }

    pmix_status_t status = PMIX_SUCCESS;
    try {
        deliver_deferred();
        bool drained = false;
        for (int i = 0; i < kReadsPerEvent && !drained && !held && status == PMIX_SUCCESS; ++i) {
            if (silent.load(std::memory_order_relaxed)) break;
            status = read_once(true, drained);
        }
    } catch (...) {  // no memory, here or in a handler: a frame is lost, so the peer must know
        status = PMIX_ERR_OUT_OF_RESOURCE;
        loop.step_lost();
    }
    {
        MutexLock lock(role_mutex);
        assert(reader == Reader::loop);
        reader = Reader::nobody;
        if (status != PMIX_SUCCESS && failure == PMIX_SUCCESS) failure = status;
    }
    if (silent.load(std::memory_order_relaxed)) return;
    if (status != PMIX_SUCCESS) return finish();
    if (held) read_watch->set(false, false);
}

void Connection::resume_reading() noexcept {
    assert_on_loop();
    State& s = *state_;
    if (!s.held || s.silent.load(std::memory_order_relaxed)) return;
    assert(!s.admitted && !s.caller_reads && s.frame_size > ReadBuffer::kUsual);
    s.held = false;
    s.admitted = true;
    s.read_watch->set(true, false);
}

size_t Connection::unfinished_bytes() const noexcept {
    return state_->buffer.unread().size();
}

// ---- a caller reads ----

bool Connection::State::take_read_side() noexcept {
    if (!caller_reads) return false;
    MutexLock lock(role_mutex);
    if (closed || failure != PMIX_SUCCESS || reader != Reader::nobody) return false;
    const bool watched = loop.is_turned();
    if (watched && !set_gate(io, gate.get(), fd, 0)) return false;
    gate_closed = watched;
    reader = Reader::caller;
    return true;
}

void Connection::State::leave_read_side(pmix_status_t why) noexcept {
    bool call_loop;
    {
        MutexLock lock(role_mutex);
        assert(reader == Reader::caller && !closed);  // a close waits for this
        if (why != PMIX_SUCCESS && failure == PMIX_SUCCESS) failure = why;
        if (failure == PMIX_SUCCESS && gate_closed && !set_gate(io, gate.get(), fd, EPOLLIN))
            failure = PMIX_ERR_OUT_OF_RESOURCE;
        reader = Reader::nobody;
        call_loop = watch_paused || failure != PMIX_SUCCESS;
        role_free.notify_all();
    }
    if (call_loop) post(&State::resume_or_finish);
}

// With the read side taken: reads until the waiter is done (or the deadline passed, or there is no way on). The status
// is what to leave the read side with.
pmix_status_t Connection::State::lead(Waiter& waiter, Deadline deadline) noexcept {
    while (waiter.begin_poll(wake_fd.get())) {
        pollfd ready[2] = {{fd, POLLIN, 0}, {wake_fd.get(), POLLIN, 0}};
        const int rc = io.poll(ready, 2, deadline.poll_ms());
        const int error = errno;
        if (!waiter.end_poll(wake_fd.get())) {
            await_wake_up();
            break;
        }
        if (rc < 0 && error != EINTR) break;  // no memory to poll: sleep on the waiter instead
        if (rc <= 0) {
            if (rc == 0 && deadline.passed()) break;
            continue;
        }
        if (ready[0].revents == 0) continue;
        try {
            bool drained = false;
            WIREUP_RETURN_IF_ERROR(read_once(false, drained));
        } catch (...) {
            return PMIX_ERR_OUT_OF_RESOURCE;
        }
    }
    return PMIX_SUCCESS;
}

// The completer has been seen to be completing: its write has come or comes now. It must not meet a closed descriptor.
void Connection::State::await_wake_up() noexcept {
    uint64_t count;
    while (::read(wake_fd.get(), &count, sizeof count) < 0) {
        pollfd ready{wake_fd.get(), POLLIN, 0};
        ::poll(&ready, 1, -1);
    }
}

bool Connection::read_until(Waiter& waiter, Deadline deadline) noexcept {
    CancelShield shield;
    State& s = *state_;
    if (s.loop.drive() == Drive::caller || s.loop.on_loop_thread()) return s.loop.wait(waiter, deadline);
    auto keep = shared_from_this();
    if (s.take_read_side()) s.leave_read_side(s.lead(waiter, deadline));
    return s.loop.wait(waiter, deadline);
}

pmix_status_t Connection::send_and_wait(const common::FrameHeader& header, common::Bytes payload, Waiter& waiter,
                                        Deadline deadline) noexcept {
    CancelShield shield;
    State& s = *state_;
    if (const pmix_status_t waited = wait_for_room(deadline); waited != PMIX_SUCCESS) return waited;
    auto keep = shared_from_this();
    const bool may_lead = s.loop.drive() != Drive::caller && !s.loop.on_loop_thread();
    bool leads = may_lead && s.take_read_side();
    if (!leads) {
        // Another caller reads, and may stop before our answer comes.
        if (const pmix_status_t turned = s.loop.need_thread(); turned != PMIX_SUCCESS) {
            // What no thread has done yet is done here, the end of the connection above all.
            s.loop.stand_in();
            leads = may_lead && s.take_read_side();
            if (!leads) return s.has_ended() ? PMIX_ERR_LOST_CONNECTION : turned;
        }
    }
    const pmix_status_t rc = s.send(header, payload, {});
    if (leads && rc == PMIX_ERR_LOST_CONNECTION && !s.loop.is_turned()) {
        bool drained = false;
        s.leave_read_side(s.read_what_is_there(drained));
        s.loop.stand_in();
        return rc;
    }
    if (leads) s.leave_read_side(rc == PMIX_SUCCESS ? s.lead(waiter, deadline) : PMIX_SUCCESS);
    if (rc != PMIX_SUCCESS) return rc;
    return s.loop.wait(waiter, deadline) ? PMIX_SUCCESS : PMIX_ERR_TIMEOUT;
}

bool Connection::read_pending() noexcept {
    State& s = *state_;
    if (s.loop.is_turned() || s.loop.on_loop_thread()) return true;
    CancelShield shield;
    auto keep = shared_from_this();
    // Mostly there is nothing, and this costs less than a buffer to read into.
    pollfd ready{s.fd, POLLIN, 0};
    if (s.io.poll(&ready, 1, 0) == 0) return true;
    if (!s.take_read_side()) return false;
    bool drained = false;
    const pmix_status_t status = s.read_what_is_there(drained);
    s.leave_read_side(status);
    return drained && status == PMIX_SUCCESS;
}

bool Connection::has_ended() const noexcept {
    return state_->has_ended();
}

bool Connection::State::has_ended() noexcept {
    MutexLock lock(role_mutex);
    return closed || failure != PMIX_SUCCESS;
}

// With the read side taken, by a caller.
pmix_status_t Connection::State::read_what_is_there(bool& drained) noexcept {
    pmix_status_t status = PMIX_SUCCESS;
    try {
        for (int i = 0; i < kReadsPerEvent && !drained && status == PMIX_SUCCESS; ++i)
            status = read_once(false, drained);
    } catch (...) {
        status = PMIX_ERR_OUT_OF_RESOURCE;
    }
    return status;
}

// ---- reading, on the loop or on a caller's thread ----

pmix_status_t Connection::State::read_once(bool on_loop, bool& drained) {
    buffer.borrow(loop.spare_read_memory());
    const pmix_status_t status = receive(on_loop, drained);
    if (drained) buffer.give_back(loop.spare_read_memory());
    return status;
}

pmix_status_t Connection::State::receive(bool on_loop, bool& drained) {
    assert(!held);  // nothing is read before the frame at the front is admitted
    const ReadBuffer::Space space = buffer.space(frame_size);
    iovec target{space.data, space.size};
    DescriptorControl control;
    msghdr message{};
    message.msg_iov = &target;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    ssize_t n;
    do {
        n = io.recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        drained = true;
        if (errno == EAGAIN || errno == EWOULDBLOCK) return PMIX_SUCCESS;
        return errno == ENOMEM || errno == ENOBUFS ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_ERR_LOST_CONNECTION;
    }
    size_t received_now = 0;
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
        const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        // Owned before anything can fail. The control buffer bounds the count: its padding may hold one more.
        Descriptor owned[sizeof control.bytes / sizeof(int)];
        assert(count <= std::size(owned));
        for (size_t i = 0; i < count; ++i) {
            int received;
            std::memcpy(&received, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
            owned[i].reset(common::above_standard(received));
        }
        for (size_t i = 0; i < count; ++i) buffer.descriptors.push_back(std::move(owned[i]));
        received_now += count;
    }
    if (!takes_descriptors && (!buffer.descriptors.empty() || (message.msg_flags & MSG_CTRUNC) != 0))
        return PMIX_ERR_UNPACK_FAILURE;
    if (received_now > common::kMaxFrameDescriptors) return PMIX_ERR_OUT_OF_RESOURCE;
    // Our table is full: those of this read end with an empty one, which stands for the rest, as many as the frame's
    // header counts.
    if ((message.msg_flags & MSG_CTRUNC) != 0) buffer.descriptors.emplace_back();
    if (n == 0) return PMIX_ERR_LOST_CONNECTION;
    buffer.filled(static_cast<size_t>(n));
    // Less than was asked for is all there was: no second read to hear EAGAIN. But the kernel ends a read behind bytes
    // that have descriptors.
    drained = static_cast<size_t>(n) < space.size && received_now == 0 && (message.msg_flags & MSG_CTRUNC) == 0;
    return dispatch(on_loop);
}

pmix_status_t Connection::State::dispatch(bool on_loop) {
    while (!silent.load(std::memory_order_acquire)) {
        const common::Bytes bytes = buffer.unread();
        frame_size = kFrameHeaderSize;
        if (bytes.size() < kFrameHeaderSize) break;
        auto header = common::parse_frame_header(bytes, max_payload.load(std::memory_order_relaxed));
        if (!header) return header.status();
        frame_size = kFrameHeaderSize + header->payload;
        if (bytes.size() < frame_size) {
            if (frame_size > ReadBuffer::kUsual && !admitted && !caller_reads && on_loop) {
                assert_on_loop();
                admitted = handler.admit_message(frame_size);
                held = !admitted;
            }
            break;
        }

        ReceivedFrame frame{*header, bytes.subspan(kFrameHeaderSize, header->payload), {}};
        if (!take_descriptors(frame)) return PMIX_ERR_UNPACK_FAILURE;
        deliver(frame, on_loop);
        assert(!admitted || (on_loop && frame_size > ReadBuffer::kUsual));
        if (std::exchange(admitted, false) && !silent.load(std::memory_order_relaxed)) {
            assert_on_loop();
            handler.message_complete();
        }
        buffer.consume(frame_size);
        frame_size = kFrameHeaderSize;
    }
    // A frame's descriptors come with its first byte, so what is left can only be an unfinished frame's.
    if (buffer.descriptors.size() > common::kMaxFrameDescriptors) return PMIX_ERR_OUT_OF_RESOURCE;
    return PMIX_SUCCESS;
}

// Gives the frame as many descriptors as its header counts; empty ones in the place of those that were lost. False:
// fewer were sent.
bool Connection::State::take_descriptors(ReceivedFrame& frame) {
    auto& all = buffer.descriptors;
    const size_t count = frame.header.descriptors;
    if (count == 0) return true;
    const auto lost = std::find_if(all.begin(), all.end(), [](const Descriptor& d) { return !d; });
    const auto had = static_cast<size_t>(lost - all.begin());
    if (had < count && lost == all.end()) return false;
    const auto last = all.begin() + static_cast<std::ptrdiff_t>(std::min(had, count));
    frame.descriptors.assign(std::make_move_iterator(all.begin()), std::make_move_iterator(last));
    frame.descriptors.resize(count);
    all.erase(all.begin(), had < count ? lost + 1 : last);
    return true;
}

void Connection::State::deliver(ReceivedFrame& frame, bool on_loop) {
    if (log_on(LogArea::frames, LogLevel::trace)) [[unlikely]]
        log_frame(fd, '<', frame.header, frame.payload);
    if (handler.take_anywhere(frame)) return;
    if (on_loop) {
        assert_on_loop();
        handler.on_frame(std::move(frame));
        return;
    }
    Deferred copy{frame.copy(), std::move(frame.descriptors)};
    bool first;
    {
        MutexLock lock(role_mutex);
        first = deferred.empty();
        deferred.push_back(std::move(copy));
    }
    if (first && !post(&State::run_deferred)) throw std::bad_alloc();
}

// On the loop, before anything that is read there later: what callers read and did not take.
void Connection::State::deliver_deferred() {
    std::vector<Deferred> frames;
    {
        MutexLock lock(role_mutex);
        frames.swap(deferred);
    }
    for (Deferred& d : frames) {
        if (silent.load(std::memory_order_relaxed)) return;
        handler.on_frame(ReceivedFrame{d.frame.header, d.frame.payload, std::move(d.descriptors)});
    }
}

void Connection::State::run_deferred() noexcept {
    assert_on_loop();
    try {
        deliver_deferred();
    } catch (...) {
        loop.step_lost();
        fail(PMIX_ERR_OUT_OF_RESOURCE);
    }
}

}  // namespace pmix::transport
