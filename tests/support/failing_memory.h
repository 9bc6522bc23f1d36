// SPDX-License-Identifier: BSD-3-Clause
// Allocations that fail when a test says so. failing_memory.cpp, which is part of such a program, stands in front of
// malloc; a sanitizer does so itself, and these programs are not built with one.
//
// FailingMemory::arm(n): of the allocations that are made between resume() and pause() the one after n others fails,
// and no other; arm_all(): every one fails. One thread, whose allocations alone are counted.
#pragma once

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
