// SPDX-License-Identifier: BSD-3-Clause
// TCP sockets within this node, for processes that do not speak over Unix sockets.
//
// Free functions, any thread. Descriptors are non-blocking and close-on-exec. Failures are statuses:
// PMIX_ERR_OUT_OF_RESOURCE descriptors, memory or ports, PMIX_ERR_NOT_SUPPORTED no TCP here, PMIX_ERR_UNREACH nobody
// listens there, PMIX_ERR_TIMEOUT the deadline passed.
#pragma once

#include <netinet/in.h>

#include <cstddef>
#include <string>

#include "common/base/status.h"
#include "transport/deadline.h"
#include "transport/descriptor.h"
#include "transport/io.h"

namespace pmix::transport {

// Listens on a free port of 127.0.0.1.
common::Result<Descriptor> listen_loopback(const Io& io = kRealIo);
// "127.0.0.1:PORT" of such a socket. Empty: it is none.
std::string tcp_address(int fd);

// Is this an address of this node's? Only such a socket's user can be known (tcp_user.h).
bool is_own_address(const sockaddr_in& address, const Io& io = kRealIo);
common::Result<Descriptor> connect_tcp(const sockaddr_in& address, Deadline deadline, const Io& io = kRealIo);

// For a connection whose messages must not be cut in their first bytes: small writes go out at once, and the socket is
// writable only when all that was written before has been sent (not: received).
void send_at_once(int fd) noexcept;
// What has been received is acknowledged now, and not with what is sent next.
void acknowledge_now(int fd) noexcept;
// The processor from which the other end, on this node, has sent last. -1: the kernel does not tell.
int sending_processor(int fd) noexcept;
// Bytes that were written and have not been sent yet.
size_t unsent_bytes(int fd) noexcept;

}  // namespace pmix::transport
