// SPDX-License-Identifier: BSD-3-Clause
// Get: the upcalls for data of processes of other nodes, how many of them are open, and their answers. See get.h.
#include <algorithm>
#include <cassert>
#include <utility>

#include "common/codec/pack.h"
#include "server/data/get.h"
#include "server/namespaces/job_section.h"
#include "server/namespaces/modex_blob.h"

namespace pmix::server {

using common::Bytes;
using common::ProcId;

namespace {
// Between two tries of a direct modex whose key is not there yet, while its timeout runs.
constexpr int64_t kFirstPauseMs = 10;
constexpr int64_t kLongestPauseMs = 500;
}  // namespace

// ---- how many are open ----

void Get::InLane::leave() noexcept {
    if (lanes_ == nullptr) return;
    Lane& lane = lane_->second;
    if (waits_) {
        lane.waiting.erase(at_);
    } else {
        assert(lane.open > 0);
        --lane.open;
    }
    if (lane.open == 0 && lane.waiting.empty()) lanes_->erase(lane_);
    lanes_ = nullptr;
    waits_ = false;
}

Get::InLane Get::enter_lane(const PullKey& at) {
    const auto lane = lanes_.try_emplace({at.proc, at.uid}).first;
    if (lane->second.open < kMostUpcalls) {
        ++lane->second.open;
        return {lanes_, lane};
    }
    return {lanes_, lane, lane->second.waiting.insert(lane->second.waiting.end(), &at)};
}

// A host may keep each of the open ones until its key is there, and another key may be there already.
void Get::let_more_in_later(Lanes::iterator lane) {
    lane->second.more = Timer(scheduler_, kMoreMs, [this, which = lane->first] {
        const auto now = lanes_.find(which);
        if (now == lanes_.end()) return;
        now->second.more.cancel();  // it is over
        if (now->second.waiting.empty()) return;
        if (now->second.waiting.size() > 1) let_more_in_later(now);
        start_first(now->second);
    });
}

void Get::let_in(const LaneKey& which) {
    for (auto lane = lanes_.find(which);
         lane != lanes_.end() && lane->second.open < kMostUpcalls && !lane->second.waiting.empty();
         lane = lanes_.find(which))
        start_first(lane->second);
}

void Get::start_first(Lane& lane) {
    const auto it = pulls_.find(*lane.waiting.front());
    assert(it != pulls_.end() && it->second.lane.waits());  // a Pull leaves its lane with its end
    it->second.lane.begin();
    start(it->first, it->second);
}

void Get::pull(const PullKey& at) {
    const auto it = pulls_.find(at);
    Pull& p = it->second;
    p.again.cancel();
    if (p.lane.is_in()) return;  // it is open, or is among the next
    p.lane = enter_lane(it->first);
    if (!p.lane.waits()) return start(it->first, p);
    const auto lane = lanes_.find({at.proc, at.uid});
    if (!lane->second.more.is_set()) let_more_in_later(lane);
}

void Get::start(const PullKey& at, Pull& p) {
    assert(p.flight == 0 && p.lane.is_in() && !p.lane.waits() && !p.questions.empty());
    const uint64_t flight = p.flight = next_++;
    p.answer_due.reset();
    auto due = std::make_shared<char>();
    p.answer_due = due;
    host_.defer([this, at, flight, due = std::move(due)]() mutable { upcall(at, flight, std::move(due)); });
}

void Get::recover() {
    for (auto it = pulls_.begin(); it != pulls_.end();) {
        const Pull& p = it->second;
        if (p.flight != 0 ? !p.answer_due.expired() : p.again.is_set() || p.lane.waits()) {
            ++it;
            continue;
        }
        std::list<Question> over;
        take(it->second.questions, over);
        it = pulls_.erase(it);
        for (Question& q : over) answer(q, PMIX_ERR_NOMEM);
    }
    for (auto lane = lanes_.begin(); lane != lanes_.end(); ++lane)
        if (!lane->second.waiting.empty() && !lane->second.more.is_set()) let_more_in_later(lane);
}

// ---- one of them ----

// What has been read from sockets and posted by the host comes first: the answer may be among it.
void Get::upcall(const PullKey& at, uint64_t flight, std::shared_ptr<const void> due) {
    const auto it = pulls_.find(at);
    if (it == pulls_.end() || it->second.flight != flight) return;
    if (it->second.questions.empty()) {
        pulls_.erase(it);
        return let_in({at.proc, at.uid});
    }
    for (Question& q : it->second.questions) q.covered = true;
    common::InfoList infos;
    common::ByteReader encoded(at.asks);
    const pmix_status_t rc = common::decode_infos(encoded, &infos);
    if (rc != PMIX_SUCCESS) {
        HostAnswer none;
        none.status = rc;
        return pulled(at, flight, none);
    }
    host_.direct_modex(at.proc, std::move(infos),
                       [this, at, flight, due = std::move(due)](HostAnswer& answer) { pulled(at, flight, answer); });
}

void Get::pulled(const PullKey& at, uint64_t flight, HostAnswer& answer_of_host) {
    const ProcId& proc = at.proc;
    const LaneKey lane{proc, at.uid};
    // A namespace that has ended meanwhile is not asked about any more, even if there is another of its name.
    const auto asked = pulls_.find(at);
    if (asked == pulls_.end() || asked->second.flight != flight) return let_in(lane);
    pmix_status_t status = answer_of_host.status;
    if (common::succeeded(status)) {
        learn(proc, answer_of_host.data);
        status = answer_of_host.data.empty() ? PMIX_SUCCESS : ingest(answer_of_host.data, proc.nspace);
        if (Nspace* nspace = registry_.find(proc.nspace); nspace != nullptr && status == PMIX_SUCCESS)
            nspace->readers.insert(at.uid);
        answer_noted();
        // The host answers a user: what it gives one user's processes it has not given to another's.
        answer_noted_pulls(at.uid);
    }
    auto it = pulls_.find(at);
    if (it == pulls_.end()) return let_in(lane);
    Pull& p = it->second;
    // Nothing that was answered above has made another upcall.
    assert(p.flight == flight && p.lane.is_in() && !p.lane.waits());
    p.flight = 0;
    p.lane.leave();
    Nspace* nspace = registry_.find(proc.nspace);
    const ModexState state = state_of(answer_of_host.data, proc.nspace, proc.rank);
    const bool have = nspace != nullptr && nspace->data != nullptr &&
                      (!common::is_real_rank(proc.rank) || nspace->data->has(proc.rank, at.key) ||
                       (at.key.empty() && common::succeeded(status)));
    const bool kept = says_kept(answer_of_host.data, proc.nspace, proc.rank, at.key);
    bool newcomers = false, patient = false;
    for (auto q = p.questions.begin(); q != p.questions.end();) {
        // The host's limit is not this request's; the request's own timer runs.
        const bool again = status == PMIX_ERR_TIMEOUT && (q->timeout_s > 0 || !q->covered);
        if (!common::succeeded(status) && !again) {
            answer(*q, status);
        } else if (have && !again) {
            answer_found(*q, *nspace);
        } else if (kept) {
            answer(*q, PMIX_ERR_EXISTS_OUTSIDE_SCOPE);
        } else if (!q->covered) {
            // Asked while the answer was on its way: it may be older than what this one is about.
            newcomers = true;
            ++q;
            continue;
        } else if (state != ModexState::over && !q->refresh && (q->patient() || state == ModexState::not_yet)) {
            patient = true;
            ++q;
            continue;
        } else {
            answer(*q, PMIX_ERR_NOT_FOUND);
        }
        q = p.questions.erase(q);
    }
    assert(p.questions.empty() || newcomers || patient);
    if (p.questions.empty()) {
        pulls_.erase(it);
    } else if (newcomers) {
        pull(at);
    } else if (patient) {
        p.pause_ms = std::min(std::max(kFirstPauseMs, p.pause_ms * 2), kLongestPauseMs);
        p.again = Timer(scheduler_, p.pause_ms, [this, again = &it->first] {
            auto entry = pulls_.find(*again);
            if (entry != pulls_.end() && entry->second.flight == 0) pull(entry->first);
        });
    }
    let_in(lane);
}

// Of a job that this server's host has not registered; what the host says here is worth more.
void Get::learn(const ProcId& proc, Bytes blob) {
    const Nspace* known = registry_.find(proc.nspace);
    if (proc.rank != PMIX_RANK_WILDCARD || (known != nullptr && known->data != nullptr)) return;
    auto job = described_job(blob, proc.nspace);
    if (!job.ok()) return;
    registry_.obtain_remote(proc.nspace);
    observers_.notify(&LifecycleObserver::job_received, *job);
}

}  // namespace pmix::server
