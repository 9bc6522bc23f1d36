// What the host reports: see event_codes.h.
#include "server/events/event_codes.h"

#include <algorithm>

namespace pmix::server {

void EventCodes::want(const std::vector<pmix_status_t>& codes, common::InfoList infos, Done done) {
    auto wish = std::make_shared<Wish>();
    wish->codes = codes;
    wish->done = std::move(done);
    std::vector<pmix_status_t> fresh;
    for (pmix_status_t code : codes) {
        auto [at, is_new] = codes_.try_emplace(code);
        Code& entry = at->second;
        ++entry.users;
        if (is_new) fresh.push_back(code);
        if (entry.phase != Phase::asked) continue;
        entry.waiting.push_back(wish);
        ++wish->unanswered;
    }
    if (wish->unanswered == 0) return wish->done(PMIX_SUCCESS);
    if (fresh.empty()) return;
    host_.register_events(fresh, std::move(infos),
                          [this, fresh](HostAnswer& answer) { answered(fresh, answer.status); });
}

void EventCodes::answered(const std::vector<pmix_status_t>& codes, pmix_status_t status) {
    const bool unknown = status == PMIX_ERR_NOT_SUPPORTED;
    if (!unknown && !common::succeeded(status)) return refused(codes, status);
    std::vector<WishPtr> ready;
    std::vector<pmix_status_t> unused;
    for (pmix_status_t code : codes) {
        Code& entry = codes_.at(code);
        entry.phase = unknown ? Phase::unknown_to_host : Phase::reported;
        for (WishPtr& wish : entry.waiting)
            if (--wish->unanswered == 0 && !wish->failed) ready.push_back(std::move(wish));
        entry.waiting.clear();
        if (entry.users != 0) continue;
        // Whoever wanted it has left in between.
        codes_.erase(code);
        if (!unknown) unused.push_back(code);
    }
    if (!unused.empty()) host_.deregister_events(std::move(unused), [](HostAnswer&) {});
    for (const WishPtr& wish : ready) wish->done(PMIX_SUCCESS);
}

void EventCodes::refused(const std::vector<pmix_status_t>& codes, pmix_status_t status) {
    std::vector<WishPtr> failed;
    for (pmix_status_t code : codes) {
        auto at = codes_.find(code);
        for (WishPtr& wish : at->second.waiting) {
            if (std::exchange(wish->failed, true)) continue;
            failed.push_back(std::move(wish));
        }
        codes_.erase(at);
    }
    for (const WishPtr& wish : failed) {
        std::vector<pmix_status_t> others;
        for (pmix_status_t code : wish->codes)
            if (!std::binary_search(codes.begin(), codes.end(), code)) others.push_back(code);
        drop(others);
        wish->done(status);
    }
}

void EventCodes::drop(const std::vector<pmix_status_t>& codes) {
    std::vector<pmix_status_t> unused;
    for (pmix_status_t code : codes) {
        auto at = codes_.find(code);
        if (at == codes_.end() || --at->second.users != 0) continue;
        if (at->second.phase == Phase::asked) continue;  // answered() will see that nobody is left
        if (at->second.phase == Phase::reported) unused.push_back(code);
        codes_.erase(at);
    }
    if (!unused.empty()) host_.deregister_events(std::move(unused), [](HostAnswer&) {});
}

}  // namespace pmix::server
