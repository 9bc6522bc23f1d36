// SPDX-License-Identifier: BSD-3-Clause
// The grace period asks the kernel for fences only where another thread may read, and has registered for them before
// the process had threads: later the kernel waits some 10 ms for that, with the event loop standing still.
#include "client/state/read_guard.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <semaphore>
#include <thread>

namespace pmix::client::read_guard_test {
namespace {

// From now on the calls of this process to membarrier fail as on a kernel without it.
bool take_membarrier_away() {
    std::array<sock_filter, 4> program = {{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    }};
    sock_fprog filter{program.size(), program.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// In the order of this file: each takes more away from the process than the one before.
TEST(ReadGuard, Prepare_BeforeThreads_RegistersForFences) {
    if (::syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) < 0) GTEST_SKIP() << "a kernel without membarrier";
    ASSERT_EQ(::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0), -1) << "registered before the test";
    GracePeriod::prepare();
    EXPECT_EQ(::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0), 0);
}

TEST(ReadGuard, Begin_NoOtherThreadReads_NeedsNoKernel) {
    if (!take_membarrier_away()) GTEST_SKIP() << "a kernel without seccomp filters";
    GracePeriod period;
    period.begin();
    EXPECT_TRUE(period.over());
    {
        Reading inside;
        period.begin();
        EXPECT_FALSE(period.over()) << "this thread itself is inside";
    }
    EXPECT_TRUE(period.over());
}

// It may stand between its look at the list and its store, which only a fence of its own orders.
TEST(ReadGuard, Begin_AnotherThreadHasRead_IsNotOverWithoutTheFence) {
    if (!take_membarrier_away()) GTEST_SKIP() << "a kernel without seccomp filters";
    std::binary_semaphore has_read{0};
    std::binary_semaphore end{0};
    std::thread reader([&] {
        { Reading once; }
        has_read.release();
        end.acquire();
    });
    has_read.acquire();
    GracePeriod period;
    period.begin();
    EXPECT_FALSE(period.over());
    end.release();
    reader.join();
    period.begin();
    EXPECT_TRUE(period.over()) << "its line is given back at its end";
}

}  // namespace
}  // namespace pmix::client::read_guard_test
