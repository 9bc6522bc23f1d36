// SPDX-License-Identifier: BSD-3-Clause
#include "client/services/monitor.h"

#include "client/services/service.h"

namespace pmix::client {
namespace {

using common::Command;

common::Result<Prepared<common::MonitorRequest>> prepare(const Session& session, const pmix_info_t* monitor,
                                                         pmix_status_t error, const pmix_info_t directives[],
                                                         size_t ndirectives) {
    if (monitor == nullptr || common::key_view(*monitor).empty()) return PMIX_ERR_BAD_PARAM;
    auto p = prepare_directives<common::MonitorRequest>(session, directives, ndirectives);
    if (!p) return p;
    p->request.code = error;
    p->request.infos = common::Infos::borrow(monitor, 1);
    return p;
}

}  // namespace

pmix_status_t process_monitor(Session& session, const pmix_info_t* monitor, pmix_status_t error,
                              const pmix_info_t directives[], size_t ndirectives, ResultsOut results) {
    auto p = prepare(session, monitor, error, directives, ndirectives);
    return p ? ask_for_results<Command::monitor>(session, *p, results) : p.status();
}

pmix_status_t process_monitor_nb(Session& session, const pmix_info_t* monitor, pmix_status_t error,
                                 const pmix_info_t directives[], size_t ndirectives, pmix_info_cbfunc_t callback,
                                 void* cbdata) {
    auto p = prepare(session, monitor, error, directives, ndirectives);
    return p ? ask_for_results_nb<Command::monitor>(session, *p, callback, cbdata) : p.status();
}

void heartbeat(Session& session) {
    session.tell(Command::heartbeat, common::Bytes());
}

}  // namespace pmix::client
