// SPDX-License-Identifier: BSD-3-Clause
// Qualified values on their way to and from a server of OpenPMIx's. Here each lies under a key of its own
// (dstore/qualified.h), which is nothing outside of this library: there it is the array that PMIx_Put was given, under
// PMIX_QUALIFIED_VALUE, and a Get of it names the primary key and the qualifiers.
//
// Pure; any thread. What can go wrong: no memory (std::bad_alloc).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/bytes.h"
#include "common/values/info_view.h"
#include "openpmix/messages.h"

namespace pmix::client {

// Is it the key of such a value, encoded, or of a deleted one?
bool is_of_qualified(std::string_view key, common::Bytes value, bool deleted);

// True: the release has names for all keys in these arrays.
bool are_known(const openpmix::Traits& traits, const openpmix::KeyValues& arrays);

// The request of a Get for a value stored under this key.
struct QualifiedQuestion {
    std::string primary;
    std::shared_ptr<const common::InfoList> qualifiers;
};
// None: the infos have no qualifiers. Without a primary key: it is longer than its part of the stored key.
std::optional<QualifiedQuestion> qualified_question(std::string_view stored_key, const common::InfoView& infos);

// Received values in their stored form. A value of the primary key answers the question.
void store_qualified(openpmix::KeyValues& values);
void store_answer(openpmix::KeyValues& values, const QualifiedQuestion& question);

}  // namespace pmix::client
