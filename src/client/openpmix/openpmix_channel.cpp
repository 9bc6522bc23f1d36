// SPDX-License-Identifier: BSD-3-Clause
#include "client/openpmix/openpmix_channel.h"

#include <new>

#include "transport/frame_log.h"

namespace pmix::client {

using common::Bytes;
using common::FrameHeader;

common::Result<std::unique_ptr<OpenPmixChannel>> OpenPmixChannel::open(
    transport::EventLoop& loop, transport::Descriptor socket, std::unique_ptr<Shadow> shadow, common::ProcId self,
    const openpmix::Traits& traits, transport::ConnectionHandler& sink) {
    std::unique_ptr<OpenPmixChannel> channel(new OpenPmixChannel(loop, sink));
    channel->translator_ = std::make_unique<OpenPmixTranslator>(static_cast<OpenPmixExchange::Ends&>(*channel),
                                                                std::move(shadow), std::move(self), traits);
    openpmix::StreamOptions how;
    how.max_payload = common::kMaxFramePayload;
    how.max_queued = common::kMaxQueuedBytes;
    how.connected = true;
    auto stream = openpmix::Stream::open(loop, std::move(socket), *channel, std::move(how));
    if (!stream.ok()) return stream.status();
    channel->stream_ = std::move(stream).value();
    if (!traits.loses_split_headers) channel->stream_->set_takes_split_headers();
    return channel;
}

OpenPmixChannel::~OpenPmixChannel() {
    transport::assert_on_loop();
    state_->open.store(false, std::memory_order_release);
    if (stream_ != nullptr) stream_->close();
}

pmix_status_t OpenPmixChannel::send(const FrameHeader& header, Bytes payload) {
    if (!connected()) return PMIX_ERR_UNREACH;
    loop_.post([this, state = state_, frame = common::Frame{header, {payload.begin(), payload.end()}}] {
        transport::assert_on_loop();
        if (state->open.load(std::memory_order_acquire)) translate(frame);
    });
    return PMIX_SUCCESS;
}

pmix_status_t OpenPmixChannel::send_and_wait(const FrameHeader& header, Bytes payload, transport::Waiter& waiter,
                                             transport::Deadline deadline) {
    WIREUP_RETURN_IF_ERROR(send(header, payload));
    return loop_.wait(waiter, deadline) ? PMIX_SUCCESS : PMIX_ERR_TIMEOUT;
}

void OpenPmixChannel::translate(const common::Frame& frame) {
    if (common::log_on(common::LogArea::frames, common::LogLevel::trace)) [[unlikely]]
        transport::log_frame(stream_->fd(), '>', frame.header, frame.payload);
    try {
        translator_->frame(frame.header, frame.payload);
    } catch (const std::bad_alloc&) {
        // The call that waits must end.
        if (frame.header.kind != common::FrameKind::request) throw;
        deliver_frame(FrameHeader::reply(frame.header.command, frame.header.id, PMIX_ERR_NOMEM), {}, {});
    }
}

void OpenPmixChannel::close() noexcept {
    transport::assert_on_loop();
    state_->open.store(false, std::memory_order_release);
    stream_->close();
}

void OpenPmixChannel::abandon() noexcept {
    stream_->abandon();
}

void OpenPmixChannel::on_message(const openpmix::FrameHeader& header, Bytes payload) {
    translator_->message(header, payload);
}

void OpenPmixChannel::on_closed(pmix_status_t why) {
    transport::assert_on_loop();
    state_->open.store(false, std::memory_order_release);
    sink_.on_closed(why);
}

void OpenPmixChannel::send_message(uint32_t tag, Bytes payload) {
    transport::assert_on_loop();
    stream_->send(tag, payload);
}

void OpenPmixChannel::deliver_frame(const FrameHeader& header, Bytes payload,
                                    std::vector<transport::Descriptor>&& descriptors) {
    transport::assert_on_loop();
    if (!connected()) return;
    if (common::log_on(common::LogArea::frames, common::LogLevel::trace)) [[unlikely]]
        transport::log_frame(stream_->fd(), '<', header, payload);
    transport::ReceivedFrame frame{header, payload, std::move(descriptors)};
    if (!sink_.take_anywhere(frame)) sink_.on_frame(std::move(frame));
}

}  // namespace pmix::client
