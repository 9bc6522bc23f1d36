// SPDX-License-Identifier: BSD-3-Clause
// The inside of a Connection, for connection.cpp (opening, sending, closing) and connection_read.cpp (reading).
//
// Which thread may touch what stands beside each group of members. The locks are never held while a handler runs, and
// neither is taken while the other is held.
#pragma once

#include <atomic>
#include <vector>

#include "transport/connection.h"
#include "transport/file_identity.h"
#include "transport/read_buffer.h"
#include "transport/send_queue.h"

namespace pmix::transport {

struct Connection::State final : WatchHandler {
    enum class Reader : uint8_t { nobody, loop, caller };

    // A frame that a caller's thread read and nobody took there.
    struct Deferred {
        common::Frame frame;
        std::vector<Descriptor> descriptors;
    };

    // May throw: the deque of the send queue allocates where it is made.
    State(EventLoop& l, ConnectionHandler& h, const ConnectionOptions& options)
        : loop(l),
          io(l.io()),
          handler(h),
          caller_reads(options.caller_reads),
          takes_descriptors(options.takes_descriptors),
          waits_for_room(options.waits_for_room),
          max_queued(options.max_queued),
          max_payload(options.max_payload),
          queue(options.account) {}

    // Constant after open().
    EventLoop& loop;
    const Io& io;
    ConnectionHandler& handler;  // not called once silent is set
    const bool caller_reads;
    const bool takes_descriptors;
    const bool waits_for_room;
    const size_t max_queued;
    Connection* owner = nullptr;
    int fd = -1;
    FileIdentity socket_identity;  // for a forked child

    // caller_reads only, until tear_down(): used under role_mutex while !closed, or by a caller that has the read side.
    Descriptor gate;  // an epoll set that holds the socket alone. The loop watches this instead of the socket, so that
                      // a caller can switch the loop's interest off without touching libevent. Made with the loop's
                      // base, so it is there where the loop is turned
    Descriptor wake_fd;  // an eventfd that interrupts the poll of a caller that reads

    State* next_abandoned = nullptr;  // in a forked child: keeps what was given up reachable for leak checkers

    // Any thread.
    std::atomic<uint32_t> max_payload;
    std::atomic<bool> silent{false};  // set on the loop: no callback begins any more
    std::atomic<bool> full{false};    // more than max_queued is queued; written under send_mutex

    // The loop's.
    struct GateWatch final : WatchHandler {
        explicit GateWatch(State& s) noexcept : state(s) {}
        void on_ready(bool readable, bool writable) noexcept override { state.on_ready(readable, writable); }
        int to_watch(int) noexcept override { return state.make_gate(); }
        State& state;
    } gate_watch{*this};
    std::unique_ptr<Watch> read_watch;   // on the gate or the socket; null once torn down
    std::unique_ptr<Watch> write_watch;  // on the socket; made when first needed

    // The send side.
    common::Mutex send_mutex;
    Descriptor socket GUARDED_BY(send_mutex);  // closed on the loop, when no caller reads
    SendQueue queue GUARDED_BY(send_mutex);
    bool send_closed GUARDED_BY(send_mutex) = false;
    bool flush_posted GUARDED_BY(send_mutex) = false;
    std::vector<Waiter*> space_waiters GUARDED_BY(send_mutex);  // on their callers' stacks

    // The read side: who has it, and what the holder leaves for others.
    common::Mutex role_mutex;
    common::CondVar role_free;
    Reader reader GUARDED_BY(role_mutex) = Reader::nobody;
    bool closed GUARDED_BY(role_mutex) = false;
    bool gate_closed GUARDED_BY(role_mutex) = false;              // by the caller that reads
    bool watch_paused GUARDED_BY(role_mutex) = false;             // the loop met a reading caller and looked away
    pmix_status_t failure GUARDED_BY(role_mutex) = PMIX_SUCCESS;  // the first reason to close
    std::vector<Deferred> deferred GUARDED_BY(role_mutex);

    // The holder's, and only its: the role passes from thread to thread under role_mutex.
    ReadBuffer buffer;
    size_t frame_size = common::kFrameHeaderSize;  // of the frame at the buffer's front, as far as it is known
    bool admitted = false;                         // that frame is a large one, and the handler has admitted it
    bool held = false;                             // the handler has not: nothing is read

    int make_gate() noexcept;

    // connection_read.cpp
    void on_ready(bool readable, bool writable) noexcept override;
    void on_readable() noexcept REQUIRES(common::loop_thread);
    bool take_read_side() noexcept;
    void leave_read_side(pmix_status_t why) noexcept;
    pmix_status_t lead(Waiter& waiter, Deadline deadline) noexcept;
    void await_wake_up() noexcept;
    pmix_status_t read_once(bool on_loop, bool& drained);
    pmix_status_t receive(bool on_loop, bool& drained);
    pmix_status_t dispatch(bool on_loop);
    bool take_descriptors(ReceivedFrame& frame);
    void deliver(ReceivedFrame& frame, bool on_loop);
    void deliver_deferred() REQUIRES(common::loop_thread);
    bool has_ended() noexcept;
    pmix_status_t read_what_is_there(bool& drained) noexcept;

    // connection.cpp
    pmix_status_t send(common::FrameHeader header, common::Bytes payload, std::span<const int> fds) noexcept;
    pmix_status_t send_parts(common::FrameHeader header, std::span<const common::Bytes> parts) noexcept;
    // A whole frame of `size` bytes, its header in the first part.
    pmix_status_t send_frame(std::span<iovec> parts, size_t size, std::span<const int> fds) noexcept;
    pmix_status_t enqueue(std::span<iovec> parts, size_t size, size_t sent, std::span<const int> fds)
        REQUIRES(send_mutex);
    // The queue has space again, or the connection has ended: completes the waiters of wait_for_room().
    void release_waiters() noexcept REQUIRES(send_mutex);
    // Sends what the socket takes. PMIX_SUCCESS: as much as possible for now.
    pmix_status_t flush() noexcept REQUIRES(send_mutex);
    void on_writable() noexcept REQUIRES(common::loop_thread);
    void fail(pmix_status_t why) noexcept;
    void finish() noexcept REQUIRES(common::loop_thread);
    void tear_down() noexcept REQUIRES(common::loop_thread);
    void shut_down_socket() noexcept;
    // Runs a step on the loop, later. False: no memory, although it waited for some.
    bool post(void (State::*step)() noexcept) noexcept;
    bool has_thread() noexcept;
    // Such steps:
    void arm_write() noexcept;
    void resume_or_finish() noexcept;
    void run_deferred() noexcept;
};

}  // namespace pmix::transport
