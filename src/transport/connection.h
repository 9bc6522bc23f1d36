// SPDX-License-Identifier: BSD-3-Clause
// A stream of frames over one connected Unix socket: gather reads and writes, partial I/O, descriptors, limits.
//
// Owned through shared_ptr by its opener (a Peer, the client's session), which calls close() before dropping it.
// Two sides with a lock each:
//
//   sending   any thread. When nothing is queued, send() writes straight from the caller's thread, which saves a
//             thread hop per request; only what the socket does not take is copied and left to the loop.
//   reading   the loop, and, where the option caller_reads was given, a caller's thread that waits for an answer:
//             read_until() takes the read side over from the loop (if it is free), reads and dispatches frames itself
//             until its Waiter is done, and gives the read side back. See docs/design/threads.md. Where the loop's
//             thread has not been needed yet (EventLoopOptions::late), callers alone read.
//
// What can go wrong: the peer closes, sends what is no frame, or does not read: then on_closed is called once, on the
// loop, never on the stack of send() or read_until(). Each frame received before is delivered first.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "common/base/mutex.h"
#include "common/protocol/frame.h"
#include "transport/descriptor.h"
#include "transport/event_loop.h"
#include "transport/queue_account.h"
#include "transport/waiter.h"

namespace pmix::transport {

// One received frame. The payload is borrowed from the read buffer: valid during the callback only.
struct ReceivedFrame {
    common::FrameHeader header;
    common::Bytes payload;
    // As many as header.descriptors says; take with std::move. Those for which this process had no room are empty.
    std::vector<Descriptor> descriptors;

    common::Frame copy() const { return {header, {payload.begin(), payload.end()}}; }
};

class ConnectionHandler {
  public:
    // Called first for each frame, by the thread that reads: the loop, or a caller inside read_until() on any thread.
    // True: the frame has been handled. False: it is passed to on_frame, on the loop. Must be quick and must not run
    // user code. Frames are offered in order, one at a time; but frames refused on a caller's thread reach on_frame
    // only later, so a reply taken here may overtake a notification that was received before it.
    virtual bool take_anywhere(ReceivedFrame& frame) noexcept {
        (void)frame;
        return false;
    }
    // In order. May call close(), and after it drop the Connection and delete the handler: dropping alone ends nothing.
    virtual void on_frame(ReceivedFrame frame) REQUIRES(common::loop_thread) = 0;
    // What had to wait for the socket has all been sent.
    virtual void on_drained() REQUIRES(common::loop_thread) {}
    // Once, unless close() was called; nothing follows. PMIX_ERR_LOST_CONNECTION: closed or reset by the peer, orderly
    // or not. PMIX_ERR_UNPACK_FAILURE: not our protocol. PMIX_ERR_OUT_OF_RESOURCE: a limit (frame size, queue,
    // descriptors).
    virtual void on_closed(pmix_status_t why) REQUIRES(common::loop_thread) = 0;

    // On the loop: a message is on its way that is larger than the usual read buffer, header included. False: no more
    // of it is read until resume_reading(). Not asked where callers read.
    virtual bool admit_message(size_t bytes) noexcept REQUIRES(common::loop_thread) {
        (void)bytes;
        return true;
    }
    // Such a message has been delivered.
    virtual void message_complete() noexcept REQUIRES(common::loop_thread) {}

  protected:
    ~ConnectionHandler() = default;
};

struct ConnectionOptions {
    bool caller_reads = false;                        // costs one epoll descriptor; for clients
    uint32_t max_payload = common::kMaxHelloPayload;  // raised by set_max_payload() after the hello
    size_t max_queued = common::kMaxQueuedBytes;      // beyond it nothing more is queued; one frame may reach over it
    // Charged for what is queued; may be null. When it is exhausted, it is as if max_queued were reached.
    std::shared_ptr<QueueAccount> account;
    // A peer that does not read while max_queued is queued: false, the connection is closed; true, the sender waits
    // (see wait_for_room).
    bool waits_for_room = false;
    bool takes_descriptors = true;  // false: a peer that passes one is disconnected
};

class Connection : public std::enable_shared_from_this<Connection> {
  public:
    // Begins to read at once; the first callback comes from the loop later, not from here. The handler must live until
    // close() or on_closed().
    static common::Result<std::shared_ptr<Connection>> open(EventLoop& loop, Descriptor socket,
                                                            ConnectionHandler& handler,
                                                            const ConnectionOptions& options = {})
        REQUIRES(common::loop_thread);
    ~Connection();

