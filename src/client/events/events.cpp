// SPDX-License-Identifier: BSD-3-Clause
#include "client/events/events.h"

#include <algorithm>
#include <cassert>

#include "client/events/event_runs.h"
#include "client/events/event_spec.h"
#include "client/session/request.h"
#include "client/session/session.h"
#include "common/base/log.h"
#include "common/base/mutex.h"
#include "common/protocol/event_infos.h"
#include "common/protocol/group_calls.h"

namespace pmix::client {

using common::Command;
using common::InfoList;
using common::ProcId;

namespace {

// Events of the process itself that wait for handlers to come: a model declared by the first Init, a lost server.
constexpr size_t kOwnRing = 32;

constexpr size_t kNoReference = static_cast<size_t>(-1);

}  // namespace

struct Events::Registration {
    HandlerAttributes attributes;
    pmix_notification_fn_t function;
    std::vector<pmix_status_t> codes;
    InfoList infos;  // for the server
    int timeout_s = 0;
};

Events::Events(Session& session) : session_(session), home_(std::make_shared<Home>()), order_(session.self()) {
    common::MutexLock lock(home_->mutex);
    home_->events = this;
}

Events::~Events() {
    if (recovers_) session_.loop().set_recovery(this, {});
    {
        common::MutexLock lock(home_->mutex);
        home_->events = nullptr;
    }
    while (const std::unique_ptr<Ticket> nobodys = first_finished()) continue;
}

void Events::shut() noexcept {
    shut_ = true;
}

// ---- registration ----

common::Result<size_t> Events::add(Registration& r) {
    auto reference = order_.add(r.attributes.spec);
    if (!reference) return reference;
    Handler h;
    h.function = r.function;
    h.name = r.attributes.spec.name;
    h.object = r.attributes.return_object;
    h.has_object = r.attributes.has_return_object;
    h.oneshot = r.attributes.oneshot;
    h.success_ends = r.attributes.success_ends;
    try {
        handlers_.emplace(reference.value(), std::move(h));
    } catch (const std::bad_alloc&) {
        order_.remove(reference.value());
        return PMIX_ERR_NOMEM;
    }
    assert(handlers_.size() == order_.size());
    return reference;
}

bool Events::drop(size_t reference) {
    handlers_.erase(reference);
    const bool was_there = order_.remove(reference);
    assert(handlers_.size() == order_.size());
    return was_there;
}

void Events::activate(size_t reference) {
    auto it = handlers_.find(reference);
    if (it == handlers_.end()) return;
    it->second.active = true;
    // What waited for it, oldest first. A copy: a handler may raise events.
    try {
        const auto waiting = ring_;
        for (const auto& event : waiting) deliver_to(reference, event);
    } catch (const std::bad_alloc&) {
        WIREUP_LOG(client, warn, "handler %zu: no memory for events raised before its registration", reference);
    }
}

void Events::register_on_loop(Registration&& r, pmix_hdlr_reg_cbfunc_t callback, void* cbdata) {
    common::Result<size_t> added = PMIX_ERR_NOMEM;
    common::RegisterEventsRequest request;
    try {
        request.codes.assign(r.codes.begin(), r.codes.end());
        added = add(r);
    } catch (const std::bad_alloc&) {
        added = PMIX_ERR_NOMEM;
    }
    if (!added) {
        callback(added.status(), kNoReference, cbdata);
        return;
    }
    const size_t reference = added.value();
    const auto answer = [this, reference, callback, cbdata](pmix_status_t rc) {
        // Without a server the handler serves for what happens in the process.
        if (rc == PMIX_ERR_UNREACH || rc == PMIX_ERR_LOST_CONNECTION) rc = PMIX_SUCCESS;
        if (!common::succeeded(rc)) {
            refused(reference, rc);
            callback(rc, kNoReference, cbdata);
            return;
        }
        callback(PMIX_SUCCESS, reference, cbdata);
        activate(reference);
    };
    request.infos = common::Infos::borrow(r.infos.c_array(), r.infos.size());
    request.reference = reference;
    const pmix_status_t rc = session_.ask_nb<Command::register_events>(
        request, [answer](pmix_status_t status, common::Nothing&) { answer(status); }, r.timeout_s);
    if (rc != PMIX_SUCCESS) answer(rc);
}

pmix_status_t Events::register_handler(const pmix_status_t codes[], size_t ncodes, const pmix_info_t infos[],
                                       size_t ninfos, pmix_notification_fn_t handler, pmix_hdlr_reg_cbfunc_t callback,
                                       void* cbdata) {
    if (handler == nullptr || (codes == nullptr && ncodes != 0)) return PMIX_ERR_BAD_PARAM;
    pmix_status_t rc = check_directives(session_, infos, ninfos);
    if (rc != PMIX_SUCCESS) return rc;
    auto attributes = read_handler_attributes(codes, ncodes, {infos, ninfos});
    if (!attributes) return attributes.status();

    Registration r;
    WIREUP_RETURN_IF_ERROR(read_timeout(infos, ninfos, &r.timeout_s));
    r.codes = attributes->spec.codes;
    r.attributes = std::move(attributes).value();
    r.function = handler;
    for (const pmix_info_t& info : common::InfoView(infos, ninfos)) {
        // An address means nothing to another process.
        if (info.value.type == PMIX_POINTER) continue;
        rc = r.infos.append(info);
        if (rc != PMIX_SUCCESS) return rc;
    }

    if (callback != nullptr) {
        session_.loop().post(
            [this, r = std::move(r), callback, cbdata]() mutable { register_on_loop(std::move(r), callback, cbdata); });
        return PMIX_SUCCESS;
    }

    common::Result<size_t> added = PMIX_ERROR;
    session_.on_loop_and_wait([&] { added = add(r); });
    if (!added) return added.status();
    const size_t reference = added.value();
    common::RegisterEventsRequest request;
    request.codes.assign(r.codes.begin(), r.codes.end());
    request.infos = common::Infos::borrow(r.infos.c_array(), r.infos.size());
    request.reference = reference;
    // The answer is taken on the loop, in its place among the frames: what the server sends behind it, replayed events
    // first of all, finds the handler in service.
    if (session_.must_not_wait()) {
        // Inside an upcall or a handler: the server is told, not waited for.
        rc = session_.ask_nb<Command::register_events>(
            request, [this, reference](pmix_status_t status, common::Nothing&) { settle(reference, status); },
            r.timeout_s);
        if (rc != PMIX_SUCCESS) rc = settle(reference, rc);
        return rc == PMIX_SUCCESS ? static_cast<pmix_status_t>(reference) : rc;
    }
    pmix_status_t settled = PMIX_ERROR;
    transport::Waiter done;
    const auto finish = [&](pmix_status_t status) {
        const transport::CompleteAtEnd at_end(done);
        settled = settle(reference, status);
    };
    rc = session_.ask_nb<Command::register_events>(
        request, [&finish](pmix_status_t status, common::Nothing&) { finish(status); }, r.timeout_s);
    if (rc != PMIX_SUCCESS) session_.loop().post([&finish, rc] { finish(rc); });
    session_.loop().wait(done, transport::Deadline::never());
    return settled == PMIX_SUCCESS ? static_cast<pmix_status_t>(reference) : settled;
}

// The server's reply to a registration: the handler is called from here on, or is removed.
pmix_status_t Events::settle(size_t reference, pmix_status_t status) {
    // Without a server it serves for what happens in the process.
    const bool good = common::succeeded(status) || status == PMIX_ERR_UNREACH || status == PMIX_ERR_LOST_CONNECTION;
    if (good) {
        activate(reference);
    } else {
        refused(reference, status);
    }
    return good ? PMIX_SUCCESS : status;
}

// A server that has not answered in time may register it yet.
void Events::refused(size_t reference, pmix_status_t status) {
    drop(reference);
    if (status == PMIX_ERR_TIMEOUT) deregister_at_server(reference);
}

void Events::deregister_at_server(size_t reference) {
    common::DeregisterEventsRequest request;
    request.reference = reference;
    session_.ask_nb<Command::deregister_events>(request, [](pmix_status_t, common::Nothing&) {});
}

// Where there is no memory for it the server's events for the handler find none.
void Events::deregister_quietly(size_t reference) noexcept {
    try {
        deregister_on_loop(reference);
    } catch (const std::bad_alloc&) {
    }
}

pmix_status_t Events::deregister_on_loop(size_t reference) {
    if (!drop(reference)) return PMIX_ERR_BAD_PARAM;
    deregister_at_server(reference);
    return PMIX_SUCCESS;
}

pmix_status_t Events::deregister_handler(size_t reference, pmix_op_cbfunc_t callback, void* cbdata) {
    if (callback != nullptr) {
        session_.loop().post([this, reference, callback, cbdata] { callback(deregister_on_loop(reference), cbdata); });
        return PMIX_SUCCESS;
    }
    pmix_status_t rc = PMIX_ERROR;
    session_.on_loop_and_wait([&] { rc = deregister_on_loop(reference); });
    return rc;
}

// ---- chains ----

std::shared_ptr<const Events::Event> Events::make_event(pmix_status_t code, ProcId source, uint8_t nearness,
                                                        InfoList infos) const {
    auto event = std::make_shared<Event>();
    EventTraits& traits = event->traits;
    // What cannot be read counts as not said: the sender's mistake must not hide the event.
    auto attributes = common::read_event_attributes(common::InfoView(infos));
    if (attributes) {
        traits.non_default = attributes->non_default;
        traits.affected = std::move(attributes->affected);
        event->do_not_cache = attributes->do_not_cache;
    }
    traits.code = code;
    traits.of_environment = common::is_environment_event(code, source, traits.affected);
    traits.source_is_local = (nearness & common::EventNotify::kOnThisNode) != 0;
    traits.other_session = (nearness & common::EventNotify::kInAnotherSession) != 0;
    traits.source_is_rm = source.nspace.empty() || source.nspace == session_.server().nspace;
    event->source = source.to_c();
    traits.source = std::move(source);
    event->infos = std::move(infos);
    return event;
}

void Events::keep(std::shared_ptr<const Event> event) {
    if (event->do_not_cache) return;
    ring_.push_back(std::move(event));
    if (ring_.size() > kOwnRing) ring_.pop_front();
    assert(ring_.size() <= kOwnRing);
}

void Events::deliver(const std::shared_ptr<const Event>& event) {
    if (common::answers_acceptance(event->traits.code, event->infos)) return tell_groups(*event, {}, false);
    // An invitation stands from when it comes. Handlers decide nothing about it, and one that takes its time would put
    // it behind what becomes of it.
    const bool invites = event->traits.code == PMIX_GROUP_INVITED;
    if (invites) tell_groups(*event, {}, false);
    std::vector<size_t> chain = order_.chain(event->traits);
    // Each of a tool's servers has the event for the handlers that are registered with it.
    std::erase_if(chain, [&](size_t reference) {
        return !handlers_.at(reference).active || !session_.is_from_server_of(reference);
    });
    if (!chain.empty()) return start(event, std::move(chain));
    if (!invites) tell_groups(*event, {}, false);
}

void Events::deliver_to(size_t reference, const std::shared_ptr<const Event>& event) {
    if (common::answers_acceptance(event->traits.code, event->infos)) return;
    if (order_.wants(reference, event->traits)) start(event, {reference}, true);
}

// The library's own part in an event of a group comes after the handlers, whose results decide, where they see it.
void Events::tell_groups(const Event& event, const InfoList& results, bool replayed) {
    if (shut_ || observer_ == nullptr || !common::is_group_event(event.traits.code)) return;
    observer_->group_event(event.traits.code, event.traits.source, event.infos, results, replayed);
}

// ---- events come in ----

void Events::on_notify(common::EventNotify&& event) {
    session_.note_event(event.number, event.replay_for);
    auto made = make_event(event.status, std::move(event.source), event.nearness, event.infos.take());
    if (event.replay_for == 0) {
        deliver(made);
        return;
    }
    if (event.replay_for - 1 == EventObserver::kReference) return tell_groups(*made, {}, true);
    const size_t reference = static_cast<size_t>(event.replay_for - 1);
    auto handler = handlers_.find(reference);
    if (handler != handlers_.end() && handler->second.active) deliver_to(reference, made);
}

void Events::raise(pmix_status_t code, ProcId source, InfoList infos) {
    session_.loop().post([this, code, source = std::move(source), infos = std::move(infos)]() mutable {
        auto event = make_event(code, std::move(source), common::EventNotify::kOnThisNode, std::move(infos));
        deliver(event);
        keep(std::move(event));
    });
}

void Events::raise_lost_connection(const ProcId& server) {
    InfoList infos;
    const pmix_proc_t proc = server.to_c();
    infos.append(PMIX_EVENT_AFFECTED_PROC, &proc, PMIX_PROC);
    // For default handlers too, which of what the library raises itself hear this and a monitor's alarm: without its
    // server a process cannot go on.
    raise(PMIX_ERR_LOST_CONNECTION, server, std::move(infos));
}

void Events::raise_failed_comm() {
    InfoList infos;
    const pmix_proc_t self = session_.self().to_c();
    infos.append(PMIX_EVENT_AFFECTED_PROC, &self, PMIX_PROC);
    // Only for handlers that are registered for this code: a default handler may end the process.
    infos.append_flag(PMIX_EVENT_NON_DEFAULT, true);
    raise(PMIX_ERR_FAILED_COMM, session_.self(), std::move(infos));
}

pmix_status_t Events::notify(pmix_status_t code, const pmix_proc_t* source, pmix_data_range_t range,
                             const pmix_info_t infos[], size_t ninfos, pmix_op_cbfunc_t callback, void* cbdata) {
    pmix_status_t rc = check_infos(infos, ninfos);
    if (rc != PMIX_SUCCESS) return rc;
    if (range > PMIX_RANGE_PROC_LOCAL) return PMIX_ERR_BAD_PARAM;
    ProcId from = session_.self();
    if (source != nullptr) {
        const size_t length = common::bounded_length(source->nspace, sizeof source->nspace);
        if (length > common::kMaxNspaceLength) return PMIX_ERR_BAD_PARAM;
        from = ProcId(std::string_view(source->nspace, length), source->rank);
    }
    auto attributes = common::read_event_attributes({infos, ninfos});
    if (!attributes) return attributes.status();
    if (range == PMIX_RANGE_CUSTOM && attributes->custom_range.empty()) return PMIX_ERR_BAD_PARAM;
    if (!attributes->custom_range.empty()) range = PMIX_RANGE_CUSTOM;
    if (range == PMIX_RANGE_PROC_LOCAL) {
        auto copy = InfoList::from_c(infos, ninfos);
        if (!copy) return copy.status();
        raise(code, std::move(from), std::move(copy).value());
        if (callback != nullptr) session_.loop().post([callback, cbdata] { callback(PMIX_SUCCESS, cbdata); });
        return PMIX_SUCCESS;
    }

    // The server passes it to everyone in range, this process included: only there is it plain which registrations
    // come before an event and which after it.
    common::NotifyEventRequest request;
    request.status = code;
    request.source = std::move(from);
    request.range = range;
    request.infos = common::Infos::borrow(infos, ninfos);
    int timeout_s = 0;
    WIREUP_RETURN_IF_ERROR(read_timeout(infos, ninfos, &timeout_s));
    if (callback != nullptr || session_.must_not_wait()) {
        const auto done = [callback, cbdata](pmix_status_t s, common::Nothing&) {
            if (callback != nullptr) callback(common::plain(s), cbdata);
        };
        return session_.ask_nb<Command::notify_event>(request, done, timeout_s);
    }
    if (!session_.connected()) return PMIX_ERR_UNREACH;
    common::Nothing nothing;
    rc = session_.ask<Command::notify_event>(request, nothing, timeout_s);
    return common::plain(rc);
}

}  // namespace pmix::client
