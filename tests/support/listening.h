// SPDX-License-Identifier: BSD-3-Clause
// The sockets at which this process listens.
#pragma once

#include <dirent.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdlib>

namespace pmix::test {

inline size_t listening_sockets() {
    size_t n = 0;
    DIR* folder = ::opendir("/proc/self/fd");
    if (folder == nullptr) return 0;
    while (const dirent* entry = ::readdir(folder)) {
        int listens = 0;
        socklen_t size = sizeof listens;
        if (::getsockopt(std::atoi(entry->d_name), SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0)
            ++n;
    }
    ::closedir(folder);
    return n;
}

}  // namespace pmix::test
