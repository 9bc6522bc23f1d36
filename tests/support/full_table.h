// SPDX-License-Identifier: BSD-3-Clause
// While it exists, this process can open no descriptor: its soft limit is the lowest number that is free.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace pmix::test {

class FullTable {
  public:
    FullTable() {
        EXPECT_EQ(0, ::getrlimit(RLIMIT_NOFILE, &before_));
        const int lowest = ::fcntl(0, F_DUPFD_CLOEXEC, 0);
        EXPECT_GE(lowest, 0);
        ::close(lowest);
        rlimit full = before_;
        full.rlim_cur = static_cast<rlim_t>(lowest);
        EXPECT_EQ(0, ::setrlimit(RLIMIT_NOFILE, &full));
    }
    ~FullTable() { EXPECT_EQ(0, ::setrlimit(RLIMIT_NOFILE, &before_)); }
    FullTable(const FullTable&) = delete;
    FullTable& operator=(const FullTable&) = delete;

  private:
    rlimit before_{};
};

}  // namespace pmix::test
