// SPDX-License-Identifier: BSD-3-Clause
// pmixrun's sweeper on a file system that does not answer: neither the start nor the end of pmixrun waits for it
// without an end.
//
// sweeper.c and waits.c with real processes; what the sweeper calls to make and remove its directory is here.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

extern "C" {
#include "sweep.h"
#include "sweeper.h"
#include "waits.h"
}

namespace {

bool makes_nothing, removes_nothing;
volatile pid_t* sweeper_pid;  // shared with the sweeper

class PmixrunSweeper : public ::testing::Test {
  protected:
    void SetUp() override {
        makes_nothing = removes_nothing = false;
        void* page = ::mmap(nullptr, sizeof *sweeper_pid, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(MAP_FAILED, page);
        sweeper_pid = static_cast<volatile pid_t*>(page);
        ::prctl(PR_SET_CHILD_SUBREAPER, 1);
        sigset_t term;
        sigemptyset(&term);
        sigaddset(&term, SIGTERM);
        ::sigprocmask(SIG_BLOCK, &term, nullptr);
    }
    void TearDown() override {
        if (!started_) return;
        while (*sweeper_pid == 0) ::sched_yield();
        ::kill(*sweeper_pid, SIGKILL);
        ::waitpid(*sweeper_pid, nullptr, 0);
        ::rmdir(directory_);
    }
    bool start(double seconds) {
        started_ = true;
        return sweeper_start(directory_, sizeof directory_, waits_until(seconds));
    }
    // The signal that was pending, which no longer is.
    static int take_signal() {
        sigset_t term;
        sigemptyset(&term);
        sigaddset(&term, SIGTERM);
        const timespec none{};
        return ::sigtimedwait(&term, nullptr, &none);
    }

    char directory_[3072] = {};

  private:
    bool started_ = false;
};

}  // namespace

extern "C" char* mkdtemp(char* path) noexcept {
    *sweeper_pid = ::getpid();
    while (makes_nothing) ::pause();
    auto number = static_cast<unsigned>(::getpid());
    for (char* c = path + std::strlen(path); *--c == 'X'; number /= 10) *c = static_cast<char>('0' + number % 10);
    return ::mkdir(path, 0700) == 0 ? path : nullptr;
}
extern "C" void sweep_directory(const char* path) {
    while (removes_nothing) ::pause();
    ::rmdir(path);
}

TEST_F(PmixrunSweeper, Start_AndEnd_DirectoryIsThereMeanwhile) {
    ASSERT_TRUE(start(60));
    EXPECT_EQ(0, ::access(directory_, W_OK));
    EXPECT_TRUE(sweeper_end(waits_until(60)));
    EXPECT_NE(0, ::access(directory_, F_OK));
}

TEST_F(PmixrunSweeper, Start_FileSystemDoesNotAnswer_EndsAtTheLimit) {
    makes_nothing = true;
    EXPECT_FALSE(start(0.05));
    EXPECT_EQ(ETIMEDOUT, errno);
    EXPECT_EQ(0, waits_signal());
}

TEST_F(PmixrunSweeper, Start_FileSystemDoesNotAnswer_SignalEndsIt) {
    makes_nothing = true;
    ::raise(SIGTERM);
    EXPECT_FALSE(start(1e9));
    EXPECT_EQ(EINTR, errno);
    EXPECT_EQ(SIGTERM, waits_signal());
    EXPECT_EQ(SIGTERM, take_signal());
}

TEST_F(PmixrunSweeper, End_FileSystemDoesNotAnswer_EndsAtTheLimitAndWithASignal) {
    removes_nothing = true;
    ASSERT_TRUE(start(60));
    EXPECT_FALSE(sweeper_end(waits_until(0.05)));
    EXPECT_EQ(ETIMEDOUT, errno);
    ::raise(SIGTERM);
    EXPECT_FALSE(sweeper_end(waits_until(1e9)));
    EXPECT_EQ(EINTR, errno);
    EXPECT_EQ(SIGTERM, take_signal());
}

TEST_F(PmixrunSweeper, Read_OtherEndIsClosed_Ends) {
    int ends[2];
    char text[4] = {};
    ASSERT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
    ASSERT_EQ(2, ::write(ends[1], "ab", 2));
    EXPECT_TRUE(waits_read(ends[0], text, 2, waits_until(60)));
    EXPECT_STREQ("ab", text);
    ASSERT_EQ(1, ::write(ends[1], "c", 1));
    ::close(ends[1]);
    EXPECT_FALSE(waits_read(ends[0], text, 2, waits_until(1e9)));
    EXPECT_EQ(EPIPE, errno);
    ::close(ends[0]);
}
