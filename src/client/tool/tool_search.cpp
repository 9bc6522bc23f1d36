// SPDX-License-Identifier: BSD-3-Clause
#include "client/tool/tool_search.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "client/openpmix/greeting.h"
#include "client/tool/process_tree.h"
#include "client/tool/server_choice.h"
#include "client/tool/server_survey.h"
#include "common/base/limits.h"
#include "common/base/log.h"
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
// Folders are not walked through at each look.
constexpr uint32_t kLooksPerWalk = 10;
// Of one of several servers that speak OpenPMIx's protocol.
constexpr int64_t kOneOfSeveralMs = 2000;

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

// A tool that a server with OpenPMIx's library has started is the process that it was started as, unless it was named.
pmix_status_t read_openpmix_way(transport::EnvironmentReader read, ToolOptions& options) {
    auto server = read_openpmix_server(read);
    // Under these names there may be an address of this library's own.
    if (!server) return PMIX_SUCCESS;
    options.way = ToolOptions::Way::uri;
    options.text = server->uri;
    options.from_environment = true;
    if (!options.named_self) {
        auto self = transport::read_identity(read);
        if (!self && self.status() != PMIX_ERR_NOT_FOUND) return self.status();
        if (self) {
            options.self = std::move(*self);
            server->kind = openpmix::PeerKind::client_tool;
        }
    }
    options.openpmix = std::move(*server);
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
    std::string_view others;
    rc = infos.get(PMIX_SERVER_ALT_URIS, &others);
    if (rc != PMIX_SUCCESS) return rc;
    if (!others.empty()) {
        auto list = parse_openpmix_others(others);
        if (!list) return list.status();
        options.others = std::move(*list);
    }
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
    } else if (infos.flag(PMIX_CONNECT_TO_SCHEDULER)) {
        options.way = ToolOptions::Way::scheduler;
    } else if (infos.flag(PMIX_CONNECT_TO_SYS_CONTROLLER)) {
        options.way = ToolOptions::Way::controller;
    } else if (infos.flag(PMIX_CONNECT_SYSTEM_FIRST)) {
        options.way = ToolOptions::Way::system;
        options.any_after_system = true;
    } else if (const char* text = read(transport::kUriVariable);
               text != nullptr && !transport::read_outer_server(read)) {
        options.way = ToolOptions::Way::uri;
        options.text = text;
        options.from_environment = true;
    } else {
        return read_openpmix_way(read, options);
    }
    return PMIX_SUCCESS;
}

// A file of one of ours is for tools with OpenPMIx's library.
std::vector<OpenPmixFile> files_of_others(const OpenPmixPlaces& places, bool* cut = nullptr) {
    const auto listed = transport::list_servers();
    const auto is_ours = [&](const OpenPmixFile& file) {
        return file.contact.pid == ::getpid() ||
               std::any_of(listed.begin(), listed.end(), [&](const auto& s) { return s.pid == file.contact.pid; });
    };
    std::vector<OpenPmixFile> files = list_openpmix_files(places, cut);
    std::erase_if(files, is_ours);
    return files;
}

bool is_there(pid_t pid) noexcept {
    return ::kill(pid, 0) == 0 || errno != ESRCH;
}

bool may_be_there(const OpenPmixFile& file) noexcept {
    return file.contact.pid == 0 || is_there(file.contact.pid);
}

class Search {
  public:
    Search(const ToolOptions& options, InfoView infos, const std::function<bool(const ProcId&)>& attached,
           Deadline deadline, const Io& io, bool walks)
        : options_(options), infos_(infos), attached_(attached), deadline_(deadline), io_(io), walks_(walks) {}

