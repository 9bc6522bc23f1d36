// SPDX-License-Identifier: BSD-3-Clause
#include "support/failing_memory.h"

#include <cstddef>

using pmix::test::FailingMemory;

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);

void* malloc(size_t n) {
    return FailingMemory::fails() ? nullptr : __libc_malloc(n);
}
void* calloc(size_t n, size_t m) {
    return FailingMemory::fails() ? nullptr : __libc_calloc(n, m);
}
void* realloc(void* old, size_t n) {
    return FailingMemory::fails() ? nullptr : __libc_realloc(old, n);
}
}