    // Any thread. The payload length is filled in from payload. Payload and fds are borrowed for the call only.
    // PMIX_ERR_LOST_CONNECTION: it is closed. PMIX_ERR_OUT_OF_RESOURCE: the peer does not read, or no memory: the
    // connection is then closed (on_closed follows); with waits_for_room it stays as it is, and nothing was sent.
    // PMIX_ERR_BAD_PARAM: a payload above kMaxFramePayload or too many descriptors; nothing was sent. Success says that
    // the frame is on its way, in order. Where it has to wait and this process has no room for copies of the
    // descriptors (or kMaxQueuedDescriptors wait already), or the kernel takes no more of them, it goes without any.
    pmix_status_t send(const common::FrameHeader& header, common::Bytes payload,
                       std::span<const int> fds = {}) noexcept;

    // The same for a payload in several buffers (a vectored write). At most kMaxParts of them.
    static constexpr size_t kMaxParts = 1023;
    pmix_status_t send_parts(const common::FrameHeader& header, std::span<const common::Bytes> parts) noexcept;

    // Any thread, with waits_for_room: waits until no more than half of max_queued is queued, if it is more than
    // max_queued now, or until the connection ends. PMIX_ERR_TIMEOUT: the deadline passed first. The loop thread, which
    // would wait for itself, does not wait: it may queue as much again before send() refuses. A connection whose owner
    // must not be held up (one that holds a lock which the loop takes) waits before it takes the lock.
    pmix_status_t wait_for_room(Deadline deadline) noexcept;

    // Waits for the waiter, with caller_reads reading meanwhile if nobody else does. True: done. False: the deadline
    // passed, or this is the loop thread, which may not wait. Where callers drive the loop, this call runs it.
    bool read_until(Waiter& waiter, Deadline deadline) noexcept;

    // wait_for_room(), send() and read_until() in one, with the read side taken before the request is on its way, so
    // that a fast answer does not wake the loop for nothing. PMIX_SUCCESS: the waiter is done. PMIX_ERR_TIMEOUT: the
    // deadline passed first. Anything else is send()'s, and nobody was waited for.
    pmix_status_t send_and_wait(const common::FrameHeader& header, common::Bytes payload, Waiter& waiter,
                                Deadline deadline) noexcept;

    // Reads what is pending, where no loop watches for it (EventLoop::is_turned). True: nothing is left of it, or a
    // loop does watch; false: another caller reads, the connection has ended, or it is too much for once. Does not
    // wait. Any thread.
    bool read_pending() noexcept;
    // It is closed, or somebody has read or sent the last there was, and on_closed() is under way. Any thread.
    bool has_ended() const noexcept;

    // After the hello.
    void set_max_payload(uint32_t bytes) noexcept;

    // The owner's own end of it: no callback comes after this (one that is running in take_anywhere on another thread
    // is waited for). What is queued to be sent is given one last non-blocking try. Idempotent.
    void close() noexcept REQUIRES(common::loop_thread);

    // In a forked child, instead of everything else: closes our copy of the socket and forgets the rest. The number is
    // closed only if it still stands for that socket. The eventfd and the epoll set of caller_reads stay: nothing tells
    // them from others of their kind, and an open copy of them keeps nobody waiting.
    void abandon() noexcept;

    // What admit_message() refused may come now.
    void resume_reading() noexcept REQUIRES(common::loop_thread);
    // Of the message that is not complete.
    size_t unfinished_bytes() const noexcept REQUIRES(common::loop_thread);

    int fd() const noexcept;
    size_t queued_bytes() const noexcept;
    // The peer has read everything that was sent to it (or is gone).
    bool all_read() const noexcept;

    struct State;  // public in name only: its members are the implementation
    explicit Connection(std::unique_ptr<State> state) noexcept;

  private:
    std::unique_ptr<State> state_;
};

}  // namespace pmix::transport
