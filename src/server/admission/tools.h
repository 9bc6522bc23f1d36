// SPDX-License-Identifier: BSD-3-Clause
// Admission of tools: whether they are served at all, which users' tools may connect, and the names they have here.
//
// Plain state and rules; listener_tools asks the host. Loop thread only. A tool is served when the host enabled that
// (PMIX_SERVER_TOOL_SUPPORT) and has a tool_connected entry. It must belong to the server's own user, or root; a system
// server leaves the choice to its host, which is given the user. An observer sends requests to the library only and
// needs no host, but must belong to the server's own user or root.
#pragma once

#include <map>
#include <string>

#include "common/base/ids.h"
#include "common/protocol/messages.h"
#include "server/base/peer.h"
#include "server/host/host.h"
#include "server/namespaces/registry.h"

namespace pmix::server {

struct ToolRules {
    bool serves = false;  // PMIX_SERVER_TOOL_SUPPORT
    bool system = false;  // PMIX_SERVER_SYSTEM_SUPPORT
    bool scheduler = false;
    bool session = false;  // PMIX_SERVER_SESSION_SUPPORT
    uint32_t own_uid = 0;
};

class Tools {
  public:
    Tools(const ToolRules& rules, const Registry& registry, const Host& host) noexcept
        : rules_(rules), registry_(registry), host_(host) {}

    // May this user learn who the server is, and connect in this role? PMIX_ERR_NO_PERMISSIONS, or
    // PMIX_ERR_NOT_SUPPORTED where no tool is served.
    pmix_status_t may_ask(const Credentials& who) const noexcept;
    pmix_status_t may_connect(common::PeerRole role, const Credentials& who) const noexcept;
    uint32_t offers() const noexcept;

    // A name that a tool says it has. PMIX_ERR_EXISTS: it is a job's.
    pmix_status_t may_claim(const common::ProcId& id) const noexcept;
    // Takes a name into use. PMIX_ERR_EXISTS: a process or another tool has it. A host may have registered a namespace
    // for this tool while it was asked: one of no other process.
    pmix_status_t enter(const common::ProcId& id, const Credentials& who);
    void leave(const common::ProcId& id, const Credentials& who);
    // A name that nobody has, for a tool without one whose host named none.
    common::ProcId make_name(const std::string& hostname, const Credentials& who);

    size_t size() const noexcept { return names_.size(); }

  private:
    struct Holder {
        pid_t pid = 0;
        unsigned connections = 0;
    };
    bool own_or_root(const Credentials& who) const noexcept { return who.uid == rules_.own_uid || who.uid == 0; }

    const ToolRules rules_;
    const Registry& registry_;
    const Host& host_;
    std::map<common::ProcId, Holder> names_;
    uint64_t next_ = 1;
};

}  // namespace pmix::server
