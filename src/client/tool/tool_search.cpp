// SPDX-License-Identifier: BSD-3-Clause
#include "client/tool/tool_search.h"

#include <unistd.h>

#include <algorithm>

#include "client/tool/server_survey.h"
#include "common/base/limits.h"
#include "common/values/rank_value.h"
#include "transport/rendezvous/rendezvous_file.h"
#include "transport/rendezvous/server_list.h"

namespace pmix::client {

using common::InfoView;
using common::ProcId;
using common::Result;
using transport::Deadline;
using transport::Descriptor;
using transport::Io;

namespace {

constexpr int64_t kPollMs = 50;

// A pid, or the pid in a structure about a process.
pmix_status_t read_pid(const pmix_info_t& info, pid_t& pid) {
    if (info.value.type == PMIX_PID) {
        pid = info.value.data.pid;
    } else if (info.value.type == PMIX_PROC_INFO && info.value.data.pinfo != nullptr) {
        pid = info.value.data.pinfo->pid;
    } else {
        int64_t n = 0;
        if (common::read_number(info.value, &n) != PMIX_SUCCESS || n > INT32_MAX) return PMIX_ERR_BAD_PARAM;
        pid = static_cast<pid_t>(n);
    }
    return pid > 0 ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
}

pmix_status_t read_self(InfoView infos, transport::EnvironmentReader read, ToolOptions& options) {
    std::string_view nspace;
    pmix_status_t rc = infos.get(PMIX_TOOL_NSPACE, &nspace);
    if (rc != PMIX_SUCCESS) return rc;
    if (nspace.size() > common::kMaxNspaceLength) return PMIX_ERR_BAD_PARAM;
    if (!nspace.empty()) {
        options.self = ProcId(nspace, 0);
        options.named_self = true;
        return common::read_rank(infos, PMIX_TOOL_RANK, options.self.rank);
    }
    if (infos.has(PMIX_TOOL_RANK)) return PMIX_ERR_BAD_PARAM;
    // A host has started this tool: the tool takes the identity in its environment, if there is one.
    auto environment = transport::read_client_environment(read);
    if (!environment) return environment.status() == PMIX_ERR_NOT_FOUND ? PMIX_SUCCESS : environment.status();
    options.self = environment->self;
    options.token = environment->token;
    return PMIX_SUCCESS;
}

pmix_status_t read_way(InfoView infos, transport::EnvironmentReader read, ToolOptions& options) {
    std::string_view file, uri, tcp, nspace;
    pmix_status_t rc = infos.get(PMIX_TOOL_ATTACHMENT_FILE, &file);
    if (rc == PMIX_SUCCESS) rc = infos.get(PMIX_SERVER_URI, &uri);
    if (rc == PMIX_SUCCESS) rc = infos.get(PMIX_TCP_URI, &tcp);
    if (rc == PMIX_SUCCESS) rc = infos.get(PMIX_SERVER_NSPACE, &nspace);
    if (rc != PMIX_SUCCESS) return rc;
    if (!uri.empty() && !tcp.empty()) return PMIX_ERR_BAD_PARAM;
    if (!tcp.empty()) uri = tcp;
    if (!file.empty()) {
        options.way = ToolOptions::Way::file;
        options.text = file;
    } else if (!uri.empty()) {
        options.way = uri.starts_with("file:") ? ToolOptions::Way::file : ToolOptions::Way::uri;
        options.text = options.way == ToolOptions::Way::file ? uri.substr(5) : uri;
    } else if (const pmix_info_t* pid = infos.find(PMIX_SERVER_PIDINFO)) {
        options.way = ToolOptions::Way::pid;
        return read_pid(*pid, options.pid);
    } else if (!nspace.empty()) {
        if (nspace.size() > common::kMaxNspaceLength) return PMIX_ERR_BAD_PARAM;
        options.way = ToolOptions::Way::nspace;
        options.server = ProcId(nspace, PMIX_RANK_UNDEF);
        return common::read_rank(infos, PMIX_SERVER_RANK, options.server.rank);
    } else if (infos.flag(PMIX_CONNECT_TO_SYSTEM)) {
        options.way = ToolOptions::Way::system;
    } else if (infos.flag(PMIX_CONNECT_SYSTEM_FIRST)) {
        options.way = ToolOptions::Way::system;
        options.any_after_system = true;
    } else if (const char* text = read(transport::kUriVariable)) {
        options.way = ToolOptions::Way::uri;
        options.text = text;
        options.from_environment = true;
    }
    return PMIX_SUCCESS;
}

class Search {
  public:
    Search(const ToolOptions& options, InfoView infos, const std::function<bool(const ProcId&)>& attached,
           Deadline deadline, const Io& io)
        : options_(options), infos_(infos), attached_(attached), deadline_(deadline), io_(io) {}

