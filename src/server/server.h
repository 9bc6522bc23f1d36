// SPDX-License-Identifier: BSD-3-Clause
// The server: owns every object of this module, starts and stops them, and notifies the observers (base/lifecycle.h) of
// what happens to peers and members.
//
// Built and destroyed by runtime/library with the loop stopped or from the loop thread; every other member is for the
// loop thread, except where a comment has "any thread". What a host calls (PMIx_server_*) is in server_calls.cpp, one
// member each, but for PMIx_server_setup_fork: a forked child may call that, so abi/server_api asks jobs/launch_env and
// no server. Frames reach the operations through on_frame() and dispatch.
//
// What can go wrong: create() fails with the status of what could not be had (no socket, no memory) and leaves nothing
// behind. stop() answers everything that still waits, with PMIX_ERR_LOST_CONNECTION where nothing better is known.
#pragma once

#include <pmix_server.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/ids.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/protocol/frame.h"
#include "server/base/peer.h"
#include "server/data/get.h"
#include "server/iof/iof.h"
#include "server/iof/iof_queue.h"
#include "server/jobs/device_visibility.h"
#include "server/namespaces/job_info.h"
#include "server/services/fabric.h"

namespace pmix::transport {
class EventLoop;
}

namespace pmix::server {

// What PMIx_server_init was told.
struct ServerOptions {
    common::ProcId id;          // PMIX_SERVER_NSPACE and _RANK, or made up from the pid
    std::string hostname;       // PMIX_HOSTNAME, or gethostname()
    std::string tmpdir;         // PMIX_SERVER_TMPDIR; told to clients, and where OpenPMIx's tools look for a server
    std::string system_tmpdir;  // PMIX_SYSTEM_TMPDIR, likewise for the system's server
    size_t event_cache = common::kEventCacheSize;
    IofLimit iof_cache{common::kIofCacheBytes, IofOverflow::drop_newest};
    int hello_timeout_ms = common::kHelloTimeoutMs;
    int registration_wait_ms = common::kRegistrationWaitMs;
    unsigned max_half_open = common::kMaxHalfOpen;
    size_t max_descriptors = 0;      // of this process; 0: as many as the kernel allows
    unsigned max_unregistered = 16;  // half-open connections of users without a registered rank
    std::string socket_file;  // PMIX_WIREUP_SOCKET_FILE: where to listen too, for clients in other network namespaces
    bool unmapped_users = true;    // PMIX_WIREUP_UNMAPPED_USERS: a token may stand for a user without a number here
    size_t user_memory = 0;        // PMIX_WIREUP_USER_MEMORY; 0: Budget::default_limit()
    pid_t launcher = 0;            // WIREUP_LAUNCHER_PID
    bool listen = true;            // off in tests that hand their own socket pairs in
    bool openpmix = false;         // PMIX_WIREUP_OPENPMIX: serve processes with OpenPMIx's library too
    bool strict = false;           // PMIX_WIREUP_STRICT
    unsigned fence_memory_at = 8;  // WIREUP_FENCE_MEMORY: the fence of a job that brings its memory for fences; 0: none
    bool gateway = false;          // PMIX_SERVER_GATEWAY: what is logged here is logged for the system
    bool single_listener = false;  // PMIX_SINGLE_LISTENER: the socket file, if there is one, and nothing else
    bool tool_support = false;     // PMIX_SERVER_TOOL_SUPPORT, or PMIX_SERVER_SESSION_SUPPORT
    bool system_support = false;   // PMIX_SERVER_SYSTEM_SUPPORT: the system's server of this node
    bool scheduler = false;        // PMIX_SERVER_SCHEDULER
    std::string rendezvous_file;   // PMIX_LAUNCHER_RENDEZVOUS_FILE: where a host wants one
    std::string uri_file;          // PMIX_TCP_REPORT_URI: likewise
    bool local_jobs = false;       // a tool's: what it spawns itself and its host does not start is started here
    bool session_support = false;  // PMIX_SERVER_SESSION_SUPPORT
    size_t module_size = 0;        // PMIX_SERVER_MODULE_SIZE: the host was built with our headers and says so
};

std::string local_hostname();

// A namespace's segment, for somebody who may map it. The descriptor stays the server's: send it or duplicate it.
struct BorrowedSegment {
    int descriptor = -1;
    uint64_t instance = 0;  // differs between two instances of one name
    uint64_t generation = 0;
};

class Server {
  public:
    static common::Result<std::unique_ptr<Server>> create(transport::EventLoop& loop,
                                                          const pmix_server_module_t* module, ServerOptions options);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    // The server's own process as a client of itself. The sink is set by the loopback before the first frame.
    SelfPeer& self_peer() noexcept;
    // A request of a peer: from its connection, or from the loopback for self_peer().
    // The payload is borrowed for the call.
    void on_frame(Peer& peer, const common::FrameHeader& header, common::Bytes payload);
    // The segment of a namespace for the process itself. PMIX_ERR_NOT_FOUND: no such namespace here.
    common::Result<BorrowedSegment> borrow_segment(Peer& peer, std::string_view nspace);

