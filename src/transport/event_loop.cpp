// SPDX-License-Identifier: BSD-3-Clause
#include <sys/eventfd.h>

#include <cassert>
#include <new>

#include "common/base/standard_streams.h"
#include "transport/event_loop_state.h"

namespace pmix::transport {

using common::MutexLock;
using common::Result;

constinit thread_local const void* t_current = nullptr;
constinit thread_local const void* t_in_handler_of = nullptr;

namespace {

// What the wake-up's handler is told when the loop has called it for itself.
constexpr short kHop = EV_WRITE;

// What a handler posts, and what that posts in turn, runs in the same pass: an upcall is deferred by one post, and the
// answer that the host gives in it by another. No more, so that a task which posts itself again and again does not keep
// the descriptors waiting.
constexpr unsigned kMostHops = 3;

// Between two tries of the recovery that was set.
constexpr timeval kRecoveryPause{0, 10'000};

// Forked children keep what they gave up reachable, so that leak checkers stay quiet about it.
std::atomic<void*> g_abandoned{nullptr};

}  // namespace

void EventLoop::State::run_queue() noexcept {
    assert(running.empty());  // no task runs the queue that it is in
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
    due_steps = std::exchange(steps, nullptr);
    if (due_steps != nullptr) due_steps->at_ = &due_steps;
    while (due_steps != nullptr) {
        RecoveryStep& step = *due_steps;
        step.withdraw();
        step.on_recovery();  // nothing of it after this: it may be gone
    }
}

void EventLoop::State::recover() noexcept {
    take_steps();
    if (!lost.exchange(false, std::memory_order_acquire)) return;
    bool recovered = true;
    for (const auto& [owner, recovery] : recoveries) {
        if (!recovery) continue;
        try {
            recovered = recovery() && recovered;
        } catch (...) {
            recovered = false;
        }
    }
    if (recovered) return;
    lost.store(true, std::memory_order_release);
    if (!wake_added) return;  // the next caller that runs the loop, or the first base, does it
    if (!retry_made || libevent->add(&retry_entry, &kRecoveryPause) != 0) wake();
}

void EventLoop::State::on_wake(evutil_socket_t, short what, void* self) noexcept {
    auto* state = static_cast<State*>(self);
    HandlerScope scope(state, state->pass);
    state->hops = what == kHop ? state->hops + 1 : 0;
    state->hops_on = false;
    assert(state->hops <= kMostHops);
    if (!state->edge_triggered && what != kHop) {
        uint64_t count;
        [[maybe_unused]] const ssize_t got = ::read(state->wake_fd.get(), &count, sizeof count);
    }
    if (state->ending) {
        state->libevent->base_break(state->base);
        return;
    }
    state->run_queue();
    state->recover();
    if (!state->hops_on) state->hops = 0;
}

bool EventLoop::State::add_timer(Timer& timer) noexcept {
    const int64_t left = timer.due_ns - monotonic_ns();
    const int64_t us = left > 0 ? (left + 999) / 1000 : 0;
    const timeval in{static_cast<time_t>(us / 1'000'000), static_cast<suseconds_t>(us % 1'000'000)};
    return libevent->add(&timer.entry, &in) == 0;
}

void EventLoop::State::on_timer(evutil_socket_t, short, void* arg) noexcept {
    auto* timer = static_cast<Timer*>(arg);
    State* state = timer->loop;
    HandlerScope scope(state, state->pass);
    // libevent counts on a coarse and cached clock, and may come some milliseconds early.
    if (monotonic_ns() < timer->due_ns && state->add_timer(*timer)) return;
    auto node = state->timers.extract(timer->id);
    assert(!node.empty() && node.mapped().get() == timer);  // it is called once, and not after it was cancelled
    state->guarded(node.mapped()->task);
}

EventLoop::EventLoop(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}

Result<std::unique_ptr<EventLoop>> EventLoop::create(const EventLoopOptions& options) {
    auto state = std::make_unique<State>();
    state->io = options.io;
    state->drive = options.drive;
    state->late = options.late;
    state->cpus = options.cpus;
    state->pass.by_handler = options.drive == Drive::host_base;
    if (options.drive == Drive::host_base) {
        if (options.host_base == nullptr) return PMIX_ERR_BAD_PARAM;
        state->base = options.host_base;
    }
    // From here on the destructor cleans up.
    auto loop = std::unique_ptr<EventLoop>(new EventLoop(std::move(state)));
    State& s = *loop->state_;
    // The base of a late loop waits for the first that needs it, as its thread does. Its descriptors do not: it is to
    // be had by a process that has used up its own by then.
    s.wake_fd.reset(s.io->eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!s.wake_fd) return PMIX_ERR_OUT_OF_RESOURCE;
    if (s.late && s.drive == Drive::own_thread) {
        if (!s.reserve()) return PMIX_ERR_OUT_OF_RESOURCE;
        return loop;
    }
    MutexLock lock(s.thread_mutex);
    WIREUP_RETURN_IF_ERROR(s.make_base());
    if (options.drive == Drive::caller && !(s.make_waiter_fd() && s.watch_waiter_fd())) return PMIX_ERR_OUT_OF_RESOURCE;
    return loop;
}

pmix_status_t EventLoop::State::make_base() noexcept {
    if (wake_added) return PMIX_SUCCESS;
    reserved[0].reset();
    libevent = Libevent::open();
    if (libevent == nullptr || !reserve()) return PMIX_ERR_OUT_OF_RESOURCE;
    for (Descriptor& one : reserved) one.reset();
    if (drive != Drive::host_base && !make_own_base()) return PMIX_ERR_OUT_OF_RESOURCE;
    // Edge-triggered, each write is a wake-up and nothing need be read back: one system call less per hop.
    edge_triggered = (libevent->base_features(base) & EV_FEATURE_ET) != 0;
    const short what = static_cast<short>(EV_READ | EV_PERSIST | (edge_triggered ? EV_ET : 0));
    wake_added = libevent->assign(&wake_entry, base, wake_fd.get(), what, &State::on_wake, this) == 0 &&
                 libevent->add(&wake_entry, nullptr) == 0;
    if (!wake_added || !watch_unmade()) {
        drop_base();
        return PMIX_ERR_OUT_OF_RESOURCE;
    }
    assert(base != nullptr && unmade == nullptr);
    const auto again = [](evutil_socket_t, short, void* self) {
        auto* state = static_cast<State*>(self);
        HandlerScope scope(state, state->pass);
        state->recover();
    };
    retry_made = libevent->assign(&retry_entry, base, -1, 0, again, this) == 0;
    MutexLock lock(queue_mutex);
    has_base = true;
    // What was posted, or lost, before this has woken nobody.
    if (queue.empty() && !lost && steps == nullptr) return PMIX_SUCCESS;
    wake_pending = true;
    wake();
    return PMIX_SUCCESS;
}

// libevent ends the process where there is no room for the pipe of a base (event_sock_err in evsig_init_), so that must
// not be found out by it.
bool EventLoop::State::reserve() noexcept {
    for (Descriptor& one : reserved) {
        if (!one) one.reset(io->dup_cloexec(wake_fd.get()));
        if (!one) return false;
    }
    return true;
}

bool EventLoop::State::make_own_base() noexcept {
    event_config* config = libevent->config_new();
    if (config == nullptr) return false;
    libevent->config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
    libevent->config_set_flag(config, EVENT_BASE_FLAG_IGNORE_ENV);
    {
        const common::StandardStreamsTaken taken;
        base = libevent->base_new(config);
    }
    libevent->config_free(config);
    return base != nullptr;
}

// All entries are out of it.
void EventLoop::State::drop_base() noexcept {
    assert(timers.empty() && !waiter_fd_watched);
    if (wake_added) libevent->del(&wake_entry);
    wake_added = false;
    if (drive != Drive::host_base && base != nullptr) {
        libevent->base_free(base);
        base = nullptr;
    }
}

// For those who do not know that the loop has its base. What they have done they did before this; make_base() looks at
// it after it has set has_base, under the same lock.
void EventLoop::State::wake_if_made() noexcept {
    MutexLock lock(queue_mutex);
    if (has_base) wake();
}

EventLoop::~EventLoop() {
    if (!state_) return;
    stop();
    State& s = *state_;
    assert(s.thread_is == State::Thread::none);
    {
        Enter enter(&s);  // what tasks hold may ask where it is destroyed
        std::vector<Task> left;
        {
            MutexLock lock(s.queue_mutex);
            left.swap(s.queue);
        }
        left.clear();
        while (s.steps != nullptr) s.steps->withdraw();
        for (auto& [id, timer] : s.timers) s.libevent->del(&timer->entry);
        s.timers.clear();
        if (s.retry_made) s.libevent->del(&s.retry_entry);
        if (std::exchange(s.waiter_fd_watched, false)) s.libevent->del(&s.waiter_entry);
        assert(s.steps == nullptr);
    }
    s.drop_base();
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
        first = has_base && !wake_pending;
        if (has_base) wake_pending = true;
    }
    if (!first) return;
    // From one of the loop's own handlers no system call is needed: the queue runs after those handlers that are ready
    // now.
    if (t_in_handler_of == this && hops < kMostHops) {
        hops_on = true;
        libevent->activate(&wake_entry, kHop, 0);
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
    state_->wake_if_made();
}
void EventLoop::set_recovery(const void* owner, std::function<bool()> recovery) {
    auto at = std::ranges::find(state_->recoveries, owner, [](const auto& known) { return known.first; });
    if (at == state_->recoveries.end())
        at = std::ranges::find(state_->recoveries, nullptr, [](const auto& known) { return known.first; });
    assert(at != state_->recoveries.end());
    if (at == state_->recoveries.end()) return;
    *at = {recovery ? owner : nullptr, std::move(recovery)};
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
SpareReadMemory& EventLoop::spare_read_memory() noexcept {
    return state_->spare_read_memory;
}
uint64_t EventLoop::longest_pass_us() const noexcept {
    assert_on_loop();
    return static_cast<uint64_t>(state_->pass.longest_ns) / 1000;
}
uint64_t EventLoop::slow_passes() const noexcept {
    assert_on_loop();
    return state_->pass.slow;
}

void EventLoop::run_posted() noexcept {
    assert_on_loop();
    assert(on_loop_thread());
    state_->run_queue();
}

TimerId EventLoop::after(int64_t ms, Task task) {
    assert_on_loop();
    State& s = *state_;
    if (!s.wake_added) {
        MutexLock lock(s.thread_mutex);
        if (s.make_base() != PMIX_SUCCESS) throw std::bad_alloc();
    }
    assert(s.wake_added && s.base != nullptr);
    auto timer = std::make_unique<State::Timer>();
    timer->loop = &s;
    timer->id = ++s.last_timer;
    const Deadline due = Deadline::in_ms(ms);
    // A timer beyond the range of the clock gets an id, but no entry.
    if (due.is_never()) return timer->id;
    timer->due_ns = due.ns();
    timer->task = std::move(task);
    s.libevent->assign(&timer->entry, s.base, -1, 0, &State::on_timer, timer.get());
    auto [at, inserted] = s.timers.emplace(timer->id, std::move(timer));
    assert(inserted);  // an id is given once
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
    state_->libevent->del(&at->second->entry);
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
    EventLoop::State* loop = nullptr;
    WatchHandler* handler = nullptr;
    int fd = -1;
    // Two entries on one descriptor: libevent folds them into one epoll registration.
    event read_entry;
    event write_entry;
    bool read = false;
    bool write = false;
    bool made = false;      // the entries are the base's; else this is in the list of those that wait for it
    Inner* next = nullptr;  // in that list
    Inner** at = nullptr;   // what points here

    bool make() noexcept {
        assert(!made && loop->base != nullptr);
        const Libevent& ev = *loop->libevent;
        const int watched = handler->to_watch(fd);
        if (watched < 0) return false;
        ev.assign(&read_entry, loop->base, watched, EV_READ | EV_PERSIST, &Inner::on_readable, this);
        ev.assign(&write_entry, loop->base, watched, EV_WRITE | EV_PERSIST, &Inner::on_writable, this);
        return made = true;
    }
    void wait_for_base() noexcept {
        assert(!made && at == nullptr);
        at = &loop->unmade;
        next = loop->unmade;
        if (next != nullptr) next->at = &next;
        loop->unmade = this;
    }
    void leave_list() noexcept {
        assert(at != nullptr && *at == this && (next == nullptr || next->at == &next));
        *at = next;
        if (next != nullptr) next->at = at;
        at = nullptr;
    }
    bool change(event& entry, bool& now, bool want) noexcept {
        if (now == want) return true;
        const Libevent* ev = loop->libevent;
        const bool done = !made || (want ? ev->add(&entry, nullptr) : ev->del(&entry)) == 0;
        now = want && done;
        return done;
    }

    static void on_readable(evutil_socket_t, short, void* self) noexcept {
        auto* inner = static_cast<Inner*>(self);
        assert(inner->made && inner->at == nullptr);
        HandlerScope scope(inner->loop, inner->loop->pass);
        inner->handler->on_ready(true, false);  // nothing after this: the Watch may be gone
    }
    static void on_writable(evutil_socket_t, short, void* self) noexcept {
        auto* inner = static_cast<Inner*>(self);
        assert(inner->made && inner->at == nullptr);
        HandlerScope scope(inner->loop, inner->loop->pass);
        inner->handler->on_ready(false, true);
    }
};

// The watches that were set while there was no base. False: the kernel refuses one; then none is in it.
bool EventLoop::State::watch_unmade() noexcept {
    bool done = true;
    for (Watch::Inner* w = unmade; w != nullptr && done; w = w->next) {
        done = w->make() && (!w->read || libevent->add(&w->read_entry, nullptr) == 0) &&
               (!w->write || libevent->add(&w->write_entry, nullptr) == 0);
    }
    for (Watch::Inner* w = unmade; w != nullptr && !done; w = w->next) {
        if (!w->made) continue;
        libevent->del(&w->read_entry);
        libevent->del(&w->write_entry);
        w->made = false;
    }
    while (done && unmade != nullptr) {
        assert(unmade->made);
        unmade->leave_list();
    }
    return done;
}

Watch::Watch(std::unique_ptr<Inner> inner) noexcept : inner_(std::move(inner)) {}

Watch::~Watch() {
    if (!inner_) return;
    assert(!inner_->write || inner_->loop->unsent > 0);
    if (inner_->write) --inner_->loop->unsent;
    if (!inner_->made) {
        inner_->leave_list();
        return;
    }
    if (inner_->read) inner_->loop->libevent->del(&inner_->read_entry);
    if (inner_->write) inner_->loop->libevent->del(&inner_->write_entry);
}

std::unique_ptr<Watch> EventLoop::watch(int fd, WatchHandler& handler) {
    assert_on_loop();
    auto inner = std::unique_ptr<Watch::Inner>(new (std::nothrow) Watch::Inner);
    if (!inner) return nullptr;
    inner->loop = state_.get();
    inner->handler = &handler;
    inner->fd = fd;
    auto watch = std::unique_ptr<Watch>(new (std::nothrow) Watch(nullptr));
    if (!watch) return nullptr;
    if (!state_->wake_added)
        inner->wait_for_base();
    else if (!inner->make())
        return nullptr;
    watch->inner_ = std::move(inner);
    return watch;
}

bool Watch::set(bool read, bool write) noexcept {
    assert_on_loop();
    Inner& w = *inner_;
    if (!w.change(w.read_entry, w.read, read)) return false;
    const bool wrote = w.write;
    assert(w.loop->unsent >= size_t{wrote});
    const bool done = w.change(w.write_entry, w.write, write);
    w.loop->unsent += size_t{w.write} - size_t{wrote};
    return done;
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
