// SPDX-License-Identifier: BSD-3-Clause
// The first messages to a server that speaks OpenPMIx's protocol: connect, find out whose it is, send our identity, and
// receive the job's data, which goes into a segment of this process's own.
//
// A tool says that it is one, and is told the server's name and, where it has none, its own; of its job there is hardly
// any data. Runs on the caller's thread of an init, as the greeting of this library's own servers
// (client/session/handshake.h), and yields the same. Before a byte is sent the kernel has named the user of the
// server's socket: it is this process's own or root, so that a process that has taken the port of a server which has
// ended receives nothing.
//
// What can go wrong: nobody listens, or the server closes the connection, which is how it refuses (PMIX_ERR_UNREACH);
// silence (PMIX_ERR_TIMEOUT); another user's server (PMIX_ERR_INVALID_CRED); an address of another node, whose user
// nobody can tell, or an exchange of the security module's own (PMIX_ERR_NOT_SUPPORTED); what is no such message
// (PMIX_ERR_UNPACK_FAILURE).
#pragma once

#include <memory>

#include "client/openpmix/environment.h"
#include "client/openpmix/shadow.h"
#include "client/session/handshake.h"
#include "common/values/info_view.h"

namespace pmix::client {

struct OpenPmixGreeting {
    Greeting greeting;
    std::unique_ptr<Shadow> shadow;
};

// hostname: the server's name for this node. infos: what a tool tells.
common::Result<OpenPmixGreeting> greet_openpmix(OpenPmixEnvironment environment, std::string hostname,
                                                common::InfoView infos, transport::Deadline deadline,
                                                const transport::Io& io);

}  // namespace pmix::client
