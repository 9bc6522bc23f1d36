// SPDX-License-Identifier: BSD-3-Clause
// One-shot reply handle: answers one request, once. Dropping it unanswered sends PMIX_ERROR, or PMIX_ERR_NOMEM where a
// failed allocation has dropped it.
//
// Move-only, loop thread; after leave_loop() any thread, one at a time. It does not keep the peer alive: an answer to a
// peer that has gone goes nowhere. An empty Reply (a request without a reply) sends nothing. Until it
// answers or is destroyed, it counts the request's memory for the peer's user, and the request among the peer's open
// ones: also that of a request that wants no answer, as long as its operation keeps the Reply.
#pragma once

#include <cassert>
#include <exception>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/protocol/messages.h"
#include "server/base/budget.h"
#include "server/base/peer.h"

namespace pmix::server {

class Reply {
  public:
    Reply() noexcept = default;
    Reply(const std::shared_ptr<Peer>& peer, uint16_t command, uint32_t id) noexcept
        : peer_(peer), open_(peer->open_requests()), command_(command), id_(id) {
        open_->fetch_add(1, std::memory_order_relaxed);
    }
    Reply(Reply&& o) noexcept
        : peer_(std::move(o.peer_)),
          connection_(std::move(o.connection_)),
          open_(std::move(o.open_)),
          charge_(std::move(o.charge_)),
          command_(o.command_),
          id_(std::exchange(o.id_, 0)) {}
    Reply& operator=(Reply&& o) noexcept {
        if (this != &o) {
            drop();
            peer_ = std::move(o.peer_);
            connection_ = std::move(o.connection_);
            open_ = std::move(o.open_);
            charge_ = std::move(o.charge_);
            command_ = o.command_;
            id_ = std::exchange(o.id_, 0);
        }
        return *this;
    }
    Reply(const Reply&) = delete;
    ~Reply() { drop(); }

    bool open() const noexcept { return id_ != 0; }
    // Null: it has gone, and so has the use of answering.
    std::shared_ptr<Peer> peer() const noexcept {
        auto p = peer_.lock();
        return p != nullptr && !p->gone() ? p : nullptr;
    }

    // The request takes so many bytes of the server's memory. False: its user has no room for them.
    [[nodiscard]] bool hold(const AccountPtr& account, size_t bytes) noexcept {
        return open_ == nullptr || charge_.set(account, bytes);
    }
    // Beside that.
    [[nodiscard]] bool hold_more(size_t bytes) noexcept { return charge_.grow(bytes); }
    // Its operation keeps less than that.
    void holds_only(size_t bytes) noexcept { charge_.shrink_to(bytes); }

    // From now on it speaks to the connection itself and knows no peer, so any thread may answer by it, as long as the
    // server is there. False: it can be answered on the loop only, and nothing has changed.
    bool leave_loop() {
        auto p = peer();
        auto connection = p != nullptr ? p->connection() : nullptr;
        if (connection == nullptr) return false;
        p->send_what_goes_before();
        connection_ = connection;
        peer_.reset();
        return true;
    }

    bool from(const Peer& peer) const noexcept { return peer_.lock().get() == &peer; }

    // A bare status.
    void status(pmix_status_t status) { send(status, {}, {}); }
    template <class M>
    void message(pmix_status_t status, const M& m, std::span<const int> descriptors = {}) {
        common::ByteWriter w;
        pmix_status_t rc = common::encode_message(w, m);
        if (rc != PMIX_SUCCESS) return send(rc, {}, {});
        send(status, w.view(), descriptors);
    }

  private:
    void send(pmix_status_t status, common::Bytes payload, std::span<const int> descriptors) {
        uint32_t id = std::exchange(id_, 0);
        assert(id == 0 || open_ != nullptr);  // it counts among the open ones until now
        assert(descriptors.size() <= common::kMaxFrameDescriptors);
        settle();
        if (id == 0) return;
        common::FrameHeader header = common::FrameHeader::reply(command_, id, status);
        header.descriptors = static_cast<uint8_t>(descriptors.size());
        header.payload = static_cast<uint32_t>(payload.size());
        // A connection that was closed meanwhile takes nothing, as a peer that is gone does.
        if (auto connection = connection_.lock()) {
            connection->send(header, payload, descriptors);
        } else if (auto p = peer()) {
            p->send(header, payload, descriptors);
        }
    }
    void drop() noexcept {
        try {
            // An exception that destroys it is bad_alloc: this code throws no other.
            status(std::uncaught_exceptions() > 0 ? PMIX_ERR_NOMEM : PMIX_ERROR);
        } catch (...) {  // no memory to say even that; the peer's own timeout remains
        }
    }
    void settle() noexcept {
        if (auto open = std::move(open_)) {
            [[maybe_unused]] const uint32_t before = open->fetch_sub(1, std::memory_order_relaxed);
            assert(before > 0);
        }
        charge_.clear();
    }

    std::weak_ptr<Peer> peer_;
    std::weak_ptr<transport::Connection> connection_;  // after leave_loop()
    Peer::OpenRequests open_;
    Charge charge_;
    uint16_t command_ = 0;
    uint32_t id_ = 0;  // 0: answered, or none is wanted
};

}  // namespace pmix::server
