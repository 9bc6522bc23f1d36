// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/memory.h"

#include <errno.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <new>

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t n, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
}

namespace pmix::simulation {

namespace {

struct Range {
    uint64_t begin = 0, end = 0;
};
std::array<Range, 16> g_code;
size_t g_copies = 0;
const Process* g_short_one = nullptr;
uint64_t g_succeed = 0, g_fail = 0, g_refused = 0;

bool refuses(const void* caller) {
    if (g_short_one == nullptr || t_self == nullptr || t_self->process != g_short_one || g_fail == 0) return false;
    const auto at = reinterpret_cast<uint64_t>(caller);
    if (std::none_of(g_code.begin(), g_code.end(), [at](const Range& r) { return r.begin <= at && at < r.end; }))
        return false;
    if (g_succeed > 0) {
        --g_succeed;
        return false;
    }
    --g_fail;
    ++g_refused;
    return true;
}

}  // namespace

void add_code(uint64_t begin, uint64_t end) {
    if (g_copies == g_code.size()) std::abort();
    g_code[g_copies++] = {begin, end};
}

void run_short(const Process& process, uint64_t succeed, uint64_t fail) {
    g_short_one = &process;
    g_succeed = succeed;
    g_fail = fail;
}

uint64_t refused_allocations() {
    return g_refused;
}

}  // namespace pmix::simulation

using pmix::simulation::refuses;

extern "C" {

void* malloc(size_t bytes) {
    if (!refuses(__builtin_return_address(0))) return __libc_malloc(bytes);
    errno = ENOMEM;
    return nullptr;
}
void* calloc(size_t n, size_t bytes) {
    if (!refuses(__builtin_return_address(0))) return __libc_calloc(n, bytes);
    errno = ENOMEM;
    return nullptr;
}
void* realloc(void* old, size_t bytes) {
    if (!refuses(__builtin_return_address(0))) return __libc_realloc(old, bytes);
    errno = ENOMEM;
    return nullptr;
}

}  // extern "C"

void* operator new(size_t bytes) {
    void* p = refuses(__builtin_return_address(0)) ? nullptr : __libc_malloc(bytes == 0 ? 1 : bytes);
    if (p == nullptr) throw std::bad_alloc();
    return p;
}
void* operator new[](size_t bytes) {
    void* p = refuses(__builtin_return_address(0)) ? nullptr : __libc_malloc(bytes == 0 ? 1 : bytes);
    if (p == nullptr) throw std::bad_alloc();
    return p;
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
    return refuses(__builtin_return_address(0)) ? nullptr : __libc_malloc(bytes == 0 ? 1 : bytes);
}
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept {
    return refuses(__builtin_return_address(0)) ? nullptr : __libc_malloc(bytes == 0 ? 1 : bytes);
}
void operator delete(void* p) noexcept {
    std::free(p);
}
void operator delete[](void* p) noexcept {
    std::free(p);
}
void operator delete(void* p, size_t) noexcept {
    std::free(p);
}
void operator delete[](void* p, size_t) noexcept {
    std::free(p);
}
