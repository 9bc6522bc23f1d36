// What the operations ask of the loop: run this next, run this in so many milliseconds.
//
// A seam, so that time in tests is a number that the test moves. LoopScheduler is the real one. post() from any thread,
// the rest on the loop thread.
#pragma once

#include "transport/event_loop.h"

namespace pmix::server {

class Scheduler {
  public:
    using TimerId = transport::TimerId;
    virtual ~Scheduler() = default;
    virtual void post(transport::Task task) = 0;
    virtual TimerId after(int64_t ms, transport::Task task) = 0;
    virtual bool cancel(TimerId timer) noexcept = 0;
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
    void cancel() noexcept {
        if (id_ != 0) scheduler_->cancel(std::exchange(id_, 0));
    }

  private:
    Scheduler* scheduler_ = nullptr;
    transport::TimerId id_ = 0;
};

}  // namespace pmix::server
