// SPDX-License-Identifier: BSD-3-Clause
// The first frames: connect, ask for the server's identity, send our own, receive the segments of the job's data.
//
// Runs on the caller's thread of an init, before or beside the loop: a few round trips, no thread involved. Owns
// nothing afterwards; the socket goes to SocketChannel.
//
// What can go wrong: nobody listens (PMIX_ERR_UNREACH), silence (PMIX_ERR_TIMEOUT), the server's refusal, a server with
// the wrong user or token (PMIX_ERR_INVALID_CRED), or no protocol in common (PMIX_ERR_NOT_SUPPORTED).
#pragma once

#include <vector>

#include "common/base/status.h"
#include "common/protocol/hello.h"
#include "transport/deadline.h"
#include "transport/descriptor.h"
#include "transport/io.h"
#include "transport/rendezvous/rendezvous.h"

namespace pmix::client {

struct Greeting {
    transport::Descriptor socket;
    common::HelloReply reply;
    std::vector<transport::Descriptor> descriptors;  // of reply.segments
};

// A client and the server of its environment.
common::Result<Greeting> shake_hands(const transport::ClientEnvironment& environment, const pmix_info_t infos[],
                                     size_t ninfos, transport::Deadline deadline, const transport::Io& io);

// The first address that takes the connection.
common::Result<transport::Descriptor> connect_any(const std::vector<std::string>& addresses,
                                                  transport::Deadline deadline, const transport::Io& io);

// The user that a server at the other end of a socket must belong to, where it cannot prove itself by a token.
enum class Trust : unsigned char {
    own_or_root,
    any_for_root,  // root may look at the server of any user that was named to it
};
bool is_trusted(int fd, Trust trust, const transport::Io& io);

// The hello itself. mine: role and name; infos, pid and versions are filled in.
common::Result<Greeting> greet(transport::Descriptor socket, common::HelloRequest mine, const common::Token& token,
                               const pmix_info_t infos[], size_t ninfos, Trust trust, transport::Deadline deadline,
                               const transport::Io& io);

}  // namespace pmix::client
