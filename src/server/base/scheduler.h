// SPDX-License-Identifier: BSD-3-Clause
// What the operations ask of the loop: run this next, run this in so many milliseconds.
//
// A seam, so that time in tests is a number that the test moves. LoopScheduler is the real one. post() from any thread,
// the rest on the loop thread.
#pragma once

#include <new>

#include "transport/event_loop.h"

namespace pmix::server {

class Scheduler {
  public:
    using TimerId = transport::TimerId;
    virtual ~Scheduler() = default;
    virtual void post(transport::Task task) = 0;
    virtual TimerId after(int64_t ms, transport::Task task) = 0;
    virtual bool cancel(TimerId timer) noexcept = 0;
    // See EventLoop::step_lost(). Any thread.
    virtual void step_lost() noexcept = 0;
};

class LoopScheduler final : public Scheduler {
  public:
    explicit LoopScheduler(transport::EventLoop& loop) noexcept : loop_(loop) {}
    void post(transport::Task task) override { loop_.post(std::move(task)); }
    TimerId after(int64_t ms, transport::Task task) override {
        transport::assert_on_loop();
        return loop_.after(ms, std::move(task));
    }
    bool cancel(TimerId timer) noexcept override {
        transport::assert_on_loop();
        return loop_.cancel(timer);
    }

    void step_lost() noexcept override { loop_.step_lost(); }

  private:
    transport::EventLoop& loop_;
};

// A timer that dies with its owner.
class Timer {
  public:
    Timer() = default;
    Timer(Scheduler& scheduler, int64_t ms, transport::Task task)
        : scheduler_(&scheduler), id_(scheduler.after(ms, std::move(task))) {}
    Timer(Timer&& o) noexcept : scheduler_(o.scheduler_), id_(std::exchange(o.id_, 0)) {}
    Timer& operator=(Timer&& o) noexcept {
        if (this != &o) {
            cancel();
            scheduler_ = o.scheduler_;
            id_ = std::exchange(o.id_, 0);
        }
        return *this;
    }
    ~Timer() { cancel(); }
    // It was set, and nobody has cancelled it since; it may have run.
    bool is_set() const noexcept { return id_ != 0; }
    void cancel() noexcept {
        if (id_ != 0) scheduler_->cancel(std::exchange(id_, 0));
    }

  private:
    Scheduler* scheduler_ = nullptr;
    transport::TimerId id_ = 0;
};

// Runs each of these steps, also when one before it has failed for lack of memory; that is thrown at the end.
template <class... Steps>
void run_all(Steps&&... steps) {
    bool failed = false;
    const auto run = [&](auto& step) {
        try {
            step();
        } catch (const std::bad_alloc&) {
            failed = true;
        }
    };
    (run(steps), ...);
    if (failed) throw std::bad_alloc();
}

// The same with one step, for each of these.
template <class Range, class Step>
void run_each(Range&& range, Step&& step) {
    bool failed = false;
    for (auto& one : range) {
        try {
            step(one);
        } catch (const std::bad_alloc&) {
            failed = true;
        }
    }
    if (failed) throw std::bad_alloc();
}

}  // namespace pmix::server
