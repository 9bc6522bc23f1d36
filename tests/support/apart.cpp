// SPDX-License-Identifier: BSD-3-Clause
// A network of its own for each test program, where that is allowed: servers listen at names in the kernel that all
// processes of one network see, and a tool looks at every server there is. Without it a test would meet the servers and
// the tools of those that run beside it, which come when they like and may not answer for a while.
//
// Runs before main, on the only thread there is. What can go wrong: no right to it; then all is as it was.
#include <sched.h>

namespace {

[[gnu::constructor]] void apart() {
    static_cast<void>(::unshare(CLONE_NEWNET));
}

}  // namespace
