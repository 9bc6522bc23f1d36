// SPDX-License-Identifier: BSD-3-Clause
// Events: the registrations that many handlers share, a process's own events, and those of others.
#include <algorithm>
#include <utility>

#include "client/openpmix/services.h"
#include "common/protocol/event_infos.h"

namespace pmix::client {

namespace theirs = pmix::openpmix;

using common::Bytes;
using common::FrameHeader;
using common::InfoList;
using common::ProcId;

namespace {

// Marks an event that a server sends; it means nothing to the process.
constexpr std::string_view kServerMark = "pmix.srvr.internal.notify";

// Events that are kept for handlers to come.
constexpr size_t kMostKept = 32;
constexpr size_t kMostKeptBytes = size_t{64} << 10;  // of a message

}  // namespace

// ---- registration ----

void OpenPmixServices::register_events(const FrameHeader& header, Bytes payload) {
    common::RegisterEventsRequest ours;
    if (const pmix_status_t rc = common::decode_message(payload, ours); rc != PMIX_SUCCESS)
        return exchange_.refuse(header, rc);
    std::vector<pmix_status_t> wanted(ours.codes.begin(), ours.codes.end());
    if (wanted.empty()) wanted.push_back(theirs::kDefaultHandlerCode);
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    for (const pmix_status_t code : wanted) ++codes_[code].handlers;
    registrations_[ours.reference] = Registration{header, std::move(wanted), true};
    advance(ours.reference);
}

// Asks for the codes that nobody has asked for, and answers when all are registered: until then others may have asked
// for some of them.
void OpenPmixServices::advance(uint64_t reference) {
    const auto it = registrations_.find(reference);
    if (it == registrations_.end() || !it->second.waits) return;
    theirs::RegisterEventsRequest request;
    std::vector<pmix_status_t> asked;
    bool all = true;
    for (const pmix_status_t code : it->second.codes) {
        const Code& state = codes_.at(code);
        all = all && state.registered;
        if (state.registered || state.request != 0) continue;
        asked.push_back(code);
        if (code != theirs::kDefaultHandlerCode) request.codes.codes.push_back(code);
    }
    if (all) {
        it->second.waits = false;
        if (reference == kWatch) return watching(PMIX_SUCCESS);
        if (reference == kWatchLeft) return;
        exchange_.reply(it->second.header, PMIX_SUCCESS, common::Nothing{});
        return replay_kept(reference);
    }
    if (asked.empty()) return;
    const uint64_t number = ++registration_requests_;
    for (const pmix_status_t code : asked) codes_.at(code).request = number;
    const pmix_status_t rc = exchange_.ask(request, [this, reference, number](Bytes answer) {
        theirs::StatusReply got;
        registered(reference, number, exchange_.status_of(answer, &got));
    });
    if (rc != PMIX_SUCCESS) registered(reference, number, rc);
}

// A refusal is for the registration that asked. Others that need some of its codes ask for these themselves.
void OpenPmixServices::registered(uint64_t reference, uint64_t request, pmix_status_t status) {
    const bool good = common::succeeded(status);
    for (auto& [code, state] : codes_) {
        if (state.request != request) continue;
        state.request = 0;
        state.registered = good;
    }
    const auto it = registrations_.find(reference);
    if (!good && it != registrations_.end() && it->second.waits) {
        const FrameHeader header = it->second.header;
        forget_registration(reference);
        if (reference == kWatch) {
            watching(status);
        } else if (reference != kWatchLeft) {
            exchange_.refuse(header, status);
        }
    }
    std::vector<uint64_t> waiting;
    for (const auto& [other, registration] : registrations_)
        if (registration.waits) waiting.push_back(other);
    for (const uint64_t other : waiting) advance(other);
}

// The server is told of the codes that no handler is left for. One that it is still asked for is taken back behind.
void OpenPmixServices::forget_registration(uint64_t reference) {
    const auto it = registrations_.find(reference);
    if (it == registrations_.end()) return;
    theirs::DeregisterEventsRequest request;
    for (const pmix_status_t code : it->second.codes) {
        const auto state = codes_.find(code);
        if (state == codes_.end() || --state->second.handlers != 0) continue;
        if (state->second.registered || state->second.request != 0) request.codes.calls.push_back({code});
        codes_.erase(state);
    }
    registrations_.erase(it);
    if (!request.codes.calls.empty()) (void)exchange_.tell(request);
}

void OpenPmixServices::deregister_events(const FrameHeader& header, Bytes payload) {
    common::DeregisterEventsRequest ours;
    if (const pmix_status_t rc = common::decode_message(payload, ours); rc != PMIX_SUCCESS)
        return exchange_.refuse(header, rc);
    const auto it = registrations_.find(ours.reference);
    const bool waits = it != registrations_.end() && it->second.waits;
    const FrameHeader registration = waits ? it->second.header : FrameHeader{};
    forget_registration(ours.reference);
    // Its caller has not waited for the end of the registration, which is answered all the same.
    if (waits) exchange_.reply(registration, PMIX_SUCCESS, common::Nothing{});
    exchange_.reply(header, PMIX_SUCCESS, common::Nothing{});
}

// ---- events of this process ----

// A server passes an event to everyone in range but to the process that raised it. What that one hears is decided here,
// also for handlers that are registered later.
void OpenPmixServices::notify_event(const FrameHeader& header, Bytes payload) {
    common::NotifyEventRequest ours;
    if (const pmix_status_t rc = common::decode_message(payload, ours); rc != PMIX_SUCCESS)
        return exchange_.refuse(header, rc);
    theirs::NotifyRequest request;
    request.code.value = ours.status;
    request.range.value = ours.range;
    request.infos.infos = common::Infos::borrow(ours.infos.data(), ours.infos.size());
    if (ours.range == PMIX_RANGE_RM) {
        // For the manager and for nobody here. prterun 5.0.7 never answers it, and their own clients do not wait.
        const pmix_status_t rc = exchange_.tell(request);
        return rc == PMIX_SUCCESS ? exchange_.reply(header, rc, common::Nothing{}) : exchange_.refuse(header, rc);
    }
    const pmix_status_t rc = exchange_.ask_for_status(header, request);
    if (rc != PMIX_SUCCESS) return exchange_.refuse(header, rc);
    auto attributes = common::read_event_attributes(common::InfoView(ours.infos.data(), ours.infos.size()));
    if (ours.range == PMIX_RANGE_CUSTOM && (!attributes || !attributes->custom_range.covers(self_))) return;
    common::EventNotify event;
    event.status = ours.status;
    event.source = std::move(ours.source);
    event.range = ours.range;
    event.infos = std::move(ours.infos);
    event.sequence = ++events_;
    if (event.source == self_ || is_here(event.source)) event.nearness = common::EventNotify::kOnThisNode;
    exchange_.notify(common::Command::event, event);
    if (!attributes || !attributes->do_not_cache) keep(std::move(event));
}

void OpenPmixServices::keep(common::EventNotify&& event) {
    kept_events_.push_back(std::move(event));
    if (kept_events_.size() > kMostKept) kept_events_.pop_front();
}

void OpenPmixServices::replay_kept(uint64_t reference) {
    for (common::EventNotify& event : kept_events_) {
        event.sequence = ++events_;
        event.replay_for = reference + 1;
        exchange_.notify(common::Command::event, event);
    }
}

// The same status is enough: events that a server itself sends under a process's name are none that processes raise.
bool OpenPmixServices::is_kept(const theirs::EventMessage& event) const noexcept {
    return event.source.id == self_ &&
           std::any_of(kept_events_.begin(), kept_events_.end(),
                       [&](const common::EventNotify& own) { return own.status == event.code.value; });
}

// ---- events of others ----

bool OpenPmixServices::is_here(const ProcId& proc) const noexcept {
    const dstore::Reader* own = shadow_.reader(self_.nspace);
    const dstore::Reader* theirs_ = shadow_.reader(proc.nspace);
    if (own == nullptr || theirs_ == nullptr) return false;
    const auto here = own->node_of(self_.rank);
    const auto there = theirs_->node_of(proc.rank);
    return here && there && own->node_name(*here) == theirs_->node_name(*there);
}

void OpenPmixServices::event(Bytes payload) {
    theirs::EventMessage got;
    if (exchange_.decode(payload, &got) != PMIX_SUCCESS) return;
    note_group_event(got);
    if (is_kept(got) || waits_for_group(got, payload)) return;
    deliver(got, payload.size());
}

// Handlers that are told of the end of a construct may name the group at once.
bool OpenPmixServices::waits_for_group(const theirs::EventMessage& event, Bytes payload) {
    if (event.code.value != PMIX_GROUP_CONSTRUCT_COMPLETE || waiting_events_.size() >= kMostWaiting) return false;
    std::string_view name;
    const common::InfoView infos(event.infos.infos.data(), event.infos.infos.size());
    if (infos.get(PMIX_GROUP_ID, &name) != PMIX_SUCCESS) return false;
    const auto group = groups_.find(name);
    if (group == groups_.end() || group->second.constructed) return false;
    waiting_events_.emplace(name, common::Blob(payload.begin(), payload.end()));
    return true;
}

void OpenPmixServices::send_waiting(const std::string& name) {
    while (auto event = waiting_events_.extract(name)) {
        theirs::EventMessage got;
        if (exchange_.decode(event.mapped(), &got) == PMIX_SUCCESS) deliver(got, event.mapped().size());
    }
}

void OpenPmixServices::deliver(const theirs::EventMessage& got, size_t bytes) {
    InfoList infos;
    for (const pmix_info_t& info : got.infos.infos) {
        if (common::key_view(info) == kServerMark) continue;
        if (infos.append(info) == PMIX_ERR_NOMEM) throw std::bad_alloc();
    }
    common::EventNotify event;
    event.status = got.code.value;
    event.source = got.source.id;
    event.range = got.range ? got.range->value : PMIX_RANGE_UNDEF;
    event.infos = std::move(infos);
    event.sequence = ++events_;
    if (is_here(event.source)) event.nearness = common::EventNotify::kOnThisNode;
    exchange_.notify(common::Command::event, event);
    // A server sends some events unasked, as PMIX_PROCESS_SET_DEFINE at once to a new client, and keeps none of them.
    auto attributes = common::read_event_attributes(common::InfoView(event.infos.data(), event.infos.size()));
    const bool keeps = !attributes || !attributes->do_not_cache;
    const bool heard = has_handler(event.status, attributes && attributes->non_default);
    if (keeps && !heard && event.source != self_ && bytes <= kMostKeptBytes) keep(std::move(event));
}

// A registration that is on its way does not count: its handler is not called yet.
bool OpenPmixServices::has_handler(pmix_status_t code, bool non_default) const noexcept {
    return std::any_of(registrations_.begin(), registrations_.end(), [&](const auto& entry) {
        const auto& [reference, registration] = entry;
        if (registration.waits || reference == kWatch || reference == kWatchLeft) return false;
        return std::any_of(registration.codes.begin(), registration.codes.end(), [&](pmix_status_t wanted) {
            return wanted == code || (wanted == theirs::kDefaultHandlerCode && !non_default);
        });
    });
}

}  // namespace pmix::client
