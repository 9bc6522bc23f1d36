// SPDX-License-Identifier: BSD-3-Clause
// What the operations do with callers' arrays before they become a message: check, and read the limit of time.
//
// Free functions, any thread. PMIX_ERR_BAD_PARAM: an array without an address, a namespace that is empty or too long,
// a rank that is none, a timeout that is no number, a flag that is none.
#pragma once

#include <pmix.h>

#include <string_view>

#include "client/session/session.h"
#include "common/base/status.h"
#include "common/protocol/messages.h"
#include "common/protocol/proc_set.h"
#include "common/values/info_view.h"

namespace pmix::client {

// Participants or targets. An empty namespace is not one.
inline common::Result<common::ProcList> checked_procs(const pmix_proc_t procs[], size_t n) {
    if ((procs == nullptr) != (n == 0)) return PMIX_ERR_BAD_PARAM;
    if (n > common::kMaxListLength) return PMIX_ERR_BAD_PARAM;
    common::ProcList list;
    list.reserve(n);
    for (size_t i = 0; i < n; ++i) {
        const size_t length = common::bounded_length(procs[i].nspace, sizeof procs[i].nspace);
        if (length == 0 || length > common::kMaxNspaceLength) return PMIX_ERR_BAD_PARAM;
        if (procs[i].rank == PMIX_RANK_INVALID || procs[i].rank == PMIX_RANK_UNDEF) return PMIX_ERR_BAD_PARAM;
        list.emplace_back(std::string_view(procs[i].nspace, length), procs[i].rank);
    }
    return list;
}

// Lists of more processes are long.
inline constexpr size_t kLongList = 16;

// A long list goes as ranges, with bits where they are many, if the server takes that and it is shorter.
template <class Request>
void name_participants(common::ProcList&& procs, const Session& session, Request& request) {
    if (session.takes_ranges() && procs.size() > kLongList) request.ranges = common::ranges_of(procs);
    if (session.takes_rank_bits()) common::use_bits(request.ranges);
    if (request.ranges.empty()) request.procs = std::move(procs);
}

// Likewise the members of a group, whose order counts.
inline void name_members(common::ProcList&& procs, const Session& session, common::GroupRequest& request) {
    if (session.takes_group_ranges() && procs.size() > kLongList) request.ranges = common::ranges_of(procs);
    if (request.ranges.empty()) request.procs = std::move(procs);
}

inline pmix_status_t check_infos(const pmix_info_t infos[], size_t n) noexcept {
    return (infos == nullptr && n != 0) || n > common::kMaxListLength ? PMIX_ERR_BAD_PARAM : PMIX_SUCCESS;
}

// Of infos that say how a call is to be done, in difference to what it is to pass on. A host may pass on what a client
// gave it.
inline pmix_status_t check_directives(const Session& session, const pmix_info_t infos[], size_t n) noexcept {
    const pmix_status_t rc = check_infos(infos, n);
    return rc == PMIX_SUCCESS && !session.is_servers_own() ? common::check_flags({infos, n}) : rc;
}

// 0: for ever.
inline pmix_status_t read_timeout(const pmix_info_t infos[], size_t n, int* out) noexcept {
    *out = 0;
    const pmix_status_t rc = common::InfoView(infos, n).get(PMIX_TIMEOUT, out);
    return rc == PMIX_SUCCESS && *out < 0 ? PMIX_ERR_BAD_PARAM : rc;
}

// A null-terminated array of keys. Null itself is the caller's business.
inline common::Result<common::KeyList> checked_keys(char** keys) {
    common::KeyList list;
    for (; *keys != nullptr; ++keys) {
        const size_t length = common::bounded_length(*keys, common::kMaxKeyLength + 1);
        if (length == 0 || length > common::kMaxKeyLength) return PMIX_ERR_BAD_PARAM;
        if (list.size() == common::kMaxListLength) return PMIX_ERR_BAD_PARAM;
        list.emplace_back(*keys, length);
    }
    return list;
}

}  // namespace pmix::client
