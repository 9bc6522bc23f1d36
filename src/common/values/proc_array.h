// SPDX-License-Identifier: BSD-3-Clause
// Arrays of processes in values, both ways. Pure, any thread.
#pragma once

#include <vector>

#include "common/base/ids.h"
#include "common/values/value.h"

namespace pmix::common {

// One process, or an array of them; false for anything else. Appends to out.
inline bool read_proc_array(const pmix_value_t& value, std::vector<ProcId>& out) {
    if (value.type == PMIX_PROC) {
        if (value.data.proc == nullptr) return false;
        out.emplace_back(*value.data.proc);
        return true;
    }
    if (value.type != PMIX_DATA_ARRAY || value.data.darray == nullptr) return false;
    const pmix_data_array_t& array = *value.data.darray;
    if (array.size == 0) return true;
    if (array.type != PMIX_PROC || array.array == nullptr || array.size > kMaxListLength) return false;
    const auto* procs = static_cast<const pmix_proc_t*>(array.array);
    for (size_t i = 0; i < array.size; ++i) out.emplace_back(procs[i]);
    return true;
}

inline pmix_status_t append_proc_array(InfoList& infos, std::string_view key, const std::vector<ProcId>& procs) {
    std::vector<pmix_proc_t> raw;
    raw.reserve(procs.size());
    for (const ProcId& p : procs) raw.push_back(p.to_c());
    pmix_data_array_t array{};
    array.type = PMIX_PROC;
    array.size = raw.size();
    array.array = raw.data();
    return infos.append(key, &array, PMIX_DATA_ARRAY);
}

}  // namespace pmix::common
