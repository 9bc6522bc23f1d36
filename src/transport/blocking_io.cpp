// SPDX-License-Identifier: BSD-3-Clause
#include "transport/blocking_io.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/standard_streams.h"
#include "common/protocol/frame.h"

namespace pmix::transport {
namespace {

pmix_status_t take_descriptors(msghdr& message, std::vector<Descriptor>& descriptors) {
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
        const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; ++i) {
            int received = -1;
            memcpy(&received, CMSG_DATA(c) + i * sizeof(int), sizeof received);
            descriptors.emplace_back(common::above_standard(received));
        }
    }
    if (descriptors.size() > common::kMaxFrameDescriptors) return PMIX_ERR_UNPACK_FAILURE;
    // No room in this process's own table: bytes without them are of no use.
    for (const Descriptor& one : descriptors)
        if (!one) return PMIX_ERR_OUT_OF_RESOURCE;
    return (message.msg_flags & MSG_CTRUNC) != 0 ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_SUCCESS;
}

}  // namespace

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

pmix_status_t receive_all(int fd, uint8_t* into, size_t size, Deadline deadline, const Io& io,
                          std::vector<Descriptor>* descriptors) {
    while (size != 0) {
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * common::kMaxFrameDescriptors)];
        iovec part{into, size};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        if (descriptors != nullptr) {
            // Before the kernel gives any: a descriptor that is in no Descriptor would stay open.
            descriptors->reserve(descriptors->size() + sizeof control / sizeof(int));
            message.msg_control = control;
            message.msg_controllen = sizeof control;
        }
        const ssize_t n = io.recvmsg(fd, &message, descriptors != nullptr ? MSG_CMSG_CLOEXEC : 0);
        if (n > 0) {
            if (descriptors != nullptr) WIREUP_RETURN_IF_ERROR(take_descriptors(message, *descriptors));
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

}  // namespace pmix::transport
