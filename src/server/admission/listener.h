// SPDX-License-Identifier: BSD-3-Clause
// From a connection to a Peer: accept, hello, credentials.
//
// Owns the listening sockets and the connections that have not said who they are. Loop thread only. Every wait has
// an end: a connection that is silent past its deadline, or is one too many, is dropped. The user of a connection is
// the one that the kernel reports (SO_PEERCRED), compared with what the host registered for the rank; the rank's token
// counts instead only where the kernel has no number for the user. Users without a registered rank share a small part
// of the half-open connections, so they cannot keep the others out.
//
// Each connection takes a descriptor, and there are so many for all. A first process of each registered rank always has
// a place: what is no such process (a further process of a rank, a tool) is admitted only where it leaves one for every
// rank that has not connected. Further processes share half of what there is, and connections before their hello an
// eighth.
//
// What can go wrong: no socket (start() fails); no descriptors left: it pauses and tries again.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "common/protocol/hello.h"
#include "server/admission/acceptor.h"
#include "server/admission/message_admission.h"
#include "server/admission/tools.h"
#include "server/base/lifecycle.h"
#include "server/base/peer.h"
#include "server/base/scheduler.h"
#include "server/host/host.h"
#include "server/namespaces/registry.h"
#include "server/namespaces/segments.h"
#include "transport/connection.h"
#include "transport/event_loop.h"
#include "transport/unix_socket.h"

namespace pmix::server {

// What the listener and its connections tell the server.
class PeerEvents {
  public:
    virtual void peer_admitted(const std::shared_ptr<Peer>& peer) = 0;
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

// A process at the other end of a socket, from the first byte on.
class SocketPeer final : public Peer, public transport::ConnectionHandler, private MessageAdmission::Sender {
  public:
    SocketPeer(Credentials user, Listener& listener, PeerEvents& events)
        : Peer(PeerKind::client, {}, user), listener_(listener), events_(events) {}
    ~SocketPeer() override;

    void send(const common::FrameHeader& header, common::Bytes payload, std::span<const int> descriptors) override;
    void close() override;
    std::shared_ptr<transport::Connection> connection() const override { return connection_; }
    bool has_read_all() const override { return connection_ == nullptr || connection_->all_read(); }
    void on_frame(transport::ReceivedFrame frame) override;
    void on_drained() override;
    void on_closed(pmix_status_t why) override;
    bool admit_message(size_t bytes) noexcept override;
    void message_complete() noexcept override;

  private:
    const AccountPtr& sender_account() const noexcept override { return account(); }
    size_t received() const noexcept override;
    void read_on() override;
    void end() override { close(); }

    friend class Listener;
    enum class Stage : uint8_t { hello, unregistered, asking, admitted, over };

    Listener& listener_;
    PeerEvents& events_;
    std::shared_ptr<transport::Connection> connection_;
    common::HelloServer hello_;
    Stage stage_ = Stage::hello;
    Timer deadline_;
    bool unregistered_user_ = false;
};

struct ListenerOptions {
    common::ProcId server;
    uint32_t own_uid = 0;
    uint32_t overflow_uid = 65534;  // see common::ExpectedPeer
    bool unmapped_users = true;
    int hello_timeout_ms = common::kHelloTimeoutMs;
    int registration_wait_ms = common::kRegistrationWaitMs;  // 0: an unregistered rank is refused at once
    unsigned max_half_open = common::kMaxHalfOpen;
    unsigned max_unregistered = 16;  // half-open connections of users that no rank is registered for
    std::string socket_file;         // a path to listen at too, or empty
    bool strict = false;             // all who connect are served in strict mode
    bool single = false;             // listen at one place only: the path, if there is one
    size_t max_descriptors = 0;      // how many there are; 0: as many as the kernel allows
};

class Listener final : public LifecycleObserver {
  public:
    Listener(transport::EventLoop& loop, Scheduler& scheduler, Registry& registry, Host& host, const Segments& segments,
             Tools& tools, Budget& budget, MessageAdmission& admission, PeerEvents& events, ListenerOptions options);
    ~Listener();

    // Any thread before the loop runs, or the loop.
    pmix_status_t open();
    void start();
    // Connections whose admission was lost are closed.
    void recover() override;
    void close();
    // In a forked child: closes our copies of the sockets.
    void abandon() noexcept;
    // Where it listens: what a client is told, in the order in which it tries.
    std::vector<std::string> addresses() const;

    // A socket that somebody else accepted: a host, a test.
    pmix_status_t take_connection(transport::Descriptor socket);
    size_t half_open() const noexcept { return waiting_.size(); }
    // A process that has connected before is admitted now.
    void client_registered(const common::ProcId& id) override;

  private:
    friend class SocketPeer;
    void hello(SocketPeer& peer, const common::FrameHeader& header, common::Bytes payload);
    void hello_of_client(SocketPeer& peer, const common::ProcId& id);
    void hold(SocketPeer& peer, const common::ProcId& id);
    void decide(const std::shared_ptr<SocketPeer>& peer, pmix_status_t status);
    void decided(const common::ProcId& id, pmix_status_t status);
    void admit(const std::shared_ptr<SocketPeer>& peer, Nspace& nspace, Client& client);
    void welcome(const std::shared_ptr<SocketPeer>& peer, common::Bytes reply, std::span<const int> descriptors);
    // listener_tools
    void introduce(SocketPeer& peer, const common::FrameHeader& header, common::Bytes payload);
    void hello_of_tool(SocketPeer& peer);
    void decide_tool(const std::shared_ptr<SocketPeer>& peer, const common::ProcId& named, HostAnswer& answer);
    void admit_tool(const std::shared_ptr<SocketPeer>& peer, common::ProcId id);
    void refuse(SocketPeer& peer, pmix_status_t status);
    void forget(SocketPeer& peer);
    // Is there a place for each rank that has not connected behind this connection, which is none of theirs?
    bool leaves_places(const SocketPeer& peer) const;
    size_t max_clones() const;
    bool is_unregistered(uint32_t uid) const;
    void make_room(bool unregistered);

    transport::EventLoop& loop_;
    Scheduler& scheduler_;
    Registry& registry_;
    Host& host_;
    const Segments& segments_;
    Tools& tools_;
    Budget& budget_;
    MessageAdmission& admission_;
    PeerEvents& events_;
    ListenerOptions options_;
    size_t places_ = 0;  // at most, as far as the limits allow
    std::vector<std::unique_ptr<Acceptor>> acceptors_;
    std::list<std::shared_ptr<SocketPeer>> waiting_;                    // oldest first
    const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for what is posted
};

}  // namespace pmix::server
