// SPDX-License-Identifier: BSD-3-Clause
#include "server/admission/refusal_reason.h"

namespace pmix::server {

using common::ProcId;

namespace {

// The name that an unregistered process gives itself, without line ends and control characters.
std::string printable(std::string text) {
    for (char& c : text)
        if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
    return text;
}

std::string reason_for(const Registry& registry, const ProcId& claimed, const Credentials& who, pmix_status_t status) {
    const Nspace* nspace = registry.find(claimed.nspace);
    if (nspace == nullptr) return "the namespace was never registered";
    const Client* client = nspace->find_client(claimed.rank);
    if (client != nullptr) {
        if (status == PMIX_ERR_NOT_FOUND || client->uid == who.uid) return "";
        return "the rank was registered for user " + std::to_string(client->uid);
    }
    if (status != PMIX_ERR_NOT_FOUND) return "";
    if (nspace->has_left(claimed.rank)) return "the rank has ended, or was deregistered";
    if (nspace->size_known() && !nspace->has_rank(claimed.rank))
        return claimed.rank < nspace->size() ? "the rank is not in the process map of the job"
                                             : "the size of the job is " + std::to_string(nspace->size());
    return "the rank was never registered, though the namespace was";
}

}  // namespace

std::string refusal_reason(const Registry& registry, const ProcId& claimed, const Credentials& who,
                           pmix_status_t status) {
    if (claimed.nspace.empty()) return "";
    const std::string reason = reason_for(registry, claimed, who, status);
    return ", \"" + printable(claimed.nspace) + "\":" + std::to_string(claimed.rank) +
           (reason.empty() ? "" : ": " + reason);
}

}  // namespace pmix::server
