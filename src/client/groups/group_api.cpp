// SPDX-License-Identifier: BSD-3-Clause
#include "client/groups/group_api.h"

#include <algorithm>
#include <utility>

#include "client/data/put.h"
#include "client/session/request.h"
#include "client/session/results.h"
#include "client/session/session.h"
#include "client/state/group_membership.h"

namespace pmix::client {
namespace {

using common::Command;
using common::GroupCall;
using common::InfoList;
using common::InfoView;

// The server waits for optional members as long as it was told, and a host has its own patience after that.
constexpr int kOptionalExtraS = 7;

struct PreparedGroup {
    common::GroupRequest request;
    int timeout_s = 0;
};

// What a member shares with the others is an array of infos. Another value would be left out without a word.
bool shares_infos(const pmix_info_t& info) noexcept {
    const pmix_value_t& value = info.value;
    return common::key_view(info) != PMIX_GROUP_INFO ||
           (value.type == PMIX_DATA_ARRAY && value.data.darray != nullptr && value.data.darray->type == PMIX_INFO);
}

common::Result<PreparedGroup> prepare_group(const Session& session, GroupCall call, const char* name,
                                            const pmix_info_t infos[], size_t ninfos) {
    PreparedGroup p;
    pmix_status_t rc = check_directives(session, infos, ninfos);
    if (rc == PMIX_SUCCESS) rc = read_timeout(infos, ninfos, &p.timeout_s);
    if (rc != PMIX_SUCCESS) return rc;
    auto checked = checked_group_name(name);
    if (!checked) return checked.status();
    if (!std::all_of(infos, infos + ninfos, shares_infos)) return PMIX_ERR_TYPE_MISMATCH;
    if (p.timeout_s > 0 && InfoView(infos, ninfos).flag(PMIX_GROUP_OPTIONAL)) p.timeout_s += kOptionalExtraS;
    p.request.call = call;
    p.request.name = std::move(checked).value();
    p.request.infos = common::Infos::borrow(infos, ninfos);
    return p;
}

common::Result<PreparedGroup> prepare_construct(const Session& session, const char* name, const pmix_proc_t procs[],
                                                size_t nprocs, const pmix_info_t infos[], size_t ninfos) {
    auto p = prepare_group(session, GroupCall::construct, name, infos, ninfos);
    if (!p) return p;
    // No processes: the caller is a member that a leader adds (PMIX_GROUP_ADD_MEMBERS).
    if (procs == nullptr && nprocs == 0) return p;
    if (procs == nullptr || nprocs == 0) return PMIX_ERR_BAD_PARAM;
    auto list = checked_procs(procs, nprocs);
    if (!list) return list.status();
    p->request.procs = std::move(list).value();
    return p;
}

void nothing_to_free(void*) {}

// True for a caller that decides about the group, which therefore needs its events: one that asks for notification, or
// the leader.
bool decides(InfoView infos) noexcept {
    return infos.flag(PMIX_GROUP_NOTIFY_TERMINATION) || infos.flag(PMIX_GROUP_LEADER);
}

// A destruct that timed out may be tried again; after every other end the group is none.
// This process is in the group no more; leaving ends its membership only where it succeeds.
void after_end(Session& session, GroupCall call, const std::string& name, pmix_status_t rc) {
    const bool ended =
        call == GroupCall::leave ? common::succeeded(rc) : rc != PMIX_ERR_TIMEOUT && rc != PMIX_ERR_WOULD_BLOCK;
    if (ended) session.group_membership().gone(name);
}

// Destruct and leave.
pmix_status_t end(Session& session, GroupCall call, const char* name, const pmix_info_t infos[], size_t ninfos) {
    auto p = prepare_group(session, call, name, infos, ninfos);
    if (!p) return p.status();
    common::GroupReply reply;
    const pmix_status_t rc = session.ask<Command::group>(p->request, reply, p->timeout_s);
    after_end(session, call, p->request.name, rc);
    return plain(rc);
}

pmix_status_t end_nb(Session& session, GroupCall call, const char* name, const pmix_info_t infos[], size_t ninfos,
                     pmix_op_cbfunc_t callback, void* cbdata) {
    auto p = prepare_group(session, call, name, infos, ninfos);
    if (!p) return p.status();
    const auto done = [&session, call, name = p->request.name, callback, cbdata](pmix_status_t rc,
                                                                                 common::GroupReply&) {
        after_end(session, call, name, rc);
        if (callback != nullptr) callback(plain(rc), cbdata);
    };
    return session.ask_nb<Command::group>(p->request, done, p->timeout_s);
}

}  // namespace

common::Result<std::string> checked_group_name(const char* name) {
    if (name == nullptr) return PMIX_ERR_BAD_PARAM;
    const size_t length = common::bounded_length(name, common::kMaxNspaceLength + 1);
    if (length == 0 || length > common::kMaxNspaceLength) return PMIX_ERR_BAD_PARAM;
    return std::string(name, length);
}

pmix_status_t commit_for_group(Session& session) {
    const bool any = session.mine().anything_staged() || session.refusals().to_stage_again();
    return any ? commit(session) : PMIX_SUCCESS;
}

void hand_out_results(InfoList&& infos, pmix_info_t** results, size_t* nresults) {
    if (results != nullptr && nresults != nullptr) *results = infos.release(nresults);
}

void call_with_results(pmix_info_cbfunc_t callback, void* cbdata, pmix_status_t status, InfoList&& infos) {
    if (callback == nullptr) return;
    InfoList mine = std::move(infos);
    callback(status, mine.c_array(), mine.size(), cbdata, &nothing_to_free, nullptr);
}

pmix_status_t construct_on_server(Session& session, const std::string& name, common::ProcList members,
                                  const common::ProcId* inviter, const pmix_info_t infos[], size_t ninfos,
                                  GroupDone done) {
    auto p = prepare_group(session, GroupCall::construct, name.c_str(), infos, ninfos);
    if (!p) return p.status();
    name_members(std::move(members), session, p->request);
    if (inviter != nullptr) {
        InfoList who;
        const pmix_proc_t proc = inviter->to_c();
        WIREUP_RETURN_IF_ERROR(who.append(PMIX_GROUP_LEADER, &proc, PMIX_PROC));
        p->request.directives = std::move(who);
    }
    if (decides({infos, ninfos})) WIREUP_RETURN_IF_ERROR(session.group_events().listen());
    session.group_membership().constructing(name);
    const auto finish = [&session, name, done = std::move(done)](pmix_status_t rc, common::GroupReply& reply) {
        InfoList results = reply.infos.take();
        session.group_membership().constructed(name, rc, results);
        done(plain(rc), std::move(results));
    };
    const pmix_status_t rc = session.ask_nb<Command::group>(p->request, finish, p->timeout_s);
    if (rc != PMIX_SUCCESS) session.group_membership().constructed(name, rc, {});
    return rc;
}

pmix_status_t group_construct(Session& session, const char* name, const pmix_proc_t procs[], size_t nprocs,
                              const pmix_info_t infos[], size_t ninfos, pmix_info_t** results, size_t* nresults) {
    auto p = prepare_construct(session, name, procs, nprocs, infos, ninfos);
    if (!p) return p.status();
    if (session.must_not_wait()) return PMIX_ERR_WOULD_BLOCK;
    name_members(std::exchange(p->request.procs, {}), session, p->request);
    WIREUP_RETURN_IF_ERROR(commit_for_group(session));
    if (decides({infos, ninfos})) WIREUP_RETURN_IF_ERROR(session.group_events().listen());
    session.group_membership().constructing(p->request.name);
    common::GroupReply reply;
    const pmix_status_t rc = session.ask<Command::group>(p->request, reply, p->timeout_s);
    InfoList list = reply.infos.take();
    session.group_membership().constructed(p->request.name, rc, list);
    hand_out_results(std::move(list), results, nresults);
    return plain(rc);
}

pmix_status_t group_construct_nb(Session& session, const char* name, const pmix_proc_t procs[], size_t nprocs,
                                 const pmix_info_t infos[], size_t ninfos, pmix_info_cbfunc_t callback, void* cbdata) {
    if (callback == nullptr) return PMIX_ERR_BAD_PARAM;
    auto p = prepare_construct(session, name, procs, nprocs, infos, ninfos);
    if (!p) return p.status();
    WIREUP_RETURN_IF_ERROR(commit_for_group(session));
    return construct_on_server(session, p->request.name, std::move(p->request.procs), nullptr, infos, ninfos,
                               [callback, cbdata](pmix_status_t rc, InfoList&& list) {
                                   call_with_results(callback, cbdata, rc, std::move(list));
                               });
}

pmix_status_t group_destruct(Session& session, const char* name, const pmix_info_t infos[], size_t ninfos) {
    return end(session, GroupCall::destruct, name, infos, ninfos);
}

pmix_status_t group_destruct_nb(Session& session, const char* name, const pmix_info_t infos[], size_t ninfos,
                                pmix_op_cbfunc_t callback, void* cbdata) {
    return end_nb(session, GroupCall::destruct, name, infos, ninfos, callback, cbdata);
}

pmix_status_t group_leave(Session& session, const char* name, const pmix_info_t infos[], size_t ninfos) {
    return end(session, GroupCall::leave, name, infos, ninfos);
}

pmix_status_t group_leave_nb(Session& session, const char* name, const pmix_info_t infos[], size_t ninfos,
                             pmix_op_cbfunc_t callback, void* cbdata) {
    return end_nb(session, GroupCall::leave, name, infos, ninfos, callback, cbdata);
}

}  // namespace pmix::client
