// SPDX-License-Identifier: BSD-3-Clause
// All objects of a running server, in the order in which they depend on each other. Included by server, server_calls
// and dispatch; all other code needs only the one object it is given.
#pragma once

#include <map>
#include <memory>

#include "server/admission/exit_watch.h"
#include "server/admission/listener.h"
#include "server/admission/message_admission.h"
#include "server/admission/tools.h"
#include "server/base/blocking_tasks.h"
#include "server/base/budget.h"
#include "server/base/counters.h"
#include "server/base/lifecycle.h"
#include "server/base/scheduler.h"
#include "server/collectives/connect.h"
#include "server/collectives/fence.h"
#include "server/collectives/groups.h"
#include "server/data/commit.h"
#include "server/data/get.h"
#include "server/data/publish.h"
#include "server/events/events.h"
#include "server/events/process_ends.h"
#include "server/host/module_host.h"
#include "server/host/open_upcalls.h"
#include "server/iof/iof.h"
#include "server/jobs/launch_env.h"
#include "server/jobs/registration.h"
#include "server/monitoring/monitors.h"
#include "server/namespaces/registry.h"
#include "server/namespaces/segments.h"
#include "server/openpmix/openpmix_listener.h"
#include "server/openpmix/tool_files.h"
#include "server/remote_namespaces.h"
#include "server/segment_compaction.h"
#include "server/server.h"
#include "server/services/cleanup.h"
#include "server/services/control.h"
#include "server/services/credentials.h"
#include "server/services/fabric.h"
#include "server/services/pmix_log.h"
#include "server/services/query.h"
#include "server/services/resolve.h"
#include "server/spawn/abort.h"
#include "server/spawn/local_host.h"
#include "server/spawn/spawn.h"
#include "transport/rendezvous/rendezvous_file.h"

namespace pmix::server {

struct Server::Parts final : PeerEvents, LifecycleObserver {
    Parts(transport::EventLoop& loop, const pmix_server_module_t* module, ServerOptions given);
    ~Parts();

    void peer_admitted(const std::shared_ptr<Peer>& peer) override;
    void peer_frame(Peer& peer, const common::FrameHeader& header, common::Bytes payload) override;
    void peer_lost(Peer& peer) override;
    void rank_begins(const Nspace& nspace, common::Rank rank) override {
        observers.notify(&LifecycleObserver::member_begins, nspace, member_id(nspace.number, rank));
    }
    void lost_before_admission(const common::ProcId& id) override;
    void connection_ended(Peer& peer);
    void peer_reads(Peer& peer) override {
        commit.peer_reads(peer);
        events.peer_reads(peer);
    }

    void finalize(Peer& peer, common::FinalizeRequest& request, Reply reply);
    void finalized(Nspace& nspace, Client& client, const Peer& peer, Reply reply);
    void attach(Peer& peer, common::AttachNspaceRequest& request, Reply reply);
    // Gives the server's own process the segment of a registered namespace, so that the host's PMIx_Get on another
    // thread does not wait for the loop, which may be in an upcall. Without memory for it the Get asks later.
    void share_with_self(std::string_view nspace);
    void name_withdrawn(const common::ProcId& proc) override;
    // One of the rank's processes finalizes: the end of what the host has started for the rank is watched from now on.
    void watch_rank(MemberId member, const Peer& peer) noexcept;
    void look_at(MemberId member, pid_t started);
    void registered_again(const common::ProcId& proc);
    // What the host has started for a rank that has finalized has ended.
    void exited(MemberId member);
    void tool_lost(Peer& peer);
    void rank_lost(Nspace& nspace, Client& client, const common::ProcId& id);

    transport::EventLoop& loop;
    ServerOptions options;
    Counters counters;
    LifecycleObservers observers;
    LoopScheduler scheduler;
    Budget budget;
    MessageAdmission admission;
    Registry registry;
    Segments segments;
    Deletions deletions;
    ModuleHost host;
    OpenUpcalls open_upcalls{host, observers};
    Events events;
    ProcessEnds process_ends;
    Get get;
    Commit commit;
    Fence fence;
    Connect connect;
    Disconnect disconnect;
    Groups groups;
    Publish publish;
    Spawn spawn;
    Abort abort;
    BlockingTasks blocking_tasks;
    Cleanup cleanup;
    Control control;
    Log log;
    Monitors monitors;
    CredentialOffice credentials;
    Resolve resolve;
    Iof iof;
    LaunchEnv launch_env;
    Registration registration;
    Tools tools;
    Listener listener;
    OpenPmixJobData openpmix_job_data;
    OpenPmixListener openpmix_listener;
    transport::RendezvousFile rendezvous_file, uri_file;
    std::shared_ptr<SelfPeer> self;
    std::unique_ptr<LocalHost> local_host;  // none: no tool's server
    // Ranks that may return though they have finalized: until the process that the host has started ends. Where that
    // one is not known (neither watch nor look), until the host deregisters the rank or registers it again, and as long
    // as the limits of those who wait: the end of a program is not that of its rank, and no time says which it was.
    static constexpr int64_t kLookMs = 500;
    struct Leaving {
        std::unique_ptr<ExitWatch> watch;
        Timer look;              // where the kernel has no watch
        bool is_script = false;  // what finalized is not what the host has started
        bool is_known() const noexcept { return watch != nullptr || look.is_set(); }
    };
    std::map<MemberId, Leaving> leaving;
    std::map<uint64_t, std::shared_ptr<Peer>> peers;  // admitted, by serial number
    SegmentCompaction compaction;
    RemoteNamespaces remote_namespaces;
    uint64_t next_serial = 1;
    std::string uri;
    std::string openpmix_uri;  // of the same server for their library; empty: it serves none
    Query query;
    Fabrics fabrics;
    OpenPmixToolFiles openpmix_files;
    bool stopped = false;
};

}  // namespace pmix::server
