// SPDX-License-Identifier: BSD-3-Clause
// A caller's thread blocks here until its completion: one shot, one waiting thread, one completing thread.
//
// Owned by the waiting thread, usually on its stack. What the completer hands over is written before complete() and
// may be read after wait() said true. complete() touches nothing of the Waiter once the waiter can return, so the
// waiter may go away at once. Who gives up after a deadline must first make sure that nobody will complete it any more.
// Waiting is no cancellation point: pthread_cancel acts at the caller's next one, after the library's call.
#pragma once

#include <atomic>
#include <cstdint>

#include "transport/deadline.h"

namespace pmix::transport {

class Waiter {
  public:
    Waiter() noexcept = default;
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    // Any thread, exactly once.
    void complete() noexcept;
    bool done() const noexcept { return state_.load(std::memory_order_acquire) == kDone; }
    // True: completed. False: the deadline passed first.
    bool wait(Deadline deadline = Deadline::never()) noexcept;

    // For a waiting thread that sleeps in poll instead (Connection::read_until). Between the two calls a completion
    // writes to wake_fd, an eventfd. begin_poll: false, already done. end_poll: false, done meanwhile; then the write
    // to wake_fd has happened or is about to, and must be awaited before wake_fd may be closed or used again.
    bool begin_poll(int wake_fd) noexcept;
    bool end_poll(int wake_fd) noexcept;

    // wait() in two steps, for a sleep that another thread may have to interrupt (EventLoop::hand_over). begin_sleep:
    // false, already done. sleep: true, completed; false, the deadline passed, or interrupt() was called at any time
    // since begin_sleep. The caller of interrupt() makes sure that the Waiter still exists.
    bool begin_sleep() noexcept;
    bool sleep(Deadline deadline) noexcept;
    void interrupt() noexcept;

  private:
    // From kPolling up the state is kPolling + wake_fd: the completer's one exchange gives it all that it needs.
    static constexpr uint32_t kIdle = 0, kSleeping = 1, kDone = 2, kPolling = 3;
    std::atomic<uint32_t> state_{kIdle};
};

// Completes at the end of a scope, also when what runs in it throws: the waiting thread must not pay for a failed
// allocation with an endless wait.
class CompleteAtEnd {
  public:
    explicit CompleteAtEnd(Waiter& waiter) noexcept : waiter_(waiter) {}
    ~CompleteAtEnd() { waiter_.complete(); }
    CompleteAtEnd(const CompleteAtEnd&) = delete;
    CompleteAtEnd& operator=(const CompleteAtEnd&) = delete;

  private:
    Waiter& waiter_;
};

// Holds pthread_cancel off for a scope: a forced unwind through noexcept frames would end the process.
class CancelShield {
  public:
    CancelShield() noexcept;
    ~CancelShield();
    CancelShield(const CancelShield&) = delete;
    CancelShield& operator=(const CancelShield&) = delete;

  private:
    int old_state_ = 0;
};

}  // namespace pmix::transport
