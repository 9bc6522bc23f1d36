// All objects of a running server, in the order in which they depend on each other. Included by server, dispatch and the
// door; nobody else needs more than the one object it is given.
#pragma once

#include <map>
#include <memory>

#include "server/abort.h"
#include "server/adopted.h"
#include "server/budget.h"
#include "server/chores.h"
#include "server/cleanup.h"
#include "server/commit.h"
#include "server/connect.h"
#include "server/control.h"
#include "server/credentials.h"
#include "server/events.h"
#include "server/exit_watch.h"
#include "server/fabric.h"
#include "server/fence.h"
#include "server/get.h"
#include "server/group.h"
#include "server/iof.h"
#include "server/launch_env.h"
#include "server/listener.h"
#include "server/local_host.h"
#include "server/log.h"
#include "server/message_admission.h"
#include "server/module_host.h"
#include "server/monitors.h"
#include "server/publish.h"
#include "server/query.h"
#include "server/registry.h"
#include "server/renewal.h"
#include "server/resolve.h"
#include "server/scheduler.h"
#include "server/segments.h"
#include "server/server.h"
#include "server/setup.h"
#include "server/spawn.h"
#include "server/tools.h"
#include "transport/rendezvous_file.h"

namespace pmix::server {

struct Server::Parts final : PeerEvents {
    Parts(transport::EventLoop& loop, const pmix_server_module_t* module, ServerOptions given);
    ~Parts();

    void peer_admitted(const std::shared_ptr<Peer>& peer) override;
    void peer_frame(Peer& peer, const common::FrameHeader& header, common::Bytes payload) override;
    void peer_lost(Peer& peer) override;
    void lost_before_admission(const common::ProcId& id) override;
    // A step was lost for lack of memory: everybody who waits for what it would have done is answered. See
    // EventLoop::set_recovery().
    bool recover();
    void connection_ended(Peer& peer);
    void peer_reads(Peer& peer) override { events.peer_reads(peer); }

    void finalize(Peer& peer, common::FinalizeRequest& request, Reply reply);
    void finalized(Nspace& nspace, Client& client, const Peer& peer, Reply reply);
    void attach(Peer& peer, common::AttachNspaceRequest& request, Reply reply);
    // Gives the server's own process the segment of a registered namespace, so that the host's PMIx_Get on another
    // thread does not wait for the loop, which may be in an upcall. Without memory for it the Get asks later.
    void share_with_self(std::string_view nspace);
    // Ends the connections of a rank, or of a whole namespace.
    void drop(const common::ProcId& proc);
    // The process of a rank that has finalized has ended.
    void exited(MemberId member);
    void tool_lost(Peer& peer);
    void rank_lost(Nspace& nspace, Client& client, const common::ProcId& id);
    // Who has its segment is to unmap it.
    void nspace_ended(const Nspace& nspace);

    transport::EventLoop& loop;
    ServerOptions options;
    LoopScheduler scheduler;
    Budget budget;
    MessageAdmission admission;
    Registry registry;
    Segments segments;
    ModuleHost host;
    Events events;
    Get get;
    Commit commit;
    Fence fence;
    Connect connect;
    Disconnect disconnect;
    Groups groups;
    Publish publish;
    Spawn spawn;
    Abort abort;
    Chores chores;
    Cleanup cleanup;
    Control control;
    Log log;
    Monitors monitors;
    CredentialOffice credentials;
    Resolve resolve;
    Iof iof;
    LaunchEnv launch_env;
    Tools tools;
    Listener listener;
    transport::RendezvousFile rendezvous_file;
    std::shared_ptr<SelfPeer> self;
    std::unique_ptr<Setup> setup;
    std::unique_ptr<LocalHost> local_host;  // none: no tool's server
    std::map<MemberId, std::unique_ptr<ExitWatch>> leaving;  // finalized ranks that may return
    std::map<uint64_t, std::shared_ptr<Peer>> peers;  // admitted, by serial number
    Renewal renewal;
    Adopted adopted;
    uint64_t next_serial = 1;
    std::string uri;
    Query query;
    Fabrics fabrics;
    bool stopped = false;
};

}  // namespace pmix::server
