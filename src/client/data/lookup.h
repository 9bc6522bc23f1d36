// SPDX-License-Identifier: BSD-3-Clause
// Where a value is looked for: the order of stores and owners for a request. No waiting, no server.
//
// Reserved keys: data provided by the host in the segment first, then what this process stored itself. Other keys: the
// process's own first. Without a qualifier the rank and the key's default realm decide; what one realm does not have,
// the wider ones are asked for, because hosts differ in where they put it. Any thread, no lock; free functions on the
// stores.
//
// What can go wrong: PMIX_ERR_NOT_FOUND, or a damaged segment (PMIX_ERR_UNPACK_FAILURE).
#pragma once

#include <span>

#include "client/data/get_request.h"
#include "common/values/value.h"
#include "dstore/private_store.h"
#include "dstore/reader.h"

namespace pmix::client {

// The stores a look-up may use.
struct Sources {
    const common::ProcId& self;
    const dstore::Reader* target;  // segment of the request's namespace, or null
    const dstore::Reader* own;     // segment of the caller's namespace, or null
    const dstore::PrivateStore& mine;
    dstore::PrivateStore::Nspace own_nspace;
    // False: `mine` holds nothing but what belongs to the caller itself, so nobody else needs to be looked for there.
    bool others_in_mine = true;
};

// A value that was found, and what keeps it alive.
class Hit {
  public:
    common::Bytes bytes() const noexcept { return mine_ ? mine_.bytes() : found_.bytes(); }
    pmix_scope_t scope() const noexcept { return mine_ ? mine_.scope() : found_.scope(); }
    // Keeps the value until the last finalize, so that a caller may have a pointer to it. False: its bytes do not stay.
    // Called once.
    bool pin() const noexcept {
        if (!mine_) return found_.lendable();
        mine_.pin();
        return true;
    }

    dstore::Found found_;
    dstore::PrivateStore::Lookup mine_;
};

// The owners to be asked, in order. At most kMaxOwners.
inline constexpr size_t kMaxOwners = 6;
size_t owners_for(const Sources& from, const GetRequest& request, std::span<dstore::Owner, kMaxOwners> out) noexcept;

pmix_status_t look_up(const Sources& from, const GetRequest& request, Hit& hit) noexcept;
// The same where a scope was asked for (PMIX_DATA_SCOPE): data of another scope is not found.
pmix_status_t look_up_in_scope(const Sources& from, const GetRequest& request, Hit& hit) noexcept;

// A PMIX_DATA_ARRAY of infos: everything known of the process, each key once, as look_up would find it.
common::Result<common::Value> look_up_all(const Sources& from, const GetRequest& request);

}  // namespace pmix::client
