// SPDX-License-Identifier: BSD-3-Clause
// Replies and timers of collectives: see gathering.h.
#include "server/collectives/collective_operation.h"

#include <algorithm>

#include "common/base/log.h"
#include "common/values/info_view.h"

namespace pmix::server {

using common::InfoView;

CollectiveOperation::Turn* CollectiveOperation::find(TurnId id) noexcept {
    auto it = turns_.find(id);
    return it == turns_.end() ? nullptr : &it->second;
}

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
    int timeout = 0;
    if (view.get(PMIX_TIMEOUT, &timeout) != PMIX_SUCCESS || timeout < 0) return reply.status(PMIX_ERR_BAD_PARAM);

    Charge round;
    if (!round.set(peer.account(), Collective::open_memory_of(signature)))
        return reply.status(PMIX_ERR_OUT_OF_RESOURCE);
    auto entered = collective_.enter(signature, *member, view.flag(PMIX_ALL_CLONES_PARTICIPATE), std::move(round));
    // Whoever is not in the set would wait for a turn that cannot include it.
    if (entered.state == Collective::State::stranger) return reply.status(PMIX_ERR_BAD_PARAM);
    if (entered.state == Collective::State::over) return reply.status(entered.status);

    WIREUP_LOG(server, debug, "%s turn %llu: %s:%u came%s", common::function_name(function_),
               static_cast<unsigned long long>(entered.turn), peer.id().nspace.c_str(), peer.id().rank,
               entered.state == Collective::State::waiting ? "" : ", the last here");
    Turn& turn = turns_[entered.turn];
    // Not what the collective calls the first: that one may have found no memory here.
    const bool first = turn.signature.empty();
    if (first) turn.signature = std::move(signature);
    turn.users.add(peer.credentials());
    turn.replies.push_back(std::move(reply));
    turn.collect = turn.collect || view.flag(PMIX_COLLECT_DATA);
    const Required required = required_in_collective(host_, view, function_);
    turn.required = std::max(turn.required, required);
    // The host is given the first caller's entries, and what any other caller requires of it.
    if (!first && required == Required::by_host) {
        for (const pmix_info_t& info : infos)
            if (common::is_required(info) && turn.infos.find(common::key_view(info)) == nullptr)
                turn.infos.append(info);
    }
    if (first) {
        turn.infos = std::move(infos);
        turn.account = peer.account();
    }
    if (timeout > 0) {
        // The shortest one counts, measured from when it was given.
        int64_t ms = int64_t{timeout} * 1000;
        int64_t ends = transport::monotonic_ns() / 1'000'000 + ms;
        if (turn.ends_at_ms == 0 || ends < turn.ends_at_ms) {
            turn.ends_at_ms = ends;
            turn.timer = Timer(scheduler_, ms, [this, id = entered.turn] { expire(id); });
        }
    }
    if (turn.local_status == PMIX_SUCCESS) turn.local_status = local;
    if (entered.state == Collective::State::broken) turn.local_status = PMIX_ERR_PARTIAL_SUCCESS;
    if (entered.state != Collective::State::waiting) start(entered.turn, turn);
}

void CollectiveOperation::start(TurnId id, Turn& turn) {
    if (turn.launched) return;
    turn.launched = true;
    if (turn.required == Required::unmet && turn.local_status == PMIX_SUCCESS)
        turn.local_status = PMIX_ERR_NOT_SUPPORTED;
    mark_processed(turn.infos, function_);
    launch(id, turn);
    if (Turn* open = find(id)) open->handed_over = true;
}

// Hosts match the turns of a set by counting upcalls: a turn that fails here before all came is one of them, and the
// upcall's local status ends it for the other nodes. Our own members do not wait for the host's answer.
void CollectiveOperation::expire(TurnId id) {
    Turn* turn = find(id);
    if (turn == nullptr) return;
    if (turn->local_status == PMIX_SUCCESS) turn->local_status = PMIX_ERR_TIMEOUT;
    start(id, *turn);
    finish(id, PMIX_ERR_TIMEOUT);
}

void CollectiveOperation::run(const std::vector<Collective::Event>& events) {
    for (const Collective::Event& event : events) {
        if (!collective_.is_open(event.turn)) continue;
        Turn* turn = find(event.turn);
        if (turn == nullptr) {
            // There was no memory for those who called, and they were told so. Other nodes wait for its part.
            Signature signature = *collective_.signature_of(event.turn);
            turn = &turns_[event.turn];
            turn->signature = std::move(signature);
            turn->local_status = PMIX_ERR_NOMEM;
        }
        if (turn->launched) continue;
        if (event.state == Collective::State::broken) turn->local_status = PMIX_ERR_PARTIAL_SUCCESS;
        start(event.turn, *turn);
    }
}

