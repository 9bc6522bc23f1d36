// SPDX-License-Identifier: BSD-3-Clause
// A network of its own for each test program, where that is allowed: servers listen at names in the kernel that all
// processes of one network see, and a tool looks at every server there is. Without it a test would meet the servers and
// the tools of those that run beside it, which come when they like and may not answer for a while.
//
// Its loopback interface is up, as that of a node is. Runs before main, on the only thread there is. What can go wrong:
// no right to it; then all is as it was.
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace {

[[gnu::constructor]] void apart() {
    if (::unshare(CLONE_NEWNET) != 0) return;
    const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ifreq loopback{};
    std::strcpy(loopback.ifr_name, "lo");
    loopback.ifr_flags = IFF_UP;
    static_cast<void>(::ioctl(fd, SIOCSIFFLAGS, &loopback));
    static_cast<void>(::close(fd));
}

}  // namespace
