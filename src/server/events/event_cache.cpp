// SPDX-License-Identifier: BSD-3-Clause
#include "server/events/event_cache.h"

#include <algorithm>
#include <cassert>

#include "common/codec/pack.h"
#include "common/values/describe.h"

namespace pmix::server {

namespace {

bool all_of_nspace(const common::ProcSet& procs, std::string_view name) {
    return std::all_of(procs.parts().begin(), procs.parts().end(), [&](const auto& p) { return p.nspace == name; });
}

// The news of a process set whose members are all of that job's.
bool is_of_set(const Event& event, std::string_view name) {
    if (event.code != PMIX_PROCESS_SET_DEFINE && event.code != PMIX_PROCESS_SET_DELETE) return false;
    return !event.jobs.empty() &&
           std::all_of(event.jobs.begin(), event.jobs.end(), [&](const std::string& job) { return job == name; });
}

bool only_for(const Event& event, std::string_view name, std::string_view server_nspace) {
    if (is_of_set(event, name)) return true;
    if (event.range == PMIX_RANGE_CUSTOM) return all_of_nspace(event.targets, name);
    if (event.range != PMIX_RANGE_NAMESPACE || !all_of_nspace(event.affected, name)) return false;
    if (event.source.nspace == name) return true;
    return !event.affected.empty() && (event.source.nspace.empty() || event.source.nspace == server_nspace);
}

// The memory of the structs, which may be many times their size on the wire. The decoder has bounded their depth.
size_t structs_of(const pmix_value_t& value) {
    if (value.type != PMIX_DATA_ARRAY || value.data.darray == nullptr) return 0;
    const pmix_data_array_t& a = *value.data.darray;
    const common::TypeRow* row = common::type_row(a.type);
    if (row == nullptr || a.array == nullptr) return 0;
    size_t bytes = a.size * row->size;
    for (size_t i = 0; i < a.size; ++i) {
        if (a.type == PMIX_INFO) bytes += structs_of(static_cast<const pmix_info_t*>(a.array)[i].value);
        if (a.type == PMIX_VALUE) bytes += structs_of(static_cast<const pmix_value_t*>(a.array)[i]);
    }
    return bytes;
}

}  // namespace

// What it would take on the wire stands for what the structs point to.
size_t EventCache::footprint_of(const Event& event) {
    size_t bytes =
        sizeof event + event.infos.size() * sizeof(pmix_info_t) + event.targets.memory() + event.affected.memory();
    for (const pmix_info_t& info : event.infos) bytes += structs_of(info.value);
    common::ByteWriter w;
    if (bytes > common::kMaxCachedEvent ||
        common::encode_infos(w, event.infos.c_array(), event.infos.size()) != PMIX_SUCCESS)
        return SIZE_MAX;
    return bytes + w.size();
}

void EventCache::recount() noexcept {
    ring_bytes_ = pending_bytes_ = 0;
    for (const Event& e : ring_) ring_bytes_ += e.footprint;
    for (const Pending& p : pending_) pending_bytes_ += p.event.footprint;
}

void EventCache::keep_pending(Event&& event, std::vector<MemberId> awaited) {
    if (awaited.empty()) return;
    pending_bytes_ += event.footprint;
    pending_.push_back({std::move(event), std::move(awaited)});
    while (pending_.size() > common::kMaxPendingEvents || pending_bytes_ > common::kEventCacheBytes) {
        assert(!pending_.empty() && pending_bytes_ >= pending_.front().event.footprint);
        pending_bytes_ -= pending_.front().event.footprint;
        pending_.pop_front();
    }
}

void EventCache::drop_unawaited() {
    if (std::erase_if(pending_, [](const Pending& p) { return p.awaited.empty(); }) != 0) recount();
}

void EventCache::member_gone(MemberId member) {
    for (Pending& pending : pending_) std::erase(pending.awaited, member);
    drop_unawaited();
}

void EventCache::namespace_gone(std::string_view name, std::string_view server_nspace) {
    std::erase_if(pending_, [&](const Pending& p) { return only_for(p.event, name, server_nspace); });
    std::erase_if(ring_, [&](const Event& e) { return only_for(e, name, server_nspace); });
    recount();
}

}  // namespace pmix::server
