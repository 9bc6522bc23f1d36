// SPDX-License-Identifier: BSD-3-Clause
// The group that a construct makes: what the host has answered, the members, their data, and the results of the
// callers.
#include <algorithm>
#include <new>
#include <utility>

#include "common/values/info_view.h"
#include "common/values/proc_array.h"
#include "server/base/need.h"
#include "server/base/scheduler.h"
#include "server/collectives/collective.h"
#include "server/collectives/groups.h"
#include "server/data/get.h"
#include "server/namespaces/modex_blob.h"

namespace pmix::server {

using common::GroupCall;
using common::InfoList;
using common::InfoView;
using common::ProcId;
using common::ProcList;

namespace {

// To look up many in a long list.
class Among {
  public:
    explicit Among(const ProcList& list) : set_(list) {}
    bool has(const ProcId& proc) const { return set_.has(proc); }

  private:
    const Signature set_;
};

pmix_status_t append_array(InfoList& to, std::string_view key, const InfoList& infos) {
    pmix_data_array_t array{};
    array.type = PMIX_INFO;
    array.size = infos.size();
    array.array = const_cast<pmix_info_t*>(infos.c_array());
    return to.append(key, &array, PMIX_DATA_ARRAY);
}

common::Bytes endpoint_data(const InfoList& infos) noexcept {
    const pmix_info_t* info = infos.find(PMIX_GROUP_ENDPT_DATA);
    if (info == nullptr || info->value.type != PMIX_BYTE_OBJECT || info->value.data.bo.bytes == nullptr) return {};
    return {reinterpret_cast<const uint8_t*>(info->value.data.bo.bytes), info->value.data.bo.size};
}

bool none_of_job(const ProcList& procs, std::string_view nspace) noexcept {
    return std::none_of(procs.begin(), procs.end(), [&](const ProcId& p) { return p.nspace == nspace; });
}

}  // namespace

void Groups::host_answered(RoundId id, HostAnswer& answer) {
    Operation* op = find(id);
    if (op == nullptr) return;  // it has ended before this answer
    const bool constructs = op->call == GroupCall::construct;
    const bool exchanged = take_sections(*op, answer.infos);
    const GroupDirectives& asked = op->asked();  // on all nodes
    if (op->local_status == PMIX_ERR_PROC_TERM_WO_SYNC && asked.forgive()) op->local_status = PMIX_SUCCESS;
    // Of a construct: there is a group, and some are not in it.
    const bool partly = answer.status == PMIX_ERR_PARTIAL_SUCCESS && (constructs || asked.forgive());
    pmix_status_t status = common::succeeded(answer.status) || partly ? PMIX_SUCCESS : answer.status;
    if (status == PMIX_SUCCESS) status = op->local_status;
    if (status == PMIX_SUCCESS && asked.differ) status = PMIX_ERR_BAD_PARAM;
    if (status == PMIX_SUCCESS && !op->section.failed.empty() && !asked.forgive()) status = PMIX_ERR_PROC_TERM_WO_SYNC;
    if (status == PMIX_SUCCESS && !constructs && partly) {
        // The end of a member with its node is reported by no server.
        ProcList left;
        if (const pmix_info_t* said = answer.infos.find(PMIX_GROUP_MEMBERSHIP))
            common::read_proc_array(said->value, left);
        if (!left.empty()) tell_of_missing(*op, expand(op->signature.list()), expand(left));
    }
    if (status != PMIX_SUCCESS || !constructs) return finish(id, status);
    take_endpoint_data(*op, answer.infos);
    form(*op, answer.infos, partly, exchanged);
}

bool Groups::take_sections(Operation& op, const InfoList& infos) {
    bool any = false;
    for (common::Bytes rest = endpoint_data(infos); !rest.empty();) {
        auto section = read_section(rest);
        if (!section.ok()) break;
        rest = rest.subspan(section->size);
        if (!section->group || section->nspace != op.name) continue;
        auto decoded = decode_group_section(section->payload);
        if (!decoded.ok()) continue;
        any = true;
        merge_group_section(op.section, std::move(decoded).value());
    }
    return any;
}

void Groups::take_endpoint_data(const Operation& op, const InfoList& infos) {
    const common::Bytes all = endpoint_data(infos);
    if (all.empty()) return;
    // Members may be of jobs that are not registered here: their data is kept too.
    for (const std::string& nspace : op.section.order.nspaces()) registry_.obtain_remote(nspace);
    get_.ingest(all);
    // Where the user of a job is unknown, the users of the group's callers may read its data.
    for (const std::string& name : op.section.order.nspaces()) {
        Nspace* nspace = registry_.find(name);
        for (const Reply& reply : op.replies) {
            const auto peer = reply.peer();
            if (nspace != nullptr && !nspace->owner && peer != nullptr) nspace->readers.insert(peer->credentials().uid);
        }
    }
    get_.received();
}

// Members whose end no server has reported, because their node had no other member: each node notifies its own members.
void Groups::tell_of_missing(const Operation& op, const ProcList& asked, const ProcList& members) {
    if (op.asked().optional || !op.asked().forgive()) return;
    ProcList targets = op.section.leads ? ProcList{op.section.requester} : members;
    targets = here(targets);
    const Among present(members), failed(op.section.failed), untold(op.section.untold);
    for (const ProcId& p : asked)
        if (!present.has(p) && (!failed.has(p) || untold.has(p)))
            announce_failure(PMIX_GROUP_MEMBER_FAILED, op.name, p, targets);
}

// The group has formed: its members, their order, and the results.
void Groups::form(Operation& op, const InfoList& from_host, bool partly, bool exchanged) {
    const RoundId id = op.id;
    size_t number = 0;
    const bool numbered = from_host.find(PMIX_GROUP_CONTEXT_ID) != nullptr;
    if (numbered && InfoView(from_host).get(PMIX_GROUP_CONTEXT_ID, &number) != PMIX_SUCCESS)
        return finish(id, PMIX_ERR_BAD_PARAM);
    if (op.asked().assign && !numbered) return finish(id, PMIX_ERR_NOT_SUPPORTED);  // the host assigns no context ids

    ProcList hosts;
    if (const pmix_info_t* said = from_host.find(PMIX_GROUP_MEMBERSHIP)) common::read_proc_array(said->value, hosts);
    hosts = expand(hosts);
    const common::ProcOrder& order = op.section.final_order.empty() ? op.section.order : op.section.final_order;
    ProcList asked = expand(order);
    // The other nodes have only the host's order too.
    if (!exchanged && !partly && !hosts.empty() && Signature(asked) == Signature(hosts)) asked = hosts;
    // A job of which nothing is left is missing as a whole.
    if (partly) {
        std::erase_if(asked, [](const ProcId& p) { return p.rank == PMIX_RANK_WILDCARD; });
        for (const ProcId& p : order.list())
            if (p.rank == PMIX_RANK_WILDCARD && none_of_job(asked, p.nspace) && none_of_job(hosts, p.nspace))
                asked.push_back(p);
    }
    const Among failed(op.section.failed), named(hosts);
    ProcList members;
    members.reserve(asked.size());
    for (const ProcId& p : asked)
        if (!failed.has(p) && (hosts.empty() ? !partly || p.rank != PMIX_RANK_WILDCARD : named.has(p)))
            members.push_back(p);
    const bool whole = members.size() == asked.size() && !partly;
    if (!whole) {
        // Where there is no memory for it, it is left out: the group forms on the other nodes, and so here.
        try {
            tell_of_missing(op, asked, members);
        } catch (const std::bad_alloc&) {
            scheduler_.step_lost();
        }
    }
    if (!hosts.empty()) {
        const Among known(asked);
        for (const ProcId& p : hosts)
            if (!known.has(p) && op.inviter != p) members.push_back(p);
    }

    Group group;
    group.name = op.name;
    for (const ProcId& p : members) group.members.push_back({p, false});
    if (numbered) group.context_id = number;
    group.notify = op.asked().notify;
    group.hosted = op.hosted;
    group.here = here(members);
    if (!group.charge.set(op.account, group.memory())) return finish(id, PMIX_ERR_OUT_OF_RESOURCE);
    group.hidden = registry_.find(group.name) != nullptr;  // registered while the group formed
    // With the inviter alone, which is no member, no local process would ever destruct the group.
    const bool none_here = op.inviter && group.here.empty();
    const uint64_t number_of_group = none_here ? 0 : registry_.groups().add(std::move(group)).number;
    try {
        tell_formed(op, members, whole, number_of_group, numbered ? std::optional<size_t>(number) : std::nullopt);
    } catch (const std::bad_alloc&) {
        // The callers that have not been answered yet get an error.
        if (find(id) != nullptr) registry_.groups().erase(number_of_group);
        throw;
    }
}

// Answers the callers of the construct. `number`: its context id, if it has one.
void Groups::tell_formed(Operation& op, const ProcList& members, bool whole, uint64_t number_of_group,
                         std::optional<size_t> number) {
    const std::string name = op.name;
    invitations_.over(name, members);
    InfoList results;
    // The number first: programs read it from the first result without looking at the key.
    pmix_status_t rc = number ? results.append_number<size_t>(PMIX_GROUP_CONTEXT_ID, *number, PMIX_SIZE) : PMIX_SUCCESS;
    if (rc == PMIX_SUCCESS) rc = results.append_string(PMIX_GROUP_ID, name);
    if (rc == PMIX_SUCCESS) rc = common::append_proc_array(results, PMIX_GROUP_MEMBERSHIP, members);
    InfoList shared;
    const Among in_group(op.section.shared.empty() ? ProcList() : members);
    for (const GroupSection::Shared& s : op.section.shared) {
        if (!in_group.has(s.proc)) continue;
        InfoList one;
        pmix_proc_t proc = s.proc.to_c();
        if (rc == PMIX_SUCCESS) rc = one.append(PMIX_PROCID, &proc, PMIX_PROC);
        if (rc == PMIX_SUCCESS) rc = one.append_all(s.infos.c_array(), s.infos.size());
        if (rc == PMIX_SUCCESS) rc = append_array(shared, PMIX_GROUP_INFO, one);
    }
    if (rc == PMIX_SUCCESS && !shared.empty()) rc = append_array(results, PMIX_GROUP_INFO_ARRAY, shared);
    if (rc != PMIX_SUCCESS) {
        registry_.groups().erase(number_of_group);
        return finish(op.id, rc);
    }
    const ProcList local = here(members);
    const ProcId source = members.empty() ? ProcId() : members.front();
    // Sorted by namespace, as add_segments() expects; jobs that only the host named included.
    op.members = Signature(members);
    op.results = std::move(results);
    op.formed = true;
    finish(op.id, whole ? PMIX_SUCCESS : PMIX_ERR_PARTIAL_SUCCESS);
    if (!number) return;
    InfoList infos;
    need(infos.append_string(PMIX_GROUP_ID, name));
    need(infos.append_number<size_t>(PMIX_GROUP_CONTEXT_ID, *number, PMIX_SIZE));
    announce(PMIX_GROUP_CONTEXT_ID_ASSIGNED, source, local, std::move(infos));
}

}  // namespace pmix::server
