// SPDX-License-Identifier: BSD-3-Clause
#include "server/collectives/collective.h"

#include <algorithm>

namespace pmix::server {

namespace {
// Rounds that have ended without a member that never joins would pile up behind a caller that goes on with timeouts.
// Beyond this many the oldest is forgotten: that member, should it call after all, then joins a later round.
constexpr size_t kMaxEndedRounds = 256;
}  // namespace

Collective::Joined* Collective::find(Round& round, MemberId member) noexcept {
    auto it =
        std::find_if(round.joined.begin(), round.joined.end(), [&](const Joined& c) { return c.member == member; });
    return it == round.joined.end() ? nullptr : &*it;
}

Collective::Round* Collective::find(uint64_t id) const noexcept {
    const auto queue = rounds_.find(id);
    if (queue == rounds_.end()) return nullptr;
    Queue& rounds = queue->second->second;
    const auto at = std::lower_bound(rounds.begin(), rounds.end(), id, [&](const Round& round, uint64_t wanted) {
        ++examined_;
        return round.id < wanted;
    });
    return at != rounds.end() && at->id == id ? &*at : nullptr;
}

size_t Collective::whole(const Round& round) const noexcept {
    return static_cast<size_t>(
        std::count_if(round.joined.begin(), round.joined.end(), [](const Joined& c) { return c.whole; }));
}

bool Collective::missing_someone_gone(const Signature& signature, const Round& round) const {
    for (MemberId member : view_.gone(signature)) {
        auto it = std::find_if(round.joined.begin(), round.joined.end(),
                               [&](const Joined& c) { return c.member == member && c.whole; });
        if (it == round.joined.end()) return true;
    }
    return false;
}

Collective::State Collective::judge(const Signature& signature, Round& round) {
    if (round.reported || round.ended || round.joined.empty()) return State::waiting;
    if (whole(round) >= view_.expected(signature)) {
        round.reported = true;
        return State::complete;
    }
    if (missing_someone_gone(signature, round)) {
        round.reported = true;
        return State::broken;
    }
    return State::waiting;
}

// The key of a queue, and its owner's copy; beside them the members, a reply and a timer.
size_t Collective::memory_of(const Signature& signature) noexcept {
    constexpr size_t kRound = 1024;
    return kRound + 2 * signature.memory();
}

size_t Collective::open_memory_of(const Signature& signature) noexcept {
    return memory_of(signature) + static_cast<size_t>(signature.size()) * sizeof(pmix_proc_t);
}

Collective::Entered Collective::enter(const Signature& signature, MemberId member, bool every_clone, Charge charge) {
    if (!view_.contains(signature, member)) return {};
    auto queue = queues_.try_emplace(signature).first;
    // The rounds that it has joined with all its processes are the first ones: it joins them in their order.
    const auto at = std::partition_point(queue->second.begin(), queue->second.end(), [&](Round& r) {
        ++examined_;
        const Joined* joined = find(r, member);
        return joined != nullptr && joined->whole;
    });
    Round* round = at == queue->second.end() ? nullptr : &*at;
    Entered entered;
    if (round == nullptr) {
        // All of it or, without memory, nothing.
        try {
            Round fresh;
            fresh.id = next_;
            fresh.joined.push_back(Joined{member, 0, false});
            fresh.charge = std::move(charge);
            rounds_.emplace(next_, queue);
            queue->second.push_back(std::move(fresh));
        } catch (...) {
            rounds_.erase(next_);
            if (queue->second.empty()) queues_.erase(queue);
            throw;
        }
        ++next_;
        round = &queue->second.back();
        entered.first = true;
    }
    Joined* joined = find(*round, member);
    if (joined == nullptr) joined = &round->joined.emplace_back(Joined{member, 0, false});
    ++joined->processes;
    joined->whole = !every_clone || joined->processes >= view_.clones(member);

    entered.round = round->id;
    if (round->ended) {
        entered.state = State::over;
        entered.status = round->status;
        retire(queue);
        return entered;
    }
    entered.state = judge(signature, *round);
    return entered;
}

std::vector<Collective::Event> Collective::member_gone(MemberId member) {
    std::vector<Event> events;
    for (auto it = queues_.begin(); it != queues_.end();) {
        auto queue = it++;
        if (!view_.contains(queue->first, member)) continue;
        for (Round& round : queue->second) {
            State state = judge(queue->first, round);
            if (state != State::waiting) events.push_back({round.id, state});
        }
        retire(queue);
    }
    return events;
}

void Collective::process_gone(RoundId id, MemberId member) noexcept {
    Round* const round = find(id);
    if (round == nullptr) return;
    if (Joined* joined = find(*round, member); joined != nullptr && !joined->whole && joined->processes != 0)
        --joined->processes;
}

// Members that wait for every process of their rank: one that has ended is not waited for.
void Collective::count_processes(Round& round) const {
    if (round.ended) return;
    for (Joined& joined : round.joined)
        if (!joined.whole && joined.processes != 0) joined.whole = joined.processes >= view_.clones(joined.member);
}

std::vector<Collective::Event> Collective::recheck() {
    std::vector<Event> events;
    for (auto it = queues_.begin(); it != queues_.end();) {
        auto queue = it++;
        for (Round& round : queue->second) {
            count_processes(round);
            State state = judge(queue->first, round);
            if (state != State::waiting) events.push_back({round.id, state});
        }
        retire(queue);
    }
    return events;
}

std::vector<Collective::Event> Collective::report_again() {
    for (auto& [signature, queue] : queues_)
        for (Round& round : queue)
            if (!round.ended) round.reported = false;
    return recheck();
}

void Collective::end(RoundId id, pmix_status_t status) {
    auto at = rounds_.find(id);
    if (at == rounds_.end()) return;
    auto queue = at->second;
    if (Round* const round = find(id); round != nullptr && !round->ended) {
        round->ended = true;
        round->reported = true;
        round->status = status;
        round->charge.shrink_to(memory_of(queue->first));
    }
    retire(queue);
}

// Drops ended rounds at the front that no member can still call for; the signature too, when nothing is left of it.
void Collective::retire(Queues::iterator queue) {
    Queue& rounds = queue->second;
    while (!rounds.empty() && rounds.front().ended) {
        Round& round = rounds.front();
        size_t here = whole(round);
        if (here < view_.expected(queue->first)) {
            for (MemberId member : view_.gone(queue->first)) {
                const Joined* joined = find(round, member);
                if (joined == nullptr || !joined->whole) ++here;
            }
            if (here < view_.expected(queue->first) && rounds.size() <= kMaxEndedRounds) return;
        }
        rounds_.erase(round.id);
        rounds.pop_front();
    }
    if (rounds.empty()) queues_.erase(queue);
}

std::vector<Collective::RoundId> Collective::nspace_ended(std::string_view nspace, uint32_t number,
                                                          pmix_status_t status) {
    std::vector<RoundId> open;
    for (auto& [signature, queue] : queues_) {
        if (!signature.names(nspace)) continue;
        for (Round& round : queue) {
            // They are expected no longer, and must not be counted in place of members that are.
            std::erase_if(round.joined, [number](const Joined& c) { return nspace_number_of(c.member) == number; });
            if (round.ended) continue;
            open.push_back(round.id);
            round.ended = round.reported = true;
            round.status = status;
            round.charge.shrink_to(memory_of(signature));
        }
    }
    return open;
}

void Collective::nspace_new(std::string_view nspace) {
    for (auto it = queues_.begin(); it != queues_.end();) {
        auto queue = it++;
        if (!queue->first.names(nspace)) continue;
        Queue& rounds = queue->second;
        for (const Round& round : rounds)
            if (round.ended) rounds_.erase(round.id);
        std::erase_if(rounds, [](const Round& round) { return round.ended; });
        if (rounds.empty()) queues_.erase(queue);
    }
}

std::vector<MemberId> Collective::joined(RoundId id) const {
    std::vector<MemberId> members;
    const Round* const round = find(id);
    if (round == nullptr) return members;
    for (const Joined& c : round->joined)
        if (c.whole) members.push_back(c.member);
    return members;
}

bool Collective::is_open(RoundId id) const noexcept {
    const Round* const round = find(id);
    return round != nullptr && !round->ended;
}

const Signature* Collective::signature_of(RoundId id) const noexcept {
    auto at = rounds_.find(id);
    return at == rounds_.end() ? nullptr : &at->second->first;
}

}  // namespace pmix::server
