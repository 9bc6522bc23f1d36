// SPDX-License-Identifier: BSD-3-Clause
// pmixrun's head and the ends of its daemons: each is over however its keeper's report is lost.
//
// daemons.c with real processes and a loop that the test runs.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <utility>
#include <vector>

extern "C" {
#include "daemons.h"
#include "loop.h"
}

namespace {

struct Watch {
    void (*ready)(int, short, void*);
    void* argument;
};
std::map<int, Watch> watches;
std::vector<std::pair<void (*)(void*), void*>> timers;
int changes;

void changed() {
    ++changes;
}

class PmixrunDaemons : public ::testing::Test {
  protected:
    void SetUp() override {
        watches.clear();
        timers.clear();
        for (pid_t& pid : pids_) {
            pid = ::fork();
            if (pid == 0) {
                for (;;) ::pause();
            }
            ASSERT_GT(pid, 0);
        }
        daemons_watch(pids_, 2, 10, &changed);
        ASSERT_EQ(2u, watches.size());
    }
    void TearDown() override {
        for (const pid_t pid : pids_) {
            if (pid == 0) continue;
            ::kill(pid, SIGKILL);
            ::waitpid(pid, nullptr, 0);
        }
        daemons_give_up();
        EXPECT_TRUE(watches.empty());
    }
    // As its keeper, which tells nobody.
    void ends(int number) {
        const pid_t pid = std::exchange(pids_[number], 0);
        ::kill(pid, SIGKILL);
        ASSERT_EQ(pid, ::waitpid(pid, nullptr, 0));
    }
    // Until the kernel has nothing more to tell.
    static void run_loop() {
        for (;;) {
            auto it = watches.begin();
            pollfd one{};
            for (; it != watches.end(); ++it) {
                one = {it->first, POLLIN, 0};
                if (::poll(&one, 1, 0) == 1) break;
            }
            if (it == watches.end()) return;
            const Watch watch = it->second;
            watch.ready(one.fd, one.revents, watch.argument);
        }
    }
    static void fire_timers() {
        for (const auto& [fire, argument] : std::exchange(timers, {})) fire(argument);
    }

    pid_t pids_[2] = {};
};

}  // namespace

extern "C" {
void loop_watch(int fd, short, void (*ready)(int, short, void*), void* argument) {
    watches[fd] = {ready, argument};
}
void loop_unwatch(int fd) {
    watches.erase(fd);
}
struct timer* loop_after(double, void (*fire)(void*), void* argument) {
    timers.emplace_back(fire, argument);
    return nullptr;
}
}

TEST_F(PmixrunDaemons, Reports_OfAll_EndTheWait) {
    const pid_t first = pids_[0];
    EXPECT_EQ(0, daemons_number_of(first));
    EXPECT_EQ(-1, daemons_number_of(::getpid()));
    ends(0);
    daemons_reported(0);
    EXPECT_EQ(-1, daemons_number_of(first)) << "the number may be another process's";
    EXPECT_FALSE(daemons_all_over());
    ends(1);
    run_loop();
    EXPECT_FALSE(daemons_all_over()) << "its wait status is on its way";
    daemons_reported(1);
    EXPECT_TRUE(daemons_all_over());
    fire_timers();
}

TEST_F(PmixrunDaemons, Report_LostWithTheKeeper_IsNotWaitedFor) {
    ends(0);
    run_loop();
    daemons_no_more_reports();
    EXPECT_FALSE(daemons_all_over());
    ends(1);
    run_loop();
    EXPECT_TRUE(daemons_all_over());
}

TEST_F(PmixrunDaemons, Report_NeverComes_IsWaitedForNoLongerThanAWhile) {
    ends(0);
    ends(1);
    run_loop();
    EXPECT_FALSE(daemons_all_over());
    const int before = changes;
    fire_timers();
    EXPECT_TRUE(daemons_all_over());
    EXPECT_LT(before, changes);
}

TEST_F(PmixrunDaemons, Kill_StoppedOnes_EndsThem) {
    for (const pid_t pid : pids_) ::kill(pid, SIGSTOP);
    daemons_kill();
    for (pid_t& slot : pids_) {
        const pid_t pid = std::exchange(slot, 0);
        int status = 0;
        ASSERT_EQ(pid, ::waitpid(pid, &status, 0));
        EXPECT_TRUE(WIFSIGNALED(status));
    }
    run_loop();
    daemons_no_more_reports();
    EXPECT_TRUE(daemons_all_over());
}

TEST_F(PmixrunDaemons, GiveUp_OfOnesThatNobodyCanEnd_EndsTheWait) {
    EXPECT_FALSE(daemons_all_over());
    daemons_give_up();
    EXPECT_TRUE(daemons_all_over());
}
