// SPDX-License-Identifier: BSD-3-Clause
// What a thread has computed, for bounds on its work: other threads and processes do not count.
#pragma once

#include <ctime>

namespace pmix::test {

// Of the calling thread.
inline double cpu_seconds() {
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

}  // namespace pmix::test
