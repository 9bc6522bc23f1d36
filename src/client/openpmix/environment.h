// SPDX-License-Identifier: BSD-3-Clause
// What a server that speaks OpenPMIx's protocol puts into a child's environment, and the reading of it.
//
//   PMIX_NAMESPACE, PMIX_RANK          who the child is
//   PMIX_SERVER_URI61, 51, 41, 4       SERVER_NSPACE.RANK;tcp4://A.B.C.D:PORT, under each encoding that it has
//   PMIX_VERSION                       the server's release
//   PMIX_SECURITY_MODE                 names of modules, the best first
//   PMIX_GDS_MODULE                    names of modules of data, the best first
//   PMIX_MCA_bfrops                    encodings that may be used, or behind ^ those that may not
//   PMIX_BFROP_BUFFER_TYPE             whether messages carry the types of what they hold
//
// Asked only where the environment has no server of this library's own, or that of an outer job, whose addresses are
// passed over (transport/rendezvous/rendezvous.h). The name
// under which the address was found is the encoding. Releases before 4.0 speak another one, which this library has for
// its server only.
//
// Pure, any thread. What can go wrong: PMIX_ERR_NOT_FOUND no namespace, or no address under any of the names above;
// PMIX_ERR_BAD_PARAM something is not in its form; PMIX_ERR_NOT_SUPPORTED an address that is not IPv4's, a server
// that wants another proof of the user than the kernel's, or one that may use none of this library's encodings.
#pragma once

#include <string>

#include "client/openpmix/server_address.h"
#include "common/base/ids.h"
#include "common/base/status.h"
#include "openpmix/hello.h"
#include "openpmix/traits.h"
#include "transport/rendezvous/rendezvous.h"

namespace pmix::client {

struct OpenPmixEnvironment : OpenPmixAddress {
    common::ProcId self;
    std::string encoding;  // "v41"
    std::string security;  // the module that is to be named: "native" or "none"
    std::string store;     // the module of data that is to be named
    uint8_t buffer_kind = 0;
    openpmix::Traits traits;  // of the server
    openpmix::PeerKind kind = openpmix::PeerKind::client;
};

common::Result<OpenPmixEnvironment> read_openpmix_environment(transport::EnvironmentReader read);

// A tool's. The same without an identity: the environment describes a server to any process.
common::Result<OpenPmixEnvironment> read_openpmix_server(transport::EnvironmentReader read);
// A server that was found by its file. PMIX_ERR_NOT_SUPPORTED: nothing says its release, or it is one before 4.0.
common::Result<OpenPmixEnvironment> describe_openpmix_server(const OpenPmixContact& contact);

}  // namespace pmix::client
