// SPDX-License-Identifier: BSD-3-Clause
// The loop: one event base of ours (libevent core), a queue of tasks from any thread, timers, watched descriptors.
//
// One loop thread per process owns all mutable state of client, server and transport. It is the loop's own thread
// (Drive::own_thread), a thread inside progress() or wait() (Drive::caller), or the thread that runs the host's event
// base (Drive::host_base). Only post(), need_thread(), run_here(), is_turned(), on_loop_thread(), on_any_loop(),
// drive(), start(), stop() and hand_over() may be called from other threads.
//
// A loop that starts late has no thread and no event base until there is something for it (post(), wait(),
// need_thread()): what a process pays for a thread, its stack, its arena and its start, and for libevent and a
// base, only those pay that need them. The base's descriptors alone are reserved from the start. A caller that waits
// for what the loop itself will do may run it meanwhile (run_here()), and no thread is started for that.
//
// Other threads append to our own queue and write an eventfd. libevent's process-wide locking hooks are left alone
// (never evthread_use_pthreads: the host may use the same libevent), so nothing of libevent is called off the loop.
//
// What can go wrong: a task or handler that throws is stopped at the trampoline; bad_alloc there loses that one step.
// After fork the child calls abandon() and never anything else: an EPOLL_CTL_DEL from it would hit the parent.
#pragma once

#include <sched.h>

#include <cassert>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "common/base/callback.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "transport/deadline.h"
#include "transport/io.h"
#include "transport/waiter.h"

struct event_base;

namespace pmix::transport {

// What the loop runs once.
using Task = common::Callback<void()>;

class EventLoop;
class SpareReadMemory;
class Watch;

using TimerId = uint64_t;  // 0 is no timer

inline constexpr const char* kLoopThreadName = "wireup";

enum class Drive : uint8_t { own_thread, caller, host_base };

struct EventLoopOptions {
    Drive drive = Drive::own_thread;
    event_base* host_base = nullptr;  // with Drive::host_base; stays the host's
    const Io* io = &kRealIo;
    bool late = false;                   // with Drive::own_thread: start() makes no thread, the first need of it does
    std::optional<cpu_set_t> cpus = {};  // of that thread; none: those of the thread that starts it
};

// Told that a watched descriptor is ready. Loop only.
class WatchHandler {
  public:
    virtual void on_ready(bool readable, bool writable) noexcept = 0;
    // Asked once, when the loop is about to watch fd: the descriptor that it is to watch for it. Negative: there is no
    // room for that one. Where the base of a late loop has yet to be made: by the thread that makes it.
    virtual int to_watch(int fd) noexcept { return fd; }

  protected:
    ~WatchHandler() = default;
};

// A step that needs no memory, which the loop takes where there is none to post a task. Loop only.
class RecoveryStep {
  public:
    RecoveryStep() noexcept = default;
    RecoveryStep(const RecoveryStep&) = delete;
    RecoveryStep& operator=(const RecoveryStep&) = delete;
    virtual void on_recovery() noexcept = 0;

  protected:
    virtual ~RecoveryStep() { withdraw(); }

  private:
    friend class EventLoop;
    void withdraw() noexcept {
        if (at_ == nullptr) return;
        assert(*at_ == this && (next_ == nullptr || next_->at_ == &next_));
        *at_ = next_;
        if (next_ != nullptr) next_->at_ = at_;
        at_ = nullptr;
    }
    RecoveryStep** at_ = nullptr;  // what points here; null: it is not to be taken
    RecoveryStep* next_ = nullptr;
};

class EventLoop {
  public:
    static common::Result<std::unique_ptr<EventLoop>> create(const EventLoopOptions& options = {});
    // Stops first if need be. On the loop, or on any thread once the loop does not run any more.
    ~EventLoop();

    // Drive::own_thread: starts the thread ("wireup", all signals blocked in it), or permits that it is started when it
    // is needed (EventLoopOptions::late; what has been posted before needs it). Otherwise does nothing. Once.
    pmix_status_t start();
    // After this, if it is PMIX_SUCCESS, a thread runs the loop: a late one is started. PMIX_ERR_OUT_OF_RESOURCE:
    // there is no room for it. Any thread; on the loop's, also one that stands in for it, PMIX_SUCCESS.
    pmix_status_t need_thread() noexcept;
    // No late thread is started from here on. True: the loop has no thread of its own. Any thread.
    bool withdraw_thread() noexcept;
    // Does a thread look at the descriptors? False: only a late one would, which has not been needed yet. Any thread.
    bool is_turned() const noexcept;
    // Lets the tasks already posted run, ends the thread and joins it; a late one is not started any more. On the loop
    // thread itself it answers PMIX_ERR_WOULD_BLOCK and changes nothing. Later posts are kept, never run, and destroyed
    // with the loop.
    pmix_status_t stop();

    // Drive::own_thread: ends the thread, and from then on callers run the loop (Drive::caller). flush: the tasks
    // already posted run first. On the loop thread itself PMIX_ERR_WOULD_BLOCK; nothing where there is no thread. Any
    // thread. A thread inside wait() runs the loop from then on. PMIX_ERR_OUT_OF_RESOURCE: nothing has changed.
    pmix_status_t hand_over(bool flush);

