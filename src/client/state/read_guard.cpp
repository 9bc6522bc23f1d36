// SPDX-License-Identifier: BSD-3-Clause
#include "client/state/read_guard.h"

#include <linux/membarrier.h>
#include <pthread.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

namespace pmix::client {

constinit thread_local ReadingThread t_reading{nullptr, 0};

namespace {

constinit std::atomic<ReadingLine*> g_lines{nullptr};
// Shared by the threads that got no line of their own: only ever counted up, so what they may have seen stays mapped.
constinit ReadingLine g_no_memory;
// Its changes have one order: the later thread sees what the earlier ones had done before theirs.
constinit std::atomic<uint32_t> g_visits{0};
constinit pthread_once_t g_once = PTHREAD_ONCE_INIT;
constinit pthread_key_t g_key = 0;
constinit bool g_have_key = false;

// The thread ends. One that reads once more, in a destructor that runs later, takes a line again.
void give_back(void* line) {
    t_reading.line = nullptr;
    static_cast<ReadingLine*>(line)->taken.store(false, std::memory_order_release);
}

// Without a key lines are not given back: a line is lost per thread, nothing else.
void make_key() {
    g_have_key = pthread_key_create(&g_key, &give_back) == 0;
}

ReadingLine* find_line() noexcept {
    for (ReadingLine* l = g_lines.load(std::memory_order_acquire); l != nullptr; l = l->next) {
        bool taken = false;
        if (l->taken.compare_exchange_strong(taken, true, std::memory_order_acq_rel)) return l;
    }
    auto* fresh = new (std::nothrow) ReadingLine;
    if (fresh == nullptr) return nullptr;
    fresh->next = g_lines.load(std::memory_order_relaxed);
    while (!g_lines.compare_exchange_weak(fresh->next, fresh, std::memory_order_acq_rel)) {
    }
    return fresh;
}

#ifdef SYS_membarrier
bool membarrier(int command) noexcept {
    return ::syscall(SYS_membarrier, command, 0, 0) == 0;
}

// Every thread of this process passes a full fence before it returns. Registering is for the first time: the kernel
// waits some 10 ms then where the process has several threads, unless GracePeriod::prepare() was called before there
// were any.
bool fence_all_threads() noexcept {
    return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}
#else
bool fence_all_threads() noexcept {
    return false;
}
#endif

// Has any thread but this one a line? A thread whose line is not seen here visits take_line() later, and then
// finds nothing that was removed before this call.
bool others_may_read() noexcept {
    g_visits.fetch_add(1, std::memory_order_acq_rel);
    for (ReadingLine* l = g_lines.load(std::memory_order_acquire); l != nullptr; l = l->next) {
        if (l != t_reading.line && l->taken.load(std::memory_order_acquire)) return true;
    }
    return g_no_memory.count.load(std::memory_order_acquire) != 0;
}

}  // namespace

void Reading::take_line() noexcept {
    ReadingLine* line = find_line();
    if (line == nullptr) {
        g_no_memory.count.fetch_add(2, std::memory_order_relaxed);
        line = &g_no_memory;
    }
    t_reading.line = line;
    g_visits.fetch_add(1, std::memory_order_acq_rel);
    if (line == &g_no_memory) return;
    pthread_once(&g_once, &make_key);
    if (g_have_key) pthread_setspecific(g_key, line);
}

void Reading::forget_other_threads() noexcept {
    for (ReadingLine* l = g_lines.load(std::memory_order_acquire); l != nullptr; l = l->next) {
        if (l == t_reading.line) continue;
        const uint64_t count = l->count.load(std::memory_order_relaxed);
        l->count.store(count + count % 2, std::memory_order_relaxed);
        l->taken.store(false, std::memory_order_relaxed);
    }
}

void GracePeriod::prepare() noexcept {
#if defined(SYS_membarrier) && __has_include(<sys/single_threaded.h>)
    if (__libc_single_threaded) membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
#endif
}

void GracePeriod::begin() {
    inside_.clear();
    possible_ = (!others_may_read() || fence_all_threads()) && g_no_memory.count.load(std::memory_order_acquire) == 0;
    for (ReadingLine* l = g_lines.load(std::memory_order_acquire); l != nullptr; l = l->next) {
        const uint64_t count = l->count.load(std::memory_order_acquire);
        if (count % 2 != 0) inside_.emplace_back(l, count);
    }
}

bool GracePeriod::over() noexcept {
    std::erase_if(inside_, [](const auto& r) { return r.first->count.load(std::memory_order_acquire) != r.second; });
    return possible_ && inside_.empty();
}

}  // namespace pmix::client
