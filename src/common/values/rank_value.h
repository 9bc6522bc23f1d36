// SPDX-License-Identifier: BSD-3-Clause
// A rank among infos: as a rank, or as any number. Pure, any thread.
#pragma once

#include "common/base/ids.h"
#include "common/values/info_view.h"

namespace pmix::common {

// Leaves rank as it is where there is no such entry. PMIX_ERR_BAD_PARAM: no number, or not the rank of one process.
inline pmix_status_t read_rank(InfoView infos, const char* key, Rank& rank) {
    const pmix_info_t* info = infos.find(key);
    if (info == nullptr) return PMIX_SUCCESS;
    uint64_t n = 0;
    if (info->value.type == PMIX_PROC_RANK) {
        n = info->value.data.rank;
    } else if (read_number(info->value, &n) != PMIX_SUCCESS) {
        return PMIX_ERR_BAD_PARAM;
    }
    if (n > UINT32_MAX || !is_real_rank(static_cast<Rank>(n))) return PMIX_ERR_BAD_PARAM;
    rank = static_cast<Rank>(n);
    return PMIX_SUCCESS;
}

}  // namespace pmix::common
