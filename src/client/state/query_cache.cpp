// SPDX-License-Identifier: BSD-3-Clause
#include "client/state/query_cache.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "common/codec/pack.h"

namespace pmix::client {

namespace {

// What says how an answer is got or handed out, or which process is meant, and not what is asked for.
bool narrows(std::string_view key) noexcept {
    for (const char* other :
         {PMIX_QUERY_REFRESH_CACHE, PMIX_PROCID, PMIX_NSPACE, PMIX_JOBID, PMIX_RANK, PMIX_TIMEOUT, PMIX_OPTIONAL,
          PMIX_IMMEDIATE, PMIX_WAIT, PMIX_GET_REFRESH_CACHE, PMIX_GET_POINTER_VALUES, PMIX_GET_STATIC_VALUES}) {
        if (key == other) return false;
    }
    return true;
}

}  // namespace

common::ProcId QueryCache::process_of(const common::ProcId& self, common::InfoView qualifiers) {
    const pmix_proc_t* named = nullptr;
    if (qualifiers.get(PMIX_PROCID, &named) == PMIX_SUCCESS && named != nullptr) {
        const common::ProcId proc(*named);
        return proc.nspace.empty() ? common::ProcId(self.nspace, proc.rank) : proc;
    }
    std::string_view nspace;
    if (qualifiers.get(PMIX_NSPACE, &nspace) != PMIX_SUCCESS || nspace.size() > common::kMaxNspaceLength) nspace = {};
    const pmix_info_t* info = qualifiers.find(PMIX_RANK);
    if (nspace.empty() && info == nullptr) return {};
    pmix_rank_t rank = PMIX_RANK_WILDCARD;
    if (info != nullptr && info->value.type == PMIX_PROC_RANK) {
        rank = info->value.data.rank;
    } else if (info != nullptr && qualifiers.get(PMIX_RANK, &rank) != PMIX_SUCCESS) {
        rank = PMIX_RANK_INVALID;
    }
    return {nspace.empty() ? std::string_view(self.nspace) : nspace, rank};
}

std::string QueryCache::name_of(std::string_view key, const common::ProcId& proc, common::InfoView qualifiers) {
    std::vector<std::string> parts;
    for (const pmix_info_t& info : qualifiers) {
        if (!narrows(common::key_view(info))) continue;
        common::ByteWriter w;
        if (common::encode_info(w, info) != PMIX_SUCCESS) return {};
        const common::Bytes bytes = w.view();
        parts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    std::ranges::sort(parts);
    std::string name(key);
    name += '\0';
    name += proc.nspace;
    name += '\0';
    if (!proc.nspace.empty()) name += std::to_string(proc.rank);
    name += '\0';
    for (const std::string& part : parts) name += part;
    return name;
}

bool QueryCache::find(const common::ProcId& self, const common::ProcId& proc, std::string_view key,
                      common::InfoView qualifiers, common::Value& out) const {
    if (find(name_of(key, proc, qualifiers), out)) return true;
    const bool own = proc.nspace == self.nspace && (!common::is_real_rank(proc.rank) || proc.rank == self.rank);
    return own && find(name_of(key, {}, qualifiers), out);
}

bool QueryCache::find(const std::string& name, common::Value& out) const {
    if (name.empty()) return false;
    common::MutexLock lock(mutex_);
    const auto at = answers_.find(name);
    if (at == answers_.end()) return false;
    auto copy = common::Value::copy_of(at->second.get());
    if (!copy) return false;
    out = std::move(copy).value();
    return true;
}

void QueryCache::keep(const std::string& name, const pmix_value_t& value) {
    auto copy = common::Value::copy_of(value);
    if (!copy || name.empty()) return;
    common::MutexLock lock(mutex_);
    const auto [at, fresh] = answers_.insert_or_assign(name, std::move(copy).value());
    if (!fresh) return;
    used_.store(true, std::memory_order_release);
    order_.push_back(name);
    if (order_.size() <= kMaxAnswers) return;
    answers_.erase(order_.front());
    order_.pop_front();
    assert(answers_.size() == order_.size());
}

void QueryCache::forget(const std::string& name) {
    common::MutexLock lock(mutex_);
    if (answers_.erase(name) != 0) std::erase(order_, name);
    assert(answers_.size() == order_.size());
}

void QueryCache::clear() {
    common::MutexLock lock(mutex_);
    answers_.clear();
    order_.clear();
}

}  // namespace pmix::client
