// SPDX-License-Identifier: BSD-3-Clause
#include "client/openpmix/openpmix_channel.h"

#include <algorithm>
#include <new>

#include "transport/frame_log.h"

namespace pmix::client {

using common::Bytes;
using common::FrameHeader;
using common::MutexLock;
using transport::Deadline;

namespace {

constexpr size_t kFrameMemory = 128;     // beside a frame's bytes, about
constexpr uint64_t kEvery = UINT64_MAX;  // no frame has this number

size_t memory_of(const common::Frame& frame) noexcept {
    return frame.payload.size() + kFrameMemory;
}

}  // namespace

// ---- what waits for the server ----

common::Result<uint64_t> OpenPmixChannel::Outbox::push(common::Frame&& frame) {
    const size_t memory = memory_of(frame);
    MutexLock lock(mutex_);
    if (bytes_ + in_stream_ > 2 * max_queued) return PMIX_ERR_OUT_OF_RESOURCE;
    frames_.push_back({pushed_ + 1, std::move(frame)});
    bytes_ += memory;
    return ++pushed_;
}

bool OpenPmixChannel::Outbox::withdraw(uint64_t number) noexcept {
    MutexLock lock(mutex_);
    const auto at = std::ranges::find(frames_, number, &Numbered::number);
    if (at == frames_.end()) return false;
    bytes_ -= memory_of(at->frame);
    frames_.erase(at);
    return true;
}

std::optional<common::Frame> OpenPmixChannel::Outbox::pop(uint64_t last) noexcept {
    MutexLock lock(mutex_);
    if (frames_.empty() || frames_.front().number > last) return std::nullopt;
    std::optional<common::Frame> frame(std::move(frames_.front().frame));
    frames_.pop_front();
    bytes_ -= memory_of(*frame);
    return frame;
}

void OpenPmixChannel::Outbox::note_stream(size_t bytes) noexcept {
    MutexLock lock(mutex_);
    in_stream_ = bytes;
    if (bytes_ + in_stream_ <= max_queued / 2) release_waiters();
}

bool OpenPmixChannel::Outbox::wait(transport::Waiter& waiter) {
    MutexLock lock(mutex_);
    if (bytes_ + in_stream_ <= max_queued || !is_open()) return false;
    waiters_.push_back(&waiter);
    return true;
}

bool OpenPmixChannel::Outbox::stop_waiting(transport::Waiter& waiter) noexcept {
    MutexLock lock(mutex_);
    return std::erase(waiters_, &waiter) != 0;
}

void OpenPmixChannel::Outbox::end() noexcept {
    open_.store(false, std::memory_order_release);
    MutexLock lock(mutex_);
    frames_.clear();
    bytes_ = in_stream_ = 0;
    release_waiters();
}

void OpenPmixChannel::Outbox::release_waiters() noexcept {
    for (transport::Waiter* waiter : waiters_) waiter->complete();
    waiters_.clear();
}

// ---- the channel ----

common::Result<std::unique_ptr<OpenPmixChannel>> OpenPmixChannel::open(
    transport::EventLoop& loop, transport::Descriptor socket, std::unique_ptr<Shadow> shadow, common::ProcId self,
    const openpmix::Traits& traits, transport::ConnectionHandler& sink, size_t max_queued) {
    std::unique_ptr<OpenPmixChannel> channel(new OpenPmixChannel(loop, sink, traits, max_queued, shadow->freshness()));
    channel->translator_ = std::make_unique<OpenPmixTranslator>(static_cast<OpenPmixExchange::Ends&>(*channel),
                                                                std::move(shadow), std::move(self), traits);
    openpmix::StreamOptions how;
    how.max_payload = common::kMaxFramePayload;
    // The outbox keeps the bound, and the connection stays. Beyond it are what one frame becomes, which may be in two
    // sections, and the short messages that follow from answers.
    how.max_queued = max_queued + 2 * size_t{common::kMaxFramePayload};
    how.connected = true;
    auto stream = openpmix::Stream::open(loop, std::move(socket), *channel, std::move(how));
    if (!stream.ok()) return stream.status();
    channel->stream_ = std::move(stream).value();
    if (!traits.loses_split_headers) channel->stream_->set_takes_split_headers();
    return channel;
}

OpenPmixChannel::~OpenPmixChannel() {
    transport::assert_on_loop();
    outbox_->end();
    if (stream_ != nullptr) stream_->close();
}

pmix_status_t OpenPmixChannel::send(const FrameHeader& header, Bytes payload) {
    return send(header, payload, nullptr, Deadline::in_ms(0));
}

// With a waiter this thread may stay and run the loop until that is done.
pmix_status_t OpenPmixChannel::send(const FrameHeader& header, Bytes payload, transport::Waiter* waiter,
                                    Deadline deadline) {
    if (!connected()) return PMIX_ERR_UNREACH;
    const auto outbox = outbox_;
    auto number = outbox->push({header, {payload.begin(), payload.end()}});
    if (!number.ok()) return number.status();
    // The loop takes the frame as soon as it is told, so the outbox is not locked then. What another thread's task may
    // have taken meanwhile needs no task of its own.
    try {
        transport::Task task = [this, outbox, last = *number] {
            transport::assert_on_loop();
            if (outbox->is_open()) translate_pending(last);
        };
        if (!loop_.run_here(task, waiter, deadline)) loop_.post(std::move(task));
    } catch (const std::bad_alloc&) {
        if (outbox->withdraw(*number)) throw;
    }
    return PMIX_SUCCESS;
}

// The loop would wait for itself.
pmix_status_t OpenPmixChannel::wait_for_room(Deadline deadline) {
    if (loop_.on_loop_thread()) return PMIX_SUCCESS;
    transport::CancelShield shield;
    const auto outbox = outbox_;
    transport::Waiter waiter;
    if (!outbox->wait(waiter) || loop_.wait(waiter, deadline)) return PMIX_SUCCESS;
    return outbox->stop_waiting(waiter) ? PMIX_ERR_TIMEOUT : PMIX_SUCCESS;
}

pmix_status_t OpenPmixChannel::send_and_wait(const FrameHeader& header, Bytes payload, transport::Waiter& waiter,
                                             Deadline deadline) {
    WIREUP_RETURN_IF_ERROR(wait_for_room(deadline));
    WIREUP_RETURN_IF_ERROR(send(header, payload, &waiter, deadline));
    return loop_.wait(waiter, deadline) ? PMIX_SUCCESS : PMIX_ERR_TIMEOUT;
}

bool OpenPmixChannel::read_pending() noexcept {
    transport::Task nothing;
    (void)loop_.run_here(nothing, nullptr, Deadline::in_ms(0));
    return true;
}

void OpenPmixChannel::translate_pending(uint64_t last) {
    const auto outbox = outbox_;
    while (stream_->queued_bytes() <= outbox->max_queued) {
        const auto frame = outbox->pop(last);
        if (!frame) break;
        translate(*frame);
        if (!outbox->is_open()) return;  // the session has closed the channel
    }
    outbox->note_stream(stream_->queued_bytes());
}

// The tasks of frames for which the stream had no space are over.
void OpenPmixChannel::on_drained() {
    transport::assert_on_loop();
    translate_pending(kEvery);
}

void OpenPmixChannel::translate(const common::Frame& frame) {
    if (common::log_on(common::LogArea::frames, common::LogLevel::trace)) [[unlikely]]
        transport::log_frame(stream_->fd(), '>', frame.header, frame.payload);
    try {
        translator_->frame(frame.header, frame.payload);
        return;
    } catch (const std::bad_alloc&) {
        loop_.step_lost();
    }
    // The call that waits must end. What nobody waits for, a commit for one, would be missing in silence: then the
    // connection ends, and where there is no memory for the answer either.
    try {
        if (frame.header.kind != common::FrameKind::request) throw std::bad_alloc();
        deliver_frame(FrameHeader::reply(frame.header.command, frame.header.id, PMIX_ERR_NOMEM), {}, {});
    } catch (const std::bad_alloc&) {
        stream_->fail(PMIX_ERR_OUT_OF_RESOURCE);
    }
}

// What was sent before goes out, as far as the connection takes it now: the last of it may be that this process ends,
// and to a server that does not hear that it would be lost.
void OpenPmixChannel::close() noexcept {
    transport::assert_on_loop();
    closing_ = true;
    try {
        if (outbox_->is_open()) translate_pending(kEvery);
    } catch (const std::bad_alloc&) {  // the rest is not sent
    }
    outbox_->end();
    stream_->close();
}

void OpenPmixChannel::abandon() noexcept {
    stream_->abandon();
}

void OpenPmixChannel::on_message(const openpmix::FrameHeader& header, Bytes payload) {
    const auto outbox = outbox_;
    // An acknowledgement costs each process of a fence a packet, so it is spared where nothing is known to follow.
    if (!translator_->is_all_awaited(header.tag)) stream_->expect_more();
    translator_->message(header, payload);
    if (outbox->is_open()) outbox->note_stream(stream_->queued_bytes());
}

void OpenPmixChannel::on_closed(pmix_status_t why) {
    transport::assert_on_loop();
    outbox_->end();
    // What the session has mapped it keeps; nothing is written any more.
    translator_.reset();
    stream_->close();
    sink_.on_closed(why);
}

void OpenPmixChannel::send_message(uint32_t tag, Bytes payload) {
    transport::assert_on_loop();
    stream_->send(tag, payload);
}

void OpenPmixChannel::deliver_frame(const FrameHeader& header, Bytes payload,
                                    std::vector<transport::Descriptor>&& descriptors) {
    transport::assert_on_loop();
    if (!connected() || closing_) return;
    if (common::log_on(common::LogArea::frames, common::LogLevel::trace)) [[unlikely]]
        transport::log_frame(stream_->fd(), '<', header, payload);
    transport::ReceivedFrame frame{header, payload, std::move(descriptors)};
    if (!sink_.take_anywhere(frame)) sink_.on_frame(std::move(frame));
}

}  // namespace pmix::client
