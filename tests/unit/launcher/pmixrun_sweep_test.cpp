// SPDX-License-Identifier: BSD-3-Clause
// The end of what a process of pmixrun has started: no child that the kernel does not end holds its parent.
//
// sweep.c with real processes, and a kill() that the test can make a system call without effect.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

extern "C" {
#include "sweep.h"
}

namespace {
bool kernel_ends_processes = true;

// Below it a child of its own.
pid_t start_two() {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    if (::fork() < 0) ::_exit(1);
    for (;;) ::pause();
}
}  // namespace

extern "C" int kill(pid_t pid, int number) noexcept {
    return kernel_ends_processes ? static_cast<int>(::syscall(SYS_kill, pid, number)) : 0;
}

TEST(PmixrunSweep, Processes_AllEnd_NoneIsLeft) {
    sweep_become_subreaper();
    ASSERT_GT(start_two(), 0);
    ASSERT_GT(start_two(), 0);
    EXPECT_TRUE(sweep_processes(60));
    EXPECT_EQ(-1, ::waitpid(-1, nullptr, WNOHANG));
    EXPECT_EQ(ECHILD, errno);
}

TEST(PmixrunSweep, Process_NobodyCanEnd_IsGivenUp) {
    sweep_become_subreaper();
    ASSERT_GT(start_two(), 0);
    kernel_ends_processes = false;
    EXPECT_FALSE(sweep_processes(0.05));
    kernel_ends_processes = true;
    EXPECT_TRUE(sweep_processes(60));
}
