// SPDX-License-Identifier: BSD-3-Clause
#include "server/base/blocking_tasks.h"

#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cassert>
#include <list>
#include <vector>

#include "common/base/log.h"
#include "common/base/mutex.h"
#include "transport/deadline.h"

namespace pmix::server {

namespace {

// Directory trees are walked with a descriptor per level, not by recursion into large frames; hwloc's discovery wants
// more than that. Untouched pages cost nothing.
constexpr size_t kStack = 1 << 20;

// The calling thread acts as a user while this exists. The calls are the kernel's own, because glibc's setgroups would
// change every thread of the process.
class AsUser {
  public:
    explicit AsUser(Rights who) {
        own_ = who.uid == ::geteuid();
        if (own_) return;
        const int n = ::getgroups(0, nullptr);
        if (n < 0) return;
        groups_.resize(static_cast<size_t>(n));
        if (n > 0 && ::getgroups(n, groups_.data()) != n) return;
        if (::syscall(SYS_setgroups, size_t{0}, nullptr) != 0) return;
        no_groups_ = true;
        gid_ = ::setfsgid(who.gid);
        uid_ = ::setfsuid(who.uid);
        changed_ = true;
        const auto none = static_cast<uid_t>(-1);
        taken_ = static_cast<uid_t>(::setfsuid(none)) == who.uid &&
                 static_cast<gid_t>(::setfsgid(static_cast<gid_t>(none))) == who.gid;
    }
    ~AsUser() {
        if (changed_) {
            ::setfsuid(static_cast<uid_t>(uid_));
            ::setfsgid(static_cast<gid_t>(gid_));
        }
        if (no_groups_) ::syscall(SYS_setgroups, groups_.size(), groups_.data());
    }
    bool taken() const noexcept { return own_ || taken_; }

  private:
    bool own_ = false, no_groups_ = false, changed_ = false, taken_ = false;
    int uid_ = 0, gid_ = 0;
    std::vector<gid_t> groups_;
};

struct BlockingTask {
    Rights who;
    BlockingTasks::Work work;
    transport::Task done;
};

void run(BlockingTask& task) noexcept {
    try {
        const AsUser as(task.who);
        task.work(as.taken());
    } catch (const std::exception&) {  // no memory: what was to be done is not
    }
}

}  // namespace

struct BlockingTasks::State {
    explicit State(Scheduler& s) : scheduler(s) {}
    static void* thread_main(void* owned) {
        const std::unique_ptr<std::shared_ptr<State>> state(static_cast<std::shared_ptr<State>*>(owned));
        (*state)->serve();
        return nullptr;
    }
    void serve() noexcept {
        mutex.lock();
        for (;;) {
            while (waiting.empty() && !ending) changed.wait(mutex);
            if (waiting.empty() || abandoned) break;
            BlockingTask task = std::move(waiting.front());
            waiting.pop_front();
            assert(current == nullptr);
            current = &task;
            mutex.unlock();
            run(task);
            mutex.lock();
            current = nullptr;
            ++served;
            changed.notify_all();
            if (abandoned) break;
            // Within the lock: the scheduler is there as long as nobody has given us up.
            hand_back(task);
        }
        ended = true;
        changed.notify_all();
        mutex.unlock();
    }
    void hand_back(BlockingTask& task) noexcept {
        try {
            if (task.done) scheduler.post(std::move(task.done));
        } catch (const std::exception&) {  // no memory: the Task goes, and with it a Reply, which answers an error
            task.done.reset();
            scheduler.step_lost();
        }
    }
    static bool start(const std::shared_ptr<State>& state) noexcept {
        std::unique_ptr<std::shared_ptr<State>> owned(new (std::nothrow) std::shared_ptr<State>(state));
        if (owned == nullptr) return false;
        sigset_t all, before;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before);
        pthread_attr_t attributes;
        ::pthread_attr_init(&attributes);
        ::pthread_attr_setstacksize(&attributes, kStack);
        const int rc = ::pthread_create(&state->thread, &attributes, &thread_main, owned.get());
        ::pthread_attr_destroy(&attributes);
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        if (rc == 0) [[maybe_unused]]
            auto* threads = owned.release();
        return rc == 0;
    }

    Scheduler& scheduler;
    pthread_t thread{};
    bool running = false;    // loop
    bool no_thread = false;  // loop: the one there was hangs, and there is no memory for another
    common::Mutex mutex;
    common::CondVar changed;
    std::list<BlockingTask> waiting GUARDED_BY(mutex);
    BlockingTask* current GUARDED_BY(mutex) = nullptr;
    uint64_t served GUARDED_BY(mutex) = 0;
    bool ending GUARDED_BY(mutex) = false;
    bool ended GUARDED_BY(mutex) = false;
    bool abandoned GUARDED_BY(mutex) = false;
};

BlockingTasks::BlockingTasks(Scheduler& scheduler) : state_(std::make_shared<State>(scheduler)) {}

BlockingTasks::~BlockingTasks() {
    finish();
}

void BlockingTasks::add(Rights who, Work work, transport::Task done) {
    State& s = *state_;
    BlockingTask task{who, std::move(work), std::move(done)};
    if (!s.running && !s.no_thread) s.running = State::start(state_);
    if (!s.running) {
        run(task);
        s.hand_back(task);
        return;
    }
    common::MutexLock lock(s.mutex);
    assert(!s.ending && !s.abandoned);  // both belong to finish(), on this thread
    s.waiting.push_back(std::move(task));
    s.changed.notify_all();
}

void BlockingTasks::add(Work work, transport::Task done) {
    add({::geteuid(), ::getegid()}, std::move(work), std::move(done));
}

bool BlockingTasks::finish(int64_t patience_ms) noexcept {
    State& s = *state_;
    if (!s.running) return true;
    // Their Replies go on the loop, outside the lock. A deque would allocate here.
    std::list<BlockingTask> given_up;
    transport::Task hanging;
    bool lost = false;
    {
        common::MutexLock lock(s.mutex);
        s.ending = true;
        s.changed.notify_all();
        uint64_t served = s.served;
        int64_t until = transport::Deadline::in_ms(patience_ms).ns();
        while (!s.ended) {
            if (s.changed.wait_until(s.mutex, until) || s.ended) continue;
            if (s.served == served) break;
            served = s.served;  // it goes on
            until = transport::Deadline::in_ms(patience_ms).ns();
        }
        lost = !s.ended;
        if (lost) {
            s.abandoned = true;
            given_up.swap(s.waiting);
            if (s.current != nullptr) hanging = std::move(s.current->done);
        }
    }
    s.running = false;
    if (!lost) {
        ::pthread_join(s.thread, nullptr);
        common::MutexLock lock(s.mutex);
        assert(s.waiting.empty() && s.current == nullptr);  // all were served
        s.ending = s.ended = false;
        return true;
    }
    ::pthread_detach(s.thread);
    WIREUP_LOG(server, error, "a task hangs, and %zu wait behind it: given up", given_up.size());
    try {
        state_ = std::make_shared<State>(s.scheduler);  // for what may come yet
    } catch (const std::bad_alloc&) {
        s.no_thread = true;
    }
    return false;
}

}  // namespace pmix::server
