// SPDX-License-Identifier: BSD-3-Clause
// The system-call seam: what the transport asks of the kernel, as a table. Real here; tests hand in a table that fails
// at the n-th call.
//
// Constant, any thread. Production code holds a pointer to kRealIo, so the cost is one indirect call per system call.
// Every entry behaves as the system call of its name (result and errno); what it opens has no number of a standard
// stream.
#pragma once

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>

namespace pmix::transport {

struct Io {
    int (*socket)(int domain, int type, int protocol);
    int (*bind)(int fd, const sockaddr* address, socklen_t length);
    int (*listen)(int fd, int backlog);
    int (*accept4)(int fd, sockaddr* address, socklen_t* length, int flags);
    int (*connect)(int fd, const sockaddr* address, socklen_t length);
    int (*getsockopt)(int fd, int level, int name, void* value, socklen_t* length);
    ssize_t (*sendmsg)(int fd, const msghdr* message, int flags);
    ssize_t (*recvmsg)(int fd, msghdr* message, int flags);
    int (*poll)(pollfd* fds, nfds_t count, int timeout_ms);
    int (*epoll_create1)(int flags);
    int (*epoll_ctl)(int epoll_fd, int operation, int fd, epoll_event* event);
    int (*eventfd)(unsigned initial, int flags);
    int (*dup_cloexec)(int fd);
};

extern const Io kRealIo;

}  // namespace pmix::transport
