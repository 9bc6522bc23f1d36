// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Log. The host is asked first; what it does not support, the library writes itself: to this process's stdout and
// stderr, to the node's syslog, to a file with the rights of the requester's user. A request for a file and for other
// channels is divided: the host's answer for all would not say whether it wrote the file, so the library does.
//
// Loop thread; the writing is a blocking task. Requests of the server's own process never go to the host, because the
// host's own log entry may have made them. What can go wrong: an entry of a wrong type (PMIX_ERR_BAD_PARAM, nothing is
// written); a channel that is not supported (PMIX_ERR_NOT_SUPPORTED, or PMIX_ERR_PARTIAL_SUCCESS where others worked);
// an error of the write.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/protocol/messages.h"
#include "server/base/blocking_tasks.h"
#include "server/base/lifecycle.h"
#include "server/base/reply.h"
#include "server/host/host.h"
#include "server/services/log_channels.h"

namespace pmix::server {

class Log final : public LifecycleObserver {
  public:
    // gateway: this node's syslog is the system's (PMIX_SERVER_GATEWAY).
    Log(Host& host, BlockingTasks& blocking_tasks, bool gateway)
        : host_(host), blocking_tasks_(blocking_tasks), gateway_(gateway) {}
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    void request(Peer& peer, common::LogRequest& request, Reply reply);
    // What waits to be written is answered PMIX_ERR_LOST_CONNECTION, unwritten.
    void stop(pmix_status_t) override { streams_->stopping = true; }
    // For tests.
    void set_sinks(const LogSinks& sinks) { sinks_ = sinks; }

  private:
    struct Divided;
    void go_on(std::shared_ptr<Divided> request);
    template <class Done>
    void write(std::shared_ptr<const LogTask> task, Done done);

    Host& host_;
    BlockingTasks& blocking_tasks_;
    const bool gateway_;
    const std::shared_ptr<LogStreams> streams_ = std::make_shared<LogStreams>();  // shared with the tasks
    LogSinks sinks_ = system_log_sinks();
};

}  // namespace pmix::server
