// SPDX-License-Identifier: BSD-3-Clause
// Which user is at the other end of a TCP connection within this node, as the kernel reports it.
//
// A TCP socket has no peer credentials. The kernel has the user that made each socket (when it called
// socket(), before any change of its user), and a process may ask for the socket at the other end by its addresses:
// NETLINK_SOCK_DIAG, one lookup of some 50 us however many sockets there are. Where that is refused (seccomp),
// /proc/net/tcp has the same in text. A process of another user namespace appears with its number in ours.
//
// A connection that its process has not accepted yet belongs to nobody. It waits at a listening socket, which its user
// bound: that one's user is known at once. A client that would rather wait for accept() keeps a server that accepts and
// then waits for the first bytes, one connection after the other.
//
// Two things would make the answer another's: a socket that its process has closed has no user any more (and reads as
// root's), and its port may be a new process's already. So the answer counts only if both ends are established while
// it is made. Ask right after accept() or connect(), before a byte is sent or believed.
//
// Free functions, any thread; they block for as long as the kernel takes, at most a few seconds.
#pragma once

#include <netinet/in.h>
#include <sys/types.h>

#include <span>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "transport/deadline.h"
#include "transport/io.h"

namespace pmix::transport {

// fd: a connected IPv4 socket. PMIX_ERR_INVALID_CRED: the other end is not an established socket of this network
// namespace, or this end is not established. PMIX_ERR_NOT_SUPPORTED: the kernel cannot be asked.
common::Result<uid_t> tcp_user(int fd);

// The same for several: where the kernel's text has to be read, once for all of them. out: for each of fds, in their
// order. It grows with the sockets of the node plus those asked about, not with their product.
std::vector<common::Result<uid_t>> tcp_users(std::span<const int> fds);

// The same for a connection that this process has made: who has accepted it, or else whose listening socket it waits
// at. Where neither is known, this waits. PMIX_ERR_UNREACH: the connection has ended. PMIX_ERR_TIMEOUT: nobody has
// taken it in time.
struct TcpServerUser {
    uid_t user = 0;
    bool has_accepted = false;  // else tcp_user() tells once the server has sent something
};
common::Result<TcpServerUser> await_tcp_user(int fd, Deadline deadline, const Io& io = kRealIo);

// Would it answer? Asks for a connection of a socket to itself: at a listening socket, which anybody may connect to,
// the answer could be about another's. Blocks for no longer than that takes.
pmix_status_t try_tcp_user(const Io& io = kRealIo);

// The ways by themselves, for tests. Addresses are the other end's own: its port first.
struct TcpEnds {
    sockaddr_in local{};   // of the socket that is looked for
    sockaddr_in remote{};  // what it is connected to
};
common::Result<uid_t> ask_sock_diag(const TcpEnds& ends);
// table: what /proc/net/tcp holds.
common::Result<uid_t> find_in_tcp_table(std::string_view table, const TcpEnds& ends);
std::vector<common::Result<uid_t>> find_all_in_tcp_table(std::string_view table, std::span<const TcpEnds> all);
// Of the socket that listens where ends.local says. PMIX_ERR_INVALID_CRED: none does, or the connection does not wait
// there, neither before nor after.
common::Result<uid_t> ask_sock_diag_for_listener(const TcpEnds& ends);
common::Result<uid_t> find_listener_in_tcp_table(std::string_view table, const TcpEnds& ends);

}  // namespace pmix::transport
