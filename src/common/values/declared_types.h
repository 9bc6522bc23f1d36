// SPDX-License-Identifier: BSD-3-Clause
// The type that an attribute's value is declared with, for job data from wherever they come: hosts and foreign servers
// give a number as any integer, and callers of PMIx_Get read it without a look at the type.
//
// Owns a few of the table's answers, because job data name the same keys again and again. One thread. Nothing can go
// wrong: what does not fit its declared type stays as it is.
#pragma once

#include <pmix_common.h>

#include <array>
#include <cstring>
#include <string_view>

#include "common/base/ids.h"
#include "common/values/attributes.h"
#include "common/values/value.h"

namespace pmix::common {

class DeclaredTypes {
  public:
    // The same number in its declared type, or the value itself. The result borrows what `value` has.
    pmix_value_t as_declared(std::string_view key, const pmix_value_t& value) noexcept {
        if (!is_integer(value.type) || !is_reserved_key(key) || key.size() > kLongest) return value;
        const pmix_data_type_t declared = type_of(key);
        if (declared == value.type || !is_integer(declared)) return value;
        pmix_value_t out{};
        out.type = declared;
        return convert_number(value, declared, &out.data) == PMIX_SUCCESS ? out : value;
    }

  private:
    static constexpr size_t kLongest = 47;
    struct Entry {
        char key[kLongest + 1] = {};
        pmix_data_type_t type = PMIX_UNDEF;
    };

    static constexpr bool is_integer(pmix_data_type_t type) noexcept {
        return (type >= PMIX_SIZE && type <= PMIX_UINT64) || type == PMIX_PROC_RANK;
    }
    pmix_data_type_t type_of(std::string_view key) noexcept {
        const size_t at = key.size() * 7 + static_cast<unsigned char>(key.back());
        Entry& entry = entries_[at % entries_.size()];
        if (key != entry.key) {
            std::memcpy(entry.key, key.data(), key.size());
            entry.key[key.size()] = '\0';
            entry.type = attribute_by_string(key).type;
        }
        return entry.type;
    }

    std::array<Entry, 16> entries_{};
};

}  // namespace pmix::common
