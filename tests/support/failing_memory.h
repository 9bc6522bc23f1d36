// SPDX-License-Identifier: BSD-3-Clause
// Allocations that fail when a test says so: for one source file of a program, which stands in front of malloc with it.
//
// FailingMemory::arm(n): of the allocations that are made between resume() and pause() the one after n others fails,
// and no other; arm_all(): every one fails. A sanitizer stands in front of malloc itself: kFailingMemory is false
// there, and nothing ever fails. One thread, whose allocations alone are counted.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WIREUP_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WIREUP_TEST_SANITIZED 1
#endif
#endif

namespace pmix::test {

class FailingMemory {
  public:
    static void arm(long after) noexcept { left_ = after, all_ = failed_ = counts_ = false; }
    static void arm_all() noexcept { arm(0), all_ = true; }
    static void resume() noexcept { counts_ = true; }
    static void pause() noexcept { counts_ = false; }
    // Between resume() and pause().
    static bool counts() noexcept { return counts_; }
    // Since arm(): an allocation has failed.
    static bool failed() noexcept { return failed_; }

    static bool fails() noexcept {
        if (!counts_ || (failed_ && !all_) || left_-- > 0) return false;
        return failed_ = true;
    }

  private:
    static inline long left_ = 0;
    static inline bool failed_ = false, all_ = false;
    static inline thread_local bool counts_ = false;
};

}  // namespace pmix::test

#ifdef WIREUP_TEST_SANITIZED
inline constexpr bool kFailingMemory = false;
#else
inline constexpr bool kFailingMemory = true;

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);

void* malloc(size_t n) {
    return pmix::test::FailingMemory::fails() ? nullptr : __libc_malloc(n);
}
void* calloc(size_t n, size_t m) {
    return pmix::test::FailingMemory::fails() ? nullptr : __libc_calloc(n, m);
}
void* realloc(void* old, size_t n) {
    return pmix::test::FailingMemory::fails() ? nullptr : __libc_realloc(old, n);
}
}
#endif
