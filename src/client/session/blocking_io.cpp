// SPDX-License-Identifier: BSD-3-Clause
#include "client/session/blocking_io.h"

#include <errno.h>
#include <sys/socket.h>

namespace pmix::client {

using transport::Deadline;
using transport::Io;

pmix_status_t await_ready(int fd, short what, Deadline deadline, const Io& io) noexcept {
    for (;;) {
        pollfd p{fd, what, 0};
        const int n = io.poll(&p, 1, deadline.poll_ms());
        if (n > 0) return PMIX_SUCCESS;
        if (n == 0 && deadline.passed()) return PMIX_ERR_TIMEOUT;
        if (n < 0 && errno != EINTR && errno != EAGAIN) return PMIX_ERR_OUT_OF_RESOURCE;
    }
}

pmix_status_t send_all(int fd, common::Bytes bytes, Deadline deadline, const Io& io) noexcept {
    while (!bytes.empty()) {
        iovec part{const_cast<uint8_t*>(bytes.data()), bytes.size()};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        const ssize_t n = io.sendmsg(fd, &message, MSG_NOSIGNAL);
        if (n >= 0) {
            bytes = bytes.subspan(static_cast<size_t>(n));
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            WIREUP_RETURN_IF_ERROR(await_ready(fd, POLLOUT, deadline, io));
        } else if (errno != EINTR) {
            return PMIX_ERR_UNREACH;
        }
    }
    return PMIX_SUCCESS;
}

pmix_status_t receive_all(int fd, uint8_t* into, size_t size, Deadline deadline, const Io& io) noexcept {
    while (size != 0) {
        iovec part{into, size};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        const ssize_t n = io.recvmsg(fd, &message, 0);
        if (n > 0) {
            into += n;
            size -= static_cast<size_t>(n);
        } else if (n == 0) {
            return PMIX_ERR_UNREACH;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            WIREUP_RETURN_IF_ERROR(await_ready(fd, POLLIN, deadline, io));
        } else if (errno != EINTR) {
            return PMIX_ERR_UNREACH;
        }
    }
    return PMIX_SUCCESS;
}

}  // namespace pmix::client
