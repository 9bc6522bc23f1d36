// SPDX-License-Identifier: BSD-3-Clause
// Handing infos to a caller's callback: they are the caller's until it calls the release function, then or later.
//
// Free functions; on the loop. What can go wrong: no memory (the callback is given PMIX_ERR_NOMEM and nothing else),
// and a caller that never releases, who keeps them.
#pragma once

#include <pmix_common.h>

#include <memory>
#include <new>

#include "common/base/status.h"
#include "common/values/value.h"

namespace pmix::client {

using common::plain;

inline void give_results(pmix_info_cbfunc_t callback, void* cbdata, pmix_status_t status, common::InfoList&& infos) {
    if (callback == nullptr) return;
    if (infos.empty()) return callback(status, nullptr, 0, cbdata, nullptr, nullptr);
    auto* list = new (std::nothrow) common::InfoList(std::move(infos));
    if (list == nullptr) return callback(PMIX_ERR_NOMEM, nullptr, 0, cbdata, nullptr, nullptr);
    callback(
        status, list->c_array(), list->size(), cbdata, [](void* p) { delete static_cast<common::InfoList*>(p); }, list);
}

}  // namespace pmix::client
