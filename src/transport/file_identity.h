// SPDX-License-Identifier: BSD-3-Clause
// Which open file a descriptor's number stood for, to find out in a forked child whether it still does. A value; any
// thread.
//
// Sockets, pipes and files have an inode of their own, which the kernel gives to no other as long as anybody has them
// open. Descriptors of epoll, eventfd and the like all share one inode: they cannot be told apart by it.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include "transport/descriptor.h"

namespace pmix::transport {

class FileIdentity {
  public:
    FileIdentity() noexcept = default;
    explicit FileIdentity(int fd) noexcept {
        struct stat info;
        if (fd < 0 || ::fstat(fd, &info) != 0) return;
        device_ = info.st_dev;
        inode_ = info.st_ino;
        known_ = true;
    }
    // Does the number stand for the same open file now?
    bool is(int fd) const noexcept {
        const FileIdentity now(fd);
        return known_ && now.known_ && device_ == now.device_ && inode_ == now.inode_;
    }

  private:
    dev_t device_ = 0;
    ino_t inode_ = 0;
    bool known_ = false;
};

// In a forked child: closes the number only if it still stands for the same file. The process that forked may have
// closed its own, and the child may have given the number to a file of the program's.
inline void close_if(Descriptor& descriptor, const FileIdentity& identity) noexcept {
    const int fd = descriptor.release();
    if (identity.is(fd)) ::close(fd);
}

}  // namespace pmix::transport
