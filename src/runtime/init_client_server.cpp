// SPDX-License-Identifier: BSD-3-Clause
// From the directives of an init to a running library: the loop, the halves, and what joins them. The public counting
// is in library.cpp; this runs under its mutex, on the caller's thread, before anything else can see the library.
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>

#include "client/data/get.h"
#include "client/data/singleton.h"
#include "client/iof/iof.h"
#include "client/modules.h"
#include "client/openpmix/openpmix_channel.h"
#include "client/session/handshake.h"
#include "client/session/session.h"
#include "client/session/socket_channel.h"
#include "common/base/log.h"
#include "common/values/info_view.h"
#include "common/values/rank_value.h"
#include "common/values/support.h"
#include "runtime/environment.h"
#include "runtime/library.h"
#include "runtime/loopback.h"
#include "runtime/progress_binding.h"
#include "server/namespaces/job_info.h"
#include "server/server.h"
#include "topology/node_topology.h"
#include "transport/event_loop.h"
#include "transport/rendezvous/rendezvous.h"

namespace pmix::api {
namespace {

using common::InfoView;
using common::ProcId;
using transport::Deadline;
using transport::Drive;
using transport::EventLoop;
using transport::LoopRole;

// A file that somebody who started this process wants to find it by.
constexpr const char* kFileVariable = "PMIX_LAUNCHER_RNDZ_FILE";

pmix_status_t read_id(InfoView infos, ProcId& id) {
    std::string_view nspace;
    pmix_status_t rc = infos.get(PMIX_SERVER_NSPACE, &nspace);
    if (rc != PMIX_SUCCESS) return rc;
    if (nspace.size() > common::kMaxNspaceLength) return PMIX_ERR_BAD_PARAM;
    id.nspace = nspace.empty() ? "pmix-server." + std::to_string(::getpid()) : std::string(nspace);
    id.rank = 0;
    return common::read_rank(infos, PMIX_SERVER_RANK, id.rank);
}

pmix_status_t read_text(InfoView infos, std::string_view key, std::string& out) {
    std::string_view text;
    const pmix_status_t rc = infos.get(key, &text);
    if (rc == PMIX_SUCCESS && !text.empty()) out = text;
    return rc;
}

// The file's name is the server's own, so that the next server of this name finds what a killed one left.
pmix_status_t place_socket_file(InfoView infos, server::ServerOptions& options) {
    bool wanted = false;
    if (infos.has(PMIX_WIREUP_SOCKET_FILE)) {
        wanted = infos.flag(PMIX_WIREUP_SOCKET_FILE);
    } else if (const char* asked = ::secure_getenv("WIREUP_SOCKET_FILE")) {
        wanted = *asked != '\0' && std::string_view(asked) != "0";
    }
    if (!wanted) return PMIX_SUCCESS;
    if (options.tmpdir.empty() || options.tmpdir.front() != '/') return PMIX_ERR_BAD_PARAM;
    options.socket_file = options.tmpdir + "/wireup.";
    for (char c : options.id.nspace) options.socket_file += c > ' ' && c < 0x7f && c != '/' ? c : '_';
    options.socket_file += '.' + std::to_string(options.id.rank) + ".sock";
    return PMIX_SUCCESS;
}

bool unmapped_users_permitted(InfoView infos) {
    if (infos.has(PMIX_WIREUP_UNMAPPED_USERS)) return infos.flag(PMIX_WIREUP_UNMAPPED_USERS);
    const char* asked = ::secure_getenv("WIREUP_UNMAPPED_USERS");
    return asked == nullptr || std::string_view(asked) != "0";
}

// The number that a variable has, if it is set.
template <class T>
pmix_status_t read_variable(const char* name, T least, T& number) {
    const char* text = ::secure_getenv(name);
    if (text == nullptr || *text == '\0') return PMIX_SUCCESS;
    const auto end = std::from_chars(text, text + std::strlen(text), number);
    return end.ec == std::errc() && *end.ptr == '\0' && number >= least ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
}

pmix_status_t read_user_memory(InfoView infos, size_t& bytes) {
    if (infos.has(PMIX_WIREUP_USER_MEMORY)) {
        const pmix_status_t rc = infos.get(PMIX_WIREUP_USER_MEMORY, &bytes);
        return rc == PMIX_SUCCESS && bytes == 0 ? PMIX_ERR_BAD_PARAM : rc;
    }
    return read_variable("WIREUP_USER_MEMORY", size_t{1}, bytes);
}

// PMIX_TCP_REPORT_URI: "-" and "+" are streams, anything else is a file.
int report_stream(std::string_view where) noexcept {
    return where == "-" ? STDOUT_FILENO : where == "+" ? STDERR_FILENO : -1;
}

// A stream that cannot be written to is no reason not to serve.
void report_uri(InfoView infos, const std::string& uri) {
    std::string_view where;
    if (infos.get(PMIX_TCP_REPORT_URI, &where) != PMIX_SUCCESS || uri.empty()) return;
    const int stream = report_stream(where);
    if (stream >= 0 && ::dprintf(stream, "%s\n", uri.c_str()) < 0)
        WIREUP_LOG(api, warn, "PMIX_TCP_REPORT_URI: %s", std::strerror(errno));
}

common::Result<server::ServerOptions> read_server_options(InfoView infos) {
    server::ServerOptions options;
    pmix_status_t rc = read_id(infos, options.id);
    if (rc == PMIX_SUCCESS) rc = read_text(infos, PMIX_HOSTNAME, options.hostname);
    if (rc == PMIX_SUCCESS) rc = read_text(infos, PMIX_SERVER_TMPDIR, options.tmpdir);
    if (rc == PMIX_SUCCESS) rc = read_text(infos, PMIX_SYSTEM_TMPDIR, options.system_tmpdir);
    if (rc == PMIX_SUCCESS) rc = infos.get(PMIX_SERVER_CACHE_SIZE, &options.event_cache);
    if (rc == PMIX_SUCCESS) rc = server::read_iof_limit(infos.begin(), infos.size(), options.iof_cache);
    if (rc == PMIX_SUCCESS) rc = infos.get(PMIX_SERVER_GATEWAY, &options.gateway);
    if (rc == PMIX_SUCCESS) rc = infos.get(WIREUP_LAUNCHER_PID, &options.launcher);
    if (rc == PMIX_SUCCESS && options.launcher < 0) rc = PMIX_ERR_BAD_PARAM;
    if (rc == PMIX_SUCCESS) rc = infos.get(PMIX_SERVER_MODULE_SIZE, &options.module_size);
    if (rc == PMIX_SUCCESS) rc = read_text(infos, PMIX_LAUNCHER_RENDEZVOUS_FILE, options.rendezvous_file);
    std::string report;
    if (rc == PMIX_SUCCESS) rc = read_text(infos, PMIX_TCP_REPORT_URI, report);
    if (rc != PMIX_SUCCESS) return rc;
    if (report_stream(report) < 0) options.uri_file = std::move(report);
    rc = place_socket_file(infos, options);
    if (rc != PMIX_SUCCESS) return rc;
    options.tool_support = infos.flag(PMIX_SERVER_TOOL_SUPPORT) || infos.flag(PMIX_SERVER_SESSION_SUPPORT);
    options.session_support = infos.flag(PMIX_SERVER_SESSION_SUPPORT);
    options.system_support = infos.flag(PMIX_SERVER_SYSTEM_SUPPORT);
    options.scheduler = infos.flag(PMIX_SERVER_SCHEDULER);
    options.strict = infos.flag(PMIX_WIREUP_STRICT);
    options.single_listener = infos.flag(PMIX_SINGLE_LISTENER);
    options.unmapped_users = unmapped_users_permitted(infos);
    rc = read_user_memory(infos, options.user_memory);
    if (rc == PMIX_SUCCESS) rc = read_variable("WIREUP_FENCE_MEMORY", 0u, options.fence_memory_at);
    if (rc != PMIX_SUCCESS) return rc;
    if (const char* file = ::secure_getenv(kFileVariable); file != nullptr && options.rendezvous_file.empty()) {
        options.rendezvous_file = file;
    }
    ::unsetenv(kFileVariable);  // meant for this process, not for those that it starts
    if (options.hostname.empty()) options.hostname = server::local_hostname();
    return options;
}

// A process has some ten descriptors of this library's, while it connects. A server raises its limit by itself, as it
// needs them (server/base/places).
void raise_small_descriptor_limit() noexcept {
    constexpr rlim_t kEnough = 32;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    const rlim_t wanted = std::min(kEnough, limit.rlim_max);
    if (limit.rlim_cur >= wanted) return;
    limit.rlim_cur = wanted;
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

bool Library::serves_openpmix(InfoView infos) {
    if (infos.has(PMIX_WIREUP_OPENPMIX)) return infos.flag(PMIX_WIREUP_OPENPMIX);
    const char* asked = ::secure_getenv("WIREUP_OPENPMIX");
    return asked == nullptr || std::string_view(asked) != "0";
}

pmix_status_t Library::check_directives(Role role, InfoView infos) {
    if (role != Role::server) WIREUP_RETURN_IF_ERROR(common::check_flags(infos));
    return role == Role::server
               ? common::check_required(infos, common::Function::PMIx_server_init, common::level::server)
           : role == Role::tool ? common::check_required(infos, common::Function::PMIx_tool_init, common::level::tool)
                                : common::check_required(infos, common::Function::PMIx_Init, common::level::client);
}

pmix_status_t Library::set_up_loop(InfoView infos) {
    transport::EventLoopOptions options;
    void* base = nullptr;
    WIREUP_RETURN_IF_ERROR(infos.get(PMIX_EVENT_BASE, &base));
    if (infos.flag(PMIX_EXTERNAL_PROGRESS)) {
        options.drive = Drive::caller;
    } else if (base != nullptr) {
        options.drive = Drive::host_base;
        options.host_base = static_cast<event_base*>(base);
        host_base_ = base;
    }
    auto cpus = read_progress_binding(infos, options.drive == Drive::own_thread);
    if (!cpus) return cpus.status();
    options.cpus = *cpus;
    options.late = role_ == Role::client;
    if (role_ != Role::server) raise_small_descriptor_limit();
    auto loop = EventLoop::create(options);
    if (!loop) return loop.status();
    loop_ = std::move(loop).value();
    topology_ = std::make_shared<NodeTopology>([this](const ProcId& self, const char* key) {
        common::Value value;
        common::InfoList optional;  // no other process is asked
        if (client_ == nullptr || optional.append_flag(PMIX_OPTIONAL, true) != PMIX_SUCCESS) return value;
        pmix_proc_t job = self.to_c();
        job.rank = PMIX_RANK_WILDCARD;
        pmix_value_t* got = nullptr;
        if (client::get(*client_, &job, key, optional.c_array(), optional.size(), &got) == PMIX_SUCCESS &&
            got != nullptr) {
            value = common::Value(*got);
            std::free(got);
        }
        return value;
    });
    return PMIX_SUCCESS;
}

pmix_status_t Library::check_against(InfoView infos) const {
    if (infos.has(PMIX_EXTERNAL_PROGRESS) && infos.flag(PMIX_EXTERNAL_PROGRESS) != (loop_->drive() == Drive::caller)) {
        return PMIX_ERR_BAD_PARAM;
    }
    bool strict = strict_;
    pmix_status_t rc = infos.get(PMIX_WIREUP_STRICT, &strict);
    if (rc != PMIX_SUCCESS || strict != strict_) return PMIX_ERR_BAD_PARAM;
    void* base = host_base_;
    rc = infos.get(PMIX_EVENT_BASE, &base);
    if (rc != PMIX_SUCCESS) return rc;
    return base == host_base_ ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
}

pmix_status_t Library::set_up_client(InfoView infos) {
    int timeout_s = 0;
    pmix_status_t rc = infos.get(PMIX_TIMEOUT, &timeout_s);
    if (rc != PMIX_SUCCESS || timeout_s < 0) return PMIX_ERR_BAD_PARAM;
    rc = set_up_loop(infos);
    if (rc != PMIX_SUCCESS) return rc;

    const int64_t patience_ms = timeout_s > 0 ? int64_t{timeout_s} * 1000 : common::kHelloTimeoutMs;
    auto environment = transport::read_client_environment(&read_environment);
    if (!environment) {
        if (environment.status() != PMIX_ERR_NOT_FOUND) return environment.status();
        // MPI libraries read PMIX_ERR_UNREACH as "nobody launched me": each rank of a job would go on as a job of one,
        // and end with success. Only a process to which no server was described may be told that.
        if (transport::describes_server(&read_environment, environ)) {
            rc = set_up_openpmix_client(patience_ms);
            return rc == PMIX_ERR_UNREACH ? PMIX_ERR_COMM_FAILURE : rc;
        }
        WIREUP_LOG(api, info, "no server: the environment has no PMIX_SERVER_URI_WIREUP; this process is alone");
        client_ = client::make_session(*loop_, client::singleton_identity(), ProcId());
        client::describe_singleton(*client_);
        rc = loop_->start();
        if (rc == PMIX_SUCCESS) return PMIX_ERR_UNREACH;
        client_.reset();
        return rc;
    }

    auto greeting =
        client::shake_hands(*environment, infos.begin(), infos.size(), Deadline::in_ms(patience_ms), loop_->io());
    if (!greeting) {
        WIREUP_LOG(api, info, "the server %s:%u, which the environment names, does not let %s:%u in: %s",
                   environment->contact.server.nspace.c_str(), environment->contact.server.rank,
                   environment->self.nspace.c_str(), environment->self.rank, common::log_status(greeting.status()));
        // As above: nobody listens any more where this process was told that its server is.
        return greeting.status() == PMIX_ERR_UNREACH ? PMIX_ERR_COMM_FAILURE : greeting.status();
    }
    auto session = client::make_session(*loop_, greeting->reply.self, greeting->reply.server);
    session->own_facts().note_uri(greeting->reply.server, transport::format_uri(environment->contact));
    session->set_features(greeting->reply.features);
    session->memory_fence().allow();
    rc = session->add_segments(greeting->reply.segments, std::move(greeting->descriptors));
    if (rc != PMIX_SUCCESS) return rc;
    {
        LoopRole role(*loop_);
        auto channel = client::SocketChannel::open(*loop_, std::move(greeting->socket), *session);
        if (!channel) return channel.status();
        session->set_channel(std::move(channel).value());
    }
    const bool may_read_late = session->may_read_late();
    client_ = std::move(session);
    WIREUP_RETURN_IF_ERROR(loop_->start());
    return may_read_late ? PMIX_SUCCESS : loop_->need_thread();
}

pmix_status_t Library::set_up_openpmix_client(int64_t patience_ms) {
    auto environment = client::read_openpmix_environment(&read_environment);
    if (!environment) {
        WIREUP_LOG(api, error,
                   "the environment names a server that this library cannot speak to: it has a PMIX_SERVER_URI, and "
                   "none of OpenPMIx 4 or later for this process: %s",
                   common::log_status(environment.status()));
        return PMIX_ERR_COMM_FAILURE;
    }
    const char* hostname = read_environment("PMIX_HOSTNAME");
    auto greeted =
        client::greet_openpmix(*environment, hostname != nullptr ? std::string(hostname) : server::local_hostname(),
                               InfoView(nullptr, 0), Deadline::in_ms(patience_ms), loop_->io());
    if (!greeted) {
        WIREUP_LOG(api, info, "the server %s, which the environment names, does not let %s:%u in: %s",
                   environment->uri.c_str(), environment->self.nspace.c_str(), environment->self.rank,
                   common::log_status(greeted.status()));
        return greeted.status();
    }
    client::Greeting& greeting = greeted->greeting;
    auto session = client::make_session(*loop_, greeting.reply.self, greeting.reply.server);
    session->own_facts().note_uri(greeting.reply.server, environment->uri);
    session->set_features(greeting.reply.features);
    session->set_server_has_more();
    WIREUP_RETURN_IF_ERROR(session->add_segments(greeting.reply.segments, std::move(greeting.descriptors)));
    {
        LoopRole role(*loop_);
        auto channel = client::OpenPmixChannel::open(*loop_, std::move(greeting.socket), std::move(greeted->shadow),
                                                     environment->self, environment->traits, *session);
        if (!channel) return channel.status();
        session->set_channel(std::move(channel).value());
    }
    client_ = std::move(session);
    WIREUP_RETURN_IF_ERROR(loop_->start());
    // Other processes' deletions come unasked, and a Get which finds a copy does not look for them.
    return environment->traits.deletes_keys ? loop_->need_thread() : PMIX_SUCCESS;
}

// What the host says of the node's topology, and asks us to find out for its clients, becomes part of every job's data.
pmix_status_t Library::share_topology(InfoView infos) {
    common::InfoList shared;
    const pmix_status_t rc = topology_->take_from_host(infos, shared);
    if (rc != PMIX_SUCCESS || shared.empty()) return rc;
    auto resources = server::read_resources(shared.c_array(), shared.size());
    if (!resources) return resources.status();
    return server_->register_resources(std::move(resources).value());
}

pmix_status_t Library::set_up_server(const pmix_server_module_t* module, InfoView infos) {
    pmix_status_t rc = set_up_loop(infos);
    if (rc != PMIX_SUCCESS) return rc;
    auto options = read_server_options(infos);
    if (!options) return options.status();
    options->openpmix = serves_openpmix(infos);
    const ProcId self = options->id;
    {
        LoopRole role(*loop_);
        auto server = server::Server::create(*loop_, module, std::move(options).value());
        if (!server) return server.status();
        server_ = std::move(server).value();
        serving_.store(server_.get(), std::memory_order_release);
        report_uri(infos, server_->uri());
        // It does not ask itself: a server's topology is provided by the host or discovered here, and the loop may wait
        // for this one.
        server_->set_fabric_devices(later_fabric_devices(topology_, ProcId(), server_->options().hostname));
        server_->set_devices(later_gpus(topology_, server_->options().hostname),
                             later_nics(topology_, server_->options().hostname));
        client_ = client::make_session(*loop_, self, self);
        client_->own_facts().note_uri(self, server_->uri());
        client_->own_facts().set_topology(later_topology(topology_));
        client_->set_features(common::kFeatures);
        client_->set_channel(std::make_unique<Loopback>(*loop_, *server_, *client_));
        rc = share_topology(infos);
        if (rc == PMIX_SUCCESS && infos.flag(PMIX_IOF_LOCAL_OUTPUT)) rc = client_->iof().show_all(infos);
        if (rc != PMIX_SUCCESS) return rc;
    }
    return loop_->start();
}

}  // namespace pmix::api
