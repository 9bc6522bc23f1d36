// SPDX-License-Identifier: BSD-3-Clause
// A point on CLOCK_MONOTONIC by which something must have happened, or never. A value, any thread.
#pragma once

#include <time.h>

#include <climits>
#include <cstdint>

namespace pmix::transport {

inline int64_t monotonic_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

inline int64_t monotonic_ms() noexcept {
    return monotonic_ns() / 1'000'000;
}

class Deadline {
  public:
    static Deadline never() noexcept { return Deadline(INT64_MAX); }
    static Deadline in_ms(int64_t ms) noexcept {
        const int64_t now = monotonic_ns();
        if (ms >= (INT64_MAX - now) / 1'000'000) return never();
        return Deadline(now + (ms > 0 ? ms * 1'000'000 : 0));
    }
    bool is_never() const noexcept { return ns_ == INT64_MAX; }
    bool passed() const noexcept { return !is_never() && monotonic_ns() >= ns_; }
    int64_t ns() const noexcept { return ns_; }
    int64_t remaining_ns() const noexcept {
        if (is_never()) return INT64_MAX;
        const int64_t left = ns_ - monotonic_ns();
        return left > 0 ? left : 0;
    }
    // For poll: rounded up, so that a wait never ends a moment too early; -1 is for ever.
    int poll_ms() const noexcept {
        if (is_never()) return -1;
        const int64_t ms = (remaining_ns() + 999'999) / 1'000'000;
        return ms > INT_MAX ? INT_MAX : static_cast<int>(ms);
    }

  private:
    explicit Deadline(int64_t ns) noexcept : ns_(ns) {}
    int64_t ns_;
};

inline Deadline sooner(Deadline a, Deadline b) noexcept {
    return a.ns() < b.ns() ? a : b;
}

}  // namespace pmix::transport
