// SPDX-License-Identifier: BSD-3-Clause
// A loop whose thread starts late: a process that has nothing for the loop does not pay for a thread.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <new>
#include <thread>
#include <vector>

#include "support/long_wait.h"
#include "support/sanitizers.h"
#include "support/status.h"
#include "transport/event_loop.h"

namespace pmix::transport::late_thread_test {
namespace {

std::unique_ptr<EventLoop> late_loop() {
    EventLoopOptions options;
    options.late = true;
    auto loop = EventLoop::create(options);
    EXPECT_TRUE(loop.ok());
    return std::move(*loop);
}

// Posts and waits for it.
bool runs(EventLoop& loop) {
    Waiter waiter;
    loop.post([&] { waiter.complete(); });
    const test::LongWait most;
    return loop.wait(waiter, most.deadline());
}

TEST(LateThread, IsStartedByTheFirstTask) {
    auto loop = late_loop();
    ASSERT_STATUS(PMIX_SUCCESS, loop->start());
    EXPECT_FALSE(loop->is_turned());
    loop->post([] {});
    EXPECT_TRUE(loop->is_turned()) << "although nobody waits";
    EXPECT_TRUE(runs(*loop));
    EXPECT_TRUE(runs(*loop));
    EXPECT_STATUS(PMIX_SUCCESS, loop->stop());
    EXPECT_FALSE(loop->is_turned());
}

TEST(LateThread, IsStartedByAThreadThatWaits) {
    auto loop = late_loop();
    ASSERT_STATUS(PMIX_SUCCESS, loop->start());
    Waiter waiter;
    EXPECT_FALSE(loop->wait(waiter, Deadline::in_ms(1)));
    EXPECT_TRUE(loop->is_turned());
    EXPECT_STATUS(PMIX_SUCCESS, loop->stop());
}

TEST(LateThread, WhatWasPostedBeforeTheStartNeedsIt) {
    auto loop = late_loop();
    Waiter waiter;
    loop->post([&] { waiter.complete(); });
    EXPECT_FALSE(loop->is_turned()) << "it may not run before start()";
    ASSERT_STATUS(PMIX_SUCCESS, loop->start());
    EXPECT_TRUE(loop->is_turned());
    const test::LongWait most;
    EXPECT_TRUE(loop->wait(waiter, most.deadline()));
    EXPECT_STATUS(PMIX_SUCCESS, loop->stop());
}

TEST(LateThread, IsStartedOnceByManyAtATime) {
    for (int round = 0; round < 100; ++round) {
        auto loop = late_loop();
        loop->start();
        int total = 0;  // the loop's alone
        std::vector<std::thread> posters;
        for (int t = 0; t < 3; ++t) {
            posters.emplace_back([&] {
                EXPECT_STATUS(PMIX_SUCCESS, loop->need_thread());
                for (int i = 0; i < 20; ++i) loop->post([&] { ++total; });
            });
        }
        for (auto& p : posters) p.join();
        loop->stop();
        EXPECT_EQ(60, total);
    }
}

TEST(LateThread, StoppedBeforeItWasNeeded_IsNotStartedAnyMore) {
    for (const bool by_stop : {true, false}) {
        auto loop = late_loop();
        ASSERT_STATUS(PMIX_SUCCESS, loop->start());
        if (by_stop)
            EXPECT_STATUS(PMIX_SUCCESS, loop->stop());
        else
            EXPECT_TRUE(loop->withdraw_thread());
        auto kept = std::make_shared<int>(0);
        loop->post([kept] { ++*kept; });
        EXPECT_STATUS(PMIX_SUCCESS, loop->need_thread());
        EXPECT_FALSE(loop->is_turned());
        EXPECT_EQ(2, kept.use_count());
        loop.reset();
        EXPECT_EQ(1, kept.use_count());
        EXPECT_EQ(0, *kept);
    }
    auto loop = late_loop();
    ASSERT_STATUS(PMIX_SUCCESS, loop->start());
    EXPECT_TRUE(runs(*loop));
    EXPECT_FALSE(loop->withdraw_thread()) << "it runs";
    EXPECT_TRUE(runs(*loop));
    EXPECT_STATUS(PMIX_SUCCESS, loop->stop());
}

TEST(LateThread, HandedOverBeforeItWasNeeded_CallersDriveTheLoop) {
    for (const bool flush : {true, false}) {
        auto loop = late_loop();
        ASSERT_STATUS(PMIX_SUCCESS, loop->start());
        EXPECT_STATUS(PMIX_SUCCESS, loop->hand_over(flush));
        EXPECT_EQ(Drive::caller, loop->drive());
        Waiter waiter;
        std::thread::id by;
        loop->post([&] {
            by = std::this_thread::get_id();
            waiter.complete();
        });
        const test::LongWait most;
        EXPECT_TRUE(loop->wait(waiter, most.deadline()));
        EXPECT_EQ(std::this_thread::get_id(), by);
    }
}

// ---- a caller that runs the loop ----

// Completes a waiter when somebody writes to it, and tells which thread has seen that.
struct Bell final : WatchHandler {
    explicit Bell(EventLoop& loop) {
        EXPECT_EQ(0, ::pipe2(ends, O_CLOEXEC | O_NONBLOCK));
        LoopRole role(loop);
        watch = loop.watch(ends[0], *this);
        EXPECT_TRUE(watch->set(true, false));
    }
    ~Bell() {
        ::close(ends[0]);
        ::close(ends[1]);
    }
    void on_ready(bool, bool) noexcept override {
        char byte;
        EXPECT_EQ(1, ::read(ends[0], &byte, 1));
        by = std::this_thread::get_id();
        if (then) then();
        waiter.complete();
    }
    void ring() const { EXPECT_EQ(1, ::write(ends[1], "x", 1)); }
    void close(EventLoop& loop) {
        LoopRole role(loop);
        watch.reset();
    }

