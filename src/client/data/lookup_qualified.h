// SPDX-License-Identifier: BSD-3-Clause
// Looking for a qualified value: by exactly the qualifiers of a Get, and among what is here by these and more.
//
// Free functions on the stores, any thread. A value with the very qualifiers is one ordinary look-up under another key;
// only where there is none are the keys of the owners walked. What can go wrong: PMIX_ERR_NOT_FOUND, no memory.
#pragma once

#include <string>

#include "client/data/lookup.h"
#include "common/values/value.h"
#include "dstore/qualified.h"

namespace pmix::client {

// The key under which the value with exactly the qualifiers of this request is stored.
common::Result<std::string> qualified_key(const GetRequest& request);

common::Result<common::Value> look_up_qualified(const Sources& from, const GetRequest& request);

// The qualifiers select a level of information that is not the process's (APPNUM and the like), and nothing else: the
// values of that level are what is asked for, too.
bool qualifies_realm_only(const GetRequest& request) noexcept;

}  // namespace pmix::client
