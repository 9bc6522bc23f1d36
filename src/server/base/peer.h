// SPDX-License-Identifier: BSD-3-Clause
// One process that this server talks to: who it is, how a frame reaches it, whether it is still there.
//
// Peers are shared: the server's table holds one reference, each Reply a weak one, so a late answer to a peer that has
// gone finds nobody instead of freed memory. Loop thread only. A peer that is gone swallows what is sent to it.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/protocol/frame.h"
#include "server/base/budget.h"
#include "transport/connection.h"

namespace pmix::server {

// What the kernel reported about the other end when it connected.
struct Credentials {
    uid_t uid = static_cast<uid_t>(-1);
    gid_t gid = static_cast<gid_t>(-1);
    pid_t pid = 0;
};

// Requests of one peer that may wait for their answers together, and event handlers that it may have. A process with a
// request open to each of the ranks of the largest jobs has a few thousand for each of its threads; beyond this number
// it asks without listening. What they take in memory is counted besides, for its user (server/base/budget.h).
inline constexpr uint32_t kMaxOpenRequests = 64u << 10;
// Processes that are one rank at a time. A rank's helpers are a handful; each takes a descriptor of the server's, which
// all ranks of the node must do with: where the table is small, fewer (Listener::max_clones).
inline constexpr uint32_t kMaxClones = 128;
// Above so much unsent towards one peer, events to it are dropped and counted; it is told when it reads again. The rest
// up to common::kMaxQueuedToPeer is for answers: a process that is stopped (by a debugger, by a freezer) keeps its
// connection.
inline constexpr size_t kMaxQueuedEvents = 32u << 20;
// Registrations for output: each gets a queue of its own (kIofQueueBytes).
inline constexpr uint32_t kMaxIofPulls = 1024;

enum class PeerKind : uint8_t {
    client,    // a process of a registered namespace
    tool,      // connected on its own account, known to the host
    observer,  // likewise, only to ask the library how things stand; the host has not heard of it
    self,      // this very process: the server's own client half, through the loopback
};

class Peer : public std::enable_shared_from_this<Peer> {
  public:
    Peer(PeerKind kind, common::ProcId id, Credentials who) : kind_(kind), id_(std::move(id)), credentials_(who) {}
    virtual ~Peer() = default;
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    // Payload and descriptors are borrowed for the call; the peer gets its own.
    virtual void send(const common::FrameHeader& header, common::Bytes payload, std::span<const int> descriptors) = 0;
    // Ends the connection. The server is notified as of any other loss, once.
    virtual void close() = 0;
    // The connection, on which any thread may send, also after this peer is destroyed. Null: only the loop may send.
    virtual std::shared_ptr<transport::Connection> connection() const { return nullptr; }

    // In a forked child: closes our copy of its socket, and nothing else.
    virtual void abandon() noexcept {}

    // Reads data in segments. One that does not is sent it: what it may map is what it may be told.
    virtual bool maps_segments() const noexcept { return true; }
    // Has OpenPMIx's library: it connects where that one does.
    virtual bool is_openpmix() const noexcept { return false; }

    // May leave what it is told unread for as long as it makes no call. It sees in a segment that there is a newer one.
    virtual bool reads_late() const noexcept { return false; }

    // What it sent last was sent from that processor, as far as the kernel tells.
    virtual bool sends_from(int /*processor*/) const noexcept { return false; }

    // The input that a process pushes is to stop, or may go on; no process: everybody's. For those that read on
    // otherwise.
    virtual void input_controlled(const std::optional<common::ProcId>& /*source*/, bool /*stop*/) {}

    // Has taken in all that was sent to it.
    virtual bool has_read_all() const { return true; }

    PeerKind kind() const noexcept { return kind_; }
    const common::ProcId& id() const noexcept { return id_; }
    const Credentials& credentials() const noexcept { return credentials_; }
    // Distinguishes clones: processes that share a rank.
    uint64_t serial() const noexcept { return serial_; }
    // Its requests that have not been answered. Shared, because answers may be given when the peer has gone, by any
    // thread.
    using OpenRequests = std::shared_ptr<std::atomic<uint32_t>>;
    const OpenRequests& open_requests() const noexcept { return open_requests_; }
    // Of its user: what the server keeps for this peer is counted there.
    const AccountPtr& account() const noexcept { return account_; }
    void set_account(AccountPtr account) noexcept { account_ = std::move(account); }
    // The newest of its commits that has been taken over or refused: all before it have been, too.
    uint64_t commits() const noexcept { return commits_; }
    void set_commits(uint64_t generation) noexcept { commits_ = std::max(commits_, generation); }
    // Has finalized; its hang-up is then no loss.
    bool finalized() const noexcept { return finalized_; }
    bool gone() const noexcept { return gone_; }

