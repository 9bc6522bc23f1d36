// SPDX-License-Identifier: BSD-3-Clause
// Fence, the part that concerns processes which meet in memory: when the server has to run their round, how it ends,
// and when they go back to requests.
#include <algorithm>
#include <cassert>
#include <new>

#include "server/collectives/fence.h"

namespace pmix::server {

using common::FenceUse;
using Mode = JobFenceMemory::Mode;

namespace {

Signature all_of(const std::string& nspace) {
    return Signature{{nspace, PMIX_RANK_WILDCARD}};
}

// The job, where a set is all of it and names nothing besides: one wildcard.
Nspace* job_of(Registry& registry, const Signature& signature) noexcept {
    if (signature.size() != 1 || !signature.parts().front().is_whole()) return nullptr;
    return registry.find(signature.parts().front().nspace);
}

}  // namespace

void Fence::joined_in_memory(Peer& peer, common::FenceJoinedNotify& message, Reply) {
    JobFenceMemory* const memory = memories_.of(peer);
    if (memory == nullptr || memory->running != 0) return;
    const auto state = memory->shared->state();
    if (state.mode != Mode::at_server || state.round != message.round) return;  // it is over, or turned to requests
    memory->has_told = true;
    run_in_memory(*registry_.find(peer.id().nspace), *memory);
}

void Fence::commit_done(Peer& peer) {
    if (!commits_awaited_) return;
    JobFenceMemory* const memory = memories_.of_job(peer);
    JobFenceMemory::Place* const place = memory == nullptr ? nullptr : memory->held_by(peer);
    if (place != nullptr && memory->has_told && memory->running == 0) {
        run_in_memory(*registry_.find(peer.id().nspace), *memory);
    } else if (place != nullptr && place->is_due && memory->commits_are_in(*place)) {
        enter_late(*registry_.find(peer.id().nspace), *memory, *place);
    }
    const auto& all = memories_.all();
    commits_awaited_ = std::any_of(all.begin(), all.end(), [](const auto& one) { return one.second.awaits_commits(); });
}

bool Fence::ask_in_memory(JobFenceMemory* memory, Peer& peer, common::FenceRequest& request, Reply& reply) {
    Nspace* const nspace = peer.kind() == PeerKind::client ? registry_.find(peer.id().nspace) : nullptr;
    JobFenceRounds* const rounds = nspace != nullptr ? memories_.rounds_of(*nspace) : nullptr;
    if (rounds == nullptr) return false;
    const uint32_t round = request.memory_round;
    JobFenceMemory::Place* const place = memory != nullptr ? memory->place_of(peer) : nullptr;
    if (place == nullptr || place->use != FenceUse::joined) {
        // In an earlier memory, if it was in any.
        const uint32_t first = memory != nullptr ? memory->first_round : rounds->next;
        if (!transport::FenceMemory::is_before(round, first)) return answer_entered(*nspace, peer, round, reply);
    } else {
        if (memory->running != 0 && round == memory->running_round) {
            if (Round* const open = find(memory->running)) open->replies.push_back(std::move(reply));
            return true;
        }
        const auto state = memory->shared->state();
        if (round == state.round && state.mode == Mode::at_server) {
            place->asked = true;
            memory->held.push_back({std::move(reply), request.infos.take()});
            memory->has_told = true;
            run_in_memory(*nspace, *memory);
            return true;
        }
        // Somebody is late, or has left it. The last one may join while it is turned: then it is over.
        if (memory->running == 0 && round == state.round && state.mode != Mode::at_server)
            to_requests(*nspace, *memory);
    }
    if (answer_entered(*nspace, peer, round, reply)) return true;
    memory = memories_.find(*nspace);
    if ((memory != nullptr && round == memory->shared->state().round) || rounds->was_turned(round)) return false;
    // It is over.
    answer(reply, all_of(nspace->name), rounds->end_of(round));
    return true;
}

// It was entered when its round was turned to requests. It asks for that one, and is no further member of it.
bool Fence::answer_entered(const Nspace& nspace, const Peer& peer, uint32_t round, Reply& reply) {
    JobFenceRounds* const rounds = memories_.rounds_of(nspace);
    const auto entered = rounds == nullptr ? std::nullopt : rounds->take(round, peer.id().rank);
    if (!entered) return false;
    if (Round* const open = find(entered->in)) {
        open->replies.push_back(std::move(reply));
    } else {
        answer(reply, all_of(nspace.name), entered->end.value_or(PMIX_ERR_NOMEM));
    }
    return true;
}

// All have joined. It is one round of theirs, like one that all have asked for.
void Fence::run_in_memory(Nspace& nspace, JobFenceMemory& memory) {
    const auto state = memory.shared->state();
    if (state.mode != Mode::at_server) return;
    left_commits_.take(nspace);
    if (memories_.find(nspace) != &memory) return;  // what that led to has ended it
    if (!memory.commits_are_in()) {
        commits_awaited_ = true;
        return;
    }
    const Signature signature = all_of(nspace.name);
    std::vector<MemberId> members;
    members.reserve(memory.places.size());
    for (const auto& place : memory.places) members.push_back(member_id(nspace.number, place.rank));
    std::shared_ptr<Peer> first;
    for (const auto& place : memory.places)
        if (first == nullptr) first = place.holder.lock();
    Charge charge;
    const bool may = first != nullptr && charge.set(first->account(), Collective::open_memory_of(signature));
    const Opened opened = may ? open_for(signature, members, std::move(charge)) : Opened{};
    Round* const round = find(opened.id);
    if (round == nullptr) return to_requests(nspace, memory);
    assert(!round->launched && round->replies.empty());
    memory.running = opened.id;
    memory.running_round = state.round;
    memory.has_told = false;
    round->account = first->account();
    round->collect = state.collect;
    for (auto& place : memory.places) {
        place.asked = false;
        const auto peer = place.holder.lock();
        if (peer == nullptr) continue;
        round->users.add(peer->credentials());
        if (round->local_status == PMIX_SUCCESS) round->local_status = refused(*peer);
    }
    for (JobFenceMemory::Held& held : memory.held) round->replies.push_back(std::move(held.reply));
    memory.held.clear();
    if (opened.complete) start(opened.id, *round);
}

// Those that wait in memory learn it here and nowhere else: until they have, nothing may fail for want of memory.
void Fence::ended(RoundId id, Round& round, pmix_status_t status) {
    CollectiveOperation::ended(id, round, status);
    Nspace* const nspace = job_of(registry_, round.signature);
    JobFenceRounds* const rounds = nspace == nullptr ? nullptr : memories_.rounds_of(*nspace);
    if (rounds == nullptr) return;
    rounds->ended(id, status);
    JobFenceMemory* const memory = memories_.find(*nspace);
    if (memory == nullptr) return;
    const bool in_memory = memory->running == id;
    // Another one runs there.
    if (!in_memory && memory->running != 0) return;
    const auto state = memory->shared->state();
    const bool open =
        status == PMIX_SUCCESS && !memory->outdated && is_idle(round.signature) && memories_.may_open(*memory, *nspace);
    const uint32_t instance = nspace->data != nullptr ? nspace->data->instance() : 0;
    if (in_memory) {
        memory->running = 0;
        memory->rounds->last = memory->running_round;
        memory->rounds->last_status = status;
        // A process that reads in a segment that has been replaced must learn of the new one first, and an error is the
        // server's to give.
        const bool ask = status != PMIX_SUCCESS || instance != memory->instance;
        memory->instance = instance;
        memory->shared->end_round(memory->running_round, status, ask, open ? Mode::open : Mode::by_request);
        // Its caller's request was not taken along, for want of memory.
        for (JobFenceMemory::Held& held : memory->held) {
            try {
                answer(held.reply, round.signature, status);
            } catch (const std::bad_alloc&) {
                held.reply.status(PMIX_ERR_NOMEM);
            }
        }
        memory->held.clear();
        if (open) {
            left_commits_.begin(*memory, *nspace);
        } else {
            left_commits_.end(*memory, *nspace);
        }
    } else if (open && state.mode == Mode::by_request) {
        const Reach reach = registry_.reach(round.signature);
        memory->instance = instance;
        memory->shared->set_server_takes_part(reach != Reach::here && !(reach == Reach::unknown && !host_.has_fence()));
        // A process that joined before it was turned, and has slept through all of this, is to ask.
        memory->shared->end_round(state.round, PMIX_SUCCESS, true, Mode::open);
        left_commits_.begin(*memory, *nspace);
    }
}

void Fence::give_memory(Peer& peer, const Signature& signature, common::FenceReply& message,
                        std::vector<int>& descriptors) {
    if (descriptors.size() >= common::kMaxFrameDescriptors || job_of(registry_, signature) == nullptr) return;
    JobFenceMemory* const memory = memories_.of(peer);
    if (memory == nullptr) return;
    JobFenceMemory::Place& place = *memory->place_of(peer);
    if (place.use != FenceUse::lacks || place.given_to == peer.serial()) return;
    descriptors.push_back(memory->shared->descriptor());
    message.memory_ranks = memory->shared->processes();
    message.memory_slot = memory->slot_of(place);
    place.given_to = peer.serial();
    place.holder = peer.weak_from_this();
}

// Those that have joined are entered, and ask; those that have asked are answered as they would be then.
void Fence::to_requests(Nspace& nspace, JobFenceMemory& memory) {
    const bool turned = memory.turn_to_requests();
    const uint32_t round = memory.turned;
    std::vector<JobFenceMemory::Held> held = std::move(memory.held);
    memory.held.clear();
    left_commits_.take(nspace);
    Opened opened;
    if (turned && memories_.find(nspace) == &memory) opened = enter_joined(nspace, memory);
    for (JobFenceMemory::Held& one : held) {
        const auto peer = one.reply.peer();
        if (peer == nullptr || answer_entered(nspace, *peer, round, one.reply)) continue;
        const common::ProcList all{{peer->id().nspace, PMIX_RANK_WILDCARD}};
        join(*peer, common::read_ranges(all, {}), std::move(one.infos), std::move(one.reply));
    }
    if (Round* const complete = opened.complete ? find(opened.id) : nullptr) start(opened.id, *complete);
}

// They count from when they joined, whatever becomes of them and however long they take to ask. Where there is no room
// for that they count when they ask. The round is not started here.
Fence::Opened Fence::enter_joined(const Nspace& nspace, JobFenceMemory& memory) {
    const Signature signature = all_of(nspace.name);
    std::vector<const JobFenceMemory::Place*> joined;
    std::vector<MemberId> members;
    for (JobFenceMemory::Place& place : memory.places) {
        const auto holder = place.holder.lock();
        const bool has_joined = holder != nullptr && memory.shared->has_joined(memory.slot_of(place), memory.turned);
        const bool in = has_joined && memory.commits_are_in(place);
        place.is_due = has_joined && !in && !holder->gone();
        place.asked = false;
        if (!in) continue;
        joined.push_back(&place);
        members.push_back(member_id(nspace.number, place.rank));
    }
    commits_awaited_ = commits_awaited_ || memory.awaits_commits();
    if (joined.empty()) return {};
    memory.rounds->entered.reserve(memory.rounds->entered.size() + joined.size());
    const auto first = joined.front()->holder.lock();
    Charge charge;
    if (!charge.set(first->account(), Collective::open_memory_of(signature))) return {};
    const Opened opened = open_for(signature, members, std::move(charge));
    take_along(memory, joined, opened);
    return opened;
}

// Its commits are here now.
void Fence::enter_late(const Nspace& nspace, JobFenceMemory& memory, JobFenceMemory::Place& place) {
    place.is_due = false;
    const auto holder = place.holder.lock();
    const Signature signature = all_of(nspace.name);
    memory.rounds->entered.reserve(memory.rounds->entered.size() + 1);
    Charge charge;
    if (!charge.set(holder->account(), Collective::open_memory_of(signature))) return;
    const MemberId member = member_id(nspace.number, place.rank);
    const Opened opened = enter_from_elsewhere(signature, member, std::move(charge));
    take_along(memory, {&place}, opened);
    if (Round* const complete = opened.complete ? find(opened.id) : nullptr) start(opened.id, *complete);
}

// Nothing fails here: there is room for their entries.
void Fence::take_along(JobFenceMemory& memory, const std::vector<const JobFenceMemory::Place*>& joined,
                       const Opened& opened) {
    if (opened.id == 0) return;
    assert(memory.rounds->entered.capacity() - memory.rounds->entered.size() >= joined.size());
    Round* const round = find(opened.id);
    if (round != nullptr) round->collect = round->collect || memory.shared->state().collect;
    for (const JobFenceMemory::Place* const place : joined) {
        memory.rounds->entered.push_back({memory.turned, place->rank, opened.id, opened.end});
        const auto holder = place->holder.lock();
        if (round == nullptr || holder == nullptr) continue;
        if (round->account == nullptr) round->account = holder->account();
        round->users.add(holder->credentials());
        if (round->local_status == PMIX_SUCCESS) round->local_status = refused(*holder);
    }
}

void Fence::disturb(Nspace& nspace, JobFenceMemory& memory) {
    memory.disturbed = true;
    if (memory.running != 0) return;  // it goes on with all that have joined
    to_requests(nspace, memory);
    if (memories_.find(nspace) == &memory && memory.outdated) memories_.forget(nspace);
}

void Fence::peer_gone(const Peer& peer) {
    JobFenceMemory* const memory = memories_.of_job(peer);
    if (memory == nullptr) return;
    // What of its commits is not here by now never is.
    JobFenceMemory::Place* const held = memory->held_by(peer);
    if (held != nullptr) held->is_due = false;
    JobFenceMemory::Place* const place = memory->place_of(peer);
    if (place != nullptr) place->peer.reset();
    if (held == nullptr && place == nullptr) return;
    // The last one: its pages and its descriptor are given back before the namespace ends.
    memory->outdated = memory->outdated || memory->is_deserted();
    disturb(*registry_.find(peer.id().nspace), *memory);
}

void Fence::member_gone(Nspace& nspace, MemberId member) {
    CollectiveOperation::member_gone(nspace, member);
    if (JobFenceMemory* const memory = memories_.find(nspace)) disturb(nspace, *memory);
}

void Fence::members_changed(std::string_view name) {
    CollectiveOperation::members_changed(name);
    Nspace* const nspace = registry_.find(name);
    JobFenceMemory* const memory = nspace == nullptr ? nullptr : memories_.find(*nspace);
    if (memory == nullptr) return;
    const auto ranks = nspace->local_ranks();
    memory->outdated =
        memory->outdated || !std::equal(ranks.begin(), ranks.end(), memory->places.begin(), memory->places.end(),
                                        [](common::Rank rank, const auto& place) { return rank == place.rank; });
    disturb(*nspace, *memory);
}

void Fence::recover() {
    CollectiveOperation::recover();
    // One whose step was lost goes back to requests.
    auto& all = memories_.all();
    for (auto at = all.begin(); at != all.end();) {
        const uint32_t number = at->first;
        Nspace* const nspace = registry_.find(number);
        if (at->second.has_told && at->second.running == 0 && nspace != nullptr) to_requests(*nspace, at->second);
        at = all.upper_bound(number);
    }
}

void Fence::stop(pmix_status_t status) {
    CollectiveOperation::stop(status);
    for (auto& [number, memory] : memories_.all()) {
        for (JobFenceMemory::Held& held : memory.held) held.reply.status(status);
        memory.held.clear();
        memory.turn_to_requests();
    }
    memories_.all().clear();
}

}  // namespace pmix::server