    Result<ToolFound> once() {
        switch (options_.way) {
            case ToolOptions::Way::file:
                return described();
            case ToolOptions::Way::uri: {
                if (options_.openpmix) return contacted(*options_.openpmix, common::kHelloTimeoutMs);
                if (is_openpmix_address(options_.text)) return addressed();
                auto contact = transport::parse_uri(options_.text);
                if (!contact) return contact.status();
                return contacted(*contact);
            }
            case ToolOptions::Way::pid:
                return or_filed(
                    in_process(),
                    [this](const OpenPmixFile& file) {
                        return file.of == OpenPmixFile::Of::tools &&
                               (file.contact.pid == options_.pid || file.name == std::to_string(options_.pid));
                    },
                    true);
            case ToolOptions::Way::nspace: {
                const auto has_rank = [this](const ProcId& server) {
                    return options_.server.rank == PMIX_RANK_UNDEF || server.rank == options_.server.rank;
                };
                const auto is_meant = [&](const ProcId& server) {
                    return server.nspace == options_.server.nspace && has_rank(server);
                };
                return or_filed(
                    listed(
                        [&](const common::IdentityReply& identity, pid_t) {
                            if (is_meant(identity.server)) return Fit::by_name;
                            return identity.has_nspace && has_rank(identity.server) ? Fit::by_job : Fit::no;
                        },
                        {true, options_.observer ? Trust::any_for_root : Trust::own_or_root, options_.requests.server},
                        {options_.server.nspace, {}}),
                    [&](const OpenPmixFile& file) { return is_meant(file.contact.address.server); }, true);
            }
            case ToolOptions::Way::system: {
                auto found = or_filed(
                    listed([](const common::IdentityReply& identity,
                              pid_t) { return fit((identity.offers & common::IdentityReply::kSystem) != 0); },
                           {true, Trust::own_or_root, options_.requests.system}),
                    [](const OpenPmixFile& file) { return file.of == OpenPmixFile::Of::system; }, true);
                if (found || !options_.any_after_system) return found;
                return anybody();
            }
            case ToolOptions::Way::scheduler:
                return or_filed(
                    PMIX_ERR_UNREACH, [](const OpenPmixFile& file) { return file.of == OpenPmixFile::Of::scheduler; },
                    true);
            case ToolOptions::Way::controller:
                return or_filed(
                    PMIX_ERR_UNREACH, [](const OpenPmixFile& file) { return file.of == OpenPmixFile::Of::controller; },
                    true);
            case ToolOptions::Way::any:
                return anybody();
        }
        return PMIX_ERR_UNREACH;
    }

  private:
    Result<ToolFound> anybody() {
        return or_filed(
            listed(
                [this](const common::IdentityReply& identity, pid_t) {
                    return fit(options_.observer || (identity.offers & common::IdentityReply::kTools) != 0);
                },
                {false, Trust::own_or_root, options_.requests.any}),
            [](const OpenPmixFile& file) {
                return file.of == OpenPmixFile::Of::tools || file.of == OpenPmixFile::Of::system;
            },
            false);
    }

    // ---- servers that speak OpenPMIx's protocol ----

    // By the file that was named, which may be one of either library's.
    Result<ToolFound> described() {
        auto text = transport::read_rendezvous_text(options_.text);
        if (!text) return text.status();
        if (!is_openpmix_address(std::string_view(*text).substr(0, text->find('\n')))) {
            auto contact = transport::parse_rendezvous_text(*text);
            if (!contact) return contact.status();
            return contacted(*contact);
        }
        auto contact = parse_openpmix_contact(*text);
        if (!contact) return contact.status();
        return contacted(*contact, common::kHelloTimeoutMs);
    }

    // By the address alone, which does not tell the release. A server that takes tools has a file, which does.
    Result<ToolFound> addressed() {
        auto address = parse_openpmix_address(options_.text);
        if (!address) return address.status();
        OpenPmixContact contact;
        contact.address = std::move(*address);
        if (!options_.observer) {
            for (OpenPmixFile& file : list_openpmix_files(options_.places)) {
                if (file.contact.address.uri != contact.address.uri) continue;
                contact = std::move(file.contact);
                break;
            }
        }
        if (!options_.others.empty()) contact.address.others = options_.others;
        return contacted(contact, common::kHelloTimeoutMs);
    }

