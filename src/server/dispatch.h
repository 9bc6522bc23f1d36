// SPDX-License-Identifier: BSD-3-Clause
// From a frame to an operation: one table says for each command who may ask, what runs, and when it is answered.
//
// Loop thread, nothing owned. A payload that is not what its command says ends the connection it came from. A command
// that this version does not know, or does not serve yet, is answered with PMIX_ERR_NOT_SUPPORTED.
#pragma once

#include "common/protocol/frame.h"
#include "server/parts.h"

namespace pmix::server {

// False: the peer does not speak our protocol; end its connection.
bool dispatch(Server::Parts& server, Peer& peer, const common::FrameHeader& header, common::Bytes payload);

}  // namespace pmix::server
