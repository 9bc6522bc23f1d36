// The only global: how often the process initialised, in which role, and the objects that serve it.
//
// Init and finalize of all roles take one mutex; everything else asks current(), two loads and no lock. Mutex, counts
// and the pointer live in one page that the kernel wipes on fork (all-zero is their initial state), so a forked child
// finds itself uninitialised and makes a library of its own; the parent's object stays behind in the child's memory
// untouched.
//
// What can go wrong: an init that fails leaves nothing behind. A last finalize that meets calls still waiting in other
// threads ends those calls with PMIX_ERR_INIT first and waits until they have left.
#pragma once

#include <memory>

#include <pmix.h>
#include <pmix_server.h>

namespace pmix::transport {
class EventLoop;
}
namespace pmix::client {
class Session;
}
namespace pmix::server {
class Server;
}

namespace pmix::api {

class Loopback;

enum class Role : unsigned char { none = 0, client, server, tool };

class Library {
  public:
    // Null before the first init, after the last finalize, and in a forked child.
    static Library* current() noexcept;

    // Counted; ret_proc may be null. One process plays one role: an init of another role answers PMIX_ERR_NOT_SUPPORTED.
    static pmix_status_t init_client(pmix_proc_t* ret_proc, const pmix_info_t info[], size_t ninfo);
    static pmix_status_t finalize_client(const pmix_info_t info[], size_t ninfo);
    static pmix_status_t init_server(pmix_server_module_t* module, const pmix_info_t info[], size_t ninfo);
    static pmix_status_t finalize_server();

    // The client half: present in every role.
    client::Session& client() noexcept { return *client_; }
    // Null unless this process is a server.
    server::Server* server() noexcept { return server_.get(); }
    transport::EventLoop& loop() noexcept { return *loop_; }
    Role role() const noexcept { return role_; }
    // Turned by PMIx_Progress instead of a thread of ours.
    bool external_progress() const noexcept { return external_progress_; }

    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    ~Library();

  private:
    explicit Library(Role role) noexcept;

    Role role_;
    bool external_progress_ = false;
    // Destroyed in reverse order: the halves before the loop they run on.
    std::unique_ptr<transport::EventLoop> loop_;
    std::unique_ptr<server::Server> server_;
    std::unique_ptr<client::Session> client_;
};

}  // namespace pmix::api
