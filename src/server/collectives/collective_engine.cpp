// SPDX-License-Identifier: BSD-3-Clause
#include "server/collectives/collective_engine.h"

#include <sched.h>

#include <algorithm>
#include <cassert>
#include <new>

#include "common/base/log.h"

namespace pmix::server {
namespace {

// A process of this thread's processor takes it when it is answered. Meanwhile those that could go on elsewhere would
// wait for their answers.
void answer_far_ones_first(std::vector<Reply>& replies) noexcept {
    const int here = ::sched_getcpu();
    std::stable_partition(replies.begin(), replies.end(), [here](const Reply& reply) {
        const auto peer = reply.peer();
        return peer == nullptr || !peer->sends_from(here);
    });
}

}  // namespace

int CollectiveEngine::timeout_in(common::InfoView infos) {
    int timeout = 0;
    return infos.get(PMIX_TIMEOUT, &timeout) == PMIX_SUCCESS ? timeout : -1;
}

void CollectiveEngine::join(RoundId id, Round& round, const Peer& peer, int timeout, Required required, Reply&& reply) {
    const int64_t ms = int64_t{timeout} * 1000;
    const int64_t ends = timeout == 0 ? 0 : transport::monotonic_ms() + ms;
    const bool sooner = timeout != 0 && (round.ends_at_ms == 0 || ends < round.ends_at_ms);
    // All that may fail comes before the reply is kept: one that is kept has its limit of time.
    Timer timer = sooner ? Timer(scheduler_, ms, [this, id] { expire(id); }) : Timer();
    round.users.add(peer.credentials());
    round.replies.push_back(std::move(reply));
    if (round.account == nullptr) round.account = peer.account();
    round.required = std::max(round.required, required);
    if (!sooner) return;
    round.ends_at_ms = ends;
    round.timer = std::move(timer);
}

void CollectiveEngine::start(RoundId id, Round& round) {
    if (round.launched) return;
    assert(!round.handed_over && find(id) == &round);
    round.launched = true;
    if (round.required == Required::unmet && round.local_status == PMIX_SUCCESS)
        round.local_status = PMIX_ERR_NOT_SUPPORTED;
    launch(id, round);
    if (Round* open = find(id)) open->handed_over = true;
}

void CollectiveEngine::expire(RoundId id) {
    Round* round = find(id);
    if (round == nullptr) return;
    if (round->local_status == PMIX_SUCCESS) round->local_status = PMIX_ERR_TIMEOUT;
    start(id, *round);
    finish(id, PMIX_ERR_TIMEOUT);
}

void CollectiveEngine::finish(RoundId id, pmix_status_t status) {
    auto it = rounds_.find(id);
    if (it == rounds_.end()) return;  // ended before: a host that is late
    WIREUP_LOG(server, debug, "%s round %llu ends: %s", name_of(*it->second).c_str(),
               static_cast<unsigned long long>(id), common::log_status(status));
    const std::unique_ptr<Round> round = std::move(it->second);
    rounds_.erase(it);
    assert(find(id) == nullptr);  // what comes for it from here on finds nobody to answer
    ended(id, *round, status);
    answer_far_ones_first(round->replies);
    for (Reply& reply : round->replies) {
        try {
            answer(reply, *round, status);
        } catch (const std::bad_alloc&) {
            reply.status(PMIX_ERR_NOMEM);
        }
        assert(!reply.open() || reply.peer() == nullptr);
    }
}

void CollectiveEngine::recover() {
    judge_again();
    const int64_t now = transport::monotonic_ms();
    for (auto it = rounds_.begin(); it != rounds_.end();) {
        const RoundId id = it->first;
        Round& round = *it->second;
        ++it;  // nothing below ends another round
        const bool lost = round.launched && (!round.handed_over || round.answer_due.expired());
        if (lost && round.local_status == PMIX_SUCCESS) round.local_status = PMIX_ERR_NOMEM;
        if (lost && !round.handed_over && !round.tried_again) {
            // The other nodes wait for this one's part, if only to be told that it has failed.
            round.tried_again = true;
            round.launched = false;
            start(id, round);
            // Its limit may be what started it: then nobody waits for the host.
            if (const Round* open = find(id); open != nullptr && open->ends_at_ms != 0 && open->ends_at_ms <= now)
                expire(id);
        } else if (lost) {
            finish(id, round.local_status);
        } else if (round.ends_at_ms != 0 && round.ends_at_ms <= now) {
            expire(id);
        }
    }
}

void CollectiveEngine::stop(pmix_status_t status) {
    while (!rounds_.empty()) {
        const RoundId id = rounds_.begin()->first;
        try {
            finish(id, status);
        } catch (const std::bad_alloc&) {
            rounds_.erase(id);  // what of its replies was not sent is an error
        }
    }
}

bool CollectiveEngine::uses(const Nspace& nspace) const {
    return std::any_of(rounds_.begin(), rounds_.end(),
                       [&](const auto& entry) { return entry.second->signature.names(nspace.name); });
}

void CollectiveEngine::report(ReportRows& rows) const {
    for (const auto& [id, round] : rounds_) {
        CollectiveReport row;
        row.operation = name_of(*round);
        row.members = round->signature.list();
        row.at_host = round->launched;
        row.began_ms = round->began_ms;
        std::vector<MemberId> in_it = joined(id, *round);
        std::sort(in_it.begin(), in_it.end());
        for (const MemberId member : in_it) row.joined.push_back(registry_.proc_of(member));
        for (const auto& [nspace, ranks] : registry_.local_members(round->signature)) {
            for (const common::Rank rank : ranks) {
                if (!std::binary_search(in_it.begin(), in_it.end(), member_id(nspace->number, rank)))
                    row.missing.emplace_back(nspace->name, rank);
            }
        }
        rows.collectives.push_back(std::move(row));
    }
}

Host& CollectiveEngine::host_of(const Round& round) noexcept {
    for (const Reply& reply : round.replies)
        if (const auto peer = reply.peer(); peer != nullptr && peer->kind() == PeerKind::self) return host_.of(*peer);
    return host_;
}

std::shared_ptr<const void> CollectiveEngine::due(Round& round) {
    auto held = std::make_shared<char>();
    round.answer_due = held;
    return held;
}

CollectiveEngine::Round* CollectiveEngine::find(RoundId id) noexcept {
    auto it = rounds_.find(id);
    return it == rounds_.end() ? nullptr : it->second.get();
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
