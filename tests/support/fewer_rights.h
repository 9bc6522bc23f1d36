// SPDX-License-Identifier: BSD-3-Clause
// A thread without the right to become another user, for the end of a scope; threads that it makes meanwhile have it as
// little. Of a process that is not root none has.
#pragma once

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pmix::test {

class FewerRights {
  public:
    FewerRights() {
        EXPECT_EQ(0, ::syscall(SYS_capget, &header_, before_));
        __user_cap_data_struct now[2] = {before_[0], before_[1]};
        now[0].effective &= ~((1u << CAP_SETUID) | (1u << CAP_SETGID));
        EXPECT_EQ(0, ::syscall(SYS_capset, &header_, now));
    }
    ~FewerRights() { EXPECT_EQ(0, ::syscall(SYS_capset, &header_, before_)); }
    FewerRights(const FewerRights&) = delete;
    FewerRights& operator=(const FewerRights&) = delete;

  private:
    __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct before_[2] = {};
};

}  // namespace pmix::test
