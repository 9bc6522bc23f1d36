// SPDX-License-Identifier: BSD-3-Clause
// Qualified values: several values of one key, told apart by qualifiers, which are keys with values themselves
// (PMIX_QUALIFIED_VALUE).
//
// In a store each lies under a key of its own, made of the primary key and a hash of its qualifiers; it holds the
// primary key with its value and the qualifiers, as an array of infos, so that a reader can compare. Pure; any thread.
// What can go wrong: memory (std::bad_alloc, PMIX_ERR_NOMEM), and a qualifier that cannot be encoded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/values/info_view.h"
#include "common/values/value.h"

namespace pmix::dstore {

inline bool is_qualifier(const pmix_info_t& info) noexcept {
    return (info.flags & PMIX_INFO_QUALIFIER) != 0;
}

// A set: neither the order nor a repetition counts.
class Qualifiers {
  public:
    Qualifiers() = default;
    // The infos that are marked as qualifiers; the others are skipped.
    static common::Result<Qualifiers> marked_in(const common::InfoView& infos);

    bool empty() const noexcept { return entries_.empty(); }
    size_t size() const noexcept { return entries_.size(); }
    bool operator==(const Qualifiers&) const noexcept = default;
    // The other one has all of these, and perhaps more.
    bool all_in(const Qualifiers& other) const noexcept;
    // Under which key a value with these qualifiers is stored. Reserved if the primary key is.
    std::string key_for(std::string_view primary) const;

  private:
    std::vector<std::string> entries_;  // encoded, in order, each once
};

// What the value of a PMIX_QUALIFIED_VALUE info says: which key, which value, which qualifiers. The views are the
// caller's. PMIX_ERR_BAD_PARAM: the value is no array of infos, or its first element has no usable key.
struct QualifiedValue {
    std::string_view primary;
    const pmix_value_t* value = nullptr;
    Qualifiers qualifiers;

    static common::Result<QualifiedValue> read(const pmix_value_t& array);
    // As it is stored: the primary key with its value, then the qualifiers.
    static common::Result<common::Value> stored(const pmix_value_t& array);
};

// The key and the value as they are stored, of an array that has qualifiers. PMIX_ERR_NOT_FOUND: it has none.
struct StoredForm {
    std::string key;
    common::Value value;
};
common::Result<StoredForm> stored_form(const pmix_value_t& array);

// What stands before the hash of a key of that form: the primary key, or as much of a long one as there is room for.
// Empty: the key is of another form.
std::string_view primary_in(std::string_view stored_key) noexcept;

// Could a value that is stored under this key be a qualified one of the primary key?
bool may_qualify(std::string_view stored_key, std::string_view primary) noexcept;

// Does this key, with this value, hold a qualified value?
bool is_stored_qualified(std::string_view key, common::Bytes encoded);

// A stored value, if it is one of the primary key. PMIX_ERR_NOT_FOUND: it is something else.
struct StoredQualified {
    common::Value array;
    QualifiedValue what;  // views of `array`
};
common::Result<StoredQualified> read_stored(common::Bytes encoded, std::string_view primary);

}  // namespace pmix::dstore
