// SPDX-License-Identifier: BSD-3-Clause
// Shared libraries that are opened at first use, so that a process which does not need them does not load them.
//
// Any thread. They stay open. What can go wrong: there is none of that name, which the caller answers with a status.
#pragma once

namespace pmix::common {

// Null where there is none, and a line of the log with what cannot be done then (purpose; null: no line). No thread is
// cancelled in it: it would keep the loader's lock.
void* open_library(const char* name, const char* purpose) noexcept;

void* find_symbol(void* library, const char* name) noexcept;

// False: the library has no such function.
template <class Function>
bool find_function(void* library, const char* name, Function*& out) noexcept {
    out = reinterpret_cast<Function*>(find_symbol(library, name));
    return out != nullptr;
}

}  // namespace pmix::common
