// SPDX-License-Identifier: BSD-3-Clause
// Whole messages over a non-blocking stream socket, on a thread that waits: for handshakes, before the loop has the
// socket.
//
// Free functions, any thread. What can go wrong: PMIX_ERR_TIMEOUT the deadline passed, PMIX_ERR_UNREACH the connection
// has ended, PMIX_ERR_OUT_OF_RESOURCE the kernel cannot wait.
#pragma once

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "transport/deadline.h"
#include "transport/io.h"

namespace pmix::client {

// what: POLLIN or POLLOUT.
pmix_status_t await_ready(int fd, short what, transport::Deadline deadline, const transport::Io& io) noexcept;
pmix_status_t send_all(int fd, common::Bytes bytes, transport::Deadline deadline, const transport::Io& io) noexcept;
// Exactly size bytes: what follows belongs to the next reader of the connection.
pmix_status_t receive_all(int fd, uint8_t* into, size_t size, transport::Deadline deadline,
                          const transport::Io& io) noexcept;

}  // namespace pmix::client
