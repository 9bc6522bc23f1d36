// SPDX-License-Identifier: BSD-3-Clause
// Read-copy-update for mapped segments: the read guard and the grace period, after which a removed segment can be
// unmapped.
//
// Reading is the guard: it marks the calling thread as a reader until it is destroyed, by two plain stores to a line of
// the thread's own, no fence, no lock; it nests. GracePeriod is for the code that has removed something from the
// readers' view: once over() is true, every thread that could have seen it has left. The fence that the readers omit is
// forced on them from the other side (membarrier), where another living thread has ever read. Lines belong to threads,
// are reused, and stay until the process ends.
//
// Reading: any thread. GracePeriod: one thread at a time. What can go wrong: a kernel without membarrier. Then over()
// is never true, and what was removed stays mapped.
#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>
#include <utility>
#include <vector>

namespace pmix::client {

// Odd: inside. Each entry and each exit adds one.
struct alignas(64) ReadingLine {
    std::atomic<uint64_t> count{0};
    std::atomic<bool> taken{true};
    ReadingLine* next = nullptr;
};

struct ReadingThread {
    ReadingLine* line;  // null before the first read
    uint32_t depth;
};
extern constinit thread_local ReadingThread t_reading __attribute__((tls_model("initial-exec")));

class Reading {
  public:
    Reading() noexcept {
        if (t_reading.depth++ == 0) enter();
    }
    ~Reading() {
        assert(t_reading.depth > 0 && t_reading.line != nullptr);  // it ends on the thread that it began on
        if (--t_reading.depth == 0) leave();
    }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

    // In a forked child: threads that were reading in the parent are not here, and will not leave.
    static void forget_other_threads() noexcept;

  private:
    static void enter() noexcept {
        if (t_reading.line == nullptr) [[unlikely]]
            take_line();
        std::atomic<uint64_t>& count = t_reading.line->count;
        count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);  // GracePeriod has the other fence
    }
    static void leave() noexcept {
        std::atomic<uint64_t>& count = t_reading.line->count;
        count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
    static void take_line() noexcept;
};

class GracePeriod {
  public:
    // Before the process has its second thread: what the first grace period would wait for is free then. It does
    // nothing in a process that has several.
    static void prepare() noexcept;
    // Begins now: after what is to go cannot be found any more.
    void begin();
    // Has everybody left who was inside then?
    bool over() noexcept;
    // False: over() will never be true.
    bool possible() const noexcept { return possible_; }

  private:
    bool possible_ = false;
    std::vector<std::pair<const ReadingLine*, uint64_t>> inside_;
};

}  // namespace pmix::client
