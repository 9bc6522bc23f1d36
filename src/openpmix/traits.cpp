// SPDX-License-Identifier: BSD-3-Clause
#include "openpmix/traits.h"

#include <algorithm>
#include <iterator>

#include "openpmix/hello.h"

namespace pmix::openpmix {
namespace {

// The digits at the front of text, which loses them; more than nine of them are no version.
std::optional<unsigned> leading_number(std::string_view& text) noexcept {
    unsigned number = 0;
    size_t digits = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
        if (digits == 9) return std::nullopt;
        number = number * 10 + static_cast<unsigned>(text[digits++] - '0');
    }
    text.remove_prefix(digits);
    if (digits == 0) return std::nullopt;
    return number;
}

// Within each the bytes of a type are the same; later ones only have more types.
constexpr std::string_view kFlexibleEncodings[] = {"v4", "v41", "v51", "v61"};
constexpr std::string_view kFixedEncodings[] = {"v21", "v3"};

bool is_one_of(std::string_view name, const auto& names) noexcept {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace

std::optional<Version> parse_version(std::string_view text) noexcept {
    Version version;
    for (unsigned* part : {&version.major, &version.minor, &version.patch}) {
        const auto number = leading_number(text);
        if (!number) {
            if (part == &version.major) return std::nullopt;
            break;
        }
        *part = *number;
        if (text.empty() || text.front() != '.') break;
        text.remove_prefix(1);
    }
    return version;
}

std::optional<Traits> traits_of(std::string_view text, std::string_view encoding, uint8_t kind) noexcept {
    const auto version = parse_version(text);
    const bool fixed = is_one_of(encoding, kFixedEncodings);
    if (!version || (!fixed && !is_one_of(encoding, kFlexibleEncodings))) return std::nullopt;
    if (kind != kNotDescribed && kind != kFullyDescribed) return std::nullopt;
    const Version v = *version;
    const bool is_600 = v >= Version{6, 0, 0} && v < Version{6, 1, 0};
    Traits t;
    t.version = v;
    t.form = {fixed, kind == kFullyDescribed};
    t.group_reply = v < Version{4, 2, 4}   ? GroupReplyForm::context_id
                    : v < Version{6, 0, 0} ? GroupReplyForm::members
                                           : GroupReplyForm::optional_id;
    t.short_empty_arrays = v >= Version{6, 1, 0};
    t.destruct_has_members = v >= Version{4, 2, 4};
    t.resolves = v >= Version{5, 0, 7};
    t.refreshes = v >= Version{5, 0, 0};
    t.heeds_refusal = v < Version{4, 0, 0} || (v >= Version{5, 0, 9} && !is_600);
    t.connect_has_extras = v >= Version{6, 0, 0};
    t.loses_split_headers = v < Version{7, 0, 0};
    t.session_array = v >= Version{4, 2, 0};
    t.singleton_is_client = v >= Version{5, 0, 9} && !is_600;
    t.pull_has_id = v >= Version{4, 1, 0};
    t.most_payload = v >= Version{6, 1, 0} ? size_t{32} << 20 : 0;
    return t;
}

}  // namespace pmix::openpmix