    int ends[2];
    Waiter waiter;
    std::thread::id by;
    std::function<void()> then;
    std::unique_ptr<Watch> watch;
};

TEST(LateThread, RunHere_TheCallerIsTheLoop) {
    auto loop = late_loop();
    Bell bell(*loop);
    ASSERT_STATUS(PMIX_SUCCESS, loop->start());
    bool on_loop = false, later = false;
    bell.then = [&] { loop->post([&] { later = true; }); };
    Task task = [&] {
        on_loop = loop->on_loop_thread();
        bell.ring();
    };
    const test::LongWait most;
    EXPECT_TRUE(loop->run_here(task, &bell.waiter, most.deadline()));
    EXPECT_TRUE(bell.waiter.done());
    EXPECT_EQ(std::this_thread::get_id(), bell.by);
    EXPECT_TRUE(on_loop);
    EXPECT_TRUE(later) << "what the loop has posted itself";
    EXPECT_FALSE(loop->on_loop_thread());
    EXPECT_FALSE(loop->is_turned());
    EXPECT_STATUS(PMIX_SUCCESS, loop->stop());
    bell.close(*loop);
}

TEST(LateThread, RunHere_WithoutAWaiter_RunsWhatIsReady) {
    auto loop = late_loop();
    Bell bell(*loop);
    ASSERT_STATUS(PMIX_SUCCESS, loop->start());
    bell.ring();
    Task nothing;
    EXPECT_TRUE(loop->run_here(nothing, nullptr, Deadline::never()));
    EXPECT_TRUE(bell.waiter.done());
    EXPECT_TRUE(loop->run_here(nothing, nullptr, Deadline::never())) << "and does not wait";
    EXPECT_FALSE(loop->is_turned());
    EXPECT_STATUS(PMIX_SUCCESS, loop->stop());
    bell.close(*loop);
}

TEST(LateThread, RunHere_DeadlinePasses) {
    auto loop = late_loop();
    ASSERT_STATUS(PMIX_SUCCESS, loop->start());
    Waiter waiter;
    Task nothing;
    EXPECT_TRUE(loop->run_here(nothing, &waiter, Deadline::in_ms(20)));
    EXPECT_FALSE(loop->wait(waiter, Deadline::in_ms(0)));
    EXPECT_FALSE(loop->is_turned());
    EXPECT_STATUS(PMIX_SUCCESS, loop->stop());
}

TEST(LateThread, RunHere_SomebodyElseIsTheLoop_IsNotDone) {
    auto loop = late_loop();
    bool ran = false;
    Task task = [&] { ran = true; };
    EXPECT_FALSE(loop->run_here(task, nullptr, Deadline::never())) << "not started yet";
    ASSERT_STATUS(PMIX_SUCCESS, loop->start());
    Task outer = [&] { EXPECT_FALSE(loop->run_here(task, nullptr, Deadline::never())) << "on the loop itself"; };
    EXPECT_TRUE(loop->run_here(outer, nullptr, Deadline::never()));
    ASSERT_STATUS(PMIX_SUCCESS, loop->need_thread());
    EXPECT_FALSE(loop->run_here(task, nullptr, Deadline::never())) << "there is a thread";
    EXPECT_FALSE(ran);
    EXPECT_TRUE(bool(task)) << "it can be posted";
    EXPECT_STATUS(PMIX_SUCCESS, loop->stop());
    EXPECT_FALSE(loop->run_here(task, nullptr, Deadline::never())) << "stopped";
}

// What is left for the loop when the caller leaves it needs the thread.
TEST(LateThread, RunHere_ATimerIsLeft_StartsTheThread) {
    auto loop = late_loop();
    ASSERT_STATUS(PMIX_SUCCESS, loop->start());
    Waiter waiter;
    Task task = [&] {
        assert_on_loop();
        loop->after(1, [&] { waiter.complete(); });
    };
    EXPECT_TRUE(loop->run_here(task, nullptr, Deadline::never()));
    EXPECT_TRUE(loop->is_turned());
    const test::LongWait most;
    EXPECT_TRUE(loop->wait(waiter, most.deadline()));
    EXPECT_STATUS(PMIX_SUCCESS, loop->stop());
}

TEST(LateThread, RunHere_SomethingIsToBeWritten_StartsTheThread) {
    struct Nothing final : WatchHandler {
        void on_ready(bool, bool) noexcept override {}
    } handler;
    auto loop = late_loop();
    int ends[2];
    ASSERT_EQ(0, ::pipe2(ends, O_CLOEXEC | O_NONBLOCK));
    std::unique_ptr<Watch> watch;
    {
        LoopRole role(*loop);
        watch = loop->watch(ends[1], handler);
        EXPECT_TRUE(watch->set(false, true));
        EXPECT_TRUE(watch->set(false, false));
    }
    ASSERT_STATUS(PMIX_SUCCESS, loop->start());
    Task nothing;
    EXPECT_TRUE(loop->run_here(nothing, nullptr, Deadline::never()));
    EXPECT_FALSE(loop->is_turned()) << "nothing is to be written any more";
    Task task = [&] {
        assert_on_loop();
        EXPECT_TRUE(watch->set(false, true));
    };
    EXPECT_TRUE(loop->run_here(task, nullptr, Deadline::never()));
    EXPECT_TRUE(loop->is_turned());
    EXPECT_STATUS(PMIX_SUCCESS, loop->stop());
    LoopRole role(*loop);
    watch.reset();
    ::close(ends[0]);
    ::close(ends[1]);
}

// Runs the loop on a thread of its own until the bell is rung, and says whether that thread has been the loop.
struct Caller {
    Caller(EventLoop& loop, Bell& bell) {
        thread = std::thread([&] {
            Task task = [this] { inside.complete(); };
            was_loop = loop.run_here(task, &bell.waiter, Deadline::never());
            left.complete();
            loop.wait(bell.waiter, Deadline::never());
        });
        const test::LongWait most;
        EXPECT_TRUE(inside.wait(most.deadline()));
    }
    Waiter inside, left;
    std::atomic<bool> was_loop{false};
    std::thread thread;
};

TEST(LateThread, RunHere_AnotherThreadNeedsTheLoop_IsRelieved) {
    for (int round = 0; round < 50; ++round) {
        auto loop = late_loop();
        Bell bell(*loop);
        ASSERT_STATUS(PMIX_SUCCESS, loop->start());
        Caller caller(*loop, bell);
        EXPECT_STATUS(PMIX_SUCCESS, loop->need_thread());
        EXPECT_TRUE(loop->is_turned());
        const test::LongWait most;
        EXPECT_TRUE(caller.left.wait(most.deadline())) << "although its waiter is not done";
        EXPECT_TRUE(runs(*loop));
        bell.ring();
        caller.thread.join();
        EXPECT_TRUE(caller.was_loop);
        EXPECT_NE(std::this_thread::get_id(), bell.by);
        EXPECT_STATUS(PMIX_SUCCESS, loop->stop());
        bell.close(*loop);
    }
}

TEST(LateThread, RunHere_LoopIsStoppedMeanwhile_TheCallerLeaves) {
    for (int round = 0; round < 20; ++round) {
        auto loop = late_loop();
        Bell bell(*loop);
        ASSERT_STATUS(PMIX_SUCCESS, loop->start());
        std::atomic<bool> ended{false};
        Waiter inside;
        std::thread caller([&] {
            Task task = [&] { inside.complete(); };
            EXPECT_TRUE(loop->run_here(task, &bell.waiter, Deadline::never()));
            ended = true;
        });
        const test::LongWait most;
        EXPECT_TRUE(inside.wait(most.deadline()));
        EXPECT_STATUS(PMIX_SUCCESS, loop->stop());
        caller.join();
        EXPECT_TRUE(ended);
        EXPECT_FALSE(loop->is_turned());
        bell.close(*loop);
    }
}

TEST(LateThread, RunHere_HandedOverMeanwhile_TheCallerGoesOnAsTheDriver) {
    auto loop = late_loop();
    Bell bell(*loop);
    ASSERT_STATUS(PMIX_SUCCESS, loop->start());
    Caller caller(*loop, bell);
    EXPECT_STATUS(PMIX_SUCCESS, loop->hand_over(true));
    bell.ring();
    const auto id = caller.thread.get_id();
    caller.thread.join();
    EXPECT_EQ(id, bell.by);
    bell.close(*loop);
}

// ---- the base, which is made when the thread is ----

TEST(LateThread, NoRoomForTheBase_IsTriedAgain) {
    auto loop = late_loop();
    struct Refusing final : WatchHandler {
        void on_ready(bool, bool) noexcept override {}
        int to_watch(int fd) noexcept override { return refuses ? -1 : fd; }
        bool refuses = true;
    } refusing;
    std::unique_ptr<Watch> watch;
    Bell bell(*loop);
    {
        LoopRole role(*loop);
        watch = loop->watch(bell.ends[1], refusing);
    }
    ASSERT_STATUS(PMIX_SUCCESS, loop->start());
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, loop->need_thread());
    EXPECT_THROW(loop->post([] {}), std::bad_alloc);
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, loop->hand_over(true));
    EXPECT_EQ(Drive::own_thread, loop->drive());
    // What the library owes itself is done by any caller that waits.
    int ran = 0;
    loop->post_anyway([&] { loop->post([&] { ++ran; }); });
    Waiter waiter;
    EXPECT_FALSE(loop->wait(waiter, Deadline::in_ms(30)));
    EXPECT_EQ(1, ran);
    Task task = [&] { ++ran; };
    EXPECT_TRUE(loop->run_here(task, &waiter, Deadline::never())) << "and does not wait where nothing can be watched";
    EXPECT_EQ(2, ran);
    EXPECT_FALSE(loop->is_turned());
    refusing.refuses = false;
    EXPECT_TRUE(runs(*loop));
    bell.ring();
    const test::LongWait most;
    EXPECT_TRUE(bell.waiter.wait(most.deadline())) << "which was set before there was a base";
    EXPECT_STATUS(PMIX_SUCCESS, loop->stop());
    {
        LoopRole role(*loop);
        watch.reset();
    }
    bell.close(*loop);
}

