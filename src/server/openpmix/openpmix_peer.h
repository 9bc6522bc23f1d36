// SPDX-License-Identifier: BSD-3-Clause
// A process that speaks OpenPMIx's protocol: its connection and handshake (as incoming_peer.h says), and the translator
// between its messages and the server's frames.
//
// Loop thread only. The kernel reports the process's user (transport/tcp/tcp_user.h); only the user that the host
// registered for the rank is let in, and what the process itself claims counts for nothing. Who is refused sees the
// connection end and nothing else: releases up to 5.0.8 do not read a status there, and hang.
#pragma once

#include <memory>
#include <optional>

#include "openpmix/hello.h"
#include "openpmix/late_acknowledgements.h"
#include "openpmix/stream.h"
#include "server/admission/incoming_peer.h"
#include "server/namespaces/deletions.h"
#include "server/openpmix/translator.h"
#include "transport/tcp/tcp_socket.h"

namespace pmix::server {

// What its connections need of the server.
struct OpenPmixServices {
    Listener& listener;
    PeerEvents& events;
    const Registry& registry;
    const Segments& segments;
    OpenPmixJobData& job_data;
    Deletions& deletions;
    Scheduler& scheduler;
};

class OpenPmixPeer final : public IncomingPeer,
                           private openpmix::StreamHandler,
                           private OpenPmixTranslator::Ends,
                           private Deletions::Watcher {
  public:
    // late: there as long as the loop runs.
    OpenPmixPeer(Credentials user, const OpenPmixServices& services, openpmix::LateAcknowledgements& late)
        : IncomingPeer(user, services.listener, services.events), services_(services), late_(late) {}
    ~OpenPmixPeer() override;

    // Once, before anything else.
    pmix_status_t open(transport::EventLoop& loop, transport::Descriptor socket);

    // Peer
    void send(const common::FrameHeader& header, common::Bytes payload, std::span<const int> descriptors) override;
    void abandon() noexcept override;
    bool has_read_all() const override { return stream_ == nullptr || stream_->queued_bytes() == 0; }
    bool maps_segments() const noexcept override { return false; }
    bool is_openpmix() const noexcept override { return true; }
    bool sends_from(int processor) const noexcept override {
        return stream_ != nullptr && transport::sending_processor(stream_->fd()) == processor;
    }
    void input_controlled(const std::optional<common::ProcId>& source, bool stop) override;

  private:
    // IncomingPeer
    const common::HelloRequest& claim() const noexcept override { return claim_; }
    pmix_status_t check(const common::ExpectedPeer& expected) noexcept override;
    void send_refusal(pmix_status_t) override {}
    common::Result<common::Blob> make_welcome(common::HelloReply&& mine, const common::Token& token) override;
    void send_welcome(common::Bytes answer, std::span<const int> descriptors) override;
    void admitted() override;
    int descriptor() const noexcept override { return stream_ == nullptr ? -1 : stream_->fd(); }
    bool drop_connection() override;
    size_t received() const noexcept override { return stream_ == nullptr ? 0 : stream_->unfinished_bytes(); }
    void read_on() override;

    // StreamHandler
    void on_connect(common::Bytes payload) override;
    void on_message(const openpmix::FrameHeader& header, common::Bytes payload) override;
    void on_drained() override;
    void on_closed(pmix_status_t why) override;
    bool admit_message(size_t bytes) noexcept override { return admit_large_message(bytes); }
    void message_complete() noexcept override { large_message_complete(); }

    // OpenPmixTranslator::Ends
    void send_message(uint32_t tag, common::Bytes payload) override;
    void serve_frame(const common::FrameHeader& header, common::Bytes payload) override;
    bool all_sent() const noexcept override { return has_read_all(); }
    void call_drained() override;

    // Deletions::Watcher
    void key_deleted(const Nspace& nspace, common::Rank rank, std::string_view key, const Peer* by) override;

    // Has the translator say something.
    template <class F>
    void tell(F&& by_translator);

    const OpenPmixServices services_;
    openpmix::LateAcknowledgements& late_;
    std::shared_ptr<openpmix::Stream> stream_;
    openpmix::PeerKind kind_ = openpmix::PeerKind::client;
    openpmix::Traits traits_;
    common::HelloRequest claim_;
    std::optional<OpenPmixTranslator> translator_;  // once it is admitted
};

}  // namespace pmix::server
