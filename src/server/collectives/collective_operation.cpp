// SPDX-License-Identifier: BSD-3-Clause
#include "server/collectives/collective_operation.h"

#include <algorithm>
#include <cassert>

#include "common/base/log.h"

namespace pmix::server {

using common::InfoView;

void CollectiveOperation::enter(Peer& peer, common::Result<Signature> procs, common::InfoList infos, Reply reply,
                                pmix_status_t local) {
    if (!procs) return reply.status(procs.status());
    Signature signature = std::move(procs).value();
    // What a group's name and ranks stand for is our business: the host knows only processes.
    pmix_status_t known = registry_.groups().replace(signature, peer.id());
    if (known != PMIX_SUCCESS) return reply.status(known);
    auto member = registry_.member(peer.id());
    if (signature.empty() || !member) return reply.status(PMIX_ERR_BAD_PARAM);
    InfoView view(infos);
    const int timeout = timeout_in(view);
    if (timeout < 0) return reply.status(PMIX_ERR_BAD_PARAM);

    // Before it joins: from then on its infos are those of the round.
    const Required required = required_in_collective(host_, view, function_);
    Charge charge;
    if (!charge.set(peer.account(), Collective::open_memory_of(signature)))
        return reply.status(PMIX_ERR_OUT_OF_RESOURCE);
    auto entered = collective_.enter(signature, *member, view.flag(PMIX_ALL_CLONES_PARTICIPATE), std::move(charge));
    // A process that is not in the set would wait for a round that cannot include it.
    if (entered.state == Collective::State::not_member) return reply.status(PMIX_ERR_NOT_A_MEMBER);
    if (entered.state == Collective::State::refused) return reply.status(PMIX_ERR_OUT_OF_RESOURCE);
    if (entered.state == Collective::State::over) return reply.status(entered.status);

    WIREUP_LOG(server, debug, "%s round %llu: %s:%u joined%s", name_, static_cast<unsigned long long>(entered.round),
               peer.id().nspace.c_str(), peer.id().rank,
               entered.state == Collective::State::waiting ? "" : ", the last one");
    Round* open = find(entered.round);
    Round& round = open != nullptr ? *open : add(entered.round, std::make_unique<Round>());
    // Not entered.first: there may have been no memory for the first caller's round here.
    const bool first = round.signature.empty();
    assert(!first || (round.replies.empty() && !round.launched));
    if (first) round.signature = std::move(signature);
    // The host is given the first caller's entries, what any other caller requires of it, and that the data is to be
    // collected if one of them wants that.
    round.collect = round.collect || view.flag(PMIX_COLLECT_DATA);
    if (!first && required == Required::by_host) {
        for (const pmix_info_t& info : infos)
            if (common::is_required(info) && round.infos.find(common::key_view(info)) == nullptr &&
                round.infos.append(info) != PMIX_SUCCESS)
                local = PMIX_ERR_NOMEM;
    }
    if (first) round.infos = std::move(infos);
    if (round.local_status == PMIX_SUCCESS) round.local_status = local;
    if (entered.state == Collective::State::broken) round.local_status = PMIX_ERR_PARTIAL_SUCCESS;
    join(entered.round, round, peer, timeout, required, std::move(reply));
    if (entered.state != Collective::State::waiting) start(entered.round, round);
}

CollectiveOperation::Opened CollectiveOperation::open_for(const Signature& signature,
                                                          const std::vector<MemberId>& members, Charge charge) {
    // Made before: a round that is open without one would be ended with an error, and its callers ask for another one.
    Prepared prepared = prepare();
    prepared.mapped()->signature = signature;
    const auto entered = collective_.enter_all(signature, members, std::move(charge));
    if (entered.round == 0) return {};
    WIREUP_LOG(server, debug, "%s round %llu: %zu joined in memory", name_,
               static_cast<unsigned long long>(entered.round), members.size());
    Round& round = add(entered.round, std::move(prepared));
    assert(!round.launched && round.replies.empty() && !round.signature.empty());
    const bool broken = entered.state == Collective::State::broken;
    round.local_status = broken ? PMIX_ERR_PARTIAL_SUCCESS : PMIX_SUCCESS;
    return {entered.round, entered.state != Collective::State::waiting};
}

CollectiveOperation::Opened CollectiveOperation::enter_from_elsewhere(const Signature& signature, MemberId member,
                                                                      Charge charge) {
    Prepared prepared = prepare();
    prepared.mapped()->signature = signature;
    const auto entered = collective_.enter(signature, member, false, std::move(charge));
    using State = Collective::State;
    if (entered.state == State::not_member || entered.state == State::refused) return {};
    if (entered.state == State::over) return {entered.round, false, entered.status};
    Round* const open = find(entered.round);
    Round& round = open != nullptr ? *open : add(entered.round, std::move(prepared));
    if (entered.state == State::broken) round.local_status = PMIX_ERR_PARTIAL_SUCCESS;
    return {entered.round, entered.state != State::waiting};
}

void CollectiveOperation::run(const std::vector<Collective::Event>& events) {
    for (const Collective::Event& event : events) {
        if (!collective_.is_open(event.round)) continue;
        Round* round = find(event.round);
        if (round == nullptr) {
            // There was no memory for the callers, which have been answered so. Other nodes still wait for this one.
            auto fresh = std::make_unique<Round>();
            fresh->signature = *collective_.signature_of(event.round);
            fresh->local_status = PMIX_ERR_NOMEM;
            round = &add(event.round, std::move(fresh));
        }
        if (round->launched) continue;
        if (event.state == Collective::State::broken) round->local_status = PMIX_ERR_PARTIAL_SUCCESS;
        start(event.round, *round);
    }
}

CollectiveOperation::Instances CollectiveOperation::instances_of(const Signature& signature) const {
    Instances instances;
    for (const Signature::Part& part : signature.parts()) {
        const Nspace* nspace = registry_.find(part.nspace);
        instances.push_back(nspace == nullptr ? 0 : nspace->number);
    }
    return instances;
}

bool CollectiveOperation::still_there(const Signature& signature, const Instances& instances) const {
    const Instances now = instances_of(signature);
    assert(instances.size() == now.size());
    for (size_t i = 0; i < instances.size(); ++i)
        if (instances[i] != 0 && instances[i] != now[i]) return false;
    return true;
}

// Only rounds that wait for every process of its rank are concerned.
void CollectiveOperation::clone_gone(const Peer& peer) {
    const auto member = registry_.member(peer.id());
    if (!member) return;
    const std::vector<RoundId> ids = collective_.partly_joined(*member);
    for (const RoundId id : ids) {
        const Round* const round = find(id);
        const bool joined = round != nullptr && std::any_of(round->replies.begin(), round->replies.end(),
                                                            [&](const Reply& reply) { return reply.from(peer); });
        if (joined) collective_.process_gone(id, *member);
    }
    run(collective_.recheck(ids));
}

// A round that only the earlier process had joined ends with nobody to answer, as if it had not been opened.
void CollectiveOperation::member_begins(const Nspace&, MemberId member) {
    for (const RoundId id : collective_.begins_anew(member))
        if (const Round* const round = find(id); round != nullptr && !round->launched) rounds_.erase(id);
}

// A rank that has not connected since it was registered, and has joined something all the same, had a process before.
// From now on its next one is waited for.
void CollectiveOperation::client_registered(const common::ProcId& proc) {
    const Nspace* const nspace = registry_.find(proc.nspace);
    const Client* const client = nspace == nullptr ? nullptr : nspace->find_client(proc.rank);
    if (client != nullptr && client->state == Client::State::registered)
        member_begins(*nspace, member_id(nspace->number, proc.rank));
}

void CollectiveOperation::namespace_gone(Nspace& nspace) {
    constexpr pmix_status_t status = PMIX_ERR_NOT_FOUND;
    for (const RoundId id : collective_.nspace_ended(nspace.name, nspace.number, status)) finish(id, status);
}

}  // namespace pmix::server
