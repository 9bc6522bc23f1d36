// SPDX-License-Identifier: BSD-3-Clause
// A process at the other end of a connection, from the first byte on: what the listener needs of it to let it in,
// whatever language it speaks.
//
// Shared as every Peer; owned by the listener until it is admitted, by the server then. Loop thread only. Those who
// derive from it own the connection: they read what the process claims to be, hand that to Listener::claimed(), and
// write what the listener decides.
#pragma once

#include "common/protocol/hello.h"
#include "server/admission/message_admission.h"
#include "server/base/peer.h"
#include "server/base/scheduler.h"

namespace pmix::server {

struct Nspace;

// What the listener and its connections tell the server.
class PeerEvents {
  public:
    virtual void peer_admitted(const std::shared_ptr<Peer>& peer) = 0;
    // This rank, of which an earlier process has ended, has another one. Before the registry counts it as connected.
    virtual void rank_begins(const Nspace& nspace, common::Rank rank) = 0;
    virtual void peer_frame(Peer& peer, const common::FrameHeader& header, common::Bytes payload) = 0;
    virtual void peer_lost(Peer& peer) = 0;
    // The host took this rank as connected, but its connection had ended before that answer: there was never a peer.
    virtual void lost_before_admission(const common::ProcId& id) = 0;
    // What had to wait for it has all been sent.
    virtual void peer_reads(Peer& peer) = 0;

  protected:
    ~PeerEvents() = default;
};

class Listener;

class IncomingPeer : public Peer, protected MessageAdmission::Sender {
  public:
    IncomingPeer(Credentials user, Listener& listener, PeerEvents& events)
        : Peer(PeerKind::client, {}, user), listener_(listener), events_(events) {}

    // Ends the connection and tells the listener or the server so, once.
    void close() override;

  protected:
    friend class Listener;
    enum class Stage : uint8_t { hello, unregistered, asking, admitted, over };

    // The process that it claims to be, as our own hello has it. Valid from Listener::claimed() on.
    virtual const common::HelloRequest& claim() const noexcept = 0;
    // May it be that rank?
    virtual pmix_status_t check(const common::ExpectedPeer& expected) noexcept = 0;
    // Tells it why it is refused, where it would read that. close() follows.
    virtual void send_refusal(pmix_status_t status) = 0;
    // The answer that lets it in, to be sent by send_welcome() once the server has the peer.
    virtual common::Result<common::Blob> make_welcome(common::HelloReply&& mine, const common::Token& token) = 0;
    virtual void send_welcome(common::Bytes answer, std::span<const int> descriptors) = 0;
    // It is admitted: what it may send has other bounds from now on.
    virtual void admitted() = 0;

    // The connection. -1: there is none any more.
    virtual int descriptor() const noexcept = 0;
    // Ends it without a word to anybody; false: it had ended.
    virtual bool drop_connection() = 0;

    // The connection has ended, by whichever end. Once; later calls do nothing.
    void ended();
    Stage stage() const noexcept { return stage_; }
    PeerEvents& events() noexcept { return events_; }
    Listener& listener() noexcept { return listener_; }
    // For connections that ask before they read a large message.
    bool admit_large_message(size_t bytes) noexcept;
    void large_message_complete() noexcept;

  private:
    const AccountPtr& sender_account() const noexcept override { return account(); }
    void end() override { close(); }

    Listener& listener_;
    PeerEvents& events_;
    Stage stage_ = Stage::hello;
    Timer deadline_;
    bool unregistered_user_ = false;
};

}  // namespace pmix::server
