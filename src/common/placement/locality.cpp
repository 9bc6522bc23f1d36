// SPDX-License-Identifier: BSD-3-Clause
#include "common/placement/locality.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "common/base/limits.h"

namespace pmix::common {
namespace {

struct PlaceRow {
    std::string_view code;  // two characters before the list
    pmix_locality_t bit;
};

// By Place.
constexpr std::array<PlaceRow, kPlaces> kPlaceTable{{{"SK", PMIX_LOCALITY_SHARE_PACKAGE},
                                                     {"L3", PMIX_LOCALITY_SHARE_L3CACHE},
                                                     {"L2", PMIX_LOCALITY_SHARE_L2CACHE},
                                                     {"L1", PMIX_LOCALITY_SHARE_L1CACHE},
                                                     {"CR", PMIX_LOCALITY_SHARE_CORE},
                                                     {"HT", PMIX_LOCALITY_SHARE_HWTHREAD},
                                                     {"NM", PMIX_LOCALITY_SHARE_NUMA}}};

char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_without_case(std::string_view a, std::string_view b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

// The number at the front of text, which it takes off. Other libraries write plain decimals; a leading zero would mean
// octal to some readers and decimal to others, so it is refused.
bool take_number(std::string_view& text, uint32_t& out) noexcept {
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, out);
    if (error != std::errc() || out > kMaxCpuIndex) return false;
    if (text.front() == '0' && rest - text.data() > 1) return false;
    text.remove_prefix(static_cast<size_t>(rest - text.data()));
    return true;
}

constexpr std::string_view kBetween = ", ";

const PlaceRow* find_place(std::string_view code) noexcept {
    // Open MPI 4's own launcher writes L0 for the first level's cache.
    if (code == "L0") code = "L1";
    const auto row =
        std::find_if(kPlaceTable.begin(), kPlaceTable.end(), [&](const PlaceRow& r) { return r.code == code; });
    return row == kPlaceTable.end() ? nullptr : &*row;
}

using Places = std::array<IndexList, kPlaces>;  // by Place

// The places that a locality names. Codes that we do not know are passed over: a later release may name more.
Result<Places> read_locality(std::string_view text) {
    if (text.empty()) return PMIX_ERR_BAD_PARAM;
    const std::string_view first = text.substr(0, text.find(':'));
    if (same_without_case(first, kHwlocSource)) {
        text.remove_prefix(std::min(first.size() + 1, text.size()));
    } else if (find_place(first.substr(0, 2)) == nullptr) {
        return PMIX_ERR_NOT_SUPPORTED;
    }
    Places places;
    while (!text.empty()) {
        const std::string_view item = text.substr(0, text.find(':'));
        text.remove_prefix(std::min(item.size() + 1, text.size()));
        if (item.size() < 2) return PMIX_ERR_BAD_PARAM;
        const PlaceRow* row = find_place(item.substr(0, 2));
        if (row == nullptr) continue;
        auto list = IndexList::parse(item.substr(2));
        if (!list) return list.status();
        places[static_cast<size_t>(row - kPlaceTable.data())] = std::move(list).value();
    }
    return places;
}

}  // namespace

bool is_hwloc_source(const char* source) noexcept {
    if (source == nullptr) return true;
    for (char expected : kHwlocSource) {
        if (lower(*source++) != expected) return false;
    }
    return *source == '\0' || *source == ':';
}

Result<IndexList> IndexList::parse(std::string_view text) {
    IndexList list;
    while (true) {
        const size_t next = text.find_first_not_of(kBetween);
        if (next == std::string_view::npos) return list;
        text.remove_prefix(next);
        uint32_t first = 0;
        if (!take_number(text, first)) return PMIX_ERR_BAD_PARAM;
        uint32_t last = first;
        if (!text.empty() && text.front() == '-') {
            text.remove_prefix(1);
            last = kOpenEnd;
            if (!text.empty() && (!take_number(text, last) || last < first)) return PMIX_ERR_BAD_PARAM;
        }
        if (!text.empty() && kBetween.find(text.front()) == std::string_view::npos) return PMIX_ERR_BAD_PARAM;
        list.add(first, last);
    }
}

void IndexList::add(uint32_t first, uint32_t last) {
    // Nearly always behind everything that is there; else merged with all that it touches.
    auto into = std::find_if(ranges_.rbegin(), ranges_.rend(), [&](const Range& r) { return r.first <= first; }).base();
    if (into != ranges_.begin() && uint64_t{std::prev(into)->last} + 1 >= first) {
        --into;
        into->last = std::max(into->last, last);
    } else {
        into = ranges_.insert(into, {first, last});
    }
    auto behind = std::next(into);
    while (behind != ranges_.end() && behind->first <= uint64_t{into->last} + 1) {
        into->last = std::max(into->last, behind->last);
        ++behind;
    }
    ranges_.erase(std::next(into), behind);
}

bool IndexList::intersects(const IndexList& other) const noexcept {
    auto a = ranges_.begin();
    auto b = other.ranges_.begin();
    while (a != ranges_.end() && b != other.ranges_.end()) {
        if (a->first <= b->last && b->first <= a->last) return true;
        (a->last < b->last) ? ++a : ++b;
    }
    return false;
}

void IndexList::append_text(std::string& out) const {
    for (const Range& range : ranges_) {
        if (&range != ranges_.data()) out += ',';
        out += std::to_string(range.first);
        if (range.last != range.first) out += '-';
        if (range.last != range.first && range.last != kOpenEnd) out += std::to_string(range.last);
    }
}

Result<IndexList> parse_cpuset_text(std::string_view text) {
    const size_t colon = text.find(':');
    if (colon == std::string_view::npos) return PMIX_ERR_BAD_PARAM;
    if (!same_without_case(text.substr(0, colon), kHwlocSource)) return PMIX_ERR_NOT_SUPPORTED;
    return IndexList::parse(text.substr(colon + 1));
}

std::string locality_text(const std::vector<PlaceList>& places) {
    std::string text;
    for (const PlaceList& place : places) {
        if (place.which.empty()) continue;
        if (text.empty()) text = kHwlocSource;
        text += ':';
        text += kPlaceTable[static_cast<size_t>(place.kind)].code;
        place.which.append_text(text);
    }
    return text;
}

Result<pmix_locality_t> relative_locality(std::string_view a, std::string_view b) {
    const auto places_a = read_locality(a);
    if (!places_a) return places_a.status();
    const auto places_b = read_locality(b);
    if (!places_b) return places_b.status();
    pmix_locality_t shared = PMIX_LOCALITY_SHARE_NODE;
    for (size_t i = 0; i < kPlaces; ++i) {
        if (places_a.value()[i].intersects(places_b.value()[i])) {
            shared = static_cast<pmix_locality_t>(shared | kPlaceTable[i].bit);
        }
    }
    return shared;
}

}  // namespace pmix::common
