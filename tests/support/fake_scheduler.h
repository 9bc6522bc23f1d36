// SPDX-License-Identifier: BSD-3-Clause
// Time as a number that the test moves: nothing waits. post() from any thread, as the real one; the rest on the test's.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <thread>

#include "server/base/scheduler.h"

namespace pmix::test {

class FakeScheduler final : public server::Scheduler {
  public:
    void post(transport::Task task) override {
        if (no_memory) throw std::bad_alloc();
        std::lock_guard lock(mutex_);
        posted_.push_back(std::move(task));
    }
    TimerId after(int64_t ms, transport::Task task) override {
        timers_.emplace(next_, std::pair(now_ + ms, std::move(task)));
        return next_++;
    }
    bool cancel(TimerId timer) noexcept override { return timers_.erase(timer) != 0; }
    void step_lost() noexcept override { ++lost_steps; }
    std::atomic<int> lost_steps{0};
    std::atomic<bool> no_memory{false};  // for what is posted

    // Runs what was posted. How many there were.
    size_t run() {
        size_t n = 0;
        for (;; ++n) {
            transport::Task task;
            {
                std::lock_guard lock(mutex_);
                if (posted_.empty()) return n;
                task = std::move(posted_.front());
                posted_.pop_front();
            }
            task();
        }
    }
    // Until the condition holds, for what other threads post.
    template <class Done>
    bool run_until(Done done) {
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        for (;;) {
            run();
            if (done()) return true;
            if (std::chrono::steady_clock::now() > until) return false;
            std::this_thread::yield();
        }
    }
    void advance(int64_t ms) {
        const int64_t until = now_ + ms;
        for (;;) {
            auto due = timers_.end();
            for (auto it = timers_.begin(); it != timers_.end(); ++it)
                if (it->second.first <= until && (due == timers_.end() || it->second.first < due->second.first))
                    due = it;
            if (due == timers_.end()) break;
            now_ = due->second.first;
            transport::Task task = std::move(due->second.second);
            timers_.erase(due);
            task();
            run();
        }
        now_ = until;
    }
    size_t timers() const { return timers_.size(); }
    // How long until the next timer; 0 where there is none.
    int64_t next_ms() const {
        int64_t next = 0;
        for (const auto& [id, timer] : timers_)
            if (next == 0 || timer.first - now_ < next) next = timer.first - now_;
        return next;
    }

  private:
    std::mutex mutex_;
    std::deque<transport::Task> posted_;
    std::map<TimerId, std::pair<int64_t, transport::Task>> timers_;
    TimerId next_ = 1;
    int64_t now_ = 0;
};

}  // namespace pmix::test
