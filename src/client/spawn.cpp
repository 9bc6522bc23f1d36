#include "client/spawn.h"

#include <cstring>

#include "client/request.h"
#include "client/session.h"

namespace pmix::client {
namespace {

using common::Command;

struct Prepared {
    common::SpawnRequest request;
    int timeout_s = 0;
};

common::Result<Prepared> prepare(const pmix_info_t infos[], size_t ninfos, const pmix_app_t apps[], size_t napps) {
    Prepared p;
    pmix_status_t rc = check_infos(infos, ninfos);
    if (rc == PMIX_SUCCESS) rc = read_timeout(infos, ninfos, &p.timeout_s);
    if (rc != PMIX_SUCCESS) return rc;
    if (apps == nullptr || napps == 0 || napps > common::kMaxListLength) return PMIX_ERR_BAD_PARAM;
    for (size_t i = 0; i < napps; ++i) {
        if (apps[i].cmd == nullptr && (apps[i].argv == nullptr || apps[i].argv[0] == nullptr)) {
            return PMIX_ERR_JOB_NO_EXE_SPECIFIED;
        }
        rc = check_infos(apps[i].info, apps[i].ninfo);
        if (rc != PMIX_SUCCESS) return rc;
    }
    p.request.infos = common::Infos::borrow(infos, ninfos);
    p.request.apps = common::Apps::borrow(apps, napps);
    return p;
}

}  // namespace

pmix_status_t spawn(Session& session, const pmix_info_t infos[], size_t ninfos, const pmix_app_t apps[], size_t napps,
                    char* ret_nspace) {
    if (ret_nspace != nullptr) std::memset(ret_nspace, 0, sizeof(pmix_nspace_t));
    auto p = prepare(infos, ninfos, apps, napps);
    if (!p) return p.status();
    common::SpawnReply reply;
    const pmix_status_t rc = session.ask<Command::spawn>(p->request, reply, p->timeout_s);
    if (!common::succeeded(rc)) return rc;
    if (ret_nspace != nullptr && reply.nspace.size() <= common::kMaxNspaceLength) {
        std::memcpy(ret_nspace, reply.nspace.data(), reply.nspace.size());
    }
    return PMIX_SUCCESS;
}

pmix_status_t spawn_nb(Session& session, const pmix_info_t infos[], size_t ninfos, const pmix_app_t apps[],
                       size_t napps, pmix_spawn_cbfunc_t callback, void* cbdata) {
    if (callback == nullptr) return PMIX_ERR_BAD_PARAM;
    auto p = prepare(infos, ninfos, apps, napps);
    if (!p) return p.status();
    const auto done = [callback, cbdata](pmix_status_t rc, common::SpawnReply& reply) {
        const pmix_proc_t job = common::ProcId(reply.nspace, PMIX_RANK_WILDCARD).to_c();
        pmix_nspace_t nspace;
        std::memcpy(nspace, job.nspace, sizeof nspace);
        callback(rc == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : rc, nspace, cbdata);
    };
    return session.ask_nb<Command::spawn>(p->request, done, p->timeout_s);
}

pmix_status_t abort(Session& session, int status, const char* message, const pmix_proc_t procs[], size_t nprocs) {
    common::AbortRequest request;
    request.status = status;
    if (message != nullptr) request.message.assign(message, common::bounded_length(message, 1u << 20));
    if (procs == nullptr && nprocs != 0) return PMIX_ERR_BAD_PARAM;
    if (procs != nullptr && nprocs != 0) {
        auto list = checked_procs(procs, nprocs);
        if (!list) return list.status();
        request.procs = std::move(list).value();
    }
    // An abort from a callback is not held back by who would wait for it.
    if (session.must_not_wait()) {
        return session.ask_nb<Command::abort>(request, [](pmix_status_t, common::Nothing&) {});
    }
    common::Nothing nothing;
    const pmix_status_t rc = session.ask<Command::abort>(request, nothing);
    return rc == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : rc;
}

}  // namespace pmix::client