    // ---- what a host calls: PMIx Standard, chapter "Server-Specific Interfaces" ----

    // Makes the upcalls that are due, before a call of the host's that may free what they are about.
    void make_due_upcalls();
    pmix_status_t register_nspace(JobInfo&& job);
    void deregister_nspace(std::string_view name);
    pmix_status_t register_client(const common::ProcId& proc, uint32_t uid, uint32_t gid, void* server_object);
    void deregister_client(const common::ProcId& proc);
    pmix_status_t register_resources(JobInfo&& resources);
    pmix_status_t deregister_resources(const JobInfo& named);
    pmix_status_t register_session(uint32_t id, JobInfo&& session);
    void deregister_session(uint32_t id);
    // The host has made a call that is new in OpenPMIx 7. Any thread.
    void note_call_of_7() noexcept;
    // source: nobody stands for every process that pushes input.
    void control_input(const std::optional<common::ProcId>& source, bool stop);
    pmix_status_t define_process_set(std::string_view name, std::vector<common::ProcId> members);
    pmix_status_t delete_process_set(std::string_view name);
    pmix_status_t register_attributes(std::string_view function, std::vector<std::string> attributes);
    // Variables for the children of a namespace, from PMIx_server_setup_local_support.
    pmix_status_t add_variables(std::string_view nspace, const common::InfoList& infos);
    // Adds what the inventory has for a job's fabric to the answer of PMIx_server_setup_application.
    pmix_status_t allocate_fabrics(common::InfoView options, common::InfoList& answer);
    pmix_status_t deliver_inventory(const common::InfoList& infos);
    // The data that the host has registered for a job. PMIX_ERR_NOT_FOUND: no such job here.
    common::Result<common::InfoList> collect_job_info(std::string_view nspace);
    void direct_modex_request(const common::ProcId& proc, Get::Respond respond);
    void deliver_output(IofDelivery delivery);
    void set_module(const pmix_server_module_t* module);
    bool host_spawns() const noexcept;
    void set_fabric_devices(Fabrics::Devices devices);
    // The GPUs and the network devices of this node, which ranks may be assigned. Each is called once, when the first
    // is.
    void set_devices(GpuList gpus, NicList nics);

    // Answers all that waits, closes all connections, stops listening. Then only destruction is left.
    void stop();

    // In a forked child, instead of stop() and destruction: closes our copies of the sockets, so that clients see the
    // parent end when it ends, and does nothing else.
    void abandon() noexcept;

    const ServerOptions& options() const noexcept;
    // What clients are told to connect to.
    const std::string& uri() const noexcept;

    struct Parts;
    Parts& parts() noexcept { return *parts_; }

  private:
    explicit Server(std::unique_ptr<Parts> parts) noexcept;
    std::unique_ptr<Parts> parts_;
};

}  // namespace pmix::server
