// SPDX-License-Identifier: BSD-3-Clause
#include "common/protocol/event_infos.h"

#include <chrono>
#include <span>

namespace pmix::common {
namespace {

using Procs = std::span<const pmix_proc_t>;

// The processes stay in the infos.
pmix_status_t find_procs(InfoView infos, std::string_view key, Procs& out) {
    const pmix_info_t* info = infos.find(key);
    if (info == nullptr) return PMIX_SUCCESS;
    const pmix_value_t& value = info->value;
    if (value.type == PMIX_PROC) {
        if (value.data.proc == nullptr) return PMIX_ERR_BAD_PARAM;
        out = {value.data.proc, 1};
        return PMIX_SUCCESS;
    }
    if (value.type != PMIX_DATA_ARRAY || value.data.darray == nullptr) return PMIX_ERR_BAD_PARAM;
    const pmix_data_array_t& array = *value.data.darray;
    if (array.size == 0) return PMIX_SUCCESS;
    if (array.type != PMIX_PROC || array.array == nullptr) return PMIX_ERR_BAD_PARAM;
    out = {static_cast<const pmix_proc_t*>(array.array), array.size};
    return PMIX_SUCCESS;
}

}  // namespace

pmix_status_t read_procs(InfoView infos, std::string_view key, std::vector<ProcId>& out) {
    Procs procs;
    WIREUP_RETURN_IF_ERROR(find_procs(infos, key, procs));
    for (const pmix_proc_t& proc : procs) out.emplace_back(proc);
    return PMIX_SUCCESS;
}

Result<EventAttributes> read_event_attributes(InfoView infos) {
    EventAttributes a;
    pmix_status_t rc = infos.get(PMIX_EVENT_NON_DEFAULT, &a.non_default);
    if (rc == PMIX_SUCCESS) rc = infos.get(PMIX_EVENT_DO_NOT_CACHE, &a.do_not_cache);
    if (rc == PMIX_SUCCESS) rc = infos.get(PMIX_EVENT_STAYS_LOCAL, &a.stays_local);
    Procs one, several, range;
    if (rc == PMIX_SUCCESS) rc = find_procs(infos, PMIX_EVENT_AFFECTED_PROC, one);
    if (rc == PMIX_SUCCESS) rc = find_procs(infos, PMIX_EVENT_AFFECTED_PROCS, several);
    if (rc == PMIX_SUCCESS) rc = find_procs(infos, PMIX_EVENT_CUSTOM_RANGE, range);
    if (rc != PMIX_SUCCESS) return rc;
    a.affected = ProcSet(several.data(), several.size());
    for (const pmix_proc_t& proc : one) a.affected.add(ProcId(proc));
    a.custom_range = ProcSet(range.data(), range.size());
    return a;
}

bool is_environment_event(pmix_status_t code, const ProcId& source, const ProcSet& affected) noexcept {
    return PMIX_SYSTEM_EVENT(code) || (source.nspace.empty() && affected.empty());
}

uint64_t event_clock() noexcept {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace pmix::common
