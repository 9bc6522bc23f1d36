#include "client/groups.h"

#include <algorithm>

#include "client/group_invite.h"
#include "client/session.h"
#include "common/info_view.h"
#include "common/proc_array.h"

namespace pmix::client {

using common::Command;
using common::GroupCall;
using common::InfoList;
using common::InfoView;
using common::MutexLock;
using common::ProcId;
using common::Result;
using common::Value;

namespace {

GroupVerdict read_verdict(const InfoList& results) {
    GroupVerdict verdict;
    verdict.handled = results.size() != 0;  // each handler leaves its status there
    for (const pmix_info_t& info : results) {
        std::string_view key = common::key_view(info);
        if (info.value.type == PMIX_STATUS && info.value.data.status == PMIX_GROUP_CONSTRUCT_ABORT) verdict.abort = true;
        if (key == PMIX_GROUP_LEADER && common::truth_of(info.value) != PMIX_BOOL_FALSE) verdict.leads = true;
        if (key == PMIX_PROCID || key == PMIX_GROUP_ADD_MEMBERS)
            common::read_proc_array(info.value, verdict.replacements);
    }
    return verdict;
}

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

Groups::Groups(Session& session) : session_(session), invites_(std::make_unique<GroupInvites>(session, *this)) {}

Groups::~Groups() = default;

void Groups::listen() {
    if (listening_.load(std::memory_order_acquire)) return;
    // Whoever comes second goes on when the request is out: what it asks next must not arrive before it.
    MutexLock lock(listen_mutex_);
    if (listening_.load(std::memory_order_relaxed)) return;
    common::RegisterEventsRequest request;
    request.codes.assign(std::begin(common::kGroupEvents), std::end(common::kGroupEvents));
    request.reference = kReference;
    const pmix_status_t rc = session_.ask_nb<Command::register_events>(request, [](pmix_status_t, common::Nothing&) {});
    listening_.store(rc == PMIX_SUCCESS, std::memory_order_release);
}

void Groups::heard(pmix_status_t code, const ProcId& source, const InfoList& infos, const InfoList& results,
                   bool replayed) {
    std::string_view name;
    if (InfoView(infos).get(PMIX_GROUP_ID, &name) != PMIX_SUCCESS || name.empty()) return;
    const GroupVerdict verdict = read_verdict(results);
    // Of what was before we listened only the end of an inviter, and who came after it, is for good, and the invitation
    // still stands.
    if (replayed && code != PMIX_GROUP_LEADER_FAILED && code != PMIX_GROUP_LEADER_SELECTED && code != PMIX_GROUP_INVITED)
        return;
    if (code == PMIX_GROUP_MEMBER_FAILED || code == PMIX_GROUP_LEADER_FAILED) {
        bool mine = false;
        {
            MutexLock lock(mutex_);
            mine = open_.find(name) != open_.end();
        }
        if (mine && !replayed) {
            common::ControlRequest request;
            request.kind = static_cast<uint32_t>(verdict.abort ? GroupCall::abort : GroupCall::decide);
            request.name = name;
            InfoList say;
            if (verdict.leads) say.append_flag(PMIX_GROUP_LEADER, true);
            request.infos = std::move(say);
            session_.ask_nb<Command::group>(request, [](pmix_status_t, common::ControlReply&) {});
        }
    }
    invites_->heard(code, std::string(name), source, infos, verdict, replayed);
}

void Groups::shut(pmix_status_t why) noexcept { invites_->shut(why); }

void Groups::constructing(const std::string& name) {
    MutexLock lock(mutex_);
    ++open_[name];
}

void Groups::constructed(const std::string& name, pmix_status_t status, const InfoList& results) {
    Formed formed;
    bool good = common::succeeded(status) || status == PMIX_ERR_PARTIAL_SUCCESS;
    if (good) {
        if (const pmix_info_t* members = results.find(PMIX_GROUP_MEMBERSHIP))
            common::read_proc_array(members->value, formed.members);
        // A process that has invited the members takes part in the construct also where it is none of them.
        good = std::find(formed.members.begin(), formed.members.end(), session_.self()) != formed.members.end();
    }
    if (good) {
        InfoView(results).get(PMIX_GROUP_CONTEXT_ID, &formed.context_id);
        formed.results.append_all(results.c_array(), results.size());
    }
    MutexLock lock(mutex_);
    auto it = open_.find(name);
    if (it != open_.end() && --it->second == 0) open_.erase(it);
    if (!good) return;
    formed_.insert_or_assign(name, std::move(formed));
    any_.store(true, std::memory_order_release);
}

void Groups::gone(const std::string& name) {
    MutexLock lock(mutex_);
    auto it = formed_.find(name);
    if (it == formed_.end()) return;
    if (it->second.context_id) ended_.add(*it->second.context_id, it->second.results);
    formed_.erase(it);
    if (formed_.empty()) any_.store(false, std::memory_order_release);
    if (!ended_.empty()) any_ended_.store(true, std::memory_order_release);
}

pmix_status_t Groups::replace(pmix_proc_t& proc) const {
    if (!any() || !common::is_real_rank(proc.rank)) return PMIX_SUCCESS;
    MutexLock lock(mutex_);
    auto it = formed_.find(common::nspace_view(proc.nspace));
    if (it == formed_.end()) return PMIX_SUCCESS;
    if (proc.rank >= it->second.members.size()) return PMIX_ERR_NOT_FOUND;
    proc = it->second.members[proc.rank].to_c();
    return PMIX_SUCCESS;
}

std::optional<Result<Value>> Groups::answer(const pmix_proc_t* proc, std::string_view key, const pmix_info_t infos[],
                                            size_t ninfos) const {
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

}  // namespace pmix::client
