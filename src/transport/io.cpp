// SPDX-License-Identifier: BSD-3-Clause
#include "transport/io.h"

#include <fcntl.h>
#include <sys/eventfd.h>

#include "common/base/standard_streams.h"

namespace pmix::transport {
namespace {

int make_socket(int domain, int type, int protocol) {
    return common::above_standard(::socket(domain, type, protocol));
}
int accept_connection(int fd, sockaddr* address, socklen_t* length, int flags) {
    return common::above_standard(::accept4(fd, address, length, flags));
}
int create_epoll(int flags) {
    return common::above_standard(::epoll_create1(flags));
}
int dup_cloexec(int fd) {
    return ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
}
int create_eventfd(unsigned initial, int flags) {
    return common::above_standard(::eventfd(initial, flags));
}

}  // namespace

const Io kRealIo = {
    make_socket, ::bind, ::listen,     accept_connection, ::connect,      ::getsockopt, ::sendmsg,
    ::recvmsg,   ::poll, create_epoll, ::epoll_ctl,       create_eventfd, dup_cloexec,
};

}  // namespace pmix::transport
