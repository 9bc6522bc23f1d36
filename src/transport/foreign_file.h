// SPDX-License-Identifier: BSD-3-Clause
// What another user has put at the place of a file of ours: whether it is such, and the line of the log about it.
//
// Free functions, any thread. Whether it may be removed the kernel decides, by the permissions of its folder.
#pragma once

#include <sys/stat.h>

#include <string>

namespace pmix::transport {

// A directory is none: it cannot be replaced. Root's files are trusted as our own are.
bool is_foreign(const struct stat& info) noexcept;
// error: of the attempt to replace it; 0: it has been.
void log_foreign(const std::string& name, const struct stat& info, int error) noexcept;

}  // namespace pmix::transport
