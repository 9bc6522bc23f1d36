// SPDX-License-Identifier: BSD-3-Clause
// A file descriptor with one owner. A value; the owner's thread.
#pragma once

#include <unistd.h>

#include <utility>

namespace pmix::transport {

class Descriptor {
  public:
    Descriptor() noexcept = default;
    explicit Descriptor(int fd) noexcept : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        if (this != &other) reset(other.release());
        return *this;
    }
    ~Descriptor() { reset(); }

    int get() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }
    int release() noexcept { return std::exchange(fd_, -1); }
    void reset(int fd = -1) noexcept {
        if (fd_ >= 0) ::close(fd_);  // never retried: on Linux the number is free even after EINTR
        fd_ = fd;
    }

  private:
    int fd_ = -1;
};

}  // namespace pmix::transport
