// SPDX-License-Identifier: BSD-3-Clause
#include "client/services/control.h"

#include "client/services/service.h"
#include "common/values/array_value.h"

namespace pmix::client {
namespace {

using common::Command;
using common::Infos;

common::Result<Prepared<common::JobControlRequest>> prepare_job_control(const Session& session,
                                                                        const pmix_proc_t targets[], size_t ntargets,
                                                                        const pmix_info_t directives[],
                                                                        size_t ndirectives) {
    if (directives == nullptr || ndirectives == 0) return PMIX_ERR_BAD_PARAM;
    auto p = prepare_directives<common::JobControlRequest>(session, directives, ndirectives);
    if (!p || ntargets == 0) return p;
    auto list = checked_procs(targets, ntargets);
    if (!list) return list.status();
    p->request.procs = std::move(list).value();
    return p;
}

common::Result<Prepared<common::AllocateRequest>> prepare_allocation(const Session& session,
                                                                     pmix_alloc_directive_t directive,
                                                                     const pmix_info_t infos[], size_t ninfos) {
    Prepared<common::AllocateRequest> p;
    pmix_status_t rc = check_directives(session, infos, ninfos);
    if (rc == PMIX_SUCCESS) rc = read_timeout(infos, ninfos, &p.timeout_s);
    if (rc != PMIX_SUCCESS) return rc;
    p.request.directive = directive;
    p.request.infos = Infos::borrow(infos, ninfos);
    return p;
}

// The units travel as one array.
common::Result<Prepared<common::ResourceBlockRequest>> prepare_block(const Session& session,
                                                                     pmix_resource_block_directive_t directive,
                                                                     const char* block,
                                                                     const pmix_resource_unit_t units[], size_t nunits,
                                                                     const pmix_info_t infos[], size_t ninfos) {
    const size_t length = block == nullptr ? 0 : common::bounded_length(block, common::kMaxKeyLength + 1);
    if (length == 0 || length > common::kMaxKeyLength) return PMIX_ERR_BAD_PARAM;
    if ((units == nullptr && nunits != 0) || nunits > common::kMaxListLength) return PMIX_ERR_BAD_PARAM;
    auto p = prepare_directives<common::ResourceBlockRequest>(session, infos, ninfos);
    if (!p) return p;
    p->request.directive = directive;
    p->request.block.assign(block, length);
    if (nunits == 0) return p;
    pmix_data_array_t array{PMIX_RESOURCE_UNIT, nunits, const_cast<pmix_resource_unit_t*>(units)};
    common::InfoList list;
    WIREUP_RETURN_IF_ERROR(list.append(PMIX_RESOURCE_BLOCK_NAME, &array, PMIX_DATA_ARRAY));
    p->request.units = Infos(std::move(list));
    return p;
}

}  // namespace

pmix_status_t job_control(Session& session, const pmix_proc_t targets[], size_t ntargets,
                          const pmix_info_t directives[], size_t ndirectives, ResultsOut results) {
    auto p = prepare_job_control(session, targets, ntargets, directives, ndirectives);
    if (!p) return p.status();
    return ask_for_results<Command::job_control>(session, *p, results);
}

pmix_status_t job_control_nb(Session& session, const pmix_proc_t targets[], size_t ntargets,
                             const pmix_info_t directives[], size_t ndirectives, pmix_info_cbfunc_t callback,
                             void* cbdata) {
    auto p = prepare_job_control(session, targets, ntargets, directives, ndirectives);
    if (!p) return p.status();
    return ask_for_results_nb<Command::job_control>(session, *p, callback, cbdata);
}

pmix_status_t allocation_request(Session& session, pmix_alloc_directive_t directive, const pmix_info_t infos[],
                                 size_t ninfos, ResultsOut results) {
    auto p = prepare_allocation(session, directive, infos, ninfos);
    if (!p) return p.status();
    return ask_for_results<Command::allocate>(session, *p, results);
}

pmix_status_t allocation_request_nb(Session& session, pmix_alloc_directive_t directive, const pmix_info_t infos[],
                                    size_t ninfos, pmix_info_cbfunc_t callback, void* cbdata) {
    auto p = prepare_allocation(session, directive, infos, ninfos);
    if (!p) return p.status();
    return ask_for_results_nb<Command::allocate>(session, *p, callback, cbdata);
}

pmix_status_t session_control(Session& session, uint32_t session_id, const pmix_info_t directives[], size_t ndirectives,
                              pmix_info_cbfunc_t callback, void* cbdata) {
    auto p = prepare_directives<common::SessionControlRequest>(session, directives, ndirectives);
    if (!p) return p.status();
    p->request.session_id = session_id;
    if (callback == nullptr) return ask_for_results<Command::session_control>(session, *p, {nullptr, nullptr});
    return ask_for_results_nb<Command::session_control>(session, *p, callback, cbdata);
}

pmix_status_t resource_block(Session& session, pmix_resource_block_directive_t directive, const char* block,
                             const pmix_resource_unit_t units[], size_t nunits, const pmix_info_t infos[],
                             size_t ninfos) {
    auto p = prepare_block(session, directive, block, units, nunits, infos, ninfos);
    if (!p) return p.status();
    return ask_for_results<Command::resource_block>(session, *p, {nullptr, nullptr});
}

pmix_status_t resource_block_nb(Session& session, pmix_resource_block_directive_t directive, const char* block,
                                const pmix_resource_unit_t units[], size_t nunits, const pmix_info_t infos[],
                                size_t ninfos, pmix_op_cbfunc_t callback, void* cbdata) {
    auto p = prepare_block(session, directive, block, units, nunits, infos, ninfos);
    if (!p) return p.status();
    return ask_for_status_nb<Command::resource_block>(session, *p, callback, cbdata);
}

}  // namespace pmix::client
