// SPDX-License-Identifier: BSD-3-Clause
#include "server/events/events.h"

#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

#include "common/base/log.h"
#include "common/codec/pack.h"
#include "common/protocol/event_infos.h"
#include "server/base/need.h"
#include "server/base/scheduler.h"
#include "server/host/required.h"
#include "transport/send_queue.h"

namespace pmix::server {

using common::InfoList;
using common::InfoView;
using common::ProcId;

namespace {

// Codes that only the environment can raise: system events, and what is outside PMIx's own numbers.
bool is_hosts_code(pmix_status_t code) {
    return PMIX_SYSTEM_EVENT(code) || code > 0 || code <= PMIX_EXTERNAL_ERR_BASE;
}

bool goes_up(const Event& event) {
    return !event.stays_local && event.range != PMIX_RANGE_LOCAL && event.range != PMIX_RANGE_PROC_LOCAL;
}

bool is_of_invitation(pmix_status_t code) {
    return code == PMIX_GROUP_INVITED || code == PMIX_GROUP_INVITE_ACCEPTED || code == PMIX_GROUP_INVITE_DECLINED;
}

common::Result<InfoList> marked_of_client(const InfoList& infos) {
    InfoList out;
    pmix_status_t rc = out.append_all(infos.c_array(), infos.size());
    if (rc == PMIX_SUCCESS) rc = out.append_flag(kOfClientKey, true);
    if (rc != PMIX_SUCCESS) return rc;
    return out;
}

// Root and the server's own user could do by other means whatever an event makes a process do.
bool is_trusted(uint32_t uid) {
    return uid == 0 || uid == ::geteuid();
}

std::optional<uint32_t> session_of(const Nspace* nspace) {
    if (nspace == nullptr || nspace->data == nullptr) return {};
    dstore::Found found;
    common::Value value;
    uint64_t id = 0;
    const bool known =
        nspace->data->reader().find(dstore::Owner::job(), dstore::Key(PMIX_SESSION_ID), found) == PMIX_SUCCESS &&
        common::decode_value_into(found.bytes(), value.c_ptr()) == PMIX_SUCCESS &&
        common::read_number(value.get(), &id) == PMIX_SUCCESS && id <= UINT32_MAX;
    return known ? std::optional(static_cast<uint32_t>(id)) : std::nullopt;
}

}  // namespace

common::Result<Event> Events::make(pmix_status_t code, const ProcId& source, pmix_data_range_t range, InfoList infos) {
    auto said = common::read_event_attributes(InfoView(infos));
    if (!said) return said.status();
    Event event;
    event.code = code;
    event.source = source;
    event.range = said->custom_range.empty() ? range : PMIX_RANGE_CUSTOM;
    event.targets = std::move(said->custom_range);
    event.affected = std::move(said->affected);
    event.non_default = said->non_default;
    event.cache = !said->do_not_cache;
    event.stays_local = said->stays_local;
    event.of_environment = common::is_environment_event(code, source, event.affected);
    event.infos = std::move(infos);
    return event;
}

// Both in sessions that are known, and not the same.
bool Events::apart(std::string_view nspace, std::string_view other) const {
    if (nspace == other) return false;
    const auto a = session_of(registry_.find(nspace)), b = session_of(registry_.find(other));
    return a && b && *a != *b;
}

// A rank of root's is protected as any other: only tools of the trusted users look at what other users' processes say.
bool Events::is_for_user(const Event& event, const Peer& peer) const {
    const bool is_self = peer.kind() == PeerKind::self;
    const uint32_t uid = peer.credentials().uid;
    const auto sees_those_of = [&](uint32_t user) {
        return is_self || user == uid || (peer.kind() != PeerKind::client && is_trusted(uid));
    };
    if (event.had_by_user && sees_those_of(*event.had_by_user)) return false;
    if (event.user && !sees_those_of(*event.user)) return false;
    return is_self || event.jobs.empty() ||
           std::any_of(event.jobs.begin(), event.jobs.end(),
                       [&](const std::string& job) { return segments_.may_know(peer, job); });
}

bool Events::reaches(const Event& event, const ProcId& id, bool is_self) const {
    if (event.range == PMIX_RANGE_PROC_LOCAL) return id == event.source;
    if (event.range == PMIX_RANGE_CUSTOM) return event.targets.covers(id);
    // The host's own handlers are told of all that goes on.
    if (is_self) return true;
    switch (event.range) {
        case PMIX_RANGE_RM:
            return false;
        case PMIX_RANGE_NAMESPACE:
            // From a host, the source may be a daemon; then the processes it is about say whose event it is. That of
            // a job's process is its job's.
            if (id.nspace == event.source.nspace) return true;
            return (event.source.nspace == self_.nspace || registry_.find(event.source.nspace) == nullptr) &&
                   event.affected.names(id.nspace);
        case PMIX_RANGE_SESSION:
            return !apart(event.source.nspace, id.nspace);
        default:
            return true;
    }
}

uint8_t Events::nearness(const Event& event, const Peer& peer) const {
    const ProcId& source = event.source;
    const Nspace* nspace = registry_.find(source.nspace);
    const bool here = event.from_here || source.nspace.empty() || source == self_ ||
                      (nspace != nullptr && nspace->is_local(source.rank));
    uint8_t bits = here ? common::EventNotify::kOnThisNode : 0;
    if (apart(source.nspace, peer.id().nspace)) bits |= common::EventNotify::kInAnotherSession;
    if (source == peer.id() && !event.from_here) bits |= common::EventNotify::kToItsSource;
    return bits;
}

// All the processes that these name run on this node.
bool Events::within_node(const common::ProcSet& procs) const {
    return std::all_of(procs.parts().begin(), procs.parts().end(), [&](const common::ProcSet::Part& part) {
        const Nspace* nspace = registry_.find(part.nspace);
        return nspace != nullptr && part.ranks.for_ranges([&](common::Rank first, common::Rank last) {
            if (first == PMIX_RANK_WILDCARD) return nspace->all_local();
            for (uint64_t rank = first; rank <= last; ++rank)
                if (!nspace->is_local(static_cast<common::Rank>(rank))) return false;
            return true;
        });
    });
}

// For a host that takes no events: does delivery on this node reach anybody? A process other than the notifier in the
// event's range is somebody, also one that has not connected or registered for it yet. So is a handler of the
// notifier's, or the host's own, that wants it.
bool Events::somebody_is_told(const Event& event, const Peer& notifier) const {
    if (event.range == PMIX_RANGE_NAMESPACE && within_node({{event.source.nspace, PMIX_RANK_WILDCARD}})) return true;
    if (event.range == PMIX_RANGE_CUSTOM && within_node(event.targets)) return true;
    for (const auto& [serial, listener] : listeners_) {
        const auto peer = listener.peer.lock();
        if (peer == nullptr || !reaches(event, *peer)) continue;
        const bool wanted = std::any_of(listener.handlers.begin(), listener.handlers.end(),
                                        [&](const Handler& h) { return wants(h, event); });
        if (wanted || (peer->kind() != PeerKind::self && peer->id() != notifier.id())) return true;
    }
    for (const auto& [name, nspace] : registry_.nspaces())
        for (const auto& [rank, client] : nspace->clients)
            if (client.state == Client::State::registered && (!event.user || *event.user == client.uid) &&
                reaches(event, {name, rank}, false))
                return true;
    return false;
}

std::vector<MemberId> Events::awaited(const Event& event) const {
    std::vector<MemberId> members;
    for (const auto& [name, nspace] : registry_.nspaces())
        for (const auto& [rank, client] : nspace->clients)
            if (client.state == Client::State::registered && (!event.user || *event.user == client.uid) &&
                event.had_by_user != client.uid && reaches(event, {name, rank}, false))
                members.push_back(member_id(nspace->number, rank));
    return members;
}

bool Events::wants(const Handler& handler, const Event& event) {
    if (!(event.of_environment ? handler.of_environment : handler.of_jobs)) return false;
    if (handler.codes.empty()) return !event.non_default;
    return std::binary_search(handler.codes.begin(), handler.codes.end(), event.code);
}

namespace {

// Events that wait for processes which do not read are half of their user's memory here at most: the other half is for
// the requests of those who do.
bool has_no_room_for_events(const Peer& peer, size_t queued) noexcept {
    if (queued > kMaxQueuedEvents) return true;
    const UserAccount* account = peer.account().get();
    return account != nullptr && queued > transport::SendQueue::kAlwaysQueued / 2 &&
           account->used() > account->limit() / 2;
}

}  // namespace

bool Events::send(Listener& listener, const Event& event, uint64_t replay_for, common::ByteWriter& encoded) {
    auto peer = listener.peer.lock();
    if (peer == nullptr || peer->gone()) return false;
    const auto connection = peer->connection();
    if (connection != nullptr && has_no_room_for_events(*peer, connection->queued_bytes())) {
        if (listener.lost++ == 0) {
            WIREUP_LOG(events, warn, "%s:%u does not read: events to it are dropped", peer->id().nspace.c_str(),
                       peer->id().rank);
        }
        peer->count_lost_event();
        return false;
    }
    if (listener.lost != 0) tell_loss(listener, *peer);
    return put_on_wire(listener, *peer, event, replay_for, encoded);
}

void Events::tell_loss(Listener& listener, Peer& peer) {
    const uint64_t lost = listener.lost;
    WIREUP_LOG(events, warn, "%s:%u reads again: %llu events to it were dropped", peer.id().nspace.c_str(),
               peer.id().rank, static_cast<unsigned long long>(lost));
    const pmix_proc_t proc = peer.id().to_c();
    InfoList infos;
    pmix_status_t rc = infos.append(PMIX_EVENT_AFFECTED_PROC, &proc, PMIX_PROC);
    if (rc == PMIX_SUCCESS) rc = infos.append_flag(PMIX_EVENT_NON_DEFAULT, true);
    if (rc == PMIX_SUCCESS) rc = infos.append_number(kLostEventsKey, lost, PMIX_UINT64);
    if (rc != PMIX_SUCCESS) return;  // no memory: it is told before the next event
    auto event = make(PMIX_ERR_FAILED_COMM, self_, PMIX_RANGE_LOCAL, std::move(infos));
    if (!event) return;
    const bool wanted = std::any_of(listener.handlers.begin(), listener.handlers.end(),
                                    [&](const Handler& h) { return wants(h, event.value()); });
    common::ByteWriter encoded;
    if (!wanted || put_on_wire(listener, peer, event.value(), 0, encoded)) listener.lost = 0;
}

void Events::peer_reads(Peer& peer) {
    auto it = listeners_.find(peer.serial());
    if (it == listeners_.end()) return;
    it->second.lost += peer.take_untold_losses();
    if (it->second.lost == 0) return;
    try {
        if (auto known = it->second.peer.lock(); known != nullptr && !known->gone()) tell_loss(it->second, *known);
    } catch (const std::bad_alloc&) {  // it is told before the next event
    }
}

bool Events::put_on_wire(Listener& listener, Peer& peer, const Event& event, uint64_t replay_for,
                         common::ByteWriter& encoded) {
    common::EventNotify message;
    message.status = event.code;
    message.source = event.source;
    message.range = event.range;
    InfoList marked;
    if (event.of_client && peer.kind() == PeerKind::self) {
        auto infos = marked_of_client(event.infos);
        if (!infos) return false;
        marked = std::move(infos).value();
    }
    const InfoList& infos = marked.empty() ? event.infos : marked;
    message.infos = common::Infos::borrow(infos.c_array(), infos.size());
    message.sequence = listener.sequence + 1;
    message.replay_for = replay_for;
    message.nearness = nearness(event, peer);
    message.number = event.number;
    common::ByteWriter own;
    common::ByteWriter& w = marked.empty() ? encoded : own;
    if (w.size() != 0) {
        message.encode_for_receiver(w);
    } else if (common::encode_message(w, message) != PMIX_SUCCESS) {
        return false;
    }
    common::FrameHeader header = common::FrameHeader::notify(static_cast<uint16_t>(common::Command::event));
    header.payload = static_cast<uint32_t>(w.size());
    peer.send(header, w.view(), {});
    ++listener.sequence;
    return true;
}

void Events::spread(Event&& event, const Told& told) {
    bool failed = false;
    event.number = last_number_ = std::max(last_number_ + 1, common::event_clock());
    common::ByteWriter encoded;
    for (auto& entry : listeners_) {
        Listener& listener = entry.second;
        bool wanted = false;
        try {
            auto peer = listener.peer.lock();
            if (peer == nullptr || !reaches(event, *peer)) continue;
            wanted = std::any_of(listener.handlers.begin(), listener.handlers.end(),
                                 [&](const Handler& h) { return wants(h, event); });
            if (wanted && send(listener, event, 0, encoded) && told) told(peer->id());
        } catch (const std::bad_alloc&) {
            failed = true;
            if (wanted) ++listener.lost;
        }
    }
    cache_.add(std::move(event), [this](const Event& e) { return awaited(e); });
    if (failed) throw std::bad_alloc();
}

void Events::peer_here(const std::shared_ptr<Peer>& peer) {
    listeners_[peer->serial()].peer = peer;
}

void Events::peer_gone(const Peer& peer) {
    auto it = listeners_.find(peer.serial());
    if (it == listeners_.end()) return;
    Listener listener = std::move(it->second);
    listeners_.erase(it);
    for (const Handler& h : listener.handlers) codes_.drop(h.host_codes);
}

Events::Handler Events::make_handler(const common::RegisterEventsRequest& request) {
    Handler h;
    h.reference = request.reference;
    h.after = request.after;
    h.codes.assign(request.codes.begin(), request.codes.end());
    std::sort(h.codes.begin(), h.codes.end());
    h.codes.erase(std::unique(h.codes.begin(), h.codes.end()), h.codes.end());
    const InfoView infos(request.infos.data(), request.infos.size());
    const bool jobs = infos.flag(PMIX_EVENT_JOB_LEVEL), environment = infos.flag(PMIX_EVENT_ENVIRO_LEVEL);
    if (jobs != environment) {
        h.of_jobs = jobs;
        h.of_environment = environment;
    }
    if (!h.of_environment) return h;
    std::copy_if(h.codes.begin(), h.codes.end(), std::back_inserter(h.host_codes), is_hosts_code);
    // All of the environment, by name: the host is to report what it has.
    if (h.codes.empty() && !h.of_jobs)
        for (int code = PMIX_EVENT_SYS_OTHER; code <= PMIX_EVENT_SYS_BASE; ++code) h.host_codes.push_back(code);
    return h;
}

void Events::register_handler(Peer& peer, common::RegisterEventsRequest& request, Reply reply) {
    if (listeners_.count(peer.serial()) == 0) return reply.status(PMIX_ERR_EVENT_REGISTRATION);
    if (listeners_[peer.serial()].handlers.size() >= kMaxOpenRequests && peer.kind() != PeerKind::self)
        return reply.status(PMIX_ERR_OUT_OF_RESOURCE);
    Handler handler = make_handler(request);
    if (&host_.of(peer) != &host_) handler.host_codes.clear();  // the host need not be asked to tell itself
    // What the host must report has an entry in a table besides.
    const size_t bytes =
        sizeof handler + handler.codes.size() * sizeof(pmix_status_t) + handler.host_codes.size() * 128;
    if (!handler.charge.set(peer.account(), bytes)) return reply.status(PMIX_ERR_OUT_OF_RESOURCE);
    if (handler.host_codes.empty()) return start_serving(peer.serial(), std::move(handler), std::move(reply));
    InfoList infos = request.infos.take();
    pmix_status_t rc = append_ids(infos, peer.credentials());
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    const std::vector<pmix_status_t> codes = handler.host_codes;
    const uint64_t number = ++last_waiting_;
    listeners_[peer.serial()].waiting.push_back({number, handler.reference});
    codes_.want(codes, std::move(infos),
                [this, serial = peer.serial(), number, handler = std::move(handler),
                 reply = std::move(reply)](pmix_status_t status) mutable {
                    const bool wanted = stop_waiting(serial, number);
                    if (!common::succeeded(status)) return reply.status(status);
                    if (!wanted) {
                        reply.status(PMIX_ERR_NOT_FOUND);
                        return codes_.drop(handler.host_codes);
                    }
                    start_serving(serial, std::move(handler), std::move(reply));
                });
}

// False: it has been taken back, or its process has gone.
bool Events::stop_waiting(uint64_t serial, uint64_t number) noexcept {
    const auto it = listeners_.find(serial);
    return it != listeners_.end() &&
           std::erase_if(it->second.waiting, [&](const Waiting& one) { return one.number == number; }) != 0;
}

void Events::start_serving(uint64_t serial, Handler&& handler, Reply reply) {
    auto at = listeners_.find(serial);
    auto peer = at == listeners_.end() ? nullptr : at->second.peer.lock();
    if (peer == nullptr) return codes_.drop(handler.host_codes);
    assert(std::is_sorted(handler.codes.begin(), handler.codes.end()));
    // First, for success means that there is a handler.
    auto& handlers = at->second.handlers;
    try {
        handlers.push_back(std::move(handler));
    } catch (const std::bad_alloc&) {
        reply.status(PMIX_ERR_NOMEM);
        return codes_.drop(handler.host_codes);  // not moved: a vector that cannot grow changes nothing
    }
    reply.status(PMIX_SUCCESS);
    const Handler& added = handlers.back();
    const auto is_for_it = [&](const Event& event) { return wants(added, event) && reaches(event, *peer); };
    cache_.for_each([&](const Event& event) {
        common::ByteWriter encoded;
        if (event.number > added.after && is_for_it(event)) send(at->second, event, added.reference + 1, encoded);
    });
    if (auto member = registry_.member(peer->id())) cache_.delivered(*member, is_for_it);
}

void Events::deregister_handler(Peer& peer, common::DeregisterEventsRequest& request, Reply reply) {
    auto it = listeners_.find(peer.serial());
    if (it == listeners_.end()) return reply.status(PMIX_ERR_NOT_FOUND);
    auto& handlers = it->second.handlers;
    auto at = std::find_if(handlers.begin(), handlers.end(),
                           [&](const Handler& h) { return h.reference == request.reference; });
    if (at == handlers.end()) {
        // The host, which has not answered yet, is left to; the handler will not serve.
        auto& waiting = it->second.waiting;
        const auto one = std::find_if(waiting.begin(), waiting.end(),
                                      [&](const Waiting& w) { return w.reference == request.reference; });
        if (one == waiting.end()) return reply.status(PMIX_ERR_NOT_FOUND);
        waiting.erase(one);
        return reply.status(PMIX_SUCCESS);
    }
    const std::vector<pmix_status_t> codes = std::move(at->host_codes);
    handlers.erase(at);
    reply.status(PMIX_SUCCESS);
    codes_.drop(codes);
}

namespace {
// The receivers of an event follow from its source, and others act on it: a process may name only its own job. A tool
// passes on the events of its own jobs, if it is this user's or root's; all others may name only themselves.
bool may_speak_for(const Peer& peer, const ProcId& source) {
    if (peer.kind() == PeerKind::self || source.nspace == peer.id().nspace) return true;
    const uid_t uid = peer.credentials().uid;
    return peer.kind() == PeerKind::tool && (uid == 0 || uid == ::geteuid());
}
}  // namespace

void Events::notify(Peer& peer, common::NotifyEventRequest& request, Reply reply) {
    const bool from_host = peer.kind() == PeerKind::self;
    // Nobody but the host speaks for the resource manager.
    ProcId source = request.source.nspace.empty() && !from_host ? peer.id() : request.source;
    if (!may_speak_for(peer, source)) return reply.status(PMIX_ERR_NO_PERMISSIONS);
    auto range = static_cast<pmix_data_range_t>(request.range);
    if (range > PMIX_RANGE_PROC_LOCAL) return reply.status(PMIX_ERR_BAD_PARAM);
    InfoList infos = request.infos.take();
    const pmix_status_t required = check_service(host_, infos, common::Function::PMIx_Notify_event, Entries::payload);
    if (required != PMIX_SUCCESS) return reply.status(required);
    // Nobody who is told of the event takes the sender's claim for the kernel's.
    if (!from_host) remove_ids(infos);
    std::optional<HandedUp::Before> before;
    if (from_host) before = handed_up_.find(infos, request.status);
    if (before && before->here && !before->user) return reply.status(PMIX_SUCCESS);
    if (before) range = before->range;
    const bool of_client = !from_host || InfoView(infos).flag(kOfClientKey);
    HandedUp::remove(infos);
    auto event = make(request.status, source, range, std::move(infos));
    if (!event) return reply.status(event.status());
    event->from_here = !from_host && source == peer.id();
    event->of_client = of_client;
    if (before && before->here) event->had_by_user = before->user;
    if (!from_host && !is_trusted(peer.credentials().uid)) event->user = peer.credentials().uid;
    const bool hand_up = !from_host && goes_up(*event);
    // What the cache keeps the host is given a copy of. A larger event is moved to it, behind local delivery.
    const bool copied = hand_up && host_.has_notify() && cache_.takes(*event);
    InfoList up;
    if (copied) {
        if (!reply.hold_more(event->footprint)) return reply.status(PMIX_ERR_OUT_OF_RESOURCE);
        const pmix_status_t rc = up.append_all(event->infos.c_array(), event->infos.size());
        if (rc != PMIX_SUCCESS) return reply.status(rc);
    }
    InfoList marks;
    if (hand_up) {
        pmix_status_t rc = append_ids(marks, peer.credentials());
        if (rc == PMIX_SUCCESS) rc = handed_up_.mark(marks, event->code, event->range, event->user);
        if (rc == PMIX_SUCCESS && copied) rc = up.append_all(marks.c_array(), marks.size());
        if (rc != PMIX_SUCCESS) return reply.status(rc);
    }
    const bool all_here = range == PMIX_RANGE_CUSTOM && within_node(event->targets);
    // An invitation has to reach all that it is for: its sender waits for their answers, and so do these.
    const bool invites = range == PMIX_RANGE_CUSTOM && is_of_invitation(request.status);
    // In strict mode: every event that a host would have to carry, as the page of PMIx_Notify_event requires.
    const bool all_count = peer.strict() || (invites && !all_here);
    const bool lost = hand_up && !host_.has_notify() && (all_count || !somebody_is_told(*event, peer));
    observers_.notify(&LifecycleObserver::event_notified, request.status, source, event->infos, from_host);
    // Local delivery does not wait for the host, nor for its leave.
    spread(std::move(event).value());
    if (lost) return reply.status(PMIX_ERR_NOT_SUPPORTED);
    if (!hand_up) return reply.status(PMIX_SUCCESS);
    if (!copied) {
        up = std::move(event->infos);
        const pmix_status_t rc = up.append_all(marks.c_array(), marks.size());
        if (rc != PMIX_SUCCESS) return reply.status(rc);
    }
    // A host that cannot carry it (that of Open MPI 4.1) has not kept it from those that are here.
    const bool delivered = invites && all_here;
    host_.notify_event(request.status, source, range, std::move(up),
                       [delivered, reply = std::move(reply)](HostAnswer& a) mutable {
                           reply.status(delivered ? PMIX_SUCCESS : common::plain(a.status));
                       });
}

void Events::raise(pmix_status_t code, const ProcId& source, pmix_data_range_t range, InfoList infos,
                   std::vector<std::string> jobs, const Told& told) {
    auto event = make(code, source, range, std::move(infos));
    if (!event) return;
    event->jobs = std::move(jobs);
    spread(std::move(event).value(), told);
}

void Events::announce(pmix_status_t code, const ProcId& source, pmix_data_range_t range, InfoList infos,
                      const Credentials& who) {
    // Before anybody is told: who has to repeat it repeats it for all.
    InfoList up;
    need(up.append_all(infos.c_array(), infos.size()));
    need(append_ids(up, who));
    auto event = make(code, source, range, std::move(infos));
    if (!event) return;
    const bool hand_up = goes_up(*event);
    event->of_client = true;
    if (!is_trusted(who.uid)) event->user = who.uid;
    need(handed_up_.mark(up, code, event->range, event->user));
    run_all([&] { spread(std::move(event).value()); },
            [&] {
                if (hand_up) host_.notify_event(code, source, range, std::move(up), [](HostAnswer&) {});
            });
}

}  // namespace pmix::server
