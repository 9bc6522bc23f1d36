// SPDX-License-Identifier: BSD-3-Clause
#include "client/tool/server_choice.h"

#include <stdlib.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <tuple>

namespace pmix::client {
namespace {

constexpr size_t kMaxFolderText = 4096;

std::string resolved_folder(const std::string& path) {
    struct Free {
        void operator()(char* text) const noexcept { ::free(text); }
    };
    const std::unique_ptr<char, Free> real(::realpath(path.c_str(), nullptr));
    std::string out = real ? real.get() : path;
    while (out.size() > 1 && out.back() == '/') out.pop_back();
    return out;
}

bool is_of_folder(const FolderRequest& request, const common::IdentityReply& identity) {
    if (request.of == FolderRequest::Of::system)
        return !identity.system_tmpdir.empty() &&
               resolved_folder(identity.system_tmpdir) == resolved_folder(request.path);
    return is_within(identity.tmpdir, request.path) ||
           (request.of == FolderRequest::Of::either && is_within(identity.system_tmpdir, request.path));
}

auto standing_of(const MetServer& met) {
    // Another user's server, which only root meets, may claim any job.
    return std::make_tuple(met.user == 2, met.by_job, met.distance, met.user, met.is_system, met.aside);
}

}  // namespace

pmix_status_t read_requests(common::InfoView infos, transport::EnvironmentReader read, ServerRequests& requests) {
    std::string_view server, system, hostname;
    WIREUP_RETURN_IF_ERROR(infos.get(PMIX_SERVER_TMPDIR, &server));
    WIREUP_RETURN_IF_ERROR(infos.get(PMIX_SYSTEM_TMPDIR, &system));
    WIREUP_RETURN_IF_ERROR(infos.get(PMIX_SERVER_HOSTNAME, &hostname));
    const auto variable = [read](const char* name) -> std::string {
        const char* text = read(name);
        return text != nullptr && common::bounded_length(text, kMaxFolderText) < kMaxFolderText ? text : "";
    };
    using Of = FolderRequest::Of;
    const auto first_of = [](std::initializer_list<FolderRequest> some) {
        for (const FolderRequest& one : some)
            if (!one.path.empty()) return one;
        return FolderRequest{};
    };
    const std::string of_server = variable("PMIX_SERVER_TMPDIR"), of_system = variable("PMIX_SYSTEM_TMPDIR"),
                      temporary = variable("TMPDIR");
    requests.hostname = hostname;
    requests.server = first_of(
        {{std::string(server), true, Of::server}, {of_server, false, Of::server}, {temporary, false, Of::server}});
    requests.any = first_of({{std::string(server), true, Of::server},
                             {std::string(system), true, Of::either},
                             {of_server, true, Of::server},
                             {of_system, false, Of::either},
                             {temporary, false, Of::server}});
    requests.system = first_of(
        {{std::string(system), true, Of::system}, {of_system, false, Of::system}, {temporary, false, Of::system}});
    return PMIX_SUCCESS;
}

bool satisfies(const ServerRequests& requests, const FolderRequest& folder, const common::IdentityReply& identity) {
    if (!requests.hostname.empty() && !is_hostname(identity.hostname, requests.hostname)) return false;
    return folder.path.empty() || !folder.required || is_of_folder(folder, identity);
}

bool is_hostname(std::string_view one, std::string_view other) noexcept {
    if (one == other) return true;
    const size_t dot = one.find('.'), dot_of_other = other.find('.');
    if ((dot == one.npos) == (dot_of_other == other.npos)) return false;
    return one.substr(0, dot) == other.substr(0, dot_of_other);
}

MetServer placed_server(SurveyedServer&& server, const std::vector<pid_t>& ancestors, const FolderRequest& folder,
                        bool by_job, uid_t me) {
    MetServer met;
    // The kernel names the server's process; its launcher is its own claim.
    const bool is_trusted = server.peer.uid == me || server.peer.uid == 0;
    for (const pid_t pid : {server.peer.pid, is_trusted ? static_cast<pid_t>(server.identity.launcher) : pid_t{0}}) {
        const auto at = pid > 0 ? std::find(ancestors.begin(), ancestors.end(), pid) : ancestors.end();
        met.distance = std::min(met.distance, static_cast<size_t>(at - ancestors.begin()));
    }
    met.user = server.peer.uid == me ? 0 : server.peer.uid == 0 ? 1 : 2;
    met.aside = !folder.path.empty() && !is_of_folder(folder, server.identity);
    met.is_system = (server.identity.offers & common::IdentityReply::kSystem) != 0;
    met.by_job = by_job;
    met.server = std::move(server);
    return met;
}

bool is_within(const std::string& folder, const std::string& top) {
    if (folder.empty() || top.empty()) return false;
    const std::string inner = resolved_folder(folder), outer = resolved_folder(top);
    return inner == outer || outer == "/" || inner.starts_with(outer + "/");
}

void sort_servers(std::vector<MetServer>& met) {
    const auto order = [](const MetServer& one) {
        return std::tuple_cat(standing_of(one), std::tie(one.server.identity.server));
    };
    std::stable_sort(met.begin(), met.end(),
                     [&](const MetServer& a, const MetServer& b) { return order(a) < order(b); });
}

size_t first_standing(const std::vector<MetServer>& met, size_t from) {
    size_t end = from;
    while (end < met.size() && standing_of(met[end]) == standing_of(met[from])) ++end;
    return end - from;
}

bool has_alike(const std::vector<MetServer>& met, size_t from, size_t count) {
    for (size_t i = from + 1; i < from + count; ++i) {
        const common::ProcId& before = met[i - 1].server.identity.server;
        const common::ProcId& here = met[i].server.identity.server;
        if (before.nspace != here.nspace || before.rank == here.rank) return true;
    }
    return false;
}

}  // namespace pmix::client
