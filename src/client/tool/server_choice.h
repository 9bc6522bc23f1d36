// SPDX-License-Identifier: BSD-3-Clause
// Chooses among the servers that have answered a tool: attributes and variables narrow, and the rest is an order.
//
// Pure but for the file system, which resolves the names of folders; any thread. The nearest ancestor of the tool comes
// first (the job in which it runs), then servers of the tool's own user, then root's; of these those of sessions before
// the system's, then those of a folder that is preferred. Servers of one namespace with different ranks are one
// session, the lowest rank first; others that stand alike are not chosen from.
//
// What can go wrong: nothing; a folder that cannot be resolved is compared as it is written.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/tool/server_survey.h"
#include "common/values/info_view.h"
#include "transport/rendezvous/rendezvous.h"

namespace pmix::client {

struct FolderRequest {
    std::string path;       // empty: none
    bool required = false;  // else servers of the folder come first
    // Whose folder it is: the server's own, which may be below the path; the same or the system's; exactly the
    // system's.
    enum class Of : uint8_t { server, either, system };
    Of of = Of::server;
};

// Read from the tool's attributes and its environment. An attribute narrows, and so does the variable
// PMIX_SERVER_TMPDIR, unless the server has been named; the variables PMIX_SYSTEM_TMPDIR and TMPDIR only prefer.
struct ServerRequests {
    FolderRequest server;  // of a server that is named by its namespace or process
    FolderRequest any;     // of one that nothing else is named of
    FolderRequest system{"", false, FolderRequest::Of::system};
    std::string hostname;  // PMIX_SERVER_HOSTNAME
};
pmix_status_t read_requests(common::InfoView infos, transport::EnvironmentReader read, ServerRequests& requests);
// Of what is required.
bool satisfies(const ServerRequests& requests, const FolderRequest& folder, const common::IdentityReply& identity);
// The same node, with or without its domain.
bool is_hostname(std::string_view one, std::string_view other) noexcept;

// The folder itself, or one below it.
bool is_within(const std::string& folder, const std::string& top);

struct MetServer {
    SurveyedServer server;
    size_t distance = SIZE_MAX;  // generations from the tool up to the server; as many as there are, of no ancestor
    unsigned user = 0;           // the tool's own, root, another
    bool is_system = false;      // a session's server comes first
    bool aside = false;          // of another folder than the one that is preferred
    bool by_job = false;         // it has the job that was named, and has not the name itself
};

MetServer placed_server(SurveyedServer&& server, const std::vector<pid_t>& ancestors, const FolderRequest& folder,
                        bool by_job, uid_t me);

// Best first.
void sort_servers(std::vector<MetServer>& met);
// How many from the first one on are of its standing.
size_t first_standing(const std::vector<MetServer>& met, size_t from);
// Is one of these as good as another, without being another part of the same session?
bool has_alike(const std::vector<MetServer>& met, size_t from, size_t count);

}  // namespace pmix::client
