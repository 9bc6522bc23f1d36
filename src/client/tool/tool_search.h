// SPDX-License-Identifier: BSD-3-Clause
// How a tool finds a server: what its attributes and its environment ask for, and the search.
//
// Runs on the caller's thread, waits up to the options' limit, owns nothing afterwards. Who serves is read from the
// kernel's list of our names (transport/rendezvous/server_list), so nothing depends on a file; a file is read where one
// is named. All on the list are asked at once (client/tool/server_survey). A server on the list is trusted only when
// the kernel reports the tool's own user or root as its owner.
//
// Servers that speak OpenPMIx's protocol are on no list: where none of ours is what was asked for, their files are
// looked at (client/openpmix/server_files), one after the other, those of processes that are there first. Each has a
// limit of time of its own, since a port may be anybody's by now. They are trusted as ours are, and take no observers.
// None is asked without a file by which it is of a release that survives a refusal (openpmix/traits.h).
//
// The first of these that is given counts: a file, a URI (also from the environment, last), a pid, a namespace, the
// system's server, the scheduler, the system's controller, the system's server or else any, any. One that was named and
// cannot be had is an error; so is naming two in PMIX_SERVER_URI and PMIX_TCP_URI.
//
// What can go wrong: PMIX_ERR_BAD_PARAM for impossible options, PMIX_ERR_NOT_FOUND for a file that is not there,
// PMIX_ERR_UNREACH: no server, or none that is not attached already; a named server's status when it refuses;
// PMIX_ERR_NOT_SUPPORTED for an observer at a server that takes none.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/openpmix/environment.h"
#include "client/openpmix/server_files.h"
#include "client/openpmix/shadow.h"
#include "client/session/handshake.h"
#include "client/tool/server_choice.h"
#include "common/base/ids.h"
#include "common/values/info_view.h"

namespace pmix::client {

struct ToolOptions {
    enum class Way : uint8_t { any, file, uri, pid, nspace, system, scheduler, controller };
    Way way = Way::any;
    bool any_after_system = false;
    bool nowhere = false;   // PMIX_TOOL_DO_NOT_CONNECT
    bool optional = false;  // PMIX_TOOL_CONNECT_OPTIONAL
    bool primary = false;   // PMIX_PRIMARY_SERVER
    bool observer = false;  // WIREUP_OBSERVER
    bool launcher = false;  // PMIX_LAUNCHER
    bool wait = false;      // PMIX_WAIT_FOR_CONNECTION: until the time is over, or for ever
    bool from_environment = false;
    std::string text;                 // of a file or a URI
    std::vector<sockaddr_in> others;  // PMIX_SERVER_ALT_URIS: of the server of the URI
    pid_t pid = 0;
    common::ProcId server;  // rank PMIX_RANK_UNDEF: any of the namespace
    uint32_t retries = 0;
    uint32_t delay_s = 1;
    int timeout_s = 0;
    common::ProcId self;      // PMIX_TOOL_NSPACE and _RANK, or the environment's; or none
    bool named_self = false;  // by attribute
    common::Token token;      // of the environment
    // The server that the environment describes, if it speaks OpenPMIx's protocol: of `text`.
    std::optional<OpenPmixEnvironment> openpmix;
    ServerRequests requests;
    OpenPmixPlaces places;  // where files of such servers are
};

common::Result<ToolOptions> read_tool_options(common::InfoView infos, transport::EnvironmentReader read);

// A name of its own for a tool that nobody names.
common::ProcId made_up_identity();

struct ToolFound {
    bool already = false;  // the one that was named is attached
    common::ProcId server;
    Greeting greeting;               // unless already
    std::string uri;                 // likewise
    std::unique_ptr<Shadow> shadow;  // of a server that speaks OpenPMIx's protocol, as the traits
    openpmix::Traits traits;
};
// attached: is the tool attached to this one? gives_up, if there is one, ends a wait for a server that is still to
// come: PMIX_ERR_INIT.
common::Result<ToolFound> find_server(const ToolOptions& options, common::InfoView infos,
                                      const std::function<bool(const common::ProcId&)>& attached,
                                      const transport::Io& io, const std::function<bool()>& gives_up = {});

// What can be seen of the servers of this node. Those that do not answer are left out.
// nspace: each says whether it has a job of this name.
std::vector<common::IdentityReply> look_around(transport::Deadline deadline, const transport::Io& io,
                                               std::string_view nspace = {});
// The files of servers that speak OpenPMIx's protocol, those of processes that have ended left out.
std::vector<OpenPmixFile> openpmix_files_around();

}  // namespace pmix::client