    // Any thread, always later and never on the poster's stack, in the order of posting. Throws bad_alloc, also where a
    // late thread would have to be started and there is no room for it: then the task is not run.
    void post(Task task);
    // The same for what must not be lost: where there is no room for a late thread the task waits for it, or for a
    // caller inside wait(). Throws bad_alloc where there is no memory for the task: then it is not run.
    void post_anyway(Task task);
    bool on_loop_thread() const noexcept;
    // Is this thread the loop of whichever EventLoop there is? Looks at no object.
    static bool on_any_loop() noexcept;
    Drive drive() const noexcept;

    // Where there is no room for the late thread: runs what is ready in its stead, once, on this one. False: there is a
    // thread, none is awaited, or another caller does. Any thread but the loop's.
    bool stand_in() noexcept;

    // Where the late thread has not been needed yet: runs the task on this thread as the loop would, and then the loop,
    // until the waiter is done or the deadline has passed; without a waiter, what is ready, once. The waiter is
    // completed by the loop. It returns earlier where another thread needs the loop's, which is started then, as it is
    // where something is left for it (a task, a timer, bytes to be written). False: the task has not been run, for
    // there is a thread, or another caller runs the loop. Any thread.
    bool run_here(Task& task, Waiter* waiter, Deadline deadline) noexcept;

    // Drive::caller: runs what is ready and returns. Two threads at once: one runs it, the other returns at once.
    void progress();
    // Drive::caller: runs the loop until the waiter is done or the deadline passed; true: done. Other drives: waits,
    // and runs the loop if Drive::caller becomes the drive meanwhile, or if there is no room for the late thread that
    // it needs. Any thread may complete the waiter.
    bool wait(Waiter& waiter, Deadline deadline);

    // Reports that a task, a timer or a handler has ended in an exception, which is a lack of memory: the loop calls
    // the recovery, which ends what cannot go on without that step. Any thread; allocates nothing.
    void step_lost() noexcept;
    // The function of this owner to call then. It returns false, or throws, where it failed too: those of all owners
    // are called again after a moment. Empty: none. On the loop thread, or a thread with the LoopRole; not the owner's
    // own while that runs.
    void set_recovery(const void* owner, std::function<bool()> recovery);

    // Takes the step once, as a part of the recovery: later, not on this stack. Allocates nothing. A step that is gone
    // by then, or for which this has been called already, is passed over.
    void recover_later(RecoveryStep& step) noexcept REQUIRES(common::loop_thread);

    // Runs what has been posted, on a thread with the LoopRole while no thread runs the loop. Not from a task.
    void run_posted() noexcept REQUIRES(common::loop_thread);

    // Runs task once, not before ms milliseconds from now. Throws bad_alloc.
    TimerId after(int64_t ms, Task task) REQUIRES(common::loop_thread);
    // False: it ran, was cancelled, or never was.
    bool cancel(TimerId timer) noexcept REQUIRES(common::loop_thread);

    // Handler and descriptor must outlive the Watch; nothing is watched until set(). Null: no memory, or to_watch()
    // refuses.
    std::unique_ptr<Watch> watch(int fd, WatchHandler& handler) REQUIRES(common::loop_thread);

    // In a forked child, instead of everything else: forgets the loop. Its memory and its epoll descriptor stay until
    // exec or exit, since libevent offers no way to give them up without telling the kernel about the parent's.
    static void abandon(std::unique_ptr<EventLoop> loop) noexcept;

    const Io& io() const noexcept;

    // Of the buffers of this loop's connections. Any thread.
    SpareReadMemory& spare_read_memory() noexcept;

    // The longest time since its creation, in microseconds, for which one pass has kept the loop from looking at its
    // descriptors: from the first handler that a pass runs to the end of its last one. The pass that asks is not in it.
    // With Drive::host_base the passes are the host's, and this is the longest single handler of ours.
    uint64_t longest_pass_us() const noexcept REQUIRES(common::loop_thread);
    // How many passes since its creation have lasted kSlowPassUs or longer; with Drive::host_base, handlers.
    static constexpr int64_t kSlowPassUs = 50'000;
    uint64_t slow_passes() const noexcept REQUIRES(common::loop_thread);

  private:
    struct State;
    explicit EventLoop(std::unique_ptr<State> state) noexcept;
    friend class Watch;
    friend class LoopRole;
    std::unique_ptr<State> state_;
};

// Interest in one descriptor. Made, set and destroyed on the loop; destroying it within its own handler is fine.
class Watch {
  public:
    ~Watch();
    // False: the kernel refused (ENOMEM, ENOSPC); interest is then none.
    bool set(bool read, bool write) noexcept REQUIRES(common::loop_thread);

  private:
    friend class EventLoop;
    struct Inner;
    explicit Watch(std::unique_ptr<Inner> inner) noexcept;
    std::unique_ptr<Inner> inner_;
};

// Lets this thread act as the loop while no thread runs it: before start(), after stop(), or between two runs by
// callers. For the construction and destruction of objects that belong to the loop thread, and for tests.
class SCOPED_CAPABILITY LoopRole {
  public:
    explicit LoopRole(EventLoop& loop) noexcept ACQUIRE(common::loop_thread);
    ~LoopRole() RELEASE();
    LoopRole(const LoopRole&) = delete;
    LoopRole& operator=(const LoopRole&) = delete;

  private:
    const void* before_;
};

// For the first line of everything that libevent or a queue entered: tells clang, and checks in debug builds.
void assert_on_loop() noexcept ASSERT_CAPABILITY(common::loop_thread);

}  // namespace pmix::transport
