// SPDX-License-Identifier: BSD-3-Clause
// From a connection to a Peer: accept, hello, credentials.
//
// Owns the listening sockets and the connections that have not said who they are. Loop thread only. Every wait has
// an end: a connection that is silent past its deadline, or is one too many, is dropped. The user of a connection is
// the one that the kernel reports (SO_PEERCRED), compared with what the host registered for the rank; the rank's token
// counts instead only where the kernel has no number for the user. Users without a registered rank share a small part
// of the half-open connections, so they cannot keep the others out. Processes that speak OpenPMIx's protocol come from
// openpmix/openpmix_listener by take(), and are admitted by the same steps.
//
// Each connection takes a descriptor, and there are so many for all. A first process of each registered rank always has
// a place: what is no such process (a further process of a rank, a tool) is admitted only where it leaves one for every
// rank that has not connected. Further processes share half of what there is, and connections before their hello an
// eighth.
//
// What can go wrong: no socket (open() fails); no descriptors left: it pauses and tries again.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "common/base/log_limit.h"
#include "server/admission/acceptor.h"
#include "server/admission/incoming_peer.h"
#include "server/admission/socket_peer.h"
#include "server/admission/tools.h"
#include "server/base/counters.h"
#include "server/base/lifecycle.h"
#include "server/base/scheduler.h"
#include "server/host/host.h"
#include "server/namespaces/registry.h"
#include "server/namespaces/segments.h"
#include "transport/event_loop.h"
#include "transport/unix_socket.h"

namespace pmix::server {

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
    std::string tmpdir;              // what tools learn of it
    std::string system_tmpdir;
    pid_t launcher = 0;
};

class Listener final : public LifecycleObserver {
  public:
    Listener(transport::EventLoop& loop, Scheduler& scheduler, Registry& registry, Host& host, const Segments& segments,
             Tools& tools, Budget& budget, MessageAdmission& admission, Counters& counters, PeerEvents& events,
             ListenerOptions options);
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
    // A connection of which the kernel's word about its user is known. The functor makes it read; a failure of that
    // is answered, and the peer is then nobody's.
    template <class Open>
    pmix_status_t take(const std::shared_ptr<IncomingPeer>& peer, Open open) {
        prepare(*peer);
        const pmix_status_t rc = open();
        if (rc == PMIX_SUCCESS) wait_for_hello(peer);
        return rc;
    }
    size_t half_open() const noexcept { return waiting_.size(); }
    // A process that has connected before is admitted now.
    void client_registered(const common::ProcId& id) override;

    // ---- for connections ----

    // It has said who it is: IncomingPeer::claim().
    void claimed(IncomingPeer& peer);
    // A question for this server's identity.
    void introduce(SocketPeer& peer, const common::FrameHeader& header, common::Bytes payload);
    void refuse(IncomingPeer& peer, pmix_status_t status);
    void forget(IncomingPeer& peer);
    MessageAdmission& message_admission() noexcept { return admission_; }
    // For the lines that processes cause which nobody has let in.
    common::LogLimit& log_limit() noexcept { return log_limit_; }

  private:
    void prepare(IncomingPeer& peer);
    void wait_for_hello(const std::shared_ptr<IncomingPeer>& peer);
    common::ExpectedPeer expected_of(const Client& client) const;
    void hello_of_client(IncomingPeer& peer, const common::ProcId& id);
    void hold(IncomingPeer& peer, const common::ProcId& id);
    void decide(const std::shared_ptr<IncomingPeer>& peer, pmix_status_t status);
    void decided(const common::ProcId& id, pmix_status_t status);
    void admit(const std::shared_ptr<IncomingPeer>& peer, Nspace& nspace, Client& client);
    void welcome(const std::shared_ptr<IncomingPeer>& peer, common::Bytes reply, std::span<const int> descriptors);
    // listener_tools
    void hello_of_tool(IncomingPeer& peer);
    void decide_tool(const std::shared_ptr<IncomingPeer>& peer, const common::ProcId& named, HostAnswer& answer);
    void admit_tool(const std::shared_ptr<IncomingPeer>& peer, common::ProcId id);
    // Is there a place for each rank that has not connected behind this connection, which is none of theirs?
    bool leaves_places(const IncomingPeer& peer) const;
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
    Counters& counters_;
    PeerEvents& events_;
    ListenerOptions options_;
    common::LogLimit log_limit_;
    size_t places_ = 0;  // at most, as far as the limits allow
    std::vector<std::unique_ptr<Acceptor>> acceptors_;
    std::list<std::shared_ptr<IncomingPeer>> waiting_;                  // oldest first
    const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for what is posted
};

}  // namespace pmix::server
