// SPDX-License-Identifier: BSD-3-Clause
// Replaces what the C library has for threads, locks and time. A caller that is no thread of the simulation gets the
// real function.
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "simulation/descriptors.h"
#include "simulation/mappings.h"
#include "simulation/real.h"
#include "simulation/scheduler.h"

namespace pmix::simulation {

namespace {

template <class F>
void look_up(F& f, const char* name) {
    f = reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

struct Sleeper {  // in pthread_cond_wait or in a futex
    uint64_t where, offset;
    bool called = false;
};
std::vector<Sleeper*> g_sleepers;

int call_sleepers(uint64_t where, uint64_t offset, int most) {
    int called = 0;
    while (called < most) {
        std::vector<Sleeper*> there;
        for (Sleeper* s : g_sleepers)
            if (s->where == where && s->offset == offset && !s->called) there.push_back(s);
        if (there.empty()) break;
        there[dice().below(static_cast<uint32_t>(there.size()))]->called = true;
        ++called;
    }
    return called;
}

// False: the deadline has passed.
bool sleep_there(uint64_t where, uint64_t offset, Nanoseconds deadline, const char* call) {
    Sleeper s{where, offset};
    g_sleepers.push_back(&s);
    wait_until([&s] { return s.called; }, deadline, call);
    g_sleepers.erase(std::find(g_sleepers.begin(), g_sleepers.end(), &s));
    return s.called;
}

Nanoseconds nanoseconds_of(const timespec& t) {
    return t.tv_sec >= 9'000'000'000 ? kNever : t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

int lock(pthread_mutex_t* m, const char* call) {
    auto& d = m->__data;
    if ((d.__kind & 3) == PTHREAD_MUTEX_RECURSIVE && d.__lock != 0 && d.__owner == t_self->number + 1) {
        ++d.__count;
        return 0;
    }
    if (d.__lock != 0) wait_until([&d] { return d.__lock == 0; }, kNever, call);
    d.__lock = 1;
    d.__owner = t_self->number + 1;
    d.__count = 1;
    return 0;
}

int unlock(pthread_mutex_t* m) {
    auto& d = m->__data;
    if ((d.__kind & 3) == PTHREAD_MUTEX_RECURSIVE && --d.__count > 0) return 0;
    d.__lock = 0;
    d.__owner = 0;
    return 0;
}

int wait_on(pthread_cond_t* c, pthread_mutex_t* m, Nanoseconds deadline) {
    unlock(m);
    const bool called = sleep_there(reinterpret_cast<uint64_t>(c), 0, deadline, "pthread_cond_wait");
    lock(m, "pthread_mutex_lock");
    return called ? 0 : ETIMEDOUT;
}

long futex(int* word, int operation, int value, const timespec* time) {
    const auto place = place_of(word);
    switch (operation & FUTEX_CMD_MASK) {
        case FUTEX_WAIT:
        case FUTEX_WAIT_BITSET: {
            if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value) return errno = EAGAIN, -1;
            Nanoseconds deadline = kNever;
            if (time != nullptr) {
                deadline = nanoseconds_of(*time);
                if ((operation & FUTEX_CMD_MASK) == FUTEX_WAIT && deadline != kNever) deadline += now();
            }
            if (!sleep_there(place.first, place.second, deadline, "futex")) return errno = ETIMEDOUT, -1;
            return 0;
        }
        case FUTEX_WAKE:
        case FUTEX_WAKE_BITSET:
            return call_sleepers(place.first, place.second, value);
        default:
            return errno = ENOSYS, -1;
    }
}

}  // namespace

const Real& real() {
    static const Real all = [] {
        Real r;
        look_up(r.syscall, "syscall");
        look_up(r.pthread_create, "pthread_create");
        look_up(r.pthread_join, "pthread_join");
        look_up(r.pthread_once, "pthread_once");
        look_up(r.pthread_mutex_lock, "pthread_mutex_lock");
        look_up(r.pthread_mutex_trylock, "pthread_mutex_trylock");
        look_up(r.pthread_mutex_unlock, "pthread_mutex_unlock");
        look_up(r.clock_gettime, "clock_gettime");
        look_up(r.poll, "poll");
        look_up(r.close, "close");
        look_up(r.read, "read");
        look_up(r.write, "write");
        look_up(r.readv, "readv");
        look_up(r.writev, "writev");
        look_up(r.fcntl, "fcntl");
        look_up(r.dup, "dup");
        look_up(r.mmap, "mmap");
        look_up(r.munmap, "munmap");
        return r;
    }();
    return all;
}

}  // namespace pmix::simulation

using namespace pmix::simulation;

extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
    if (t_self == nullptr) return real().pthread_create(thread, attributes, start, argument);
    const int rc = new_thread(thread, attributes, start, argument);
    yield("pthread_create");
    return rc;
}

int pthread_join(pthread_t thread, void** result) {
    return t_self == nullptr ? real().pthread_join(thread, result) : join_thread(thread, result);
}

