// SPDX-License-Identifier: BSD-3-Clause
#include "transport/waiter.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "support/sanitizers.h"

namespace pmix::transport::waiter_test {
namespace {

TEST(Waiter, DoneBeforeTheWait) {
    Waiter waiter;
    EXPECT_FALSE(waiter.done());
    waiter.complete();
    EXPECT_TRUE(waiter.done());
    EXPECT_TRUE(waiter.wait());
}

TEST(Waiter, DeadlinePassesAndMayBeWaitedForAgain) {
    Waiter waiter;
    EXPECT_FALSE(waiter.wait(Deadline::in_ms(0)));
    EXPECT_FALSE(waiter.wait(Deadline::in_ms(1)));
    std::thread other([&] { waiter.complete(); });
    EXPECT_TRUE(waiter.wait(Deadline::never()));
    other.join();
}

// The waiter is on the stack and goes at once: a completer that touched it afterwards would be found by the sanitizers.
TEST(Waiter, ManyRoundsAcrossThreads) {
    std::atomic<Waiter*> slot{nullptr};
    std::atomic<bool> stop{false};
    std::thread completer([&] {
        while (!stop) {
            if (Waiter* w = slot.exchange(nullptr)) w->complete();
        }
    });
    int value = 0;
    for (int i = 0; i < 5000; ++i) {
        Waiter waiter;
        value = i;
        slot = &waiter;
        ASSERT_TRUE(waiter.wait(i % 2 == 0 ? Deadline::never() : Deadline::in_ms(60'000)));
        ASSERT_EQ(i, value);
    }
    stop = true;
    completer.join();
}

// An interruption is never lost between begin_sleep() and the sleep itself, and is not taken for a completion.
TEST(Waiter, ASleepMayBeInterrupted) {
    for (int i = 0; i < 500; ++i) {
        Waiter waiter;
        ASSERT_TRUE(waiter.begin_sleep());
        std::thread other([&] { waiter.interrupt(); });
        ASSERT_FALSE(waiter.sleep(Deadline::never()));
        other.join();
        ASSERT_FALSE(waiter.done());
    }
    Waiter waiter;
    waiter.interrupt();  // nobody sleeps: nothing
    ASSERT_TRUE(waiter.begin_sleep());
    EXPECT_FALSE(waiter.sleep(Deadline::in_ms(1)));
    waiter.complete();
    EXPECT_FALSE(waiter.begin_sleep());
}

TEST(Waiter, WakesAPoll) {
    const int wake_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    uint64_t count = 0;
    {
        Waiter waiter;
        ASSERT_TRUE(waiter.begin_poll(wake_fd));
        ASSERT_TRUE(waiter.end_poll(wake_fd));
        waiter.complete();  // not polling: nothing is written
        EXPECT_FALSE(waiter.begin_poll(wake_fd));
        EXPECT_EQ(-1, ::read(wake_fd, &count, sizeof count));
    }
    Waiter waiter;
    ASSERT_TRUE(waiter.begin_poll(wake_fd));
    std::thread other([&] { waiter.complete(); });
    pollfd p{wake_fd, POLLIN, 0};
    EXPECT_EQ(1, ::poll(&p, 1, -1));
    EXPECT_FALSE(waiter.end_poll(wake_fd));
    EXPECT_EQ(8, ::read(wake_fd, &count, sizeof count));
    EXPECT_EQ(1u, count);
    other.join();
    ::close(wake_fd);
}

// A thread that is cancelled inside a wait leaves it normally, and ends after it.
TEST(Waiter, CancellationWaitsForTheEndOfTheCall) {
#ifdef UNDER_ASAN
    GTEST_SKIP() << "ASan takes the stack that a cancelled thread has unwound for poisoned";
#endif
    struct Shared {
        Waiter waiter;
        std::atomic<bool> inside{false}, left{false};
    } shared;
    pthread_t thread;
    auto body = [](void* arg) -> void* {
        auto* s = static_cast<Shared*>(arg);
        {
            CancelShield shield;
            s->inside = true;
            s->waiter.wait();
            s->left = true;
        }
        pthread_testcancel();
        return nullptr;
    };
    ASSERT_EQ(0, pthread_create(&thread, nullptr, body, &shared));
    while (!shared.inside) std::this_thread::yield();
    pthread_cancel(thread);
    EXPECT_FALSE(shared.left);
    shared.waiter.complete();
    void* result = nullptr;
    pthread_join(thread, &result);
    EXPECT_TRUE(shared.left);
    EXPECT_EQ(PTHREAD_CANCELED, result);
}

TEST(Deadline, Arithmetic) {
    EXPECT_TRUE(Deadline::never().is_never());
    EXPECT_EQ(-1, Deadline::never().poll_ms());
    EXPECT_TRUE(Deadline::in_ms(INT64_MAX).is_never());
    EXPECT_TRUE(Deadline::in_ms(-5).passed());
    EXPECT_TRUE(Deadline::in_ms(0).passed());
    EXPECT_FALSE(Deadline::in_ms(100'000).passed());
    EXPECT_LE(Deadline::in_ms(100'000).poll_ms(), 100'000);
    EXPECT_GT(Deadline::in_ms(100'000).poll_ms(), 90'000);
    EXPECT_EQ(INT_MAX, Deadline::in_ms(int64_t{1} << 40).poll_ms());
}

}  // namespace
}  // namespace pmix::transport::waiter_test
