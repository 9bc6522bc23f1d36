// SPDX-License-Identifier: BSD-3-Clause
// What a tool and a server exchange before the tool has an identity: the request for the server's identity.
//
// Pure values, any thread; field lists as in messages.h, which includes this. The question comes before the hello, on
// the same connection, so that a tool can look at the servers of a node without being announced to their hosts.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/field_list.h"
#include "common/base/ids.h"

namespace pmix::common {

struct IdentityRequest {
    uint32_t magic = 0;  // as in a hello
    std::string nspace;  // may be empty
    WIREUP_FIELDS(IdentityRequest, magic, nspace)
};

struct IdentityReply {
    // Bits of `offers`.
    static constexpr uint32_t kTools = 1;      // it accepts tools, and its host has an entry for them
    static constexpr uint32_t kSystem = 2;     // the system server of this node
    static constexpr uint32_t kScheduler = 4;  // the server of the scheduler
    static constexpr uint32_t kSession = 8;    // the server of a session

    ProcId server;
    uint32_t pid = 0;  // by the server itself; the kernel's is that of SO_PEERCRED
    uint32_t offers = 0;
    std::string hostname;
    std::string library_version;
    std::string uri;
    std::string tmpdir;         // its folder, by its host or else the one for temporary files
    std::string system_tmpdir;  // likewise, as a server of the system
    uint32_t launcher = 0;      // the process that stands for it to users, or 0
    bool has_nspace = false;    // that of the request is a job here
    WIREUP_FIELDS(IdentityReply, server, pid, offers, hostname, library_version, uri, tmpdir, system_tmpdir, launcher,
                  has_nspace)
};

}  // namespace pmix::common
