// SPDX-License-Identifier: BSD-3-Clause
#include "client/services/monitor.h"

#include "client/services/service.h"

namespace pmix::client {
namespace {

using common::Command;
using common::Infos;

pmix_status_t prepare(const pmix_info_t* monitor, pmix_status_t error, const pmix_info_t directives[],
                      size_t ndirectives, common::ControlRequest& request, int* timeout_s) {
    if (monitor == nullptr || common::key_view(*monitor).empty()) return PMIX_ERR_BAD_PARAM;
    pmix_status_t rc = check_infos(directives, ndirectives);
    if (rc == PMIX_SUCCESS) rc = read_timeout(directives, ndirectives, timeout_s);
    if (rc != PMIX_SUCCESS) return rc;
    request.kind = static_cast<uint32_t>(error);
    request.infos = Infos::borrow(monitor, 1);
    request.directives = Infos::borrow(directives, ndirectives);
    return PMIX_SUCCESS;
}

}  // namespace

pmix_status_t process_monitor(Session& session, const pmix_info_t* monitor, pmix_status_t error,
                              const pmix_info_t directives[], size_t ndirectives, ResultsOut results) {
    common::ControlRequest request;
    int timeout_s = 0;
    const pmix_status_t rc = prepare(monitor, error, directives, ndirectives, request, &timeout_s);
    if (rc != PMIX_SUCCESS) return rc;
    return ask_for_results<Command::monitor>(session, request, timeout_s, results);
}

pmix_status_t process_monitor_nb(Session& session, const pmix_info_t* monitor, pmix_status_t error,
                                 const pmix_info_t directives[], size_t ndirectives, pmix_info_cbfunc_t callback,
                                 void* cbdata) {
    common::ControlRequest request;
    int timeout_s = 0;
    const pmix_status_t rc = prepare(monitor, error, directives, ndirectives, request, &timeout_s);
    if (rc != PMIX_SUCCESS) return rc;
    return ask_for_results_nb<Command::monitor>(session, request, timeout_s, callback, cbdata);
}

void heartbeat(Session& session) {
    session.tell(Command::heartbeat, common::Bytes());
}

}  // namespace pmix::client
