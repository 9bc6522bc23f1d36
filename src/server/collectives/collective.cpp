// SPDX-License-Identifier: BSD-3-Clause
// Turns of a collective: see collective.h.
#include "server/collectives/collective.h"

#include <algorithm>

namespace pmix::server {

namespace {
// Turns that ended without a member who never comes would pile up behind a caller that goes on with timeouts. Beyond
// this many the oldest is forgotten: that member, should it come after all, then joins a later turn.
constexpr size_t kMaxEndedTurns = 256;
}  // namespace

Collective::Came* Collective::find(Turn& turn, MemberId who) noexcept {
    auto it = std::find_if(turn.came.begin(), turn.came.end(), [&](const Came& c) { return c.who == who; });
    return it == turn.came.end() ? nullptr : &*it;
}

size_t Collective::whole(const Turn& turn) const noexcept {
    return static_cast<size_t>(
        std::count_if(turn.came.begin(), turn.came.end(), [](const Came& c) { return c.whole; }));
}

bool Collective::missing_someone_gone(const Signature& signature, const Turn& turn) const {
    for (MemberId who : view_.gone(signature)) {
        auto it =
            std::find_if(turn.came.begin(), turn.came.end(), [&](const Came& c) { return c.who == who && c.whole; });
        if (it == turn.came.end()) return true;
    }
    return false;
}

Collective::State Collective::judge(const Signature& signature, Turn& turn) {
    if (turn.reported || turn.ended || turn.came.empty()) return State::waiting;
    if (whole(turn) >= view_.expected(signature)) {
        turn.reported = true;
        return State::complete;
    }
    if (missing_someone_gone(signature, turn)) {
        turn.reported = true;
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

Collective::Entered Collective::enter(const Signature& signature, MemberId who, bool every_clone, Charge charge) {
    if (!view_.contains(signature, who)) return {};
    auto queue = queues_.try_emplace(signature).first;
    Turn* turn = nullptr;
    for (Turn& t : queue->second) {
        Came* came = find(t, who);
        if (came == nullptr || !came->whole) {
            turn = &t;
            break;
        }
    }
    Entered entered;
    if (turn == nullptr) {
        // All of it or, without memory, nothing.
        try {
            Turn fresh;
            fresh.id = next_;
            fresh.came.push_back(Came{who, 0, false});
            fresh.charge = std::move(charge);
            turns_.emplace(next_, queue);
            queue->second.push_back(std::move(fresh));
        } catch (...) {
            turns_.erase(next_);
            if (queue->second.empty()) queues_.erase(queue);
            throw;
        }
        ++next_;
        turn = &queue->second.back();
        entered.first = true;
    }
    Came* came = find(*turn, who);
    if (came == nullptr) came = &turn->came.emplace_back(Came{who, 0, false});
    ++came->processes;
    came->whole = !every_clone || came->processes >= view_.clones(who);

    entered.turn = turn->id;
    if (turn->ended) {
        entered.state = State::over;
        entered.status = turn->status;
        retire(queue);
        return entered;
    }
    entered.state = judge(signature, *turn);
    return entered;
}

std::vector<Collective::Event> Collective::member_gone(MemberId who) {
    std::vector<Event> events;
    for (auto it = queues_.begin(); it != queues_.end();) {
        auto queue = it++;
        if (!view_.contains(queue->first, who)) continue;
        for (Turn& turn : queue->second) {
            State state = judge(queue->first, turn);
            if (state != State::waiting) events.push_back({turn.id, state});
        }
        retire(queue);
    }
    return events;
}

void Collective::process_gone(TurnId id, MemberId who) noexcept {
    const auto at = turns_.find(id);
    if (at == turns_.end()) return;
    for (Turn& turn : at->second->second) {
        if (turn.id != id) continue;
        if (Came* came = find(turn, who); came != nullptr && !came->whole && came->processes != 0) --came->processes;
        return;
    }
}

// Members that wait for every process of their rank: one that has ended is not waited for.
void Collective::count_processes(Turn& turn) const {
    if (turn.ended) return;
    for (Came& came : turn.came)
        if (!came.whole && came.processes != 0) came.whole = came.processes >= view_.clones(came.who);
}

std::vector<Collective::Event> Collective::recheck() {
    std::vector<Event> events;
    for (auto it = queues_.begin(); it != queues_.end();) {
        auto queue = it++;
        for (Turn& turn : queue->second) {
            count_processes(turn);
            State state = judge(queue->first, turn);
            if (state != State::waiting) events.push_back({turn.id, state});
        }
        retire(queue);
    }
    return events;
}

std::vector<Collective::Event> Collective::say_again() {
    for (auto& [signature, queue] : queues_)
        for (Turn& turn : queue)
            if (!turn.ended) turn.reported = false;
    return recheck();
}

void Collective::end(TurnId id, pmix_status_t status) {
    auto at = turns_.find(id);
    if (at == turns_.end()) return;
    auto queue = at->second;
    for (Turn& turn : queue->second) {
        if (turn.id != id) continue;
        if (!turn.ended) {
            turn.ended = true;
            turn.reported = true;
            turn.status = status;
            turn.charge.shrink_to(memory_of(queue->first));
        }
        break;
    }
    retire(queue);
}

// Drops ended turns at the front that nobody is late for; the signature too, when nothing is left of it.
void Collective::retire(Queues::iterator queue) {
    Queue& turns = queue->second;
    while (!turns.empty() && turns.front().ended) {
        Turn& turn = turns.front();
        size_t here = whole(turn);
        if (here < view_.expected(queue->first)) {
            for (MemberId who : view_.gone(queue->first)) {
                const Came* came = find(turn, who);
                if (came == nullptr || !came->whole) ++here;
            }
            if (here < view_.expected(queue->first) && turns.size() <= kMaxEndedTurns) return;
        }
        turns_.erase(turn.id);
        turns.pop_front();
    }
    if (turns.empty()) queues_.erase(queue);
}

std::vector<Collective::TurnId> Collective::nspace_ended(std::string_view nspace, uint32_t number,
                                                         pmix_status_t status) {
    std::vector<TurnId> open;
    for (auto& [signature, queue] : queues_) {
        if (!signature.names(nspace)) continue;
        for (Turn& turn : queue) {
            // They are expected no longer, and must not stand for others who are.
            std::erase_if(turn.came, [number](const Came& c) { return nspace_number_of(c.who) == number; });
            if (turn.ended) continue;
            open.push_back(turn.id);
            turn.ended = turn.reported = true;
            turn.status = status;
            turn.charge.shrink_to(memory_of(signature));
        }
    }
    return open;
}

void Collective::nspace_new(std::string_view nspace) {
    for (auto it = queues_.begin(); it != queues_.end();) {
        auto queue = it++;
        if (!queue->first.names(nspace)) continue;
        Queue& turns = queue->second;
        for (const Turn& turn : turns)
            if (turn.ended) turns_.erase(turn.id);
        std::erase_if(turns, [](const Turn& turn) { return turn.ended; });
        if (turns.empty()) queues_.erase(queue);
    }
}

std::vector<MemberId> Collective::arrived(TurnId id) const {
    std::vector<MemberId> who;
    auto at = turns_.find(id);
    if (at == turns_.end()) return who;
    for (const Turn& turn : at->second->second) {
        if (turn.id != id) continue;
        for (const Came& c : turn.came)
            if (c.whole) who.push_back(c.who);
    }
    return who;
}

bool Collective::is_open(TurnId id) const noexcept {
    auto at = turns_.find(id);
    if (at == turns_.end()) return false;
    for (const Turn& turn : at->second->second)
        if (turn.id == id) return !turn.ended;
    return false;
}

const Signature* Collective::signature_of(TurnId id) const noexcept {
    auto at = turns_.find(id);
    return at == turns_.end() ? nullptr : &at->second->first;
}

}  // namespace pmix::server
