// SPDX-License-Identifier: BSD-3-Clause
#include "server/admission/tools.h"

#include <cassert>

namespace pmix::server {

using common::ProcId;

pmix_status_t Tools::may_ask(const Credentials& who) const noexcept {
    return rules_.system || own_or_root(who) ? PMIX_SUCCESS : PMIX_ERR_NO_PERMISSIONS;
}

pmix_status_t Tools::may_connect(common::PeerRole role, const Credentials& who) const noexcept {
    if (role == common::PeerRole::observer) return own_or_root(who) ? PMIX_SUCCESS : PMIX_ERR_NO_PERMISSIONS;
    WIREUP_RETURN_IF_ERROR(may_ask(who));
    return (offers() & common::IdentityReply::kTools) != 0 ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED;
}

uint32_t Tools::offers() const noexcept {
    uint32_t bits = 0;
    if ((rules_.serves || rules_.system || rules_.scheduler) && host_.has_tool_connected())
        bits |= common::IdentityReply::kTools;
    if (rules_.system) bits |= common::IdentityReply::kSystem;
    if (rules_.scheduler) bits |= common::IdentityReply::kScheduler;
    if (rules_.session) bits |= common::IdentityReply::kSession;
    return bits;
}

// A job's name is its processes'; what is theirs to read and write is not a tool's.
pmix_status_t Tools::may_claim(const ProcId& id) const noexcept {
    return registry_.find(id.nspace) != nullptr ? PMIX_ERR_EXISTS : PMIX_SUCCESS;
}

pmix_status_t Tools::enter(const ProcId& id, const Credentials& who) {
    if (id.nspace.empty() || !common::is_real_rank(id.rank)) return PMIX_ERR_BAD_PARAM;
    if (const Nspace* nspace = registry_.find(id.nspace); nspace != nullptr && nspace->is_a_job())
        return PMIX_ERR_EXISTS;
    Holder& holder = names_[id];
    // One process may come twice: back, before its old connection was seen to end. Of a TCP connection the kernel does
    // not tell the process.
    if (holder.connections != 0 && (who.pid <= 0 || holder.pid != who.pid)) return PMIX_ERR_EXISTS;
    holder.pid = who.pid;
    ++holder.connections;
    return PMIX_SUCCESS;
}

void Tools::leave(const ProcId& id, const Credentials& who) {
    auto it = names_.find(id);
    if (it == names_.end() || it->second.pid != who.pid) return;
    assert(it->second.connections > 0);
    if (--it->second.connections == 0) names_.erase(it);
}

ProcId Tools::make_name(const std::string& hostname, const Credentials& who) {
    const std::string tail = '.' + std::to_string(who.pid) + '.' + std::to_string(next_++);
    return {"tool." + hostname.substr(0, common::kMaxNspaceLength - sizeof "tool." - tail.size()) + tail, 0};
}

}  // namespace pmix::server
