#include "server/chores.h"

#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <deque>
#include <vector>

#include "common/mutex.h"

namespace pmix::server {

namespace {

// Directory trees are walked with a descriptor per level, not by recursion into large frames; hwloc's discovery wants more
// than that. Untouched pages cost nothing.
constexpr size_t kStack = 1 << 20;

// The calling thread acts as a user while this lives. The calls are the kernel's own, because glibc's setgroups would
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

struct Chore {
    Rights who;
    Chores::Work work;
    transport::Task done;
};

void run(Chore& chore) noexcept {
    try {
        const AsUser as(chore.who);
        chore.work(as.taken());
    } catch (const std::exception&) {  // no memory: what was to be done is not
    }
}

}  // namespace

struct Chores::State {
    explicit State(Scheduler& s) : scheduler(s) {}
    static void* thread_main(void* self) {
        static_cast<State*>(self)->serve();
        return nullptr;
    }
    void serve() noexcept {
        for (;;) {
            Chore chore;
            {
                common::MutexLock lock(mutex);
                while (waiting.empty() && !ending) changed.wait(mutex);
                if (waiting.empty()) return;
                chore = std::move(waiting.front());
                waiting.pop_front();
            }
            run(chore);
            hand_back(chore);
        }
    }
    void hand_back(Chore& chore) noexcept {
        try {
            if (chore.done) scheduler.post(std::move(chore.done));
        } catch (const std::exception&) {  // no memory: the Task goes, and with it a Reply, which answers an error
        }
    }
    bool start() noexcept {
        sigset_t all, before;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before);
        pthread_attr_t attributes;
        ::pthread_attr_init(&attributes);
        ::pthread_attr_setstacksize(&attributes, kStack);
        const int rc = ::pthread_create(&thread, &attributes, &thread_main, this);
        ::pthread_attr_destroy(&attributes);
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return rc == 0;
    }

    Scheduler& scheduler;
    pthread_t thread{};
    bool running = false;  // loop
    common::Mutex mutex;
    common::CondVar changed;
    std::deque<Chore> waiting GUARDED_BY(mutex);
    bool ending GUARDED_BY(mutex) = false;
};

Chores::Chores(Scheduler& scheduler) : state_(std::make_unique<State>(scheduler)) {}

Chores::~Chores() {
    finish();
}

void Chores::add(Rights who, Work work, transport::Task done) {
    State& s = *state_;
    Chore chore{who, std::move(work), std::move(done)};
    if (!s.running) s.running = s.start();
    if (!s.running) {
        run(chore);
        s.hand_back(chore);
        return;
    }
    common::MutexLock lock(s.mutex);
    s.waiting.push_back(std::move(chore));
    s.changed.notify_one();
}

void Chores::add(Work work, transport::Task done) {
    add({::geteuid(), ::getegid()}, std::move(work), std::move(done));
}

void Chores::finish() noexcept {
    State& s = *state_;
    if (!s.running) return;
    {
        common::MutexLock lock(s.mutex);
        s.ending = true;
        s.changed.notify_one();
    }
    ::pthread_join(s.thread, nullptr);
    s.running = false;
    common::MutexLock lock(s.mutex);
    s.ending = false;
}

}  // namespace pmix::server
