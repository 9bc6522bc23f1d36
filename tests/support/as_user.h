// SPDX-License-Identifier: BSD-3-Clause
// Another user for the whole process until the end of the scope. Only root can become one.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

namespace pmix::test {

// What connects meanwhile is this user's for the kernel.
class AsUser {
  public:
    explicit AsUser(uid_t uid) { become(uid); }
    ~AsUser() { become(0); }
    AsUser(const AsUser&) = delete;
    AsUser& operator=(const AsUser&) = delete;

  private:
    static void become(uid_t uid) {
        // The group first, as long as it may be changed.
        const int before = uid != 0 ? ::setegid(uid) : 0;
        const int user = ::seteuid(uid);
        const int after = uid == 0 ? ::setegid(0) : 0;
        EXPECT_TRUE(before == 0 && user == 0 && after == 0);
    }
};

}  // namespace pmix::test