// A loop that was made has its base whatever descriptors are left then; libevent itself would end the process where it
// finds no place for its pipe.
TEST(LateThread, FewDescriptors_AreReservedOrAStatus) {
    const pid_t child = fork();
    if (child == 0) {
        EventLoopOptions options;
        options.late = true;
        rlimit few{};
        getrlimit(RLIMIT_NOFILE, &few);
        few.rlim_cur = 64;
        if (setrlimit(RLIMIT_NOFILE, &few) != 0) _exit(1);
        std::vector<int> fill;
        for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) fill.push_back(fd);
        const auto give_back = [&] {
            ::close(fill.back());
            fill.pop_back();
        };
        for (int left = 0; left < 5; ++left) {
            if (EventLoop::create(options).ok()) _exit(10 + left);
            give_back();
        }
        auto loop = EventLoop::create(options);
        if (!loop.ok() || ::dup(0) >= 0 || (*loop)->start() != PMIX_SUCCESS || !runs(**loop)) _exit(2);
        if ((*loop)->stop() != PMIX_SUCCESS) _exit(3);
        _exit(0);
    }
    int status = -1;
    ASSERT_EQ(child, waitpid(child, &status, 0));
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(0, WEXITSTATUS(status));
}

// One of several watches cannot be had at first: none is half in the base.
TEST(LateThread, AWatchIsRefusedItsDescriptor_IsTriedAgain) {
    struct Late final : WatchHandler {
        void on_ready(bool, bool) noexcept override {}
        int to_watch(int fd) noexcept override { return ++asked == 1 ? -1 : fd; }
        int asked = 0;
    } handler;
    auto loop = late_loop();
    Bell before(*loop);
    int ends[2];
    ASSERT_EQ(0, ::pipe2(ends, O_CLOEXEC | O_NONBLOCK));
    std::unique_ptr<Watch> watch, never_set;
    {
        LoopRole role(*loop);
        watch = loop->watch(ends[0], handler);
        EXPECT_TRUE(watch->set(true, false));
        never_set = loop->watch(ends[1], handler);
        never_set.reset();
    }
    EXPECT_EQ(0, handler.asked);
    Bell after(*loop);
    ASSERT_STATUS(PMIX_SUCCESS, loop->start());
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, loop->need_thread());
    EXPECT_STATUS(PMIX_SUCCESS, loop->need_thread());
    EXPECT_EQ(2, handler.asked);
    const test::LongWait most;
    for (Bell* bell : {&before, &after}) {
        bell->ring();
        EXPECT_TRUE(bell->waiter.wait(most.deadline()));
    }
    EXPECT_STATUS(PMIX_SUCCESS, loop->stop());
    before.close(*loop);
    after.close(*loop);
    {
        LoopRole role(*loop);
        watch.reset();
    }
    ::close(ends[0]);
    ::close(ends[1]);
}

