// SPDX-License-Identifier: BSD-3-Clause
#include "server/admission/socket_peer.h"

#include "common/protocol/messages.h"
#include "server/admission/listener.h"

namespace pmix::server {

using common::Bytes;
using common::FrameHeader;

SocketPeer::~SocketPeer() {
    transport::assert_on_loop();
    if (connection_ != nullptr) connection_->close();
}

pmix_status_t SocketPeer::open(transport::EventLoop& loop, transport::Descriptor socket) {
    transport::assert_on_loop();
    transport::ConnectionOptions how;
    how.max_queued = common::kMaxQueuedToPeer;
    how.account = account();
    how.takes_descriptors = false;
    auto connection = transport::Connection::open(loop, std::move(socket), *this, how);
    if (!connection.ok()) return connection.status();
    connection_ = std::move(connection).value();
    return PMIX_SUCCESS;
}

void SocketPeer::send(const FrameHeader& header, Bytes payload, std::span<const int> descriptors) {
    send_what_goes_before();
    // A failure closes the connection, and that is told by on_closed, later.
    if (connection_ != nullptr) connection_->send(header, payload, descriptors);
}

bool SocketPeer::drop_connection() {
    transport::assert_on_loop();
    if (connection_ == nullptr) return false;
    auto connection = std::move(connection_);
    connection->close();
    return true;
}

void SocketPeer::abandon() noexcept {
    if (connection_ != nullptr) connection_->abandon();
}

size_t SocketPeer::received() const noexcept {
    transport::assert_on_loop();
    return connection_ == nullptr ? 0 : connection_->unfinished_bytes();
}

void SocketPeer::read_on() {
    transport::assert_on_loop();
    if (connection_ != nullptr) connection_->resume_reading();
}

void SocketPeer::on_frame(transport::ReceivedFrame frame) {
    auto self = shared_from_this();
    switch (stage()) {
        case Stage::hello:
            return hello(frame.header, frame.payload);
        case Stage::unregistered:
        case Stage::asking:
            return listener().refuse(*this, PMIX_ERR_UNPACK_FAILURE);  // it speaks before it was answered
        case Stage::admitted:
            return events().peer_frame(*this, frame.header, frame.payload);
        case Stage::over:
            return;
    }
}

void SocketPeer::on_drained() {
    auto self = shared_from_this();
    if (stage() == Stage::admitted) events().peer_reads(*this);
}

void SocketPeer::on_closed(pmix_status_t) {
    ended();
}

void SocketPeer::hello(const FrameHeader& header, Bytes payload) {
    if (header.command == static_cast<uint16_t>(common::Command::identity) && header.kind == common::FrameKind::request)
        return listener().introduce(*this, header, payload);
    const pmix_status_t rc = hello_.receive(header, payload);
    if (rc == PMIX_ERR_UNPACK_FAILURE) return close();
    if (rc != PMIX_SUCCESS) return listener().refuse(*this, rc);
    listener().claimed(*this);
}

pmix_status_t SocketPeer::check(const common::ExpectedPeer& expected) noexcept {
    return common::check_identity(expected, credentials().uid, claim().token);
}

void SocketPeer::send_refusal(pmix_status_t status) {
    if (connection_ == nullptr || !hello_.speaks()) return;
    common::ByteWriter w;
    if (common::encode_message(w, hello_.refuse()) != PMIX_SUCCESS) return;
    FrameHeader header = FrameHeader::reply(static_cast<uint16_t>(common::Command::hello), hello_.id(), status);
    header.payload = static_cast<uint32_t>(w.size());
    connection_->send(header, w.view());
}

common::Result<common::Blob> SocketPeer::make_welcome(common::HelloReply&& mine, const common::Token& token) {
    return common::message_bytes(hello_.accept(std::move(mine), token));
}

void SocketPeer::admitted() {
    connection_->set_max_payload(common::kMaxFramePayload);
}

void SocketPeer::send_welcome(Bytes answer, std::span<const int> descriptors) {
    FrameHeader header = FrameHeader::reply(static_cast<uint16_t>(common::Command::hello), hello_.id(), PMIX_SUCCESS);
    header.payload = static_cast<uint32_t>(answer.size());
    header.descriptors = static_cast<uint8_t>(descriptors.size());
    send(header, answer, descriptors);
}

}  // namespace pmix::server