Host& CollectiveOperation::host_of(const Turn& turn) noexcept {
    for (const Reply& reply : turn.replies)
        if (const auto peer = reply.peer(); peer != nullptr && peer->kind() == PeerKind::self) return host_.of(*peer);
    return host_;
}

void CollectiveOperation::finish(TurnId id, pmix_status_t status) {
    auto it = turns_.find(id);
    if (it == turns_.end()) return;  // ended before: a host that is late
    WIREUP_LOG(server, debug, "%s turn %llu ends: %s", common::function_name(function_),
               static_cast<unsigned long long>(id), common::log_status(status));
    Turn turn = std::move(it->second);
    turns_.erase(it);
    collective_.end(id, status);
    for (Reply& reply : turn.replies) {
        try {
            answer(reply, turn, status);
        } catch (const std::bad_alloc&) {
            reply.status(PMIX_ERR_NOMEM);
        }
    }
}

void CollectiveOperation::recover() {
    run(collective_.say_again());
    const int64_t now = transport::monotonic_ns() / 1'000'000;
    for (auto it = turns_.begin(); it != turns_.end();) {
        const TurnId id = it->first;
        Turn& turn = it->second;
        ++it;  // nothing below ends another round
        const bool lost = turn.launched && (!turn.handed_over || turn.answer_due.expired());
        if (lost && turn.local_status == PMIX_SUCCESS) turn.local_status = PMIX_ERR_NOMEM;
        if (lost && !turn.handed_over && !turn.tried_again) {
            // The other nodes wait for this one's part, if only to hear that it has failed.
            turn.tried_again = true;
            turn.launched = false;
            start(id, turn);
        } else if (lost) {
            finish(id, turn.local_status);
        } else if (turn.ends_at_ms != 0 && turn.ends_at_ms <= now) {
            expire(id);
        }
    }
}

CollectiveOperation::Lives CollectiveOperation::lives_of(const Signature& signature) const {
    Lives lives;
    for (const Signature::Part& part : signature.parts()) {
        const Nspace* nspace = registry_.find(part.nspace);
        lives.push_back(nspace == nullptr ? 0 : nspace->number);
    }
    return lives;
}

bool CollectiveOperation::live_on(const Signature& signature, const Lives& lives) const {
    const Lives now = lives_of(signature);
    for (size_t i = 0; i < lives.size(); ++i)
        if (lives[i] != 0 && lives[i] != now[i]) return false;
    return true;
}

bool CollectiveOperation::uses(const Nspace& nspace) const {
    return std::any_of(turns_.begin(), turns_.end(),
                       [&](const auto& entry) { return entry.second.signature.names(nspace.name); });
}

void CollectiveOperation::member_gone(Nspace&, MemberId who) {
    run(collective_.member_gone(who));
}

void CollectiveOperation::members_changed() {
    run(collective_.recheck());
}

void CollectiveOperation::clone_gone(const Peer& peer) {
    if (const auto member = registry_.member(peer.id())) {
        for (const auto& [id, turn] : turns_) {
            const bool joined = std::any_of(turn.replies.begin(), turn.replies.end(),
                                            [&](const Reply& reply) { return reply.from(peer); });
            if (joined) collective_.process_gone(id, *member);
        }
    }
    members_changed();
}

void CollectiveOperation::namespace_gone(Nspace& nspace) {
    constexpr pmix_status_t status = PMIX_ERR_NOT_FOUND;
    for (TurnId id : collective_.nspace_ended(nspace.name, nspace.number, status)) finish(id, status);
}

void CollectiveOperation::report(ReportRows& rows) const {
    for (const auto& [id, turn] : turns_) {
        CollectiveReport row;
        row.operation = name_;
        row.members = turn.signature.list();
        row.at_host = turn.launched;
        row.began_ms = turn.began_ms;
        std::vector<MemberId> came = collective_.arrived(id);
        std::sort(came.begin(), came.end());
        for (MemberId who : came) row.joined.push_back(registry_.proc_of(who));
        for (const auto& [nspace, ranks] : registry_.local_members(turn.signature)) {
            for (common::Rank rank : ranks) {
                if (!std::binary_search(came.begin(), came.end(), member_id(nspace->number, rank)))
                    row.missing.emplace_back(nspace->name, rank);
            }
        }
        rows.collectives.push_back(std::move(row));
    }
}

void CollectiveOperation::stop(pmix_status_t status) {
    while (!turns_.empty()) finish(turns_.begin()->first, status);
}

void add_segments(const Segments& segments, Registry& registry, const Signature& signature, Peer& peer,
                  common::SegmentList& list, std::vector<int>& descriptors) {
    for (const Signature::Part& part : signature.parts()) {
        // What it has needs no mention: its mapping shows what was published.
        Nspace* nspace = registry.find(part.nspace);
        if (nspace != nullptr && nspace->data != nullptr && !peer.knows_segment(nspace->data->instance()))
            segments.add(peer, *nspace, list, descriptors);
    }
}

}  // namespace pmix::server
