// SPDX-License-Identifier: BSD-3-Clause
#include "transport/event_loop.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#include "transport/descriptor.h"

namespace pmix::transport {

using common::MutexLock;
using common::Result;

namespace {

// The loop whose code this thread runs at the moment. A plain pointer: no destructor, no guard.
thread_local const void* t_current = nullptr;

class Enter {
  public:
    explicit Enter(const void* loop) noexcept : before_(t_current) { t_current = loop; }
    ~Enter() { t_current = before_; }

  private:
    const void* before_;
};

// The loop one of whose handlers this thread is in: unlike above, libevent itself is below us on the stack.
thread_local const void* t_in_handler_of = nullptr;

// How long the passes of the loop last. The loop's own, like all that handlers touch. It costs two readings of the
// clock for each pass (of each handler on a host's base), which the vDSO serves: no system call.
struct PassClock {
    void begin() noexcept {
        if (began_ns == 0) began_ns = monotonic_ns();
    }
    // After a pass without a handler of ours: nothing.
    void end() noexcept {
        if (began_ns != 0) longest_ns = std::max(longest_ns, monotonic_ns() - began_ns);
        began_ns = 0;
    }
    int64_t began_ns = 0;  // 0: no handler has run in this pass
    int64_t longest_ns = 0;
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

// Untouched pages cost nothing, but a stack of 2 MiB or more may be given a huge page at its first touch. Handlers of
// the user's run on it, so it is not as small as it could be.
constexpr size_t kStackBytes = 1u << 20;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSmallStack = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kSmallStack = false;
#else
constexpr bool kSmallStack = true;
#endif
#else
constexpr bool kSmallStack = true;
#endif

// What the wake-up's handler is told when the loop has called it for itself.
constexpr short kHop = EV_WRITE;

// Between two tries of the recovery that was set.
constexpr timeval kRecoveryPause{0, 10'000};

}  // namespace

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
    std::atomic<Drive> drive{Drive::own_thread};  // but for hand_over()
    event_base* base = nullptr;
    Descriptor wake_fd;
    bool edge_triggered = false;
    bool late = false;
    State* next_abandoned = nullptr;

    // The poster's side.
    common::Mutex queue_mutex;
    std::vector<Task> queue GUARDED_BY(queue_mutex);
    bool wake_pending GUARDED_BY(queue_mutex) = false;

    // The loop's own.
    PassClock pass;
    event wake_entry;
    bool wake_added = false;
    // Somebody's step was lost for lack of memory, and what is done about it.
    std::atomic<bool> lost{false};
    std::function<bool()> recovery;
    RecoveryStep* steps = nullptr;
    event retry_entry;
    bool retry_made = false;
    bool hopped = false;        // the queue runs for the second time without a look at the descriptors between
    std::vector<Task> running;  // keeps its capacity between runs of the queue
    std::unordered_map<TimerId, std::unique_ptr<Timer>> timers;
    TimerId last_timer = 0;

