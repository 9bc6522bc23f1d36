// SPDX-License-Identifier: BSD-3-Clause
#include "client/session/session.h"

#include <algorithm>
#include <cassert>
#include <optional>

#include "common/base/log.h"

namespace pmix::client {

using common::FrameHeader;
using common::FrameKind;
using common::MutexLock;
using transport::Deadline;

namespace {

// A server that was told a limit answers at it. One that does not (stopped, overloaded) is given this much more.
constexpr int64_t kReplyMarginMs = 500;
// How long a process waits for the answers to finalize before it ends without them.
constexpr int kFinalizeTimeoutS = 10;

// Between two looks whether the last reader of a removed segment has left.
constexpr int64_t kFirstReclaimMs = 5;
constexpr int64_t kLastReclaimMs = 1000;

Deadline deadline_for(int timeout_s) noexcept {
    return timeout_s <= 0 ? Deadline::never() : Deadline::in_ms(int64_t{timeout_s} * 1000 + kReplyMarginMs);
}

}  // namespace

Session::Session(transport::EventLoop& loop, common::ProcId self, common::ProcId server)
    : loop_(loop),
      self_(std::move(self)),
      server_(nullptr),
      namespaces_(self_.nspace),
      own_nspace_(mine_.intern(self_.nspace)) {
    servers_.push_back(std::make_unique<const common::ProcId>(std::move(server)));
    server_.store(servers_.back().get(), std::memory_order_release);
}

Session::~Session() = default;

void Session::Blocked::complete(Answer&& answer) noexcept {
    status = answer.status;
    try {
        payload.assign(answer.payload.begin(), answer.payload.end());
    } catch (const std::bad_alloc&) {
        status = PMIX_ERR_NOMEM;
    }
    descriptors = std::move(answer.descriptors);
    waiter.complete();
}

bool Session::still_connected() noexcept {
    if (channel_ == nullptr) return false;
    const int64_t now = transport::monotonic_ms();
    if (now - looked_at_ms_.load(std::memory_order_relaxed) >= kLookMs) {
        looked_at_ms_.store(now, std::memory_order_relaxed);
        channel_->look();
    }
    return channel_->connected();
}

void Session::read_refusals() noexcept {
    std::optional<uint32_t> count;
    {
        Reading reading;
        const dstore::Reader* own = own_reader();
        // Where a new segment is under way, it has the count.
        if (own != nullptr && !own->is_superseded()) count = own->refusals();
    }
    if (count == refusals_read_.load(std::memory_order_relaxed)) return;
    if (read_pending() && count) refusals_read_.store(*count, std::memory_order_relaxed);
}

pmix_status_t Session::add_segments(const common::SegmentList& segments,
                                    std::vector<transport::Descriptor>&& descriptors) {
    if (segments.empty() || refuses_segments()) return PMIX_SUCCESS;
    const pmix_status_t rc = namespaces_.add_all(segments, std::move(descriptors));
    if (namespaces_.has_removed()) defer_reclaim();
    return rc;
}

pmix_status_t Session::attach_here(std::string_view nspace, TimeLimit limit) {
    if (channel_ == nullptr) return PMIX_ERR_UNREACH;
    auto grant = channel_->attach(nspace, deadline_for(limit.left_s()));
    if (!grant) return grant.status();
    const pmix_status_t rc = namespaces_.add(nspace, grant->instance, std::move(grant->descriptor));
    if (namespaces_.has_removed()) defer_reclaim();
    return rc;
}

void Session::defer_reclaim() {
    // Hardly ever does a reader stand in the old segment, and no thread is started for it.
    if (!loop_.is_turned() && namespaces_.reclaim([this] { return borrowed_.ranges(); })) return;
    if (reclaiming_.exchange(true)) return;
    try {
        loop_.post_anyway([this] { reclaim(kFirstReclaimMs); });
    } catch (...) {
        reclaiming_.store(false);
        throw;
    }
}

void Session::reclaim(int64_t next_try_ms) {
    transport::assert_on_loop();
    assert(reclaiming_.load(std::memory_order_relaxed));  // one at a time
    if (!namespaces_.reclaim([this] { return borrowed_.ranges(); })) {
        loop_.after(next_try_ms, [this, ms = std::min(2 * next_try_ms, kLastReclaimMs)] { reclaim(ms); });
        return;
    }
    reclaiming_.store(false);
    // Something may have been removed since the look.
    if (namespaces_.has_removed()) defer_reclaim();
}

pmix_status_t Session::attach(std::string_view nspace, TimeLimit limit) {
    if (reader(nspace) != nullptr || attach_here(nspace, limit) == PMIX_SUCCESS) return PMIX_SUCCESS;
    return renew(nspace, limit);
}

pmix_status_t Session::renew(std::string_view nspace, TimeLimit limit) {
    common::AttachNspaceRequest request;
    request.nspace = nspace;
    for (int tries = kAttachTries;; --tries) {
        common::AttachNspaceReply reply;
        const pmix_status_t rc = ask<common::Command::attach_nspace>(request, reply, limit.left_s());
        if (attach_again(nspace, rc, reply) && tries > 1 && !limit.over()) continue;
        if (rc == PMIX_ERR_NOT_FOUND) forget_ended(nspace);
        return rc == PMIX_SUCCESS && namespaces_.lacks(nspace) ? PMIX_ERR_OUT_OF_RESOURCE : rc;
    }
}

void Session::forget_ended(std::string_view nspace) noexcept {
    try {
        namespaces_.remove_superseded(nspace);
        if (namespaces_.has_removed()) defer_reclaim();
    } catch (const std::bad_alloc&) {
    }
}

bool Session::attach_again(std::string_view nspace, pmix_status_t rc,
                           const common::AttachNspaceReply& reply) const noexcept {
    return rc == PMIX_SUCCESS && namespaces_.lacks(nspace) &&
           std::any_of(reply.segments.begin(), reply.segments.end(),
                       [&](const common::SegmentRef& s) { return s.nspace == nspace && !s.has_descriptor; });
}

pmix_status_t Session::send(FrameHeader header, common::Bytes payload) {
    if (channel_ == nullptr) return PMIX_ERR_UNREACH;
    header.payload = static_cast<uint32_t>(payload.size());
    return channel_->send(header, payload);
}

pmix_status_t Session::tell(common::Command command, std::span<const common::Bytes> parts) {
    size_t size = 0;
    for (const common::Bytes& part : parts) size += part.size();
    if (size > common::kMaxFramePayload) return PMIX_ERR_OUT_OF_RESOURCE;
    if (channel_ == nullptr) return PMIX_ERR_UNREACH;
    FrameHeader header = FrameHeader::notify(static_cast<uint16_t>(command));
    header.payload = static_cast<uint32_t>(size);
    return channel_->send_parts(header, parts);
}

pmix_status_t Session::ask_bytes(uint16_t command, common::Bytes payload, int timeout_s, Blocked& blocked) {
    if (channel_ == nullptr) return PMIX_ERR_UNREACH;
    if (payload.size() > common::kMaxFramePayload) return PMIX_ERR_OUT_OF_RESOURCE;
    if (must_not_wait()) return PMIX_ERR_WOULD_BLOCK;
    auto id = calls_.add(CallPtr(&blocked));
    if (!id) return id.status();
    FrameHeader header = FrameHeader::request(command, id.value());
    header.payload = static_cast<uint32_t>(payload.size());
    pmix_status_t rc = PMIX_ERR_NOMEM;
    try {
        rc = channel_->send_and_wait(header, payload, blocked.waiter, deadline_for(timeout_s));
    } catch (const std::bad_alloc&) {  // nothing was sent: the call is taken back
    }
    if (rc != PMIX_SUCCESS) {
        if (calls_.take(id.value()) != nullptr) return rc == PMIX_ERR_LOST_CONNECTION ? PMIX_ERR_UNREACH : rc;
        // The answer is being delivered at this moment.
        loop_.wait(blocked.waiter, Deadline::never());
    }
    return blocked.status;
}

pmix_status_t Session::ask_bytes_nb(uint16_t command, common::Bytes payload, int timeout_s, CallPtr call) {
    if (channel_ == nullptr) return PMIX_ERR_UNREACH;
    if (payload.size() > common::kMaxFramePayload) return PMIX_ERR_OUT_OF_RESOURCE;
    // The answer is read there.
    WIREUP_RETURN_IF_ERROR(loop_.need_thread());
    auto id = calls_.add(std::move(call));
    if (!id) return id.status();
    if (timeout_s > 0) {
        const int64_t ms = int64_t{timeout_s} * 1000 + kReplyMarginMs;
        const auto set_timer = [this, ms, n = id.value()] {
            transport::assert_on_loop();
            if (!calls_.waits(n)) return;
            const transport::TimerId timer = loop_.after(ms, [this, n] {
                CallPtr late = calls_.take(n);
                if (late == nullptr) return;
                late->timer = 0;
                Answer answer;
                answer.status = PMIX_ERR_TIMEOUT;
                complete_call(std::move(late), std::move(answer));
                transport::assert_on_loop();
                send_next(n);
            });
            calls_.set_timer(n, timer);
        };
        try {
            loop_.post(set_timer);
        } catch (const std::bad_alloc&) {
            return calls_.take(id.value()) != nullptr ? PMIX_ERR_NOMEM : PMIX_SUCCESS;
        }
    }
    if (command == static_cast<uint16_t>(common::Command::get)) {
        try {
            if (!window_.enter(id.value(), payload)) return PMIX_SUCCESS;
        } catch (const std::bad_alloc&) {
            return calls_.take(id.value()) != nullptr ? PMIX_ERR_NOMEM : PMIX_SUCCESS;
        }
    }
    pmix_status_t sent = PMIX_ERR_NOMEM;
    try {
        sent = send(FrameHeader::request(command, id.value()), payload);
    } catch (const std::bad_alloc&) {  // nothing was sent: the call is taken back
    }
    // If it is not there any more, it has been called (the connection broke in between), and so it was accepted.
    if (sent != PMIX_SUCCESS && calls_.take(id.value()) != nullptr) {
        loop_.post([this, n = id.value()] {
            transport::assert_on_loop();
            send_next(n);
        });
        return sent == PMIX_ERR_LOST_CONNECTION ? PMIX_ERR_UNREACH : sent;
    }
    return PMIX_SUCCESS;
}

void Session::ask_to_finalize(std::span<const pmix_info_t> infos) {
    common::FinalizeRequest request;
    request.infos = common::Infos::borrow(infos.data(), infos.size());
    common::Nothing nothing;
    ask<common::Command::finalize>(request, nothing, kFinalizeTimeoutS);
}

void Session::ask_to_finalize(std::span<const pmix_info_t> infos, std::span<const FinalizeWay> ways) {
    struct Asked {
        Blocked blocked;
        uint32_t id = 0;  // 0: not asked
        pmix_status_t sent = PMIX_ERR_NOMEM;
    };
    if (ways.empty() || must_not_wait()) return;
    common::FinalizeRequest request;
    request.infos = common::Infos::borrow(infos.data(), infos.size());
    auto payload = written(request);
    if (!payload || payload->size() > common::kMaxFramePayload) return;
    const Deadline deadline = deadline_for(kFinalizeTimeoutS);
    std::vector<Asked> all(ways.size());
    // From here on nothing may leave before each has been answered or taken back.
    for (size_t i = 0; i < all.size(); ++i) {
        Asked& a = all[i];
        auto id = calls_.add(CallPtr(&a.blocked));
        if (!id) continue;
        a.id = id.value();
        FrameHeader header = FrameHeader::request(static_cast<uint16_t>(common::Command::finalize), a.id);
        header.payload = static_cast<uint32_t>(payload->size());
        const bool last = i + 1 == all.size();  // this thread waits with it, and needs no other one for that
        try {
            a.sent = ways[i](header, payload.value(), last ? &a.blocked.waiter : nullptr, deadline);
        } catch (const std::bad_alloc&) {
        }
    }
    for (Asked& a : all) {
        if (a.id == 0 || (a.sent == PMIX_SUCCESS && loop_.wait(a.blocked.waiter, deadline))) continue;
        // Otherwise the answer is being delivered at this moment.
        if (calls_.take(a.id) == nullptr) loop_.wait(a.blocked.waiter, Deadline::never());
    }
}

void Session::send_next(uint32_t ended) noexcept {
    for (;;) {
        std::optional<RequestWindow::Waiting> next;
        pmix_status_t rc = PMIX_ERR_NOMEM;
        try {
            next = window_.ended(ended);
            if (!next) return;
            ended = next->id;
            if (!calls_.waits(ended)) continue;  // its time was over before it was sent
            rc = send(FrameHeader::request(static_cast<uint16_t>(common::Command::get), ended), next->payload);
        } catch (const std::bad_alloc&) {
            if (!next) return;
        }
        if (rc == PMIX_SUCCESS) return;
        CallPtr unsent = calls_.take(ended);
        if (unsent == nullptr) continue;
        if (unsent->timer != 0) loop_.cancel(unsent->timer);
        Answer answer;
        answer.status = rc;
        complete_call(std::move(unsent), std::move(answer));
    }
}

void Session::complete(CallPtr call, transport::ReceivedFrame& frame) noexcept {
    Answer answer;
    answer.status = frame.header.status;
    answer.payload = frame.payload;
    answer.descriptors = std::move(frame.descriptors);
    complete_call(std::move(call), std::move(answer));
}

bool Session::take_anywhere(transport::ReceivedFrame& frame) noexcept {
    // At once, and not when the loop comes to it: what is answered next may be in the new segment only.
    if (frame.header.kind == FrameKind::notify &&
        frame.header.command == static_cast<uint16_t>(common::Command::attach_nspace)) {
        take_new_segments(frame);
        return true;
    }
    // At once, so that no answer to a later request overtakes it.
    if (frame.header.kind == FrameKind::notify &&
        frame.header.command == static_cast<uint16_t>(common::Command::commit_refused)) {
        common::CommitRefusedNotify refused;
        if (common::decode_message(frame.payload, refused) == PMIX_SUCCESS) {
            refusals_.note(refused.generation, refused.status);
        }
        return true;
    }
    if (frame.header.kind == FrameKind::notify &&
        frame.header.command == static_cast<uint16_t>(common::Command::segment_gone)) {
        take_gone_segment(frame);
        return true;
    }
    if (frame.header.kind != FrameKind::reply) return false;
    CallPtr call = calls_.take_anywhere(frame.header.id);
    // Its caller has given up, and no thread need be started to find that out.
    if (call == nullptr) return !loop_.is_turned() && !calls_.waits(frame.header.id);
    complete(std::move(call), frame);
    return true;
}

void Session::take_gone_segment(const transport::ReceivedFrame& frame) noexcept {
    try {
        common::SegmentGoneNotify gone;
        if (common::decode_message(frame.payload, gone) != PMIX_SUCCESS) return;
        namespaces_.remove(gone.nspace, gone.instance);
        if (namespaces_.has_removed()) defer_reclaim();
    } catch (const std::bad_alloc&) {  // what stays is marked as superseded: a Get asks
    }
}

// The server has begun new segments. Where one cannot be mapped the old one goes all the same: nothing is better than
// what is no longer true.
void Session::take_new_segments(transport::ReceivedFrame& frame) noexcept {
    try {
        common::AttachNspaceReply fresh;
        if (common::decode_message(frame.payload, fresh) != PMIX_SUCCESS) return;
        if (add_segments(fresh.segments, std::move(frame.descriptors)) == PMIX_SUCCESS) return;
        for (const common::SegmentRef& segment : fresh.segments) namespaces_.lose(segment.nspace, segment.instance);
    } catch (const std::bad_alloc&) {
        note_failed_comm();
    }
}

void Session::on_frame(transport::ReceivedFrame frame) {
    switch (frame.header.kind) {
        case FrameKind::reply:
            // No one there: it timed out meanwhile.
            if (CallPtr call = calls_.take(frame.header.id)) {
                if (call->timer != 0) loop_.cancel(call->timer);
                complete(std::move(call), frame);
            }
            if (frame.header.command == static_cast<uint16_t>(common::Command::get)) send_next(frame.header.id);
            break;
        case FrameKind::notify:
            if (modules_ != nullptr &&
                !modules_->notified(static_cast<common::Command>(frame.header.command), frame.payload)) {
                note_failed_comm();
            }
            break;
        case FrameKind::request:
            break;  // servers ask nothing
    }
}

void Session::note_failed_comm() noexcept {
    try {
        if (modules_ != nullptr) modules_->unreadable();
    } catch (const std::bad_alloc&) {  // nobody can be told
    }
}

void Session::on_closed(pmix_status_t) {
    WIREUP_LOG(client, warn, "the connection to the server is lost");
    calls_.close(PMIX_ERR_LOST_CONNECTION, PMIX_ERR_UNREACH);
    window_.clear();
    if (modules_ != nullptr) modules_->disconnected(server());
}

void Session::turn_to(const common::ProcId& server) {
    auto known = std::find_if(servers_.begin(), servers_.end(), [&](const auto& s) { return *s == server; });
    if (known == servers_.end()) {
        servers_.push_back(std::make_unique<const common::ProcId>(server));
        known = std::prev(servers_.end());
    }
    server_.store(known->get(), std::memory_order_release);
    namespaces_.remove_all();
    query_cache_.clear();
    if (namespaces_.has_removed()) defer_reclaim();
    // Nobody brings answers to invitations now. Last: it calls the user, who may choose another server.
    if (server.nspace.empty() && modules_ != nullptr) modules_->without_server();
}

void Session::server_lost(const common::ProcId& server) {
    if (modules_ != nullptr) modules_->server_lost(server);
}

void Session::shut(pmix_status_t why) noexcept {
    shut_.store(true, std::memory_order_release);
    calls_.close(why, PMIX_ERR_INIT);
    window_.clear();
    if (modules_ != nullptr) modules_->shut(why);
    if (channel_ != nullptr) channel_->close();
}

void Session::abandon() noexcept {
    Reading::forget_other_threads();
    if (channel_ != nullptr) channel_->abandon();
}

}  // namespace pmix::client
