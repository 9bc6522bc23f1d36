// SPDX-License-Identifier: BSD-3-Clause
// Events: the registered codes, the receivers of an event, what is kept for later handlers, what is passed to the host.
//
// Owns the registrations of all peers. Loop thread only. Every process in range gets an event from here, also the one
// that notified it, so that for each of them its events and its registrations have one order; an event that the host
// handed down is never handed up. One that the host hands down again, of this server's own client, goes to those alone
// that did not have it. What goes to one peer carries a number that rises by one. An event of a client
// reaches processes of the same user, whatever its range; beyond them the host decides, who may hand it down again.
//
// Registration and replay are one step: earlier events are replayed for the new handler alone, later ones reach all, so
// no event is missed and none is delivered twice. What can go wrong: the host refuses a code, which refuses
// the registration; a host without notify_event, and an event for processes of other nodes alone
// (PMIX_ERR_NOT_SUPPORTED). A peer does not read (a debugger may have stopped it): above kMaxQueuedEvents its events
// are dropped and counted, and when it reads again it is told how many (PMIX_ERR_FAILED_COMM with kLostEventsKey), for
// the handlers that ask for that code. So are those that had to wait for a process with OpenPMIx's library
// (server/openpmix/translator.h) when its user's account was full.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "common/protocol/messages.h"
#include "server/base/lifecycle.h"
#include "server/base/reply.h"
#include "server/events/event_cache.h"
#include "server/events/event_codes.h"
#include "server/events/handed_up.h"
#include "server/host/host.h"
#include "server/namespaces/registry.h"
#include "server/namespaces/segments.h"

namespace pmix::server {

// Bytes of a process's event. One of this size names some 70,000 processes, each by itself, and takes the loop less
// than 50 ms; a larger one is refused before it is decoded. The host's own have no limit.
inline constexpr size_t kMaxEventBytes = 2u << 20;

// uint64_t, in PMIX_ERR_FAILED_COMM of a process's server: events to the process that were dropped while it did not
// read.
inline constexpr const char* kLostEventsKey = "wireup.event.lost";

class Events final : public LifecycleObserver {
  public:
    // self: this server's own id.
    Events(const LifecycleObservers& observers, Host& host, Registry& registry, const Segments& segments,
           const common::ProcId& self, size_t ring)
        : observers_(observers),
          host_(host),
          registry_(registry),
          segments_(segments),
          self_(self),
          codes_(host),
          handed_up_(self),
          cache_(ring) {}
    Events(const Events&) = delete;
    Events& operator=(const Events&) = delete;

    void peer_here(const std::shared_ptr<Peer>& peer);
    // All that waited for it has been sent.
    void peer_reads(Peer& peer);

    // LifecycleObserver
    void peer_gone(const Peer& peer) override;
    void member_gone(Nspace&, MemberId member) override { cache_.member_gone(member); }
    void namespace_gone(Nspace& nspace) override { cache_.namespace_gone(nspace.name, self_.nspace); }
    void recover() override { codes_.recover(); }

    void register_handler(Peer& peer, common::RegisterEventsRequest& request, Reply reply);
    void deregister_handler(Peer& peer, common::DeregisterEventsRequest& request, Reply reply);
    void notify(Peer& peer, common::NotifyEventRequest& request, Reply reply);

    // Called for each process that an event has been sent to. Must not throw.
    using Told = std::function<void(const common::ProcId&)>;

    // From the library itself: to local processes and the server's own handlers, not to the host. jobs: only to
    // processes that may know one of them; empty: to all in range. Where there is no memory for one of them the others
    // are told all the same, and bad_alloc is thrown at the end.
    void raise(pmix_status_t code, const common::ProcId& source, pmix_data_range_t range, common::InfoList infos,
               std::vector<std::string> jobs = {}, const Told& told = {});

    // The same, and to the host where the range goes beyond this node.
    // In the name of this user's process: it reaches that user's processes, and the host is told whose it is.
    void announce(pmix_status_t code, const common::ProcId& source, pmix_data_range_t range, common::InfoList infos,
                  const Credentials& who);

    size_t cached() const noexcept { return cache_.size(); }

  private:
    struct Handler {
        uint64_t reference;
        std::vector<pmix_status_t> codes;  // sorted; empty: a default handler
        uint64_t after = 0;                // events up to this number are not replayed for it
        bool of_jobs = true;
        bool of_environment = true;
        std::vector<pmix_status_t> host_codes;  // those the host must report
        Charge charge;
    };
    // A registration for which the host is asked.
    struct Waiting {
        uint64_t number;
        uint64_t reference;
    };
    struct Listener {
        std::weak_ptr<Peer> peer;
        std::vector<Handler> handlers;
        std::vector<Waiting> waiting;
        uint64_t sequence = 0;
        uint64_t lost = 0;  // events dropped since it was told the last time
    };

    static common::Result<Event> make(pmix_status_t code, const common::ProcId& source, pmix_data_range_t range,
                                      common::InfoList infos);
    static Handler make_handler(const common::RegisterEventsRequest& request);
    bool reaches(const Event& event, const common::ProcId& id, bool is_self) const;
    bool reaches(const Event& event, const Peer& peer) const {
        return is_for_user(event, peer) && reaches(event, peer.id(), peer.kind() == PeerKind::self);
    }
    bool within_node(const common::ProcSet& procs) const;
    bool somebody_is_told(const Event& event, const Peer& notifier) const;
    bool is_for_user(const Event& event, const Peer& peer) const;
    bool apart(std::string_view nspace, std::string_view other) const;
    uint8_t nearness(const Event& event, const Peer& peer) const;
    std::vector<MemberId> awaited(const Event& event) const;
    static bool wants(const Handler& handler, const Event& event);
    // An event that is not kept stays the caller's.
    void spread(Event&& event, const Told& told = {});
    // False: it has not been sent.
    // encoded: the event as it went to another process; empty: to none yet. It is filled and used.
    bool send(Listener& listener, const Event& event, uint64_t replay_for, common::ByteWriter& encoded);
    bool put_on_wire(Listener& listener, Peer& peer, const Event& event, uint64_t replay_for,
                     common::ByteWriter& encoded);
    void tell_loss(Listener& listener, Peer& peer);
    void start_serving(uint64_t serial, Handler&& handler, Reply reply);
    bool stop_waiting(uint64_t serial, uint64_t number) noexcept;

    const LifecycleObservers& observers_;
    Host& host_;
    Registry& registry_;
    const Segments& segments_;
    const common::ProcId self_;
    EventCodes codes_;
    const HandedUp handed_up_;
    EventCache cache_;
    std::map<uint64_t, Listener> listeners_;  // by the peer's serial number
    uint64_t last_number_ = 0;
    uint64_t last_waiting_ = 0;
};

}  // namespace pmix::server
