// SPDX-License-Identifier: BSD-3-Clause
// Input on its way to the host's push_stdin, and the host's control of its flow (PMIx_server_IOF_flow_control).
//
// Owns which sources are stopped and the pushes that wait for them. Loop thread only. A push of a stopped source is not
// answered: a process that forwards its own stdin has one push open at a time and reads no more, and a blocking
// PMIx_IOF_push waits. When the source may go on, its pushes go to the host in their order. A host may also stop a
// source by answering a push with PMIX_ERR_IOF_XOFF: that data was taken, the next waits.
//
// What can go wrong: a source whose process ends is forgotten with its pushes; pushes that still wait when the server
// stops are answered with PMIX_ERROR. Their memory is counted for the user as that of every open request.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "common/protocol/messages.h"
#include "server/base/reply.h"
#include "server/host/host.h"

namespace pmix::server {

class InputFlow {
  public:
    explicit InputFlow(Host& host) : host_(host) {}
    InputFlow(const InputFlow&) = delete;
    InputFlow& operator=(const InputFlow&) = delete;

    // One push of a process, checked already.
    struct Push {
        common::ProcId source;
        common::ProcList targets;
        common::InfoList infos;
        std::vector<uint8_t> bytes;
        Reply reply;
    };
    void push(const Peer& peer, Push push);

    // source: nothing, or a wildcard in it, stands for every one.
    void stop(const std::optional<common::ProcId>& source);
    void go_on(const std::optional<common::ProcId>& source);

    void peer_gone(const Peer& peer);
    void clear() { held_.clear(); }

    size_t held() const noexcept { return held_.size(); }

  private:
    bool stopped(const common::ProcId& source) const noexcept;
    void hand_over(Host& host, Push push);
    void release();

    Host& host_;
    bool all_stopped_ = false;
    std::vector<common::ProcId> stopped_;  // patterns: a rank may be a wildcard
    std::vector<Push> held_;               // in the order of their receipt
};

}  // namespace pmix::server
