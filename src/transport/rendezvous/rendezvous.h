// SPDX-License-Identifier: BSD-3-Clause
// How a process finds its server: the text in its environment, and the reading of it.
//
//   PMIX_SERVER_URI_WIREUP = SERVER_NSPACE.RANK;wireup:ADDRESS[;ADDRESS...]
//       ADDRESS: @wireup/UID/PID/NONCE, or the absolute path of a socket file, tried in order; ';' and '%' in a path
//       are written %3B and %25
//   PMIX_WIREUP_TOKEN      = 64 hexadecimal digits: what proves the rank to the server and the server to the rank
//
// The variables that other MPI and PMIx libraries read (PMIX_SERVER_URI41 and so on) have the same text, or, where the
// server serves OpenPMIx's processes too, the address for them. A library without this scheme finds no address in the
// former and reports that there is no server.
//
// A server sets them all. Where one of those names another server, a launcher with another library has started this
// process inside a job of ours: the first two are what it inherited, and count no more.
//
// Pure functions, any thread. The environment is hostile: too long, not text, not in this form is PMIX_ERR_BAD_PARAM,
// absence is PMIX_ERR_NOT_FOUND.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/protocol/hello.h"

namespace pmix::transport {

inline constexpr const char* kUriVariable = "PMIX_SERVER_URI_WIREUP";
inline constexpr const char* kTokenVariable = "PMIX_WIREUP_TOKEN";

// The addresses on which a server listens, and its identity.
struct Contact {
    common::ProcId server;
    std::vector<std::string> addresses;  // at least one
};

std::string format_uri(const Contact& contact);
common::Result<Contact> parse_uri(std::string_view uri);

// The contents of a client's environment. A missing variable of the three is PMIX_ERR_NOT_FOUND, and so are those of an
// outer job.
struct ClientEnvironment {
    common::ProcId self;  // PMIX_NAMESPACE, PMIX_RANK
    Contact contact;
    common::Token token;  // all zero: none was given
};

using EnvironmentReader = const char* (*)(const char* name);  // ::secure_getenv, or a test's

// The identity alone (a client without a server still has one).
common::Result<common::ProcId> read_identity(EnvironmentReader read);
common::Result<ClientEnvironment> read_client_environment(EnvironmentReader read);

// The server of the outer job, where the process is one of an inner job of another library; what still names this one
// (is_of_server) is inherited.
std::optional<common::ProcId> read_outer_server(EnvironmentReader read);
bool is_of_server(std::string_view uri, const common::ProcId& server);

// Whether the environment describes a server of any PMIx library to this process: a namespace and an address under one
// of the names that releases use. `variables` is the process's environ.
bool describes_server(EnvironmentReader read, const char* const* variables);

// The variables a server sets for a child: for all of them the URI under all its names, for each its identity and
// token. openpmix_uri: what the names that OpenPMIx's releases since 3 read have instead, if there is one.
std::vector<std::pair<std::string, std::string>> server_variables(const std::string& uri,
                                                                  const std::string& openpmix_uri = {});
std::vector<std::pair<std::string, std::string>> client_variables(const common::ProcId& child,
                                                                  const common::Token& token);

}  // namespace pmix::transport
