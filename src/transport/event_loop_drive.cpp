// SPDX-License-Identifier: BSD-3-Clause
// What runs the loop: its own thread, from the start or once it is needed, or the callers that wait.
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>

#include <cassert>
#include <new>

#include "transport/event_loop_state.h"

namespace pmix::transport {

using common::MutexLock;

namespace {

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

}  // namespace

// ---- the loop's own thread ----

void* EventLoop::State::thread_main(void* self) noexcept {
    auto* state = static_cast<State*>(self);
    int old = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    pthread_setname_np(pthread_self(), kLoopThreadName);  // from outside it would be three calls through /proc
    if (state->cpus) (void)::sched_setaffinity(0, sizeof *state->cpus, &*state->cpus);
    MutexLock lock(state->run_mutex);
    Enter enter(state);
    // One pass for each call, so that the end of a pass is seen; libevent itself would do the same in a loop of its
    // own.
    int rc;
    do {
        rc = state->libevent->base_loop(state->base, EVLOOP_NO_EXIT_ON_EMPTY | EVLOOP_ONCE);
        state->pass.end();
    } while (rc == 0 && state->libevent->base_got_break(state->base) == 0);
    return nullptr;
}

pmix_status_t EventLoop::State::make_thread() noexcept {
    assert(thread_is == Thread::none || thread_is == Thread::awaited || thread_is == Thread::stand_in);
    // What is to be watched is that of the caller that runs the loop now.
    if (thread_is == Thread::stand_in && !wake_added) return PMIX_ERR_OUT_OF_RESOURCE;
    WIREUP_RETURN_IF_ERROR(make_base());
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
    if (has_one()) return PMIX_SUCCESS;
    const bool relieves = s.thread_is == State::Thread::stand_in;
    WIREUP_RETURN_IF_ERROR(s.make_thread());
    if (relieves) s.wake();  // the caller that runs the loop leaves it
    return PMIX_SUCCESS;
}

// ---- callers that run the loop before there is a thread ----

void EventLoop::State::run_as_stand_in(Task* task, Waiter* waiter, Deadline deadline) noexcept {
    CancelShield shield;
    assert(t_current != this);
    if (task != nullptr) {
        HandlerScope scope(this, pass);
        guarded(*task);
        task->reset();
    }
    Enter enter(this);
    if (!wake_added) {
        HandlerScope scope(this, pass);
        run_queue();
        recover();
        return;
    }
    if (waiter == nullptr) {
        libevent->base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
        pass.end();
        return;
    }
    // What a handler posts runs before its pass ends.
    while (!waiter->done() && !deadline.passed() && thread_is == Thread::stand_in && !stand_in_ends) run_pass(deadline);
}

bool EventLoop::State::has_work() noexcept {
    if (!timers.empty() || unsent != 0 || steps != nullptr || lost) return true;
    MutexLock lock(queue_mutex);
    return !queue.empty();
}

// False: another thread runs the loop, or the thread is not awaited any more.
bool EventLoop::State::stand_in(Task* task, Waiter* waiter, Deadline deadline) noexcept {
    if (thread_is != Thread::awaited) return false;
    if (!run_mutex.try_lock()) return false;
    bool taken, has_more = false;
    {
        MutexLock lock(thread_mutex);
        taken = thread_is == Thread::awaited;
        if (taken) thread_is = Thread::stand_in;
        // Without a base it runs what has been posted.
        if (taken) [[maybe_unused]]
            const pmix_status_t made = make_base();
    }
    if (taken) {
        run_as_stand_in(task, waiter, deadline);
        has_more = has_work();
    }
    run_mutex.unlock();
    if (!taken) return false;
    MutexLock lock(thread_mutex);
    if (thread_is != Thread::stand_in) return true;
    thread_is = Thread::awaited;
    // Where there is no room for it, a later call makes it, or does what it would.
    if (has_more && !stand_in_ends) [[maybe_unused]]
        const pmix_status_t made = make_thread();
    return true;
}

bool EventLoop::run_here(Task& task, Waiter* waiter, Deadline deadline) noexcept {
    return !on_loop_thread() && state_->stand_in(&task, waiter, deadline);
}

bool EventLoop::is_turned() const noexcept {
    const State& s = *state_;
    return s.drive != Drive::own_thread || s.thread_is.load(std::memory_order_acquire) == State::Thread::running;
}

bool EventLoop::stand_in() noexcept {
    return !on_loop_thread() && state_->stand_in(nullptr, nullptr, Deadline::never());
}

bool EventLoop::withdraw_thread() noexcept {
    State& s = *state_;
    for (;;) {
        {
            MutexLock lock(s.thread_mutex);
            if (s.thread_is == State::Thread::awaited)
                s.thread_is.store(State::Thread::none, std::memory_order_release);
            if (s.thread_is != State::Thread::stand_in || on_loop_thread()) return s.thread_is == State::Thread::none;
            s.stand_in_ends = true;
        }
        s.wake();
        const timespec pause{0, 1'000'000};
        nanosleep(&pause, nullptr);
    }
}

pmix_status_t EventLoop::stop() {
    State& s = *state_;
    if (on_loop_thread() && s.thread_is >= State::Thread::stand_in) return PMIX_ERR_WOULD_BLOCK;
    if (withdraw_thread()) return PMIX_SUCCESS;
    assert(s.thread_is == State::Thread::running);
    post([&s] { s.libevent->base_break(s.base); });
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
    {
        MutexLock thread_lock(s.thread_mutex);
        WIREUP_RETURN_IF_ERROR(s.make_base());
    }
    // A thread that begins to wait from here on runs the loop itself, when no other thread does.
    s.drive = Drive::caller;
    if (flush) {
        stop();
    } else if (!withdraw_thread()) {
        assert(s.thread_is == State::Thread::running);
        s.ending = true;
        s.wake();
        pthread_join(s.thread, nullptr);
        s.thread_is = State::Thread::none;
        // The wake-up may have been that of tasks which still wait.
        s.ending = false;
        s.wake();
    }
    assert(s.thread_is == State::Thread::none);
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
    assert(waiter_fd && !waiter_fd_watched && base != nullptr);
    const auto nothing = [](evutil_socket_t, short, void*) {};
    waiter_fd_watched =
        libevent->assign(&waiter_entry, base, waiter_fd.get(), EV_READ | EV_PERSIST, nothing, nullptr) == 0 &&
        libevent->add(&waiter_entry, nullptr) == 0;
    return waiter_fd_watched;
}

// ---- callers that wait ----

void EventLoop::progress() {
    State& s = *state_;
    if (s.drive != Drive::caller || on_loop_thread()) return;
    if (!s.drive_mutex.try_lock()) return;
    {
        Enter enter(&s);
        s.libevent->base_loop(s.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);  // one pass: a busy peer does not keep us
        s.pass.end();
    }
    s.drive_mutex.unlock();
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
            s.stand_in(nullptr, nullptr, Deadline::never());
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

// Waits until something is ready, or until then, and runs its handlers.
void EventLoop::State::run_pass(Deadline until) noexcept {
    assert(t_current == this && base != nullptr);
    event alarm;
    const bool bounded = !until.is_never();
    if (bounded) {
        const int64_t us = until.remaining_ns() / 1000 + 1;
        const timeval in{static_cast<time_t>(us / 1'000'000), static_cast<suseconds_t>(us % 1'000'000)};
        const auto nothing = [](evutil_socket_t, short, void*) {};
        libevent->assign(&alarm, base, -1, 0, nothing, nullptr);
        libevent->add(&alarm, &in);
    }
    libevent->base_loop(base, EVLOOP_ONCE);
    pass.end();
    if (bounded) libevent->del(&alarm);
}

// Runs the loop once. Returns early when any thread completes the waiter.
void EventLoop::State::run_for(Waiter& waiter, Deadline deadline) {
    assert(drive == Drive::caller && t_current != this);
    if (!waiter.begin_poll(waiter_fd.get())) return;
    {
        Enter enter(this);
        run_pass(waiter_fd_watched ? deadline : sooner(deadline, Deadline::in_ms(10)));
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
        assert(sleepers == nullptr || sleepers->before == nullptr);
        if (sleepers != nullptr) sleepers->before = &self;
        sleepers = &self;
    }
    waiter.sleep(deadline);
    MutexLock lock(sleepers_mutex);
    assert((self.before != nullptr ? self.before->next : sleepers) == &self);
    assert(self.next == nullptr || self.next->before == &self);
    (self.before != nullptr ? self.before->next : sleepers) = self.next;
    if (self.next != nullptr) self.next->before = self.before;
}

void EventLoop::State::interrupt_sleepers() noexcept {
    MutexLock lock(sleepers_mutex);
    for (Sleeper* s = sleepers; s != nullptr; s = s->next) s->waiter->interrupt();
}

}  // namespace pmix::transport
