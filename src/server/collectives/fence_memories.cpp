// SPDX-License-Identifier: BSD-3-Clause
#include "server/collectives/fence_memories.h"

#include <algorithm>
#include <cassert>

namespace pmix::server {

using common::FenceUse;
using transport::FenceMemory;

namespace {

// A process with several threads may ask for a round after some others.
constexpr size_t kMostTurned = 64;

}  // namespace

JobFenceMemory::Place* JobFenceMemory::place_at(common::Rank rank) noexcept {
    const auto at = std::lower_bound(places.begin(), places.end(), rank,
                                     [](const Place& place, common::Rank wanted) { return place.rank < wanted; });
    return at == places.end() || at->rank != rank ? nullptr : &*at;
}

JobFenceMemory::Place* JobFenceMemory::place_of(const Peer& peer) noexcept {
    Place* const place = place_at(peer.id().rank);
    return place != nullptr && place->peer.lock().get() == &peer ? place : nullptr;
}

JobFenceMemory::Place* JobFenceMemory::held_by(const Peer& peer) noexcept {
    Place* const place = place_at(peer.id().rank);
    return place != nullptr && place->holder.lock().get() == &peer ? place : nullptr;
}

bool JobFenceMemory::is_deserted() const noexcept {
    return std::all_of(places.begin(), places.end(), [](const Place& place) { return place.peer.expired(); });
}

void JobFenceMemory::close_mailboxes() noexcept {
    look.cancel();
    shared->mailboxes().set_watch(transport::CommitMailboxes::Watch::closed);
}

bool JobFenceMemory::turn_to_requests() noexcept {
    close_mailboxes();
    shared->turn_to_requests();
    has_told = false;
    turned = shared->state().round;
    return rounds->note_turned(turned);
}

bool JobFenceRounds::was_turned(uint32_t round) const noexcept {
    return std::find(turned.begin(), turned.end(), round) != turned.end();
}

// There is room for all of them.
bool JobFenceRounds::note_turned(uint32_t round) noexcept {
    if (was_turned(round)) return false;
    if (turned.size() == kMostTurned) {
        std::erase_if(entered, [&](const Entered& one) { return one.round == turned.front(); });
        turned.erase(turned.begin());
    }
    assert(turned.size() < kMostTurned && turned.size() < turned.capacity());
    turned.push_back(round);
    return true;
}

void JobFenceRounds::ended(uint64_t round, pmix_status_t status) noexcept {
    for (Entered& one : entered)
        if (one.in == round) one.end = status;
}

std::optional<JobFenceRounds::Entered> JobFenceRounds::take(uint32_t round, common::Rank rank) noexcept {
    const auto at = std::find_if(entered.begin(), entered.end(),
                                 [&](const Entered& one) { return one.round == round && one.rank == rank; });
    if (at == entered.end()) return std::nullopt;
    const Entered taken = *at;
    *at = entered.back();
    entered.pop_back();
    return taken;
}

bool JobFenceMemory::commits_are_in(const Place& place) const noexcept {
    if (place.asked) return true;
    const auto holder = place.holder.lock();
    return holder != nullptr && holder->commits() >= shared->commits(slot_of(place));
}

bool JobFenceMemory::commits_are_in() const noexcept {
    return std::all_of(places.begin(), places.end(), [this](const Place& place) { return commits_are_in(place); });
}

bool JobFenceMemory::awaits_commits() const noexcept {
    return (has_told && running == 0) ||
           std::any_of(places.begin(), places.end(), [](const Place& place) { return place.is_due; });
}

JobFenceMemory* FenceMemories::find(const Nspace& nspace) noexcept {
    const auto at = memories_.find(nspace.number);
    return at == memories_.end() ? nullptr : &at->second;
}

JobFenceRounds* FenceMemories::rounds_of(const Nspace& nspace) noexcept {
    const auto at = rounds_.find(nspace.number);
    return at == rounds_.end() ? nullptr : &at->second;
}

// Nobody is in a round of it any more: it has been turned to requests.
void FenceMemories::forget(const Nspace& nspace) noexcept {
    const auto at = memories_.find(nspace.number);
    if (at == memories_.end()) return;
    assert(at->second.running == 0);
    at->second.rounds->next = at->second.shared->state().round + 1;
    memories_.erase(at);
}

JobFenceMemory* FenceMemories::asked_by(const std::shared_ptr<Peer>& peer, FenceUse use) {
    if (at_fence_ == 0 || peer->kind() != PeerKind::client) return nullptr;
    const Nspace* const nspace = registry_.find(peer->id().nspace);
    if (nspace == nullptr) return nullptr;
    JobFenceMemory* memory = find(*nspace);
    // Until now it has told those that had joined how their round ended.
    if (memory != nullptr && memory->outdated && memory->running == 0 && use != FenceUse::joined) {
        forget(*nspace);
        memory = nullptr;
    }
    if (memory == nullptr && use != FenceUse::none && is_due(*nspace)) {
        create(*nspace, *peer);
        memory = find(*nspace);
    }
    if (memory == nullptr) return nullptr;
    JobFenceMemory::Place* const at = memory->place_at(peer->id().rank);
    if (at == nullptr) return nullptr;
    if (at->peer.lock() != peer) {
        at->peer = peer;
        memory->disturbed = true;
    }
    // What it has is an earlier one.
    if (use != FenceUse::none && at->given_to != peer->serial()) use = FenceUse::lacks;
    // It was lost on its way. It is sent once more, unless the first one has not been read yet.
    if (use == FenceUse::lacks && at->given_to == peer->serial() && peer->has_read_all()) at->given_to = 0;
    if (use == FenceUse::none || use == FenceUse::lacks) memory->disturbed = true;
    at->use = use;
    return memory;
}

bool FenceMemories::is_due(const Nspace& nspace) {
    uint64_t& requests = requests_[nspace.number];
    if (requests < uint64_t{at_fence_ - 1} * nspace.local_count()) {
        ++requests;
        return false;
    }
    return true;
}

void FenceMemories::create(const Nspace& nspace, const Peer& peer) {
    const auto ranks = nspace.local_ranks();
    if (ranks.size() != nspace.local_count() || ranks.size() > FenceMemory::kMaxProcesses || nspace.is_remote) return;
    for (const common::Rank rank : ranks) {
        const Client* const client = nspace.find_client(rank);
        if (client == nullptr || client->uid != peer.credentials().uid) return;
    }
    assert(std::is_sorted(ranks.begin(), ranks.end()) && !memories_.contains(nspace.number));
    JobFenceRounds& rounds = rounds_[nspace.number];
    rounds.turned.reserve(kMostTurned);
    auto shared = FenceMemory::create(static_cast<uint32_t>(ranks.size()), rounds.next);
    if (!shared) return;
    JobFenceMemory memory;
    memory.shared = std::move(shared).value();
    assert(memory.shared->processes() == ranks.size());
    memory.first_round = memory.shared->state().round;
    memory.rounds = &rounds;
    memory.user = peer.credentials().uid;
    memory.places.resize(ranks.size());
    for (size_t i = 0; i < ranks.size(); ++i) memory.places[i].rank = ranks[i];
    memories_.emplace(nspace.number, std::move(memory));
}

bool FenceMemories::may_open(JobFenceMemory& memory, const Nspace& nspace) const noexcept {
    if (!memory.disturbed) return true;
    for (const JobFenceMemory::Place& place : memory.places) {
        const auto peer = place.peer.lock();
        const Client* const client = nspace.find_client(place.rank);
        if (peer == nullptr || peer->gone() || peer->finalized() || place.use == FenceUse::none) return false;
        if (client == nullptr || client->gone() || client->connections != 1) return false;
        // Of those that lack it, this round's answer brings it.
        if (place.use == FenceUse::lacks && place.given_to == peer->serial()) return false;
    }
    memory.disturbed = false;
    return true;
}

JobFenceMemory* FenceMemories::of_job(const Peer& peer) noexcept {
    const Nspace* const nspace = registry_.find(peer.id().nspace);
    return nspace == nullptr ? nullptr : find(*nspace);
}

JobFenceMemory* FenceMemories::of(const Peer& peer) noexcept {
    JobFenceMemory* const memory = of_job(peer);
    return memory != nullptr && memory->place_of(peer) != nullptr ? memory : nullptr;
}

}  // namespace pmix::server
