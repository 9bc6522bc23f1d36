// SPDX-License-Identifier: BSD-3-Clause
#include "client/services/resolve.h"

#include <cstdlib>
#include <cstring>
#include <string>

#include "client/session/request.h"
#include "client/session/session.h"

namespace pmix::client {
namespace {

using common::Command;

// These calls take no attribute, and so no limit of the caller's.
constexpr int kLimitS = 30;

// Longer than any host name; a name that goes on is not one.
constexpr size_t kMaxNodeName = 1024;

common::Result<std::string_view> checked_nspace(const char* nspace) noexcept {
    if (nspace == nullptr) return std::string_view{};
    const size_t length = common::bounded_length(nspace, common::kMaxNspaceLength + 1);
    if (length > common::kMaxNspaceLength) return PMIX_ERR_BAD_PARAM;
    return std::string_view(nspace, length);
}

// The segment may have been replaced, or the namespace has ended: then it is not found afterwards. Where the server
// cannot be asked, what is mapped has what it has. PMIX_ERR_TIMEOUT: the server does not answer, and is not asked
// again.
pmix_status_t renew_if_superseded(Session& session, std::string_view nspace, TimeLimit limit) {
    if (nspace.empty() || session.must_not_wait()) return PMIX_SUCCESS;
    {
        Reading reading;
        const dstore::Reader* reader = session.reader(nspace);
        if (reader == nullptr || !reader->is_superseded()) return PMIX_SUCCESS;
    }
    return session.renew(nspace, limit) == PMIX_ERR_TIMEOUT ? PMIX_ERR_TIMEOUT : PMIX_SUCCESS;
}

// Inside a Reading. The reader of a segment that has the placement of its processes, or null.
const dstore::Reader* placed(Session& session, std::string_view nspace, TimeLimit limit) {
    if (nspace.empty()) return nullptr;
    const dstore::Reader* reader = session.reader(nspace);
    if (reader == nullptr && session.attach_here(nspace, limit) == PMIX_SUCCESS) reader = session.reader(nspace);
    return reader != nullptr && reader->nodes() != 0 ? reader : nullptr;
}

std::optional<uint32_t> find_node(Session& session, const dstore::Reader& reader, const char* node) {
    if (node != nullptr) return reader.node_by_name(node);
    const dstore::Reader* own = session.own_reader();
    if (own == nullptr) return std::nullopt;
    const auto here = own->node_of(session.self().rank);
    if (!here || own == &reader) return here;
    return reader.node_by_name(own->node_name(*here));
}

pmix_status_t hand_out(const common::ProcList& procs, pmix_proc_t** ret_procs, size_t* ret_nprocs) {
    if (procs.empty()) return PMIX_SUCCESS;
    auto* array = static_cast<pmix_proc_t*>(std::calloc(procs.size(), sizeof(pmix_proc_t)));
    if (array == nullptr) return PMIX_ERR_NOMEM;
    for (size_t i = 0; i < procs.size(); ++i) array[i] = procs[i].to_c();
    *ret_procs = array;
    *ret_nprocs = procs.size();
    return PMIX_SUCCESS;
}

pmix_status_t hand_out(const std::string& text, char** ret) {
    *ret = ::strdup(text.c_str());
    return *ret == nullptr ? PMIX_ERR_NOMEM : PMIX_SUCCESS;
}

}  // namespace

pmix_status_t resolve_peers(Session& session, const char* node, const char* nspace, pmix_proc_t** ret_procs,
                            size_t* ret_nprocs) {
    if (ret_procs != nullptr) *ret_procs = nullptr;
    if (ret_nprocs != nullptr) *ret_nprocs = 0;
    if (ret_procs == nullptr || ret_nprocs == nullptr) return PMIX_ERR_BAD_PARAM;
    auto ns = checked_nspace(nspace);
    if (!ns) return ns.status();
    if (node != nullptr && common::bounded_length(node, kMaxNodeName + 1) > kMaxNodeName) return PMIX_ERR_BAD_PARAM;

    common::ProcList procs;
    const TimeLimit limit(kLimitS);
    const pmix_status_t renewed = renew_if_superseded(session, *ns, limit);
    if (Reading reading; const dstore::Reader* reader = placed(session, *ns, limit)) {
        // A node that the namespace does not have may be one of others, or none; a host is on no node of it.
        if (const auto place = find_node(session, *reader, node)) {
            const uint32_t n = reader->local_size(*place).value_or(0);
            for (uint32_t i = 0; i < n; ++i) {
                if (const auto rank = reader->rank_on(*place, i)) procs.emplace_back(*ns, *rank);
            }
            return hand_out(procs, ret_procs, ret_nprocs);
        }
    }
    if (!session.has_server() && (ns->empty() || *ns == session.self().nspace) && node == nullptr) {
        procs.push_back(session.self());  // alone
        return hand_out(procs, ret_procs, ret_nprocs);
    }
    WIREUP_RETURN_IF_ERROR(renewed);
    common::ResolveRequest request;
    if (node != nullptr) request.node = node;
    request.nspace = *ns;
    common::ResolvePeersReply reply;
    const pmix_status_t rc = session.ask<Command::resolve_peers>(request, reply, limit.left_s());
    return rc == PMIX_SUCCESS ? hand_out(reply.procs, ret_procs, ret_nprocs) : rc;
}

pmix_status_t resolve_nodes(Session& session, const char* nspace, char** ret_nodes) {
    if (ret_nodes == nullptr) return PMIX_ERR_BAD_PARAM;
    *ret_nodes = nullptr;
    auto ns = checked_nspace(nspace);
    if (!ns) return ns.status();
    const TimeLimit limit(kLimitS);
    const pmix_status_t renewed = renew_if_superseded(session, *ns, limit);
    if (Reading reading; const dstore::Reader* reader = placed(session, *ns, limit)) {
        std::string text;
        for (uint32_t i = 0; i < reader->nodes(); ++i) {
            if (reader->local_size(i).value_or(0) == 0 || reader->node_name(i).empty()) continue;
            if (!text.empty()) text += ',';
            text += reader->node_name(i);
        }
        return hand_out(text, ret_nodes);
    }
    WIREUP_RETURN_IF_ERROR(renewed);
    common::ResolveRequest request;
    request.nspace = *ns;
    common::ResolveNodesReply reply;
    const pmix_status_t rc = session.ask<Command::resolve_nodes>(request, reply, limit.left_s());
    return rc == PMIX_SUCCESS ? hand_out(reply.nodes, ret_nodes) : rc;
}

}  // namespace pmix::client
