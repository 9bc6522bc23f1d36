// SPDX-License-Identifier: BSD-3-Clause
// The numbers 0, 1 and 2 are the program's, also where it has closed them: what it then reads and writes goes to
// whatever has taken their place. So no descriptor that the library keeps, or that others may hear from, has one.
//
// Free functions and a value, any thread.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace pmix::common {

// The same file at a number that is none of a standard stream's; fd is closed then. -1 with errno: fd was none, or
// there is no room above.
inline int above_standard(int fd) noexcept {
    if (fd < 0 || fd > STDERR_FILENO) return fd;
    const int above = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int error = errno;
    ::close(fd);
    errno = error;
    return above;
}

// Keeps the free numbers among them taken while another library opens descriptors of its own. Reading and writing fail
// there meanwhile, as they do where nothing is open.
class StandardStreamsTaken {
  public:
    StandardStreamsTaken() noexcept {
        for (int& one : taken_) {
            const int fd = ::open("/", O_PATH | O_CLOEXEC);
            if (fd < 0) return;
            if (fd > STDERR_FILENO) {
                ::close(fd);
                return;
            }
            one = fd;
        }
    }
    ~StandardStreamsTaken() {
        for (const int one : taken_)
            if (one >= 0) ::close(one);
    }
    StandardStreamsTaken(const StandardStreamsTaken&) = delete;
    StandardStreamsTaken& operator=(const StandardStreamsTaken&) = delete;

  private:
    int taken_[STDERR_FILENO + 1] = {-1, -1, -1};
};

}  // namespace pmix::common
