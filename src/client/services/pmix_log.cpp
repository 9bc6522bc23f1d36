// SPDX-License-Identifier: BSD-3-Clause
#include "client/services/pmix_log.h"

#include "client/services/service.h"

namespace pmix::client {
namespace {

using common::Command;
using common::InfoView;

// Channels whose value is a text, in the library and in hosts.
bool wants_text(std::string_view key) noexcept {
    return key == PMIX_LOG_STDOUT || key == PMIX_LOG_STDERR || key == PMIX_LOG_SYSLOG || key == PMIX_LOG_LOCAL_SYSLOG ||
           key == PMIX_LOG_GLOBAL_SYSLOG;
}

common::Result<Prepared<common::LogRequest>> prepare(const Session& session, const pmix_info_t data[], size_t ndata,
                                                     const pmix_info_t directives[], size_t ndirectives) {
    if (data == nullptr || ndata == 0) return PMIX_ERR_BAD_PARAM;
    WIREUP_RETURN_IF_ERROR(check_infos(data, ndata));
    auto p = prepare_directives<common::LogRequest>(session, directives, ndirectives);
    if (!p) return p;
    for (const pmix_info_t& info : InfoView(data, ndata)) {
        const bool text = info.value.type == PMIX_STRING && info.value.data.string != nullptr;
        if (common::key_view(info).empty() || (wants_text(common::key_view(info)) && !text)) return PMIX_ERR_BAD_PARAM;
    }
    p->request.infos = common::Infos::borrow(data, ndata);
    return p;
}

}  // namespace

pmix_status_t log(Session& session, const pmix_info_t data[], size_t ndata, const pmix_info_t directives[],
                  size_t ndirectives) {
    auto p = prepare(session, data, ndata, directives, ndirectives);
    return p ? ask_for_results<Command::log>(session, *p, {nullptr, nullptr}) : p.status();
}

pmix_status_t log_nb(Session& session, const pmix_info_t data[], size_t ndata, const pmix_info_t directives[],
                     size_t ndirectives, pmix_op_cbfunc_t callback, void* cbdata) {
    auto p = prepare(session, data, ndata, directives, ndirectives);
    return p ? ask_for_status_nb<Command::log>(session, *p, callback, cbdata) : p.status();
}

}  // namespace pmix::client
