// SPDX-License-Identifier: BSD-3-Clause
// The text of maps, for node_map's own files: taking off the wrapping, and walking the ranks of a process map.
//
// Pure functions on borrowed bytes. A malformed text is a status or false.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "common/placement/node_map.h"

namespace pmix::common::map_text {

// A map without what is wrapped around it.
struct Unwrapped {
    std::string_view text;
    bool native = false;            // it was the inside of "pmix[...]", where node names may carry ranges
    std::vector<uint8_t> inflated;  // what text points into if the map was compressed; moving keeps its place
};
Result<Unwrapped> unwrap(Bytes map);

constexpr bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}
constexpr bool is_space(char c) noexcept {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

inline std::string_view trim(std::string_view s) noexcept {
    while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
    while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
    return s;
}

// The number at `p`, which moves behind it; false unless it is there and below the limit.
inline bool read_number(const char*& p, const char* end, uint64_t limit, uint64_t& value) noexcept {
    constexpr ptrdiff_t kMaxDigits = 19;  // so many never overflow; the check is after the loop, which is hot
    const char* const begin = p;
    uint64_t number = 0;
    while (p != end && is_digit(*p)) number = number * 10 + static_cast<uint64_t>(*p++ - '0');
    value = number;
    return p != begin && p - begin <= kMaxDigits && number < limit;
}

enum class Scan { done, stopped, malformed };

// Walks a process map in the order of its text: visit.run(first, count) for each longest ascending run of neighbours
// (over the commas: "0,1,2" is one run, as "0-2" is), visit.end_node() after each node. Either may answer false: stop.
template <class Visitor>
Scan scan_ranks(std::string_view text, Visitor&& visit) {
    const char* p = text.data();
    const char* const end = p + text.size();
    uint32_t first = 0;
    uint32_t count = 0;  // of the run that is not reported yet
    for (;;) {
        if (p != end && is_digit(*p)) {
            uint64_t low = 0;
            if (!read_number(p, end, kMaxMapRanks, low)) return Scan::malformed;
            uint64_t high = low;
            if (p != end && *p == '-' && (!read_number(++p, end, kMaxMapRanks, high) || high < low)) {
                return Scan::malformed;
            }
            const auto length = static_cast<uint32_t>(high - low + 1);
            if (count != 0 && low == uint64_t{first} + count) {
                count += length;
            } else {
                if (count != 0 && !visit.run(first, count)) return Scan::stopped;
                first = static_cast<uint32_t>(low);
                count = length;
            }
            // After a rank only a separator may come, so "1 2" is not two ranks and "1x" none.
            while (p != end && is_space(*p)) ++p;
            if (p != end && *p == ',') {
                ++p;
                continue;
            }
            if (p != end && *p != ';') return Scan::malformed;
        }
        if (p == end || *p == ';') {
            if (count != 0 && !visit.run(first, count)) return Scan::stopped;
            count = 0;
            if (!visit.end_node()) return Scan::stopped;
            if (p == end) return Scan::done;
            ++p;
        } else if (*p == ',' || is_space(*p)) {
            ++p;
        } else {
            return Scan::malformed;
        }
    }
}

}  // namespace pmix::common::map_text
