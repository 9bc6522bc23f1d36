// SPDX-License-Identifier: BSD-3-Clause
#include "client/groups/group_invite_api.h"

#include <cstdlib>
#include <utility>

#include "client/data/get.h"
#include "client/groups/group_api.h"
#include "client/groups/group_invite.h"
#include "client/groups/group_limits.h"
#include "client/groups/group_served.h"
#include "client/session/request.h"
#include "client/session/session.h"
#include "common/values/info_view.h"
#include "common/values/support.h"

namespace pmix::client {

using common::InfoList;
using common::ProcId;
using common::ProcList;

namespace {

// What the construct at the end does is this call's as well.
constexpr common::Levels kBothLevels = common::level::client | common::level::server;

// Of a job that is not known here the server is asked, within what is left of the call's limit.
common::Result<uint64_t> size_of(Session& session, const std::string& nspace, transport::Deadline limit) {
    const pmix_proc_t job = ProcId(nspace, PMIX_RANK_WILDCARD).to_c();
    pmix_value_t* value = nullptr;
    InfoList infos;
    append_limited(infos, {}, limit);
    WIREUP_RETURN_IF_ERROR(get(session, &job, PMIX_JOB_SIZE, infos.c_array(), infos.size(), &value));
    uint64_t size = 0;
    common::read_number(*value, &size);
    common::destroy_value(value);
    std::free(value);
    return size;
}

// Single processes for wildcards: an invitation is answered by each.
common::Result<ProcList> single_procs(Session& session, const pmix_proc_t procs[], size_t nprocs,
                                      transport::Deadline limit) {
    if (procs == nullptr || nprocs == 0) return PMIX_ERR_BAD_PARAM;
    auto list = checked_procs(procs, nprocs);
    if (!list) return list;
    ProcList out;
    const auto add = [&](ProcId&& p) {
        if (!contains(out, p)) out.push_back(std::move(p));
    };
    for (ProcId& p : *list) {
        if (p.rank != PMIX_RANK_WILDCARD) {
            add(std::move(p));
            continue;
        }
        auto size = size_of(session, p.nspace, limit);
        if (!size) return size.status();
        if (size.value() > common::kMaxInfosPerMessage) return PMIX_ERR_BAD_PARAM;
        for (common::Rank r = 0; r < size.value(); ++r) add({p.nspace, r});
    }
    return out;
}

struct PreparedInvitation {
    std::string name;
    InfoList infos;
    transport::Deadline limit = transport::Deadline::never();  // of the whole call
};

common::Result<PreparedInvitation> prepare(Session& session, const char* name, const pmix_info_t infos[], size_t ninfos,
                                           common::Function function) {
    int timeout_s = 0;
    pmix_status_t rc = check_directives(session, infos, ninfos);
    if (rc == PMIX_SUCCESS) rc = read_timeout(infos, ninfos, &timeout_s);
    if (rc == PMIX_SUCCESS) rc = common::check_required({infos, ninfos}, function, kBothLevels);
    if (rc != PMIX_SUCCESS) return rc;
    PreparedInvitation p;
    auto checked = checked_group_name(name);
    if (!checked) return checked.status();
    p.name = std::move(checked).value();
    auto copy = InfoList::from_c(infos, ninfos);
    if (!copy) return copy.status();
    p.infos = std::move(copy).value();
    p.limit = limit_of(p.infos);
    if (!session.connected()) return PMIX_ERR_UNREACH;
    return p;
}

// Runs the form that calls back, and waits if it has begun.
template <class Start>
pmix_status_t waited(Session& session, pmix_info_t** results, size_t* nresults, Start&& start) {
    if (session.must_not_wait()) return PMIX_ERR_WOULD_BLOCK;
    transport::Waiter waiter;
    pmix_status_t status = PMIX_ERROR;
    InfoList list;
    const pmix_status_t begun = start([&](pmix_status_t rc, InfoList&& infos) {
        status = rc;
        list = std::move(infos);
        waiter.complete();
    });
    if (begun != PMIX_SUCCESS) return begun;
    session.loop().wait(waiter, transport::Deadline::never());
    hand_out_results(std::move(list), results, nresults);
    return status;
}

pmix_status_t begin_invite(Session& session, PreparedInvitation&& p, ProcList&& members, GroupDone done) {
    WIREUP_RETURN_IF_ERROR(commit_for_group(session));
    if (session.server_invites())
        return invite_by_server(session, std::move(p.name), std::move(members), p.infos, std::move(done));
    return session.group_events().invites().invite(std::move(p.name), std::move(members), std::move(p.infos), p.limit,
                                                   std::move(done));
}

pmix_status_t begin_join(Session& session, PreparedInvitation&& p, ProcList&& leader, bool accept, GroupDone done) {
    if (accept) WIREUP_RETURN_IF_ERROR(commit_for_group(session));
    if (session.server_invites())
        return join_by_server(session, std::move(p.name), std::move(leader), accept, p.infos, std::move(done));
    return session.group_events().invites().join(std::move(p.name), leader[0], accept, std::move(p.infos),
                                                 std::move(done));
}

// The inviter of a join: a single process.
common::Result<ProcList> checked_leader(const pmix_proc_t* leader, pmix_group_opt_t opt) {
    if (leader == nullptr || (opt != PMIX_GROUP_ACCEPT && opt != PMIX_GROUP_DECLINE)) return PMIX_ERR_BAD_PARAM;
    if (!common::is_real_rank(leader->rank)) return PMIX_ERR_BAD_PARAM;
    return checked_procs(leader, 1);
}

// Ranks that the caller's job does not have would be waited for without end.
pmix_status_t check_own_ranks(Session& session, const ProcList& procs, transport::Deadline limit) {
    const auto is_own = [&](const ProcId& p) {
        return p.rank != PMIX_RANK_WILDCARD && p.nspace == session.self().nspace;
    };
    if (std::none_of(procs.begin(), procs.end(), is_own)) return PMIX_SUCCESS;
    auto size = size_of(session, session.self().nspace, limit);
    if (!size) return PMIX_SUCCESS;  // nobody knows better
    const bool known =
        std::all_of(procs.begin(), procs.end(), [&](const ProcId& p) { return !is_own(p) || p.rank < size.value(); });
    return known ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
}

// A server that invites them finds the processes of a wildcard itself.
common::Result<ProcList> members_for(Session& session, const pmix_proc_t procs[], size_t nprocs,
                                     transport::Deadline limit) {
    if (procs == nullptr || nprocs == 0) return PMIX_ERR_BAD_PARAM;
    auto list = session.server_invites() ? checked_procs(procs, nprocs) : single_procs(session, procs, nprocs, limit);
    if (!list) return list;
    WIREUP_RETURN_IF_ERROR(check_own_ranks(session, *list, limit));
    return list;
}

GroupDone calling_back(pmix_info_cbfunc_t callback, void* cbdata) {
    return [callback, cbdata](pmix_status_t rc, InfoList&& infos) {
        call_with_results(callback, cbdata, rc, std::move(infos));
    };
}

}  // namespace

pmix_status_t group_invite(Session& session, const char* name, const pmix_proc_t procs[], size_t nprocs,
                           const pmix_info_t infos[], size_t ninfos, pmix_info_t** results, size_t* nresults) {
    auto p = prepare(session, name, infos, ninfos, common::Function::PMIx_Group_invite);
    if (!p) return p.status();
    if (session.must_not_wait()) return PMIX_ERR_WOULD_BLOCK;
    auto list = members_for(session, procs, nprocs, p->limit);
    if (!list) return list.status();
    return waited(session, results, nresults, [&](GroupDone done) {
        return begin_invite(session, std::move(p).value(), std::move(list).value(), std::move(done));
    });
}

pmix_status_t group_invite_nb(Session& session, const char* name, const pmix_proc_t procs[], size_t nprocs,
                              const pmix_info_t infos[], size_t ninfos, pmix_info_cbfunc_t callback, void* cbdata) {
    auto p = prepare(session, name, infos, ninfos, common::Function::PMIx_Group_invite);
    if (!p) return p.status();
    auto list = members_for(session, procs, nprocs, p->limit);
    if (!list) return list.status();
    return begin_invite(session, std::move(p).value(), std::move(list).value(), calling_back(callback, cbdata));
}

pmix_status_t group_join(Session& session, const char* name, const pmix_proc_t* leader, pmix_group_opt_t opt,
                         const pmix_info_t infos[], size_t ninfos, pmix_info_t** results, size_t* nresults) {
    auto p = prepare(session, name, infos, ninfos, common::Function::PMIx_Group_join);
    if (!p) return p.status();
    auto list = checked_leader(leader, opt);
    if (!list) return list.status();
    WIREUP_RETURN_IF_ERROR(check_own_ranks(session, *list, p->limit));
    return waited(session, results, nresults, [&](GroupDone done) {
        return begin_join(session, std::move(p).value(), std::move(list).value(), opt == PMIX_GROUP_ACCEPT,
                          std::move(done));
    });
}

pmix_status_t group_join_nb(Session& session, const char* name, const pmix_proc_t* leader, pmix_group_opt_t opt,
                            const pmix_info_t infos[], size_t ninfos, pmix_info_cbfunc_t callback, void* cbdata) {
    auto p = prepare(session, name, infos, ninfos, common::Function::PMIx_Group_join);
    if (!p) return p.status();
    auto list = checked_leader(leader, opt);
    if (!list) return list.status();
    WIREUP_RETURN_IF_ERROR(check_own_ranks(session, *list, p->limit));
    return begin_join(session, std::move(p).value(), std::move(list).value(), opt == PMIX_GROUP_ACCEPT,
                      calling_back(callback, cbdata));
}

}  // namespace pmix::client
