// Events: see events.h.
#include "server/events.h"

#include <algorithm>

#include "common/info_view.h"

namespace pmix::server {

using common::InfoList;
using common::InfoView;
using common::ProcId;

namespace {

// Codes that only the environment can raise: system events, and what is outside PMIx's own numbers.
bool is_hosts_code(pmix_status_t code) {
    return (code <= PMIX_EVENT_SYS_BASE && code >= PMIX_EVENT_SYS_OTHER) || code > 0 || code <= PMIX_EXTERNAL_ERR_BASE;
}

bool goes_up(pmix_data_range_t range) { return range != PMIX_RANGE_LOCAL && range != PMIX_RANGE_PROC_LOCAL; }

void read_procs(const pmix_info_t& info, std::vector<ProcId>& out) {
    const pmix_value_t& value = info.value;
    if (value.type == PMIX_PROC && value.data.proc != nullptr) {
        out.emplace_back(*value.data.proc);
    } else if (value.type == PMIX_DATA_ARRAY && value.data.darray != nullptr &&
               value.data.darray->type == PMIX_PROC && value.data.darray->array != nullptr) {
        const auto* procs = static_cast<const pmix_proc_t*>(value.data.darray->array);
        for (size_t i = 0; i < value.data.darray->size; ++i) out.emplace_back(procs[i]);
    }
}

bool names(const ProcId& pattern, const ProcId& proc) {
    return pattern.nspace == proc.nspace && (pattern.rank == PMIX_RANK_WILDCARD || pattern.rank == proc.rank);
}

}  // namespace

Events::Event Events::make(pmix_status_t code, const ProcId& source, pmix_data_range_t range, InfoList infos) {
    Event event;
    event.code = code;
    event.source = source;
    event.range = range;
    InfoView view(infos);
    event.non_default = view.flag(PMIX_EVENT_NON_DEFAULT);
    event.cache = !view.flag(PMIX_EVENT_DO_NOT_CACHE);
    if (const pmix_info_t* custom = view.find(PMIX_EVENT_CUSTOM_RANGE)) {
        read_procs(*custom, event.targets);
        event.range = PMIX_RANGE_CUSTOM;
    }
    event.infos = std::move(infos);
    return event;
}

bool Events::reaches(const Event& event, const Peer& peer) const {
    const ProcId& id = peer.id();
    if (event.range == PMIX_RANGE_PROC_LOCAL) return id == event.source;
    if (event.range == PMIX_RANGE_CUSTOM)
        return std::any_of(event.targets.begin(), event.targets.end(), [&](const ProcId& t) { return names(t, id); });
    // The host's own handlers are told of all that goes on.
    if (peer.kind() == PeerKind::self) return true;
    switch (event.range) {
        case PMIX_RANGE_RM:
            return false;
        case PMIX_RANGE_NAMESPACE:
            // From a host, the source may be a daemon; then the processes it is about say whose event it is.
            if (id.nspace == event.source.nspace) return true;
            for (const pmix_info_t& info : InfoView(event.infos)) {
                std::string_view key = common::key_view(info);
                if (key != PMIX_EVENT_AFFECTED_PROC && key != PMIX_EVENT_AFFECTED_PROCS) continue;
                std::vector<ProcId> affected;
                read_procs(info, affected);
                for (const ProcId& p : affected)
                    if (p.nspace == id.nspace) return true;
            }
            return false;
        default:
            return true;
    }
}

bool Events::wants(const Handler& handler, const Event& event) {
    if (handler.codes.empty()) return !event.non_default;
    return std::binary_search(handler.codes.begin(), handler.codes.end(), event.code);
}

void Events::send(Listener& listener, const Event& event, uint64_t replay_for) {
    auto peer = listener.peer.lock();
    if (peer == nullptr || peer->gone()) return;
    common::EventNotify message;
    message.status = event.code;
    message.source = event.source;
    message.range = event.range;
    message.infos = common::Infos::borrow(event.infos.c_array(), event.infos.size());
    message.sequence = ++listener.sequence;
    message.replay_for = replay_for;
    common::ByteWriter w;
    if (common::encode_message(w, message) != PMIX_SUCCESS) return;
    common::FrameHeader header = common::FrameHeader::notify(static_cast<uint16_t>(common::Command::event));
    header.payload = static_cast<uint32_t>(w.size());
    peer->send(header, w.view(), {});
}

void Events::spread(Event&& event, const Peer* except) {
    for (auto& [serial, listener] : listeners_) {
        auto peer = listener.peer.lock();
        if (peer == nullptr || peer.get() == except || !reaches(event, *peer)) continue;
        bool wanted = std::any_of(listener.handlers.begin(), listener.handlers.end(),
                                  [&](const Handler& h) { return wants(h, event); });
        if (wanted) send(listener, event, 0);
    }
    if (!event.cache || ring_size_ == 0) return;
    if (ring_.size() >= ring_size_) ring_.pop_front();
    ring_.push_back(std::move(event));
}

void Events::peer_here(const std::shared_ptr<Peer>& peer) { listeners_[peer->serial()].peer = peer; }

void Events::peer_gone(const Peer& peer) {
    auto it = listeners_.find(peer.serial());
    if (it == listeners_.end()) return;
    Listener listener = std::move(it->second);
    listeners_.erase(it);
    for (const Handler& h : listener.handlers) count_down(h.codes);
}

std::vector<pmix_status_t> Events::count_up(const std::vector<pmix_status_t>& codes) {
    std::vector<pmix_status_t> fresh;
    for (pmix_status_t code : codes)
        if (is_hosts_code(code) && users_[code]++ == 0) fresh.push_back(code);
    return fresh;
}

void Events::count_down(const std::vector<pmix_status_t>& codes) {
    std::vector<pmix_status_t> unused;
    for (pmix_status_t code : codes) {
        auto it = users_.find(code);
        if (it == users_.end() || --it->second != 0) continue;
        users_.erase(it);
        unused.push_back(code);
    }
    if (!unused.empty()) host_.deregister_events(std::move(unused), [](HostAnswer&) {});
}

void Events::register_handler(Peer& peer, common::RegisterEventsRequest& request, Reply reply) {
    auto it = listeners_.find(peer.serial());
    if (it == listeners_.end()) return reply.status(PMIX_ERR_EVENT_REGISTRATION);
    Handler handler{request.reference, {request.codes.begin(), request.codes.end()}};
    std::sort(handler.codes.begin(), handler.codes.end());
    handler.codes.erase(std::unique(handler.codes.begin(), handler.codes.end()), handler.codes.end());
    std::vector<pmix_status_t> fresh = count_up(handler.codes);

    auto finish = [this, serial = peer.serial(), handler](Reply r, pmix_status_t status) {
        auto at = listeners_.find(serial);
        if (at == listeners_.end()) return;  // its codes were counted down with it, or never up
        if (!common::succeeded(status)) {
            std::erase_if(at->second.handlers, [&](const Handler& h) { return h.reference == handler.reference; });
            count_down(handler.codes);
            return r.status(status);
        }
        auto asker = at->second.peer.lock();
        r.status(PMIX_SUCCESS);
        for (const Event& event : ring_)
            if (asker != nullptr && wants(handler, event) && reaches(event, *asker))
                send(at->second, event, handler.reference + 1);
    };
    if (fresh.empty()) {
        it->second.handlers.push_back(handler);
        return finish(std::move(reply), PMIX_SUCCESS);
    }
    InfoList infos = request.infos.take();
    pmix_status_t rc = append_ids(infos, peer.credentials());
    if (rc != PMIX_SUCCESS) {
        count_down(handler.codes);
        return reply.status(rc);
    }
    host_.register_events(std::move(fresh), std::move(infos),
                          [this, serial = peer.serial(), handler, finish, reply = std::move(reply)](HostAnswer& a) mutable {
                              auto at = listeners_.find(serial);
                              if (at == listeners_.end()) return count_down(handler.codes);
                              at->second.handlers.push_back(handler);
                              pmix_status_t status = a.status;
                              // A host that has no such events still lets local ones through.
                              if (status == PMIX_ERR_NOT_SUPPORTED) status = PMIX_SUCCESS;
                              finish(std::move(reply), status);
                          });
}

void Events::deregister_handler(Peer& peer, common::DeregisterEventsRequest& request, Reply reply) {
    auto it = listeners_.find(peer.serial());
    if (it == listeners_.end()) return reply.status(PMIX_ERR_NOT_FOUND);
    auto& handlers = it->second.handlers;
    auto at = std::find_if(handlers.begin(), handlers.end(),
                           [&](const Handler& h) { return h.reference == request.reference; });
    if (at == handlers.end()) return reply.status(PMIX_ERR_NOT_FOUND);
    std::vector<pmix_status_t> codes = std::move(at->codes);
    handlers.erase(at);
    reply.status(PMIX_SUCCESS);
    count_down(codes);
}

void Events::notify(Peer& peer, common::NotifyEventRequest& request, Reply reply) {
    ProcId source = request.source.nspace.empty() && peer.kind() != PeerKind::self ? peer.id() : request.source;
    auto range = static_cast<pmix_data_range_t>(request.range);
    InfoList up = InfoList();
    InfoList infos = request.infos.take();
    bool hand_up = peer.kind() != PeerKind::self && goes_up(range);
    if (hand_up) {
        pmix_status_t rc = up.append_all(infos.c_array(), infos.size());
        if (rc != PMIX_SUCCESS) return reply.status(rc);
    }
    // Local delivery does not wait for the host, nor for its leave.
    spread(make(request.status, source, range, std::move(infos)), &peer);
    if (!hand_up) return reply.status(PMIX_SUCCESS);
    host_.notify_event(request.status, source, range, std::move(up), [reply = std::move(reply)](HostAnswer& a) mutable {
        reply.status(common::succeeded(a.status) ? PMIX_SUCCESS : a.status);
    });
}

void Events::raise(pmix_status_t code, const ProcId& source, pmix_data_range_t range, InfoList infos) {
    spread(make(code, source, range, std::move(infos)), nullptr);
}

}  // namespace pmix::server
