// SPDX-License-Identifier: BSD-3-Clause
#include "client/session/connect.h"

#include "client/session/request.h"
#include "client/session/results.h"
#include "client/session/session.h"

namespace pmix::client {
namespace {

using common::Command;

struct PreparedConnect {
    common::ConnectRequest request;
    int timeout_s = 0;
};

common::Result<PreparedConnect> prepare_connect(const Session& session, const pmix_proc_t procs[], size_t nprocs,
                                                const pmix_info_t infos[], size_t ninfos) {
    PreparedConnect p;
    pmix_status_t rc = check_directives(session, infos, ninfos);
    if (rc == PMIX_SUCCESS) rc = read_timeout(infos, ninfos, &p.timeout_s);
    if (rc != PMIX_SUCCESS) return rc;
    if (procs == nullptr || nprocs == 0) return PMIX_ERR_BAD_PARAM;
    auto list = checked_procs(procs, nprocs);
    if (!list) return list.status();
    name_participants(std::move(list).value(), session, p.request);
    p.request.infos = common::Infos::borrow(infos, ninfos);
    return p;
}

template <Command C>
pmix_status_t run(Session& session, const pmix_proc_t procs[], size_t nprocs, const pmix_info_t infos[],
                  size_t ninfos) {
    auto p = prepare_connect(session, procs, nprocs, infos, ninfos);
    if (!p) return p.status();
    typename common::CommandTypes<C>::Reply reply;
    return plain(session.ask<C>(p->request, reply, p->timeout_s));
}

template <Command C>
pmix_status_t run_nb(Session& session, const pmix_proc_t procs[], size_t nprocs, const pmix_info_t infos[],
                     size_t ninfos, pmix_op_cbfunc_t callback, void* cbdata) {
    if (callback == nullptr) return PMIX_ERR_BAD_PARAM;
    auto p = prepare_connect(session, procs, nprocs, infos, ninfos);
    if (!p) return p.status();
    const auto done = [callback, cbdata](pmix_status_t rc, typename common::CommandTypes<C>::Reply&) {
        callback(plain(rc), cbdata);
    };
    return session.ask_nb<C>(p->request, done, p->timeout_s);
}

}  // namespace

pmix_status_t connect(Session& session, const pmix_proc_t procs[], size_t nprocs, const pmix_info_t infos[],
                      size_t ninfos) {
    return run<Command::connect>(session, procs, nprocs, infos, ninfos);
}
pmix_status_t connect_nb(Session& session, const pmix_proc_t procs[], size_t nprocs, const pmix_info_t infos[],
                         size_t ninfos, pmix_op_cbfunc_t callback, void* cbdata) {
    return run_nb<Command::connect>(session, procs, nprocs, infos, ninfos, callback, cbdata);
}
pmix_status_t disconnect(Session& session, const pmix_proc_t procs[], size_t nprocs, const pmix_info_t infos[],
                         size_t ninfos) {
    return run<Command::disconnect>(session, procs, nprocs, infos, ninfos);
}
pmix_status_t disconnect_nb(Session& session, const pmix_proc_t procs[], size_t nprocs, const pmix_info_t infos[],
                            size_t ninfos, pmix_op_cbfunc_t callback, void* cbdata) {
    return run_nb<Command::disconnect>(session, procs, nprocs, infos, ninfos, callback, cbdata);
}

}  // namespace pmix::client
