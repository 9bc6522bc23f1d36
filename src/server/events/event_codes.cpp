// SPDX-License-Identifier: BSD-3-Clause
//
// Each step first changes what is kept here, which needs no memory, and then answers and tells the host, which may;
// what is left of a step that failed there can be read out of what is kept, and recover() does it.
#include "server/events/event_codes.h"

#include <cassert>

namespace pmix::server {

void EventCodes::want(const std::vector<pmix_status_t>& codes, common::InfoList infos, Done done) {
    auto registration = std::make_shared<Registration>();
    registration->done = std::move(done);
    try {
        registration->codes.reserve(codes.size());
        std::vector<pmix_status_t> fresh;
        fresh.reserve(codes.size());
        auto due = std::make_shared<char>();
        for (pmix_status_t code : codes) {
            auto [at, is_new] = codes_.try_emplace(code);
            Code& entry = at->second;
            ++entry.users;
            registration->codes.push_back(code);
            if (is_new) {
                fresh.push_back(code);
                entry.answer_due = due;
            }
            if (entry.phase != Phase::asked) continue;
            ++registration->unanswered;
            entry.waiting.push_back(registration);
        }
        if (!fresh.empty()) {
            host_.register_events(fresh, std::move(infos), [this, fresh, due = std::move(due)](HostAnswer& answer) {
                answered(fresh, answer.status);
            });
        }
    } catch (const std::bad_alloc&) {
        take_back(registration);
        return registration->done(PMIX_ERR_NOMEM);
    }
    if (registration->unanswered == 0) registration->done(PMIX_SUCCESS);
}

// The host has not been asked for this registration; codes that only it uses are unknown again.
void EventCodes::take_back(const RegistrationPtr& registration) noexcept {
    for (pmix_status_t code : registration->codes) {
        auto at = codes_.find(code);
        assert(at != codes_.end() && at->second.users > 0);
        at->second.waiting.remove(registration);
        const bool not_asked = at->second.phase == Phase::asked && at->second.answer_due.expired();
        if (--at->second.users == 0 && not_asked) codes_.erase(at);
    }
}

void EventCodes::answered(const std::vector<pmix_status_t>& codes, pmix_status_t status) {
    const bool unknown = status == PMIX_ERR_NOT_SUPPORTED;
    if (!unknown && !common::succeeded(status)) return refused(codes, status);
    for (pmix_status_t code : codes) codes_.at(code).phase = unknown ? Phase::unknown_to_host : Phase::reported;
    answer_served(codes);
    forget_unused(codes);  // the peer that wanted it has left meanwhile
}

void EventCodes::answer_served(const std::vector<pmix_status_t>& codes) {
    for (pmix_status_t code : codes) {
        // Looked up again each time: an answer may be followed by drop().
        for (auto at = codes_.find(code); at != codes_.end() && !at->second.waiting.empty(); at = codes_.find(code)) {
            const RegistrationPtr registration = std::move(at->second.waiting.front());
            at->second.waiting.pop_front();
            assert(registration->unanswered > 0);
            if (--registration->unanswered == 0 && registration->failure == PMIX_SUCCESS)
                registration->done(PMIX_SUCCESS);
        }
    }
}

void EventCodes::refused(const std::vector<pmix_status_t>& codes, pmix_status_t status) {
    std::list<RegistrationPtr> failed;
    for (pmix_status_t code : codes) {
        auto at = codes_.find(code);
        failed.splice(failed.end(), at->second.waiting);
        codes_.erase(at);
    }
    for (auto at = failed.begin(); at != failed.end();) {
        Registration& registration = **at;
        if (registration.failure != PMIX_SUCCESS) {  // by another of these codes, or by an earlier answer
            at = failed.erase(at);
            continue;
        }
        registration.failure = status;
        for (pmix_status_t code : registration.codes)
            if (auto other = codes_.find(code); other != codes_.end()) --other->second.users;
        ++at;
    }
    refused_.splice(refused_.end(), failed);
    answer_refused();
    forget_unused();
}

void EventCodes::answer_refused() {
    while (!refused_.empty()) {
        const RegistrationPtr registration = std::move(refused_.front());
        refused_.pop_front();
        registration->done(registration->failure);
    }
}

void EventCodes::drop(const std::vector<pmix_status_t>& codes) {
    for (pmix_status_t code : codes)
        if (auto at = codes_.find(code); at != codes_.end()) --at->second.users;
    forget_unused(codes);
}

// Those without a user go, and the host is told if it reports them. What the host is still asked for stays until it has
// answered.
void EventCodes::forget_unused(const std::vector<pmix_status_t>& codes) {
    std::vector<pmix_status_t> reported;
    for (pmix_status_t code : codes) {
        auto at = codes_.find(code);
        if (at == codes_.end() || at->second.users != 0 || at->second.phase == Phase::asked) continue;
        if (at->second.phase == Phase::reported) {
            reported.push_back(code);
        } else {
            codes_.erase(at);
        }
    }
    if (reported.empty()) return;
    host_.deregister_events(reported, [](HostAnswer&) {});
    for (pmix_status_t code : reported) codes_.erase(code);
}

void EventCodes::forget_unused() {
    std::vector<pmix_status_t> unused;
    for (const auto& [code, entry] : codes_)
        if (entry.users == 0) unused.push_back(code);
    forget_unused(unused);
}

void EventCodes::recover() {
    std::vector<pmix_status_t> lost, served;
    for (const auto& [code, entry] : codes_) {
        const bool asked = entry.phase == Phase::asked;
        if (asked && entry.answer_due.expired()) lost.push_back(code);
        if (!asked && !entry.waiting.empty()) served.push_back(code);
    }
    if (!lost.empty()) refused(lost, PMIX_ERR_NOMEM);  // whatever the host has said: the next user asks it again
    answer_served(served);
    answer_refused();
    forget_unused();
}

}  // namespace pmix::server
