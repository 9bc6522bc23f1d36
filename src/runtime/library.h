// SPDX-License-Identifier: BSD-3-Clause
// The only global: how often the process initialised, in which role, and the objects that serve it.
//
// Init and finalize of all roles take one mutex; everything else asks current(), two loads and no lock. A later init of
// a tool connects without the mutex, as a call that may wait. Mutex, counts
// and the pointer live in one page that the kernel wipes on fork (all-zero is their initial state), so a forked child
// finds itself uninitialised and makes a library of its own; the parent's object stays behind in the child's memory
// untouched.
//
// What can go wrong: an init that fails leaves nothing behind. A last finalize that meets calls still waiting in other
// threads ends those calls with PMIX_ERR_INIT first and waits until they have left.
#pragma once

#include <pmix.h>
#include <pmix_server.h>

#include <atomic>
#include <memory>

#include "common/base/status.h"

namespace pmix::common {
class InfoView;
struct ProcId;
}  // namespace pmix::common
namespace pmix::transport {
class EventLoop;
}
namespace pmix::client {
class Keepalive;
class ServerSet;
class Session;
}  // namespace pmix::client
namespace pmix::server {
class Server;
struct ServerOptions;
}  // namespace pmix::server

namespace pmix::api {

class NodeTopology;

enum class Role : unsigned char { none = 0, client, server, tool };

class Library {
  public:
    // Null before the first init, after the last finalize, and in a forked child.
    static Library* current() noexcept;
    // The same for a call that may wait: the last finalize does not destroy the library before leave(). Null: no
    // leave() either.
    static Library* enter() noexcept;
    static void leave() noexcept;

    // Counted; ret_proc may be null. One process plays one role: an init of another role answers
    // PMIX_ERR_NOT_SUPPORTED. PMIX_ERR_UNREACH with an identity: there is no server, and the library is initialised for
    // local use.
    static pmix_status_t init_client(pmix_proc_t* ret_proc, const pmix_info_t infos[], size_t ninfos);
    static pmix_status_t finalize_client(const pmix_info_t infos[], size_t ninfos);
    static pmix_status_t init_server(pmix_server_module_t* module, const pmix_info_t infos[], size_t ninfos);
    static pmix_status_t finalize_server();
    static pmix_status_t init_tool(pmix_proc_t* ret_proc, const pmix_info_t infos[], size_t ninfos);
    static pmix_status_t finalize_tool();

    // The client half: present in every role.
    client::Session& client() noexcept { return *client_; }
    // Null unless this process is a tool.
    client::ServerSet* servers() noexcept { return servers_; }
    // Null unless this process is a server, or a tool that launches.
    server::Server* server() noexcept { return serving_.load(std::memory_order_acquire); }
    // A tool: is what it spawns started by its own server? Where it has no other, it has one from then on.
    common::Result<bool> spawns_here();
    // A tool that chooses itself: it has a server of its own from then on.
    pmix_status_t choose_own_server();
    transport::EventLoop& loop() noexcept { return *loop_; }
    NodeTopology& topology() noexcept { return *topology_; }
    Role role() const noexcept { return role_; }

    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    ~Library();

  private:
    explicit Library(Role role) noexcept;

    static pmix_status_t init(Role role, pmix_server_module_t* module, pmix_proc_t* ret_proc, const pmix_info_t infos[],
                              size_t ninfos);
    static pmix_status_t finalize(Role role, const pmix_info_t infos[], size_t ninfos);
    static void abandon(Library* library) noexcept;

    // init_client_server.cpp: from the caller's directives to a running library. set_up_client returns PMIX_ERR_UNREACH
    // with a session for a process to which no server was described, and PMIX_ERR_COMM_FAILURE where one was and it
    // cannot be talked to.
    pmix_status_t set_up_loop(common::InfoView infos);
    pmix_status_t set_up_client(common::InfoView infos);
    // A client whose server speaks OpenPMIx's protocol.
    pmix_status_t set_up_openpmix_client(int64_t patience_ms);
    pmix_status_t set_up_server(const pmix_server_module_t* module, common::InfoView infos);
    // init_tool.cpp
    pmix_status_t set_up_tool(common::InfoView infos);
    pmix_status_t set_up_launcher(common::InfoView infos, const common::ProcId& self, client::ServerSet& servers);
    bool is_to_connect(common::InfoView infos) const;
    pmix_status_t connect_tool(common::InfoView infos) noexcept;
    pmix_status_t add_server(server::ServerOptions options, client::ServerSet& servers, bool stands_in);
    pmix_status_t make_own_server(bool stands_in);
    common::Result<bool> turn_to_own_server();
    pmix_status_t share_topology(common::InfoView infos);
    // Is a server of this process's to serve processes with OpenPMIx's library? The attribute, else the environment.
    static bool serves_openpmix(common::InfoView infos);
    // PMIX_ERR_NOT_SUPPORTED: one is marked required, and an init of this role does not support it.
    static pmix_status_t check_directives(Role role, common::InfoView infos);
    // Do the directives of a later init contradict what runs?
    pmix_status_t check_against(common::InfoView infos) const;

    const Role role_;
    // Destroyed in reverse order: the halves before the loop they run on.
    std::unique_ptr<transport::EventLoop> loop_;
    std::unique_ptr<server::Server> server_;
    std::atomic<server::Server*> serving_{nullptr};  // the same, for any thread: a tool's may come late
    bool ending_ = false;                            // the loop's
    std::unique_ptr<client::Session> client_;
    std::unique_ptr<client::Keepalive> keepalive_;
    client::ServerSet* servers_ = nullptr;  // the session's channel
    bool nameless_ = false;                 // a tool that named itself
    bool strict_ = false;                   // common/values/strict.h; decided before the halves are made
    bool openpmix_ = false;                 // a tool whose server is to serve processes with OpenPMIx's library
    void* host_base_ = nullptr;
    // Shared with the lookups of devices that the halves start.
    std::shared_ptr<NodeTopology> topology_;
};

}  // namespace pmix::api