    // The loop's own thread. start(), stop() and hand_over() are not called at the same time, but a late thread may be
    // started by any other.
    // awaited: it is started when it is needed. stand_in: there was no room for it, and a caller that waits runs the
    // loop for a moment.
    enum class Thread : uint8_t { none, awaited, stand_in, running };
    common::Mutex thread_mutex;  // held while `thread_is` changes
    std::atomic<Thread> thread_is{Thread::none};
    pthread_t thread{};

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
    pmix_status_t make_thread() noexcept REQUIRES(thread_mutex);
    bool stand_in() noexcept;
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
        wake();
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

namespace {
// Forked children keep what they gave up reachable, so that leak checkers stay quiet about it.
std::atomic<void*> g_abandoned{nullptr};
}  // namespace

void EventLoop::State::run_queue() noexcept {
    {
        MutexLock lock(queue_mutex);
        running.swap(queue);
        wake_pending = false;
    }
    for (Task& task : running) {
        guarded(task);
        task.reset();  // what it captured goes now, in order, not at the end of the batch
    }
    running.clear();
}

// Those that were there when it began, so that a step which comes again does not keep the loop.
void EventLoop::State::take_steps() noexcept {
    RecoveryStep* now = std::exchange(steps, nullptr);
    if (now != nullptr) now->at_ = &now;
    while (now != nullptr) {
        RecoveryStep& step = *now;
        step.withdraw();
        step.on_recovery();  // nothing of it after this: it may be gone
    }
}

void EventLoop::State::recover() noexcept {
    take_steps();
    if (!lost.exchange(false, std::memory_order_acquire) || !recovery) return;
    try {
        if (recovery()) return;
    } catch (...) {
    }
    lost.store(true, std::memory_order_release);
    if (!retry_made || evtimer_add(&retry_entry, &kRecoveryPause) != 0) wake();
}

void EventLoop::State::on_wake(evutil_socket_t, short what, void* self) noexcept {
    auto* state = static_cast<State*>(self);
    HandlerScope scope(state, state->pass);
    state->hopped = what == kHop;
    if (!state->edge_triggered && !state->hopped) {
        uint64_t count;
        [[maybe_unused]] const ssize_t got = ::read(state->wake_fd.get(), &count, sizeof count);
    }
    if (state->ending) {
        event_base_loopbreak(state->base);
        return;
    }
    state->run_queue();
    state->recover();
    state->hopped = false;
}

bool EventLoop::State::add_timer(Timer& timer) noexcept {
    const int64_t left = timer.due_ns - monotonic_ns();
    const int64_t us = left > 0 ? (left + 999) / 1000 : 0;
    const timeval in{static_cast<time_t>(us / 1'000'000), static_cast<suseconds_t>(us % 1'000'000)};
    return evtimer_add(&timer.entry, &in) == 0;
}

void EventLoop::State::on_timer(evutil_socket_t, short, void* arg) noexcept {
    auto* timer = static_cast<Timer*>(arg);
    State* state = timer->loop;
    HandlerScope scope(state, state->pass);
    // libevent counts on a coarse and cached clock, and may come some milliseconds early.
    if (monotonic_ns() < timer->due_ns && state->add_timer(*timer)) return;
    auto node = state->timers.extract(timer->id);
    state->guarded(node.mapped()->task);
}

void* EventLoop::State::thread_main(void* self) noexcept {
    auto* state = static_cast<State*>(self);
    int old = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    pthread_setname_np(pthread_self(), kLoopThreadName);  // from outside it would be three calls through /proc
    Enter enter(state);
    // One pass for each call, so that the end of a pass is seen; libevent itself would do the same in a loop of its
    // own.
    int rc;
    do {
        rc = event_base_loop(state->base, EVLOOP_NO_EXIT_ON_EMPTY | EVLOOP_ONCE);
        state->pass.end();
    } while (rc == 0 && event_base_got_break(state->base) == 0);
    return nullptr;
}

EventLoop::EventLoop(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}

Result<std::unique_ptr<EventLoop>> EventLoop::create(const EventLoopOptions& options) {
    auto state = std::make_unique<State>();
    state->io = options.io;
    state->drive = options.drive;
    state->late = options.late;
    state->pass.by_handler = options.drive == Drive::host_base;
    if (options.drive == Drive::host_base) {
        if (options.host_base == nullptr) return PMIX_ERR_BAD_PARAM;
        state->base = options.host_base;
    } else {
        event_config* config = event_config_new();
        if (config == nullptr) return PMIX_ERR_NOMEM;
        event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
        event_config_set_flag(config, EVENT_BASE_FLAG_IGNORE_ENV);
        state->base = event_base_new_with_config(config);
        event_config_free(config);
        if (state->base == nullptr) return PMIX_ERR_OUT_OF_RESOURCE;
    }
    // From here on the destructor cleans up.
    auto loop = std::unique_ptr<EventLoop>(new EventLoop(std::move(state)));
    State& s = *loop->state_;
    s.wake_fd.reset(s.io->eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!s.wake_fd) return PMIX_ERR_OUT_OF_RESOURCE;
    // Edge-triggered, each write is a wake-up and nothing need be read back: one system call less per hop.
    s.edge_triggered = (event_base_get_features(s.base) & EV_FEATURE_ET) != 0;
    const short what = static_cast<short>(EV_READ | EV_PERSIST | (s.edge_triggered ? EV_ET : 0));
    if (event_assign(&s.wake_entry, s.base, s.wake_fd.get(), what, &State::on_wake, &s) != 0 ||
        event_add(&s.wake_entry, nullptr) != 0) {
        return PMIX_ERR_OUT_OF_RESOURCE;
    }
    s.wake_added = true;
    const auto again = [](evutil_socket_t, short, void* self) {
        auto* loop_state = static_cast<State*>(self);
        HandlerScope scope(loop_state, loop_state->pass);
        loop_state->recover();
    };
    s.retry_made = evtimer_assign(&s.retry_entry, s.base, again, &s) == 0;
    if (options.drive == Drive::caller && !(s.make_waiter_fd() && s.watch_waiter_fd())) return PMIX_ERR_OUT_OF_RESOURCE;
    return loop;
}

EventLoop::~EventLoop() {
    if (!state_) return;
    stop();
    State& s = *state_;
    {
        Enter enter(&s);  // what tasks hold may ask where it is destroyed
        std::vector<Task> left;
        {
            MutexLock lock(s.queue_mutex);
            left.swap(s.queue);
        }
        left.clear();
        while (s.steps != nullptr) s.steps->withdraw();
        for (auto& [id, timer] : s.timers) evtimer_del(&timer->entry);
        s.timers.clear();
        if (s.retry_made) event_del(&s.retry_entry);
        if (s.wake_added) event_del(&s.wake_entry);
        if (s.waiter_fd_watched) event_del(&s.waiter_entry);
    }
    if (s.drive != Drive::host_base) event_base_free(s.base);
}

pmix_status_t EventLoop::State::make_thread() noexcept {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (kSmallStack) pthread_attr_setstacksize(&attributes, kStackBytes);

    // The thread inherits the mask; no signal of the application's is ever handled on it.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&thread, &attributes, &State::thread_main, this);
    // A program with much thread-local data needs more than our stack for that alone.
    if (rc == EINVAL) rc = pthread_create(&thread, nullptr, &State::thread_main, this);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    if (rc != 0) return PMIX_ERR_OUT_OF_RESOURCE;
    thread_is.store(Thread::running, std::memory_order_release);
    return PMIX_SUCCESS;
}

pmix_status_t EventLoop::start() {
    State& s = *state_;
    MutexLock lock(s.thread_mutex);
    if (s.drive != Drive::own_thread || s.thread_is != State::Thread::none) return PMIX_SUCCESS;
    bool needed = !s.late;
    if (s.late) {
        MutexLock queue_lock(s.queue_mutex);
        needed = !s.queue.empty();
    }
    if (needed) return s.make_thread();
    s.thread_is.store(State::Thread::awaited, std::memory_order_release);
    return PMIX_SUCCESS;
}

pmix_status_t EventLoop::need_thread() noexcept {
    State& s = *state_;
    const auto has_one = [&] { return s.thread_is == State::Thread::none || s.thread_is == State::Thread::running; };
    if (has_one() || on_loop_thread()) return PMIX_SUCCESS;
    MutexLock lock(s.thread_mutex);
    // Another thread runs the loop for a moment.
    if (s.thread_is == State::Thread::stand_in) return PMIX_ERR_OUT_OF_RESOURCE;
    return has_one() ? PMIX_SUCCESS : s.make_thread();
}

// Where there is no room for the thread: the caller runs what is ready, once. False: another thread does, or the thread
// is not awaited any more.
bool EventLoop::State::stand_in() noexcept {
    {
        MutexLock lock(thread_mutex);
        if (thread_is != Thread::awaited) return false;
        thread_is = Thread::stand_in;
    }
    {
        Enter enter(this);
        event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
        pass.end();
    }
    MutexLock lock(thread_mutex);
    thread_is = Thread::awaited;
    return true;
}

bool EventLoop::is_turned() const noexcept {
    const State& s = *state_;
    return s.drive != Drive::own_thread || s.thread_is.load(std::memory_order_acquire) == State::Thread::running;
}

bool EventLoop::stand_in() noexcept {
    return !on_loop_thread() && state_->stand_in();
}

bool EventLoop::withdraw_thread() noexcept {
    State& s = *state_;
    for (;;) {
        {
            MutexLock lock(s.thread_mutex);
            if (s.thread_is == State::Thread::awaited)
                s.thread_is.store(State::Thread::none, std::memory_order_release);
            if (s.thread_is != State::Thread::stand_in || on_loop_thread()) return s.thread_is == State::Thread::none;
        }
        // It does not wait for anything.
        const timespec pause{0, 1'000'000};
        nanosleep(&pause, nullptr);
    }
}

pmix_status_t EventLoop::stop() {
    State& s = *state_;
    if (on_loop_thread() && s.thread_is >= State::Thread::stand_in) return PMIX_ERR_WOULD_BLOCK;
    if (withdraw_thread()) return PMIX_SUCCESS;
    post([base = s.base] { event_base_loopbreak(base); });
    pthread_join(s.thread, nullptr);
    s.thread_is = State::Thread::none;
    return PMIX_SUCCESS;
}

pmix_status_t EventLoop::hand_over(bool flush) {
    State& s = *state_;
    if (on_loop_thread()) return PMIX_ERR_WOULD_BLOCK;
    MutexLock lock(s.drive_mutex);
    if (s.drive != Drive::own_thread || s.thread_is == State::Thread::none) return PMIX_SUCCESS;
    if (!s.make_waiter_fd()) return PMIX_ERR_OUT_OF_RESOURCE;
    // A thread that begins to wait from here on runs the loop itself, when no other thread does.
    s.drive = Drive::caller;
    if (flush) {
        stop();
    } else if (!withdraw_thread()) {
        s.ending = true;
        s.wake();
        pthread_join(s.thread, nullptr);
        s.thread_is = State::Thread::none;
        // The wake-up may have been that of tasks which still wait.
        s.ending = false;
        s.wake();
    }
    s.watch_waiter_fd();
    s.interrupt_sleepers();
    return PMIX_SUCCESS;
}

bool EventLoop::State::make_waiter_fd() noexcept {
    if (!waiter_fd) waiter_fd.reset(io->eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    return bool(waiter_fd);
}

// Under drive_mutex or before start(). If it fails (no memory), the thread that runs the loop tests its waiter at short
// intervals (run_for).
bool EventLoop::State::watch_waiter_fd() noexcept {
    const auto nothing = [](evutil_socket_t, short, void*) {};
    waiter_fd_watched =
        event_assign(&waiter_entry, base, waiter_fd.get(), EV_READ | EV_PERSIST, nothing, nullptr) == 0 &&
        event_add(&waiter_entry, nullptr) == 0;
    return waiter_fd_watched;
}

void EventLoop::post(Task task) {
    if (need_thread() != PMIX_SUCCESS) throw std::bad_alloc();
    state_->append(std::move(task));
}

void EventLoop::post_anyway(Task task) {
    state_->append(std::move(task));
    [[maybe_unused]] const pmix_status_t started = need_thread();
}

void EventLoop::State::append(Task&& task) {
    bool first;
    {
        MutexLock lock(queue_mutex);
        queue.push_back(std::move(task));
        first = !wake_pending;
        wake_pending = true;
    }
    if (!first) return;
    // From one of the loop's own handlers no system call is needed: the queue runs after those handlers that are ready
    // now. But once only, so that a task that posts itself again and again does not keep the descriptors waiting.
    if (t_in_handler_of == this && !hopped) {
        event_active(&wake_entry, kHop, 0);
    } else {
        wake();
    }
}

void EventLoop::step_lost() noexcept {
    state_->step_lost();
}
void EventLoop::recover_later(RecoveryStep& step) noexcept {
    assert_on_loop();
    if (step.at_ != nullptr) return;
    step.at_ = &state_->steps;
    step.next_ = state_->steps;
    if (step.next_ != nullptr) step.next_->at_ = &step.next_;
    state_->steps = &step;
    state_->wake();
}
void EventLoop::set_recovery(std::function<bool()> recovery) {
    state_->recovery = std::move(recovery);
}
bool EventLoop::on_any_loop() noexcept {
    return t_current != nullptr;
}
bool EventLoop::on_loop_thread() const noexcept {
    return t_current == state_.get();
}
Drive EventLoop::drive() const noexcept {
    return state_->drive;
}
const Io& EventLoop::io() const noexcept {
    return *state_->io;
}
uint64_t EventLoop::longest_pass_us() const noexcept {
    assert_on_loop();
    return static_cast<uint64_t>(state_->pass.longest_ns) / 1000;
}

void EventLoop::progress() {
    State& s = *state_;
    if (s.drive != Drive::caller || on_loop_thread()) return;
    if (!s.drive_mutex.try_lock()) return;
    {
        Enter enter(&s);
        event_base_loop(s.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);  // one pass: a busy peer does not keep us
        s.pass.end();
    }
    s.drive_mutex.unlock();
}

void EventLoop::run_posted() noexcept {
    assert_on_loop();
    state_->run_queue();
}

bool EventLoop::wait(Waiter& waiter, Deadline deadline) {
    State& s = *state_;
    if (on_loop_thread()) return waiter.done();
    if (s.drive == Drive::host_base) return waiter.wait(deadline);
    while (!waiter.done()) {
        if (deadline.passed()) return waiter.done();
        if (s.drive == Drive::own_thread && need_thread() != PMIX_SUCCESS) {
            // This thread does what the missing one would; somebody else may complete the waiter, too, and there may be
            // room for the thread in a moment.
            s.stand_in();
            waiter.wait(sooner(deadline, Deadline::in_ms(1)));
        } else if (s.drive == Drive::own_thread) {
            s.sleep(waiter, deadline);
        } else if (!s.drive_mutex.try_lock()) {
            // Another thread runs the loop. It may complete our waiter, or stop without a notification: test again in 1
            // ms.
            waiter.wait(sooner(deadline, Deadline::in_ms(1)));
        } else {
            s.run_for(waiter, deadline);
            s.drive_mutex.unlock();
        }
    }
    return true;
}

// Runs the loop once. Returns early when any thread completes the waiter.
void EventLoop::State::run_for(Waiter& waiter, Deadline deadline) {
    if (!waiter.begin_poll(waiter_fd.get())) return;
    {
        Enter enter(this);
        event alarm;
        const Deadline until = waiter_fd_watched ? deadline : sooner(deadline, Deadline::in_ms(10));
        const bool bounded = !until.is_never();
        if (bounded) {
            const int64_t us = until.remaining_ns() / 1000 + 1;
            const timeval in{static_cast<time_t>(us / 1'000'000), static_cast<suseconds_t>(us % 1'000'000)};
            evtimer_assign(
                &alarm, base, [](evutil_socket_t, short, void*) {}, nullptr);
            evtimer_add(&alarm, &in);
        }
        event_base_loop(base, EVLOOP_ONCE);
        pass.end();
        if (bounded) evtimer_del(&alarm);
    }
    if (waiter.end_poll(waiter_fd.get())) return;
    // The completer has written or is about to: await the write, so that it does not reach a closed descriptor.
    uint64_t count;
    while (::read(waiter_fd.get(), &count, sizeof count) < 0) {
        pollfd ready{waiter_fd.get(), POLLIN, 0};
        ::poll(&ready, 1, -1);
    }
}

// While the loop's own thread runs the loop. Returns early when that thread ends.
void EventLoop::State::sleep(Waiter& waiter, Deadline deadline) noexcept {
    Sleeper self{&waiter, nullptr, nullptr};
    {
        // Under the lock from the look at the drive until an interruption would be noticed.
        MutexLock lock(sleepers_mutex);
        if (drive != Drive::own_thread || !waiter.begin_sleep()) return;
        self.next = sleepers;
        if (sleepers != nullptr) sleepers->before = &self;
        sleepers = &self;
    }
    waiter.sleep(deadline);
    MutexLock lock(sleepers_mutex);
    (self.before != nullptr ? self.before->next : sleepers) = self.next;
    if (self.next != nullptr) self.next->before = self.before;
}

void EventLoop::State::interrupt_sleepers() noexcept {
    MutexLock lock(sleepers_mutex);
    for (Sleeper* s = sleepers; s != nullptr; s = s->next) s->waiter->interrupt();
}

TimerId EventLoop::after(int64_t ms, Task task) {
    assert_on_loop();
    State& s = *state_;
    auto timer = std::make_unique<State::Timer>();
    timer->loop = &s;
    timer->id = ++s.last_timer;
    const Deadline due = Deadline::in_ms(ms);
    // A timer beyond the range of the clock gets an id, but no entry.
    if (due.is_never()) return timer->id;
    timer->due_ns = due.ns();
    timer->task = std::move(task);
    evtimer_assign(&timer->entry, s.base, &State::on_timer, timer.get());
    auto [at, inserted] = s.timers.emplace(timer->id, std::move(timer));
    if (!s.add_timer(*at->second)) {
        s.timers.erase(at);
        throw std::bad_alloc();
    }
    return at->first;
}

bool EventLoop::cancel(TimerId id) noexcept {
    assert_on_loop();
    auto at = state_->timers.find(id);
    if (at == state_->timers.end()) return false;
    evtimer_del(&at->second->entry);
    state_->timers.erase(at);
    return true;
}

void EventLoop::abandon(std::unique_ptr<EventLoop> loop) noexcept {
    if (!loop) return;
    State* state = loop->state_.release();
    // Its eventfds and its epoll descriptor stay: whether their numbers still stand for them cannot be found out.
    state->next_abandoned = static_cast<State*>(g_abandoned.load(std::memory_order_relaxed));
    g_abandoned.store(state, std::memory_order_relaxed);
}

// ---- Watch ----

struct Watch::Inner {
    const void* loop = nullptr;
    PassClock* pass = nullptr;
    WatchHandler* handler = nullptr;
    // Two entries on one descriptor: libevent folds them into one epoll registration.
    event read_entry;
    event write_entry;
    bool read = false;
    bool write = false;

    static void on_readable(evutil_socket_t, short, void* self) noexcept {
        auto* inner = static_cast<Inner*>(self);
        HandlerScope scope(inner->loop, *inner->pass);
        inner->handler->on_ready(true, false);  // nothing after this: the Watch may be gone
    }
    static void on_writable(evutil_socket_t, short, void* self) noexcept {
        auto* inner = static_cast<Inner*>(self);
        HandlerScope scope(inner->loop, *inner->pass);
        inner->handler->on_ready(false, true);
    }
};

Watch::Watch(std::unique_ptr<Inner> inner) noexcept : inner_(std::move(inner)) {}

Watch::~Watch() {
    if (!inner_) return;
    if (inner_->read) event_del(&inner_->read_entry);
    if (inner_->write) event_del(&inner_->write_entry);
}

std::unique_ptr<Watch> EventLoop::watch(int fd, WatchHandler& handler) {
    assert_on_loop();
    auto inner = std::unique_ptr<Watch::Inner>(new (std::nothrow) Watch::Inner);
    if (!inner) return nullptr;
    inner->loop = state_.get();
    inner->pass = &state_->pass;
    inner->handler = &handler;
    event_assign(&inner->read_entry, state_->base, fd, EV_READ | EV_PERSIST, &Watch::Inner::on_readable, inner.get());
    event_assign(&inner->write_entry, state_->base, fd, EV_WRITE | EV_PERSIST, &Watch::Inner::on_writable, inner.get());
    return std::unique_ptr<Watch>(new (std::nothrow) Watch(std::move(inner)));
}

bool Watch::set(bool read, bool write) noexcept {
    assert_on_loop();
    auto change = [](event& entry, bool& now, bool want) noexcept {
        if (now == want) return true;
        const bool done = (want ? event_add(&entry, nullptr) : event_del(&entry)) == 0;
        now = want && done;
        return done;
    };
    return change(inner_->read_entry, inner_->read, read) && change(inner_->write_entry, inner_->write, write);
}

// ---- the role ----

LoopRole::LoopRole(EventLoop& loop) noexcept : before_(t_current) {
    assert(loop.on_loop_thread() || loop.state_->thread_is != EventLoop::State::Thread::running);
    t_current = loop.state_.get();
}
LoopRole::~LoopRole() {
    t_current = before_;
}

void assert_on_loop() noexcept {
    assert(t_current != nullptr);
}

}  // namespace pmix::transport
