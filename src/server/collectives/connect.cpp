// SPDX-License-Identifier: BSD-3-Clause
// Connect and disconnect: see connect.h.
#include "server/collectives/connect.h"

#include <algorithm>

namespace pmix::server {

using common::InfoList;

namespace {

// All attributes of the first caller, and what the library adds.
InfoList for_host(InfoList&& infos, const Participants& users, pmix_status_t local_status) {
    InfoList out = std::move(infos);
    users.append_ids(out);
    out.append_flag(PMIX_SORTED_PROC_ARRAY, true);
    out.append_number<pmix_status_t>(PMIX_LOCAL_COLLECTIVE_STATUS, local_status, PMIX_STATUS);
    return out;
}

}  // namespace

void Connect::launch(TurnId id, Turn& turn) {
    Charge charge;
    if (!charge.set(turn.account, Collective::memory_of(turn.signature)) && turn.local_status == PMIX_SUCCESS)
        turn.local_status = PMIX_ERR_OUT_OF_RESOURCE;
    Reach reach = registry_.reach(turn.signature);
    Host& host = host_of(turn);
    if (reach != Reach::beyond && !host.has_connect()) {
        pmix_status_t status = turn.local_status;
        if (status == PMIX_SUCCESS) connected_.try_emplace(turn.signature, std::move(charge));
        return finish(id, status);
    }
    Signature signature = turn.signature;
    host.connect(signature, for_host(std::move(turn.infos), turn.users, turn.local_status),
                 [this, id, signature, lives = lives_of(signature), charge = std::move(charge),
                  due = due(turn)](HostAnswer& answer) mutable {
                     pmix_status_t status = common::succeeded(answer.status) ? PMIX_SUCCESS : answer.status;
                     if (status == PMIX_SUCCESS && live_on(signature, lives))
                         connected_.try_emplace(signature, std::move(charge));
                     if (Turn* open = find(id); open != nullptr && status == PMIX_SUCCESS) status = open->local_status;
                     finish(id, status);
                 });
}

void Connect::answer(Reply& reply, const Turn& turn, pmix_status_t status) {
    auto peer = reply.peer();
    if (peer == nullptr) return;
    common::ConnectReply message;
    std::vector<int> descriptors;
    if (status == PMIX_SUCCESS)
        add_segments(segments_, registry_, turn.signature, *peer, message.segments, descriptors);
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

void Disconnect::launch(TurnId id, Turn& turn) {
    Reach reach = registry_.reach(turn.signature);
    Host& host = host_of(turn);
    if (reach != Reach::beyond && !host.has_disconnect()) {
        pmix_status_t status = turn.local_status;
        if (status == PMIX_SUCCESS && !connect_.connected(turn.signature)) status = PMIX_ERR_INVALID_OPERATION;
        connect_.disconnected(turn.signature);
        return finish(id, status);
    }
    // Sets that are all here were connected through us; of others the host may know more.
    if (reach == Reach::here && turn.local_status == PMIX_SUCCESS && !connect_.connected(turn.signature))
        return finish(id, PMIX_ERR_INVALID_OPERATION);
    Signature signature = turn.signature;
    host.disconnect(signature, for_host(std::move(turn.infos), turn.users, turn.local_status),
                    [this, id, signature, lives = lives_of(signature), due = due(turn)](HostAnswer& answer) {
                        pmix_status_t status = common::succeeded(answer.status) ? PMIX_SUCCESS : answer.status;
                        if (status == PMIX_SUCCESS && live_on(signature, lives)) connect_.disconnected(signature);
                        if (Turn* open = find(id); open != nullptr && status == PMIX_SUCCESS)
                            status = open->local_status;
                        finish(id, status);
                    });
}

void Disconnect::answer(Reply& reply, const Turn&, pmix_status_t status) {
    reply.status(status);
}

}  // namespace pmix::server
