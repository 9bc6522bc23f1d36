// SPDX-License-Identifier: BSD-3-Clause
#include "client/state/group_membership.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "common/values/info_view.h"
#include "common/values/proc_array.h"

namespace pmix::client {

using common::InfoList;
using common::InfoView;
using common::MutexLock;
using common::ProcId;
using common::Result;
using common::Value;

namespace {

// A value that one process shared, in the results of its group.
std::optional<Result<Value>> shared_by(const InfoList& results, const ProcId& proc, std::string_view key) {
    std::optional<Result<Value>> found;
    each_shared(results, [&](const ProcId& member, InfoView infos) {
        if (found || !(member == proc)) return;
        const pmix_info_t* info = infos.find(key);
        if (info != nullptr) found = Value::copy_of(info->value);
    });
    return found;
}

}  // namespace

bool GroupMembership::is_constructing(std::string_view name) const {
    MutexLock lock(mutex_);
    return open_.find(name) != open_.end();
}

void GroupMembership::constructing(const std::string& name) {
    MutexLock lock(mutex_);
    ++open_[name];
}

void GroupMembership::constructed(const std::string& name, pmix_status_t status, const InfoList& results) {
    Formed formed;
    bool good = common::succeeded(status) || status == PMIX_ERR_PARTIAL_SUCCESS;
    if (good) {
        if (const pmix_info_t* members = results.find(PMIX_GROUP_MEMBERSHIP))
            common::read_proc_array(members->value, formed.members);
        // A process that has invited the members takes part in the construct also where it is none of them.
        good = std::find(formed.members.begin(), formed.members.end(), self_) != formed.members.end();
    }
    if (good) {
        InfoView(results).get(PMIX_GROUP_CONTEXT_ID, &formed.context_id);
        formed.results.append_all(results.c_array(), results.size());
    }
    MutexLock lock(mutex_);
    auto it = open_.find(name);
    assert(it == open_.end() || it->second > 0);
    if (it != open_.end() && --it->second == 0) open_.erase(it);
    if (!good) return;
    formed_.insert_or_assign(name, std::move(formed));
    any_.store(true, std::memory_order_release);
}

void GroupMembership::gone(const std::string& name) {
    MutexLock lock(mutex_);
    auto it = formed_.find(name);
    if (it == formed_.end()) return;
    if (it->second.context_id) ended_.add(*it->second.context_id, it->second.results);
    formed_.erase(it);
    if (formed_.empty()) any_.store(false, std::memory_order_release);
    if (!ended_.empty()) any_ended_.store(true, std::memory_order_release);
}

pmix_status_t GroupMembership::replace(pmix_proc_t& proc) const {
    if (!any() || !common::is_real_rank(proc.rank)) return PMIX_SUCCESS;
    MutexLock lock(mutex_);
    auto it = formed_.find(common::nspace_view(proc.nspace));
    if (it == formed_.end()) return PMIX_SUCCESS;
    if (proc.rank >= it->second.members.size()) return PMIX_ERR_NOT_FOUND;
    proc = it->second.members[proc.rank].to_c();
    return PMIX_SUCCESS;
}

std::optional<Result<Value>> GroupMembership::answer(const pmix_proc_t* proc, std::string_view key,
                                                     const pmix_info_t infos[], size_t ninfos) const {
    if (!any_for(ninfos) || proc == nullptr || key.empty()) return std::nullopt;
    const InfoView view(infos, ninfos);
    MutexLock lock(mutex_);
    if (proc->rank == PMIX_RANK_WILDCARD) {
        auto it = formed_.find(common::nspace_view(proc->nspace));
        if (it == formed_.end()) return std::nullopt;
        const pmix_info_t* info = it->second.results.find(key);
        if (info == nullptr) return Result<Value>(PMIX_ERR_NOT_FOUND);
        return Value::copy_of(info->value);
    }
    std::optional<size_t> number;
    std::string_view name;
    if (view.get(PMIX_GROUP_CONTEXT_ID, &number) != PMIX_SUCCESS || view.get(PMIX_GROUP_ID, &name) != PMIX_SUCCESS)
        return Result<Value>(PMIX_ERR_BAD_PARAM);
    if (!number && name.empty()) return std::nullopt;
    for (const auto& [its_name, group] : formed_) {
        if (number ? group.context_id != number : its_name != name) continue;
        auto shared = shared_by(group.results, ProcId(*proc), key);
        if (shared) return shared;
    }
    if (number) return ended_.find(*number, ProcId(*proc), key);
    return std::nullopt;  // a value that knows no groups, perhaps
}

bool GroupMembership::in_common(const pmix_proc_t& proc, InfoView infos) const {
    bool marked = false;
    for (const pmix_info_t& info : infos) {
        if ((info.flags & PMIX_INFO_QUALIFIER) == 0) continue;
        marked = true;
        const std::string_view key = common::key_view(info);
        if (key != PMIX_GROUP_CONTEXT_ID && key != PMIX_GROUP_ID) return false;
    }
    if (!marked) return false;
    std::optional<size_t> number;
    std::string_view name;
    if (infos.get(PMIX_GROUP_CONTEXT_ID, &number) != PMIX_SUCCESS || infos.get(PMIX_GROUP_ID, &name) != PMIX_SUCCESS)
        return false;
    const ProcId member(proc);
    MutexLock lock(mutex_);
    return std::any_of(formed_.begin(), formed_.end(), [&](const auto& group) {
        const auto& members = group.second.members;
        return (!number || group.second.context_id == number) && (name.empty() || group.first == name) &&
               std::find(members.begin(), members.end(), member) != members.end();
    });
}

}  // namespace pmix::client
