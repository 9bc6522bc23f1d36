// SPDX-License-Identifier: BSD-3-Clause
// What a Get asks for: process, key and qualifiers, read out of the caller's arguments. Pure; nothing is copied, so a
// GetRequest is valid no longer than the call that made it.
//
// What can go wrong: PMIX_ERR_BAD_PARAM for a key or namespace that is too long, an invalid rank, a qualifier of a
// wrong type, or an empty key; PMIX_ERR_NOT_SUPPORTED is left to the end of the search (see required_unknown).
#pragma once

#include <pmix.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/ids.h"
#include "common/base/status.h"

namespace pmix::client {

// The level of information asked for. `natural`: no qualifier, the key and the rank decide.
enum class Realm : uint8_t { natural, session, job, app, node, proc };

struct GetRequest {
    std::string_view nspace;  // resolved: never empty
    bool own_nspace = false;  // it is the caller's
    common::Rank rank = PMIX_RANK_UNDEF;
    std::string_view key;  // empty: all keys
    Realm realm = Realm::natural;

    bool optional = false;
    bool immediate = false;
    bool refresh = false;
    bool by_pointer = false;   // PMIX_GET_POINTER_VALUES
    bool into_caller = false;  // PMIX_GET_STATIC_VALUES
    bool stores_only = false;  // not what queries have returned
    pmix_scope_t scope = PMIX_SCOPE_UNDEF;
    int timeout_s = 0;

    std::optional<uint32_t> session_id;
    std::optional<uint32_t> appnum;
    std::optional<uint32_t> node_id;
    std::string_view hostname;
    // The namespace was named by a qualifier, so the process argument does not count.
    bool nspace_qualified = false;

    // Some infos are marked as qualifiers: of the key's values the one that was stored with these is asked for.
    bool qualified = false;
    // They name nothing but a group that the caller and the process are members of: what that process has put for
    // everybody is the group's as well.
    bool of_group = false;

    // A required entry that this library does not know. The host may: it sees the request with its flags. An answer
    // from our own store would have ignored it.
    bool required_unknown = false;

    const pmix_info_t* infos = nullptr;
    size_t ninfos = 0;

    bool all_keys() const noexcept { return key.empty(); }
    bool reserved() const noexcept { return common::is_reserved_key(key); }
    bool one_rank() const noexcept { return common::is_real_rank(rank); }
    // A session or a node is named, so that the process says nothing more about whose information is meant. It does
    // where a job's part of the node is asked for.
    bool names_session_or_node() const noexcept;
};

// Where a Get without qualifiers and with a wildcard rank looks first.
Realm default_realm(std::string_view key) noexcept;

// self: the caller, for a null process and an empty namespace.
common::Result<GetRequest> parse_get(const common::ProcId& self, const pmix_proc_t* proc, const char* key,
                                     const pmix_info_t infos[], size_t ninfos) noexcept;

// The two parts of it that a Get without qualifiers needs. Sets nspace, rank and key.
pmix_status_t parse_get_target(const common::ProcId& self, const pmix_proc_t* proc, const char* key,
                               GetRequest& request) noexcept;

}  // namespace pmix::client
