// SPDX-License-Identifier: BSD-3-Clause
// The servers of this node, as the kernel lists them: listeners on abstract names in this library's form.
//
// Nothing owned; any thread. A list is a hint and no more: the names are what their owners made them, and a listener
// may go at any moment. A process that connects asks the kernel for the other end's credentials (peer_credentials)
// before it trusts what it reads. What can go wrong: no /proc, or one of another network namespace: the list is empty.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace pmix::transport {

struct ListedServer {
    std::string address;  // "@wireup/UID/PID/NONCE"
    uid_t uid = static_cast<uid_t>(-1);
    pid_t pid = 0;
};

// One line of /proc/net/unix: true and filled in when it is a listener of ours.
bool parse_unix_line(std::string_view line, ListedServer& out);

// Each server once, in the kernel's order.
std::vector<ListedServer> list_servers();

}  // namespace pmix::transport
