// SPDX-License-Identifier: BSD-3-Clause
// Mutex, MutexLock, CondVar that clang's thread-safety analysis can follow, and LoopThread, the role "on the loop".
//
// Types only: nothing in common locks. libstdc++'s std::mutex carries no annotation, so it is not used anywhere.
// A forked child may find a Mutex locked by a thread that is not there: objects with one are abandoned, not reused.
#pragma once

#include <pthread.h>
#include <time.h>

#include <cstdint>

#if defined(__clang__)
#define WIREUP_TSA(x) __attribute__((x))
#else
#define WIREUP_TSA(x)
#endif
#define CAPABILITY(name) WIREUP_TSA(capability(name))
#define SCOPED_CAPABILITY WIREUP_TSA(scoped_lockable)
#define GUARDED_BY(x) WIREUP_TSA(guarded_by(x))
#define PT_GUARDED_BY(x) WIREUP_TSA(pt_guarded_by(x))
#define REQUIRES(...) WIREUP_TSA(requires_capability(__VA_ARGS__))
#define ACQUIRE(...) WIREUP_TSA(acquire_capability(__VA_ARGS__))
#define RELEASE(...) WIREUP_TSA(release_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) WIREUP_TSA(try_acquire_capability(__VA_ARGS__))
#define EXCLUDES(...) WIREUP_TSA(locks_excluded(__VA_ARGS__))
#define ASSERT_CAPABILITY(x) WIREUP_TSA(assert_capability(x))
#define RETURN_CAPABILITY(x) WIREUP_TSA(lock_returned(x))
#define NO_THREAD_SAFETY_ANALYSIS WIREUP_TSA(no_thread_safety_analysis)

namespace pmix::common {

class CAPABILITY("mutex") Mutex {
  public:
    Mutex() = default;
    Mutex(const Mutex&) = delete;
    Mutex& operator=(const Mutex&) = delete;

    void lock() noexcept ACQUIRE() { pthread_mutex_lock(&mutex_); }
    void unlock() noexcept RELEASE() { pthread_mutex_unlock(&mutex_); }
    bool try_lock() noexcept TRY_ACQUIRE(true) { return pthread_mutex_trylock(&mutex_) == 0; }

  private:
    friend class CondVar;
    // No constructor or destructor runs for it, so a Mutex may stand in an object of static storage.
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

class SCOPED_CAPABILITY MutexLock {
  public:
    explicit MutexLock(Mutex& mutex) noexcept ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
    ~MutexLock() RELEASE() { mutex_.unlock(); }
    MutexLock(const MutexLock&) = delete;
    MutexLock& operator=(const MutexLock&) = delete;

  private:
    Mutex& mutex_;
};

// Waiting is a cancellation point of pthreads, which would unwind through noexcept frames: cancellation is held off
// while inside and acts at the caller's next cancellation point instead.
class CondVar {
  public:
    CondVar() noexcept {
        pthread_condattr_t attributes;
        pthread_condattr_init(&attributes);
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        pthread_cond_init(&condition_, &attributes);
        pthread_condattr_destroy(&attributes);
    }
    ~CondVar() { pthread_cond_destroy(&condition_); }
    CondVar(const CondVar&) = delete;
    CondVar& operator=(const CondVar&) = delete;

    void wait(Mutex& mutex) noexcept REQUIRES(mutex) {
        int old = 0;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
        pthread_cond_wait(&condition_, &mutex.mutex_);
        pthread_setcancelstate(old, nullptr);
    }
    // False when monotonic_ns (CLOCK_MONOTONIC) has passed. Wake-ups may be spurious: ask in a loop.
    bool wait_until(Mutex& mutex, int64_t monotonic_ns) noexcept REQUIRES(mutex) {
        timespec until{static_cast<time_t>(monotonic_ns / 1'000'000'000),
                       static_cast<long>(monotonic_ns % 1'000'000'000)};
        int old = 0;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
        int rc = pthread_cond_timedwait(&condition_, &mutex.mutex_, &until);
        pthread_setcancelstate(old, nullptr);
        return rc == 0;
    }
    void notify_one() noexcept { pthread_cond_signal(&condition_); }
    void notify_all() noexcept { pthread_cond_broadcast(&condition_); }

  private:
    pthread_cond_t condition_;
};

// The role "this code runs on the loop". There is nothing to lock: functions say REQUIRES(loop_thread), the loop's
// trampoline asserts it (transport/event_loop.h: assert_on_loop), clang checks the calls in between.
class CAPABILITY("role") LoopThread {};
inline LoopThread loop_thread;

}  // namespace pmix::common
