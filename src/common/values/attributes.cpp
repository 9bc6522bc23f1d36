// SPDX-License-Identifier: BSD-3-Clause
#include "common/values/attributes.h"

#include <strings.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace pmix::common {
namespace {

// All texts in one constant: a row is three small numbers, so the table holds no address.
struct Texts {
#define ATTRIBUTE(name, string, type) \
    char name_##name[sizeof(#name)];  \
    char string_##name[sizeof(string)];
#define ALIAS ATTRIBUTE
#include "common/values/attributes.def"
#undef ATTRIBUTE
#undef ALIAS
};

constexpr Texts kTexts = {
#define ATTRIBUTE(name, string, type) #name, string,
#define ALIAS ATTRIBUTE
#include "common/values/attributes.def"
#undef ATTRIBUTE
#undef ALIAS
};
static_assert(sizeof(Texts) <= 0xffff, "offsets are 16 bits");

struct Row {
    uint16_t name;
    uint16_t string;
    uint16_t type;
};

constexpr Row kRows[] = {
#define ATTRIBUTE(name, string, type) {offsetof(Texts, name_##name), offsetof(Texts, string_##name), type},
#define ALIAS ATTRIBUTE
#include "common/values/attributes.def"
#undef ATTRIBUTE
#undef ALIAS
};
constexpr size_t kCount = std::size(kRows);

// What compile-time code needs to sort: the same texts where a constant expression can reach them.
constexpr std::string_view kStrings[] = {
#define ATTRIBUTE(name, string, type) string,
#define ALIAS ATTRIBUTE
#include "common/values/attributes.def"
#undef ATTRIBUTE
#undef ALIAS
};
constexpr std::string_view kNames[] = {
#define ATTRIBUTE(name, string, type) #name,
#define ALIAS ATTRIBUTE
#include "common/values/attributes.def"
#undef ATTRIBUTE
#undef ALIAS
};
constexpr bool kIsAlias[] = {
#define ATTRIBUTE(name, string, type) false,
#define ALIAS(name, string, type) true,
#include "common/values/attributes.def"
#undef ATTRIBUTE
#undef ALIAS
};
static_assert(std::ranges::is_sorted(kNames), "attributes.def is sorted by name");

constexpr size_t kStringCount = static_cast<size_t>(std::ranges::count(kIsAlias, false));

constexpr std::array<uint16_t, kStringCount> order_by_string() {
    std::array<uint16_t, kStringCount> order{};
    size_t n = 0;
    for (size_t i = 0; i < kCount; ++i) {
        if (!kIsAlias[i]) order[n++] = static_cast<uint16_t>(i);
    }
    std::ranges::sort(order, {}, [](uint16_t i) { return kStrings[i]; });
    return order;
}
constexpr auto kByString = order_by_string();

constexpr bool strings_are_unique() {
    for (size_t i = 1; i < kByString.size(); ++i) {
        if (kStrings[kByString[i - 1]] == kStrings[kByString[i]]) return false;
    }
    return true;
}
static_assert(strings_are_unique(), "second names of a string are ALIAS rows");

const char* text(uint16_t offset) noexcept {
    return reinterpret_cast<const char*>(&kTexts) + offset;
}

Attribute at_row(const Row& row) noexcept {
    return {text(row.name), text(row.string), row.type};
}

}  // namespace

Attribute attribute_by_name(std::string_view name) noexcept {
    const Row* row = std::lower_bound(std::begin(kRows), std::end(kRows), name,
                                      [](const Row& r, std::string_view n) { return text(r.name) < n; });
    if (row == std::end(kRows) || text(row->name) != name) return {nullptr, nullptr, PMIX_UNDEF};
    return at_row(*row);
}

Attribute attribute_by_string(std::string_view string) noexcept {
    auto at = std::lower_bound(kByString.begin(), kByString.end(), string,
                               [](uint16_t i, std::string_view s) { return text(kRows[i].string) < s; });
    if (at == kByString.end() || text(kRows[*at].string) != string) return {nullptr, nullptr, PMIX_UNDEF};
    return at_row(kRows[*at]);
}

Attribute attribute_like(std::string_view text_of_either) noexcept {
    const auto same = [&](uint16_t offset) {
        const char* other = text(offset);
        return ::strncasecmp(other, text_of_either.data(), text_of_either.size()) == 0 &&
               other[text_of_either.size()] == '\0';
    };
    for (const Row& row : kRows)
        if (same(row.name) || same(row.string)) return at_row(row);
    return {nullptr, nullptr, PMIX_UNDEF};
}

size_t attribute_count() noexcept {
    return kCount;
}
Attribute attribute_at(size_t index) noexcept {
    return at_row(kRows[index]);
}

}  // namespace pmix::common
