// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/tcp_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "transport/blocking_io.h"

namespace pmix::transport {

namespace {
constexpr int kTcpBacklog = 1024;

pmix_status_t tcp_status(int error) noexcept {
    return error == EAFNOSUPPORT || error == EPROTONOSUPPORT || error == EPERM || error == EACCES ||
                   error == EADDRNOTAVAIL
               ? PMIX_ERR_NOT_SUPPORTED
               : PMIX_ERR_OUT_OF_RESOURCE;
}
}  // namespace

common::Result<Descriptor> listen_loopback(const Io& io) {
    Descriptor fd(io.socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) return tcp_status(errno);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (io.bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) return tcp_status(errno);
    if (io.listen(fd.get(), kTcpBacklog) != 0) return tcp_status(errno);
    return fd;
}

std::string tcp_address(int fd) {
    sockaddr_in at{};
    socklen_t length = sizeof at;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &length) != 0 || at.sin_family != AF_INET) return {};
    char text[INET_ADDRSTRLEN];
    if (::inet_ntop(AF_INET, &at.sin_addr, text, sizeof text) == nullptr) return {};
    return std::string(text) + ':' + std::to_string(ntohs(at.sin_port));
}

// A socket may be bound to an address that the node has, and to no other.
bool is_own_address(const sockaddr_in& address, const Io& io) {
    const Descriptor fd(io.socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in at = address;
    at.sin_port = 0;
    return fd && at.sin_addr.s_addr != htonl(INADDR_ANY) &&
           io.bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
}

common::Result<Descriptor> connect_tcp(const sockaddr_in& address, Deadline deadline, const Io& io) {
    Descriptor fd(io.socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) return tcp_status(errno);
    if (io.connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
    if (errno != EINPROGRESS && errno != EINTR) {
        return errno == ENOMEM || errno == ENOBUFS || errno == EAGAIN ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_ERR_UNREACH;
    }
    WIREUP_RETURN_IF_ERROR(await_ready(fd.get(), POLLOUT, deadline, io));
    int error = 0;
    socklen_t length = sizeof error;
    if (io.getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0 || error != 0) return PMIX_ERR_UNREACH;
    return fd;
}

void send_at_once(int fd) noexcept {
    const int on = 1;
    (void)::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)::setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &on, sizeof on);
}

void acknowledge_now(int fd) noexcept {
    const int on = 1;
    (void)::setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
}

int sending_processor(int fd) noexcept {
    int processor = -1;
    socklen_t length = sizeof processor;
    return ::getsockopt(fd, SOL_SOCKET, SO_INCOMING_CPU, &processor, &length) == 0 ? processor : -1;
}

size_t unsent_bytes(int fd) noexcept {
    int bytes = 0;
    return ::ioctl(fd, SIOCOUTQNSD, &bytes) == 0 && bytes > 0 ? static_cast<size_t>(bytes) : 0;
}

}  // namespace pmix::transport
