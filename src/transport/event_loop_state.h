// SPDX-License-Identifier: BSD-3-Clause
// The inside of an EventLoop, for event_loop.cpp (the queue, timers, watches, recovery) and event_loop_drive.cpp (the
// thread that runs the loop, and the callers that run it while they wait).
//
// Which thread may touch what stands beside each group of members. What can go wrong stands in event_loop.h.
#pragma once

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "transport/descriptor.h"
#include "transport/event_loop.h"
#include "transport/libevent.h"
#include "transport/read_buffer.h"

namespace pmix::transport {

// The loop whose code this thread runs at the moment. A plain pointer: no destructor, no guard.
extern constinit thread_local const void* t_current;

class Enter {
  public:
    explicit Enter(const void* loop) noexcept : before_(t_current) { t_current = loop; }
    ~Enter() { t_current = before_; }

  private:
    const void* before_;
};

// The loop one of whose handlers this thread is in: unlike above, libevent itself is below us on the stack.
extern constinit thread_local const void* t_in_handler_of;

// How long the passes of the loop last. The loop's own, like all that handlers touch. It costs two readings of the
// clock for each pass (of each handler on a host's base), which the vDSO serves: no system call.
struct PassClock {
    void begin() noexcept {
        if (began_ns == 0) began_ns = monotonic_ns();
    }
    // After a pass without a handler of ours: nothing.
    void end() noexcept {
        if (began_ns != 0) {
            const int64_t lasted_ns = monotonic_ns() - began_ns;
            longest_ns = std::max(longest_ns, lasted_ns);
            if (lasted_ns >= EventLoop::kSlowPassUs * 1000) ++slow;
        }
        began_ns = 0;
    }
    int64_t began_ns = 0;  // 0: no handler has run in this pass
    int64_t longest_ns = 0;
    uint64_t slow = 0;
    bool by_handler = false;  // the passes are a host's, which does not tell when they end
};

class HandlerScope {
  public:
    HandlerScope(const void* loop, PassClock& pass) noexcept : enter_(loop), before_(t_in_handler_of), pass_(pass) {
        t_in_handler_of = loop;
        pass_.begin();
    }
    ~HandlerScope() {
        if (pass_.by_handler) pass_.end();
        t_in_handler_of = before_;
    }

  private:
    Enter enter_;
    const void* before_;
    PassClock& pass_;
};

struct EventLoop::State {
    struct Timer {
        event entry;
        State* loop = nullptr;
        TimerId id = 0;
        int64_t due_ns = 0;
        Task task;
    };

    // Constant after create().
    const Io* io = nullptr;
    Descriptor wake_fd;
    std::atomic<Drive> drive{Drive::own_thread};  // but for hand_over()
    bool late = false;
    std::optional<cpu_set_t> cpus;
    State* next_abandoned = nullptr;

    // Constant after make_base(): before that nobody runs the loop, and the watches that are set are in `unmade`.
    const Libevent* libevent = nullptr;
    event_base* base = nullptr;
    // Kept for make_base(): epoll, the two ends of a pipe, and what a handler watches instead of its descriptor. One of
    // them is for libevent's own file before.
    std::array<Descriptor, 4> reserved;
    bool edge_triggered = false;
    Watch::Inner* unmade = nullptr;  // the loop's own

    // Any thread.
    SpareReadMemory spare_read_memory;

    // The poster's side.
    common::Mutex queue_mutex;
    std::vector<Task> queue GUARDED_BY(queue_mutex);
    bool wake_pending GUARDED_BY(queue_mutex) = false;
    bool has_base GUARDED_BY(queue_mutex) = false;

    // The loop's own.
    PassClock pass;
    event wake_entry;
    bool wake_added = false;
    // Somebody's step was lost for lack of memory, and what is done about it.
    std::atomic<bool> lost{false};
    // By owner: a server and a client mostly, so that there is room without an allocation.
    std::array<std::pair<const void*, std::function<bool()>>, 8> recoveries;
    RecoveryStep* steps = nullptr;
    RecoveryStep* due_steps = nullptr;  // those that take_steps() is about to run
    event retry_entry;
    bool retry_made = false;
    unsigned hops = 0;          // so often has the queue run again without a look at the descriptors between
    bool hops_on = false;       // and it will once more
    std::vector<Task> running;  // keeps its capacity between runs of the queue
    std::unordered_map<TimerId, std::unique_ptr<Timer>> timers;
    TimerId last_timer = 0;