#if !defined(UNDER_ASAN) && !defined(UNDER_TSAN)  // they want all the address space for themselves
// The C library keeps stacks of threads that have ended, which take no more room. The loop's has a MiB.
void use_up_stacks() {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1u << 20);
    const auto sleep = [](void*) -> void* {
        for (;;) ::pause();
    };
    pthread_t thread;
    while (pthread_create(&thread, &small, sleep, nullptr) == 0) {
    }
    pthread_attr_destroy(&small);
}

// There is no room for the thread: a caller that needs it is told so, one that only waits does so to its deadline, and
// once there is room again all goes on.
TEST(LateThread, NoRoomForIt) {
    const pid_t child = fork();
    if (child == 0) {
        auto loop = late_loop();
        if (loop->start() != PMIX_SUCCESS) _exit(1);
        rlimit before{};
        getrlimit(RLIMIT_AS, &before);
        rlimit none = before;
        none.rlim_cur = 1;
        if (setrlimit(RLIMIT_AS, &none) != 0) _exit(2);
        use_up_stacks();
        if (loop->need_thread() != PMIX_ERR_OUT_OF_RESOURCE) _exit(3);
        int ran = 0;
        bool thrown = false;
        try {
            loop->post([&] { ++ran; });
        } catch (const std::bad_alloc&) {
            thrown = true;
        }
        if (!thrown || loop->is_turned()) _exit(4);
        Waiter waiter;
        if (loop->wait(waiter, Deadline::in_ms(20))) _exit(5);
        if (setrlimit(RLIMIT_AS, &before) != 0) _exit(6);
        if (!runs(*loop) || ran != 0) _exit(7);
        _exit(loop->stop() == PMIX_SUCCESS ? 0 : 8);
    }
    int status = -1;
    ASSERT_EQ(child, waitpid(child, &status, 0));
    EXPECT_EQ(0, status);
}
#endif

}  // namespace
}  // namespace pmix::transport::late_thread_test
