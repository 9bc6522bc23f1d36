// SPDX-License-Identifier: BSD-3-Clause
// From the directives of PMIx_tool_init to a running tool: who it is, its servers, and with PMIX_LAUNCHER a server of
// its own. As init_client_server, under the mutex of library.cpp, on the caller's thread; connect_tool() without it.
#include <stdlib.h>

#include <cstdlib>
#include <exception>
#include <new>
#include <optional>
#include <string>

#include "client/data/get.h"
#include "client/data/singleton.h"
#include "client/iof/iof.h"
#include "client/modules.h"
#include "client/session/session.h"
#include "client/tool/keepalive.h"
#include "client/tool/tool.h"
#include "common/values/info_view.h"
#include "runtime/environment.h"
#include "runtime/library.h"
#include "runtime/loopback.h"
#include "server/server.h"
#include "topology/node_topology.h"
#include "transport/event_loop.h"
#include "transport/rendezvous/rendezvous.h"
#include "transport/rendezvous/rendezvous_file.h"

namespace pmix::api {
namespace {

using client::ServerSet;
using common::InfoList;
using common::InfoView;
using common::ProcId;
using transport::LoopRole;

// Read once: what was meant for this process is not its children's.
std::string take_variable(const char* name) {
    const char* text = ::secure_getenv(name);
    if (text == nullptr) return {};
    std::string value(text, common::bounded_length(text, 16u << 10));
    ::unsetenv(name);
    return value;
}

// Is the tool a process of a job that the server has data of? Any other tool is described by itself alone.
bool is_of_a_job(client::Session& session) {
    InfoList here_only;
    pmix_value_t* size = nullptr;
    pmix_status_t rc = here_only.append_flag(PMIX_OPTIONAL, true);
    const pmix_proc_t job = ProcId(session.self().nspace, PMIX_RANK_WILDCARD).to_c();
    if (rc == PMIX_SUCCESS)
        rc = client::get(session, &job, PMIX_JOB_SIZE, here_only.c_array(), here_only.size(), &size);
    if (size != nullptr) common::destroy_value(size);
    std::free(size);
    return rc != PMIX_ERR_NOT_FOUND;
}

}  // namespace

// A launcher serves those it starts; until PMIx_tool_set_server_module it has no answer to what they ask of a host.
pmix_status_t Library::set_up_launcher(InfoView infos, const ProcId& self, ServerSet& servers) {
    server::ServerOptions options;
    options.id = self;
    options.tool_support = true;
    std::string_view file, host;
    pmix_status_t rc = infos.get(PMIX_LAUNCHER_RENDEZVOUS_FILE, &file);
    if (rc == PMIX_SUCCESS) rc = infos.get(PMIX_HOSTNAME, &host);
    if (rc != PMIX_SUCCESS) return rc;
    options.hostname = host.empty() ? server::local_hostname() : std::string(host);
    options.rendezvous_file = file;
    const std::string variable = take_variable("PMIX_LAUNCHER_RNDZ_FILE");
    if (options.rendezvous_file.empty()) options.rendezvous_file = variable;
    return add_server(std::move(options), servers, false);
}

// A tool's own server, and its way there. Loop.
pmix_status_t Library::add_server(server::ServerOptions options, ServerSet& servers, bool stands_in) {
    options.local_jobs = true;
    options.strict = strict_;
    options.openpmix = openpmix_;
    const ProcId self = options.id;
    auto server = server::Server::create(*loop_, nullptr, std::move(options));
    if (!server) return server.status();
    server_ = std::move(server).value();
    serving_.store(server_.get(), std::memory_order_release);
    server_->set_fabric_devices(later_fabric_devices(topology_, ProcId(), server_->options().hostname));
    if (client_ != nullptr) client_->own_facts().note_uri(self, server_->uri());
    const auto loopback =
        [this](transport::ConnectionHandler& handler) -> common::Result<std::unique_ptr<client::Channel>> {
        return std::unique_ptr<client::Channel>(std::make_unique<Loopback>(*loop_, *server_, handler));
    };
    return servers.attach(self, loopback, stands_in ? ServerSet::Standing::stand_in : ServerSet::Standing::server);
}

// Loop. Where nobody can be let in, processes that need nobody can still be started.
pmix_status_t Library::make_own_server(bool stands_in) {
    if (server_ != nullptr) return PMIX_SUCCESS;
    server::ServerOptions options;
    options.id = client_->self();
    options.hostname = server::local_hostname();
    pmix_status_t rc = add_server(options, *servers_, stands_in);
    if (rc != PMIX_SUCCESS && server_ == nullptr) {
        options.listen = false;
        rc = add_server(options, *servers_, stands_in);
    }
    return rc;
}

pmix_status_t Library::choose_own_server() {
    pmix_status_t rc = PMIX_ERR_NOMEM;
    client_->on_loop_and_wait([&] {
        try {
            rc = ending_ ? PMIX_ERR_INIT : make_own_server(false);
            if (rc == PMIX_SUCCESS) rc = servers_->set_primary(client_->self());
        } catch (const std::bad_alloc&) {  // stays PMIX_ERR_NOMEM
        }
    });
    return rc;
}

// Loop. Another server that the tool has is asked, even if none of several is the primary one any more.
common::Result<bool> Library::turn_to_own_server() {
    if (ending_) return PMIX_ERR_INIT;
    const ProcId self = client_->self();
    const auto ids = servers_->servers();
    const bool asks_itself = servers_->connected() && !ids.empty() && ids.front() == self;
    const bool has_other = ids.size() > (servers_->has(self) ? 1u : 0u);
    if (has_other && !asks_itself) return false;
    pmix_status_t rc = make_own_server(true);
    if (rc == PMIX_SUCCESS) rc = servers_->set_primary(self);
    if (rc != PMIX_SUCCESS) return rc;
    return !server_->host_spawns();
}

common::Result<bool> Library::spawns_here() {
    common::Result<bool> here = PMIX_ERR_NOMEM;
    client_->on_loop_and_wait([&] {
        try {
            here = turn_to_own_server();
        } catch (const std::bad_alloc&) {  // stays PMIX_ERR_NOMEM
        }
    });
    return here;
}

pmix_status_t Library::set_up_tool(InfoView infos) {
    auto options = client::read_tool_options(infos, &read_environment);
    if (!options) return options.status();
    pmix_status_t rc = set_up_loop(infos);
    if (rc != PMIX_SUCCESS) return rc;

    std::optional<client::ToolFound> found;
    if (!options->nowhere) {
        auto search = client::find_server(
            *options, infos, [](const ProcId&) { return false; }, loop_->io());
        if (search) {
            found = std::move(search).value();
        } else if (!options->optional) {
            return search.status();
        }
    }
    const bool named = !options->self.nspace.empty();
    const ProcId self = found ? found->greeting.reply.self : named ? options->self : client::made_up_identity();

    nameless_ = options->nowhere && !named;
    openpmix_ = serves_openpmix(infos);
    auto session = client::make_session(*loop_, self, ProcId());
    client::Session* raw = session.get();
    raw->set_is_tool();
    raw->iof().set_writes_too(infos.flag(PMIX_IOF_LOCAL_OUTPUT));
    auto set = std::make_unique<ServerSet>(ServerSet::Hooks{*raw, [raw](const ProcId& id) { raw->server_lost(id); },
                                                            [raw](const ProcId& id) { raw->turn_to(id); }});
    ServerSet& servers = *set;
    session->set_channel(std::move(set));
    // An initiator that started us and wants to be told.
    const std::string initiator = take_variable("PMIX_LAUNCHER_RNDZ_URI");
    const std::string pipe = take_variable("PMIX_KEEPALIVE_PIPE");
    {
        LoopRole role(*loop_);
        if (found) rc = client::attach_server(*session, servers, *found);
        if (rc == PMIX_SUCCESS && options->launcher) rc = set_up_launcher(infos, self, servers);
        if (rc == PMIX_SUCCESS && !initiator.empty()) {
            client::ToolOptions back;
            back.way = client::ToolOptions::Way::uri;
            back.text = initiator;
            back.self = self;
            auto other = client::find_server(
                back, infos, [&](const ProcId& id) { return servers.has(id); }, loop_->io());
            // It may have gone meanwhile; that is no reason not to start.
            if (other && !other->already) client::attach_server(*session, servers, *other);
        }
        if (rc == PMIX_SUCCESS && !pipe.empty()) {
            // A number that is no pipe watches nothing; the tool starts all the same.
            if (auto watched = client::Keepalive::open(*session, pipe)) keepalive_ = std::move(watched).value();
        }
    }
    if (rc == PMIX_SUCCESS) rc = loop_->start();
    if (rc != PMIX_SUCCESS) {
        // The session goes as the loop would end it.
        LoopRole role(*loop_);
        keepalive_.reset();
        session->shut(rc);
        server_.reset();
        session.reset();
        return rc;
    }
    if (!found || !is_of_a_job(*session)) client::describe_singleton(*session);
    client_ = std::move(session);
    if (server_ != nullptr) client_->own_facts().note_uri(self, server_->uri());
    servers_ = &servers;
    return PMIX_SUCCESS;
}

// A later init: connected at last, if it was not.
bool Library::is_to_connect(InfoView infos) const {
    return (!servers_->connected() || servers_->stood_in()) && !infos.flag(PMIX_TOOL_DO_NOT_CONNECT);
}

// Inside the library, without its mutex: the last finalize may end it with PMIX_ERR_INIT.
pmix_status_t Library::connect_tool(InfoView infos) noexcept {
    try {
        ProcId server;
        const pmix_status_t rc = client::attach_to_server(*client_, *servers_, infos, server);
        return infos.flag(PMIX_TOOL_CONNECT_OPTIONAL) ? PMIX_SUCCESS : rc;
    } catch (const std::bad_alloc&) {
        return PMIX_ERR_NOMEM;
    } catch (const std::exception&) {  // a container asked for more than can exist
        return PMIX_ERR_OUT_OF_RESOURCE;
    }
}

}  // namespace pmix::api
