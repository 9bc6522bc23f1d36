// SPDX-License-Identifier: BSD-3-Clause
#include "client/events/event_spec.h"

#include "client/events/event_groups.h"
#include "common/protocol/event_infos.h"
#include "common/values/support.h"

namespace pmix::client {
namespace {

using common::InfoView;
using common::read_procs;

pmix_status_t read_name(InfoView infos, std::string_view key, std::string& out) {
    std::string_view text;
    const pmix_status_t rc = infos.get(key, &text);
    if (rc == PMIX_SUCCESS) out = text;
    return rc;
}

pmix_status_t read_range(InfoView infos, pmix_data_range_t* out) {
    const pmix_info_t* info = infos.find(PMIX_RANGE);
    if (info == nullptr) return PMIX_SUCCESS;
    pmix_status_t rc = PMIX_SUCCESS;
    if (info->value.type == PMIX_DATA_RANGE) {
        *out = info->value.data.range;
    } else {
        rc = infos.get(PMIX_RANGE, out);
    }
    return rc == PMIX_SUCCESS && *out > PMIX_RANGE_PROC_LOCAL ? PMIX_ERR_BAD_PARAM : rc;
}

}  // namespace

common::Result<HandlerAttributes> read_handler_attributes(const pmix_status_t codes[], size_t ncodes, InfoView infos) {
    if (ncodes > common::kMaxListLength) return PMIX_ERR_BAD_PARAM;
    pmix_status_t rc =
        common::check_required(infos, common::Function::PMIx_Register_event_handler, common::level::client);
    if (rc != PMIX_SUCCESS) return rc;

    HandlerAttributes a;
    HandlerSpec& spec = a.spec;
    if (codes != nullptr) spec.codes.assign(codes, codes + ncodes);
    for (const pmix_info_t& info : infos) {
        if (common::key_view(info) != PMIX_EVENT_NAME) continue;
        int64_t code = 0;
        if (info.value.type == PMIX_STATUS) {
            code = info.value.data.status;
        } else if (common::read_number(info.value, &code) != PMIX_SUCCESS) {
            return PMIX_ERR_BAD_PARAM;
        }
        spec.codes.push_back(static_cast<pmix_status_t>(code));
        a.success_ends = true;
    }
    rc = add_event_groups(infos, spec.codes, &spec.grouped);
    if (rc != PMIX_SUCCESS) return rc;
    a.success_ends = a.success_ends || spec.grouped;
    bool lead = false, end = false, prepend = false, append = false, order_prepend = true, jobs = false,
         environment = false;
    const struct {
        const char* key;
        bool* out;
    } flags[] = {{PMIX_EVENT_HDLR_FIRST, &spec.first},       {PMIX_EVENT_HDLR_LAST, &spec.last},
                 {PMIX_EVENT_HDLR_FIRST_IN_CATEGORY, &lead}, {PMIX_EVENT_HDLR_LAST_IN_CATEGORY, &end},
                 {PMIX_EVENT_HDLR_PREPEND, &prepend},        {PMIX_EVENT_HDLR_APPEND, &append},
                 {PMIX_EVENT_ORDER_PREPEND, &order_prepend}, {PMIX_EVENT_JOB_LEVEL, &jobs},
                 {PMIX_EVENT_ENVIRO_LEVEL, &environment},    {PMIX_EVENT_ONESHOT, &a.oneshot}};
    for (const auto& flag : flags) {
        rc = infos.get(flag.key, flag.out);
        if (rc != PMIX_SUCCESS) return rc;
    }
    if (spec.first && spec.last) return PMIX_ERR_BAD_PARAM;
    if (lead) {
        spec.place = Place::lead;
    } else if (end) {
        spec.place = Place::end;
    } else if (!prepend && (append || !order_prepend)) {
        spec.place = Place::append;
    }
    if (jobs != environment) {
        spec.job_level = jobs;
        spec.environment_level = environment;
    }

    rc = read_name(infos, PMIX_EVENT_HDLR_NAME, spec.name);
    if (rc == PMIX_SUCCESS) rc = read_name(infos, PMIX_EVENT_HDLR_BEFORE, spec.before);
    if (rc == PMIX_SUCCESS) rc = read_name(infos, PMIX_EVENT_HDLR_AFTER, spec.after);
    if (rc == PMIX_SUCCESS) rc = read_range(infos, &spec.range);
    if (rc == PMIX_SUCCESS) rc = read_procs(infos, PMIX_EVENT_CUSTOM_RANGE, spec.custom_range);
    if (rc == PMIX_SUCCESS) rc = read_procs(infos, PMIX_EVENT_AFFECTED_PROC, spec.affected);
    if (rc == PMIX_SUCCESS) rc = read_procs(infos, PMIX_EVENT_AFFECTED_PROCS, spec.affected);
    if (rc != PMIX_SUCCESS) return rc;
    if (const pmix_info_t* info = infos.find(PMIX_EVENT_RETURN_OBJECT)) {
        if (info->value.type != PMIX_POINTER) return PMIX_ERR_BAD_PARAM;
        a.return_object = info->value.data.ptr;
        a.has_return_object = true;
    }
    return a;
}

}  // namespace pmix::client
