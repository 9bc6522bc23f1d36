// SPDX-License-Identifier: BSD-3-Clause
// The library's name and versions, in its API, on the wire and in the environment of processes. Constants, any thread.
#pragma once

#include <pmix_version.h>

namespace pmix::common {

// The OpenPMIx release whose interface this library has: CMakeLists.txt says which, for everything that is built or
// installed.
inline constexpr const char kRelease[] = WIREUP_PMIX_RELEASE;

// Begins with a letter: one MPI library refuses what sorts before '3'. The second word is the release, because
// launchers compare it with the one that they need; the library's own version is behind it, in the parentheses.
inline constexpr const char kVersionText[] =
    "Wireup " WIREUP_PMIX_RELEASE " (library " WIREUP_VERSION ", PMIx Standard 5.0, libpmix.so.2)";

// The header is a file of its own, which programs include as it is.
static_assert(PMIX_NUMERIC_VERSION == WIREUP_PMIX_NUMERIC,
              "include/pmix_version.h and CMakeLists.txt name two releases");
static_assert(PMIX_NUMERIC_VERSION == ((PMIX_VERSION_MAJOR << 16) | (PMIX_VERSION_MINOR << 8) | PMIX_VERSION_RELEASE),
              "include/pmix_version.h names two releases");

}  // namespace pmix::common
