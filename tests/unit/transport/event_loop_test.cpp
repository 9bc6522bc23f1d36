// SPDX-License-Identifier: BSD-3-Clause
#include "transport/event_loop.h"

#include <event2/event.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <functional>
#include <future>
#include <new>
#include <thread>

#include "support/long_wait.h"
#include "support/sockets.h"
#include "support/status.h"

namespace pmix::transport::event_loop_test {
namespace {

std::unique_ptr<EventLoop> make_loop(Drive drive, event_base* base = nullptr) {
    EventLoopOptions options;
    options.drive = drive;
    options.host_base = base;
    auto loop = EventLoop::create(options);
    EXPECT_TRUE(loop.ok());
    return std::move(*loop);
}

TEST(Task, MovesSmallAndLargeClosuresAndDestroysThem) {
    auto counted = std::make_shared<int>(0);
    std::array<char, 200> large{};
    Task small([counted] { ++*counted; });
    Task big([counted, large] { *counted += 10 + large[0]; });
    EXPECT_EQ(3, counted.use_count());
    Task moved(std::move(small));
    EXPECT_FALSE(small);
    moved();
    small = std::move(big);
    small();
    EXPECT_EQ(11, *counted);
    moved.reset();
    small = Task();
    EXPECT_EQ(1, counted.use_count());
    auto only_movable = std::make_unique<int>(5);
    Task owns([p = std::move(only_movable)] { EXPECT_EQ(5, *p); });
    owns();
}

TEST(EventLoop, TasksRunInOrderOnTheLoopsThread) {
    test::DescriptorCheck check;
    auto loop = make_loop(Drive::own_thread);
    ASSERT_STATUS(PMIX_SUCCESS, loop->start());
    std::vector<int> seen;
    bool on_loop = false;
    for (int i = 0; i < 1000; ++i) loop->post([&seen, i] { seen.push_back(i); });
    loop->post([&] { on_loop = loop->on_loop_thread(); });
    EXPECT_FALSE(loop->on_loop_thread());
    EXPECT_STATUS(PMIX_SUCCESS, loop->stop());
    ASSERT_EQ(1000u, seen.size());
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(i, seen[static_cast<size_t>(i)]);
    EXPECT_TRUE(on_loop);
}

TEST(EventLoop, ManyPostersLoseNothing) {
    auto loop = make_loop(Drive::own_thread);
    loop->start();
    int total = 0;  // the loop's alone
    std::vector<std::thread> posters;
    for (int t = 0; t < 4; ++t) {
        posters.emplace_back([&] {
            for (int i = 0; i < 2000; ++i) loop->post([&] { ++total; });
        });
    }
    for (auto& p : posters) p.join();
    loop->stop();
    EXPECT_EQ(8000, total);
}

TEST(EventLoop, ATaskNeverRunsOnItsPostersStack) {
    auto loop = make_loop(Drive::caller);
    bool inner = false, seen_early = false;
    loop->post([&] {
        loop->post([&] { inner = true; });
        seen_early = inner;
    });
    EXPECT_FALSE(inner);
    while (!inner) loop->progress();
    EXPECT_FALSE(seen_early);
}

TEST(EventLoop, TheThreadHasItsNameAndTakesNoSignals) {
    auto loop = make_loop(Drive::own_thread);
    loop->start();
    char name[16] = "";
    sigset_t mask;
    sigemptyset(&mask);
    loop->post([&] {
        pthread_getname_np(pthread_self(), name, sizeof name);
        pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    });
    loop->stop();
    EXPECT_STREQ("wireup", name);
    EXPECT_EQ(1, sigismember(&mask, SIGTERM));
    EXPECT_EQ(1, sigismember(&mask, SIGCHLD));
    sigset_t own;
    pthread_sigmask(SIG_SETMASK, nullptr, &own);
    EXPECT_EQ(0, sigismember(&own, SIGTERM));
}

TEST(EventLoop, AThrowingTaskLosesOnlyItself) {
    auto loop = make_loop(Drive::own_thread);
    loop->start();
    bool after = false;
    loop->post([] { throw std::bad_alloc(); });
    loop->post([&] { after = true; });
    loop->stop();
    EXPECT_TRUE(after);
}

struct CountedStep final : RecoveryStep {
    void on_recovery() noexcept override { ++taken; }
    int taken = 0;
};

TEST(EventLoop, RecoverLater_IsTakenOnceAndNotAtOnce) {
    auto loop = make_loop(Drive::caller);
    CountedStep first, second;
    {
        LoopRole role(*loop);
        CountedStep gone;
        loop->recover_later(first);
        loop->recover_later(gone);
        loop->recover_later(second);
        loop->recover_later(first);
    }
    EXPECT_EQ(0, first.taken + second.taken);
    for (int i = 0; i < 4; ++i) loop->progress();
    EXPECT_EQ(1, first.taken);
    EXPECT_EQ(1, second.taken);
}

TEST(EventLoop, RecoverLater_StepThatComesAgainLetsTheLoopGoOn) {
    struct Again final : RecoveryStep {
        explicit Again(EventLoop& which) : loop(which) {}
        void on_recovery() noexcept override {
            assert_on_loop();
            ++taken;
            loop.recover_later(*this);
        }
        EventLoop& loop;
        int taken = 0;
    };
    auto loop = make_loop(Drive::caller);
    Again again(*loop);
    {
        LoopRole role(*loop);
        loop->recover_later(again);
    }
    loop->progress();
    EXPECT_EQ(1, again.taken);
    loop->progress();
    EXPECT_EQ(2, again.taken);
    loop.reset();  // the step outlives it
}

TEST(EventLoop, StepLost_RecoveriesOfAllOwners_UntilNoneFails) {
    auto loop = make_loop(Drive::caller);
    int first = 0, second = 0;
    {
        LoopRole role(*loop);
        loop->set_recovery(&first, [&] { return ++first > 1; });
        loop->set_recovery(&second, [&]() -> bool {
            if (++second == 1) throw std::bad_alloc();
            return true;
        });
    }
    loop->step_lost();
    const test::LongWait most;
    while ((first < 2 || second < 2) && !most.over()) loop->progress();
    EXPECT_EQ(2, first);
    EXPECT_EQ(2, second);
    {
        LoopRole role(*loop);
        loop->set_recovery(&first, {});
    }
    loop->step_lost();
    while (second < 3 && !most.over()) loop->progress();
    EXPECT_EQ(2, first) << "its owner has gone";
    EXPECT_EQ(3, second);
}

TEST(EventLoop, StopOnTheLoopIsRefused) {
    auto loop = make_loop(Drive::own_thread);
    loop->start();
    pmix_status_t inside = PMIX_SUCCESS;
    loop->post([&] { inside = loop->stop(); });
    EXPECT_STATUS(PMIX_SUCCESS, loop->stop());
    EXPECT_STATUS(PMIX_ERR_WOULD_BLOCK, inside);
}

TEST(EventLoop, WhatIsPostedAfterStopIsDestroyedUnrun) {
    auto held = std::make_shared<int>(0);
    {
        auto loop = make_loop(Drive::own_thread);
        loop->start();
        loop->stop();
        loop->post([held] { ++*held; });
        EXPECT_EQ(2, held.use_count());
    }
    EXPECT_EQ(1, held.use_count());
    EXPECT_EQ(0, *held);
}

TEST(EventLoop, TimersComeNotBeforeTheirTimeAndInOrder) {
    auto loop = make_loop(Drive::caller);
    std::vector<int> order;
    int64_t begin = 0, late = 0;
    TimerId cancelled, fired;
    {
        LoopRole role(*loop);
        // All four within a millisecond: a thread that is stopped between two of them sets them in another order.
        for (;;) {
            begin = monotonic_ns();
            fired = loop->after(5, [&] { order.push_back(5), late = monotonic_ns(); });
            const TimerId one = loop->after(1, [&] { order.push_back(1); });
            const TimerId zero = loop->after(0, [&] { order.push_back(0); });
            cancelled = loop->after(2, [&] { order.push_back(2); });
            if (monotonic_ns() - begin < 1'000'000) break;
            for (TimerId timer : {fired, one, zero, cancelled}) EXPECT_TRUE(loop->cancel(timer));
        }
        EXPECT_TRUE(loop->cancel(cancelled));
        EXPECT_FALSE(loop->cancel(cancelled));
        const TimerId never = loop->after(INT64_MAX, [] {});
        EXPECT_NE(0u, never);
        EXPECT_FALSE(loop->cancel(never));
    }
    while (order.size() < 3) loop->progress();
    EXPECT_EQ((std::vector<int>{0, 1, 5}), order);
    EXPECT_GE(late - begin, 5'000'000);
    LoopRole role(*loop);
    EXPECT_FALSE(loop->cancel(fired));
}

TEST(EventLoop, PendingTimersGoWithTheLoop) {
    auto held = std::make_shared<int>(0);
    auto loop = make_loop(Drive::caller);
    {
        LoopRole role(*loop);
        loop->after(100'000, [held] {});
    }
    loop.reset();
    EXPECT_EQ(1, held.use_count());
}

class Ready final : public WatchHandler {
  public:
    void on_ready(bool readable, bool writable) noexcept override {
        reads += readable;
        writes += writable;
        if (drop) drop->reset();
    }
    int reads = 0, writes = 0;
    std::unique_ptr<Watch>* drop = nullptr;
};

TEST(EventLoop, WatchesReadAndWriteInterest) {
    test::DescriptorCheck check;
    auto [a, b] = test::socket_pair();
    auto loop = make_loop(Drive::caller);
    Ready ready;
    std::unique_ptr<Watch> watch;
    LoopRole role(*loop);
    watch = loop->watch(a.get(), ready);
    ASSERT_TRUE(watch->set(true, false));
    auto run_once = [&]() NO_THREAD_SAFETY_ANALYSIS {  // progress() refuses the loop's own thread
        std::thread([&] { loop->progress(); }).join();
    };
    run_once();
    EXPECT_EQ(0, ready.reads);
    test::write_all(b.get(), {1});
    run_once();
    EXPECT_EQ(1, ready.reads);
    EXPECT_EQ(0, ready.writes);
    watch->set(false, true);
    run_once();
    EXPECT_EQ(1, ready.reads);
    EXPECT_EQ(1, ready.writes);
    watch->set(true, false);
    ready.drop = &watch;  // destroyed inside its own handler
    run_once();
    EXPECT_EQ(2, ready.reads);
    EXPECT_EQ(nullptr, watch);
    run_once();
    EXPECT_EQ(2, ready.reads);
}

TEST(EventLoop, ACallerRunsTheLoopWhileItWaits) {
    auto loop = make_loop(Drive::caller);
    Waiter waiter;
    loop->post([&] { loop->post([&] { waiter.complete(); }); });
    EXPECT_TRUE(loop->wait(waiter, Deadline::never()));

    Waiter never;
    EXPECT_FALSE(loop->wait(never, Deadline::in_ms(2)));

    // Two threads wait; whichever runs the loop, both are served.
    Waiter one, two;
    std::thread other([&] { EXPECT_TRUE(loop->wait(one, Deadline::never())); });
    std::thread poster([&] {
        loop->post([&] { two.complete(); });
        loop->post([&] { one.complete(); });
    });
    EXPECT_TRUE(loop->wait(two, Deadline::never()));
    other.join();
    poster.join();
}

// A reader of a connection, say, completes the call of a thread that runs the loop.
TEST(EventLoop, Wait_CompletedByAnotherThread_ReturnsFromTheLoop) {
    test::DescriptorCheck check;
    auto loop = make_loop(Drive::caller);
    for (int i = 0; i < 200; ++i) {
        Waiter waiter;
        std::atomic<bool> turning{false};
        loop->post([&] { turning = true; });
        std::thread other([&] {
            while (!turning) std::this_thread::yield();
            waiter.complete();
        });
        ASSERT_TRUE(loop->wait(waiter, Deadline::never()));
        other.join();
    }
}

TEST(EventLoop, HandOver_ThreadSleepsInWait_RunsTheLoopItself) {
    test::DescriptorCheck check;
    for (int round = 0; round < 100; ++round) {
        auto loop = make_loop(Drive::own_thread);
        ASSERT_STATUS(PMIX_SUCCESS, loop->start());
        Waiter waiter, late;
        std::atomic<bool> there{false};
        std::thread sleeper([&] {
            there = true;
            EXPECT_TRUE(loop->wait(waiter, Deadline::never()));
        });
        std::thread patient([&] { EXPECT_FALSE(loop->wait(late, Deadline::in_ms(20))); });
        while (!there) std::this_thread::yield();
        ASSERT_STATUS(PMIX_SUCCESS, loop->hand_over(round % 2 == 0));
        loop->post([&] { waiter.complete(); });
        sleeper.join();
        patient.join();
    }
}

TEST(EventLoop, WaitOnTheLoopDoesNotHang) {
    auto loop = make_loop(Drive::caller);
    bool answered = true;
    loop->post([&] {
        Waiter waiter;
        answered = loop->wait(waiter, Deadline::never());
    });
    loop->progress();
    EXPECT_FALSE(answered);
}

TEST(EventLoop, RunsOnTheHostsBase) {
    event_base* base = event_base_new();
    {
        auto loop = make_loop(Drive::host_base, base);
        EXPECT_STATUS(PMIX_SUCCESS, loop->start());
        bool ran = false;
        loop->post([&] {
            ran = loop->on_loop_thread();
            loop->after(1, [base] { event_base_loopbreak(base); });
        });
        EXPECT_FALSE(ran);
        event_base_dispatch(base);
        EXPECT_TRUE(ran);
        EXPECT_FALSE(loop->on_loop_thread());
        EXPECT_STATUS(PMIX_SUCCESS, loop->stop());
    }
    event_base_free(base);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, EventLoop::create({Drive::host_base, nullptr, &kRealIo}).status());
}

// Both tasks are run by one pass: it lasts as long as they do together. A pass without a handler is none.
TEST(EventLoop, LongestPass_OfACallersLoop_IsWhatItsHandlersTook) {
    auto loop = make_loop(Drive::caller);
    const auto longest = [&] {
        LoopRole role(*loop);
        return loop->longest_pass_us();
    };
    Waiter never;
    EXPECT_FALSE(loop->wait(never, Deadline::in_ms(30)));
    EXPECT_EQ(0u, longest());
    for (int i = 0; i < 2; ++i) loop->post([] { ::usleep(20'000); });
    loop->progress();
    const uint64_t busy = longest();
    EXPECT_LE(40'000u, busy);
    EXPECT_FALSE(loop->wait(never, Deadline::in_ms(50)));
    EXPECT_EQ(busy, longest());
    Waiter done;
    loop->post([&] {
        ::usleep(static_cast<useconds_t>(busy) + 1000);
        done.complete();
    });
    EXPECT_TRUE(loop->wait(done, Deadline::never()));
    EXPECT_LT(busy, longest());
}

TEST(EventLoop, SlowPasses_AreThoseOfFiftyMilliseconds) {
    auto loop = make_loop(Drive::caller);
    const auto slow = [&] {
        LoopRole role(*loop);
        return loop->slow_passes();
    };
    loop->post([] { ::usleep(1'000); });
    loop->progress();
    EXPECT_EQ(0u, slow());
    for (int i = 0; i < 2; ++i) loop->post([] { ::usleep(30'000); });
    loop->progress();
    EXPECT_EQ(1u, slow());
    Waiter never;
    EXPECT_FALSE(loop->wait(never, Deadline::in_ms(60)));  // nothing to do is not slow
    EXPECT_EQ(1u, slow());
    loop->post([] { ::usleep(50'000); });
    loop->progress();
    EXPECT_EQ(2u, slow());
}

TEST(EventLoop, LongestPass_OfTheLoopsThreadAndOfAHostsBase_IsKnown) {
    {
        auto loop = make_loop(Drive::own_thread);
        ASSERT_STATUS(PMIX_SUCCESS, loop->start());
        loop->post([] { ::usleep(20'000); });
        loop->stop();
        LoopRole role(*loop);
        EXPECT_LE(20'000u, loop->longest_pass_us());
    }
    event_base* base = event_base_new();
    {
        auto loop = make_loop(Drive::host_base, base);
        loop->post([&] {
            ::usleep(20'000);
            loop->after(1, [base] { event_base_loopbreak(base); });
        });
        event_base_dispatch(base);
        LoopRole role(*loop);
        EXPECT_LE(20'000u, loop->longest_pass_us());
    }
    event_base_free(base);
}

// What a loop posts to itself runs without a wake-up between, but a task that posts itself keeps no descriptor waiting.
TEST(EventLoop, ATaskThatPostsItselfLetsTheDescriptorsIn) {
    auto [a, b] = test::socket_pair();
    const int writer = b.get();  // clang 14 captures no structured binding
    auto loop = make_loop(Drive::own_thread);
    Ready ready;
    std::unique_ptr<Watch> watch;
    long runs = 0;
    std::promise<void> over;
    std::function<void()> again = [&] {
        ++runs;
        if (runs == 3) test::write_all(writer, {1});
        if (ready.reads == 0 && runs < 1'000'000) {
            loop->post([&] { again(); });
        } else {
            over.set_value();
        }
    };
    {
        LoopRole role(*loop);
        watch = loop->watch(a.get(), ready);
        ASSERT_TRUE(watch->set(true, false));
    }
    loop->post([&] { again(); });
    ASSERT_STATUS(PMIX_SUCCESS, loop->start());
    over.get_future().wait();
    EXPECT_STATUS(PMIX_SUCCESS, loop->stop());
    EXPECT_LT(runs, 16);
    LoopRole role(*loop);
    watch.reset();
}

// An upcall and its answer are two posts: neither waits for another look at the descriptors.
TEST(EventLoop, WhatAPostedTaskPostsRunsInTheSamePass) {
    auto [a, b] = test::socket_pair();
    const int writer = b.get();
    auto loop = make_loop(Drive::caller);
    Ready ready;
    std::unique_ptr<Watch> watch;
    {
        LoopRole role(*loop);
        watch = loop->watch(a.get(), ready);
        ASSERT_TRUE(watch->set(true, false));
    }
    int reads_before_answer = -1;
    loop->post([&] {
        loop->post([&] {
            test::write_all(writer, {1});
            loop->post([&] { reads_before_answer = ready.reads; });
        });
    });
    loop->progress();
    EXPECT_EQ(0, reads_before_answer);
    loop->progress();
    EXPECT_EQ(1, ready.reads);
    LoopRole role(*loop);
    watch.reset();
}

// The child gives the loop up; the parent's goes on, and still sees its descriptors.
TEST(EventLoop, AForkedChildAbandonsIt) {
    auto [a, b] = test::socket_pair();
    auto loop = make_loop(Drive::caller);
    Ready ready;
    std::unique_ptr<Watch> watch;
    {
        LoopRole role(*loop);
        watch = loop->watch(a.get(), ready);
        watch->set(true, false);
    }
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        EventLoop::abandon(std::move(loop));
        [[maybe_unused]] Watch* given_up = watch.release();
        auto own = make_loop(Drive::own_thread);
        bool ran = false;
        own->start();
        own->post([&] { ran = true; });
        own->stop();
        ::_exit(ran ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(0, status);
    test::write_all(b.get(), {1});
    loop->progress();
    EXPECT_EQ(1, ready.reads);
    LoopRole role(*loop);
    watch.reset();
}

TEST(EventLoop, ManyCyclesLeaveNothing) {
    test::DescriptorCheck check;
    for (int i = 0; i < 100; ++i) {
        auto loop = make_loop(Drive::own_thread);
        loop->start();
    }
}

}  // namespace
}  // namespace pmix::transport::event_loop_test
