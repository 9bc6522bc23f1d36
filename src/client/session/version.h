// SPDX-License-Identifier: BSD-3-Clause
// The library's name and version, in its API and on the wire. Constants, any thread.
#pragma once

#include <pmix_version.h>

namespace pmix::client {

// Begins with a letter: one MPI library refuses what sorts before '3'.
inline constexpr const char kVersionText[] = "Wireup " WIREUP_VERSION " (PMIx Standard 5.0, libpmix.so.2)";

}  // namespace pmix::client