    // What was found among ours, or else a server that a file describes. One of ours that was named and refuses is
    // final.
    template <class Fits>
    Result<ToolFound> or_filed(Result<ToolFound>&& found, Fits&& fits, bool named) {
        const pmix_status_t why = found.status();
        const bool is_final = (named && why != PMIX_ERR_UNREACH) || why == PMIX_ERR_NOT_AVAILABLE;
        if (found || options_.observer || !walks_ || is_final || !is_hostname_here()) return std::move(found);
        bool cut = false;
        std::vector<OpenPmixFile> files = files_of_others(options_.places, &cut);
        std::erase_if(files, [&](const OpenPmixFile& file) { return !fits(file); });
        // Those of processes that are not there come last: in another namespace of processes they may be.
        std::stable_partition(files.begin(), files.end(), may_be_there);
        auto filed = first_of(files);
        // Not "no server": it may be behind the bound.
        if (cut && filed.status() == PMIX_ERR_UNREACH && why == PMIX_ERR_UNREACH) return PMIX_ERR_OUT_OF_RESOURCE;
        return filed || why == PMIX_ERR_UNREACH ? std::move(filed) : std::move(found);
    }

    // The first that accepts us; else why the last one did not that was there at all.
    Result<ToolFound> first_of(const std::vector<OpenPmixFile>& files) {
        pmix_status_t why = PMIX_ERR_UNREACH;
        std::optional<ProcId> was_attached;
        for (const OpenPmixFile& file : files) {
            if (deadline_.passed()) break;
            if (attached_(file.contact.address.server)) {
                was_attached = file.contact.address.server;
                continue;
            }
            auto found = contacted(file.contact, files.size() == 1 ? common::kHelloTimeoutMs : kOneOfSeveralMs);
            if (found) return found;
            if (found.status() != PMIX_ERR_UNREACH) why = found.status();
        }
        if (was_attached && why == PMIX_ERR_UNREACH && options_.way != ToolOptions::Way::any)
            return already(*was_attached);
        return why;
    }

    Result<ToolFound> contacted(const OpenPmixContact& contact, int64_t patience_ms) {
        auto server = describe_openpmix_server(contact);
        if (!server) return server.status();
        return contacted(*server, patience_ms);
    }

    Result<ToolFound> contacted(const OpenPmixEnvironment& server, int64_t patience_ms) {
        if (options_.observer) return PMIX_ERR_NOT_SUPPORTED;
        if (attached_(server.server)) return already(server.server);
        OpenPmixEnvironment environment = server;
        environment.self = options_.self;
        environment.kind = kind_at(server);
        // A process of the server's own job is let in, or not, without a question to the host.
        const bool known = server.kind == openpmix::PeerKind::client_tool;
        if (!known && !server.traits.survives_refusal) {
            WIREUP_LOG(client, warn, "the server %s is not asked: its release may not survive that it refuses a tool",
                       server.uri.c_str());
            return PMIX_ERR_NOT_SUPPORTED;
        }
        auto greeted = greet_openpmix(std::move(environment),
                                      options_.places.hosts.empty() ? std::string() : options_.places.hosts.front(),
                                      infos_, sooner(deadline_, Deadline::in_ms(patience_ms)), io_);
        if (!greeted) {
            WIREUP_LOG(client, info, "the server %s does not let this tool in: %s", server.uri.c_str(),
                       common::log_status(greeted.status()));
            return greeted.status();
        }
        ToolFound found;
        found.server = server.server;
        found.greeting = std::move(greeted->greeting);
        found.uri = server.uri;
        found.shadow = std::move(greeted->shadow);
        found.traits = server.traits;
        return found;
    }

    openpmix::PeerKind kind_at(const OpenPmixEnvironment& server) const noexcept {
        using openpmix::PeerKind;
        if (server.kind == PeerKind::client_tool)
            return options_.launcher ? PeerKind::client_launcher : PeerKind::client_tool;
        if (options_.self.nspace.empty()) return options_.launcher ? PeerKind::launcher : PeerKind::tool;
        return options_.launcher ? PeerKind::named_launcher : PeerKind::named_tool;
    }

