// SPDX-License-Identifier: BSD-3-Clause
// Blocking tasks: their order, and one that hangs, which must not delay the end of its server.
#include "server/base/blocking_tasks.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <vector>

#include "support/fake_scheduler.h"

namespace pmix::server::blocking_tasks_test {
namespace {

struct Gate {
    std::atomic<bool> inside{false}, open{false}, left{false};
    void hang() {
        inside = true;
        while (!open) ::usleep(100);
        left = true;
    }
    void await(const std::atomic<bool>& what) const {
        while (!what) ::usleep(100);
    }
};

TEST(BlockingTasks, OneAfterTheOtherAndTheirWordOnTheLoop) {
    test::FakeScheduler scheduler;
    BlockingTasks blocking_tasks(scheduler);
    auto order = std::make_shared<std::vector<int>>();
    std::vector<int> done;
    for (int i = 0; i < 50; ++i)
        blocking_tasks.add([order, i](bool) { order->push_back(i); }, [&done, i] { done.push_back(i); });
    EXPECT_TRUE(blocking_tasks.finish());
    EXPECT_TRUE(done.empty()) << "nobody has run the loop";
    scheduler.run();
    EXPECT_EQ(50u, order->size());
    EXPECT_EQ(*order, done);
    // Another may come.
    blocking_tasks.add([order](bool as_user) { order->push_back(as_user ? 50 : -1); });
    EXPECT_TRUE(blocking_tasks.finish());
    EXPECT_EQ(50, order->back());
}

TEST(BlockingTasks, ASlowOneIsWaitedForAsLongAsThereIsProgress) {
    // Each is quicker than the patience, all together are not. On a machine that keeps one from running for as long as
    // that, it takes more of it.
    bool waited = false;
    for (int patience_ms : {1000, 5000, 30'000}) {
        test::FakeScheduler scheduler;
        BlockingTasks blocking_tasks(scheduler);
        const auto count = std::make_shared<std::atomic<int>>(0);
        for (int i = 0; i < 12; ++i)
            blocking_tasks.add([count, patience_ms](bool) {
                ::usleep(static_cast<useconds_t>(patience_ms) * 100);
                ++*count;
            });
        waited = blocking_tasks.finish(patience_ms);
        if (!waited) continue;
        EXPECT_EQ(12, *count);
        break;
    }
    EXPECT_TRUE(waited);
}

TEST(BlockingTasks, WhatHangsIsLeftBehindWithWhatWaitsForIt) {
    test::FakeScheduler scheduler;
    auto gate = std::make_shared<Gate>();
    auto kept = std::make_shared<int>(0);
    int called = 0;
    std::atomic<int> later{0};
    {
        BlockingTasks blocking_tasks(scheduler);
        blocking_tasks.add([gate](bool) { gate->hang(); }, [kept, &called] { ++called; });
        for (int i = 0; i < 3; ++i) blocking_tasks.add([kept](bool) { ++*kept; }, [kept, &called] { ++called; });
        gate->await(gate->inside);
        EXPECT_FALSE(blocking_tasks.finish(20));
        EXPECT_EQ(1, kept.use_count()) << "their words are gone, and with them the Replies in them";
        // The next has a thread of its own.
        blocking_tasks.add([&later](bool) { ++later; }, [&called] { called += 10; });
        EXPECT_TRUE(blocking_tasks.finish());
        EXPECT_EQ(1, later);
        scheduler.run();
        EXPECT_EQ(10, called);
    }
    // It ends when what it waits for does, and touches nothing of ours: the scheduler of then may be gone.
    gate->open = true;
    gate->await(gate->left);
    scheduler.run();
    EXPECT_EQ(10, called);
    EXPECT_EQ(0, *kept);
}

}  // namespace
}  // namespace pmix::server::blocking_tasks_test
