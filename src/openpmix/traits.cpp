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

// Where two have the same numbers, the bytes of a type are the same; later ones only have more types.
struct Encoding {
    std::string_view name;
    bool fixed;
    pmix_data_type_t newest_type;
};
constexpr Encoding kEncodings[] = {{"v21", true, PMIX_ALLOC_DIRECTIVE},        {"v3", true, PMIX_ENVAR},
                                   {"v4", false, PMIX_COMPRESSED_BYTE_OBJECT}, {"v41", false, PMIX_STOR_ACCESS_TYPE},
                                   {"v51", false, PMIX_RESOURCE_UNIT},         {"v61", false, PMIX_NODE_PID}};

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
    const auto known = std::find_if(std::begin(kEncodings), std::end(kEncodings),
                                    [&](const Encoding& e) { return e.name == encoding; });
    if (!version || known == std::end(kEncodings)) return std::nullopt;
    if (kind != kNotDescribed && kind != kFullyDescribed) return std::nullopt;
    const Version v = *version;
    const bool is_600 = v >= Version{6, 0, 0} && v < Version{6, 1, 0};
    Traits t;
    t.version = v;
    t.form = {known->fixed, kind == kFullyDescribed};
    t.group_reply = v < Version{4, 2, 4}   ? GroupReplyForm::context_id
                    : v < Version{6, 0, 0} ? GroupReplyForm::members
                                           : GroupReplyForm::optional_id;
    t.short_empty_arrays = v >= Version{6, 1, 0};
    t.destruct_has_members = v >= Version{4, 2, 4};
    t.resolves = v >= Version{5, 0, 7};
    t.refreshes = v >= Version{5, 0, 0};
    t.one_store_for_all = v >= Version{5, 0, 0} && v < Version{7, 0, 0};
    t.survives_refusal = v >= Version{5, 0, 7};  // the first that was seen to
    t.heeds_refusal = v < Version{4, 0, 0} || (v >= Version{5, 0, 9} && !is_600);
    t.connect_has_extras = v >= Version{6, 0, 0};
    t.loses_split_headers = v < Version{7, 0, 0};
    t.session_array = v >= Version{4, 2, 0};
    t.singleton_is_client = v >= Version{5, 0, 9} && !is_600;
    t.pull_has_id = v >= Version{4, 1, 0};
    t.topology_support = v < Version{7, 0, 0};
    t.reserved_at_once = v < Version{7, 0, 0};
    t.forms_invited = v >= Version{7, 0, 0};
    t.keeps_own_events = v < Version{5, 0, 0};
    t.leaves_by_event = v >= Version{7, 0, 0};
    t.deletes_keys = v >= Version{7, 0, 0};
    t.qualifies = v >= Version{4, 2, 0};
    t.takes_notices = v >= Version{7, 0, 0};
    t.numbers_keys = v >= Version{4, 2, 0} && v < Version{5, 0, 0};
    t.newest_type =
        v >= Version{7, 0, 0} && known->newest_type == PMIX_NODE_PID ? PMIX_ALLOC_INHERIT : known->newest_type;
    t.lacks_statistics = v >= Version{6, 1, 0};
    t.most_payload = v >= Version{6, 1, 0} ? size_t{32} << 20 : 0;
    return t;
}

}  // namespace pmix::openpmix