int pthread_mutex_lock(pthread_mutex_t* m) {
    if (t_self == nullptr) return real().pthread_mutex_lock(m);
    if (dice().one_in(16)) yield("pthread_mutex_lock");
    return lock(m, "pthread_mutex_lock");
}

int pthread_mutex_trylock(pthread_mutex_t* m) {
    if (t_self == nullptr) return real().pthread_mutex_trylock(m);
    auto& d = m->__data;
    const bool own = (d.__kind & 3) == PTHREAD_MUTEX_RECURSIVE && d.__owner == t_self->number + 1;
    return d.__lock != 0 && !own ? EBUSY : lock(m, "");
}

int pthread_mutex_unlock(pthread_mutex_t* m) {
    if (t_self == nullptr) return real().pthread_mutex_unlock(m);
    unlock(m);
    if (dice().one_in(16)) yield("pthread_mutex_unlock");
    return 0;
}

int pthread_cond_wait(pthread_cond_t* c, pthread_mutex_t* m) {
    return wait_on(c, m, kNever);
}

int pthread_cond_timedwait(pthread_cond_t* c, pthread_mutex_t* m, const timespec* until) {
    return wait_on(c, m, nanoseconds_of(*until));
}

int pthread_cond_clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t, const timespec* until) {
    return wait_on(c, m, nanoseconds_of(*until));
}

int pthread_cond_signal(pthread_cond_t* c) {
    if (t_self != nullptr) call_sleepers(reinterpret_cast<uint64_t>(c), 0, 1);
    return 0;
}

int pthread_cond_broadcast(pthread_cond_t* c) {
    if (t_self != nullptr) call_sleepers(reinterpret_cast<uint64_t>(c), 0, 1 << 30);
    return 0;
}

int pthread_once(pthread_once_t* once, void (*function)()) {
    if (t_self == nullptr) return real().pthread_once(once, function);
    if (*once == 0) {
        *once = 1;
        function();
        *once = 2;
    }
    if (*once != 2) wait_until([once] { return *once == 2; }, kNever, "pthread_once");
    return 0;
}

int clock_gettime(clockid_t clock, timespec* time) {
    if (t_self == nullptr || clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID)
        return real().clock_gettime(clock, time);
    if (dice().one_in(64)) yield("clock_gettime");
    time->tv_sec = now() / 1'000'000'000;
    time->tv_nsec = now() % 1'000'000'000;
    return 0;
}

int gettimeofday(timeval* time, void*) {
    timespec t{};
    clock_gettime(CLOCK_REALTIME, &t);
    time->tv_sec = t.tv_sec;
    time->tv_usec = t.tv_nsec / 1000;
    return 0;
}

time_t time(time_t* out) {
    timespec t{};
    clock_gettime(CLOCK_REALTIME, &t);
    if (out != nullptr) *out = t.tv_sec;
    return t.tv_sec;
}

int nanosleep(const timespec* duration, timespec*) {
    wait_until([] { return false; }, now() + nanoseconds_of(*duration), "nanosleep");
    return 0;
}

int sched_yield() {
    if (t_self != nullptr) yield("sched_yield");
    return 0;
}

pid_t getpid() {
    return t_self == nullptr ? static_cast<pid_t>(real().syscall(SYS_getpid)) : t_self->process->pid;
}

int kill(pid_t pid, int signal) {
    Process* p = process_of(pid);
    if (p == nullptr || !p->alive) return errno = ESRCH, -1;
    return signal == 0 ? 0 : (errno = EPERM, -1);
}

// Children are never reaped: what has ended stays visible to its parent.
int waitid(idtype_t kind, id_t id, siginfo_t* info, int) {
    const Process* p = kind == P_PID ? process_of(static_cast<int>(id)) : nullptr;
    if (p == nullptr || p->parent != t_self->process) return errno = ECHILD, -1;
    info->si_pid = p->alive ? 0 : p->pid;
    return 0;
}

ssize_t getrandom(void* to, size_t n, unsigned) {
    auto* bytes = static_cast<uint8_t*>(to);
    for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<uint8_t>(dice().below(256));
    return static_cast<ssize_t>(n);
}

long syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long a[6];
    for (long& x : a) x = va_arg(list, long);
    va_end(list);
    if (t_self != nullptr) {
        switch (number) {
            case SYS_futex:
                return futex(reinterpret_cast<int*>(a[0]), static_cast<int>(a[1]), static_cast<int>(a[2]),
                             reinterpret_cast<const timespec*>(a[3]));
            case SYS_gettid:
                return t_self->process->pid + (t_self == t_self->process->threads[0] ? 0 : 1'000'000 + t_self->number);
            case SYS_getpid:
                return t_self->process->pid;
            case SYS_pidfd_open: {
                Process* p = process_of(static_cast<int>(a[0]));
                if (p == nullptr || !p->alive) return errno = ESRCH, -1;
                auto end = std::make_shared<ProcessEnd>();
                end->process = p;
                return add_descriptor(end);
            }
            default:
                break;
        }
    }
    return real().syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

}  // extern "C"
