// SPDX-License-Identifier: BSD-3-Clause
#include "client/data/fence.h"

#include <algorithm>

#include "client/session/request.h"
#include "client/session/session.h"
#include "common/values/support.h"

namespace pmix::client {
namespace {

using common::Command;

struct PreparedFence {
    common::FenceRequest request;
    int timeout_s = 0;
    bool only_self = false;
    bool whole = false;  // over the caller's namespace
};

bool is_whole(const common::FenceRequest& request, const Session& session) noexcept {
    return request.ranges.empty() && common::is_all_of(request.procs, session.self().nspace);
}

// Nothing but whether data is collected, and nothing of it required.
bool says_only_collect(const pmix_info_t infos[], size_t n, bool& collect) noexcept {
    for (size_t i = 0; i < n; ++i) {
        if (infos[i].value.type != PMIX_BOOL || common::is_required(infos[i]) ||
            common::key_view(infos[i]) != PMIX_COLLECT_DATA)
            return false;
        collect = collect || infos[i].value.data.flag;
    }
    return true;
}

// Not by memory: what the request says of it, and that it is under way.
MemoryFence::Request by_request(Session& session, common::FenceRequest& request, uint64_t commit) {
    request.memory = session.memory_fence().use();
    return MemoryFence::Request(session.memory_fence(), commit);
}

common::Result<PreparedFence> prepare_fence(Session& session, const pmix_proc_t procs[], size_t nprocs,
                                            const pmix_info_t infos[], size_t ninfos) {
    PreparedFence p;
    pmix_status_t rc = check_directives(session, infos, ninfos);
    if (rc == PMIX_SUCCESS) rc = read_timeout(infos, ninfos, &p.timeout_s);
    if (rc != PMIX_SUCCESS) return rc;
    if (procs == nullptr && nprocs != 0) return PMIX_ERR_BAD_PARAM;
    if (procs == nullptr || nprocs == 0) {
        p.request.procs.emplace_back(session.self().nspace, PMIX_RANK_WILDCARD);
    } else {
        auto list = checked_procs(procs, nprocs);
        if (!list) return list.status();
        p.only_self =
            std::all_of(list->begin(), list->end(), [&](const common::ProcId& proc) { return proc == session.self(); });
        name_participants(std::move(list).value(), session, p.request);
    }
    p.request.infos = common::Infos::borrow(infos, ninfos);
    // Clones share the rank and may take part.
    if (common::InfoView(infos, ninfos).flag(PMIX_ALL_CLONES_PARTICIPATE)) p.only_self = false;
    // Alone there is nothing to do for any entry that our server would read. What the host may meet, the server
    // decides.
    if (p.only_self) {
        rc = common::check_required({infos, ninfos}, common::Function::PMIx_Fence,
                                    common::level::client | common::level::server);
        if (rc != PMIX_SUCCESS && !session.has_server()) return rc;
        p.only_self = rc == PMIX_SUCCESS;
    }
    // Alone without a server, the caller is its whole namespace.
    p.whole = is_whole(p.request, session);
    if (!session.has_server() && p.whole) {
        rc = common::check_required({infos, ninfos}, common::Function::PMIx_Fence,
                                    common::level::client | common::level::server);
        if (rc != PMIX_SUCCESS) return rc;
        p.only_self = true;
    }
    return p;
}

}  // namespace

pmix_status_t fence(Session& session, const pmix_proc_t procs[], size_t nprocs, const pmix_info_t infos[],
                    size_t ninfos) {
    auto p = prepare_fence(session, procs, nprocs, infos, ninfos);
    if (!p) return p.status();
    if (p->only_self) {
        session.read_pending();
        return session.refusals().reported_by(PMIX_SUCCESS);
    }
    MemoryFence::Outcome met;
    bool collect = false;
    const uint64_t commit = session.sent_commit();
    if (p->whole && says_only_collect(infos, ninfos, collect) && session.still_connected() &&
        !session.must_not_wait()) {
        met = session.memory_fence().fence(collect, commit, [&session](uint32_t round) {
            common::FenceJoinedNotify joined;
            joined.round = round;
            auto message = common::message_bytes(joined);
            return message && session.tell(Command::fence_joined, message.value()) == PMIX_SUCCESS;
        });
        if (met.ended) {
            // The server may have refused it.
            if (met.news) session.read_refusals();
            return session.refusals().reported_by(met.status);
        }
    }
    common::FenceReply reply;
    pmix_status_t rc;
    if (p->whole) {
        const bool joined = met.request.has_value();
        auto counted = joined ? std::move(*met.request) : by_request(session, p->request, commit);
        if (joined) {
            p->request.memory = common::FenceUse::joined;
            p->request.memory_round = met.round;
        }
        rc = session.ask<Command::fence>(p->request, reply, p->timeout_s);
        if (rc == PMIX_SUCCESS) counted.settled();
        // Without an answer perhaps: it must not join this round once more, nor another one end it without this call.
        if (joined && rc != PMIX_SUCCESS) session.memory_fence().leave_round(met.round);
        // It was lost during this call.
        if (joined && rc == PMIX_ERR_UNREACH) rc = PMIX_ERR_LOST_CONNECTION;
    } else {
        rc = session.ask<Command::fence>(p->request, reply, p->timeout_s);
    }
    return session.refusals().reported_by(rc == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : rc);
}

pmix_status_t fence_nb(Session& session, const pmix_proc_t procs[], size_t nprocs, const pmix_info_t infos[],
                       size_t ninfos, pmix_op_cbfunc_t callback, void* cbdata) {
    if (callback == nullptr) return PMIX_ERR_BAD_PARAM;
    auto p = prepare_fence(session, procs, nprocs, infos, ninfos);
    if (!p) return p.status();
    const auto tell = [&session, callback, cbdata](pmix_status_t rc) {
        rc = session.refusals().reported_by(rc == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : rc);
        callback(rc, cbdata);
    };
    if (p->only_self) {
        session.loop().post([tell] { tell(PMIX_SUCCESS); });
        return PMIX_SUCCESS;
    }
    if (!p->whole) {
        return session.ask_nb<Command::fence>(
            p->request, [tell](pmix_status_t rc, common::FenceReply&) { tell(rc); }, p->timeout_s);
    }
    return session.ask_nb<Command::fence>(
        p->request,
        [tell, counted = by_request(session, p->request, session.sent_commit())](pmix_status_t rc,
                                                                                 common::FenceReply&) mutable {
            if (rc == PMIX_SUCCESS) counted.settled();
            // The callback may fence again.
            { const MemoryFence::Request over(std::move(counted)); }
            tell(rc);
        },
        p->timeout_s);
}

}  // namespace pmix::client
