// SPDX-License-Identifier: BSD-3-Clause
// Random bytes that nobody can guess: for tokens, credentials and names.
//
// Any thread; nothing owned. A filter of system calls may refuse getrandom (ENOSYS, EPERM): /dev/urandom is read then,
// with one line in the log. What can go wrong: neither works. The log has the reason, and the caller gets false.
#pragma once

#include <cstddef>

namespace pmix::common {

[[nodiscard]] bool fill_random(void* out, size_t n) noexcept;

}  // namespace pmix::common