    Result<ToolFound> once() {
        switch (options_.way) {
            case ToolOptions::Way::file: {
                auto contact = transport::read_rendezvous_file(options_.text);
                if (!contact) return contact.status();
                return contacted(*contact);
            }
            case ToolOptions::Way::uri: {
                auto contact = transport::parse_uri(options_.text);
                if (!contact) return contact.status();
                return contacted(*contact);
            }
            case ToolOptions::Way::pid:
                return listed([this](const common::IdentityReply&, pid_t pid) { return pid == options_.pid; }, true,
                              Trust::any_for_root);
            case ToolOptions::Way::nspace:
                return listed(
                    [this](const common::IdentityReply& identity, pid_t) {
                        return identity.server.nspace == options_.server.nspace &&
                               (options_.server.rank == PMIX_RANK_UNDEF ||
                                identity.server.rank == options_.server.rank);
                    },
                    true, options_.observer ? Trust::any_for_root : Trust::own_or_root);
            case ToolOptions::Way::system: {
                auto found = listed([](const common::IdentityReply& identity,
                                       pid_t) { return (identity.offers & common::IdentityReply::kSystem) != 0; },
                                    true, Trust::own_or_root);
                if (found || !options_.any_after_system) return found;
                return anybody();
            }
            case ToolOptions::Way::any:
                return anybody();
        }
        return PMIX_ERR_UNREACH;
    }

  private:
    Result<ToolFound> anybody() {
        return listed(
            [this](const common::IdentityReply& identity, pid_t) {
                return options_.observer || (identity.offers & common::IdentityReply::kTools) != 0;
            },
            false, Trust::own_or_root);
    }

    Result<ToolFound> contacted(const transport::Contact& contact) {
        if (attached_(contact.server)) return already(contact.server);
        auto socket = connect_any(contact.addresses, sooner(deadline_, Deadline::in_ms(common::kHelloTimeoutMs)), io_);
        if (!socket) return socket.status();
        auto greeting = say_hello(std::move(socket).value(), Trust::any_for_root);
        if (!greeting) return greeting.status();
        // Somebody else by now.
        if (greeting->reply.server != contact.server) return PMIX_ERR_UNREACH;
        return ToolFound{false, contact.server, std::move(greeting).value(), transport::format_uri(contact)};
    }

