#include "client/control.h"

#include "client/request.h"
#include "client/session.h"

namespace pmix::client {
namespace {

using common::Command;
using common::Infos;

struct Prepared {
    common::ControlRequest request;
    int timeout_s = 0;
};

common::Result<Prepared> prepare(const pmix_proc_t targets[], size_t ntargets, const pmix_info_t data[], size_t ndata,
                                 const pmix_info_t directives[], size_t ndirectives) {
    Prepared p;
    pmix_status_t rc = check_infos(data, ndata);
    if (rc == PMIX_SUCCESS) rc = check_infos(directives, ndirectives);
    if (rc == PMIX_SUCCESS) rc = read_timeout(directives, ndirectives, &p.timeout_s);
    if (rc != PMIX_SUCCESS) return rc;
    if (ntargets != 0) {
        auto list = checked_procs(targets, ntargets);
        if (!list) return list.status();
        p.request.procs = std::move(list).value();
    }
    p.request.infos = Infos::borrow(data, ndata);
    p.request.directives = Infos::borrow(directives, ndirectives);
    return p;
}

pmix_status_t plain(pmix_status_t rc) noexcept { return rc == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : rc; }

void nothing_to_free(void*) {}

}  // namespace

pmix_status_t job_control(Session& session, const pmix_proc_t targets[], size_t ntargets,
                          const pmix_info_t directives[], size_t ndirectives, pmix_info_t** ret_infos,
                          size_t* ret_ninfos) {
    if (directives == nullptr || ndirectives == 0) return PMIX_ERR_BAD_PARAM;
    auto p = prepare(targets, ntargets, nullptr, 0, directives, ndirectives);
    if (!p) return p.status();
    common::ControlReply reply;
    const pmix_status_t rc = plain(session.ask<Command::job_control>(p->request, reply, p->timeout_s));
    if (rc == PMIX_SUCCESS && ret_infos != nullptr && ret_ninfos != nullptr) {
        *ret_infos = reply.infos.take().release(ret_ninfos);
    }
    return rc;
}

pmix_status_t job_control_nb(Session& session, const pmix_proc_t targets[], size_t ntargets,
                             const pmix_info_t directives[], size_t ndirectives, pmix_info_cbfunc_t callback,
                             void* cbdata) {
    if (directives == nullptr || ndirectives == 0) return PMIX_ERR_BAD_PARAM;
    auto p = prepare(targets, ntargets, nullptr, 0, directives, ndirectives);
    if (!p) return p.status();
    const auto done = [callback, cbdata](pmix_status_t rc, common::ControlReply& reply) {
        if (callback == nullptr) return;
        // Ours, and gone after the callback.
        common::InfoList infos = reply.infos.take();
        callback(plain(rc), infos.c_array(), infos.size(), cbdata, &nothing_to_free, nullptr);
    };
    return session.ask_nb<Command::job_control>(p->request, done, p->timeout_s);
}

pmix_status_t log(Session& session, const pmix_info_t data[], size_t ndata, const pmix_info_t directives[],
                  size_t ndirectives) {
    if (data == nullptr || ndata == 0) return PMIX_ERR_BAD_PARAM;
    auto p = prepare(nullptr, 0, data, ndata, directives, ndirectives);
    if (!p) return p.status();
    common::ControlReply reply;
    return plain(session.ask<Command::log>(p->request, reply, p->timeout_s));
}

pmix_status_t log_nb(Session& session, const pmix_info_t data[], size_t ndata, const pmix_info_t directives[],
                     size_t ndirectives, pmix_op_cbfunc_t callback, void* cbdata) {
    if (data == nullptr || ndata == 0) return PMIX_ERR_BAD_PARAM;
    auto p = prepare(nullptr, 0, data, ndata, directives, ndirectives);
    if (!p) return p.status();
    const auto done = [callback, cbdata](pmix_status_t rc, common::ControlReply&) {
        if (callback != nullptr) callback(plain(rc), cbdata);
    };
    return session.ask_nb<Command::log>(p->request, done, p->timeout_s);
}

}  // namespace pmix::client
