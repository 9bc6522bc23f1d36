// SPDX-License-Identifier: BSD-3-Clause
#include "client/services/pmix_log.h"

#include "client/services/service.h"

namespace pmix::client {
namespace {

using common::Command;
using common::Infos;
using common::InfoView;

// Channels whose value is a text, in the library and in hosts.
bool wants_text(std::string_view key) noexcept {
    return key == PMIX_LOG_STDOUT || key == PMIX_LOG_STDERR || key == PMIX_LOG_SYSLOG || key == PMIX_LOG_LOCAL_SYSLOG ||
           key == PMIX_LOG_GLOBAL_SYSLOG;
}

pmix_status_t check(const pmix_info_t data[], size_t ndata, const pmix_info_t directives[], size_t ndirectives,
                    int* timeout_s) {
    if (data == nullptr || ndata == 0) return PMIX_ERR_BAD_PARAM;
    pmix_status_t rc = check_infos(data, ndata);
    if (rc == PMIX_SUCCESS) rc = check_infos(directives, ndirectives);
    if (rc == PMIX_SUCCESS) rc = read_timeout(directives, ndirectives, timeout_s);
    if (rc != PMIX_SUCCESS) return rc;
    for (const pmix_info_t& info : InfoView(data, ndata)) {
        const bool text = info.value.type == PMIX_STRING && info.value.data.string != nullptr;
        if (common::key_view(info).empty() || (wants_text(common::key_view(info)) && !text)) return PMIX_ERR_BAD_PARAM;
    }
    return PMIX_SUCCESS;
}

common::ControlRequest message(const pmix_info_t data[], size_t ndata, const pmix_info_t directives[],
                               size_t ndirectives) {
    common::ControlRequest request;
    request.infos = Infos::borrow(data, ndata);
    request.directives = Infos::borrow(directives, ndirectives);
    return request;
}

}  // namespace

pmix_status_t log(Session& session, const pmix_info_t data[], size_t ndata, const pmix_info_t directives[],
                  size_t ndirectives) {
    int timeout_s = 0;
    const pmix_status_t rc = check(data, ndata, directives, ndirectives, &timeout_s);
    if (rc != PMIX_SUCCESS) return rc;
    return ask_for_results<Command::log>(session, message(data, ndata, directives, ndirectives), timeout_s,
                                         {nullptr, nullptr});
}

pmix_status_t log_nb(Session& session, const pmix_info_t data[], size_t ndata, const pmix_info_t directives[],
                     size_t ndirectives, pmix_op_cbfunc_t callback, void* cbdata) {
    int timeout_s = 0;
    const pmix_status_t rc = check(data, ndata, directives, ndirectives, &timeout_s);
    if (rc != PMIX_SUCCESS) return rc;
    return ask_for_status_nb<Command::log>(session, message(data, ndata, directives, ndirectives), timeout_s, callback,
                                           cbdata);
}

}  // namespace pmix::client
