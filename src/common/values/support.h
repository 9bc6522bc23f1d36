// SPDX-License-Identifier: BSD-3-Clause
// Which functions and attributes this library supports, and at which level: what support.def says.
//
// Owns constant tables without a pointer in them. Any thread. The checks of required attributes and the queries for
// attribute support read the same rows; code that has a list of its own holds it against them with supports(), when it
// is compiled. Nothing can go wrong but "unknown".
#pragma once

#include <pmix_common.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/values/info_view.h"
#include "common/values/value.h"

namespace pmix::common {

// Functions of the interface, by their own names.
enum class Function : uint8_t {
#define SUPPORT_FUNCTION(function, levels) function,
#include "common/values/support.def"
};

// The roles that carry out a function or read an attribute. A set of bits.
using Levels = uint8_t;
namespace level {
inline constexpr Levels client = 1;
inline constexpr Levels server = 2;
inline constexpr Levels tool = 4;
}  // namespace level

// For static_assert: is the row there?
namespace support_rows {
using namespace level;
struct Row {
    Function function;
    Levels levels;
    std::string_view string;
};
inline constexpr Row kAttributes[] = {
#define SUPPORT_ATTRIBUTE(function, attribute, levels) {Function::function, levels, attribute},
#include "common/values/support.def"
};
struct Query {
    std::string_view key;
    Levels levels;
};
inline constexpr Query kQueries[] = {
#define SUPPORT_QUERY(key, qualifier, levels) {key, levels},
#include "common/values/support.def"
};
}  // namespace support_rows

consteval bool supports(Function function, Levels levels, std::string_view attribute) {
    for (const auto& row : support_rows::kAttributes) {
        if (row.function == function && row.string == attribute) return (row.levels & levels) == levels;
    }
    return false;
}
consteval size_t supported_count(Function function, Levels levels) {
    size_t n = 0;
    for (const auto& row : support_rows::kAttributes) n += row.function == function && (row.levels & levels) == levels;
    return n;
}
consteval bool supports_query(std::string_view key, Levels levels) {
    for (const auto& row : support_rows::kQueries) {
        if (row.key == key) return (row.levels & levels) == levels;
    }
    return false;
}
// Different keys.
consteval size_t supported_queries(Levels levels) {
    size_t n = 0;
    std::string_view before;
    for (const auto& row : support_rows::kQueries) {
        if (row.key != before) n += (row.levels & levels) == levels;
        before = row.key;
    }
    return n;
}

// PMIX_ERR_NOT_SUPPORTED when an entry flagged PMIX_INFO_REQD is none that one of these levels reads for the function,
// and nobody processed it.
pmix_status_t check_required(InfoView infos, Function function, Levels levels) noexcept;

// "PMIx_Fence_nb" and "PMIx_Fence" are one function. False: not one that the library has.
bool find_function(std::string_view name, Function* out) noexcept;
const char* function_name(Function function) noexcept;

// "PMIx_Init,PMIx_Finalize,...": what a level has, second forms included. Empty: nothing.
std::string supported_functions(Levels levels);
// Strings of the attributes, comma-separated.
std::string supported_strings(Function function, Levels levels);
// A PMIX_DATA_ARRAY of PMIX_REGATTR, or PMIX_UNDEF where the level supports none.
Result<Value> supported_attributes(Function function, Levels levels);
// The same for names that a host registered; a name that is in no header is its own string.
Result<Value> described_attributes(const std::string* names, size_t n);

// Keys and qualifiers of PMIx_Query_info as comma-separated text; does the library answer the key at this level?
std::string supported_query_keys(Levels levels);
std::string supported_qualifiers(std::string_view key);
// Does any key of PMIx_Query_info take it?
bool is_query_qualifier(std::string_view qualifier) noexcept;
bool answers_query(std::string_view key, Levels levels) noexcept;

// Is it the name of an entry of the host's module, of a function, or of neither?
bool is_host_function(std::string_view name) noexcept;
// Does the entry (or function) `registered` serve the function that users know by `name`?
bool host_function_serves(std::string_view registered, std::string_view name) noexcept;
// The function users know the entry by; the name itself where it is none.
std::string_view user_function(std::string_view registered) noexcept;

}  // namespace pmix::common
