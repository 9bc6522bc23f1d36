// SPDX-License-Identifier: BSD-3-Clause
// How the environment is read: not at all in a process with more rights than its user (secure_getenv).
//
// A question to the C library. Any thread, as long as nobody changes the environment meanwhile.
#pragma once

#include <stdlib.h>

namespace pmix::api {

inline const char* read_environment(const char* name) noexcept {
    return ::secure_getenv(name);
}

}  // namespace pmix::api