    // named: the first that fits is the one that was asked for, and its answer is final. Else the first that accepts
    // us. A server's own claims (its namespace, that it is the system's) are no ground to trust another user.
    template <class Fits>
    Result<ToolFound> listed(Fits&& fits, bool named, Trust trust) {
        const uid_t me = ::geteuid();
        auto servers = transport::list_servers();
        // Ours before root's, and those of others last.
        const auto rank = [me](const transport::ListedServer& s) { return s.uid == me ? 0 : s.uid == 0 ? 1 : 2; };
        std::stable_sort(servers.begin(), servers.end(),
                         [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
        pmix_status_t why = PMIX_ERR_UNREACH;
        std::optional<ProcId> was_attached;
        std::optional<Result<ToolFound>> outcome;
        survey_servers(std::move(servers), trust, deadline_, io_, [&](SurveyedServer& server) {
            // A launcher has a server of its own.
            if (server.peer.pid == ::getpid() || !fits(server.identity, server.peer.pid)) return Visited::not_meant;
            if (attached_(server.identity.server)) {
                was_attached = server.identity.server;
                return Visited::meant;
            }
            auto greeting = say_hello(std::move(server.socket), trust);
            if (greeting) {
                outcome.emplace(ToolFound{false, server.identity.server, std::move(greeting).value(),
                                          transport::format_uri({server.identity.server, {server.listed.address}})});
                return Visited::enough;
            }
            why = greeting.status();
            if (named && options_.server.rank != PMIX_RANK_UNDEF) outcome.emplace(why);
            return outcome ? Visited::enough : Visited::meant;
        });
        if (outcome) return std::move(*outcome);
        // Of a namespace with several servers a new one comes first.
        if (named && was_attached && why == PMIX_ERR_UNREACH) return already(*was_attached);
        return why;
    }

    Result<Greeting> say_hello(Descriptor socket, Trust trust) {
        common::HelloRequest mine;
        mine.role = options_.observer ? common::PeerRole::observer : common::PeerRole::tool;
        if (!options_.observer) {
            mine.nspace = options_.self.nspace;
            mine.rank = options_.self.rank;
        }
        // The token proves a process to the server that started it; to others the name is all there is.
        const bool home = options_.token.present() && (options_.from_environment);
        return greet(std::move(socket), std::move(mine), home ? options_.token : common::Token{}, infos_.begin(),
                     infos_.size(), trust, sooner(deadline_, Deadline::in_ms(common::kHelloTimeoutMs)), io_);
    }

    static ToolFound already(const ProcId& server) {
        ToolFound found;
        found.already = true;
        found.server = server;
        return found;
    }

    const ToolOptions& options_;
    const InfoView infos_;
    const std::function<bool(const ProcId&)>& attached_;
    const Deadline deadline_;
    const Io& io_;
};

// Might waiting help?
bool may_come(pmix_status_t why) noexcept {
    return why == PMIX_ERR_UNREACH || why == PMIX_ERR_NOT_FOUND || why == PMIX_ERR_TIMEOUT;
}

}  // namespace

Result<ToolOptions> read_tool_options(InfoView infos, transport::EnvironmentReader read) {
    ToolOptions options;
    pmix_status_t rc = read_self(infos, read, options);
    if (rc == PMIX_SUCCESS) rc = read_way(infos, read, options);
    if (rc == PMIX_SUCCESS) rc = infos.get(PMIX_CONNECT_MAX_RETRIES, &options.retries);
    if (rc == PMIX_SUCCESS) rc = infos.get(PMIX_CONNECT_RETRY_DELAY, &options.delay_s);
    if (rc == PMIX_SUCCESS) rc = infos.get(PMIX_TIMEOUT, &options.timeout_s);
    if (rc != PMIX_SUCCESS) return rc;
    if (options.timeout_s < 0) return PMIX_ERR_BAD_PARAM;
    options.nowhere = infos.flag(PMIX_TOOL_DO_NOT_CONNECT);
    options.optional = infos.flag(PMIX_TOOL_CONNECT_OPTIONAL);
    options.primary = infos.flag(PMIX_PRIMARY_SERVER);
    options.launcher = infos.flag(PMIX_LAUNCHER);
    options.observer = infos.flag(WIREUP_OBSERVER);
    options.wait = infos.flag(PMIX_WAIT_FOR_CONNECTION);
    return options;
}

ProcId made_up_identity() {
    char host[256] = "localhost";
    if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
    host[sizeof host - 1] = '\0';
    const std::string tail = "." + std::to_string(::getpid());
    return {"tool." + std::string(host).substr(0, common::kMaxNspaceLength - sizeof "tool." - tail.size()) + tail, 0};
}

Result<ToolFound> find_server(const ToolOptions& options, InfoView infos,
                              const std::function<bool(const ProcId&)>& attached, const Io& io,
                              const std::function<bool()>& gives_up) {
    const Deadline deadline =
        options.timeout_s > 0 ? Deadline::in_ms(int64_t{options.timeout_s} * 1000) : Deadline::never();
    for (uint32_t attempt = 0;; ++attempt) {
        auto found = Search(options, infos, attached, deadline, io).once();
        if (found || !may_come(found.status())) return found;
        if (!options.wait && attempt >= options.retries) return found;
        if (deadline.passed()) return options.wait || options.retries != 0 ? PMIX_ERR_TIMEOUT : found.status();
        const Deadline pause =
            sooner(deadline,
                   Deadline::in_ms(options.wait && options.retries == 0 ? kPollMs : int64_t{options.delay_s} * 1000));
        while (!pause.passed()) {
            if (gives_up && gives_up()) return PMIX_ERR_INIT;
            io.poll(nullptr, 0, sooner(pause, Deadline::in_ms(kPollMs)).poll_ms());
        }
    }
}

std::vector<common::IdentityReply> look_around(Deadline deadline, const Io& io) {
    std::vector<common::IdentityReply> all;
    survey_servers(transport::list_servers(), Trust::any_for_root, deadline, io, [&](SurveyedServer& server) {
        // What we can verify we do not take from it.
        server.identity.pid = static_cast<uint32_t>(server.peer.pid);
        server.identity.uri = transport::format_uri({server.identity.server, {server.listed.address}});
        all.push_back(std::move(server.identity));
        return Visited::meant;
    });
    return all;
}

}  // namespace pmix::client
