// SPDX-License-Identifier: BSD-3-Clause
#include "common/values/support.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "common/base/names.h"
#include "common/values/attributes.h"

namespace pmix::common {
namespace {

using namespace level;

struct FunctionText {
#define SUPPORT_FUNCTION(function, levels) char function[sizeof(#function)];
#include "common/values/support.def"
};
constexpr FunctionText kFunctionText = {
#define SUPPORT_FUNCTION(function, levels) #function,
#include "common/values/support.def"
};
struct FunctionRow {
    uint16_t name;
    Levels levels;
};
constexpr FunctionRow kFunctions[] = {
#define SUPPORT_FUNCTION(function, levels) {offsetof(FunctionText, function), levels},
#include "common/values/support.def"
};
static_assert(std::size(kFunctions) <= 256, "a Function is one byte");

struct AlsoText {
#define SUPPORT_ALSO(second, function) char second[sizeof(#second)];
#include "common/values/support.def"
};
constexpr AlsoText kAlsoText = {
#define SUPPORT_ALSO(second, function) #second,
#include "common/values/support.def"
};
struct AlsoRow {
    uint16_t name;
    Function function;
};
constexpr AlsoRow kAlso[] = {
#define SUPPORT_ALSO(second, function) {offsetof(AlsoText, second), Function::function},
#include "common/values/support.def"
};

// Attributes are places in attributes.def.
constexpr std::string_view kAttributeNames[] = {
#define ATTRIBUTE(name, string, type) #name,
#define ALIAS ATTRIBUTE
#include "common/values/attributes.def"
#undef ATTRIBUTE
#undef ALIAS
};
constexpr uint16_t kNoAttribute = 0xffff;
consteval uint16_t place(std::string_view name) {
    if (name == "0") return kNoAttribute;
    const auto* at = std::ranges::find(kAttributeNames, name);
    if (at == std::end(kAttributeNames)) throw "no such attribute";
    return static_cast<uint16_t>(at - std::begin(kAttributeNames));
}

struct AttributeRow {
    Function function;
    Levels levels;
    uint16_t attribute;
};
constexpr AttributeRow kAttributes[] = {
#define SUPPORT_ATTRIBUTE(function, attribute, levels) {Function::function, levels, place(#attribute)},
#include "common/values/support.def"
};
struct QueryRow {
    uint16_t key;
    uint16_t qualifier;
    Levels levels;
};
constexpr QueryRow kQueries[] = {
#define SUPPORT_QUERY(key, qualifier, levels) {place(#key), place(#qualifier), levels},
#include "common/values/support.def"
};

struct EntryRow {
    char entry[24];
    char function[32];
};
constexpr EntryRow kEntries[] = {
#define SUPPORT_ENTRY(entry, function) {#entry, #function},
#include "common/values/support.def"
};

const char* name_of(const FunctionRow& row) noexcept {
    return reinterpret_cast<const char*>(&kFunctionText) + row.name;
}
const char* name_of(const AlsoRow& row) noexcept {
    return reinterpret_cast<const char*>(&kAlsoText) + row.name;
}

// A tool is a client with more ways to find a server.
constexpr bool kHasTools = std::ranges::any_of(kFunctions, [](const FunctionRow& r) { return (r.levels & tool) != 0; });
Levels widened(Levels levels) noexcept {
    return kHasTools && (levels & tool) != 0 ? static_cast<Levels>(levels | client) : levels;
}

void add_word(std::string& list, std::string_view word) {
    if (!list.empty()) list += ',';
    list += word;
}

pmix_status_t describe(pmix_regattr_t& out, const Attribute& attribute) noexcept {
    out.name = ::strdup(attribute.name);
    out.type = attribute.type;
    if (out.name == nullptr || !set_key(out.string, attribute.string)) return PMIX_ERR_NOMEM;
    // Ours say the type in words; a host says what it likes.
    out.description = static_cast<char**>(std::calloc(2, sizeof(char*)));
    if (out.description == nullptr) return PMIX_ERR_NOMEM;
    const char* type = constant_name(Names::data_type, attribute.type);
    out.description[0] = ::strdup(type == nullptr ? "UNDEFINED" : type);
    return out.description[0] == nullptr ? PMIX_ERR_NOMEM : PMIX_SUCCESS;
}

Result<Value> as_array(CArray<pmix_regattr_t>&& rows) {
    if (rows.empty()) return Value();
    pmix_data_array_t array{};
    array.type = PMIX_REGATTR;
    array.size = rows.size();
    array.array = rows.data();
    return Value::load(&array, PMIX_DATA_ARRAY);
}

}  // namespace

pmix_status_t check_required(InfoView infos, Function function, Levels levels) noexcept {
    for (const pmix_info_t& info : infos) {
        if (!is_required(info) || (info.flags & PMIX_INFO_REQD_PROCESSED) != 0) continue;
        const bool known = std::ranges::any_of(kAttributes, [&](const AttributeRow& row) {
            return row.function == function && (row.levels & levels) != 0 &&
                   attribute_at(row.attribute).string == key_view(info);
        });
        if (!known) return PMIX_ERR_NOT_SUPPORTED;
    }
    return PMIX_SUCCESS;
}

bool find_function(std::string_view name, Function* out) noexcept {
    for (const FunctionRow& row : kFunctions) {
        if (name != name_of(row)) continue;
        *out = static_cast<Function>(&row - kFunctions);
        return true;
    }
    for (const AlsoRow& row : kAlso) {
        if (name != name_of(row)) continue;
        *out = row.function;
        return true;
    }
    return false;
}

const char* function_name(Function function) noexcept {
    return name_of(kFunctions[static_cast<size_t>(function)]);
}

std::string supported_functions(Levels levels) {
    levels = widened(levels);
    std::string list;
    for (const FunctionRow& row : kFunctions) {
        if ((row.levels & levels) == 0) continue;
        add_word(list, name_of(row));
        for (const AlsoRow& also : kAlso) {
            if (static_cast<ptrdiff_t>(also.function) == &row - kFunctions) add_word(list, name_of(also));
        }
    }
    return list;
}

Result<Value> supported_attributes(Function function, Levels levels) {
    levels = widened(levels);
    size_t n = 0;
    const auto fits = [&](const AttributeRow& row) { return row.function == function && (row.levels & levels) != 0; };
    for (const AttributeRow& row : kAttributes) n += fits(row);
    if (n == 0) return Value();
    auto rows = CArray<pmix_regattr_t>::zeroed(n);
    if (!rows) return rows.status();
    n = 0;
    for (const AttributeRow& row : kAttributes) {
        if (!fits(row)) continue;
        WIREUP_RETURN_IF_ERROR(describe((*rows)[n++], attribute_at(row.attribute)));
    }
    return as_array(std::move(rows).value());
}

Result<Value> described_attributes(const std::string* names, size_t n) {
    if (n == 0) return Value();
    auto rows = CArray<pmix_regattr_t>::zeroed(n);
    if (!rows) return rows.status();
    for (size_t i = 0; i < n; ++i) {
        Attribute known = attribute_by_name(names[i]);
        if (known.name == nullptr) known = attribute_by_string(names[i]);
        if (known.name == nullptr) known = {names[i].c_str(), names[i].c_str(), PMIX_UNDEF};
        WIREUP_RETURN_IF_ERROR(describe((*rows)[i], known));
    }
    return as_array(std::move(rows).value());
}

std::string supported_strings(Function function, Levels levels) {
    std::string list;
    for (const AttributeRow& row : kAttributes)
        if (row.function == function && (row.levels & levels) != 0) add_word(list, attribute_at(row.attribute).string);
    return list;
}

std::string supported_query_keys(Levels levels) {
    levels = widened(levels);
    std::string list;
    uint16_t before = kNoAttribute;
    for (const QueryRow& row : kQueries) {
        if ((row.levels & levels) != 0 && row.key != before) add_word(list, attribute_at(row.key).string);
        before = row.key;
    }
    return list;
}

std::string supported_qualifiers(std::string_view key) {
    std::string list;
    for (const QueryRow& row : kQueries) {
        if (row.qualifier == kNoAttribute || key != attribute_at(row.key).string) continue;
        add_word(list, attribute_at(row.qualifier).string);
    }
    return list;
}

bool is_query_qualifier(std::string_view qualifier) noexcept {
    return std::ranges::any_of(kQueries, [&](const QueryRow& row) {
        return row.qualifier != kNoAttribute && qualifier == attribute_at(row.qualifier).string;
    });
}

bool answers_query(std::string_view key, Levels levels) noexcept {
    return std::ranges::any_of(kQueries, [&](const QueryRow& row) {
        return (row.levels & levels) != 0 && key == attribute_at(row.key).string;
    });
}

bool is_host_function(std::string_view name) noexcept {
    Function function;
    return find_function(name, &function) || std::ranges::any_of(kEntries, [&](const EntryRow& row) {
               return name == row.entry || name == row.function;
           });
}

bool host_function_serves(std::string_view registered, std::string_view name) noexcept {
    Function asked, meant;
    const bool known = find_function(name, &asked);
    const auto same = [&](std::string_view function) {
        return function == name || (known && find_function(function, &meant) && meant == asked);
    };
    if (same(registered)) return true;
    if (name.ends_with("_nb") && host_function_serves(registered, name.substr(0, name.size() - 3))) return true;
    return std::ranges::any_of(kEntries,
                               [&](const EntryRow& row) { return registered == row.entry && same(row.function); });
}

std::string_view user_function(std::string_view registered) noexcept {
    for (const EntryRow& row : kEntries) {
        if (registered == row.entry) return row.function;
    }
    return registered;
}

}  // namespace pmix::common
