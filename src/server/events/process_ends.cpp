// SPDX-License-Identifier: BSD-3-Clause
#include "server/events/process_ends.h"

#include <algorithm>

#include "common/protocol/event_infos.h"
#include "common/protocol/group_calls.h"
#include "common/values/info_view.h"

namespace pmix::server {

using common::InfoList;
using common::InfoView;
using common::ProcId;
using common::ProcList;

namespace {

bool is_end_of_processes(pmix_status_t code) noexcept {
    switch (code) {
        case PMIX_PROC_TERMINATED:
        case PMIX_EVENT_PROC_TERMINATED:
        case PMIX_ERR_PROC_ABORTED:
        case PMIX_ERR_PROC_REQUESTED_ABORT:
        case PMIX_ERR_PROC_TERM_WO_SYNC:
        case PMIX_ERR_PROC_KILLED_BY_CMD:
        case PMIX_ERR_PROC_FAILED_TO_START:
        case PMIX_ERR_PROC_ABORTED_BY_SIG:
        case PMIX_ERR_PROC_KILLED_BY_RELEASE:
        case PMIX_ERR_PROC_SENSOR_BOUND_EXCEEDED:
        case PMIX_ERR_EXIT_NONZERO_TERM:
        case PMIX_ERR_LOST_CONNECTION:
        case PMIX_ERR_LOST_PEER_CONNECTION:
        case PMIX_EVENT_JOB_END:
        case PMIX_ERR_JOB_ABORTED:
        case PMIX_ERR_JOB_KILLED_BY_CMD:
        case PMIX_ERR_JOB_KILLED_BY_RELEASE:
        case PMIX_ERR_JOB_ABORTED_BY_SIG:
        case PMIX_ERR_JOB_ABORTED_BY_SYS_EVENT:
        case PMIX_ERR_JOB_TERM_WO_SYNC:
        case PMIX_ERR_JOB_SENSOR_BOUND_EXCEEDED:
        case PMIX_ERR_JOB_NON_ZERO_TERM:
            return true;
        default:
            return false;
    }
}

// Hosts report it of a process that has finalized without a disconnect, too, which may initialise again.
bool may_return_after(pmix_status_t code) noexcept {
    return code == PMIX_ERR_PROC_TERM_WO_SYNC;
}

bool comes_from_it(pmix_status_t code) noexcept {
    return code == PMIX_GROUP_INVITED || code == PMIX_GROUP_INVITE_ACCEPTED || code == PMIX_GROUP_INVITE_DECLINED;
}

}  // namespace

// The environment is nobody's namespace, the server's own, or one of daemons that is not known here.
bool ProcessEnds::may_report(const ProcId& source, std::string_view nspace) const {
    return source.nspace == nspace || source.nspace == server_.nspace || registry_.find(source.nspace) == nullptr;
}

void ProcessEnds::add_those_on_node(const ProcId& source, const InfoList& infos, ProcList& out) const {
    const InfoView view(infos);
    std::string_view hostname;
    uint32_t id = 0;
    const bool by_name = view.get(PMIX_HOSTNAME, &hostname) == PMIX_SUCCESS && !hostname.empty();
    const bool by_id = !by_name && view.has(PMIX_NODEID) && view.get(PMIX_NODEID, &id) == PMIX_SUCCESS;
    for (const auto& entry : registry_.nspaces()) {
        const std::string& name = entry.first;
        const Placed& placed = entry.second->placed;
        if (!placed.has_procs || placed.guessed || !may_report(source, name)) continue;
        uint32_t place = common::kNoNode;
        if (by_name) place = find_own_node(placed, hostname);
        for (uint32_t i = 0; by_id && i < placed.nodes.size(); ++i)
            if ((placed.node_ids.empty() ? i : placed.node_ids[i]) == id) place = i;
        if (place == common::kNoNode) continue;
        placed.procs.for_each_on(place, [&](common::Rank rank) { out.push_back({name, rank}); });
    }
}

ProcList ProcessEnds::reported(pmix_status_t code, const ProcId& source, const InfoList& infos) const {
    ProcList out;
    common::ProcSet named;
    if (auto said = common::read_event_attributes(InfoView(infos)); said.ok()) named = std::move(said->affected);
    if (code == PMIX_EVENT_NODE_DOWN) add_those_on_node(source, infos, out);
    for (const common::ProcSet::Part& part : named.parts()) {
        if (!may_report(source, part.nspace)) continue;
        part.for_each([&](common::Rank rank) {
            if (common::is_real_rank(rank)) out.push_back({part.nspace, rank});
        });
        const Nspace* const nspace = part.is_whole() ? registry_.find(part.nspace) : nullptr;
        if (nspace == nullptr || !nspace->size_known()) continue;
        for (common::Rank rank = 0; rank < nspace->size(); ++rank) out.push_back({part.nspace, rank});
    }
    return out;
}

void ProcessEnds::returned(const ProcId& proc) noexcept {
    Nspace* const nspace = registry_.find(proc.nspace);
    if (nspace == nullptr) return;
    nspace->ended_elsewhere.erase(proc.rank);
    nspace->unreachable.erase(proc.rank);
}

void ProcessEnds::event_notified(pmix_status_t code, const ProcId& source, const InfoList& infos, bool from_host) {
    if (!from_host) return;
    if (comes_from_it(code)) return returned(source);
    const bool restart = code == PMIX_ERR_PROC_RESTART;
    if (!restart && code != PMIX_EVENT_NODE_DOWN && !is_end_of_processes(code)) return;
    for (const ProcId& p : reported(code, source, infos)) {
        if (restart) {
            returned(p);
            continue;
        }
        if (registry_.is_local(p)) continue;  // this server notices it by itself
        Nspace* const nspace = registry_.find(p.nspace);
        const bool known = nspace != nullptr && nspace->has_rank(p.rank);
        if (code == PMIX_EVENT_NODE_DOWN) {
            if (known) nspace->unreachable.insert(p.rank);
            observers_.notify(&LifecycleObserver::node_lost, p);
        }
        const bool kept = known && !may_return_after(code);
        // The first report counts: a job's end is reported of it once more.
        if (kept && nspace->ended_elsewhere.count(p.rank) != 0) continue;
        // Before it is kept: without memory the host's call fails, and is made once more.
        observers_.notify(&LifecycleObserver::ended_elsewhere, p);
        if (kept) nspace->ended_elsewhere.insert(p.rank);
    }
}

}  // namespace pmix::server
