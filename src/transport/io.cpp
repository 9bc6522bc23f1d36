// SPDX-License-Identifier: BSD-3-Clause
#include "transport/io.h"

#include <fcntl.h>
#include <sys/eventfd.h>

namespace pmix::transport {
namespace {

int dup_cloexec(int fd) {
    return ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
}
int create_eventfd(unsigned initial, int flags) {
    return ::eventfd(initial, flags);
}

}  // namespace

const Io kRealIo = {
    ::socket,  ::bind, ::listen,        ::accept4,   ::connect,      ::getsockopt, ::sendmsg,
    ::recvmsg, ::poll, ::epoll_create1, ::epoll_ctl, create_eventfd, dup_cloexec,
};

}  // namespace pmix::transport
