// SPDX-License-Identifier: BSD-3-Clause
// What a session does not do itself: it passes events and forwarded output on, and tells of lost servers and of the
// end.
//
// An interface, implemented above the session (client/modules). Loop thread, except unreadable().
#pragma once

#include <pmix_common.h>

#include "common/base/bytes.h"
#include "common/base/ids.h"
#include "common/protocol/messages.h"

namespace pmix::client {

class SessionModules {
  public:
    virtual ~SessionModules() = default;
    // A notification of one of these commands. False: its message could not be decoded.
    virtual bool notified(common::Command command, common::Bytes payload) = 0;
    // A message could not be read, or not be written: the process itself is told. Any thread.
    virtual void unreadable() = 0;
    // The connection is lost.
    virtual void disconnected(const common::ProcId& server) = 0;
    // A tool: one of its servers is gone; none is left.
    virtual void server_lost(const common::ProcId& server) = 0;
    virtual void without_server() = 0;
    // The end: what waits is answered with this status.
    virtual void shut(pmix_status_t why) noexcept = 0;
};

}  // namespace pmix::client
