// SPDX-License-Identifier: BSD-3-Clause
// Unix-domain stream sockets: listen, connect, who is at the other end.
//
// An abstract address ("@wireup/UID/PID/NONCE") has no file: nothing is left after SIGKILL, and there is no sun_path
// to attack. For another network namespace, which cannot reach an abstract name, a socket file in a directory of the
// server's, opened once and reached through /proc/self/fd/N/, so that the path may have any length.
//
// Free functions, any thread. Every descriptor is non-blocking and close-on-exec. Failures are statuses:
// PMIX_ERR_UNREACH nobody listens there, PMIX_ERR_TIMEOUT deadline, PMIX_ERR_OUT_OF_RESOURCE descriptors or memory,
// PMIX_ERR_NO_PERMISSIONS, PMIX_ERR_EXISTS name taken, PMIX_ERR_BAD_PARAM not an address.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "transport/deadline.h"
#include "transport/descriptor.h"
#include "transport/io.h"

namespace pmix::transport {

struct PeerCredentials {
    pid_t pid = 0;
    uid_t uid = static_cast<uid_t>(-1);
    gid_t gid = static_cast<gid_t>(-1);
};

// "@wireup/UID/PID/NONCE" for this process, with 64 random bits as NONCE. Empty: the kernel gives no random bits.
std::string make_abstract_address();

// Is this one of ours ("@wireup/...", bounded, printable)?
bool is_abstract_address(std::string_view address) noexcept;

// Where the kernel can (Linux 6.16), a process that connects to a listening socket of either kind cannot pass
// descriptors to it.

// Abstract: begins with '@' in place of the leading NUL.
common::Result<Descriptor> listen_abstract(std::string_view address, const Io& io = kRealIo);

// A socket file of mode 0600. Replaces a stale one (nobody listens); a live one is PMIX_ERR_EXISTS.
// The file goes when unlink_path is called, by the listener's owner.
common::Result<Descriptor> listen_path(const std::string& path, const Io& io = kRealIo);
void unlink_path(const std::string& path) noexcept;

// One waiting connection. PMIX_ERR_WOULD_BLOCK: none. PMIX_ERR_OUT_OF_RESOURCE: EMFILE, ENFILE, ENOMEM: the
// connection still waits, so the caller must pause before it asks again.
common::Result<Descriptor> accept_one(int listener, const Io& io = kRealIo);

// An address with '@' is abstract, all else a path. Blocks (up to the deadline) while the listener's backlog is full.
common::Result<Descriptor> connect_to(const std::string& address, Deadline deadline, const Io& io = kRealIo);

common::Result<PeerCredentials> peer_credentials(int fd, const Io& io = kRealIo);

// The uid that the kernel reports for users that the reader's user namespace does not map.
uint32_t overflow_uid();

}  // namespace pmix::transport
