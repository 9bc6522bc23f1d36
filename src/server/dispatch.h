// SPDX-License-Identifier: BSD-3-Clause
// From a frame to an operation: one table has for each command the peers that may send it, the function that runs, and
// the time of its answer.
//
// Loop thread, nothing owned. A payload that is not its command's message ends the sender's connection. A command that
// is unknown to this version, or not served yet, is answered with PMIX_ERR_NOT_SUPPORTED.
#pragma once

#include "common/protocol/frame.h"
#include "server/parts.h"

namespace pmix::server {

// False: the peer does not speak our protocol; end its connection.
bool dispatch(Server::Parts& server, Peer& peer, const common::FrameHeader& header, common::Bytes payload);

}  // namespace pmix::server
