// SPDX-License-Identifier: BSD-3-Clause
// The ancestors of a process, and whether it is stopped, by /proc.
//
// Free functions, any thread; nothing is owned. An answer may be old when it is read: it orders servers and saves
// waits, and no trust is put in it. What can go wrong: no /proc, or a process that is gone: it has no parent.
#pragma once

#include <sys/types.h>

#include <vector>

namespace pmix::client {

// The process itself, its parent, and so on up to the first one.
std::vector<pid_t> ancestry_of(pid_t pid);
bool is_stopped(pid_t pid);  // by a signal; not for a moment, by a debugger

}  // namespace pmix::client
