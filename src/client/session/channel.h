// SPDX-License-Identifier: BSD-3-Clause
// The seam between a client and its server: send this frame, tell me what comes back.
//
// Four exist: SocketChannel (client/session/socket_channel) over a connection, Loopback (runtime/loopback) for a
// process that is its own server, OpenPmixChannel (client/openpmix) where the server has OpenPMIx's protocol, and
// ServerSet (client/tool), which is several. Nothing above this line knows which one it has. What comes back goes to a
// transport::ConnectionHandler, with the promises written there: take_anywhere() on whichever thread reads, on_frame()
// and on_closed() on the loop, nothing on the stack of a send().
//
// What can go wrong: a lost server ends in exactly one on_closed(); after it send() answers PMIX_ERR_UNREACH.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/protocol/frame.h"
#include "transport/connection.h"
#include "transport/descriptor.h"
#include "transport/waiter.h"

namespace pmix::client {

// What a client needs to map a namespace's segment.
struct SegmentGrant {
    transport::Descriptor descriptor;
    uint64_t instance = 0;    // tells apart two namespaces of the same name
    uint64_t generation = 0;  // published when the grant was made
};

// Sends a finalize to one server, and waits for a waiter to be done if there is one.
using FinalizeWay = std::function<pmix_status_t(const common::FrameHeader& header, common::Bytes payload,
                                                transport::Waiter* waiter, transport::Deadline deadline)>;

class Channel {
  public:
    virtual ~Channel() = default;

    // Any thread. Takes the frame whole or not at all; frames are received in the order of sends. The payload is
    // borrowed for the call only.
    virtual pmix_status_t send(const common::FrameHeader& header, common::Bytes payload) = 0;

    // The same for a payload in several buffers. header.payload is the sum of their sizes.
    virtual pmix_status_t send_parts(const common::FrameHeader& header, std::span<const common::Bytes> parts) {
        std::vector<uint8_t> whole;
        whole.reserve(header.payload);
        for (const common::Bytes& part : parts) whole.insert(whole.end(), part.begin(), part.end());
        return send(header, whole);
    }

    // Any thread but the loop's: sends and waits until the waiter is done. PMIX_ERR_TIMEOUT: the deadline passed first.
    // Anything else: it was not sent, and nobody was waited for. A channel may let the waiting thread read the answer
    // itself.
    virtual pmix_status_t send_and_wait(const common::FrameHeader& header, common::Bytes payload,
                                        transport::Waiter& waiter, transport::Deadline deadline) = 0;

    // Any thread. Where the server does not read as fast as is sent, waits until it has caught up, or the connection
    // ends; at once on the loop thread. PMIX_ERR_TIMEOUT: the deadline passed first. send_and_wait() does so itself;
    // send(), which never waits, may refuse a frame with PMIX_ERR_OUT_OF_RESOURCE when a second such amount is queued.
    virtual pmix_status_t wait_for_room(transport::Deadline deadline) {
        (void)deadline;
        return PMIX_SUCCESS;
    }

    // Takes in what the server has sent, where no thread does so by itself. False: there may be more. Does not wait.
    // Any thread.
    virtual bool read_pending() noexcept { return true; }

    // The segment of a namespace without a wait, where that can be done: a server that asks itself, on its loop thread.
    // PMIX_ERR_WOULD_BLOCK: ask by frame. PMIX_ERR_NOT_FOUND: there is none. On another thread it waits for its loop,
    // and PMIX_ERR_TIMEOUT says that the deadline passed first: a host may not turn its event base.
    virtual common::Result<SegmentGrant> attach(std::string_view nspace, transport::Deadline deadline) {
        (void)nspace, (void)deadline;
        return PMIX_ERR_WOULD_BLOCK;
    }

    virtual bool connected() const noexcept = 0;
    // Notices a server that is gone, where no thread would see that before the next request. Does not wait. Any thread.
    virtual void look() noexcept {}

    // The server may have newer data of this process than it has sent here, without having said so. Any thread.
    virtual bool may_be_old(std::string_view nspace, common::Rank rank) const noexcept {
        (void)nspace, (void)rank;
        return false;
    }

    // Can the server be told such a value? Any thread.
    virtual bool takes(const pmix_value_t& value) const {
        (void)value;
        return true;
    }

    // An event is being delivered, with its server's number for it and the handler that it is replayed for. Loop.
    virtual void note_event(uint64_t number, uint64_t replay_for) { (void)number, (void)replay_for; }
    // Has the server that sends the event which is being delivered been asked for it by this handler? Loop.
    virtual bool is_from_server_of(uint64_t reference) const {
        (void)reference;
        return true;
    }

    // The server is to have answered a finalize before the connection ends.
    virtual bool awaits_finalize() const noexcept { return false; }

    // This process is root's, and its server belongs to another user.
    virtual bool serves_root_for_another() const noexcept { return false; }

    // From here on nothing reaches the handler. Loop thread, or any once the loop has stopped.
    virtual void close() noexcept = 0;

    // In a forked child: give our copies of descriptors back and touch nothing else.
    virtual void abandon() noexcept {}
};

}  // namespace pmix::client