    // ---- servers of this library's own ----

    Result<ToolFound> contacted(const transport::Contact& contact) {
        if (attached_(contact.server)) return already(contact.server);
        auto socket = connect_any(contact.addresses, sooner(deadline_, Deadline::in_ms(common::kHelloTimeoutMs)), io_);
        if (!socket) return socket.status();
        auto greeting = say_hello(std::move(socket).value(), Trust::any_for_root);
        if (!greeting) return greeting.status();
        // Somebody else by now.
        if (greeting->reply.server != contact.server) return PMIX_ERR_UNREACH;
        return accepted(contact.server, std::move(greeting).value(), transport::format_uri(contact));
    }

    enum class Fit : uint8_t { no, by_job, by_name };
    static Fit fit(bool it_is) noexcept { return it_is ? Fit::by_name : Fit::no; }

    struct Demand {
        bool named;  // the first that stands best is the one that was asked for; its answer is final with a rank
        Trust trust;
        const FolderRequest& folder;
    };

    // A server's own claims (its namespace, that it is the system's) are no ground to trust another user.
    template <class Fits>
    Result<ToolFound> listed(Fits&& fits, const Demand& demand, const SurveyQuestion& question = {}) {
        const std::vector<pid_t> ancestors = ancestry_of(::getpid());
        std::optional<ProcId> was_attached;
        std::vector<MetServer> met;
        // Half of the time is for the hello.
        const Deadline until = deadline_.is_never() ? deadline_ : Deadline::in_ms(deadline_.remaining_ns() / 2'000'000);
        survey_servers(
            transport::list_servers(), demand.trust, until, io_,
            [&](SurveyedServer& server) {
                // A launcher has a server of its own.
                if (server.peer.pid == ::getpid()) return Visited::not_meant;
                const Fit fitting = fits(server.identity, server.peer.pid);
                if (fitting == Fit::no || !satisfies(options_.requests, demand.folder, server.identity))
                    return Visited::not_meant;
                if (attached_(server.identity.server)) {
                    // One that only has the job of this name is not the one that was named, which may still start.
                    if (fitting == Fit::by_name) was_attached = server.identity.server;
                    return Visited::meant;
                }
                const bool is_the_process = options_.way == ToolOptions::Way::pid && server.peer.pid == options_.pid;
                met.push_back(
                    placed_server(std::move(server), ancestors, demand.folder, fitting == Fit::by_job, ::geteuid()));
                return is_the_process ? Visited::enough : Visited::meant;
            },
            {}, question);
        sort_servers(met);
        pmix_status_t why = PMIX_ERR_UNREACH;
        for (size_t i = 0; i < met.size();) {
            const size_t count = first_standing(met, i);
            if (has_alike(met, i, count)) return refuse_to_choose(met, i, count);
            for (const size_t end = i + count; i < end; ++i) {
                SurveyedServer& server = met[i].server;
                auto greeting = say_hello(std::move(server.socket), demand.trust);
                if (greeting)
                    return accepted(server.identity.server, std::move(greeting).value(),
                                    transport::format_uri({server.identity.server, {server.listed.address}}));
                why = greeting.status();
                if (demand.named && options_.server.rank != PMIX_RANK_UNDEF) return why;
            }
        }
        // Of a namespace with several servers a new one comes first.
        if (demand.named && was_attached && why == PMIX_ERR_UNREACH) return already(*was_attached);
        return why;
    }

    static pmix_status_t refuse_to_choose(const std::vector<MetServer>& met, size_t from, size_t count) {
        for (size_t i = from; i < from + count; ++i) {
            const SurveyedServer& server = met[i].server;
            WIREUP_LOG(client, warn, "one of %zu servers that may be meant: %s:%u, pid %d, folder %s", count,
                       server.identity.server.nspace.c_str(), server.identity.server.rank,
                       static_cast<int>(server.peer.pid), server.identity.tmpdir.c_str());
        }
        return PMIX_ERR_NOT_AVAILABLE;
    }