    // The loop's own thread. start(), stop() and hand_over() are not called at the same time, but a late thread may be
    // started by any other.
    // awaited: it is started when it is needed. stand_in: a caller runs the loop in its stead, because there was no
    // room for it or it has not been needed yet. running: it is there, and begins where the caller leaves.
    enum class Thread : uint8_t { none, awaited, stand_in, running };
    common::Mutex thread_mutex;  // held while `thread_is` changes and the base is made
    std::atomic<Thread> thread_is{Thread::none};
    pthread_t thread{};
    common::Mutex run_mutex;                 // held by the thread, or its stand-in, as long as it runs the loop
    std::atomic<bool> stand_in_ends{false};  // no thread is to follow, and the stand-in is to leave
    size_t unsent = 0;                       // descriptors that are watched for writing; the loop's own

    // Drive::caller: held by the thread that runs the loop. Also held by hand_over() while it ends the loop's thread.
    common::Mutex drive_mutex;
    std::atomic<bool> ending{false};  // the thread is to end without a look at the queue
    // An eventfd that wakes a thread which runs the loop for its waiter when another thread completes the waiter (one
    // that reads a connection, say). Made when callers become the drive.
    Descriptor waiter_fd;
    event waiter_entry;
    bool waiter_fd_watched = false;

    // The threads that sleep while the loop's own thread runs the loop: hand_over() wakes them, since it ends that
    // thread.
    struct Sleeper {
        Waiter* waiter;
        Sleeper* next;
        Sleeper* before;
    };
    common::Mutex sleepers_mutex;
    Sleeper* sleepers GUARDED_BY(sleepers_mutex) = nullptr;

    void wake() noexcept {
        const uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = ::write(wake_fd.get(), &one, sizeof one);
    }
    // With the wake-up that shows it what has been posted before. PMIX_ERR_OUT_OF_RESOURCE: no room for it, or no
    // libevent; it may be tried again.
    pmix_status_t make_base() noexcept REQUIRES(thread_mutex);
    bool reserve() noexcept;
    bool make_own_base() noexcept;
    bool watch_unmade() noexcept;
    void drop_base() noexcept;
    void wake_if_made() noexcept;
    pmix_status_t make_thread() noexcept REQUIRES(thread_mutex);
    bool stand_in(Task* task, Waiter* waiter, Deadline deadline) noexcept;
    void run_as_stand_in(Task* task, Waiter* waiter, Deadline deadline) noexcept REQUIRES(run_mutex);
    bool has_work() noexcept REQUIRES(run_mutex);
    void run_pass(Deadline until) noexcept;
    void append(Task&& task);
    bool make_waiter_fd() noexcept;
    bool watch_waiter_fd() noexcept;
    void run_for(Waiter& waiter, Deadline deadline) REQUIRES(drive_mutex);
    void sleep(Waiter& waiter, Deadline deadline) noexcept;
    void interrupt_sleepers() noexcept;
    void run_queue() noexcept;
    void take_steps() noexcept;
    void recover() noexcept;
    void step_lost() noexcept {
        lost.store(true, std::memory_order_release);
        wake_if_made();
    }
    // The only wall for exceptions below the loop. What is thrown is bad_alloc, and one step is lost by it.
    template <class F>
    void guarded(F&& f) noexcept {
        try {
            f();
        } catch (...) {
            step_lost();
        }
    }
    static void on_wake(evutil_socket_t, short, void* self) noexcept;
    static void on_timer(evutil_socket_t, short, void* timer) noexcept;
    static void* thread_main(void* self) noexcept;
    bool add_timer(Timer& timer) noexcept;
};

}  // namespace pmix::transport
