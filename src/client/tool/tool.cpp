// SPDX-License-Identifier: BSD-3-Clause
#include "client/tool/tool.h"

#include <cstdlib>

#include "client/openpmix/openpmix_channel.h"
#include "client/session/session.h"
#include "client/session/socket_channel.h"

namespace pmix::client {

using common::InfoView;
using common::ProcId;

namespace {

// The environment was read at init.
const char* read_nothing(const char*) {
    return nullptr;
}

// A server by name; a rank that names none means whichever of that namespace.
ProcId attached_as(const ServerSet& servers, const ProcId& wanted) {
    for (const ProcId& id : servers.servers()) {
        if (id == wanted || (!common::is_real_rank(wanted.rank) && id.nspace == wanted.nspace)) return id;
    }
    return {};
}

common::Result<ProcId> read_server(const pmix_proc_t* server) {
    if (server == nullptr) return PMIX_ERR_BAD_PARAM;
    ProcId id(*server);
    if (id.nspace.empty()) return PMIX_ERR_BAD_PARAM;
    return id;
}

}  // namespace

pmix_status_t attach_server(Session& session, ServerSet& servers, ToolFound& found) {
    if (session.is_shut()) return PMIX_ERR_INIT;
    session.own_facts().note_uri(found.server, found.uri);
    const pmix_status_t rc = servers.attach(
        found.server, [&](transport::ConnectionHandler& handler) -> common::Result<std::unique_ptr<Channel>> {
            transport::assert_on_loop();
            if (found.shadow != nullptr) {
                session.set_server_has_more();
                auto channel = OpenPmixChannel::open(session.loop(), std::move(found.greeting.socket),
                                                     std::move(found.shadow), session.self(), found.traits, handler);
                if (!channel) return channel.status();
                (*channel)->set_is_tool();
                return std::unique_ptr<Channel>(std::move(channel).value());
            }
            auto channel = SocketChannel::open(session.loop(), std::move(found.greeting.socket), handler);
            if (!channel) return channel.status();
            return std::unique_ptr<Channel>(std::move(channel).value());
        });
    if (rc != PMIX_SUCCESS) return rc;
    return session.server() == found.server
               ? session.add_segments(found.greeting.reply.segments, std::move(found.greeting.descriptors))
               : PMIX_SUCCESS;
}

pmix_status_t attach_to_server(Session& session, ServerSet& servers, InfoView infos, ProcId& server) {
    if (session.must_not_wait()) return PMIX_ERR_WOULD_BLOCK;
    auto options = read_tool_options(infos, &read_nothing);
    if (!options) return options.status();
    // A tool is the same for all its servers.
    if (options->named_self && options->self != session.self()) return PMIX_ERR_BAD_PARAM;
    options->self = session.self();
    auto found = find_server(
        *options, infos, [&](const ProcId& id) { return servers.has(id); }, session.loop().io(),
        [&] { return session.is_shut(); });
    if (!found) return found.status();
    server = found->server;
    pmix_status_t rc = PMIX_SUCCESS;
    session.on_loop_and_wait([&] {
        if (!found->already) rc = attach_server(session, servers, *found);
        // Another thread was faster.
        if (rc == PMIX_ERR_EXISTS) rc = PMIX_SUCCESS;
        if (rc == PMIX_SUCCESS && options->primary) rc = servers.set_primary(server);
    });
    return rc;
}

pmix_status_t disconnect_from_server(Session& session, ServerSet& servers, const pmix_proc_t* server) {
    auto wanted = read_server(server);
    if (!wanted) return wanted.status();
    // Its own server is part of the tool.
    const ProcId id = attached_as(servers, *wanted);
    if (id.nspace.empty() || id == session.self()) return PMIX_ERR_NOT_FOUND;
    // OpenPMIx's servers forget what the tool has asked for when they read this, not where the connection ends. On a
    // host's event base nobody may be there who reads the answer.
    std::vector<FinalizeWay> ways;
    const bool may_wait = !session.must_not_wait() && session.loop().drive() != transport::Drive::host_base;
    if (may_wait) WIREUP_RETURN_IF_ERROR(servers.take_to_finalize(id, ways));
    session.ask_to_finalize({}, ways);
    pmix_status_t rc = PMIX_ERROR;
    session.on_loop_and_wait([&] {
        transport::assert_on_loop();
        rc = servers.detach(id);
    });
    // It may have gone itself as soon as it had been asked.
    if (!ways.empty() && rc == PMIX_ERR_NOT_FOUND) rc = PMIX_SUCCESS;
    return rc;
}

pmix_status_t set_server(Session& session, ServerSet& servers, const pmix_proc_t* server, InfoView infos) {
    auto wanted = read_server(server);
    if (!wanted) return wanted.status();
    int timeout_s = 0;
    pmix_status_t rc = infos.get(PMIX_TIMEOUT, &timeout_s);
    if (rc != PMIX_SUCCESS || timeout_s < 0) return PMIX_ERR_BAD_PARAM;
    ProcId id = attached_as(servers, *wanted);
    if (id.nspace.empty()) {
        if (!infos.flag(PMIX_WAIT_FOR_CONNECTION)) return PMIX_ERR_UNREACH;
        if (session.must_not_wait()) return PMIX_ERR_WOULD_BLOCK;
        ToolOptions options;
        options.way = ToolOptions::Way::nspace;
        options.server = *wanted;
        if (!common::is_real_rank(options.server.rank)) options.server.rank = PMIX_RANK_UNDEF;
        options.wait = true;
        options.timeout_s = timeout_s;
        options.self = session.self();
        options.places = read_openpmix_places(infos);
        auto found = find_server(
            options, infos, [&](const ProcId& known) { return servers.has(known); }, session.loop().io(),
            [&] { return session.is_shut(); });
        if (!found) return found.status();
        id = found->server;
        if (!found->already) session.on_loop_and_wait([&] { rc = attach_server(session, servers, *found); });
        if (rc != PMIX_SUCCESS && rc != PMIX_ERR_EXISTS) return rc;
    }
    session.on_loop_and_wait([&] { rc = servers.set_primary(id); });
    return rc;
}

pmix_status_t get_servers(const ServerSet& servers, const ProcId& self, pmix_proc_t** array, size_t* n) {
    if (array == nullptr || n == nullptr) return PMIX_ERR_BAD_PARAM;
    *array = nullptr;
    *n = 0;
    std::vector<ProcId> ids = servers.servers();
    std::erase(ids, self);
    if (ids.empty()) return PMIX_ERR_UNREACH;
    auto* out = static_cast<pmix_proc_t*>(std::calloc(ids.size(), sizeof(pmix_proc_t)));
    if (out == nullptr) return PMIX_ERR_NOMEM;
    for (size_t i = 0; i < ids.size(); ++i) out[i] = ids[i].to_c();
    *array = out;
    *n = ids.size();
    return PMIX_SUCCESS;
}

}  // namespace pmix::client
