// SPDX-License-Identifier: BSD-3-Clause
#include "transport/waiter.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cassert>

namespace pmix::transport {
namespace {

// A raw system call, so no cancellation point of the C library's.
long futex(std::atomic<uint32_t>& word, int operation, uint32_t value, const timespec* until) noexcept {
    static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));
    return syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), operation | FUTEX_PRIVATE_FLAG, value, until, nullptr,
                   FUTEX_BITSET_MATCH_ANY);
}

}  // namespace

void Waiter::complete() noexcept {
    // After the exchange the object may be gone. Waking a sleeper by address is harmless then: at worst somebody else's
    // futex at that address wakes once for nothing.
    const uint32_t was = state_.exchange(kDone, std::memory_order_acq_rel);
    assert(was != kDone);  // exactly once
    if (was == kSleeping) {
        futex(state_, FUTEX_WAKE, 1, nullptr);
    } else if (was >= kPolling) {
        const uint64_t one = 1;
        // Only EAGAIN could fail it, and then the descriptor is readable already.
        [[maybe_unused]] const ssize_t written = ::write(static_cast<int>(was - kPolling), &one, sizeof one);
    }
}

bool Waiter::wait(Deadline deadline) noexcept {
    return !begin_sleep() || sleep(deadline);
}

bool Waiter::begin_sleep() noexcept {
    uint32_t expected = kIdle;
    const bool sleeps = state_.compare_exchange_strong(expected, kSleeping, std::memory_order_acq_rel);
    assert(sleeps || expected == kDone);  // one thread waits, and not in two ways
    return sleeps || expected != kDone;
}

bool Waiter::sleep(Deadline deadline) noexcept {
    assert(state_.load(std::memory_order_relaxed) < kPolling);
    timespec until{};
    if (!deadline.is_never()) {
        until.tv_sec = static_cast<time_t>(deadline.ns() / 1'000'000'000);
        until.tv_nsec = static_cast<long>(deadline.ns() % 1'000'000'000);
    }
    while (state_.load(std::memory_order_acquire) == kSleeping) {
        const long rc = futex(state_, FUTEX_WAIT_BITSET, kSleeping, deadline.is_never() ? nullptr : &until);
        if (rc != 0 && errno == ETIMEDOUT) {
            // Back to idle, so that a second wait, or a poll, may follow.
            uint32_t expected = kSleeping;
            state_.compare_exchange_strong(expected, kIdle, std::memory_order_acq_rel);
        }
    }
    return done();
}

void Waiter::interrupt() noexcept {
    uint32_t expected = kSleeping;
    if (state_.compare_exchange_strong(expected, kIdle, std::memory_order_acq_rel))
        futex(state_, FUTEX_WAKE, 1, nullptr);
    assert(expected < kPolling);  // a thread that polls is woken by its descriptor
}

bool Waiter::begin_poll(int wake_fd) noexcept {
    assert(wake_fd >= 0);
    uint32_t expected = kIdle;
    const bool polls =
        state_.compare_exchange_strong(expected, kPolling + static_cast<uint32_t>(wake_fd), std::memory_order_acq_rel);
    assert(polls || expected == kDone);
    return polls;
}

bool Waiter::end_poll(int wake_fd) noexcept {
    uint32_t expected = kPolling + static_cast<uint32_t>(wake_fd);
    const bool polled = state_.compare_exchange_strong(expected, kIdle, std::memory_order_acq_rel);
    assert(polled || expected == kDone);
    return polled;
}

CancelShield::CancelShield() noexcept {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old_state_);
}
CancelShield::~CancelShield() {
    pthread_setcancelstate(old_state_, nullptr);
}

}  // namespace pmix::transport
