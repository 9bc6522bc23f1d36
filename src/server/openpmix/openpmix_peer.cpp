// SPDX-License-Identifier: BSD-3-Clause
#include "server/openpmix/openpmix_peer.h"

#include <new>

#include "common/base/log.h"
#include "server/admission/listener.h"
#include "transport/frame_log.h"

namespace pmix::server {

using common::Bytes;
using common::FrameHeader;
using openpmix::ConnectRequest;

namespace {

// What a client keeps of the server's data. Any other module would look for segments that are not there.
constexpr std::string_view kPlainStore = "hash";

bool is_readable_security(std::string_view module) noexcept {
    return module == "native" || module == "none" || module == "munge";
}

}  // namespace

OpenPmixPeer::~OpenPmixPeer() {
    transport::assert_on_loop();
    services_.deletions.remove(*this);
    if (stream_ != nullptr) stream_->close();
}

pmix_status_t OpenPmixPeer::open(transport::EventLoop& loop, transport::Descriptor socket) {
    transport::assert_on_loop();
    openpmix::StreamOptions how;
    how.max_payload = common::kMaxFramePayload;
    how.max_queued = common::kMaxQueuedToPeer;
    how.account = account();
    auto stream = openpmix::Stream::open(loop, std::move(socket), *this, std::move(how));
    if (!stream.ok()) return stream.status();
    stream_ = std::move(stream).value();
    return PMIX_SUCCESS;
}

// ---- admission ----

void OpenPmixPeer::on_connect(Bytes payload) {
    auto self = shared_from_this();
    ConnectRequest request;
    const pmix_status_t rc = ConnectRequest::decode(payload, &request, &traits_);
    if (rc != PMIX_SUCCESS) {
        WIREUP_LOG_WITHIN(listener().log_limit(), server, info,
                          "a process of user %u that speaks OpenPMIx's protocol says nothing we understand: %s",
                          credentials().uid, common::log_status(rc));
        return close();
    }
    if (request.store != kPlainStore || !is_readable_security(request.security)) {
        WIREUP_LOG_WITHIN(listener().log_limit(), server, warn,
                          "a process of user %u wants its data by \"%s\" and security by \"%s\"", credentials().uid,
                          request.store.c_str(), request.security.c_str());
        return listener().refuse(*this, PMIX_ERR_NOT_SUPPORTED);
    }
    kind_ = request.kind;
    const bool is_client = kind_ == openpmix::PeerKind::client;
    claim_.role = is_client ? common::PeerRole::client : common::PeerRole::tool;
    claim_.nspace = request.id.nspace;
    claim_.rank = request.id.rank;
    claim_.library_version = request.version;
    claim_.infos = std::move(request.infos);
    if (!openpmix::has_identity(kind_)) claim_.nspace.clear();
    listener().claimed(*this);
}

// Root does not stand in for the rank's user: a daemon of root's that connects where it is told to would be let in as
// anybody. There is no token, and the user that has no number here is nobody's.
pmix_status_t OpenPmixPeer::check(const common::ExpectedPeer& expected) noexcept {
    const uint32_t uid = credentials().uid;
    if (uid != expected.uid || (uid == expected.overflow_uid && uid != expected.server_uid))
        return PMIX_ERR_INVALID_CRED;
    set_gid(expected.gid);  // the kernel does not tell; the host has
    return PMIX_SUCCESS;
}

common::Result<common::Blob> OpenPmixPeer::make_welcome(common::HelloReply&& mine, const common::Token&) {
    const openpmix::ReplyForm form = openpmix::reply_form(kind_, traits_);
    openpmix::ConnectReply reply;
    if (form.assigns) reply.self = mine.self;
    reply.server = mine.server;
    return openpmix::encode_reply(reply, form);
}

void OpenPmixPeer::admitted() {
    if (!traits_.loses_split_headers) stream_->set_takes_split_headers();
    translator_.emplace(*this, static_cast<OpenPmixTranslator::Ends&>(*this), services_.registry, services_.segments,
                        services_.job_data, services_.scheduler, traits_);
    if (traits_.takes_notices) services_.deletions.add(*this);
}

void OpenPmixPeer::send_welcome(Bytes answer, std::span<const int>) {
    transport::assert_on_loop();
    if (stream_ != nullptr) stream_->send_bytes(answer);
}

// ---- the connection ----

bool OpenPmixPeer::drop_connection() {
    transport::assert_on_loop();
    services_.deletions.remove(*this);
    if (stream_ == nullptr) return false;
    auto stream = std::move(stream_);
    stream->close();
    return true;
}

void OpenPmixPeer::abandon() noexcept {
    if (stream_ != nullptr) stream_->abandon();
}

void OpenPmixPeer::read_on() {
    transport::assert_on_loop();
    if (stream_ != nullptr) stream_->resume();
}

void OpenPmixPeer::on_message(const openpmix::FrameHeader& header, Bytes payload) {
    transport::assert_on_loop();
    auto self = shared_from_this();
    if (stage() == Stage::over) return;
    if (stage() != Stage::admitted) return listener().refuse(*this, PMIX_ERR_UNPACK_FAILURE);
    // Any message may be followed by another one, which a form that calls back, and a heartbeat, do not wait to send.
    uint8_t command = 0;
    const bool fence = openpmix::read_command(payload, traits_, &command) == PMIX_SUCCESS &&
                       command == static_cast<uint8_t>(openpmix::Command::fence);
    if (!fence) stream_->expect_more();
    if (!translator_->message(header, payload)) {
        WIREUP_LOG(server, warn, "%s:%u does not keep to OpenPMIx's protocol", id().nspace.c_str(), id().rank);
        close();
    }
    if (fence && stream_ != nullptr) late_.add(stream_);
}

void OpenPmixPeer::on_drained() {
    auto self = shared_from_this();
    if (stage() != Stage::admitted) return;
    tell([&] { translator_->drained(); });
    if (stage() == Stage::admitted) events().peer_reads(*this);
}

void OpenPmixPeer::on_closed(pmix_status_t) {
    auto self = shared_from_this();
    drop_connection();
    ended();
}

// ---- between the two ----

template <class F>
void OpenPmixPeer::tell(F&& by_translator) {
    if (stream_ == nullptr || !translator_) return;
    try {
        by_translator();
    } catch (const std::bad_alloc&) {
        // What was to be said is lost, and its caller would wait for it for ever.
        if (stream_ != nullptr) stream_->fail(PMIX_ERR_OUT_OF_RESOURCE);
    }
}

// In the log they are frames as any peer's.
void OpenPmixPeer::send(const FrameHeader& header, Bytes payload, std::span<const int>) {
    if (common::log_on(common::LogArea::frames, common::LogLevel::trace)) [[unlikely]]
        transport::log_frame(descriptor(), '>', header, payload);
    tell([&] { translator_->frame(header, payload); });
}

void OpenPmixPeer::send_message(uint32_t tag, Bytes payload) {
    transport::assert_on_loop();
    if (stream_ != nullptr) stream_->send(tag, payload);
}

void OpenPmixPeer::serve_frame(const FrameHeader& header, Bytes payload) {
    if (common::log_on(common::LogArea::frames, common::LogLevel::trace)) [[unlikely]]
        transport::log_frame(descriptor(), '<', header, payload);
    events().peer_frame(*this, header, payload);
}

void OpenPmixPeer::input_controlled(const std::optional<common::ProcId>& source, bool stop) {
    tell([&] { translator_->input_controlled(source, stop); });
}

// It has taken its own request into account before it sent it.
void OpenPmixPeer::key_deleted(const Nspace& nspace, common::Rank rank, std::string_view key, const Peer* by) {
    if (by == this || !services_.segments.may_map(*this, nspace)) return;
    tell([&] { translator_->key_deleted({nspace.name, rank}, key); });
}

void OpenPmixPeer::call_drained() {
    services_.scheduler.post([weak = weak_from_this()] {
        if (const auto self = std::static_pointer_cast<OpenPmixPeer>(weak.lock())) self->on_drained();
    });
}

}  // namespace pmix::server
