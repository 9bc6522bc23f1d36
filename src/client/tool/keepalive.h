// SPDX-License-Identifier: BSD-3-Clause
// The pipe by which a tool's parent shows that it still runs (PMIX_KEEPALIVE_PIPE): its end is reported to the tool's
// own handlers as PMIX_EVENT_JOB_END.
//
// Owns the descriptor. Loop; made before the loop runs. What can go wrong: a number that is no open pipe: not watched,
// PMIX_ERR_BAD_PARAM.
#pragma once

#include <memory>
#include <string>

#include "common/base/status.h"
#include "transport/descriptor.h"
#include "transport/event_loop.h"
#include "transport/file_identity.h"

namespace pmix::client {

class Session;

class Keepalive final : public transport::WatchHandler {
  public:
    static common::Result<std::unique_ptr<Keepalive>> open(Session& session, const std::string& number)
        REQUIRES(common::loop_thread);
    void on_ready(bool readable, bool writable) noexcept override;
    // In a forked child: closes our copy of the pipe.
    void abandon() noexcept { close_if(pipe_, identity_); }

  private:
    Keepalive(Session& session, int fd) : session_(session), pipe_(fd), identity_(fd) {}
    Session& session_;
    transport::Descriptor pipe_;
    const transport::FileIdentity identity_;
    std::unique_ptr<transport::Watch> watch_;
};

}  // namespace pmix::client