    // The server in the process that was named, or those of the launcher that it is. Where one of them runs, no other
    // is asked.
    Result<ToolFound> in_process() {
        if (!is_there(options_.pid)) return PMIX_ERR_UNREACH;
        SurveyQuestion question;
        question.concerns = [this](pid_t pid) {
            const std::vector<pid_t> line = ancestry_of(pid);
            return pid == options_.pid || std::find(line.begin(), line.end(), options_.pid) != line.end();
        };
        const auto fits = [this](const common::IdentityReply& identity, pid_t pid) {
            if (pid == options_.pid) return Fit::by_name;
            return identity.launcher == static_cast<uint32_t>(options_.pid) ? Fit::by_job : Fit::no;
        };
        auto found = listed(fits, {true, Trust::any_for_root, options_.requests.server}, question);
        if (found || found.status() != PMIX_ERR_UNREACH) return found;
        // A launcher whose daemons are not its descendants: only their servers' answers name it.
        return listed(fits, {true, Trust::own_or_root, options_.requests.server});
    }

    bool is_hostname_here() const {
        const std::vector<std::string>& names = options_.places.hosts;
        return options_.requests.hostname.empty() ||
               std::any_of(names.begin(), names.end(),
                           [this](const std::string& name) { return is_hostname(name, options_.requests.hostname); });
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

    static ToolFound accepted(const ProcId& server, Greeting&& greeting, std::string&& uri) {
        ToolFound found;
        found.server = server;
        found.greeting = std::move(greeting);
        found.uri = std::move(uri);
        return found;
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
    const bool walks_;  // through folders, too
};

// Might waiting help? A process that is not there will be no server.
bool may_come(const ToolOptions& options, pmix_status_t why) noexcept {
    if (options.way == ToolOptions::Way::pid && !is_there(options.pid)) return false;
    return why == PMIX_ERR_UNREACH || why == PMIX_ERR_NOT_FOUND || why == PMIX_ERR_TIMEOUT;
}

// Files are looked for where servers of ours are accepted.
void narrow_places(ToolOptions& options) {
    const bool by_role = options.way == ToolOptions::Way::system || options.way == ToolOptions::Way::scheduler ||
                         options.way == ToolOptions::Way::controller;
    const FolderRequest& request =
        options.way == ToolOptions::Way::any ? options.requests.any : options.requests.server;
    if (by_role || !request.required) return;
    options.places.session = options.places.system = request.path;
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
    // Where files are is not a question of which server was meant for this process at its start.
    options.places = read_openpmix_places(infos);
    rc = read_requests(
        infos, [](const char* name) -> const char* { return ::secure_getenv(name); }, options.requests);
    if (rc != PMIX_SUCCESS) return rc;
    narrow_places(options);
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
        const bool walks = !options.wait || options.retries != 0 || attempt % kLooksPerWalk == 0;
        auto found = Search(options, infos, attached, deadline, io, walks).once();
        if (found || !may_come(options, found.status())) return found;
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

std::vector<common::IdentityReply> look_around(Deadline deadline, const Io& io, std::string_view nspace) {
    std::vector<common::IdentityReply> all;
    survey_servers(transport::list_servers(), Trust::any_for_root, deadline, io,
                   [&](SurveyedServer& server) {
                       // What we can verify we do not take from it.
                       server.identity.pid = static_cast<uint32_t>(server.peer.pid);
                       server.identity.uri = transport::format_uri({server.identity.server, {server.listed.address}});
                       all.push_back(std::move(server.identity));
                       return Visited::meant;
                   },
                   {}, {std::string(nspace), {}});
    return all;
}

std::vector<OpenPmixFile> openpmix_files_around() {
    std::vector<OpenPmixFile> files = files_of_others(read_openpmix_places(InfoView(nullptr, 0)));
    std::erase_if(files, [](const OpenPmixFile& file) { return !may_be_there(file); });
    return files;
}

}  // namespace pmix::client
