// SPDX-License-Identifier: BSD-3-Clause
// A process that notes what it is sent: the statuses and results of replies, and events.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "common/protocol/messages.h"
#include "server/base/peer.h"
#include "support/status.h"

namespace pmix::server {

class NotingPeer final : public Peer {
  public:
    NotingPeer(PeerKind kind, common::ProcId id, uint64_t serial, uint32_t uid, int32_t pid)
        : Peer(kind, std::move(id), {uid, uid == ::geteuid() ? ::getegid() : uid, pid}) {
        set_serial(serial);
    }
    // A process of this user's, or of another's.
    NotingPeer(common::ProcId id, uint64_t serial, uint32_t uid = ::geteuid())
        : NotingPeer(PeerKind::client, std::move(id), serial, uid, 1) {}
    void send(const common::FrameHeader& header, common::Bytes payload, std::span<const int>) override {
        const std::shared_ptr<void> held = while_noting ? while_noting() : nullptr;
        if (header.kind == common::FrameKind::reply) {
            statuses.push_back(header.status);
            common::ResultsReply reply;
            if (!payload.empty()) {
                EXPECT_STATUS(PMIX_SUCCESS, common::decode_message(payload, reply));
            }
            results = reply.infos.take();
        }
        if (header.kind != common::FrameKind::notify) return;
        common::EventNotify event;
        EXPECT_STATUS(PMIX_SUCCESS, common::decode_message(payload, event));
        events.push_back(std::move(event));
    }
    void close() override {}
    std::vector<pmix_status_t> statuses;
    common::InfoList results;
    std::vector<common::EventNotify> events;
    // What it returns is held while it notes something; for tests of a server without memory.
    std::function<std::shared_ptr<void>()> while_noting;
};

}  // namespace pmix::server
