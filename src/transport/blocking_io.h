// SPDX-License-Identifier: BSD-3-Clause
// Whole messages over a non-blocking stream socket, on a thread that waits: for handshakes, before the loop has the
// socket.
//
// Free functions, any thread. What can go wrong: PMIX_ERR_TIMEOUT the deadline passed, PMIX_ERR_UNREACH the connection
// has ended, PMIX_ERR_OUT_OF_RESOURCE the kernel cannot wait or has no room for descriptors, PMIX_ERR_UNPACK_FAILURE
// more descriptors than a frame has; no memory for descriptors (std::bad_alloc).
#pragma once

#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "transport/deadline.h"
#include "transport/descriptor.h"
#include "transport/io.h"

namespace pmix::transport {

// what: POLLIN or POLLOUT.
pmix_status_t await_ready(int fd, short what, Deadline deadline, const Io& io) noexcept;
pmix_status_t send_all(int fd, common::Bytes bytes, Deadline deadline, const Io& io) noexcept;
// Exactly size bytes: what follows belongs to the next reader of the connection. Descriptors that come along are
// appended to `descriptors`; where nobody wants any, the kernel drops them.
pmix_status_t receive_all(int fd, uint8_t* into, size_t size, Deadline deadline, const Io& io,
                          std::vector<Descriptor>* descriptors = nullptr);

}  // namespace pmix::transport
