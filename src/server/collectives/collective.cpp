// SPDX-License-Identifier: BSD-3-Clause
#include "server/collectives/collective.h"

#include <algorithm>
#include <cassert>
#include <new>

namespace pmix::server {

namespace {
// Rounds that have ended without a member that never joins would pile up behind a caller that goes on with timeouts.
// Beyond this many the oldest is forgotten: that member, should it call after all, then joins a later round. So many of
// one set; those of ever new sets are bounded for each process that opens them.
constexpr size_t kMaxEndedRounds = 256;
constexpr size_t kMaxEndedOfMember = OpenShares::kMost;
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

Collective::Queue::iterator Collective::position(Queue& rounds, RoundId id) noexcept {
    return std::partition_point(rounds.begin(), rounds.end(), [id](const Round& round) { return round.id < id; });
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
    assert(round.status == PMIX_SUCCESS);
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

// The key of a queue, its owner's copy, and the names in the index; beside them the members, a reply and a timer.
size_t Collective::memory_of(const Signature& signature) noexcept {
    constexpr size_t kRound = 1024;
    return kRound + 3 * signature.memory() + signature.parts().size() * NamespaceIndex::kMemoryOfName;
}

size_t Collective::open_memory_of(const Signature& signature) noexcept {
    return memory_of(signature) + static_cast<size_t>(signature.size()) * sizeof(pmix_proc_t);
}

// All of it or, without memory, nothing. Null: the opener has too many that are not over.
Collective::Round* Collective::open(Queues::iterator queue, MemberId opener, Charge&& charge) {
    assert(!rounds_.contains(next_) && (queue->second.empty() || queue->second.back().id < next_));
    try {
        Round fresh;
        fresh.id = next_;
        fresh.opener = opener;
        fresh.share = shares_.take(opener);
        if (!fresh.share) {
            if (queue->second.empty()) queues_.erase(queue);
            return nullptr;
        }
        fresh.joined.push_back(Joined{opener, 0, false});
        fresh.charge = std::move(charge);
        fresh.entry = by_nspace_.add(queue->first, next_);
        rounds_.emplace(next_, queue);
        queue->second.push_back(std::move(fresh));
    } catch (...) {
        rounds_.erase(next_);
        if (queue->second.empty()) queues_.erase(queue);
        throw;
    }
    ++next_;
    assert(rounds_.size() >= queues_.size());  // no queue is empty
    return &queue->second.back();
}

Collective::Entered Collective::enter_all(const Signature& signature, const std::vector<MemberId>& members,
                                          Charge charge) {
    if (members.empty() || !is_idle(signature)) return {};
    const auto queue = queues_.try_emplace(signature).first;
    Round* const round = open(queue, members.front(), std::move(charge));
    if (round == nullptr) return {State::refused};
    Entered entered;
    entered.round = round->id;
    entered.first = true;
    try {
        std::vector<Joined> joined;
        joined.reserve(members.size());
        for (const MemberId member : members) joined.push_back(Joined{member, 1, true});
        round->joined = std::move(joined);
    } catch (...) {
        forget(entered.round);
        throw;
    }
    entered.state = judge(signature, *round);
    return entered;
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
    assert(std::none_of(at, queue->second.end(), [&](Round& r) {
        const Joined* joined = find(r, member);
        return joined != nullptr && joined->whole;
    }));
    Round* round = at == queue->second.end() ? nullptr : &*at;
    Entered entered;
    if (round == nullptr) {
        round = open(queue, member, std::move(charge));
        if (round == nullptr) return {State::refused};
        entered.first = true;
    }
    Joined* joined = find(*round, member);
    if (joined == nullptr) joined = &round->joined.emplace_back(Joined{member, 0, false});
    assert(!joined->whole);
    if (every_clone && !round->ended) partial_[member].insert(round->id);
    ++joined->processes;
    joined->whole = !every_clone || joined->processes >= view_.clones(member);
    if (joined->whole) joined_whole(round->id, member);

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

// With all its processes.
void Collective::joined_whole(RoundId id, MemberId member) noexcept {
    const auto at = partial_.find(member);
    if (at == partial_.end()) return;
    at->second.erase(id);
    if (at->second.empty()) partial_.erase(at);
}

std::vector<Collective::Event> Collective::member_gone(MemberId member) {
    std::vector<Event> events;
    for (const RoundId id : by_nspace_.of(view_.nspace_of(member))) {
        Round* const round = find(id);
        if (round == nullptr) continue;  // forgotten with one before it
        const auto queue = rounds_.find(id)->second;
        if (!view_.contains(queue->first, member)) continue;
        const State state = judge(queue->first, *round);
        if (state != State::waiting) events.push_back({id, state});
        if (round->ended) retire(queue);
    }
    return events;
}

// Of each set, from the first round on that is neither complete nor broken. Those behind it may be: a member joins the
// rounds in their order, so this one must not have joined a later one either.
std::vector<Collective::RoundId> Collective::begins_anew(MemberId member) {
    std::vector<RoundId> left, forgotten;
    std::set<const Queue*> waiting;
    for (const RoundId id : by_nspace_.of(view_.nspace_of(member))) {
        Round* const round = find(id);
        const Queue* const queue = &rounds_.find(id)->second->second;
        if (!round->reported) waiting.insert(queue);
        if (waiting.contains(queue) && find(*round, member) != nullptr) left.push_back(id);
    }
    forgotten.reserve(left.size());
    // From here on nothing fails.
    for (const RoundId id : left) {
        Round* const round = find(id);
        leave(*round, member);
        if (round->ended || !round->joined.empty()) continue;
        forgotten.push_back(id);
        forget(id);
    }
    return forgotten;
}

void Collective::leave(Round& round, MemberId member) noexcept {
    joined_whole(round.id, member);
    std::erase_if(round.joined, [member](const Joined& joined) { return joined.member == member; });
}

std::vector<Collective::RoundId> Collective::partly_joined(MemberId member) const {
    const auto at = partial_.find(member);
    if (at == partial_.end()) return {};
    return {at->second.begin(), at->second.end()};
}

void Collective::process_gone(RoundId id, MemberId member) noexcept {
    Round* const round = find(id);
    if (round == nullptr) return;
    if (Joined* joined = find(*round, member); joined != nullptr && !joined->whole && joined->processes != 0)
        --joined->processes;
}

// Members that wait for every process of their rank: one that has ended is not waited for.
void Collective::count_processes(Round& round) {
    if (round.ended) return;
    for (Joined& joined : round.joined) {
        if (joined.whole || joined.processes == 0) continue;
        joined.whole = joined.processes >= view_.clones(joined.member);
        if (joined.whole) joined_whole(round.id, joined.member);
    }
}

std::vector<Collective::Event> Collective::recheck() {
    std::vector<RoundId> all;
    all.reserve(rounds_.size());
    for (const auto& [id, queue] : rounds_) all.push_back(id);
    std::sort(all.begin(), all.end());
    return recheck(all);
}

std::vector<Collective::Event> Collective::recheck(std::string_view nspace) {
    return recheck(by_nspace_.of(nspace));
}

std::vector<Collective::Event> Collective::recheck(const std::vector<RoundId>& ids) {
    std::vector<Event> events;
    for (const RoundId id : ids) {
        Round* const round = find(id);
        if (round == nullptr) continue;  // forgotten with one before it
        const auto queue = rounds_.find(id)->second;
        count_processes(*round);
        const State state = judge(queue->first, *round);
        if (state != State::waiting) events.push_back({id, state});
        if (round->ended) retire(queue);
    }
    return events;
}

std::vector<Collective::Event> Collective::report_again() {
    for (auto& [signature, queue] : queues_)
        for (Round& round : queue)
            if (!round.ended) round.reported = false;
    return recheck();
}

void Collective::end(RoundId id, pmix_status_t status) noexcept {
    const auto at = rounds_.find(id);
    if (at == rounds_.end()) return;
    const auto queue = at->second;
    Round* const round = find(id);
    const bool ends = !round->ended;
    if (ends) end(queue, *round, status);
    // Rounds that cannot be retired now are later: those that wait for this one learn of its end all the same.
    try {
        retire(queue);
    } catch (const std::bad_alloc&) {
    }
    if (ends) stays(id);
}

void Collective::end(Queues::iterator queue, Round& round, pmix_status_t status) noexcept {
    assert(!round.ended);  // a round has one status
    round.ended = true;
    round.reported = true;
    round.status = status;
    round.charge.shrink_to(memory_of(queue->first));
    round.share.clear();
    for (const Joined& joined : round.joined)
        if (!joined.whole) joined_whole(round.id, joined.member);
}

// A round that has ended is kept for members that are late, if it is still there; in place of the oldest one that the
// same process opened, where there are too many. Without memory it is not kept.
void Collective::stays(RoundId id) noexcept {
    const Round* const round = find(id);
    if (round == nullptr) return;
    assert(round->ended);
    try {
        std::set<RoundId>& ended = ended_of_[round->opener];
        ended.insert(id);
        assert(ended.size() <= kMaxEndedOfMember + 1);
        if (ended.size() > kMaxEndedOfMember) forget(*ended.begin());
    } catch (const std::bad_alloc&) {
        forget(id);
    }
}

void Collective::forget(RoundId id) noexcept {
    const auto at = rounds_.find(id);
    const auto queue = at->second;
    Queue& rounds = queue->second;
    const auto round = position(rounds, id);
    assert(round != rounds.end() && round->id == id);
    const auto ended = ended_of_.find(round->opener);
    if (ended != ended_of_.end()) {
        ended->second.erase(id);
        if (ended->second.empty()) ended_of_.erase(ended);
    }
    rounds_.erase(at);
    assert(std::none_of(partial_.begin(), partial_.end(), [id](const auto& of) { return of.second.contains(id); }));
    rounds.erase(round);
    if (rounds.empty()) queues_.erase(queue);
}

// Drops ended rounds at the front that no member can still call for; the signature too, when nothing is left of it.
void Collective::retire(Queues::iterator queue) {
    Queue& rounds = queue->second;
    assert(!rounds.empty());
    while (rounds.front().ended) {
        Round& round = rounds.front();
        size_t here = whole(round);
        if (here < view_.expected(queue->first)) {
            for (MemberId member : view_.gone(queue->first)) {
                const Joined* joined = find(round, member);
                if (joined == nullptr || !joined->whole) ++here;
            }
            if (here < view_.expected(queue->first) && rounds.size() <= kMaxEndedRounds) return;
        }
        const bool last = rounds.size() == 1;
        forget(round.id);
        if (last) return;  // the queue went with it
    }
}

std::vector<Collective::RoundId> Collective::nspace_ended(std::string_view nspace, uint32_t number,
                                                          pmix_status_t status) {
    const auto ids = by_nspace_.of(nspace);
    // Before anything changes: one that has ended here and is not in the list would never be answered.
    std::vector<RoundId> open;
    open.reserve(ids.size());
    for (const RoundId id : ids) {
        Round* const round = find(id);
        if (round == nullptr) continue;  // an ended one, in whose place another one stays
        const bool ends = !round->ended;
        if (ends) end(rounds_.find(id)->second, *round, status);
        // They are expected no longer, and must not be counted in place of members that are.
        std::erase_if(round->joined, [number](const Joined& c) { return nspace_number_of(c.member) == number; });
        if (!ends) continue;
        open.push_back(id);
        stays(id);
    }
    return open;
}

void Collective::nspace_new(std::string_view nspace) {
    for (const RoundId id : by_nspace_.of(nspace))
        if (find(id)->ended) forget(id);
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

bool Collective::names(std::string_view nspace) const {
    const auto ids = by_nspace_.of(nspace);
    return std::any_of(ids.begin(), ids.end(), [this](RoundId id) { return is_open(id); });
}

const Signature* Collective::signature_of(RoundId id) const noexcept {
    auto at = rounds_.find(id);
    return at == rounds_.end() ? nullptr : &at->second->first;
}

}  // namespace pmix::server
