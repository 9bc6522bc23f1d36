// SPDX-License-Identifier: BSD-3-Clause
#include "common/protocol/event_infos.h"

#include <chrono>

namespace pmix::common {
namespace {

pmix_status_t read_procs(const pmix_value_t& value, std::vector<ProcId>& out) {
    if (value.type == PMIX_PROC) {
        if (value.data.proc == nullptr) return PMIX_ERR_BAD_PARAM;
        out.emplace_back(*value.data.proc);
        return PMIX_SUCCESS;
    }
    if (value.type != PMIX_DATA_ARRAY || value.data.darray == nullptr) return PMIX_ERR_BAD_PARAM;
    const pmix_data_array_t& array = *value.data.darray;
    if (array.size == 0) return PMIX_SUCCESS;
    if (array.type != PMIX_PROC || array.array == nullptr) return PMIX_ERR_BAD_PARAM;
    const auto* procs = static_cast<const pmix_proc_t*>(array.array);
    for (size_t i = 0; i < array.size; ++i) out.emplace_back(procs[i]);
    return PMIX_SUCCESS;
}

}  // namespace

pmix_status_t read_procs(InfoView infos, std::string_view key, std::vector<ProcId>& out) {
    const pmix_info_t* info = infos.find(key);
    return info == nullptr ? PMIX_SUCCESS : read_procs(info->value, out);
}

Result<EventAttributes> read_event_attributes(InfoView infos) {
    EventAttributes a;
    pmix_status_t rc = infos.get(PMIX_EVENT_NON_DEFAULT, &a.non_default);
    if (rc == PMIX_SUCCESS) rc = infos.get(PMIX_EVENT_DO_NOT_CACHE, &a.do_not_cache);
    if (rc == PMIX_SUCCESS) rc = infos.get(PMIX_EVENT_STAYS_LOCAL, &a.stays_local);
    if (rc == PMIX_SUCCESS) rc = read_procs(infos, PMIX_EVENT_AFFECTED_PROC, a.affected);
    if (rc == PMIX_SUCCESS) rc = read_procs(infos, PMIX_EVENT_AFFECTED_PROCS, a.affected);
    if (rc == PMIX_SUCCESS) rc = read_procs(infos, PMIX_EVENT_CUSTOM_RANGE, a.custom_range);
    if (rc != PMIX_SUCCESS) return rc;
    return a;
}

bool is_environment_event(pmix_status_t code, const ProcId& source, const std::vector<ProcId>& affected) noexcept {
    return PMIX_SYSTEM_EVENT(code) || (source.nspace.empty() && affected.empty());
}

uint64_t event_clock() noexcept {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace pmix::common
