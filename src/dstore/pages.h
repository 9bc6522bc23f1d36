// SPDX-License-Identifier: BSD-3-Clause
// The size of a page of this machine: segments and large blocks are made of whole ones.
//
// A question to the C library. Any thread. Nothing can go wrong: where there is no answer, a page has 4 KiB.
#pragma once

#include <unistd.h>

#include <cstddef>

namespace pmix::dstore {

inline size_t page_size() noexcept {
    const long n = ::sysconf(_SC_PAGESIZE);
    return n > 0 ? static_cast<size_t>(n) : 4096;
}

}  // namespace pmix::dstore