    // Are its requests served in strict mode (common/values/strict.h)?
    bool strict() const noexcept { return strict_; }

    void set_strict(bool strict) noexcept { strict_ = strict; }
    void set_serial(uint64_t serial) noexcept { serial_ = serial; }
    // Segments, by their instance, that this peer has been given: their descriptor need not travel again.
    bool knows_segment(uint32_t instance) const { return segments_.count(instance) != 0; }
    void set_knows_segment(uint32_t instance) { segments_.insert(instance); }
    void set_lacks_segment(uint32_t instance) { segments_.erase(instance); }
    // What is to be sent before the next frame, if there is one: run once, by its send().
    using Before = std::function<void(Peer&)>;
    void set_before_next(Before before) { before_next_ = std::move(before); }
    void send_what_goes_before() {
        if (before_next_) [[unlikely]]
            std::exchange(before_next_, nullptr)(*this);
    }
    // Segments that it was sent unasked since it last had read all.
    uint32_t unread_segments() const noexcept { return unread_segments_; }
    void set_unread_segments(uint32_t count) noexcept { unread_segments_ = count; }
    // A refusal of a commit is queued for it and not in its socket yet.
    bool refusal_queued() const noexcept { return refusal_queued_; }
    void set_refusal_queued(bool queued) noexcept { refusal_queued_ = queued; }
    // The peer reports that it lacks the segment. It is sent again, unless the first one has not been read yet:
    // descriptors that are not received must not pile up.
    void says_it_lacks(uint32_t instance) {
        if (knows_segment(instance) && has_read_all()) set_lacks_segment(instance);
    }
    // Events that it was not sent, because it did not read or because its user had no room for what waited.
    uint64_t lost_events() const noexcept { return lost_events_; }
    void count_lost_event() noexcept { ++lost_events_; }
    // Of them, those that were lost behind Events, which tells of them when the peer reads (peer_reads).
    void add_untold_losses(uint64_t events) noexcept { untold_losses_ += events; }
    uint64_t take_untold_losses() noexcept { return std::exchange(untold_losses_, 0); }
    void set_finalized() noexcept { finalized_ = true; }
    void set_gone() noexcept {
        assert(!gone_);  // the server is notified of a loss once
        gone_ = true;
    }

  protected:
    // The hello tells which process it is.
    void set_id(common::ProcId id) { id_ = std::move(id); }
    void set_kind(PeerKind kind) noexcept { kind_ = kind; }
    void set_gid(gid_t gid) noexcept { credentials_.gid = gid; }

  private:
    PeerKind kind_;
    common::ProcId id_;
    Credentials credentials_;
    uint64_t serial_ = 0;
    AccountPtr account_;
    OpenRequests open_requests_ = std::make_shared<std::atomic<uint32_t>>(0);
    std::set<uint32_t> segments_;
    Before before_next_;
    uint32_t unread_segments_ = 0;
    bool refusal_queued_ = false;
    bool strict_ = false;
    uint64_t commits_ = 0;
    uint64_t lost_events_ = 0;
    uint64_t untold_losses_ = 0;
    bool finalized_ = false;
    bool gone_ = false;
};

// The server's own process. What is sent to it goes to the sink, on the loop thread, with the sender still on the
// stack: the loopback copies it and posts it on before anything of the user's runs.
class SelfPeer final : public Peer {
  public:
    using Sink = std::function<void(const common::FrameHeader& header, common::Bytes payload,
                                    std::span<const int> borrowed_descriptors)>;

    SelfPeer(common::ProcId id, Credentials own) : Peer(PeerKind::self, std::move(id), own) {}
    void send(const common::FrameHeader& header, common::Bytes payload, std::span<const int> descriptors) override {
        if (sink_) sink_(header, payload, descriptors);
    }
    void close() override { sink_ = nullptr; }
    void set_sink(Sink sink) { sink_ = std::move(sink); }

  private:
    Sink sink_;
};

}  // namespace pmix::server
