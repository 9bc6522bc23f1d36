// Events: who wants which codes, whom an event reaches, what is kept for handlers that come later, what goes up.
//
// Owns the registrations of all peers and the ring of recent events. Loop thread only. A client runs its own handlers
// for what it notifies itself, so an event is never sent back to the peer that it came from, and an event that the host
// handed down is never handed up. What goes to one peer carries a number that rises by one.
//
// Registration and replay are one step: what came before is replayed for the new handler alone, what comes after
// reaches all, so nothing is missed and nothing comes twice. What can go wrong: the host refuses a code, which refuses
// the registration.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "common/messages.h"
#include "server/host.h"
#include "server/registry.h"
#include "server/reply.h"

namespace pmix::server {

class Events {
  public:
    Events(Host& host, size_t ring) : host_(host), ring_size_(ring) {}
    Events(const Events&) = delete;
    Events& operator=(const Events&) = delete;

    void peer_here(const std::shared_ptr<Peer>& peer);
    void peer_gone(const Peer& peer);

    void register_handler(Peer& peer, common::RegisterEventsRequest& request, Reply reply);
    void deregister_handler(Peer& peer, common::DeregisterEventsRequest& request, Reply reply);
    void notify(Peer& peer, common::NotifyEventRequest& request, Reply reply);

    // From the library itself: to local processes and the server's own handlers, not to the host.
    void raise(pmix_status_t code, const common::ProcId& source, pmix_data_range_t range, common::InfoList infos);

    size_t cached() const noexcept { return ring_.size(); }

  private:
    struct Event {
        pmix_status_t code = PMIX_SUCCESS;
        common::ProcId source;
        pmix_data_range_t range = PMIX_RANGE_UNDEF;
        common::InfoList infos;
        std::vector<common::ProcId> targets;  // PMIX_EVENT_CUSTOM_RANGE
        bool non_default = false;
        bool cache = true;
    };
    struct Handler {
        uint64_t reference;
        std::vector<pmix_status_t> codes;  // sorted; empty: a default handler
    };
    struct Listener {
        std::weak_ptr<Peer> peer;
        std::vector<Handler> handlers;
        uint64_t sequence = 0;
    };

    static Event make(pmix_status_t code, const common::ProcId& source, pmix_data_range_t range, common::InfoList infos);
    bool reaches(const Event& event, const Peer& peer) const;
    static bool wants(const Handler& handler, const Event& event);
    void spread(Event&& event, const Peer* except);
    void send(Listener& listener, const Event& event, uint64_t replay_for);
    // Codes that the host is asked for: once each, until their last user has gone.
    std::vector<pmix_status_t> count_up(const std::vector<pmix_status_t>& codes);
    void count_down(const std::vector<pmix_status_t>& codes);

    Host& host_;
    size_t ring_size_;
    std::deque<Event> ring_;
    std::map<uint64_t, Listener> listeners_;       // by the peer's serial number
    std::map<pmix_status_t, size_t> users_;        // of codes that the host knows of
};

}  // namespace pmix::server
