// Kept events: see event_cache.h.
#include "server/event_cache.h"

#include <algorithm>

#include "common/limits.h"

namespace pmix::server {

using common::ProcId;

namespace {

bool all_of_nspace(const std::vector<ProcId>& procs, std::string_view name) {
    return std::all_of(procs.begin(), procs.end(), [&](const ProcId& p) { return p.nspace == name; });
}

bool only_for(const Event& event, std::string_view name, std::string_view server_nspace) {
    if (event.range == PMIX_RANGE_CUSTOM) return all_of_nspace(event.targets, name);
    if (event.range != PMIX_RANGE_NAMESPACE || !all_of_nspace(event.affected, name)) return false;
    if (event.source.nspace == name) return true;
    return !event.affected.empty() && (event.source.nspace.empty() || event.source.nspace == server_nspace);
}

}  // namespace

void EventCache::park(Event&& event, std::vector<MemberId> awaited) {
    if (awaited.empty()) return;
    if (parked_.size() >= common::kMaxParkedEvents) parked_.pop_front();
    parked_.push_back({std::move(event), std::move(awaited)});
}

void EventCache::drop_unawaited() {
    std::erase_if(parked_, [](const Parked& p) { return p.awaited.empty(); });
}

void EventCache::member_gone(MemberId member) {
    for (Parked& parked : parked_) std::erase(parked.awaited, member);
    drop_unawaited();
}

void EventCache::namespace_gone(std::string_view name, std::string_view server_nspace) {
    std::erase_if(parked_, [&](const Parked& p) { return only_for(p.event, name, server_nspace); });
    std::erase_if(ring_, [&](const Event& e) { return only_for(e, name, server_nspace); });
}

}  // namespace pmix::server
