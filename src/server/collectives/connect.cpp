// SPDX-License-Identifier: BSD-3-Clause
#include "server/collectives/connect.h"

#include <algorithm>

#include "server/base/need.h"

namespace pmix::server {

using common::InfoList;

namespace {

// All attributes of the first caller, and what the library adds. The round keeps its own: where there is no memory for
// the upcall, it is tried once more.
InfoList for_host(const InfoList& infos, common::Function function, const Participants& users,
                  pmix_status_t local_status) {
    InfoList out;
    need(out.append_all(infos.c_array(), infos.size()));
    mark_processed(out, function);
    need(users.append_ids(out));
    need(out.append_flag(PMIX_SORTED_PROC_ARRAY, true));
    need(out.append_number<pmix_status_t>(PMIX_LOCAL_COLLECTIVE_STATUS, local_status, PMIX_STATUS));
    return out;
}

}  // namespace

void Connect::launch(RoundId id, Round& round) {
    Charge charge;
    if (!charge.set(round.account, Collective::memory_of(round.signature)) && round.local_status == PMIX_SUCCESS)
        round.local_status = PMIX_ERR_OUT_OF_RESOURCE;
    Reach reach = registry_.reach(round.signature);
    Host& host = host_of(round);
    if (reach != Reach::beyond && !host.has_connect()) {
        pmix_status_t status = round.local_status;
        if (status == PMIX_SUCCESS) connected_.try_emplace(round.signature, std::move(charge));
        return finish(id, status);
    }
    Signature signature = round.signature;
    host.connect(signature, for_host(round.infos, function_, round.users, round.local_status),
                 [this, id, signature, instances = instances_of(signature), charge = std::move(charge),
                  due = due(round)](HostAnswer& answer) mutable {
                     pmix_status_t status = common::succeeded(answer.status) ? PMIX_SUCCESS : answer.status;
                     if (status == PMIX_SUCCESS && still_there(signature, instances))
                         connected_.try_emplace(signature, std::move(charge));
                     if (Round* open = find(id); open != nullptr && status == PMIX_SUCCESS) status = open->local_status;
                     finish(id, status);
                 });
}

void Connect::answer(Reply& reply, const Round& round, pmix_status_t status) {
    auto peer = reply.peer();
    if (peer == nullptr) return;
    common::ConnectReply message;
    std::vector<int> descriptors;
    if (status == PMIX_SUCCESS)
        add_segments(segments_, registry_, round.signature, *peer, message.segments, descriptors);
    reply.message(status, message, descriptors);
}

void Connect::spawned(const Peer& parent, const std::string& nspace) {
    // The host bounds the number of jobs.
    connected_.try_emplace(Signature{parent.id(), {nspace, PMIX_RANK_WILDCARD}});
}

bool Connect::uses(const Nspace& nspace) const {
    return CollectiveOperation::uses(nspace) ||
           std::any_of(connected_.begin(), connected_.end(),
                       [&](const auto& entry) { return entry.first.names(nspace.name); });
}

void Connect::namespace_gone(Nspace& nspace) {
    CollectiveOperation::namespace_gone(nspace);
    std::erase_if(connected_, [&](const auto& entry) { return entry.first.names(nspace.name); });
}

void Disconnect::launch(RoundId id, Round& round) {
    Reach reach = registry_.reach(round.signature);
    Host& host = host_of(round);
    if (reach != Reach::beyond && !host.has_disconnect()) {
        pmix_status_t status = round.local_status;
        if (status == PMIX_SUCCESS && !connect_.connected(round.signature)) status = PMIX_ERR_INVALID_OPERATION;
        connect_.disconnected(round.signature);
        return finish(id, status);
    }
    // Sets that are all here were connected through us; of others the host may know more.
    if (reach == Reach::here && round.local_status == PMIX_SUCCESS && !connect_.connected(round.signature))
        return finish(id, PMIX_ERR_INVALID_OPERATION);
    Signature signature = round.signature;
    host.disconnect(signature, for_host(round.infos, function_, round.users, round.local_status),
                    [this, id, signature, instances = instances_of(signature), due = due(round)](HostAnswer& answer) {
                        pmix_status_t status = common::succeeded(answer.status) ? PMIX_SUCCESS : answer.status;
                        if (status == PMIX_SUCCESS && still_there(signature, instances))
                            connect_.disconnected(signature);
                        if (Round* open = find(id); open != nullptr && status == PMIX_SUCCESS)
                            status = open->local_status;
                        finish(id, status);
                    });
}

void Disconnect::answer(Reply& reply, const Round&, pmix_status_t status) {
    reply.status(status);
}

}  // namespace pmix::server
